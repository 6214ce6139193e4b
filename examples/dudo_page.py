"""Serves a page on this machine to play Dudo and to look into strategies.

It prints an address; open it in a browser. Without flags it shows the policy
that comes with the package. It needs the extra web: pip install -e ".[web]" in
a clone, else pip install "dudo_spiel[web]".
"""

from dudo_spiel_examples.support import binary

import logging
import socket
import sys
import threading

from absl import flags

_POLICY = flags.DEFINE_multi_string(
    "policy", [], "A policy file for two-player dudo, dudo_single_round, "
    "neumann_poker or liar_die. The flag may be given several times.")
_PORT = flags.DEFINE_integer("port", 8000, "The port to listen on, 0 for any "
                             "that is free.", lower_bound=0, upper_bound=65535)
_HOST = flags.DEFINE_string(
    "host", "127.0.0.1", "The address to listen on. With any other than this "
    "one, everyone in your network can use the page.")
_NAMES = flags.DEFINE_multi_string(
    "name", [], "Another name by which browsers reach this machine, such as "
    "its name in your network. The flag may be given several times.")
_THREADS = 128  # many wait for values, so that others can work
_CONNECTIONS = 400  # at once


def main(_):
  try:
    import waitress

    from dudo_spiel.web import app as page_app
    from dudo_spiel.web import policy_store
  except ImportError as error:
    raise ValueError(
        f"the page needs {error.name}, of the extra web; install it with "
        f'{sys.executable} -m pip install "dudo_spiel[web]"') from error
  # It warns of every request that waits, which tells people nothing.
  logging.getLogger("waitress.queue").setLevel(logging.ERROR)
  family = socket.AF_INET6 if ":" in _HOST.value else socket.AF_INET
  with socket.socket(family, socket.SOCK_STREAM) as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
      listener.bind((_HOST.value, _PORT.value))
    except OSError as error:
      raise ValueError(f"--host={_HOST.value} --port={_PORT.value}: cannot "
                       f"listen there: {error.strerror}") from error
    with binary.errors_of("policy"):
      store = policy_store.PolicyStore(_POLICY.value)
    store.warm_up()
    port = listener.getsockname()[1]
    own = f"[{_HOST.value}]" if ":" in _HOST.value else _HOST.value
    app = page_app.make_app(store, port,
                            {*page_app.LOOPBACK, own, *_NAMES.value})
    server = waitress.create_server(
        app, sockets=[listener], threads=_THREADS, ident=None,
        max_request_body_size=page_app.MAX_BODY_BYTES,
        max_request_header_size=16384, connection_limit=_CONNECTIONS,
        channel_timeout=60)
    threading.Thread(target=store.prepare, daemon=True).start()
    print(f"Open http://{own}:{port}/ in a browser; Ctrl-C ends the server.",
          flush=True)
    server.run()


if __name__ == "__main__":
  binary.run(main)

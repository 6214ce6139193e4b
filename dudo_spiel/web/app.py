"""The Flask application: routes, checks of requests, and limits.

Requests whose `Host` or `Origin` is not this server's are refused, which
prevents CSRF and DNS rebinding. The fields of a request are checked, and a
wrong one is answered by a status 400 that names it.
"""

import functools
import json
import logging
import pathlib

import flask
from werkzeug import exceptions

from dudo_spiel import validation
from dudo_spiel.web import explorer
from dudo_spiel.web import help_views
from dudo_spiel.web import play
from dudo_spiel.web import policy_store
from dudo_spiel.web import sessions
from dudo_spiel.web import small_games
from dudo_spiel.web import tasks

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES = 4096
_STATIC = pathlib.Path(__file__).parent / "static"
_CONTENT_TYPES = {".html": "text/html; charset=utf-8",
                  ".css": "text/css; charset=utf-8",
                  ".js": "text/javascript; charset=utf-8",
                  ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
                               "style-src 'self'; img-src 'self' data:; "
                               "connect-src 'self'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin"}


def _check_request(hosts):
  """Returns the response that refuses a request to other `hosts`, or None."""
  if flask.request.headers.get("Host", "").lower() not in hosts:
    return _error(403, "Host: must be the address that the server printed")
  origin = flask.request.headers.get("Origin")
  if origin is not None and origin.lower() not in {
      f"http://{host}" for host in hosts}:
    return _error(403, "Origin: must be the page itself")
  # Browsers send this header; other programs need not.
  site = flask.request.headers.get("Sec-Fetch-Site", "none")
  if site not in ("same-origin", "none") and (
      flask.request.path.startswith("/api/")):
    return _error(403, "Sec-Fetch-Site: must be the page itself")
  if flask.request.method == "POST" and not flask.request.is_json:
    return _error(415, "Content-Type: must be application/json")
  return None


def _error(status, message):
  return flask.Response(json.dumps({"error": message}), status,
                        mimetype="application/json")


def _body(**fields):
  """Returns the fields of a JSON body, checked.

  A field has (type, default); if the default is None, it is required.
  """
  try:
    body = json.loads(flask.request.get_data(cache=False) or b"{}")
  except (ValueError, RecursionError):
    raise ValueError("body: must be JSON") from None
  if not isinstance(body, dict):
    raise ValueError("body: must be a JSON object")
  for name in body:
    if name not in fields:
      raise ValueError(f"{name[:40]!r}: no such field; must be one of "
                       f"{', '.join(fields)}")
  result = []
  for name, (kind, default) in fields.items():
    value = body.get(name, default)
    if type(value) is not kind or (kind is str and len(value) > 100):
      raise ValueError(f"{name}: must be "
                       f"{'a short text' if kind is str else 'an integer'}")
    result.append(value)
  return result


def _query(*names):
  """Returns fields of the query string, "" for those that are missing."""
  return [flask.request.args.get(name, "") for name in names]


class _Page:
  """The request handlers, with the arguments of `make_app`."""

  def __init__(self, store, session_store, cookie, make_rng):
    self._store = store
    self._sessions = session_store
    self._cookie = cookie
    self._make_rng = make_rng
    # Measurements take minutes, so games to solve do not queue behind them.
    self._solving = tasks.TaskQueue()
    self._measuring = tasks.TaskQueue()

  def _find_session(self):
    """Returns the session of the request's cookie, or None."""
    return self._sessions.find(flask.request.cookies.get(self._cookie, ""))

  def _session(self):
    """Returns the session, an empty one that is not stored if there is none."""
    return self._find_session() or sessions.PlayerSession(self._store, 0.0)

  def _playing(self):
    """Returns the session with a match, or raises a NotFound."""
    session = self._session()
    if session.match is None:
      raise exceptions.NotFound("match: there is none; begin one")
    return session

  def _match_view(self, session):
    match = session.match
    return {**(match.view() if match else {"phase": "none"}),
            "score": session.score}

  def info(self):
    """Answers what can be played and explored."""
    store = self._store
    dice = range(1, policy_store.MAX_DICE + 1)
    return {
        "max_dice": policy_store.MAX_DICE,
        "trained_dice": [n for n in dice if store.dudo.plays_from((n, n))],
        "exploitability": {n: store.dudo.exploitability_from((n, n))
                           for n in dice},
        "is_certain": store.is_verified,
        "rounds": [f"{a}v{b}" for a, b in store.rounds],
        "wild_ones": store.rules.house.wild_ones,
        "die_loss": store.rules.house.die_loss,
        "has_single_round_policy": store.single_round is not None,
        "single_round_players": store.single_round_game().num_players(),
        "small_policies": sorted(store.small)}

  def match(self):
    """Answers the state of the person's match."""
    session = self._session()
    with session.lock:
      return self._match_view(session)

  def new_match(self):
    """Begins a match."""
    game, opponent, dice = _body(game=(str, "dudo"), opponent=(str, "trained"),
                                 dice=(int, 3))
    validation.choice("game", game, ("dudo", "single_round"))
    validation.choice("opponent", opponent, play.OPPONENTS)
    validation.integer("dice", dice, 1, policy_store.MAX_DICE)
    session, token = self._find_session(), None
    if session is None:
      token, session = self._sessions.add()
    with session.lock:
      number = session.num_matches + 1
      rng = self._make_rng()
      match = (play.DudoMatch(self._store, dice, opponent, number, rng)
               if game == "dudo" else
               play.SingleRound(self._store, opponent, number, rng))
      if match.has_values:
        match.on_move = session.note
      session.match, session.num_matches = match, number
      view = self._match_view(session)
    response = flask.jsonify(view)
    if token is not None:
      response.set_cookie(self._cookie, token, httponly=True,
                          samesite="Strict")
    return response

  def move(self):
    """Makes a move."""
    name, turn = _body(move=(str, None), turn=(int, None))
    session = self._playing()
    with session.lock:
      match = session.match
      self._check_turn(match, turn)
      match.move(name)
      if match.result() is not None:
        session.score[match.result()] += 1
      return self._match_view(session)

  def _check_turn(self, match, turn):
    """Raises a Conflict if the match has moved on since the page saw it."""
    if turn != match.turn:
      raise exceptions.Conflict(f"turn={turn}: the match is at turn "
                                f"{match.turn} already; look at it again")

  def next_round(self):
    """Begins the next round of a match."""
    (turn,) = _body(turn=(int, None))
    session = self._playing()
    with session.lock:
      self._check_turn(session.match, turn)
      session.match.next_round()
      return self._match_view(session)

  def help(self):
    """Answers what the person's moves are worth."""
    session = self._playing()
    with session.lock:
      return help_views.help_view(self._store, session.match)

  def review(self):
    """Answers what the person's moves lost."""
    session = self._session()
    with session.lock:
      return help_views.review_view(self._store, session)

  def explore(self):
    """Answers what the policy does at a position."""
    return explorer.Position(self._store, *_query("round", "claims")).view()

  def values(self):
    """Answers what the actions of one hand are worth at a position."""
    *position, hand = _query("round", "claims", "hand")
    return explorer.Position(self._store, *position).hand_view(hand)

  def rounds(self):
    """Answers what all rounds are worth."""
    return explorer.rounds_view(self._store)

  def small(self):
    """Answers the policy of a small game that came from a file."""
    (game,) = _query("game")
    validation.choice("game", game, tuple(small_games.SMALL_GAMES))
    policy = self._store.small.get(game)
    if policy is None:
      raise exceptions.NotFound(f"game={game}: has no policy file")
    return small_games.SMALL_GAMES[game].view(policy.game, policy)

  def start_task(self):
    """Begins a task: solves a small game, or measures the policy."""
    what, size = _body(what=(str, None), size=(int, 0))
    validation.choice("what", what, (*small_games.SMALL_GAMES, "measure"))
    if what == "measure":
      queue, key, function = self._measuring, "measure", self._store.measure
    else:
      game = small_games.SMALL_GAMES[what]
      validation.integer("size", size, game.min_size, game.max_size)
      queue, key = self._solving, f"{what}-{size}"
      function = functools.partial(small_games.solve, what, size)
    try:
      return queue.start(key, function).view()
    except tasks.BusyError as error:
      raise exceptions.ServiceUnavailable(str(error)) from None

  def task(self):
    """Answers the progress of a task."""
    (key,) = _query("task")
    task = self._solving.find(key) or self._measuring.find(key)
    if task is None:
      raise exceptions.NotFound("task: there is none of this name")
    return task.view()


def make_app(store=None, port=8000, hosts=LOOPBACK, session_store=None,
             make_rng=play.new_generator):
  """Returns the Flask application.

  Args:
    store: the `policy_store.PolicyStore`; None for the package's policies.
    port: the port that it is served on.
    hosts: the host names by which browsers may reach the page.
    session_store: the `sessions.SessionStore`; None for a new one.
    make_rng: a function that returns a generator of dice for a new match.
  """
  store = store or policy_store.PolicyStore()
  if session_store is None:
    session_store = sessions.SessionStore(store)
  app = flask.Flask("dudo_spiel.web", static_folder=None)
  app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
  app.json.sort_keys = False
  names = {f"{host.lower()}:{port}" for host in hosts}
  if port == 80:  # browsers leave it out
    names |= {host.lower() for host in hosts}
  app.before_request(lambda: _check_request(names))

  @app.after_request
  def add_headers(response):
    response.headers.update(_HEADERS)
    response.headers["Cache-Control"] = (
        "no-store" if flask.request.path.startswith("/api/") else "no-cache")
    return response

  @app.errorhandler(ValueError)
  def wrong_value(error):
    return _error(400, str(error))

  @app.errorhandler(exceptions.HTTPException)
  def refused(error):
    return _error(error.code, error.description)

  @app.errorhandler(Exception)
  def failed(error):
    logging.getLogger(__name__).error("a request failed", exc_info=error)
    return _error(500, "the server failed; its terminal says why")

  for file in _STATIC.iterdir():
    if file.suffix in _CONTENT_TYPES:
      path = "/" if file.name == "index.html" else f"/{file.name}"
      app.add_url_rule(path, f"file:{path}", functools.partial(
          flask.Response, file.read_bytes(),
          content_type=_CONTENT_TYPES[file.suffix]))
  page = _Page(store, session_store, f"dudo_{port}", make_rng)
  for path, get in {
      "info": page.info, "match": page.match, "help": page.help,
      "review": page.review, "explore": page.explore, "values": page.values,
      "rounds": page.rounds, "small": page.small, "task": page.task}.items():
    app.add_url_rule(f"/api/{path}", f"GET {path}", get, methods=["GET"])
  for path, post in {"match": page.new_match, "move": page.move,
                     "next": page.next_round, "task": page.start_task}.items():
    app.add_url_rule(f"/api/{path}", f"POST {path}", post, methods=["POST"])
  return app

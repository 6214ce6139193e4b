"""A page to play Dudo and to look into strategies; served on this machine.

`app.make_app` makes the web application and `examples/dudo_page.py` serves it.
It needs the extra `web`. This package stands on top of everything else: it uses
the games and the solvers, and nothing imports it.
"""

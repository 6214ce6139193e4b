"""The page to play Dudo in a browser and to look into strategies.

`app.make_app` makes the Flask application, which `examples/dudo_page.py` serves
on this machine. It needs the extra `web`. This package is the top layer: it
uses the games and the solvers, and nothing imports it.
"""

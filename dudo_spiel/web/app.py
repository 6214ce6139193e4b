"""The web application: addresses, checks of requests, and limits.

It is made with Flask. Requests are refused unless their Host is one that the
server is meant to have, and their Origin, if there is one, too: so no other
page can use this one, nor reach it by a name of its own. What a request says is
checked, and a wrong word is answered by a 400 that names it.
"""

import functools
import importlib.resources
import json
import logging

import flask
from werkzeug import exceptions

from dudo_spiel import validation
from dudo_spiel.algorithms import exploitability
from dudo_spiel.web import advice
from dudo_spiel.web import explorer
from dudo_spiel.web import library as library_lib
from dudo_spiel.web import play
from dudo_spiel.web import sessions
from dudo_spiel.web import small_games
from dudo_spiel.web import tasks

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES = 4096
_MAX_EXACT_DICE = 5  # in play, for exploitability without bounds
_BOUND_SECONDS = 12.0  # for each seat of a round
_SMALL_GAMES = {  # name: (smallest size, largest size, solver, view)
    "neumann_poker": (small_games.MIN_RANKS, small_games.MAX_RANKS,
                      small_games.solve_neumann, small_games.neumann_view),
    "liar_die": (small_games.MIN_SIDES, small_games.MAX_SIDES,
                 small_games.solve_liar_die, small_games.liar_die_view)}
_FILES = {"/": ("index.html", "text/html; charset=utf-8")} | {
    f"/{name}": (name, kind) for name, kind in [
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml")]} | {
    f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
    for name in ("main", "ui", "play", "help", "review", "explore", "rounds",
                 "small")}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
                               "style-src 'self'; img-src 'self' data:; "
                               "connect-src 'self'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin"}


def _check_request(hosts):
  """Returns an answer that refuses the request, or None."""
  if flask.request.headers.get("Host", "").lower() not in hosts:
    return _error(403, "Host: must be the address that the server printed")
  origin = flask.request.headers.get("Origin")
  if origin is not None and origin.lower() not in {
      f"http://{host}" for host in hosts}:
    return _error(403, "Origin: must be the page itself")
  # Browsers say where a request comes from; other programs need not.
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

  Args:
    **fields: {name: (type, default)}; a default of None means that the field
      must be there.
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
  """Returns the texts of an address, empty where they are missing."""
  return [flask.request.args.get(name, "") for name in names]


class _Page:
  """The answers of the page.

  Args:
    library: the `library.Library`.
    store: the `sessions.Store`.
    cookie: the name of the cookie.
    make_rng: a function that returns a generator of dice for a new match.
  """

  def __init__(self, library, store, cookie, make_rng):
    self._library = library
    self._store = store
    self._cookie = cookie
    self._make_rng = make_rng
    self._solving = tasks.TaskLine()
    self._measuring = tasks.TaskLine()  # takes minutes, and nobody waits for it
    self._measured = {}  # (starter's dice, other's) -> [lower, upper]

  def _session(self):
    return self._store.find(flask.request.cookies.get(self._cookie, ""))

  def _match_view(self, session):
    if session is None or session.match is None:
      return {"phase": "none", "score": {"won": 0, "lost": 0}}
    return {**session.match.view(), "score": session.score}

  def info(self):
    """Answers what can be played and explored."""
    library = self._library
    numbers = range(1, library_lib.MAX_DICE + 1)
    return {
        "policy": library.match_name, "max_dice": library_lib.MAX_DICE,
        "trained_dice": [n for n in numbers if library.knows((n, n))],
        "exploitability": {n: library.exploitability((n, n)) for n in numbers},
        "is_certain": library.is_certain,
        "rounds": [f"{a}v{b}" for a, b in library.rounds],
        "sides": library.rules.num_sides,
        "wild_ones": library.rules.house.wild_ones,
        "die_loss": library.rules.house.die_loss,
        "has_single_round_policy": library.single_round is not None,
        "single_round_players": library.single_round_game().num_players(),
        "small_policies": sorted(library.small),
        "ranks": [small_games.MIN_RANKS, small_games.MAX_RANKS],
        "die_sides": [small_games.MIN_SIDES, small_games.MAX_SIDES]}

  def match(self):
    """Answers how the person's match stands."""
    session = self._session()
    if session is None:
      return self._match_view(None)
    with session.lock:
      return self._match_view(session)

  def new_match(self):
    """Begins a match."""
    game, opponent, dice = _body(game=(str, "dudo"), opponent=(str, "trained"),
                                 dice=(int, 3))
    validation.choice("game", game, ("dudo", "single_round"))
    validation.choice("opponent", opponent, play.OPPONENTS)
    validation.integer("dice", dice, 1, library_lib.MAX_DICE)
    session, token = self._session(), None
    if session is None:
      token, session = self._store.add()
    with session.lock:
      number = session.matches + 1
      rng = self._make_rng()
      if game == "dudo":
        match = play.DudoMatch(self._library, dice, opponent, number, rng)
      else:
        match = play.SingleRound(self._library, opponent, number, rng)
      if match.is_known:
        match.note = session.note
      session.match, session.matches = match, number
      view = self._match_view(session)
    response = flask.jsonify(view)
    if token is not None:
      response.set_cookie(self._cookie, token, httponly=True,
                          samesite="Strict")
    return response

  def _playing(self):
    """Returns the session with a match, or raises."""
    session = self._session()
    if session is None or session.match is None:
      raise exceptions.NotFound("match: there is none; begin one")
    return session

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
    try:
      match.check_turn(turn)
    except ValueError as error:
      raise exceptions.Conflict(str(error)) from None

  def next_round(self):
    """Begins the next round of a match."""
    (turn,) = _body(turn=(int, None))
    session = self._playing()
    with session.lock:
      self._check_turn(session.match, turn)
      if session.match.kind != "dudo":
        raise ValueError("match: has one round only")
      session.match.go_on()
      return self._match_view(session)

  def help(self):
    """Answers what there is to know about the person's move."""
    session = self._playing()
    with session.lock:
      return advice.help_view(self._library, session.match)

  def review(self):
    """Answers what the person's moves lost."""
    session = self._session()
    if session is None:
      return {"moves": [], "total": 0.0, "forgotten": 0,
              "score": {"won": 0, "lost": 0}}
    with session.lock:
      return advice.review_view(self._library, session)

  def explore(self):
    """Answers what the policy does at a position."""
    position = explorer.Position(self._library, *_query("round", "claims"))
    return explorer.position_view(self._library, position)

  def values(self):
    """Answers what the actions of one hand are worth at a position."""
    position = explorer.Position(self._library, *_query("round", "claims"))
    hand = position.hand(self._library, *_query("hand"))
    return explorer.hand_view(self._library, position, hand)

  def rounds(self):
    """Answers what all rounds are worth."""
    return explorer.rounds_view(self._library, dict(self._measured))

  def small(self):
    """Answers the policy of a small game that came from a file."""
    (game,) = _query("game")
    validation.choice("game", game, tuple(_SMALL_GAMES))
    policy = self._library.small.get(game)
    if policy is None:
      raise exceptions.NotFound(f"game={game}: has no policy file")
    *_, show = _SMALL_GAMES[game]
    return show(policy.game, policy)

  def start_task(self):
    """Begins a task: solves a small game, or measures the policy."""
    what, size = _body(what=(str, None), size=(int, 0))
    validation.choice("what", what, (*_SMALL_GAMES, "measure"))
    if what == "measure":
      line, work, key = self._measuring, self._measure, "measure"
    else:
      low, high, solve, _ = _SMALL_GAMES[what]
      validation.integer("size", size, low, high)
      line, work = self._solving, functools.partial(solve, size)
      key = f"{what}-{size}"
    try:
      return line.start(key, work).view()
    except tasks.BusyError as error:
      raise exceptions.ServiceUnavailable(str(error)) from None

  def task(self):
    """Answers how far a task is."""
    (key,) = _query("task")
    found = self._solving.find(key) or self._measuring.find(key)
    if found is None:
      raise exceptions.NotFound("task: there is none of this name")
    return found.view()

  def _measure(self, report):
    """Measures how exploitable the rounds are, smallest first.

    Returns:
      How many rounds were measured.
    """
    policy = self._library.match
    rounds = sorted((dice for dice in self._library.rounds
                     if self._library.exploitability(dice) is None and
                     sum(dice) <= explorer.MAX_MEASURED_DICE), key=sum)
    weights = [2.0**sum(dice) for dice in rounds]
    for number, dice in enumerate(rounds):
      report(sum(weights[:number]) / sum(weights),
             f"round {dice[0]}v{dice[1]}")
      if sum(dice) <= _MAX_EXACT_DICE:
        exact = exploitability.round_exploitability(policy, dice)
        self._measured[dice] = [exact, exact]
        continue
      bounds = []
      for role in (0, 1):
        for found in exploitability.refine_bounds(policy, dice, role,
                                                  _BOUND_SECONDS):
          last = found
        bounds.append(last)
      self._measured[dice] = [
          max(0.0, sum(bound.lower for bound in bounds) / 2.0),
          sum(bound.upper for bound in bounds) / 2.0]
    return len(rounds)


def make_app(library=None, port=8000, hosts=LOOPBACK, store=None,
             make_rng=play.new_generator):
  """Returns the Flask application.

  Args:
    library: the `library.Library`; None for what comes with the package.
    port: the port that it is served on.
    hosts: the names by which the page may be asked for.
    store: the `sessions.Store`; None for a new one.
    make_rng: a function that returns a generator of dice for a new match.
  """
  library = library_lib.Library() if library is None else library
  store = sessions.Store(library) if store is None else store
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

  folder = importlib.resources.files("dudo_spiel.web") / "static"
  files = {path: ((folder / name).read_bytes(), kind)
           for path, (name, kind) in _FILES.items()}

  def file():
    body, kind = files[flask.request.path]
    return flask.Response(body, content_type=kind)

  for path in files:
    app.add_url_rule(path, f"file:{path}", file)
  page = _Page(library, store, f"dudo_{port}", make_rng)
  for path, method, answer in [
      ("info", "GET", page.info), ("match", "GET", page.match),
      ("match", "POST", page.new_match), ("move", "POST", page.move),
      ("next", "POST", page.next_round), ("help", "GET", page.help),
      ("review", "GET", page.review), ("explore", "GET", page.explore),
      ("values", "GET", page.values), ("rounds", "GET", page.rounds),
      ("small", "GET", page.small), ("task", "POST", page.start_task),
      ("task", "GET", page.task)]:
    app.add_url_rule(f"/api/{path}", f"{method} {path}", answer,
                     methods=[method])
  return app

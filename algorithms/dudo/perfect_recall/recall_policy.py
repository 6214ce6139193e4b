"""Policies for matches of Dudo with perfect recall, from growing trees.

A `RecallPolicy` remembers all claims of the round, and of earlier rounds only
the numbers of dice. After histories that are not stored it plays the default
action: Dudo, or the weakest claim if it opens the round.

`compressed` quantises a policy and encodes it as streams of bytes. Such a
policy decodes a round when it is first needed. It is measured when it is made,
so it knows its exploitability.
"""

from collections.abc import Sequence
import hashlib

import numpy as np
import pyspiel

from dudo_spiel import annotations
from dudo_spiel import validation
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_evaluator
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.perfect_recall.compression import coded_round
from dudo_spiel.algorithms.dudo.rounds import round_rules
from dudo_spiel.algorithms.dudo.rounds import rounds_policy
from dudo_spiel.algorithms.runtime import archives
from dudo_spiel.algorithms.runtime import interrupts
from dudo_spiel.algorithms.runtime import jit
from dudo_spiel.algorithms.runtime import progress

FILE_KIND = "recall_policy"
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_SHARES = 2**40
# A stream of the range coder is not packed any more: it may take twice as many
# bytes as in the file, and so many more.
_STREAM_PACKING, _STREAM_BYTES = 2, 2**12


class RecallPolicy(rounds_policy.RoundsPolicy):
  """An OpenSpiel policy that plays every state of a match of Dudo.

  Args:
    game: the `pyspiel.Game`, `dudo` with two players.
    rounds: {(starter's dice, other's dice): `stored_rounds.StoredRound` or
      `stored_rounds.LazyRound`}. In the average policy of a solver, entries of
      a table are sums over the iterations of the player's own reach of the
      action.
    measures: {(starter's dice, other's dice): `stored_rounds.Measures`} of all
      its rounds; None if nothing was measured.

  Attributes:
    match: the `round_rules.RoundRules`.
    measures: as given, or {}.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import policy_bots
    >>> policy = policy_bots.load_policy()  # comes with the package
    >>> game = pyspiel.load_game("dudo(numdice=1)")
    >>> policy.known_exploitability(game) < 1e-5
    True
  """

  has_perfect_recall = True
  remembered_text = "all claims"

  def __init__(
      self, game: pyspiel.Game,
      rounds: annotations.ByRound[
          stored_rounds.StoredRound | stored_rounds.LazyRound],
      measures: annotations.ByRound[stored_rounds.Measures] | None = None,
  ) -> None:
    super().__init__(game)
    self.rules = round_rules.round_rules(game)
    if not isinstance(rounds, dict):
      raise ValueError(f"rounds={rounds!r}: must be a dict by rounds")
    for entry in rounds.values():
      if not isinstance(entry, (stored_rounds.StoredRound,
                                stored_rounds.LazyRound)):
        raise ValueError(f"rounds={validation.shown(entry)}: must be a "
                         "StoredRound, as RecallPolicy.round_tables returns it")
    self._rounds = dict(rounds)
    self.measures = stored_rounds.checked_measures(measures, rounds)

  def _known(self):
    return self._rounds.keys()

  def _needed(self, dice):
    return round_rules.rounds_from(self.match, dice)

  @property
  def rounds(self) -> list[annotations.Dice]:
    """The rounds (starter's dice, other's dice) that it plays, a list."""
    return list(self._rounds)

  @property
  def values(self) -> annotations.ByRound[float]:
    """{(starter's dice, other's dice): the starter's value}, if measured.

    It is the value of the match from the round on if both play the policy.
    """
    return {dice: measures.value for dice, measures in self.measures.items()}

  def action_probabilities(self, state: pyspiel.State,
                           player_id: int | None = None) -> dict[int, float]:
    """Returns {action: probability} for the legal actions of the state."""
    validation.state("state", state)
    player = validation.player("player_id", player_id, state)
    game = state.get_game()
    if not self.has_rules_of(game):
      raise ValueError(f"state={state}: is not one of {self.game}")
    if state.current_player() != player or player < 0:
      raise ValueError(f"state={state}: player_id={player_id} does not decide "
                       "there")
    starter = state.round().starter
    key = state.dice[starter], state.dice[1 - starter]
    if key not in self._rounds:
      raise ValueError(f"state={state}: is in the round {key[0]}v{key[1]}; the "
                       f"policy knows {self._known_text()}")
    claims = state.claim_list()
    role = int(player != starter)
    hand = game.rolls(key[role]).index(state.hand(player))
    actions, probabilities = self.round_tables(key).after_claims(claims)
    result = dict.fromkeys(state.legal_actions(), 0.0)
    num_claims = self.match.claim_order(sum(key)).num_claims
    for action, probability in zip(actions, probabilities[:, hand].tolist()):
      result[game.dudo_action if action == num_claims else action] = probability
    return result

  def _after_claims(self, key, claims):
    num_claims = len(claims) if isinstance(claims, (list, tuple)) else 0
    if not self.knows(key, num_claims):
      raise ValueError(f"key={key!r}: after {num_claims} claims must be the "
                       "(own, opponent's) dice of a round that the policy "
                       f"knows: {self._known_text()}")
    order = self.match.claim_order(sum(key))
    order.check_history(claims)
    last = claims[-1] if claims else -1
    actions, probabilities = self.round_tables(
        key[::-1] if num_claims % 2 else key).after_claims(list(claims))
    table = np.zeros((order.num_claims - last - (not claims),
                      probabilities.shape[1]))
    table[np.array(actions) - last - 1] = probabilities
    return table

  def round_tables(self, key: annotations.Dice) -> stored_rounds.StoredRound:
    """Returns the `stored_rounds.StoredRound` of a round.

    Args:
      key: (starter's dice, other's dice).
    """
    if not rounds_policy.is_dice(key) or key not in self._rounds:
      raise ValueError(f"key={key!r}: must be (starter's, other's) dice, one "
                       f"of {self._known_text()}")
    return self._rounds[key].read()

  # Values.

  def continuation_values(self,
                          dice: annotations.Dice) -> annotations.ByRound[float]:
    """Returns the measured `values` of all rounds, or raises a ValueError."""
    del dice
    if not self.measures:
      raise ValueError(f"policy={self!r}: was not measured; call its measure")
    return self.values

  def ensure_values(self) -> None:
    """Measures the policy, unless that was done before."""
    if not self.measures:
      self.measure()

  def exploitability_from(self, dice: annotations.Dice) -> float | None:
    """Returns half the NashConv in the match from a round on, if measured."""
    measures = self.measures.get(dice)
    return None if measures is None else measures.exploitability

  def measure(
      self, num_threads: int | None = None,
  ) -> annotations.ByRound[stored_rounds.Measures]:
    """Measures the policy in all its rounds, and keeps the result.

    Args:
      num_threads: how many threads to use, None for all.

    Returns:
      {(starter's dice, other's dice): `stored_rounds.Measures`}.
    """
    num_threads = jit.thread_count(num_threads)
    flag = interrupts.new_flag()

    def measure():
      measures = {}
      with interrupts.thread_pool(num_threads) as pool:
        for key in sorted(self._rounds, key=sum):  # smaller rounds come first
          measures[key] = round_evaluator.RoundEvaluator(
              self.match, self.round_tables(key), flag).measure(measures, pool)
      return measures

    self.measures = interrupts.call_stoppable(measure, flag)
    return self.measures

  def intervals(
      self, num_threads: int | None = None,
  ) -> annotations.ByRound[tuple[float, float]]:
    """Returns {(starter's dice, other's dice): (low, high)}, exactly.

    In the match from a round on, the policy gets at least `low` as the starter,
    and no starter gets more than `high` against it.

    Args:
      num_threads: how many threads to use, None for all.
    """
    return {key: (measures.low, measures.high)
            for key, measures in self.measure(num_threads).items()}

  def exploitability(self, num_threads: int | None = None) -> float:
    """Returns half the NashConv of the policy in the whole match, exactly.

    Args:
      num_threads: how many threads to use, None for all.
    """
    return self.measure(num_threads)[self.first_round(self.game)].exploitability

  # Compression.

  @property
  def is_in_shares(self) -> bool:
    """Whether the policy, or a round of it, is quantised."""
    return any(entry.is_quantized for entry in self._rounds.values())

  def compressed(self, num_shares: int | annotations.ByRound[int], *,
                 num_threads: int | None = None) -> "RecallPolicy":
    """Returns the policy quantised, encoded and measured.

    Args:
      num_shares: into how many quanta the reach of a player is divided, over
        all of its hands: an int, or {(starter's dice, other's dice): int}, such
        as `perfect_recall.ShareTrials.within` returns.
      num_threads: how many threads to use to measure, None for all.
    """
    if self.is_in_shares:
      raise ValueError(f"num_shares={validation.shown(num_shares)}: this "
                       "policy is in shares already; must be for the policy "
                       "that it was made from")
    if not isinstance(num_shares, dict):
      num_shares = dict.fromkeys(self._rounds, num_shares)
    elif num_shares.keys() != self._rounds.keys():
      raise ValueError(f"num_shares={num_shares!r}: must be for the rounds "
                       f"{self._known_text()}")
    num_shares = {
        key: validation.integer("num_shares", number, 1, _MAX_SHARES)
        for key, number in num_shares.items()}
    num_threads = jit.thread_count(num_threads)
    flag = interrupts.new_flag()

    def compress():
      rounds, measures = {}, {}
      with interrupts.thread_pool(num_threads) as pool, (
          progress.progress_bar(len(self._rounds), desc="compressing",
                                unit="round")) as bar:
        for key in sorted(self._rounds, key=sum):  # smaller rounds come first
          rounds[key], small = coded_round.compress(
              self.match, self.round_tables(key), num_shares[key], flag)
          measures[key] = round_evaluator.RoundEvaluator(
              self.match, small, flag).measure(measures, pool)
          bar.update()
      return rounds, measures

    return RecallPolicy(self.game, *interrupts.call_stoppable(compress, flag))

  @property
  def memory_bytes(self) -> int:
    """How many bytes of memory the policy takes at present."""
    return sum(entry.num_bytes for entry in self._rounds.values())

  # Files.

  def save(self, path: annotations.PathLike) -> None:
    """Writes the policy to one file, which `policies.load_policy` reads."""
    arrays, rounds, checksums = {}, [], []
    for (a, b), entry in self._rounds.items():
      if isinstance(entry, coded_round.CodedRound):
        rounds.append([a, b, *entry.size])
        parts = dict(zip(("tree", "shares"), entry.streams))
      else:
        _, tree, table = entry.read()
        rounds.append([a, b, tree.num_nodes, len(tree.claim)])
        parts = {**growing_tree.rows_of(tree),
                 "weights": np.maximum(table, 0.0)}
      for name, array in parts.items():
        arrays[f"{a}v{b}_{name}"] = array
      checksums.append(_checksum(rounds[-1], parts.values()))
    measures = [[*dice, *entry] for dice, entry in self.measures.items()]
    archives.save(path, FILE_KIND,
                  {"game": str(self.game), "rounds": rounds,
                   "checksums": checksums, "measures": measures},
                  arrays, compress=True)


def _checksum(item, arrays):
  """Returns the checksum of a round, str.

  Archives have checksums, too, but those fit whatever is written. This one
  tells whether the numbers are those that were saved.

  Args:
    item: the round's numbers in the field `rounds` of the header.
    arrays: the round's arrays in the file.
  """
  digest = hashlib.sha256(repr(item).encode())
  for array in arrays:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array))
  return digest.hexdigest()[:32]


def _rounds_from_file(name, value):
  """Returns the field `rounds` of a header, or raises a ValueError."""
  if not isinstance(value, list) or not value:
    raise ValueError(f"{name}: must be a list of rounds")
  for item in value:
    if not isinstance(item, list) or len(item) not in (4, 5):
      raise ValueError(f"{name}: must have [starter's dice, other's dice, "
                       "nodes, rows] for each round, and the number of shares "
                       "if it has them")
    for number in item[:4]:
      validation.integer(name, number, 1, growing_tree.MAX_ROWS)
    for number in item[4:]:
      validation.integer(name, number, 1, _MAX_SHARES)
  return {tuple(item[:2]): item for item in value}


def _measures_from_file(name, value):
  """Returns the field `measures` of a header, or raises a ValueError."""
  measures = {}
  for item in value if isinstance(value, list) else [value]:
    if not isinstance(item, list) or len(item) != 5:
      raise ValueError(f"{name}: must have [starter's dice, other's dice, low, "
                       "high, value] for each round")
    dice = tuple(validation.integer(name, number, 1, growing_tree.MAX_ROWS)
                 for number in item[:2])
    measures[dice] = stored_rounds.checked_round_measures(name, dice,
                                                            item[2:])
  return measures


def from_file(archive, game):
  """Returns the policy in a file.

  Args:
    archive: the `archives.Archive`.
    game: the `pyspiel.Game` of the policy.
  """
  path = archive.path
  match = round_rules.round_rules(game)
  keys = set(round_rules.match_keys(game))
  items = archives.field(path, archive.header, "rounds", _rounds_from_file)
  if items.keys() != keys:
    raise ValueError(f"path={path!r}: its rounds must be those of {game}")
  checksums = archive.header.get("checksums")  # which some old files lack
  if checksums is not None and (not isinstance(checksums, list) or
                                len(checksums) != len(items)):
    raise ValueError(f"path={path!r}: its checksums must be a list of one for "
                     "each round")
  archive.check_packing()
  rounds = {}
  for number, (key, item) in enumerate(items.items()):
    rounds[key], arrays = _read_round(archive, match, item)
    if checksums is not None and checksums[number] != _checksum(item, arrays):
      raise ValueError(f"path={path!r}: its round {key[0]}v{key[1]} is "
                       "damaged; must have the checksum that was saved with it")
  measures = archives.field(path, archive.header, "measures",
                            _measures_from_file)
  if measures and measures.keys() != keys:
    raise ValueError(f"path={path!r}: its measures must be of the rounds of "
                     f"{game}, or none")
  return RecallPolicy(game, rounds, measures)


def _read_round(archive, match, item):
  """Returns a round of a file, and its arrays.

  Args:
    archive: the `archives.Archive`.
    match: the `round_rules.RoundRules`.
    item: the round's numbers in the field `rounds` of the header.

  Returns:
    (`coded_round.CodedRound` or `stored_rounds.StoredRound`, list of the arrays
    that `_checksum` needs).
  """
  a, b, nodes, rows, *shares = item
  prefix = f"{a}v{b}_"
  if shares:
    streams = [_read_stream(archive, prefix + name)
               for name in ("tree", "shares")]
    return coded_round.CodedRound(match, (a, b), nodes, rows, *shares, streams,
                                  archive.path), streams
  hands = round_hands.RoundHands(match, (a, b))
  tree = growing_tree.read_tree(archive, prefix, hands, nodes, rows, "weights")
  weights = archive.read(prefix + "weights", (tree.num_entries,), _DTYPES, 0.0)
  return (stored_rounds.StoredRound(hands, tree, weights),
          [*growing_tree.rows_of(tree).values(), weights])


def _read_stream(archive, name):
  """Returns a stream of an archive, [byte] uint8, or raises a ValueError."""
  if name not in archive.names:
    raise ValueError(f"path={archive.path!r}: its {name} is missing")
  archive.check_packing([name], _STREAM_PACKING, _STREAM_BYTES)
  stream = archive.read(name)
  if stream.ndim != 1 or stream.dtype != np.uint8:
    raise ValueError(f"path={archive.path!r}: its {name} is {stream.shape} "
                     f"{stream.dtype}; must be one row of uint8")
  return stream


def merged(game: pyspiel.Game,
           policies: Sequence[RecallPolicy]) -> RecallPolicy:
  """Returns one policy from several, each round from the first that has it.

  Args:
    game: the `pyspiel.Game` of the result.
    policies: list of `RecallPolicy`, the best first.

  Example:
    >>> import pyspiel
    >>> from dudo_spiel.algorithms import perfect_recall
    >>> from dudo_spiel.algorithms import policy_bots
    >>> game = pyspiel.load_game("dudo(numdice=1)")
    >>> policy = perfect_recall.merged(game, [policy_bots.load_policy()])
    >>> policy.rounds
    [(1, 1)]
  """
  round_rules.round_rules(validation.game("game", game))  # checks it
  if not isinstance(policies, (list, tuple)) or not all(
      isinstance(policy, RecallPolicy) for policy in policies):
    raise ValueError(f"policies={validation.shown(policies)}: must be a list "
                     "of RecallPolicy")
  rounds = {}
  for key in round_rules.match_keys(game):
    policy = next((policy for policy in policies if key in policy._rounds and
                   policy.has_rules_of(game)), None)
    if policy is None:
      raise ValueError(f"policies: none knows the round {key[0]}v{key[1]} of "
                       f"{game}")
    rounds[key] = policy._rounds[key]
  return RecallPolicy(game, rounds)

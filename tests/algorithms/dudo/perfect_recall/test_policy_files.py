"""Files of policies with perfect recall that are damaged, or larger inside."""

import json
import re
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
import recall_helpers

from dudo_spiel.algorithms import policies
from dudo_spiel.algorithms.dudo.perfect_recall import growing_tree
from dudo_spiel.algorithms.dudo.perfect_recall import round_hands
from dudo_spiel.algorithms.dudo.perfect_recall import stored_rounds
from dudo_spiel.algorithms.dudo.perfect_recall.compression import codec
from dudo_spiel.algorithms.dudo.rounds import round_rules

_SMALL = recall_helpers.SMALL
_HUGE = 2**27  # bytes
_MAX_GROWTH = 2**25  # bytes of memory that a file may take


def _arrays(policy, path):
  """Returns the arrays of the file of a policy, and its header."""
  policy.save(path)
  with np.load(path) as archive:
    arrays = dict(archive)
  return arrays, json.loads(arrays["header"].tobytes())


def _write(path, arrays, header, checksums=None):
  """Writes a file, packed, whose rounds have no checksums or these."""
  header = {**header, "checksums": checksums}
  if checksums is None:
    del header["checksums"]
  np.savez_compressed(path, **{**arrays, "header": np.frombuffer(
      json.dumps(header).encode(), np.uint8)})


def _small():
  return recall_helpers.solver_after(_SMALL, 200).average_policy()


def _coded():
  return _small().compressed(1000, num_threads=1)


def _untrained(name):
  """Returns a policy with nothing but the weakest claim."""
  game = pyspiel.load_game(name)
  rounds = {}
  for dice in round_rules.match_keys(game):
    hands = round_hands.RoundHands(round_rules.round_rules(game), dice)
    tree = growing_tree.new_tree(hands)
    rounds[dice] = stored_rounds.StoredRound(
        hands, tree, np.ones(tree.num_entries, np.float32))
  return policies.RecallPolicy(game, rounds)


def _long_stream(path, size=_HUGE):
  arrays, header = _arrays(_coded(), path)
  arrays["2v1_shares"] = np.zeros(size, np.uint8)
  _write(path, arrays, header)


def _wrong_sizes(path):
  arrays, header = _arrays(_coded(), path)
  for item in header["rounds"]:
    item[2:4] = 2**31 - 2, 2**31 - 1
  _write(path, arrays, header)


def _many_nodes(path, weights=0):
  arrays, header = _arrays(_small(), path)
  rows = _HUGE // 8
  item = next(item for item in header["rounds"] if item[:2] == [2, 1])
  item[2:] = rows // 2, rows
  arrays.update({"2v1_counts": np.full(rows // 2, 2, np.int16),
                 "2v1_claims": np.zeros(rows, np.int16),
                 "2v1_has_child": np.zeros(rows, np.bool_)})
  if weights:
    arrays["2v1_weights"] = np.zeros(weights * rows, np.float32)
  _write(path, arrays, header)


def _tree_of_all_claims(num_claims, count):
  """Returns counts, claims and has_child: claim 0, and all of the last ones."""
  subtrees = {}  # by the last claim
  for last in range(num_claims - 2, num_claims - count - 2, -1):
    later = np.arange(last + 1, num_claims)
    own = (np.array([1 + len(later)]), np.append(num_claims, later),
           np.append(False, later < num_claims - 1))
    below = [subtrees[claim] for claim in later[:-1].tolist()]
    subtrees[last] = tuple(map(np.concatenate, zip(own, *below)))
  counts, claims, has_child = subtrees[num_claims - count - 1]
  claims = claims.copy()
  claims[0] = 0  # the root has no Dudo
  return (counts.astype(np.int16), claims.astype(np.int16), has_child)


def _coded_tree(path):
  policy = _untrained("dudo(numdice=3)").compressed(1, num_threads=1)
  arrays, header = _arrays(policy, path)
  parts = _tree_of_all_claims(36, 21)
  stream = codec._encode(codec._TREE_CONTEXTS, 2**20,
                         lambda coder: codec._code_tree(coder, 36, *parts))
  assert len(stream) < 5000 and len(parts[0]) == 2**20
  arrays["3v3_tree"] = stream
  item = next(item for item in header["rounds"] if item[:2] == [3, 3])
  item[2:4] = len(parts[0]), len(parts[1])
  _write(path, arrays, header)


def _many_dice(path):
  _untrained("dudo(numdice=8)").save(path)


# What a file is, and what it is refused with; None if it is right.
_FILES = [(_long_stream, "its arrays would take"),
          (lambda path: _long_stream(path, _HUGE // 4),
           "its 2v1_shares would take"),
          (_wrong_sizes, "make no sense"),
          (_many_nodes, "2v1_weights is too short"),
          (lambda path: _many_nodes(path, 8), "its arrays would take"),
          (_coded_tree, "make no sense"), (_many_dice, None)]

_LOAD = """
import resource
import sys
from dudo_spiel.algorithms import policies

def load(path):
  policy = policies.load_policy(path)
  state = policy.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  policy.action_probabilities(state)

def peak():
  return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for path in sys.argv[1:3]:  # compiles what is needed
  load(path)
for path in sys.argv[3:]:
  before, message = peak(), "none"
  try:
    load(path)
  except ValueError as error:
    message = str(error)
  print(peak() - before, message)
"""


def test_small_files_take_little_memory(tmp_path):
  """In a process of its own, whose memory is its own."""
  pytest.importorskip("resource")
  paths = [tmp_path / "stored.npz", tmp_path / "coded.npz"]
  _small().save(paths[0])
  _coded().save(paths[1])
  for number, (make, _) in enumerate(_FILES):
    paths.append(tmp_path / f"{number}.npz")
    make(paths[-1])
    assert paths[-1].stat().st_size < 2**20
  result = subprocess.run([sys.executable, "-c", _LOAD, *paths],
                          capture_output=True, text=True)
  assert result.returncode == 0, result.stderr
  lines = result.stdout.splitlines()
  assert len(lines) == len(_FILES)
  for line, (_, expected) in zip(lines, _FILES):
    growth, message = line.split(maxsplit=1)
    assert int(growth) < _MAX_GROWTH, line
    assert re.match(f"path=.*{expected}" if expected else "none", message)


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path):
  path = tmp_path / "policy.npz"
  _long_stream(path)
  data = path.read_bytes()
  begin = data.rindex(b"2v1_shares.npy") - 46  # in the directory at the end
  assert data[begin:begin + 4] == b"PK\x01\x02"
  lie = (2**30).to_bytes(4, "little")  # the size of what is packed
  path.write_bytes(data[:begin + 20] + lie + data[begin + 24:])
  with pytest.raises(ValueError, match="^path="):
    policies.load_policy(path)


@pytest.mark.parametrize("policy", [_small, _coded], ids=["stored", "coded"])
def test_damage_is_noticed_when_the_file_is_loaded(policy, tmp_path):
  path = tmp_path / "policy.npz"
  arrays, header = _arrays(policy(), path)
  rng = np.random.default_rng(0)
  for name in sorted(set(arrays) - {"header"}):
    for _ in range(20):
      array = arrays[name].copy()
      flat = array.reshape(-1).view(np.uint8)
      bits = 1 if array.dtype == np.bool_ else 8
      flat[rng.integers(len(flat))] ^= 1 << rng.integers(bits)
      _write(path, {**arrays, name: array}, header, header["checksums"])
      with pytest.raises(ValueError, match="^path="):
        policies.load_policy(path)
  for checksums in ([], "x", [1] * len(header["rounds"]),
                    header["checksums"][::-1]):
    _write(path, arrays, header, checksums)
    with pytest.raises(ValueError, match="^path=.*checksum"):
      policies.load_policy(path)


@pytest.mark.parametrize("policy", [_small, _coded], ids=["stored", "coded"])
def test_files_without_checksums_still_load(policy, tmp_path):
  path = tmp_path / "policy.npz"
  saved = policy()
  arrays, header = _arrays(saved, path)
  _write(path, arrays, header)
  loaded = policies.load_policy(path)
  for dice in saved.rounds:
    np.testing.assert_array_equal(loaded.round_tables(dice).table,
                                  saved.round_tables(dice).table)

"""Random games of perfect recall, loaded by OpenSpiel from its EFG format."""

import random

import pyspiel


def random_game(seed, num_players=2, depth=5, zero_sum=True, uneven=False):
  """Returns a random game in which some actions are hidden from some players.

  Who acts depends only on the depth. Players remember all their own actions and
  all actions of others that they have seen, so the game has perfect recall.

  Args:
    seed: the seed.
    num_players: how many players there are.
    depth: how many actions a history has.
    zero_sum: whether all players' payoffs add up to zero.
    uneven: whether histories may end early. Players then do not count the
      actions that they do not see, so an information set can hold histories of
      different lengths.
  """
  rng = random.Random(seed)
  actors = [rng.choice([-1, *range(num_players), *range(num_players)])
            for _ in range(depth)]
  actors[-1] = rng.randrange(num_players)
  names = " ".join(f'"P{p}"' for p in range(num_players))
  lines = [f'EFG 2 R "random" {{ {names} }} ""']
  numbers = {}  # (player, memory) -> number of the information set
  sizes = {}  # (player, memory) -> number of actions
  hidden = {}  # (actor, depth, watcher) -> whether the action is hidden
  count = {"c": 0, "t": 0}

  def write(level, memories):
    if level == depth or (uneven and level > 1 and rng.random() < 0.3):
      count["t"] += 1
      payoffs = [rng.randint(-9, 9) for _ in range(num_players)]
      if zero_sum:
        payoffs[-1] = -sum(payoffs[:-1])
      text = " ".join(map(str, payoffs))
      lines.append(f't "" {count["t"]} "" {{ {text} }}')
      return
    actor = actors[level]
    if actor < 0:
      count["c"] += 1
      weights = [rng.randint(1, 5) for _ in range(rng.randint(2, 3))]
      moves = " ".join(f'"m{i}" {w}/{sum(weights)}'
                       for i, w in enumerate(weights))
      lines.append(f'c "" {count["c"]} "" {{ {moves} }} 0')
      actions = len(weights)
    else:
      key = actor, memories[actor]
      number = numbers.setdefault(
          key, 1 + sum(player == actor for player, _ in numbers))
      actions = sizes.setdefault(key, rng.randint(1, 3))
      moves = " ".join(f'"m{i}"' for i in range(actions))
      lines.append(f'p "" {actor + 1} {number} "" {{ {moves} }} 0')
    for action in range(actions):
      following = []
      for player, memory in enumerate(memories):
        is_hidden = hidden.setdefault((actor, level, player),
                                      rng.random() < 0.5)
        sees = player == actor or not is_hidden
        if uneven:
          following.append((*memory, (actor, action)) if sees else memory)
        else:
          following.append((*memory, (level, action if sees else "?")))
      write(level + 1, following)

  write(0, [()] * num_players)
  return pyspiel.load_efg_game("\n".join(lines) + "\n")

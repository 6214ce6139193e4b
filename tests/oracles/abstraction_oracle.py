"""What players remember of a round, in plain Python.

An abstraction is a function of all claims of the round, first to last, and of
the ranks of all claims that there are. Players cannot tell apart histories with
equal results.
"""


def last_claims(claims, ranks, exact, by_rank=0):
  """The last claims exactly, and the ranks of those before them."""
  begin = max(len(claims) - exact, 0)
  older = claims[max(begin - by_rank, 0):begin]
  return tuple(claims[begin:]), tuple(ranks[claim] for claim in older)


def player_ranks(claims, ranks):
  """The last claim, and the ranks that each player had claimed before it."""
  last, before = claims[-1:], claims[:-1]
  claimants, others = before[-2::-2], before[-1::-2]
  return (tuple(last), frozenset(ranks[claim] for claim in claimants),
          frozenset(ranks[claim] for claim in others))


# By the names of the abstractions.
ABSTRACTIONS = {
    "claims1": lambda claims, ranks: last_claims(claims, ranks, 1),
    "claims2": lambda claims, ranks: last_claims(claims, ranks, 2),
    "claims3": lambda claims, ranks: last_claims(claims, ranks, 3),
    "claims12": lambda claims, ranks: last_claims(claims, ranks, 12),
    "claims1_ranks1": lambda claims, ranks: last_claims(claims, ranks, 1, 1),
    "claims1_ranks3": lambda claims, ranks: last_claims(claims, ranks, 1, 3),
    "claims2_ranks1": lambda claims, ranks: last_claims(claims, ranks, 2, 1),
    "claims2_ranks2": lambda claims, ranks: last_claims(claims, ranks, 2, 2),
    "claims3_ranks99": lambda claims, ranks: last_claims(claims, ranks, 3, 99),
    "player_ranks": player_ranks,
}

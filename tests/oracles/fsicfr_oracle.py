"""Algorithm 2 of Neller & Hnath (2011) in plain Python, slow and obvious.

It works on pyspiel states, and knows nothing of `graphs`. States are merged
by a key: the information set and all that decides how the game goes on.
"""

_PLAYERS = 1, 2  # as the paper calls them


class Tables:
  """What a node keeps from one iteration to the next.

  The paper has one node for each information set. Where a set has more nodes,
  they share these.
  """

  def __init__(self, actions):
    self.actions = actions
    self.r = dict.fromkeys(actions, 0.0)
    self.sigma = {a: 1.0 / len(actions) for a in actions}
    self.sigma_sum = dict.fromkeys(actions, 0.0)
    self.T = 0

  def compute_strategy(self):
    """Equation 5 of the paper."""
    positive = {a: max(r, 0.0) for a, r in self.r.items()}
    total = sum(positive.values())
    for a in self.actions:
      self.sigma[a] = (positive[a] / total if total > 0 else
                       1.0 / len(self.actions))

  def average(self):
    total = sum(self.sigma_sum.values())
    return {a: x / total if total > 0 else 1.0 / len(self.actions)
            for a, x in self.sigma_sum.items()}


class Node:
  """A node of the graph; its children are made when they are needed."""

  def __init__(self, state):
    self.state = state
    self.player = None  # 1, 2, or for chance and terminals that of the value
    if state.current_player() >= 0:
      self.player = _PLAYERS[state.current_player()]
    self.tables = None
    self.children = {}
    self.visits = 0
    self.p_sum = {1: 0.0, 2: 0.0}
    self.v = 0.0


class OracleFSICFR:
  """FSICFR(L).

  Args:
    game: the game, with the information sets on which to learn.
    key: key(state), the same for states that are one node.
    choose: choose(iteration, state), the outcome at a chance node.
    count_visits: whether a node's visits are counted, or replaced by 1.
  """

  def __init__(self, game, key, choose, count_visits):
    self._key = key
    self._choose = choose
    self._count_visits = count_visits
    self._nodes = {}
    self.tables = {}  # (player, information state) -> Tables
    self._root = self._node(game.new_initial_state())
    self.iteration = 0

  def _node(self, state):
    player = int(state.current_player())
    key = (player, self._key(state))
    if key not in self._nodes:
      node = self._nodes[key] = Node(state)
      if player >= 0:
        info_state = (player, state.information_state_string())
        node.tables = self.tables.setdefault(
            info_state, Tables(state.legal_actions()))
    return self._nodes[key]

  def _child(self, node, action):
    if action not in node.children:
      node.children[action] = self._node(node.state.child(action))
    return node.children[action]

  def _outcome(self, node):
    return self._child(node, self._choose(self.iteration, node.state))

  def _reachable(self):
    """Returns L': the nodes that are reachable, in topological order."""
    order, seen = [], set()

    def visit(node):
      seen.add(id(node))
      if node.state.is_chance_node():
        children = [self._outcome(node)]
      elif node.state.is_terminal():
        children = []
      else:
        children = [self._child(node, a) for a in node.tables.actions]
      for child in children:
        if id(child) not in seen:
          visit(child)
      order.append(node)

    visit(self._root)
    return order[::-1]

  def iterate(self):
    """Runs one training iteration; the comments count the paper's lines."""
    self.iteration += 1
    nodes = self._reachable()  # 2
    for n in nodes:  # 3
      if n is self._root:  # 4
        n.visits = n.p_sum[1] = n.p_sum[2] = 1  # 5
      if n.tables:  # 7
        sigma = n.tables.sigma
        n.tables.compute_strategy()  # 8-11
        for a in n.tables.actions:
          n.tables.sigma_sum[a] += sigma[a] * n.p_sum[n.player]  # 12
        for a in n.tables.actions:  # 13
          c = n.children[a]
          c.visits += n.visits  # 15
          for i in _PLAYERS:  # 16, 17
            c.p_sum[i] += n.p_sum[i] * (sigma[a] if n.player == i else 1)
      elif n.state.is_chance_node():  # 19
        c = self._outcome(n)
        c.visits += n.visits  # 21
        for i in _PLAYERS:
          c.p_sum[i] += n.p_sum[i]  # 22, 23
    for n in reversed(nodes):  # 26
      if n.tables:
        self._learn(n)  # 27-38
      elif n.state.is_chance_node():  # 39
        c = self._outcome(n)
        n.player, n.v = c.player, c.v  # 40
      else:
        n.player = 1
        n.v = n.state.returns()[0]  # 42
      n.visits = n.p_sum[1] = n.p_sum[2] = 0  # 44

  def _learn(self, n):
    tables = n.tables
    n.v = 0.0  # 28
    v = {}
    for a in tables.actions:
      c = n.children[a]
      v[a] = c.v if n.player == c.player else -c.v  # 31
      n.v += tables.sigma[a] * v[a]  # 32
    cfp = n.p_sum[3 - n.player]  # 34
    visits = n.visits if self._count_visits else 1
    for a in tables.actions:
      tables.r[a] = (tables.T * tables.r[a] + visits * cfp * (v[a] - n.v)) / (
          tables.T + visits)  # 36
    tables.T += visits  # 38

  def current(self):
    """Returns {(player, information state): {action: probability}}."""
    for tables in self.tables.values():
      tables.compute_strategy()
    return {key: tables.sigma for key, tables in self.tables.items()}

  def average(self):
    """Returns the same of the average strategy."""
    return {key: tables.average() for key, tables in self.tables.items()}


def history_key(state):
  """Every history is a node."""
  return tuple(state.history())


def liar_die_key(state):
  """Phase, last claim and roll decide all; who answers knows one claim more."""
  if state.is_terminal():
    return state.returns()[0]
  claims = tuple(state.claim_list())
  if state.phase() == "roll":
    return claims[-1:], len(claims) % 2
  if state.phase() == "claim":
    return "claim", claims[-1:], state.rolls[-1]
  return "answer", claims[-2:], state.rolls[-1]


def dudo_key(state):
  """Dice, hands and the last claims decide all except who is to act."""
  if state.is_terminal():
    return state.returns()[0]
  recall_length = state.get_game().recall_length
  this_round = state.round()
  starter = this_round.starter if state.is_chance_node() else -1
  return (state.dice, starter, this_round.hands,
          tuple(state.claim_list()[-recall_length:]))

"""FSI, PFSI and pass-through CFR of Gendre & Kaneko (2019) in plain Python.

Slow and obvious, on pyspiel states; it knows nothing of `graphs`. States are
merged by a key.
"""


class Table:
  """What is learned at an information set."""

  def __init__(self, actions):
    self.actions = actions
    self.regret = dict.fromkeys(actions, 0.0)
    self.cumulative = dict.fromkeys(actions, 0.0)

  def strategy(self):
    positive = {a: max(r, 0.0) for a, r in self.regret.items()}
    total = sum(positive.values())
    return {a: x / total if total > 0 else 1 / len(self.actions)
            for a, x in positive.items()}


class Node:
  """A state, or some that are merged, in one iteration."""

  def __init__(self, state, players):
    self.state = state
    self.children = {}
    self.others_reach = [0.0] * players  # pi_-i
    self.own_reach = [0.0] * players
    self.generation = None  # None: nobody asks; 0: unflagged; else flagged
    self.sigma = {}
    self.value = None

  def ask(self, generation):
    if self.generation is None or generation < self.generation:
      self.generation = generation


class Oracle:
  """Tables, and iterations on given deals.

  Args:
    game: the game.
    set_key: set_key(state), the information set of the player who acts.
    node_key: node_key(state), the same for states that are one node.
    tremble: with this probability players act uniformly.
    gamma: iteration t weighs t^gamma in averages.
  """

  def __init__(self, game, set_key, node_key, tremble=0.0, gamma=0.0):
    self.game = game
    self.pruned_value = game.utility_sum() / game.num_players()
    self.tremble = tremble
    self.gamma = gamma
    self.iteration = 0
    self.players = game.num_players()
    self.tables = {}
    self._set_key = set_key
    self._node_key = node_key

  def table(self, state):
    return self.tables.setdefault(self._set_key(state),
                                  Table(state.legal_actions()))

  def trembling(self, sigma):
    return {a: (1 - self.tremble) * p + self.tremble / len(sigma)
            for a, p in sigma.items()}

  def _next_weight(self):
    self.iteration += 1
    return (self.iteration / 2**20)**self.gamma

  def _advance(self, state):
    """Skips forced challenges."""
    while (not state.is_terminal() and not state.is_chance_node() and
           len(state.legal_actions()) == 1 and hasattr(state, "phase") and
           state.phase() == "challenge"):
      state = state.child(state.legal_actions()[0])
    return state

  def child(self, state, action):
    """Returns the state after an action and forced challenges."""
    return self._advance(state.child(action))

  def dealt(self, state, choose):
    """Returns the state after chance has chosen."""
    while state.is_chance_node():
      state = state.child(choose(state))
    return state

  def _nodes(self, root, choose):
    """Returns all nodes in topological order."""
    found, order = {}, []

    def visit(state):
      key = (state.current_player(), self._node_key(state))
      if key not in found:
        node = found[key] = Node(state, self.players)
        if state.is_chance_node():
          actions = [choose(state)]
        else:
          actions = state.legal_actions()
        node.children = {a: visit(self.child(state, a)) for a in actions}
        order.append(node)
      return found[key]

    visit(root)
    return order[::-1]

  def iterate(self, choose, flag_number=None, reach_threshold=0.0,
              flag_probability=0.0, action_threshold=0.0, depth=0):
    """One iteration of PFSI; of FSI without thresholds."""
    nodes = self._nodes(self.game.new_initial_state(), choose)
    nodes[0].ask(0)
    nodes[0].others_reach = [1.0] * self.players
    nodes[0].own_reach = [self._next_weight()] * self.players
    for node in nodes:
      if (node.generation is None or node.state.is_terminal() or
          node.generation > depth):
        continue
      player = node.state.current_player()
      if node.state.is_chance_node():
        child, = node.children.values()
        child.ask(node.generation)
        for i in range(self.players):
          child.others_reach[i] += node.others_reach[i]
          child.own_reach[i] += node.own_reach[i]
        continue
      table = self.table(node.state)
      strategy = table.strategy()
      node.sigma = self.trembling(strategy)
      generation = node.generation + 1
      if node.generation == 0:
        for a, p in strategy.items():
          table.cumulative[a] += node.own_reach[player] * p
        if not (node.others_reach[player] < reach_threshold and
                flag_number(node.state) < flag_probability):
          generation = 0
      for a, child in node.children.items():
        if node.generation > 0 and node.sigma[a] <= action_threshold:
          continue
        child.ask(generation)
        for i in range(self.players):  # algorithm 1
          own_factor, others_factor = (
              (node.sigma[a], 1) if i == player else (1, node.sigma[a]))
          child.others_reach[i] += node.others_reach[i] * others_factor
          child.own_reach[i] += node.own_reach[i] * own_factor
    pruned = [self.pruned_value] * self.players
    regrets = []
    for node in reversed(nodes):
      if node.state.is_terminal():
        node.value = node.state.returns()
      elif node.generation is None or node.generation > depth:
        node.value = pruned
      elif node.state.is_chance_node():
        child, = node.children.values()
        node.value = child.value
      else:
        player = node.state.current_player()
        value = {a: pruned if node.generation > 0 and
                 node.sigma[a] <= action_threshold else child.value
                 for a, child in node.children.items()}
        node.value = [sum(node.sigma[a] * value[a][i] for a in value)
                      for i in range(self.players)]
        if node.generation == 0:
          table = self.table(node.state)
          strategy = table.strategy()
          mean = sum(strategy[a] * value[a][player] for a in value)
          gains = {a: node.others_reach[player] * (value[a][player] - mean)
                   for a in value}
          regrets.append((table, gains))
    for table, gains in regrets:
      for a, gain in gains.items():
        table.regret[a] += gain

  def utility(self, state, player, choose, threshold, probability=1.0):
    """Returns a player's utility below a state, pruned by probability."""
    state = self.dealt(state, choose)
    if probability < threshold:
      return self.pruned_value
    if state.is_terminal():
      return state.returns()[player]
    return sum(
        p * self.utility(self.child(state, a), player, choose, threshold,
                         probability * p)
        for a, p in self.trembling(self.table(state).strategy()).items()
        if p > 0)

  def pass_through(self, choose, play, threshold):
    """One iteration of PPT; `play(state, sigma)` gives the action to play."""
    state = self.dealt(self.game.new_initial_state(), choose)
    weight = self._next_weight()
    while not state.is_terminal():
      player = state.current_player()
      table = self.table(state)
      sigma = table.strategy()
      value = {a: self.utility(self.child(state, a), player, choose,
                               threshold) for a in sigma}
      mean = sum(sigma[a] * value[a] for a in sigma)
      for a in sigma:
        table.regret[a] += value[a] - mean
        table.cumulative[a] += weight * sigma[a]
      state = self.dealt(
          self.child(state, play(state, self.trembling(sigma))), choose)


def history_key(state):
  """Every history is a node."""
  return tuple(state.history())


def walked_set(state):
  """The information sets of the game itself."""
  return state.current_player(), state.information_state_string()


def single_round_set(state):
  """Seats share their sets; the string begins with the player."""
  return state.information_state_string().partition(" ")[2]


def single_round_node(state):
  """What the rules and players of an abstraction can tell apart."""
  if state.is_terminal():
    return tuple(state.history())
  game = state.get_game()
  length = game.recall_length if game.abstraction != "no_recall" else 0
  claims = state.claim_list()
  values = [game.order.claims[claim][1] for claim in claims[:-1]][::-1]
  challengers = tuple(state.challenges(p) for p in range(game.num_players()))
  return (tuple(claims[-1:]), tuple(values[:length]), state.claimer(),
          state.phase(), challengers,
          tuple(state.hand(p) for p in range(game.num_players())))

"""Narrators of Dudo: of the whole game and of the single round.

The person's dice and the claim to beat are in the last line before a move. What
is told in a round of four players fits on a terminal of 24 lines.
"""

from dudo_spiel import odds
from dudo_spiel import rolls as rolls_lib
from dudo_spiel import rules
from dudo_spiel.terminal import moves
from dudo_spiel.terminal import narrator

_MAX_HINTS = 5
_MIN_ODDS = 0.01  # of a claim that is listed


def _dice(number):
  return f"{number} die" if number == 1 else f"{number} dice"


class ClaimNarrator(narrator.Narrator):
  """The base class of both: games with claims about dice."""

  _OR_DOUBT = ""  # the end of a reply: what one may do instead of claiming

  def __init__(self, game, seat, style=narrator.PLAIN, show_odds=False):
    super().__init__(game, seat, style)
    self._show_odds = show_odds

  def situation(self, state):
    """Returns lines that say what the person knows before a move."""
    names = state.claim_order().names
    claims = [f"{self.name(state.claim_maker(turn))} {names[claim]}"
              for turn, claim in enumerate(state.claim_list())]
    lines = self._table(state)
    if claims:
      lines.append(narrator.last_that_fit(claims, "Claims: "))
    return lines + self._odds_table(state) if self._show_odds else lines

  def _table(self, state):
    """Returns lines that say how many dice everyone has."""
    raise NotImplementedError

  def status(self, state):
    """Returns the line with the person's dice and the claim to beat."""
    hand = self._style.strong(rolls_lib.hand_name(state.hand(self.seat)))
    return [f"Your dice: {hand} | {self._task(state)}", *self._only_move(state)]

  def _task(self, state):
    """Returns what the person has to do."""
    raise NotImplementedError

  def _standing(self, state):
    """Returns the last claim and who made it."""
    name = self._style.strong(state.claim_order().names[state.last_claim()])
    maker = self.name(state.claim_maker(len(state.claim_list()) - 1))
    return f"{name} by {maker}"

  def _odds(self, state, claim):
    """Returns the probability that a claim is true, given the person's dice."""
    return odds.odds_in_order(state.claim_order(), claim,
                              state.hand(self.seat))

  def _legal_claims(self, state):
    return [action for action in state.legal_actions()
            if action < state.claim_order().num_claims]

  def _claim_odds(self, state):
    """Returns {legal claim: probability that it is true}."""
    return {claim: self._odds(state, claim)
            for claim in self._legal_claims(state)}

  def _odds_table(self, state):
    """Returns lines with the odds of the last claim and of the legal ones."""
    names, last, lines = state.claim_order().names, state.last_claim(), []
    if last >= 0:
      lines.append(f"Odds of the last claim: {names[last]} "
                   f"{narrator.percent(self._odds(state, last))}")
    chances = self._claim_odds(state)
    likely = [f"{names[claim]:>4} {narrator.percent(chance):>4}"
              for claim, chance in chances.items() if chance >= _MIN_ODDS]
    if chances:
      unlisted = len(chances) - len(likely)
      lines.append("Odds of each claim:" if not unlisted else
                   f"Odds of each claim (the other {unlisted} are below 1%):")
    return lines + narrator.columns(likely)

  def hint(self, state, adviser=None):
    """Returns what the adviser and the odds suggest."""
    order = state.claim_order()
    lines = [] if adviser is None else super().hint(state, adviser)
    doubt = 0.0
    if state.last_claim() >= 0:
      chance = self._odds(state, state.last_claim())
      doubt = 1 - chance
      lines.append(f"By your dice alone, {order.names[state.last_claim()]} "
                   f"holds with {narrator.percent(chance)}.")
    # Of claims that are equally likely, the strongest leaves least room.
    best = sorted(self._claim_odds(state).items(),
                  key=lambda pair: (-pair[1], -pair[0]))[:_MAX_HINTS]
    if best:
      likely = ", ".join(f"{order.names[claim]} {narrator.percent(chance)}"
                         for claim, chance in best)
      lines += narrator.wrapped(f"The likeliest claims: {likely}.")
    advice = self._advice(state, best, doubt)
    return [*lines, f"The odds suggest {narrator.action_name(state, advice)}."]

  def _advice(self, state, best, doubt):
    """Returns the action that the odds suggest.

    `best` has pairs (legal claim, probability), the likeliest first; `doubt` is
    the probability that the last claim is false.
    """
    raise NotImplementedError

  def _why_not(self, state, text):
    """Returns why a text is no legal move."""
    typed = moves.parse_numbers(text)
    if typed is not None and len(typed) == 2:
      return self._why_no_claim(state, *typed)
    if moves.is_doubt(text):
      return "There is no claim to doubt yet. You start, so make a claim."
    if text.strip().lower() == "pass":
      return "Nobody may pass here: make a claim, or doubt the last one."
    order = state.claim_order()
    example = order.names[min(state.last_claim() + 1, order.num_claims - 1)]
    return (f"I do not understand {text!r}. Type a claim such as {example}, "
            "? for the legal moves, or help.")

  def _why_no_claim(self, state, quantity, rank):
    """Returns why a claim is not legal."""
    order = state.claim_order()
    name = f"{quantity}x{rank}"
    if not 1 <= rank <= order.num_sides:
      return f"{name}: a die shows 1 to {order.num_sides}."
    if not 1 <= quantity <= order.num_dice:
      return f"{name}: there are {order.num_dice} dice in play."
    legal, last = self._legal_claims(state), state.last_claim()
    if not legal:
      return "No claim is possible now: say Dudo."
    if order.index(quantity, rank) > last:
      return (f"{name} is too far above: the strongest claim allowed now is "
              f"{order.names[legal[-1]]}.")
    same = next((claim for claim in legal if order.claims[claim][1] == rank),
                legal[0])
    other = (f", or {order.names[same]} with this rank" if same != legal[0] else
             "")
    return (f"{name} is not above {order.names[last]}: claim at least "
            f"{order.names[legal[0]]}{other}{self._OR_DOUBT}.")

  def _hands(self, hands):
    """Returns lines with everyone's dice."""
    shown = [f"{self.name(player)} {rolls_lib.hand_name(hand)}"
             for player, hand in enumerate(hands) if hand]
    return narrator.wrapped(f"All dice: {', '.join(shown)}.")

  def _count(self, order, claim, count):
    """Returns a line that compares a claim with the count."""
    quantity, _ = order.claims[claim]
    exactly = "exactly " if count == quantity else ""
    verdict = "the claim is false" if count < quantity else "the claim is true"
    return (f"The claim was {order.names[claim]}, the count is {exactly}"
            f"{count}: {verdict}.")

  def _knows_returns(self):
    return True


class DudoNarrator(ClaimNarrator):
  """Tells about `dudo` and `dudo_ir`."""

  _OR_DOUBT = ", or say Dudo"

  def _title(self):
    game = self._game
    dice = list(game.start_dice)
    start = (f"{_dice(dice[0])} each" if len(set(dice)) == 1 else
             f"{', '.join(map(str, dice))} dice in seat order")
    wild = ("Ones are wild: they count for every rank." if game.house.wild_ones
            else "Ones are not wild.")
    return [f"{game.get_type().long_name}, {len(dice)} players, {start}.", wild]

  def _how_to_move(self):
    return ('Type a claim such as 3x5 or "3 fives", or dudo to doubt the last '
            "claim.")

  def _rules(self):
    house = self._game.house
    lines = ["A claim such as 3x5 says that at least 3 of all dice show a 5. "
             "Each claim must be stronger than the last, or you say Dudo."]
    if house.wild_ones:
      lines.append("Ones count for every rank. So claims of ones are twice as "
                   f"strong: 1x1 stands between 1x{self._game.num_sides} and "
                   "2x2.")
    loss = ("one die" if house.die_loss == "one" else
            "as many dice as the count is off, at least one")
    lines.append("After Dudo all dice are counted. If there are too few, the "
                 f"claimant loses {loss}; otherwise who said Dudo does.")
    if house.exact_reward:
      lines.append("If the count is exact, everyone but the claimant loses a "
                   "die.")
    lines.append("The last player with dice wins.")
    return narrator.wrapped(" ".join(lines))

  def _told(self, before, action, state):
    if before.is_chance_node():
      return self._told_roll(before, state)
    player = before.current_player()
    lines = [f"{self.name(player)}: {narrator.action_name(before, action)}"]
    if action == self._game.dudo_action:
      lines += self._reveal(state.past_rounds()[-1], state.dice)
    return lines

  def _told_roll(self, before, state):
    """Returns lines that begin a round: the roll, unless the person is out."""
    hand = state.hand(self.seat)
    if before.hand(self.seat) or (
        not hand if state.dice[self.seat] else before.round().hands):
      return []
    past = len(state.past_rounds())
    roll = f": you roll {self._style.strong(rolls_lib.hand_name(hand))}"
    return [""] * bool(past) + [f"Round {past + 1}{roll if hand else ''}."]

  def _ending(self, state):
    return []

  def _reveal(self, past, dice):
    """Returns lines that say what everyone sees at the end of a round."""
    game = self._game
    count, _, _ = past.challenge(game.num_sides, game.house)
    losses = []
    for player, (had, has) in enumerate(zip(past.dice, dice)):
      if had > has:
        lose, own, be = (("lose", "have", "are") if player == self.seat else
                         ("loses", "has", "is"))
        left = f"{own} {has} left" if has else f"{be} out"
        losses.append(f"{self.name(player)} {lose} {_dice(had - has)} and "
                      f"{left}.")
    return [*self._hands(past.all_hands()),
            self._count(game.claim_order(sum(past.dice)),
                        past.claim_list()[-1], count),
            *narrator.wrapped(" ".join(losses))]

  def _table(self, state):
    dice = ", ".join(f"{self.name(player)} {num_dice}"
                     for player, num_dice in enumerate(state.dice) if num_dice)
    return narrator.wrapped(f"Dice left: {dice}.")

  def _task(self, state):
    if state.last_claim() < 0:
      return "You start: make a claim."
    return f"To beat: {self._standing(state)}."

  def _advice(self, state, best, doubt):
    if best and best[0][1] >= doubt:
      return best[0][0]
    return self._game.dudo_action


class SingleRoundNarrator(ClaimNarrator):
  """Tells about `dudo_single_round` and `dudo_single_round_ir`."""

  def _title(self):
    game = self._game
    return [f"{game.get_type().long_name}: {game.num_players()} players, "
            f"{_dice(game.numdice)} each.", "Ones are not wild."]

  def _how_to_move(self):
    return ('Type a claim such as 3x5 or "3 fives" when you are to claim, and '
            "pass or challenge when others have claimed.")

  def _rules(self):
    return narrator.wrapped(
        "The claim 3x5 says that at least 3 of all dice show a 5. After each "
        "claim everyone else passes or challenges, unseen by the others. If "
        "nobody challenges, the next player makes a stronger claim. Otherwise "
        "all dice are counted: if the claim is false, the claimer is out, if "
        "it is true, all challengers are. Those left share the win.")

  def _told(self, before, action, state):
    player = before.current_player()
    if before.is_chance_node():
      hand = state.hand(self.seat)
      is_mine = hand and not before.hand(self.seat)
      name = self._style.strong(rolls_lib.hand_name(hand))
      return [f"You roll {name}."] if is_mine else []
    lines = []
    if player == self.seat or before.phase() == "claim":
      name = narrator.action_name(before, action)
      lines.append(f"{self.name(player)}: {name}")
    if before.phase() == "challenge" and state.phase() == "claim":
      lines.append("Nobody challenges.")
    return lines

  def _ending(self, state):
    players = range(self._game.num_players())
    challengers = ", ".join(self.name(p) for p in players
                            if state.challenges(p))
    hands = [state.hand(player) for player in players]
    order, claim = state.claim_order(), state.last_claim()
    count = rules.count_matches(b"".join(hands), order.claims[claim][1],
                                order.wild_ones)
    survivors = ", ".join(map(self.name, state.survivors()))
    return [f"Challenged by: {challengers}.", *self._hands(hands),
            self._count(order, claim, count), f"Left in the game: {survivors}."]

  def _table(self, state):
    return []

  def _task(self, state):
    if state.phase() == "challenge":
      return f"{self._standing(state)}: pass or challenge?"
    if state.last_claim() < 0:
      return "You start: make a claim."
    return f"Claim more than {self._standing(state)}."

  def _why_not(self, state, text):
    word = text.strip().lower()
    if state.phase() == "claim" and (moves.is_doubt(text) or word == "pass"):
      return "You are the claimer now: make a claim."
    if state.phase() == "challenge":
      if word == "pass":
        return "A claim this strong must be challenged."
      return "You are not the claimer now: type pass or challenge."
    return super()._why_not(state, text)

  def _advice(self, state, best, doubt):
    if best:
      return best[0][0]
    *passing, challenge = state.legal_actions()
    return passing[0] if passing and doubt <= 0.5 else challenge

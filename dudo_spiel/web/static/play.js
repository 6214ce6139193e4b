// The table: dice, the ladder of claims, reveals and the score.

import { helpPanel, roundReview } from "./help.js";
import { announce, api, claim, dice, die, h, sayClaim, select,
  showError } from "./ui.js";

let helpIsOpen = false;
let isBusy = false;
let keys = null;

function plural(number, word) {
  if (word === "die") return `${number} ${number === 1 ? "die" : "dice"}`;
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

export async function show(main, rest, query, info, isWanted) {
  const view = await api("match");
  if (isWanted()) draw(main, view, info, isWanted);
}

function draw(main, view, info, isWanted) {
  const act = async (path, body) => {
    if (isBusy) return; // a second click on the same move
    isBusy = true;
    try {
      const next = await api(path, body);
      if (!isWanted()) return;
      draw(main, next, info, isWanted);
      announce(say(next));
      document.querySelector("[data-first]")?.focus({ preventScroll: true });
    } catch (error) {
      showError(error);
      // Another window has gone on, or the server has begun anew.
      if (error.status === 409 || error.status === 404) {
        const now = await api("match").catch(() => null);
        if (now && isWanted()) draw(main, now, info, isWanted);
      }
    } finally {
      isBusy = false;
    }
  };
  if (view.phase === "none") {
    keys = null;
    main.replaceChildren(h("section", { class: "card welcome" },
      h("h1", {}, "Play Dudo"),
      h("div", { class: "welcome-dice", "aria-hidden": "true" },
        [1, 3, 5, 5, 6].map((face) => die(face))),
      newMatch(view, info, act)));
    return;
  }
  const stage = [scoreBoard(view), table(view)];
  if (view.reveal) stage.push(reveal(view, info, act));
  else stage.push(turn(view, act));
  const side = h("aside", { class: "side", "aria-label": "Help" });
  const layout = h("div", { class: `play ${helpIsOpen ? "with-help" : ""}` },
    h("section", { class: "card stage", "aria-label": "The table" }, stage),
    side);
  const toggle = () => {
    helpIsOpen = !helpIsOpen;
    const move = document.activeElement?.dataset.move;
    draw(main, view, info, isWanted);
    const place = move && main.querySelector(`.stage [data-move="${move}"]`);
    (place || document.getElementById("help-button"))?.focus();
  };
  keys = (event) => shortcuts(event, view, act, toggle);
  main.replaceChildren(
    h("h1", { class: "visually-hidden" }, "Play Dudo"), layout,
    h("details", { class: "card new-match" },
      h("summary", {}, "New match, and the rules"), newMatch(view, info, act)));
  const button = document.getElementById("help-button");
  button?.addEventListener("click", toggle);
  if (view.reveal) {
    roundReview(side, view, isWanted);
  } else if (helpIsOpen) {
    helpPanel(side, view, isWanted, (name) => {
      act("move", { move: name, turn: view.turn });
    });
  }
}

document.addEventListener("keydown", (event) => keys?.(event));

function shortcuts(event, view, act, toggle) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (!document.querySelector(".stage")) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const key = event.key.toLowerCase();
  if (key === "h" && !view.reveal) toggle();
  else if (key === "d" && view.legal.includes("Dudo")) {
    act("move", { move: "Dudo", turn: view.turn });
  } else if (key === "n") document.getElementById("next")?.click();
}

function say(view) {
  const last = view.claims[view.claims.length - 1];
  if (view.reveal) return revealText(view);
  const said = last ? `${view.players[last.player]}: ${sayClaim(last.name)}. ` :
    "";
  return `${said}Your turn. Your dice: ${view.hand.join(" ")}.`;
}

function newMatch(view, info, act) {
  const form = h("form", { class: "new-form" });
  const rules = h("div", { class: "rules" });
  const quality = h("p", { class: "muted", id: "quality" });
  let liked = view.opponent || "trained"; // where the game has it
  const redraw = () => {
    const focused = document.activeElement?.id;
    const game = form.querySelector("#game")?.value || "dudo";
    const hasPolicy = game === "dudo" ? info.trained_dice.length > 0 :
      info.has_single_round_policy;
    const chosen = hasPolicy || liked !== "trained" ? liked : "odds";
    const numbers = chosen === "trained" ? info.trained_dice :
      Array.from({ length: info.max_dice }, (_, i) => i + 1);
    const wanted = Number(form.querySelector("#dice")?.value ||
      view.start_dice?.[0] || 3);
    const fields = [
      select("Game", "game", [["dudo", "Two players, whole match"],
        ["single_round", `${info.single_round_players} players, one round`]],
      game, redraw),
      select("Opponent", "opponent", [
        ...(hasPolicy ? [["trained", "Trained policy"]] : []),
        ["odds", "Odds bot"], ["heuristic", "Heuristic bot"]], chosen, (event) => {
        liked = event.target.value;
        redraw();
      }),
      game === "dudo" ? select("Dice each", "dice", numbers,
        numbers.includes(wanted) ? wanted : numbers[numbers.length - 1],
        redraw) : null,
      h("button", { class: "primary", type: "submit" }, "Start")];
    form.replaceChildren(...fields.filter(Boolean));
    rules.replaceChildren(...(game === "dudo" ? matchRules(info) :
      roundRules()));
    quality.textContent = game === "dudo" && chosen === "trained" ?
      policyText(info, Number(form.querySelector("#dice").value)) : "";
    if (focused) form.querySelector(`#${focused}`)?.focus();
  };
  redraw();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act("match", {
      game: form.querySelector("#game").value,
      opponent: form.querySelector("#opponent").value,
      dice: Number(form.querySelector("#dice")?.value || 5) });
  });
  return [rules, form, quality];
}

// A win is +1 and a loss -1, so half of the exploitability is a share of games.
function policyText(info, dice) {
  const gap = info.exploitability[dice];
  if (gap === null) {
    return "How good the trained policy is with so many dice is on the page " +
      "Rounds, where you can have it measured.";
  }
  return `With ${plural(dice, "die")} each nobody wins more than ` +
    `${(50 + 50 * gap).toFixed(2)}% of matches against the trained policy, ` +
    "if both start equally often. " +
    (info.is_certain ? "That is exact." : "So says its file.") +
    " It remembers all claims.";
}

function matchRules(info) {
  const ones = info.wild_ones;
  return [h("p", {}, "Everyone rolls in secret. A claim such as ",
    claim("3x5"), " says that at least three of all dice show a five. " +
    (ones ? "Ones are wild and count for every face. " : "") +
    "Claim more than the last claim, or say Dudo: then all dice are counted."),
  h("p", {}, info.die_loss === "one" ? "Who was wrong loses a die. " :
    "If too few dice count, the claimant loses as many dice as are " +
    "missing. If more count than claimed, the challenger loses that many. ",
  "If the claim is exactly right, the challenger loses one die. Who was " +
  "right starts the next round. The last player with dice wins."),
  ones ? h("p", {}, "Claims rise by quantity, then by face. Claims of ones " +
    "are twice as hard: ", claim("1x1"), " stands just below ", claim("2x2"),
  ", and ", claim("2x1"), " just below ", claim("4x2"), ".") : ""];
}

function roundRules() {
  return [h("p", {}, "Everyone rolls once, in secret. A claim such as ",
    claim("3x5"), " says that at least three of all dice show a five. Ones " +
    "are not wild. After each claim the others pass or challenge, without " +
    "seeing what the rest decide. If nobody challenges, the next player " +
    "claims more."),
  h("p", {}, "A challenge ends the game. If the claim is false, the claimant " +
    "is out; if it is true, all challengers are out. Those who are left " +
    "share the win.")];
}

function scoreBoard(view) {
  const what = view.kind === "dudo" ?
    `Match ${view.match}, round ${view.round}` :
    `Game ${view.match}, ${view.players.length} players`;
  return h("div", { class: "score" }, h("span", {}, what),
    h("span", { id: "score" }, `You won ${view.score.won}, lost ` +
      `${view.score.lost}`));
}

function table(view) {
  const rows = view.players.map((name, player) => {
    const mine = player === view.seat;
    const said = view.claims.filter((made) => made.player === player);
    const shown = view.reveal ?
      dice(view.reveal.hands[player], view.reveal.counts[player]) :
      mine ? dice(view.hand) : dice(Array(view.dice[player]).fill(null));
    return h("div", { class: `seat ${mine ? "mine" : ""}` },
      h("div", { class: "who" }, h("strong", {}, name),
        h("span", { class: "muted" },
          `${plural(view.dice[player], "die")}` +
          `${view.starter === player && view.kind === "dudo" ?
            ", starts" : ""}`)),
      shown,
      h("div", { class: "said", role: "group",
        "aria-label": `Claims of ${name}` },
        said.slice(-4).map((made) => h("span", {
          class: `bubble ${isLast(view, made) ? "last" : ""}` },
        claim(made.name)))));
  });
  const order = view.kind === "dudo" ? [rows[1], rows[0]] :
    [...rows.filter((_, i) => i !== view.seat), rows[view.seat]];
  return h("div", { class: "table" }, order);
}

function isLast(view, made) {
  return made === view.claims[view.claims.length - 1];
}

function turn(view, act) {
  const last = view.claims[view.claims.length - 1];
  const mine = last && last.player === view.seat;
  const task = !last ? "You start: make a claim." :
    view.legal.includes("Pass") || (view.legal.length === 1 &&
      view.legal[0] === "Challenge") ?
      ["Do you challenge ", claim(last.name), "?"] :
      mine ? "Your turn." :
        ["To beat: ", claim(last.name), ` by ${view.players[last.player]}.`];
  const buttons = [];
  const hasClaims = view.ladder.some((one) => one.legal);
  const add = (move, id, text, kind) => {
    if (!view.legal.includes(move)) return;
    buttons.push(h("button", { id, class: kind, "data-move": move,
      "data-first": !hasClaims && buttons.length === 0,
      onclick: () => act("move", { move, turn: view.turn }) }, text));
  };
  add("Dudo", "dudo", [h("span", {}, "Dudo!"), h("kbd", {}, "D")], "danger");
  add("Pass", "pass", "Pass", "primary");
  add("Challenge", "challenge", "Challenge", "danger");
  buttons.push(h("button", { id: "help-button", class: "quiet",
    "aria-expanded": String(helpIsOpen) },
  h("span", {}, helpIsOpen ? "Hide help" : "Help"), h("kbd", {}, "H")));
  return h("div", { class: "turn" },
    h("p", { class: "task-text" }, task),
    ladder(view.ladder, view.sides, last?.name, (move) =>
      act("move", { move, turn: view.turn })),
    h("div", { class: "buttons" }, buttons));
}

// Returns the grid of claims; arrow keys walk over those that are legal.
export function ladder(claims, sides, last, onclick, decorate) {
  const most = Math.max(...claims.map((one) => one.quantity));
  const cells = new Map(claims.map((one) =>
    [`${one.quantity},${one.rank}`, one]));
  const first = claims.find((one) => one.legal);
  const head = h("div", { class: "ladder-row head", "aria-hidden": "true" },
    h("span", {}), Array.from({ length: sides }, (_, i) =>
      die(i + 1, { small: true })));
  const rows = [];
  for (let quantity = 1; quantity <= most; quantity++) {
    const row = [h("span", { class: "muted" }, `${quantity}\u2009×`)];
    for (let rank = 1; rank <= sides; rank++) {
      const one = cells.get(`${quantity},${rank}`);
      if (!one) { row.push(h("span", {})); continue; }
      const isNow = one.name === last;
      const cell = h("button", {
        type: "button", "data-move": one.name,
        class: `rung ${isNow ? "now" : ""}`.trim(),
        disabled: !one.legal,
        tabindex: one === first ? 0 : -1,
        "data-first": one === first,
        "aria-label": `Claim ${sayClaim(one.name)}`,
        onclick: () => onclick(one.name) }, `${quantity}×${rank}`);
      decorate?.(cell, one);
      row.push(cell);
    }
    rows.push(h("div", { class: "ladder-row" }, row));
  }
  const grid = h("div", { class: "ladder", role: "group",
    "aria-label": "Claims, quantity times face. Arrow keys move.",
    style: { "--sides": String(sides) } }, head, rows);
  grid.addEventListener("keydown", (event) => walk(event, grid, sides));
  return grid;
}

function walk(event, grid, sides) {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -sides,
    ArrowDown: sides }[event.key];
  if (!step) return;
  const all = [...grid.querySelectorAll(".rung")];
  let place = all.indexOf(document.activeElement);
  if (place < 0) return;
  event.preventDefault();
  do {
    place += step;
  } while (all[place] && all[place].disabled);
  if (!all[place]) return;
  for (const cell of all) cell.tabIndex = -1;
  all[place].tabIndex = 0;
  all[place].focus();
}

function revealText(view) {
  const { reveal, players } = view;
  const truth = reveal.is_exact ? "exactly right" :
    reveal.is_true ? "true" : "false";
  let text = `The claim was ${reveal.claim.quantity}×${reveal.claim.rank}, ` +
    `${reveal.count} ${reveal.count === 1 ? "counts" : "count"}: it is ` +
    `${truth}. `;
  if (view.kind === "dudo") {
    reveal.lost.forEach((lost, player) => {
      if (lost) {
        text += `${players[player]} ${player === view.seat ? "lose" : "loses"} ` +
          `${plural(lost, "die")}. `;
      }
    });
    if (view.phase === "reveal") {
      text += reveal.starter === view.seat ? "You start the next round." :
        `${players[reveal.starter]} starts the next round.`;
    }
  } else {
    text += `Challenged by ${reveal.challengers.map((p) => players[p])
      .join(", ")}. Left: ${reveal.survivors.map((p) => players[p])
      .join(", ")}.`;
  }
  if (view.phase === "over") {
    const share = view.share && view.share < 1 ?
      ` You share the win: ${view.share.toFixed(2)}.` : "";
    text += view.result === "won" ? (share || " You win.") : " You lose.";
  }
  return text;
}

function reveal(view, info, act) {
  const isOver = view.phase === "over";
  const good = view.kind === "dudo" ?
    view.reveal.lost[view.seat] === 0 : view.result === "won";
  const { reveal: shown } = view;
  const lines = [
    h("p", { class: "challenge-line" },
      view.kind === "dudo" ?
        h("span", {}, `${view.players[shown.challenger]}: Dudo! `) : null,
      claim(shown.claim.name), shown.claimant === view.seat ? " by you" :
        ` by ${view.players[shown.claimant]}`),
    h("p", { class: "count-line" },
      h("strong", { class: "big" }, String(shown.count)),
      ` ${shown.count === 1 ? "die counts" : "dice count"}, ` +
      `${shown.claim.quantity} claimed`),
    h("p", { id: "reveal-text" }, revealText(view))];
  if (isOver) {
    lines.unshift(h("h2", { class: view.result },
      view.result === "won" ? "You win" : "You lose"));
  }
  const again = { game: view.kind, opponent: view.opponent,
    dice: view.start_dice[0] };
  return h("div", { class: `reveal ${good ? "good" : "bad"}` }, lines,
    h("div", { class: "buttons" },
      isOver ? h("button", { id: "again", class: "primary", "data-first": true,
        onclick: () => act("match", again) }, "Play again") :
        h("button", { id: "next", class: "primary", "data-first": true,
          onclick: () => act("next", { turn: view.turn }) },
        h("span", {}, "Next round"), h("kbd", {}, "N")),
      isOver && view.has_values ?
        h("a", { class: "button quiet", href: "#/review" }, "Review") : null));
}

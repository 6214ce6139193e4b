// Help for the hand in play, and the moves of what just ended.

import { api, bar, chance, claim, h, heat, isBest, lossText, percent, scroller,
  showError, smallDice } from "./ui.js";
import { moveLink } from "./review.js";

const SHOWN = 8;

export async function helpPanel(place, view, isWanted, play) {
  place.replaceChildren(h("div", { class: "card" },
    h("p", { class: "muted" }, "Computing …")));
  try {
    const help = await api("help");
    if (isWanted()) place.replaceChildren(panel(help, view, play));
  } catch (error) {
    // Help for a move that was made meanwhile is no longer missed.
    if (place.isConnected) showError(error);
  }
}

function panel(help, view, play) {
  if (!help.values) return oddsOnly(help, view, play);
  const parts = [h("h2", {}, "What your moves are worth"),
    h("p", { class: "muted" }, "Per cent of matches you win against the " +
      "policy, computed exactly. After the move both go on as the policy " +
      "does."),
    valueTable(help, play)];
  if (help.belief) parts.push(belief(help.belief, "What its claims tell"));
  return h("div", { class: "card help", id: "help-panel" }, parts);
}

// Returns the table of actions; `play` makes a move, or is null.
export function valueTable(help, play) {
  const best = Math.max(...help.values);
  const rows = help.names.map((name, i) => {
    const at = name === "Dudo" ? help.last : help.claim_names.indexOf(name);
    const turn = (odds) => (name === "Dudo" ? 1 - odds : odds);
    return { name, value: help.values[i], share: help.probabilities[i],
      alone: turn(help.odds_alone[at]), odds: turn(help.odds[at]) };
  });
  rows.sort((a, b) => b.value - a.value);
  const body = h("tbody", {});
  let isLong = false;
  const fill = () => {
    const shown = rows.filter((row, i) =>
      isLong || i < SHOWN || row.share >= 0.01 || row.name === "Dudo");
    body.replaceChildren(...shown.map((row) => h("tr", {
      "data-move": row.name },
    h("th", { scope: "row" }, play ? h("button", { class: "move-button",
      "aria-label": `Play ${row.name}`,
      onclick: () => play(row.name) }, claim(row.name)) : claim(row.name)),
    h("td", { class: "value number" }, percent(row.value, 2)),
    h("td", { class: "loss number" }, lossText(best - row.value)),
    policyCell(row.share),
    h("td", { class: "alone number" }, chance(row.alone)),
    h("td", { class: "odds number" }, chance(row.odds)))));
  };
  fill();
  const more = rows.length > SHOWN ? h("button", { class: "quiet",
    onclick: () => {
      isLong = !isLong;
      more.textContent = isLong ? "Show fewer" : "Show all moves";
      fill();
    } }, "Show all moves") : null;
  return [scroller("", {}, h("table", { id: "help-table",
    class: "numbers" },
  h("caption", { class: "visually-hidden" }, "Moves, the best first"),
  h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Move"),
    h("th", { scope: "col", class: "number" }, "Win"),
    h("th", { scope: "col", class: "number" }, "Loses"),
    h("th", { scope: "col" }, "Policy"),
    h("th", { scope: "col", class: "number" }, "By dice"),
    h("th", { scope: "col", class: "number" }, "By claims"))),
  body)), h("p", { class: "muted legend-text" }, "By dice: how likely the " +
    "claim is true if you know only these dice. By claims: the same with " +
    "what the opponent's claims tell. For Dudo: how likely the last claim " +
    "is false."), more].filter(Boolean);
}

// Returns how often the policy makes a move, as a bar and a number.
function policyCell(share) {
  return h("td", { class: "policy" }, h("span", { class: "bar-cell" },
    bar(share), h("span", {}, chance(share))));
}

function oddsOnly(help, view, play) {
  const shares = help.probabilities;
  const rows = help.names.map((name, i) => {
    const at = help.claim_names.indexOf(name);
    const odds = at >= 0 ? help.odds_alone[at] :
      /Dudo|Challenge/.test(name) && help.last >= 0 ?
        1 - help.odds_alone[help.last] :
        name === "Pass" ? help.odds_alone[help.last] : null;
    return { name, odds, share: shares ? shares[i] : 0 };
  });
  return h("div", { class: "card help", id: "help-panel" },
    h("h2", {}, "Odds by your dice"),
    h("p", { class: "muted" }, "How likely each claim is true, if you know " +
      "only your own dice" + (help.last >= 0 ?
        "; for Dudo or a challenge: how likely the last claim is false." :
        ".") + (shares ? "" : " The policy does not know this game, so there " +
        "are no values.")),
    scroller("", {}, h("table", { id: "help-table",
      class: "numbers" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Move"),
      shares ? h("th", { scope: "col" }, "Policy") : null,
      h("th", { scope: "col" }, "By dice"))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-move": row.name },
      h("th", { scope: "row" }, h("button", { class: "move-button",
        onclick: () => play(row.name) }, claim(row.name))),
      shares ? policyCell(row.share) : null,
      h("td", {}, h("span", { class: "bar-cell" }, bar(row.odds),
        h("span", {}, chance(row.odds))))))))));
}

// Returns what claims tell of a player's dice.
export function belief(found, title) {
  const most = found.counts[0].length - 1;
  return h("section", { class: "belief" }, h("h2", {}, title),
    found.is_expected ? null : h("p", { class: "note" },
      "The policy would not make all of these claims itself, so those up to " +
      "the last surprise tell nothing."),
    scroller("", {}, h("table", { class: "numbers grid" },
      h("caption", { class: "muted" },
        "How likely so many of its dice count for a face"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Face"),
        Array.from({ length: most + 1 }, (_, count) =>
          h("th", { scope: "col" }, String(count))))),
      h("tbody", {}, found.counts.map((row, rank) => h("tr", {},
        h("th", { scope: "row" }, smallDice(rank + 1)),
        row.map((share) => heat(share, chance(share)))))))),
    h("p", { class: "muted" }, "Its likeliest dice:"),
    h("ul", { class: "hands" }, found.hands.slice(0, 6).map((one) =>
      h("li", {}, smallDice(one.hand), h("span", {}, chance(one.chance))))));
}

export async function roundReview(place, view, isWanted) {
  if (!view.has_values) return;
  try {
    const found = await api("review");
    if (!isWanted()) return;
    const match = found.moves.filter((move) => move.match === view.match);
    const moves = match.filter((move) => move.round === view.round);
    const bad = match.filter((move) => !isBest(move.loss));
    place.replaceChildren(h("div", { class: "card", id: "round-review" },
      h("h2", {}, "Your moves in this round"),
      moveList(moves, "You made no move."),
      view.phase === "over" && match.length > moves.length ? [
        h("h2", {}, "Your worst moves in this match"),
        moveList(bad.slice(0, SHOWN), "None of your moves lost anything."),
        h("p", { class: "muted" }, "All your moves in this match lost ",
          h("strong", { id: "match-loss" }, percent(sum(match), 2)),
          " of a match.")] : null,
      h("p", { class: "muted" }, "All your moves in this session lost ",
        h("strong", { id: "session-loss" }, percent(found.total, 2)),
        " of a match.")));
    document.querySelector(".play")?.classList.add("with-help");
  } catch (error) {
    if (place.isConnected) showError(error);
  }
}

function sum(moves) {
  return moves.reduce((total, move) => total + move.loss, 0);
}

function moveList(moves, ifNone) {
  return moves.length ? h("ul", { class: "moves" }, moves.map((move) =>
    h("li", {}, moveLink(move)))) : h("p", { class: "muted" }, ifNone);
}

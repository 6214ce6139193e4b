// All moves of the session, the worst first.

import { api, claim, h, isBest, lossText, percent, scroller, select,
  smallDice } from "./ui.js";

function positionLink(move) {
  const claims = move.position.claims ? `/${move.position.claims}` : "";
  return `#/explore/${move.position.round}${claims}?hand=${move.hand}`;
}

// Returns a move in one line: what it lost, and a link to the position.
export function moveLink(move) {
  const good = isBest(move.loss);
  return h("a", { class: "move-line", href: positionLink(move) },
    h("span", { class: `badge ${good ? "good" : "bad"}` }, good ? "✓ best" :
      `lost ${percent(move.loss, 2)} of a match`),
    smallDice(move.hand),
    h("span", { class: "pair" }, "you: ", claim(move.move),
      good ? null : ` wins ${percent(move.value, 2)}`),
    good ? null : h("span", { class: "pair muted" }, "best: ",
      claim(move.best), ` wins ${percent(move.best_value, 2)}`));
}

export async function show(main, rest, query, info, isWanted) {
  const found = await api("review");
  if (!isWanted()) return;
  const match = query.get("match") || "";
  const matches = [...new Set(found.moves.map((move) => move.match))]
    .sort((a, b) => a - b);
  const moves = match ? found.moves.filter((move) =>
    String(move.match) === match) : found.moves;
  const total = match ? moves.reduce((sum, move) => sum + move.loss, 0) :
    found.total;
  main.replaceChildren(h("section", { class: "card" },
    h("h1", {}, "Review"),
    found.moves.length === 0 ? h("p", {}, "There are no moves to review yet. ",
      h("a", { href: "#/play" }, "Play a round"), " first.") : [
      h("div", { class: "facts" },
        fact("Matches won", String(found.score.won)),
        fact("Matches lost", String(found.score.lost)),
        fact("Moves", String(moves.length + (match ? 0 : found.forgotten))),
        fact("Lost by moves", percent(total, 2), "review-total")),
      h("p", { class: "muted" }, "What each move lost compared with the best " +
        "one, in per cent of matches, computed exactly against the policy. " +
        "A click opens the position." + (found.forgotten ?
        ` The first ${found.forgotten} moves are only in the sum.` : "")),
      matches.length > 1 ? h("div", { class: "controls" }, select("Match",
        "match",
        [["", "all"], ...matches.map((one) => [one, `match ${one}`])], match,
        (event) => {
          location.hash = event.target.value ?
            `#/review?match=${event.target.value}` : "#/review";
        })) : null,
      scroller("", {}, h("table", { id: "review-table",
        class: "numbers" },
      h("thead", {}, h("tr", {}, [["Lost"], ["Dice"],
        ["Claims before", "wide-only"], ["Move"], ["Best"],
        ["Move wins", "wide-only number"], ["Best wins", "wide-only number"],
        ["Round", "wide-only"], ["See"]].map(([name, kind]) =>
        h("th", { scope: "col", class: kind }, name)))),
      h("tbody", {}, moves.map((move) => h("tr", {},
        h("td", { class: "number" }, h("span", {
          class: `badge ${isBest(move.loss) ? "good" : "bad"}` },
        lossText(move.loss))),
        h("td", {}, smallDice(move.hand)),
        h("td", { class: "wrap wide-only" }, move.claims.length ?
          move.claims.slice(-3).map((name) => claim(name)) : "none"),
        h("td", {}, claim(move.move)),
        h("td", {}, claim(isBest(move.loss) ? move.move : move.best)),
        h("td", { class: "number wide-only" }, percent(move.value, 2)),
        h("td", { class: "number wide-only" }, percent(move.best_value, 2)),
        h("td", { class: "wide-only" }, `${move.match}.${move.round}`),
        h("td", {}, h("a", { href: positionLink(move),
          "aria-label": `Open round ${move.round} of match ${move.match} in ` +
            "the explorer" },
          "Open"))))))),
    ]));
}

export function fact(label, text, id) {
  return h("div", { class: "fact" }, h("span", { class: "muted" }, label),
    h("strong", id ? { id } : {}, text));
}

// Neumann poker as stacked areas, and the tables of Liar Die.

import { fact } from "./review.js";
import { api, h, heat, runTask, scroller, select, showError,
  svg } from "./ui.js";

const WIDTH = 320;
const HEIGHT = 150;
const NEVER = 0.0005; // what is reached less often is drawn faintly

async function load(main, game, sizes, label, chosen, info, isWanted, draw) {
  const place = h("div", {});
  const result = h("div", { id: "result" });
  const solve = async (size) => {
    try {
      const found = await runTask(game, size, place, isWanted);
      if (isWanted() && found) result.replaceChildren(...draw(found));
    } catch (error) {
      showError(error);
    }
  };
  const path = game === "liar_die" ? "liar-die" : "neumann";
  if (!sizes.some((one) => String([one].flat()[0]) === chosen) &&
      Number(chosen) > 0) {
    sizes = [...sizes, Number(chosen)];
  }
  main.replaceChildren(h("section", { class: "card" },
    h("h1", {}, game === "liar_die" ? "Liar Die" : "Neumann poker"),
    h("p", {}, game === "liar_die" ?
      "A player rolls a die in secret and claims a number above the last " +
      "claim. The other accepts and rolls, or doubts." :
      "Each player antes and gets one rank in secret. There is one round of " +
      "betting with a raise; the higher rank takes the pot."),
    h("div", { class: "controls" }, select(label, "size", sizes, chosen,
      (event) => { location.hash = `#/${path}/${event.target.value}`; })),
    place), result);
  if (info.small_policies.includes(game) && chosen === "file") {
    const found = await api(`small?game=${game}`);
    if (isWanted()) result.replaceChildren(...draw(found));
  } else {
    await solve(Number(chosen));
  }
}

function choices(numbers, hasFile) {
  return [...(hasFile ? [["file", "from the file"]] : []), ...numbers];
}

export function showNeumann(main, [size], query, info, isWanted) {
  const hasFile = info.small_policies.includes("neumann_poker");
  return load(main, "neumann_poker", choices([5, 10, 20, 50, 100], hasFile),
    "Ranks", size || (hasFile ? "file" : "20"), info, isWanted, drawNeumann);
}

export function showLiarDie(main, [size], query, info, isWanted) {
  const hasFile = info.small_policies.includes("liar_die");
  return load(main, "liar_die", choices([2, 3, 4, 5, 6, 7, 8], hasFile),
    "Sides", size || (hasFile ? "file" : "6"), info, isWanted, drawLiarDie);
}

function summary(found, note) {
  return h("section", { class: "card" }, h("div", { class: "facts" },
    fact("Value to the first player", found.value.toFixed(5), "small-value"),
    fact("Exploitability", found.exploitability < 1e-9 ? "0" :
      found.exploitability.toExponential(1), "small-exploitability")),
  note ? h("p", { class: "muted" }, note) : null);
}

function drawNeumann(found) {
  return [summary(found, "Faint: ranks that never get there, because of " +
    "earlier moves."), h("div", { class: "panels" },
    found.spots.map((spot) => h("section", { class: "card panel" },
      h("h2", {}, `Player ${spot.player}`, h("span", { class: "muted" },
        spot.betting.length ? ` after ${spot.betting.join(", ")}` :
          " begins")),
      areas(spot, found.ranks), legend(spot.actions), rankTable(spot))))];
}

function kind(action) {
  return { Fold: "fold", Check: "call", Call: "call", Bet: "raise",
    Raise: "raise" }[action];
}

function areas(spot, ranks) {
  let base = Array(ranks).fill(0);
  const step = WIDTH / ranks;
  const paths = spot.shares.map((shares, i) => {
    const top = base.map((sum, rank) => sum + shares[rank]);
    const y = (share) => (HEIGHT * (1 - share)).toFixed(1);
    // Steps, as ranks are no points in between.
    const there = top.map((share, rank) =>
      `L${(rank * step).toFixed(1)} ${y(share)}` +
      `L${((rank + 1) * step).toFixed(1)} ${y(share)}`).join("");
    const back = base.map((_, k) => ranks - 1 - k).map((rank) =>
      `L${((rank + 1) * step).toFixed(1)} ${y(base[rank])}` +
      `L${(rank * step).toFixed(1)} ${y(base[rank])}`).join("");
    base = top;
    return svg("path", { class: `area ${kind(spot.actions[i])}`,
      d: `M0 ${y(top[0] - shares[0])}${there}${back}Z` });
  });
  const marks = [0, 0.5, 1].map((share) => svg("text", { x: -6,
    y: HEIGHT * (1 - share) + 4, "text-anchor": "end" }, `${100 * share}%`));
  const veils = spot.reach.map((reach, rank) => (reach < NEVER ?
    svg("rect", { class: "veil", x: rank * step, y: 0, width: step,
      height: HEIGHT }) : null));
  return svg("svg", { class: "areas", role: "img",
    viewBox: `-42 -8 ${WIDTH + 50} ${HEIGHT + 32}`,
    "aria-label": `Player ${spot.player}: shares of ` +
      `${spot.actions.join(", ")} by rank; a table follows` },
  paths, veils, marks,
  svg("text", { x: 0, y: HEIGHT + 18 }, "lowest rank"),
  svg("text", { x: WIDTH, y: HEIGHT + 18, "text-anchor": "end" },
    "highest rank"));
}

function legend(actions) {
  return h("p", { class: "legend" }, actions.map((action) =>
    h("span", {}, h("span", { class: `swatch ${kind(action)}` }), action)));
}

function rankTable(spot) {
  return h("details", {}, h("summary", {}, "As a table"),
    scroller("tall", {}, h("table", { class: "numbers grid" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Rank"),
        spot.actions.map((action) => h("th", { scope: "col" }, action)))),
      h("tbody", {}, spot.shares[0].map((_, rank) => h("tr", {
        class: spot.reach[rank] < NEVER ? "never" : null },
        h("th", { scope: "row" }, String(rank + 1)),
        spot.shares.map((shares) => heat(shares[rank],
          (100 * shares[rank]).toFixed(1)))))))));
}

function cells(shares, before, reaches) {
  return [...Array(before).fill(null).map(() => h("td", {}, "")),
    ...shares.map((share, i) => heat(share, (100 * share).toFixed(1),
      { class: reaches[i] < NEVER ? "never" : "" }))];
}

function drawLiarDie(found) {
  const numbers = Array.from({ length: found.sides }, (_, i) => i + 1);
  const head = (first) => h("thead", {}, h("tr", {},
    first.map((name) => h("th", { scope: "col" }, name)),
    numbers.map((claim) => h("th", { scope: "col" }, String(claim)))));
  return [summary(found),
    h("section", { class: "card" }, h("h2", {}, "When to doubt"),
      h("p", { class: "muted" }, "Per cent: how often the new claim " +
        "(column) is doubted by the player whose own claim (row) was " +
        "accepted before. 0: no claim before. Faint: claims that nobody " +
        "makes there."),
      scroller("", {}, h("table", { class: "numbers grid",
        id: "doubts" }, head(["Own"]),
      h("tbody", {}, found.doubts.map((row, old) => h("tr", {},
        h("th", { scope: "row" }, String(old)),
        cells(row, old, found.doubt_reach[old]))))))),
    h("section", { class: "card" }, h("h2", {}, "What to claim"),
      h("p", { class: "muted" }, "Per cent: how often each number is " +
        "claimed after the last accepted claim, by what was rolled. Faint: " +
        "after claims that nobody makes, or nobody accepts."),
      h("div", { class: "panels" }, found.claims.map((rows, last) =>
        scroller("", {}, h("table", { class: "numbers grid" },
          h("caption", {}, last ? `Last claim ${last}` : "First claim"),
          head(["Roll"]),
          h("tbody", {}, rows.map((row, roll) => h("tr", {},
            h("th", { scope: "row" }, String(roll + 1)),
            cells(row, last, row.map(() => found.claim_reach[last]))))))))))];
}

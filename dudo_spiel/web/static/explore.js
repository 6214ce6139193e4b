// The explorer: what the policy does with every hand at a position.

import { belief, valueTable } from "./help.js";
import { ladder } from "./play.js";
import { fact } from "./review.js";
import { api, bar, chance, claim, h, heat, percent, scroller, select,
  showError, smallDice } from "./ui.js";

const SEEN = 0.01; // actions that no hand takes more often are hidden
const NEVER = 0.0005; // hands that are here less often are drawn faintly
const WAIT = 120; // milliseconds until hovering asks for values

function address(round, claims, query) {
  const text = [...query].filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  return `#/explore/${round}${claims.length ? `/${claims.join(".")}` : ""}` +
    (text ? `?${text}` : "");
}

export async function show(main, [round, claims = ""], query, info, isWanted) {
  if (!round) {
    round = info.rounds[info.rounds.length - 1];
  }
  const view = await api(`explore?round=${encodeURIComponent(round)}` +
    `&claims=${encodeURIComponent(claims)}`);
  if (!isWanted()) return;
  const names = view.claims.map((one) => one.name);
  const go = (next, keep = {}) => {
    const kept = new URLSearchParams(query);
    kept.delete("hand");
    for (const [key, value] of Object.entries(keep)) kept.set(key, value);
    location.hash = address(view.round, next, kept);
  };
  const set = (key, value) => {
    const kept = new URLSearchParams(query);
    kept.set(key, value);
    location.hash = address(view.round, names, kept);
  };
  const side = h("div", { class: "card", id: "hand-panel" });
  // A hand gets an address, but the grid stays as it is.
  const choose = (name, row) => {
    query.set("hand", name);
    history.pushState(null, "", address(view.round, names, query));
    for (const other of document.querySelectorAll("#grid tr[data-hand]")) {
      const isChosen = other === row;
      other.classList.toggle("chosen", isChosen);
      other.querySelector("button").setAttribute("aria-pressed",
        String(isChosen));
    }
    showHand(side, view, name, isWanted, row).then(() =>
      side.scrollIntoView({ block: "nearest" }));
  };
  const hand = query.get("hand");
  main.replaceChildren(
    h("section", { class: "card" }, h("h1", {}, "Explore"),
      controls(view, names, info, go), facts(view)),
    h("div", { class: "explore" },
      h("section", { class: "card next", "aria-label": "Next claim" },
        h("h2", {}, view.claims.length ? "Answers" : "First claims"),
        h("p", { class: "muted" }, "The bluer a claim, the more often it " +
          "is made. Click one to go on."),
        ladder(view.ladder, view.sides, names[names.length - 1],
          (name) => go([...names, name]), (cell, one) => {
            const at = view.actions.indexOf(one.name);
            const share = at < 0 ? 0 : view.facts[at].probability;
            cell.classList.add("heat");
            cell.style.setProperty("--share",
              `${Math.round(100 * Math.sqrt(share))}%`);
            cell.title = `${one.name}: ${percent(share)}`;
          })),
      h("section", { class: "card" }, actionTable(view)),
      h("section", { class: "card range" },
        belief(view.range, "The opponent's dice"))),
    h("div", { class: "explore-grid" },
      h("section", { class: "card", "aria-label": "All hands" },
        grid(view, query, set, choose, side, isWanted)),
      side));
  if (hand) showHand(side, view, hand, isWanted);
  else {
    side.replaceChildren(h("h2", {}, "One hand"), h("p", { class: "muted" },
      "Point at a hand, or choose it, to see what each action is worth."));
  }
}

function controls(view, names, info, go) {
  const crumbs = [h("button", { class: "crumb", id: "crumb-0",
    onclick: () => go([]) }, "start")];
  names.forEach((name, i) => {
    crumbs.push(h("span", { class: "muted", "aria-hidden": "true" }, "›"));
    crumbs.push(h("button", { class: "crumb", id: `crumb-${i + 1}`,
      "aria-label": `Back to ${name}`,
      onclick: () => go(names.slice(0, i + 1)) }, claim(name)));
  });
  return h("div", { class: "controls" },
    select("Round (starter v other)", "round", info.rounds, view.round,
      (event) => { location.hash = `#/explore/${event.target.value}`; }),
    h("div", { class: "crumbs", role: "group", "aria-label": "Claims so far" },
      crumbs));
}

function facts(view) {
  const who = view.actor === 0 ? "the starter" : "the other player";
  return h("div", { class: "facts" },
    fact("To act", `${who}, ${view.own} ${view.own === 1 ? "die" : "dice"}`),
    fact("Starter wins the match", percent(view.value, 2)),
    fact("This position comes up", view.likelihood < 0.0005 ?
      view.likelihood === 0 ? "never" :
        `once in ${Math.round(1 / view.likelihood).toLocaleString("en")}` :
      percent(view.likelihood, 2), "likelihood"));
}

function actionTable(view) {
  const rows = view.actions.map((name, i) => ({ name, ...view.facts[i] }))
    .filter((row) => row.probability >= 0.0005)
    .sort((a, b) => b.probability - a.probability);
  return [h("h2", {}, "How often, and how honest"),
    h("p", { class: "muted" }, "A bluff: no die of the claimant counts for " +
      "the face. True: how often the claim holds (for Dudo: how often it is " +
      "right)."),
    scroller("tall", {}, h("table", { class: "numbers",
      id: "facts-table" },
    h("thead", {}, h("tr", {}, ["Action", "Made", "Bluff", "True"].map(
      (name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-move": row.name },
      h("th", { scope: "row" }, claim(row.name)),
      h("td", {}, h("span", { class: "bar-cell" }, bar(row.probability),
        h("span", {}, percent(row.probability)))),
      h("td", { class: "number" }, chance(row.bluff)),
      h("td", { class: "number" }, chance(row.true)))))))];
}

function grouped(hands) {
  const groups = new Map();
  for (const hand of hands) {
    const group = groups.get(hand.pattern) || { hand: hand.pattern, chance: 0,
      row: hand.row.map(() => 0), isGroup: true, prior: 0 };
    group.chance += hand.chance;
    group.row = group.row.map((sum, i) => sum + hand.chance * hand.row[i]);
    groups.set(hand.pattern, group);
  }
  return [...groups.values()].map((group) => ({ ...group,
    row: group.row.map((sum) => group.chance > 0 ? sum / group.chance : 0) }));
}

function grid(view, query, set, choose, side, isWanted) {
  const face = Number(query.get("face") || 0);
  const least = Number(query.get("least") || 0);
  const sort = query.get("sort") || "chance";
  const isGrouped = query.get("group") === "1";
  const isAll = query.get("all") === "1";
  let hands = view.hands.filter((hand) =>
    !face || hand.matches[face - 1] >= least);
  if (isGrouped) hands = grouped(hands);
  const by = {
    chance: (a, b) => b.chance - a.chance,
    hand: (a, b) => (a.hand < b.hand ? -1 : 1),
    count: (a, b) => (b.matches?.[(face || 1) - 1] || 0) -
      (a.matches?.[(face || 1) - 1] || 0) || b.chance - a.chance,
    pattern: (a, b) => (a.pattern || "").localeCompare(b.pattern || "") ||
      b.chance - a.chance,
  };
  hands.sort(by[sort] || by.chance);
  const columns = view.actions.map((_, i) => i).filter((i) => isAll ||
    hands.some((hand) => hand.chance > 0 && hand.row[i] >= SEEN));
  // Dudo stands last among the actions; here it must be in sight.
  columns.sort((a, b) => (view.actions[b] === "Dudo") -
    (view.actions[a] === "Dudo") || a - b);
  const faces = [[0, "any face"], ...Array.from({ length: view.sides },
    (_, i) => [i + 1, `face ${i + 1}`])];
  const counts = Array.from({ length: view.own + 1 }, (_, i) =>
    [i, `at least ${i}`]);
  const body = h("tbody", {}, hands.map((hand) => {
    const label = hand.isGroup ? hand.hand : h("button", {
      class: "hand-button", "data-hand": hand.hand,
      "aria-label": `Values of ${hand.hand}`,
      "aria-pressed": String(query.get("hand") === hand.hand),
      onclick: (event) => choose(hand.hand, event.target.closest("tr")) },
    smallDice(hand.hand));
    const isNever = view.likelihood === 0 || hand.chance < NEVER;
    return h("tr", { "data-hand": hand.isGroup ? null : hand.hand,
      class: [query.get("hand") === hand.hand ? "chosen" : "",
        isNever ? "never" : ""].join(" ").trim() || null },
    h("th", { scope: "row" }, label),
    h("td", { class: "number muted" }, percent(hand.chance)),
    columns.map((i) => heat(hand.row[i],
      hand.row[i] >= 0.005 ? Math.round(100 * hand.row[i]) : "",
      { class: "cell", "data-action": view.actions[i] })));
  }));
  let waiting = 0;
  body.addEventListener("pointerover", (event) => {
    const row = event.target.closest("tr");
    const hand = row?.dataset.hand;
    clearTimeout(waiting);
    if (!hand || event.pointerType === "touch") return;
    waiting = setTimeout(() => showHand(side, view, hand, isWanted, row), WAIT);
  });
  return [h("h2", {}, "All hands"),
    h("div", { class: "controls" },
      select("Sort by", "sort", [["chance", "how likely"], ["hand", "dice"],
        ["count", "dice that count"], ["pattern", "pattern"]], sort,
      (event) => set("sort", event.target.value)),
      select("Dice that count for", "face", faces, face,
        (event) => set("face", event.target.value)),
      face ? select("How many", "least", counts, least,
        (event) => set("least", event.target.value)) : null,
      check("Group by pattern", "group", isGrouped, set),
      check("All actions", "all", isAll, set)),
    h("p", { class: "muted" }, "Numbers are per cent: how often the policy " +
      "takes an action with a hand. The second column says how likely the " +
      "hand is here; hands that never are here are faint."),
    scroller("tall", { tabindex: 0, role: "region",
      "aria-label": "Grid of hands and actions" },
    h("table", { id: "grid", class: "numbers grid" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Hand"),
        h("th", { scope: "col" }, "Here"), columns.map((i) =>
          h("th", { scope: "col", class: "action" },
            view.actions[i].replace("x", "×"))))),
      body))];
}

function check(label, key, isOn, set) {
  return h("label", { class: "check" }, h("input", { type: "checkbox",
    id: key, checked: isOn,
    onchange: (event) => set(key, event.target.checked ? "1" : "") }), label);
}

async function showHand(side, view, hand, isWanted, row) {
  try {
    side.dataset.wanted = hand;
    const claims = view.claims.map((one) => one.name);
    const found = await api(`values?round=${view.round}&claims=` +
      `${encodeURIComponent(claims.join("."))}&hand=${hand}`);
    if (!isWanted() || side.dataset.wanted !== hand) return;
    for (const cell of row?.querySelectorAll("td.cell") || []) {
      const at = found.names.indexOf(cell.dataset.action);
      cell.title = `${hand}, ${cell.dataset.action}: wins ` +
        `${percent(found.values[at], 2)}`;
    }
    side.replaceChildren(
      h("h2", {}, "What ", smallDice(hand), " can do"),
      h("p", {}, "It wins ", h("strong", { id: "hand-value" },
        percent(found.value, 2)), " of matches if it plays as the policy " +
        "does."),
      ...valueTable({ ...found, claim_names: view.ladder.map((one) => one.name),
        last: view.ladder.findIndex((one) =>
          one.name === claims[claims.length - 1]) }, null));
  } catch (error) {
    showError(error);
  }
}

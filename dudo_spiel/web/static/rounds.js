// What all rounds are worth, and how exploitable the policy is in them.

import { api, h, heat, percent, runTask, scroller, showError } from "./ui.js";

export async function show(main, rest, query, info, isWanted) {
  const found = await api("rounds");
  if (!isWanted()) return;
  const place = h("div", {});
  const button = h("button", { class: "primary", id: "measure",
    onclick: async () => {
      button.disabled = true;
      try {
        await runTask("measure", 0, place, isWanted);
        if (isWanted()) await show(main, rest, query, info, isWanted);
      } catch (error) {
        showError(error);
        button.disabled = false;
      }
    } }, "Measure exploitability");
  const most = Math.max(...found.rounds.map((one) => one.dice[0]));
  const numbers = Array.from({ length: most }, (_, i) => i + 1);
  const at = new Map(found.rounds.map((one) => [one.round, one]));
  const isMeasured = found.rounds.some((one) => one.exploitability);
  const isComplete = found.rounds.every((one) => one.exploitability ||
    !one.is_measurable);
  main.replaceChildren(h("section", { class: "card" },
    h("h1", {}, "What rounds are worth"),
    h("p", {}, "How often the player who starts a round wins the match when " +
      `both play ${found.name}. Of a round it remembers ` +
      `${found.remembers}. A click opens the round.`),
    scroller("", {}, h("table", { class: "numbers grid wide",
      id: "rounds" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Starter"),
      numbers.map((other) => h("th", { scope: "col" }, `v ${other}`)))),
    h("tbody", {}, numbers.map((own) => h("tr", {},
      h("th", { scope: "row" }, `${own} ${own === 1 ? "die" : "dice"}`),
      numbers.map((other) => {
        const one = at.get(`${own}v${other}`);
        if (!one) return h("td", {}, "");
        return heat(one.value ?? 0, [
          h("a", { href: `#/explore/${one.round}` },
            one.value === null ? "open" : percent(one.value, 2)),
          one.exploitability ? h("span", { class: "gain" },
            gain(one.exploitability)) : null], { "data-round": one.round });
      })))))),
    h("h2", {}, "How exploitable"),
    h("p", {}, isMeasured ? "Below each value stands what" : "What",
      " a perfect opponent who knows the policy gains ",
      found.is_exact ?
        "from that round on, later rounds included, in per cent of matches. " +
        (found.is_certain ? "All of these numbers are exact." :
          "All of these numbers are what its file says.") :
        "in that round, in per cent of matches. Later rounds are valued as " +
        "if both played the policy. Where the gain is not exact, it lies " +
        "between two bounds."),
    place, isComplete ? null : button));
}

// A win is +1 and a loss -1, so a gain of 0.02 is one per cent of matches.
function gain([lower, upper]) {
  const low = percent(lower / 2, 2);
  return upper - lower < 1e-6 ? `gain ${low}` :
    `gain ${low} to ${percent(upper / 2, 2)}`;
}

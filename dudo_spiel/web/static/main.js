// Chooses the view by the part of the address after #.

import * as explore from "./explore.js";
import * as play from "./play.js";
import * as review from "./review.js";
import * as rounds from "./rounds.js";
import * as small from "./small.js";
import { api, h, hideError } from "./ui.js";

const VIEWS = {
  play: play.show, review: review.show, explore: explore.show,
  rounds: rounds.show, neumann: small.showNeumann,
  "liar-die": small.showLiarDie,
};
const TITLES = {
  play: "Play", review: "Review", explore: "Explore", rounds: "Rounds",
  neumann: "Neumann poker", "liar-die": "Liar Die",
};

let info = null;
let shown = 0;

// Returns a part of the address as text, also if somebody broke it.
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function show() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decode);
  const view = Object.hasOwn(VIEWS, name) ? name : "play";
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.getAttribute("href") === `#/${view}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[view]} – Dudo`;
  const main = document.getElementById("main");
  const focused = document.activeElement?.id;
  const wasOnLadder = document.activeElement?.classList.contains("rung");
  const number = ++shown;
  const isWanted = () => number === shown;
  try {
    info = info || await api("info");
    if (isWanted()) {
      await VIEWS[view](main, rest, new URLSearchParams(query), info, isWanted);
      // A view is drawn anew, but who used a control stays there.
      if (focused && focused !== "main") {
        document.getElementById(focused)?.focus({ preventScroll: true });
      } else if (wasOnLadder) {
        main.querySelector("[data-first]")?.focus({ preventScroll: true });
      }
    }
  } catch (error) {
    if (!isWanted()) return;
    if (!(error.status >= 0)) throw error;
    main.replaceChildren(h("section", { class: "card" },
      h("h1", {}, "That did not work"), h("p", {}, error.message),
      h("p", {}, h("a", { href: "#/play" }, "Back to the game"))));
  }
}

window.addEventListener("hashchange", () => {
  hideError();
  show();
});
// The address says which view is shown, so the link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) show();
});
show();

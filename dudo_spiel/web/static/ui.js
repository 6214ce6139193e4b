// What all views share: elements, dice, requests and numbers.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") {
      for (const [key, part] of Object.entries(value)) {
        element.style.setProperty(key, part);
      }
    } else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
  return element;
}

// Returns an element; attributes named on... are listeners.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const PIPS = {
  1: [[2, 2]], 2: [[1, 1], [3, 3]], 3: [[1, 1], [2, 2], [3, 3]],
  4: [[1, 1], [1, 3], [3, 1], [3, 3]],
  5: [[1, 1], [1, 3], [2, 2], [3, 1], [3, 3]],
  6: [[1, 1], [1, 2], [1, 3], [3, 1], [3, 2], [3, 3]],
};

// Returns a die; face null is one that nobody may see yet. A die that counts
// has a ring and a tick, one that does not is faded.
export function die(face, options = {}) {
  const { counts = null, small = false } = options;
  const kinds = ["die"];
  if (small) kinds.push("small");
  if (face === null) kinds.push("hidden-die");
  if (counts === true) kinds.push("counts");
  if (counts === false) kinds.push("counts-not");
  const label = face === null ? "hidden die" :
    `${face}${counts === true ? ", counts" : ""}`;
  const parts = [svg("rect", { x: 1.5, y: 1.5, width: 37, height: 37, rx: 8 })];
  if (face !== null && PIPS[face]) {
    for (const [x, y] of PIPS[face]) {
      parts.push(svg("circle", { cx: 10 * x, cy: 10 * y, r: 3.7 }));
    }
  } else {
    parts.push(svg("text", { x: 20, y: 27, "text-anchor": "middle" },
      face === null ? "?" : String(face)));
  }
  if (counts === true) {
    parts.push(svg("g", { class: "tick" },
      svg("circle", { cx: 33, cy: 33, r: 7 }),
      svg("path", { d: "M29.5 33l2.6 2.7 4.4-5" })));
  }
  return svg("svg", { class: kinds.join(" "), viewBox: "0 0 41 41",
    role: "img", "aria-label": label }, parts);
}

export function dice(faces, counts) {
  return h("span", { class: "dice" }, faces.map((face, i) =>
    die(face, { counts: counts ? counts[i] : null })));
}

export function smallDice(text) {
  // A face above 9 stands in brackets.
  const faces = String(text).match(/\d|\(\d+\)/g) || [];
  return h("span", { class: "dice" }, faces.map((face) =>
    die(Number(face.replace(/[()]/g, "")), { small: true })));
}

// Returns a claim as "3 ×" and a die.
export function claim(name) {
  const found = /^(\d+)x(\d+)$/.exec(name);
  if (!found) return h("span", { class: "claim" }, name);
  return h("span", { class: "claim", role: "img",
    "aria-label": sayClaim(name) }, h("span", {}, `${found[1]}\u2009×`),
    die(Number(found[2]), { small: true }));
}

export function sayClaim(name) {
  const found = /^(\d+)x(\d+)$/.exec(name);
  return found ? `${found[1]} times ${found[2]}` : name;
}

export function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" :
    `${(100 * share).toFixed(digits)}%`;
}

// Percentages that are rounded, but never to a false certainty.
export function chance(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.005) return "<1%";
  if (share < 1 && share > 0.995) return ">99%";
  return `${Math.round(100 * share)}%`;
}

const BEST = 0.00005; // a move that loses less is as good as the best one

export function isBest(loss) {
  return loss < BEST;
}

export function lossText(loss) {
  return isBest(loss) ? "0" : `−${(100 * loss).toFixed(2)}`;
}

// Returns a box that scrolls; a line above it says how many columns are out of
// sight.
export function scroller(kind, attributes, table) {
  const hint = h("p", { class: "more-hint muted" });
  const box = h("div", { class: `scroll ${kind}`.trim(), ...attributes },
    table);
  const outer = h("div", { class: "scroller" }, hint,
    h("div", { class: "frame" }, box));
  const update = () => {
    const edge = box.getBoundingClientRect().right + 1;
    const heads = [...box.querySelectorAll("thead th")];
    const out = box.scrollWidth - box.clientWidth - box.scrollLeft > 1 ?
      heads.filter((one) => one.getBoundingClientRect().right > edge).length :
      0;
    hint.classList.toggle("needed", box.scrollWidth > box.clientWidth + 1);
    outer.classList.toggle("more", out > 0);
    hint.textContent = out ? `${out} more ${out === 1 ? "column" : "columns"}` +
      " to the right →" : "All columns to the right are in sight.";
  };
  box.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  observer.observe(box);
  observer.observe(table);
  return outer;
}

// Returns a table cell coloured by a share.
export function heat(share, text, attributes = {}) {
  const cell = h("td", { ...attributes,
    class: `heat ${attributes.class || ""}`.trim() }, text);
  cell.style.setProperty("--share", `${Math.round(100 * share)}%`);
  return cell;
}

export function bar(share, kind = "") {
  const inner = h("span", {});
  inner.style.setProperty("width", `${(100 * share).toFixed(1)}%`);
  return h("span", { class: `bar ${kind}`.trim(), "aria-hidden": "true" },
    inner);
}

class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Returns the answer of the server; with a body it is a POST.
export async function api(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch {
    throw new RequestError(0, "The server does not answer. Is it running?");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok || !answer) {
    throw new RequestError(response.status, answer?.error ||
      `The server answers with status ${response.status}.`);
  }
  return answer;
}

export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

let hiding = 0;
export function showError(error) {
  const box = document.getElementById("error");
  box.textContent = error.message;
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { box.hidden = true; }, 8000);
}

export function hideError() {
  document.getElementById("error").hidden = true;
}

export function select(label, id, options, value, onchange) {
  const list = h("select", { id, onchange }, options.map((option) => {
    const [key, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value: key, selected: String(key) === String(value) },
      text);
  }));
  return h("label", { class: "field" }, h("span", {}, label), list);
}

// Runs a task of the server; the bar shows how far it is.
export async function runTask(what, size, place, isWanted) {
  const text = h("span", { class: "muted" });
  const progress = h("progress", { max: 1, value: 0,
    "aria-label": "Progress" });
  place.replaceChildren(h("p", { class: "task" }, progress, text));
  let task = await api("task", { what, size });
  while (!task.is_done && isWanted()) {
    progress.value = task.progress;
    text.textContent = task.text;
    await new Promise((resolve) => { setTimeout(resolve, 250); });
    task = await api(`task?task=${encodeURIComponent(task.task)}`);
  }
  place.replaceChildren();
  if (task.error) throw new RequestError(500, task.error);
  return task.result;
}

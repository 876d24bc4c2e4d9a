// Labels as keys, what to do with them, and labels that there are not yet.
import { $, keyButton, make } from "./dom.js";
import { Refusal, ask, away, say, state } from "./server.js";

const OF_PAIRS = { same: "var(--good)", different: "var(--warn)", unsure: "var(--soft)" };
export const colour = (label) => (state.kind === "pairs" && OF_PAIRS[label]) || `var(--c${Math.max(state.labels.indexOf(label), 0) % 12})`;

// What to do, until one has done it a few times.
const HOW = {
  tokens: "Select words with the mouse, or with Shift and the arrow keys, then press the number of a label. Enter when all is right.",
  classes: "Press the number of a class, or click it.",
  pairs: "Is this the same thing? Press y, n or u.",
  trees: "Choose a tree by its number. Click a node to rename or remove it; with Shift, take its neighbours, too. Enter when all is right.",
  numbers: "Type the number, then press Enter.",
};
const BY_TOUCH = {
  tokens: "Tap a word, or its first and its last, then a label. All right when it is.",
  classes: "Tap a class.",
  pairs: "Is this the same thing?",
  trees: "Choose a tree. Tap a node to rename or remove it.",
  numbers: "Type the number.",
};
const NAMELESS = {
  tokens: "Which words are you looking for? Select some, and name what they are: PER, say, or PRICE.",
  classes: "Which classes are there? Name one that fits this text.",
};
export function how() {
  const nameless = !state.labels.length && NAMELESS[state.kind];
  $("how").textContent = nameless || ((state.mine ?? 0) < 3 && (matchMedia("(pointer: coarse)").matches ? BY_TOUCH : HOW)[state.kind]) || "";
}

export function labelKeys(act) {
  state.labels.forEach((label, k) => $("keys").append(keyButton(k < 9 ? `${k + 1}` : "·", label, () => act(label), { dot: colour(label) })));
  if (state.labels.length) $("keys").append(keyButton("0", "No label", () => act(null)), keyButton("u", "Not sure", () => act(undefined)));
}

// A field for labels that there are not yet; what is done with one when the server has it, if the question is still the
// same.
export function addKey(added, isAsked) {
  if (state.taxonomy) return;
  const first = !state.labels.length;
  const input = make("input", { placeholder: first ? "name a label" : "another label", "aria-label": "Another label", maxLength: 100, autocomplete: "off", autocapitalize: "off" });
  const add = async () => {
    const label = input.value.trim();
    if (!label) return;
    try {
      const found = await ask("/api/label", { label });
      state.labels = found.labels;
      if (!isAsked()) return;
      away("");
      $("saved").textContent = "";
      added(found.label);
      how();
      $("question").focus({ preventScroll: true });
    } catch (error) { say(error.message); away(error instanceof Refusal ? error.message : "The server is away; try again when it is back."); }
  };
  input.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Enter") add(); if (event.key === "Escape") $("question").focus(); });
  $("keys").append(make("span", { className: "key add" }, make("kbd", { textContent: "+" }), input, make("button", { type: "button", textContent: "add", on: { click: add } })));
}

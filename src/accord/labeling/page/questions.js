// Questions one after the other, and what is answered.
import { classEditor } from "./classes.js";
import { clusters } from "./clusters.js";
import { $, make, word } from "./dom.js";
import { how } from "./labels.js";
import { numberEditor } from "./numbers.js";
import { pairEditor } from "./pairs.js";
import { refresh, take } from "./panel.js";
import { Refusal, ask, away, say, send, state, tell } from "./server.js";
import { tokenEditor } from "./tokens.js";
import { treeEditor } from "./trees.js";
import { view } from "./views.js";

// Each shows a question of one kind, and returns { value, press }: the answer as it stands, and what a key does.
const editors = { tokens: tokenEditor, classes: classEditor, pairs: pairEditor, numbers: numberEditor, trees: treeEditor };

let question = null; // what the server asked
let editor = null;
let untouched = ""; // the answer as it was when the question came
let shownAt = 0;
let busy = false;

export async function next() {
  try {
    show(await ask("/api/next", {}));
  } catch (error) {
    away(error instanceof Refusal ? error.message : "The server is away; this page goes on when it is back.");
    if (!(error instanceof Refusal)) setTimeout(next, 1000);
  }
}

export function show(found) {
  if (!found) return;
  question = found;
  state.labels = found.labels;
  busy = false;
  shownAt = performance.now();
  behind(found);
  const room = $("question");
  room.replaceChildren();
  room.dataset.key = found.key || "";
  $("keys").replaceChildren();
  $("accept").hidden = $("skip").hidden = false;
  $("accept").disabled = false;
  if (found.key === null) {
    $("why").textContent = "";
    room.append(make("p", { className: "text", textContent: "There is nothing left to ask." }), take());
    $("accept").hidden = $("skip").hidden = true;
    $("how").textContent = "";
    editor = null;
    return;
  }
  $("why").replaceChildren(found.reason ? `Asked because ${found.reason}.` : found.mine !== null ? "You have answered this before." : "");
  editor = editors[state.kind](room, found, { accept, isAsked: () => question === found });
  untouched = JSON.stringify(editor.value());
  how();
  room.focus({ preventScroll: true });
  say(`New question. ${room.innerText.slice(0, 400)}`);
}

export async function accept() {
  if (busy || !question || !question.key || !editor) return;
  const value = editor.value();
  if (value === undefined) return tell(state.kind === "numbers" ? "Type a number first." : state.labels.length ? "Choose a label first." : "Name a label first.");
  if (state.kind === "tokens" && !state.labels.length) return tell("Name a label first.");
  busy = true;
  $("saved").textContent = "saving …";
  const seconds = (performance.now() - shownAt) / 1000;
  const found = await send("/api/answer", { key: question.key, value, token: word(), seconds });
  if (found) { $("saved").textContent = "saved"; show(found.next); } else { busy = false; $("saved").textContent = "not saved yet"; }
  refresh();
}

export async function skip() {
  if (busy || !question || !question.key) return;
  busy = true;
  const found = await send("/api/skip", { key: question.key, token: word() });
  if (found) show(found.next); else busy = false;
}

// A first model while somebody looks at an item that nothing was done to: now it can be filled in. The same item, and
// only while it is on the screen: another may have been opened, or taken back, before the reply is here.
export async function fillIn() {
  const asked = question;
  const idle = () => question === asked && asked?.key && asked.proposal === null && !busy && editor && JSON.stringify(editor.value()) === untouched;
  if (!idle()) return;
  try {
    const found = await ask("/api/item", { key: asked.key });
    if (idle()) show({ ...found, reason: asked.reason, part: asked.part, mine: asked.mine });
  } catch (error) { if (error instanceof Refusal) away(error.message); }
}

export async function undo() {
  if (busy || clusters.busy) return;
  try {
    const found = await ask("/api/undo", {});
    if (found.undone === null) return say("There is nothing to undo.");
    if (found.group) { // several answers about pairs, given at once
      await view("clusters", false);
      clusters.show(found.group);
      $("group-saved").textContent = "taken back";
      return refresh();
    }
    if ($("view-label").hidden) await view("label");
    found.mine = found.before ?? null;
    show(found);
    $("saved").textContent = "taken back";
    $("why").textContent = "Your answer was taken back; answer anew, or skip.";
    refresh();
  } catch (error) { away(error.message); }
}

export async function open(key) {
  view("label");
  try { show(await ask("/api/item", { key })); } catch (error) { away(error.message); }
}

export function behind(found) {
  const n = found.behind;
  const saved = $("saved").textContent.startsWith("saved") ? "saved · " : "";
  $("saved").textContent = found.trouble || saved + (n ? `the model is ${n} answer${n > 1 ? "s" : ""} behind` : found.model ? "the model is up to date" : "there is no model yet");
}

// Whether a key means something to the question.
export const press = (event) => Boolean(editor) && editor.press(event);

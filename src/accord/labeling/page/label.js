"use strict";
// The page of `accord label`. Everything from files and people goes into the page as text, never as HTML.

const $ = (id) => document.getElementById(id);
const make = (tag, props = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
const drawn = (tag, props = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const word = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
const percent = (p) => `${Math.round(100 * p)} %`;
const OF_PAIRS = { same: "var(--good)", different: "var(--warn)", unsure: "var(--soft)" };
const colour = (label) => (state.kind === "pairs" && OF_PAIRS[label]) || `var(--c${Math.max(state.labels.indexOf(label), 0) % 12})`;
const plain = (x) => (Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(4)).toString());

let state = { labels: [], kind: "", spans: true };
let question = null; // what the server asked
let draft = null; // the answer as it stands
let editor = null; // shows a question of one kind: { keys, value, press }
let untouched = ""; // the answer as it was when the question came
let shownAt = 0;
let busy = false;
let windowId = sessionStorage.getItem("window") || word();
sessionStorage.setItem("window", windowId);

// -- the server ------------------------------------------------------------------------------------------------------
class Refusal extends Error {}

async function ask(path, body) {
  const sent = { window: windowId, annotator: annotator(), ...body };
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) };
  const response = await fetch(path, options);
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(found.detail || `the server answered ${response.status}`);
  return found;
}

// What could not be sent is kept in the browser, also over a reload, and sent again until it is acknowledged.
const waiting = {
  get all() { return JSON.parse(localStorage.getItem("waiting") || "[]"); },
  set all(list) { localStorage.setItem("waiting", JSON.stringify(list)); },
};
let retrying = null;

async function send(path, body) {
  waiting.all = [...waiting.all, { path, body: { ...body, annotator: annotator() } }];
  return flush();
}

async function flush() {
  clearTimeout(retrying);
  let last = null;
  while (waiting.all.length) {
    const [first] = waiting.all;
    try {
      last = await ask(first.path, first.body);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        away(`The server is away. ${waiting.all.length === 1 ? "Your answer is" : "Your answers are"} kept here and sent when it is back.`);
        retrying = setTimeout(() => flush().then((found) => found && show(found.next)), 1000);
        return null;
      }
      away(error.message);
      waiting.all = waiting.all.slice(1);
      return null;
    }
    waiting.all = waiting.all.slice(1);
  }
  away("");
  return last;
}

function away(text) { $("away").textContent = text; $("away").hidden = !text; }
function say(text) { $("said").textContent = text; }
function tell(text) { $("saved").textContent = text; say(text); } // also for those who see

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
function how() {
  const nameless = !state.labels.length && NAMELESS[state.kind];
  $("how").textContent = nameless || ((state.mine ?? 0) < 3 && (matchMedia("(pointer: coarse)").matches ? BY_TOUCH : HOW)[state.kind]) || "";
}

// -- who -------------------------------------------------------------------------------------------------------------
function annotator() { return ($("annotator").value || "").trim() || "me"; }

// -- questions -------------------------------------------------------------------------------------------------------
async function next() {
  try {
    show(await ask("/api/next", {}));
  } catch (error) {
    away(error instanceof Refusal ? error.message : "The server is away; this page goes on when it is back.");
    if (!(error instanceof Refusal)) setTimeout(next, 1000);
  }
}

function show(found) {
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
  editor = editors[state.kind](room, found);
  untouched = JSON.stringify(editor.value());
  how();
  room.focus({ preventScroll: true });
  say(`New question. ${room.innerText.slice(0, 400)}`);
}

async function accept() {
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

async function skip() {
  if (busy || !question || !question.key) return;
  busy = true;
  const found = await send("/api/skip", { key: question.key, token: word() });
  if (found) show(found.next); else busy = false;
}

// A first model while somebody looks at an item that nothing was done to: now it can be filled in. The same item, and
// only while it is on the screen: another may have been opened, or taken back, before the reply is here.
async function fillIn() {
  const asked = question;
  const idle = () => question === asked && asked?.key && asked.proposal === null && !busy && editor && JSON.stringify(editor.value()) === untouched;
  if (!idle()) return;
  try {
    const found = await ask("/api/item", { key: asked.key });
    if (idle()) show({ ...found, reason: asked.reason, part: asked.part, mine: asked.mine });
  } catch (error) { if (error instanceof Refusal) away(error.message); }
}

async function undo() {
  if (busy) return;
  try {
    const found = await ask("/api/undo", {});
    if (found.undone === null) return say("There is nothing to undo.");
    if (found.group) { // several answers about pairs, given at once
      await view("clusters", false);
      cluster.show(found.group);
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

async function open(key) {
  view("label");
  try { show(await ask("/api/item", { key })); } catch (error) { away(error.message); }
}

function behind(found) {
  const n = found.behind;
  const saved = $("saved").textContent.startsWith("saved") ? "saved · " : "";
  $("saved").textContent = found.trouble || saved + (n ? `the model is ${n} answer${n > 1 ? "s" : ""} behind` : found.model ? "the model is up to date" : "there is no model yet");
}

// -- the kinds of items ----------------------------------------------------------------------------------------------
function keyButton(key, text, act, props = {}) {
  return make("button", { type: "button", className: "key", on: { click: act }, ...props }, make("kbd", { textContent: key }),
    props.dot ? make("i", { className: "dot", vars: { "--c": props.dot } }) : null, text);
}

function labelKeys(act) {
  state.labels.forEach((label, k) => $("keys").append(keyButton(k < 9 ? `${k + 1}` : "·", label, () => act(label), { dot: colour(label) })));
  if (state.labels.length) $("keys").append(keyButton("0", "No label", () => act(null)), keyButton("u", "Not sure", () => act(undefined)));
}

// A field for labels that there are not yet; what is done with one when the server has it.
function addKey(added) {
  if (state.taxonomy) return;
  const asked = question, first = !state.labels.length;
  const input = make("input", { placeholder: first ? "name a label" : "another label", "aria-label": "Another label", maxLength: 100, autocomplete: "off", autocapitalize: "off" });
  const add = async () => {
    const label = input.value.trim();
    if (!label) return;
    try {
      const found = await ask("/api/label", { label });
      state.labels = found.labels;
      if (question !== asked) return;
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

const RTL = /[\u0591-\u07ff\u200f\ufb1d-\ufdfd\ufe70-\ufefc]/;
const LTR = /[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff]/;
const isRtl = (text) => { const a = text.search(RTL), b = text.search(LTR); return a >= 0 && (b < 0 || a < b); };

// Tokens: `draft` has a label, or null for one that is not sure, for each of them.
function tokenEditor(room, found) {
  const { text, places } = found.item;
  const n = places.length;
  const p = found.proposal;
  const base = found.mine || (p ? p.labels : places.map(() => (state.spans ? "O" : null)));
  draft = [...base];
  const touched = new Set();
  let from = -1, to = -1, cursor = 0, grabbed = null;
  const rtl = isRtl(text);
  const box = make("div", { className: `sentence${n > 70 ? " long" : ""}`, tabIndex: 0, dir: rtl ? "rtl" : "ltr", role: "listbox",
    "aria-multiselectable": "true", "aria-label": "The sentence. Arrow keys move, with shift they select; digits label." });
  room.append(box);
  const kind = (t) => (draft[t] === null || draft[t] === undefined ? null : state.spans ? draft[t].slice(2) : draft[t]);
  const isLabeled = (t) => draft[t] !== null && (!state.spans || draft[t] !== "O");
  const begins = (t) => isLabeled(t) && (!state.spans || draft[t][0] === "B" || t === 0 || kind(t - 1) !== kind(t));
  const end = (t) => { let e = t + 1; while (state.spans && e < n && draft[e] === `I-${kind(t)}`) e++; return e; };
  const start = (t) => { let s = t; while (state.spans && s > 0 && draft[s] && draft[s][0] === "I") s--; return s; };
  const sure = (t) => (touched.has(t) || found.mine || !p ? null : p.confidence[t]);

  function token(t) {
    const [a, b] = places[t];
    const c = sure(t);
    const unsure = c !== null && p && p.unsure.includes(t);
    const said = draft[t] === null ? "not sure" : isLabeled(t) ? kind(t) : "no label";
    const classes = ["tok", t >= from && t < to ? "on" : "", t === cursor ? "cursor" : "", draft[t] === null ? "open" : "", unsure ? "unsure" : ""];
    return make("span", { id: `t${t}`, className: classes.filter(Boolean).join(" "), role: "option",
      "aria-selected": t >= from && t < to ? "true" : "false",
      "aria-label": `${text.slice(a, b)}, ${said}${c !== null ? `, ${percent(c)}` : ""}${unsure ? ", views disagree" : ""}`, textContent: text.slice(a, b) });
  }

  function render() {
    const pieces = [];
    let at = 0;
    for (let t = 0; t < n; ) {
      const e = begins(t) ? end(t) : t + 1;
      pieces.push(text.slice(at, places[t][0]));
      const inner = [];
      for (let k = t; k < e; k++) {
        if (k > t) inner.push(text.slice(places[k - 1][1], places[k][0]));
        inner.push(token(k));
      }
      if (isLabeled(t)) {
        const c = sure(t) === null ? 1 : Math.min(...Array.from({ length: e - t }, (_, k) => sure(t + k) ?? 1));
        const other = p && sure(t) !== null && c < 0.85 ? p.second[t] : null;
        const second = other && (state.spans ? other[0].slice(2) || "none" : other[0]);
        const note = `${kind(t)}${sure(t) === null ? "" : ` ${Math.round(100 * c)}`}${second && second !== kind(t) ? ` · ${second} ${Math.round(100 * other[1])}` : ""}`;
        pieces.push(make("span", { className: "span", vars: { "--c": colour(kind(t)), "--sure": String(0.35 + 0.65 * c) } }, ...inner,
          make("small", { textContent: note, "aria-hidden": "true" })));
      } else pieces.push(...inner);
      at = places[e - 1][1];
      t = e;
    }
    pieces.push(text.slice(at));
    box.replaceChildren(...pieces);
    box.setAttribute("aria-activedescendant", `t${cursor}`);
    const here = $(`t${cursor}`);
    if (here && box.scrollHeight > box.clientHeight) here.scrollIntoView({ block: "nearest" });
  }

  function select(a, b) { from = Math.max(0, Math.min(a, b)); to = Math.min(n, Math.max(a, b) + 1); }

  // The tokens from..to become one span; what it cuts from others stays theirs.
  function mark(label, a = from, b = to) {
    if (a < 0 || b <= a) { a = cursor; b = cursor + 1; }
    if (state.spans && b < n && draft[b] && draft[b][0] === "I") draft[b] = `B-${kind(b)}`;
    for (let t = a; t < b; t++) {
      touched.add(t);
      draft[t] = label === undefined ? null : label === null ? (state.spans ? "O" : null) : state.spans ? `${t === a ? "B" : "I"}-${label}` : label;
    }
    cursor = Math.min(b, n - 1);
    from = to = -1;
    render();
    say(`${text.slice(places[a][0], places[b - 1][1])}: ${label === undefined ? "not sure" : label || "no label"}`);
  }

  const at = (event) => {
    const node = document.elementFromPoint(event.clientX, event.clientY)?.closest(".tok");
    return node && box.contains(node) ? Number(node.id.slice(1)) : null;
  };
  box.addEventListener("pointerdown", (event) => {
    const t = at(event);
    if (t === null || event.button) return;
    if (event.pointerType === "touch" && from >= 0 && to > from && (t < from || t >= to)) {
      select(Math.min(t, from), Math.max(t, to - 1)); // a second tap extends what the first one selected
      cursor = t;
      return render();
    }
    grabbed = { t, moved: false };
    if (event.pointerType !== "touch") box.setPointerCapture?.(event.pointerId);
    cursor = t;
    if (isLabeled(t)) { from = start(t); to = end(from); } else select(t, t);
    render();
  });
  box.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const t = at(event);
    if (t === null || (t === grabbed.t && !grabbed.moved)) return;
    grabbed.moved = true;
    cursor = t;
    const s = isLabeled(grabbed.t) ? start(grabbed.t) : grabbed.t;
    const e = isLabeled(grabbed.t) ? end(s) - 1 : grabbed.t;
    select(Math.min(s, t), Math.max(t >= s && t <= e ? t : e, t));
    render();
  });
  box.addEventListener("pointerup", () => {
    if (grabbed && grabbed.moved && isLabeled(grabbed.t) && state.spans) { // dragging out of a span extends it, dragging inside cuts it
      const label = kind(grabbed.t), s = start(grabbed.t), e = end(s);
      for (let t = s; t < e; t++) if (t < from || t >= to) { draft[t] = "O"; touched.add(t); }
      mark(label);
    }
    grabbed = null;
  });

  function press(event) {
    const back = rtl ? "ArrowRight" : "ArrowLeft", forth = rtl ? "ArrowLeft" : "ArrowRight";
    if ([back, forth, "Home", "End"].includes(event.key)) {
      const before = cursor;
      cursor = { [back]: Math.max(cursor - 1, 0), [forth]: Math.min(cursor + 1, n - 1), Home: 0, End: n - 1 }[event.key];
      if (event.shiftKey) {
        if (from < 0) { select(before, cursor); anchor = before; } else select(anchor, cursor);
      } else { from = to = -1; anchor = cursor; }
      render();
      say($(`t${cursor}`).getAttribute("aria-label"));
      return true;
    }
    if (event.key === "Escape") { from = to = -1; render(); return true; }
    if (event.key === "0" || event.key === "Backspace" || event.key === "Delete") { mark(null); return true; }
    if (event.key === "u") { mark(undefined); return true; }
    if (/^[1-9]$/.test(event.key) && state.labels[event.key - 1]) { mark(state.labels[event.key - 1]); return true; }
    if (event.key === "Tab") return false;
    return false;
  }
  let anchor = 0;
  const keys = () => {
    $("keys").replaceChildren();
    labelKeys(mark);
    addKey((label) => { keys(); if (from >= 0 && state.labels.includes(label)) mark(label); else render(); });
  };
  keys();
  render();
  if (found.part && Array.isArray(found.part)) { cursor = found.part[0]; render(); }
  return { value: () => [...draft], press };
}

function content(item) {
  if (item.text !== undefined) return make("div", { className: "text", dir: "auto", textContent: item.text });
  const list = make("dl", { className: "fields" });
  for (const [name, value] of Object.entries(item.fields)) list.append(make("dt", { textContent: name }), make("dd", { dir: "auto", textContent: value }));
  return list;
}

function classEditor(room, found) {
  const p = new Map(found.proposal ? found.proposal.candidates : []);
  const order = found.proposal ? found.proposal.candidates.map(([label]) => label) : [];
  const rest = state.labels.filter((label) => !order.includes(label));
  draft = found.mine ?? order[0];
  const shown = [...order, ...rest].slice(0, state.taxonomy || state.labels.length > 12 ? 6 : 12);
  const list = make("ul", { className: "candidates", role: "radiogroup", "aria-label": "Classes" });
  const choose = (label, done) => { draft = label; render(); say(label); if (done) accept(); };
  const tree = state.taxonomy ? taxonomyTree(choose, p) : null;
  const find = state.labels.length > 12 ? make("input", { className: "find", placeholder: "Find a class (/)", "aria-label": "Find a class", list: null }) : null;
  function render() {
    list.replaceChildren(...shown.map((label, k) => make("li", {}, make("button", { type: "button", role: "radio", "aria-checked": String(draft === label),
      on: { click: () => choose(label, true) } }, make("kbd", { textContent: k < 9 ? `${k + 1}` : " " }), make("span", { textContent: label }),
      make("span", { className: "bar" }, make("i", { vars: { width: `${100 * (p.get(label) || 0)}%`, "--c": colour(label) } })),
      make("span", { className: "p", textContent: p.has(label) ? percent(p.get(label)) : "" })))));
    if (tree) for (const button of tree.querySelectorAll("button")) button.setAttribute("aria-checked", String(button.value === draft));
  }
  if (find) {
    find.addEventListener("input", () => {
      const wanted = find.value.toLowerCase();
      const hits = wanted ? state.labels.filter((label) => label.toLowerCase().includes(wanted)) : [...order, ...rest];
      shown.splice(0, shown.length, ...hits.slice(0, 9));
      if (wanted && hits.length) draft = hits[0];
      render();
    });
    find.addEventListener("keydown", (event) => { if (event.key === "Enter") accept(); if (event.key === "Escape") $("question").focus(); event.stopPropagation(); });
  }
  room.append(content(found.item), list, ...(find ? [find] : []), ...(tree ? [tree] : []));
  render();
  addKey((label) => {
    if (!shown.includes(label)) shown.push(label);
    const field = $("keys").querySelector("input");
    field.value = "";
    field.placeholder = "another label";
    choose(label, false);
  });
  return {
    value: () => draft,
    press(event) {
      if (/^[1-9]$/.test(event.key) && shown[event.key - 1] !== undefined) { choose(shown[event.key - 1], true); return true; }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const k = shown.indexOf(draft) + (event.key === "ArrowDown" ? 1 : -1);
        choose(shown[(k + shown.length) % shown.length], false);
        return true;
      }
      if (event.key === "/" && find) { find.focus(); return true; }
      return false;
    },
  };
}

function taxonomyTree(choose, p) {
  const below = new Map();
  const roots = [];
  for (const [node, parents] of Object.entries(state.taxonomy)) {
    if (!parents.length) roots.push(node);
    for (const parent of parents) below.set(parent, [...(below.get(parent) || []), node]);
  }
  const mass = (node) => (below.get(node) || []).reduce((sum, child) => sum + mass(child), p.get(node) || 0);
  const branch = (node, depth) => {
    const label = node.includes("/") ? node.slice(node.lastIndexOf("/") + 1) : node;
    if (!below.has(node)) {
      return make("li", {}, make("button", { type: "button", role: "radio", value: node, textContent: label, title: node, on: { click: () => choose(node, false), dblclick: () => choose(node, true) } }));
    }
    const part = mass(node);
    const children = below.get(node).sort((a, b) => mass(b) - mass(a) || a.localeCompare(b));
    return make("li", {}, make("details", { open: depth < 1 || part > 0.2 }, make("summary", {}, `${label} `, make("span", { className: "muted", textContent: part ? percent(part) : "" })),
      make("ul", {}, ...children.map((child) => branch(child, depth + 1)))));
  };
  return make("div", { className: "taxonomy", role: "radiogroup", "aria-label": "Taxonomy" }, make("ul", {}, ...roots.map((root) => branch(root, 0))));
}

// Characters that are in one text and not in the other, by their longest common subsequence.
function differing(a, b) {
  const n = a.length, m = b.length;
  if (a === b || !a || !b || n * m > 250000) return [a === b ? [] : [[0, n]], a === b ? [] : [[0, m]]];
  const table = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) table[i][j] = a[i].toLowerCase() === b[j].toLowerCase() ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const left = [], right = [];
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i].toLowerCase() === b[j].toLowerCase()) { i++; j++; }
    else if (j >= m || (i < n && table[i + 1][j] >= table[i][j + 1])) left.push(i++);
    else right.push(j++);
  }
  const runs = (places) => places.reduce((found, k) => { const last = found[found.length - 1]; if (last && last[1] === k) last[1]++; else found.push([k, k + 1]); return found; }, []);
  return [runs(left), runs(right)];
}

function marked(text, runs) {
  if (!text) return [make("span", { className: "none", textContent: "–" })];
  const out = [];
  let at = 0;
  for (const [a, b] of runs) { out.push(text.slice(at, a), make("mark", { textContent: text.slice(a, b) })); at = b; }
  return [...out, text.slice(at)];
}

function pairEditor(room, found) {
  draft = found.mine ?? undefined;
  const { a, b } = found.item;
  const table = make("div", { className: "pair", role: "group", "aria-label": "Two records" }, make("div", { className: "head corner" }), make("div", { className: "head", textContent: "One" }), make("div", { className: "head", textContent: "The other" }));
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const left = String(a[name] ?? ""), right = String(b[name] ?? "");
    const [first, second] = differing(left, right);
    table.append(make("div", { className: "name", textContent: name }), make("div", { dir: "auto" }, ...marked(left, first)), make("div", { dir: "auto" }, ...marked(right, second)));
  }
  room.append(table);
  if (found.proposal) {
    const reasons = found.proposal.why.filter(([, value]) => Math.abs(value) >= 0.05).slice(0, 6).map(([name, value]) => make("li", {}, `${name} `, make("span", { className: value > 0 ? "for" : "against", textContent: `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}` })));
    room.append(make("ul", { className: "reasons", "aria-label": "What speaks for and against" }, make("li", { textContent: `same: ${percent(found.proposal.probability)}` }), ...reasons));
  }
  const answer = (value) => { draft = value; accept(); };
  const choices = { y: ["same", "Same"], n: ["different", "Different"], u: ["unsure", "Not sure"] };
  for (const [key, [value, name]] of Object.entries(choices)) $("keys").append(keyButton(key, name, () => answer(value), { "aria-pressed": String(draft === value) }));
  $("accept").hidden = true;
  return { value: () => draft, press(event) { const found = choices[event.key]; if (found) answer(found[0]); return Boolean(found); } };
}

// Clusters: records that may be one thing or several. Every record has the number of a group; what is saved are answers
// about pairs, and one undo takes all of them back.
const cluster = {
  found: null, groups: [], at: 0,
  async next() { this.show((await ask("/api/group", {})).group); },
  show(found) {
    this.found = found;
    this.groups = found ? [...found.groups] : [];
    this.at = 0;
    for (const id of ["group-accept", "group-skip", "group-keys"]) $(id).hidden = !found;
    $("group-why").textContent = found ? "Records with the same number are the same thing. Press a number to move the marked record; what is right already needs nothing but Enter."
      : "There is no group of three or more records in doubt. Questions about pairs go on under Label.";
    $("group-keys").replaceChildren(keyButton("m", "Merge: all the same", () => this.all(() => 0)), keyButton("x", "Split: all different", () => this.all((k) => k)));
    this.render();
    if (found) $("group").focus({ preventScroll: true });
  },
  all(number) { this.groups = this.groups.map((_, k) => number(k)); this.render(); say(`${new Set(this.groups).size} groups`); },
  put(k, number) {
    this.groups[k] = number;
    this.at = k;
    this.render();
    say(`Record ${k + 1} is in group ${number + 1}`);
  },
  render() {
    const { found, groups } = this;
    const room = $("group");
    if (!found) return void room.replaceChildren();
    const names = [...new Set(found.records.flatMap((one) => Object.keys(one)))].filter((name) => found.records.some((one) => one[name]));
    const shown = Math.min(Math.max(...groups) + 2, found.records.length, 9);
    room.style.setProperty("--n", String(names.length));
    room.replaceChildren(make("div", { className: "row-head", "aria-hidden": "true" }, make("span", { textContent: "group" }), ...names.map((name) => make("span", { textContent: name }))),
      ...found.records.map((record, k) => {
        const first = found.records[groups.indexOf(groups[k])]; // of its group: what differs from it is marked, unless nearly all does
        const chips = Array.from({ length: shown }, (_, number) => make("button", { type: "button", className: "chip", role: "radio", tabIndex: groups[k] === number ? 0 : -1,
          "aria-checked": String(groups[k] === number), "aria-label": `group ${number + 1}`, textContent: `${number + 1}`, vars: { "--c": `var(--c${number % 12})` }, on: { click: () => this.put(k, number) } }));
        const cells = names.map((name) => {
          const value = String(record[name] ?? ""), [runs] = differing(value, String(first[name] ?? ""));
          const most = runs.reduce((sum, [a, b]) => sum + b - a, 0) > 0.6 * value.length;
          return make("span", { className: "cell", dir: "auto", "data-name": name }, ...marked(value, most ? [] : runs));
        });
        return make("div", { className: `record${k === this.at ? " cursor" : ""}`, role: "listitem", vars: { "--c": `var(--c${groups[k] % 12})` }, on: { click: () => { if (this.at !== k) { this.at = k; this.render(); } } } },
          make("span", { className: "chips", role: "radiogroup", "aria-label": `Group of record ${k + 1}` }, ...chips), ...cells);
      }));
    room.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
  },
  async send(skip) {
    if (!this.found || busy) return;
    busy = true;
    try {
      const found = await ask("/api/regroup", { keys: this.found.keys, groups: this.groups, skip, token: word() });
      $("group-saved").textContent = skip ? "" : `saved: ${found.done} answers about pairs`;
      this.show(found.group);
    } catch (error) { away(error instanceof Refusal ? error.message : "The server is away; try again when it is back."); }
    busy = false;
    refresh();
  },
  press(event) {
    if (!this.found) return false;
    const n = this.groups.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { this.at = (this.at + (event.key === "ArrowDown" ? 1 : n - 1)) % n; this.render(); }
    else if (/^[1-9]$/.test(event.key) && Number(event.key) <= n) { this.put(this.at, Number(event.key) - 1); this.at = Math.min(this.at + 1, n - 1); this.render(); }
    else if (event.key === "m") this.all(() => 0);
    else if (event.key === "x") this.all((k) => k);
    else return false;
    return true;
  },
};

function numberEditor(room, found) {
  const p = found.proposal;
  const input = make("input", { type: "number", step: "any", "aria-label": "The number", inputMode: "decimal" });
  const given = found.mine ?? (p ? p.number : null);
  if (given !== null) input.value = found.mine !== null ? String(given) : String(Number(given.toPrecision(4)));
  const beside = make("div", { className: "number" }, input);
  if (p) for (const [name, value] of p.views) beside.append(make("span", { className: "muted", textContent: `${name}: ${plain(value)}` }));
  if (p && p.error) beside.append(make("span", { className: "muted", textContent: `± ${plain(p.error)}` }));
  room.append(content(found.item), beside);
  setTimeout(() => { input.focus(); input.select(); }, 0);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); accept(); } if (!["Escape"].includes(event.key)) event.stopPropagation(); else $("question").focus(); });
  return { value: () => (input.value.trim() === "" || !Number.isFinite(Number(input.value)) ? undefined : Number(input.value)), press: () => false };
}

// -- trees: nodes are { label, children } or { word } ----------------------------------------------------------------
function parseTree(text) {
  const pieces = text.match(/[()]|[^\s()]+/g) || [];
  let at = 0;
  const node = () => {
    at++; // (
    const label = pieces[at] === "(" ? "" : pieces[at++];
    const children = [];
    while (at < pieces.length && pieces[at] !== ")") children.push(pieces[at] === "(" ? node() : { word: pieces[at++] });
    at++; // )
    return { label, children };
  };
  return node();
}
const isTag = (node) => node.children && node.children.length === 1 && node.children[0].word !== undefined;
const written = (node) => (node.word !== undefined ? node.word : `(${node.label} ${node.children.map(written).join(" ")})`);
const escaped = (text) => text.replaceAll("(", "-LRB-").replaceAll(")", "-RRB-");

function drawTree(root, chosen, act) {
  const width = (text) => 9 * text.length + 14;
  const lay = (node) => {
    if (node.word !== undefined) { node.w = width(node.word); node.h = 0; return; }
    node.children.forEach(lay);
    node.h = 1 + Math.max(...node.children.map((child) => child.h));
    node.w = Math.max(width(node.label), node.children.reduce((sum, child) => sum + child.w, 0));
  };
  lay(root);
  const step = 46, top = 22, height = top + root.h * step + 14;
  const lines = [], texts = [];
  const place = (node, left, parent) => {
    const inner = (node.children || []).reduce((sum, child) => sum + child.w, 0);
    let x = left + (node.w - inner) / 2;
    for (const child of node.children || []) { place(child, x, node); x += child.w; }
    node.x = node.children && node.children.length ? (node.children[0].x + node.children[node.children.length - 1].x) / 2 : left + node.w / 2;
    node.y = top + (root.h - node.h) * step - (node.h === 0 ? 14 : 0);
    for (const child of node.children || []) if (child.word === undefined) lines.push(drawn("line", { x1: node.x, y1: node.y + 6, x2: child.x, y2: child.y - 14 }));
    const shown = node.word ?? node.label;
    const text = drawn("text", { x: node.x, y: node.y, class: node.word !== undefined ? "leaf" : "" });
    text.textContent = shown;
    if (node.word !== undefined || !act) return void texts.push(text);
    const group = drawn("g", { class: `node${chosen.includes(node) ? " on" : ""}`, tabindex: "0", role: "button", "aria-label": `${shown}: ${leaves(node).join(" ")}`, "aria-pressed": String(chosen.includes(node)) },
      drawn("rect", { x: node.x - width(shown) / 2, y: node.y - 16, width: width(shown), height: 23 }), text);
    group.addEventListener("click", (event) => act(node, parent, event.shiftKey));
    group.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); act(node, parent, event.shiftKey); } });
    texts.push(group);
  };
  place(root, 0, null);
  return drawn("svg", { class: "tree", width: Math.max(root.w, 60), height, viewBox: `0 0 ${Math.max(root.w, 60)} ${height}`, role: act ? "group" : "img", "aria-label": written(root) }, ...lines, ...texts);
}
const leaves = (node) => (node.word !== undefined ? [node.word] : node.children.flatMap(leaves));

function treeEditor(room, found) {
  const words = found.item.places.map(([a, b]) => escaped(found.item.text.slice(a, b)));
  const proposals = found.mine ? [[found.mine, null]] : found.proposal ? found.proposal.trees : [[`(S ${words.map((w) => `(X ${w})`).join(" ")})`, null]];
  const trees = proposals.map(([text]) => parseTree(text));
  let active = 0, chosen = [];
  const parents = new Map();
  const name = make("input", { className: "find", placeholder: "Label of the bracket (r)", "aria-label": "Label of the bracket", maxLength: 40 });
  const list = make("div", { className: "choices", role: "radiogroup", "aria-label": "The best trees" });
  const act = (node, parent, extend) => {
    parents.set(node, parent);
    const mates = extend && chosen.length && parents.get(chosen[0]) === parent && parent ? parent.children : null;
    if (mates) {
      const at = [...chosen, node].map((one) => mates.indexOf(one));
      chosen = mates.slice(Math.min(...at), Math.max(...at) + 1);
      chosen.forEach((one) => parents.set(one, parent));
    } else chosen = chosen.length === 1 && chosen[0] === node ? [] : [node];
    name.value = chosen.length === 1 ? node.label : "";
    render();
  };
  function dissolve() {
    const [node] = chosen, parent = parents.get(node);
    if (chosen.length !== 1 || !parent || isTag(node)) return;
    parent.children.splice(parent.children.indexOf(node), 1, ...node.children);
    chosen = [];
    render();
  }
  function bracket(label) {
    if (!chosen.length || !parents.get(chosen[0]) || !label) return;
    const parent = parents.get(chosen[0]), at = parent.children.indexOf(chosen[0]);
    if (at < 0 || chosen.length === parent.children.length) return;
    const fresh = { label, children: parent.children.splice(at, chosen.length) };
    parent.children.splice(at, 0, fresh);
    parents.set(fresh, parent);
    chosen = [fresh];
    render();
  }
  function rename() {
    const label = escaped(name.value.trim().replace(/\s+/g, ""));
    if (!label || !chosen.length) return;
    if (chosen.length > 1) bracket(label); else { chosen[0].label = label; render(); }
    $("question").focus();
  }
  function render() {
    list.replaceChildren(...trees.map((tree, k) => make("div", { className: `choice${k === active ? " on" : ""}`, on: { click: () => { if (active !== k) { active = k; chosen = []; render(); } } } },
      make("header", {}, make("button", { type: "button", role: "radio", "aria-checked": String(k === active), "aria-label": `Tree ${k + 1}`, on: { click: () => { active = k; render(); } } }, make("kbd", { textContent: `${k + 1}` })),
        proposals[k][1] === null ? "" : percent(proposals[k][1])), drawTree(tree, k === active ? chosen : [], k === active ? act : null))));
  }
  name.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); rename(); } if (event.key === "Escape") $("question").focus(); event.stopPropagation(); });
  room.append(list, name);
  $("keys").append(keyButton("r", "Rename, or bracket what is selected", () => name.focus()), keyButton("d", "Remove bracket", dissolve));
  render();
  return {
    value: () => written(trees[active]),
    press(event) {
      if (/^[1-9]$/.test(event.key) && trees[event.key - 1]) { active = event.key - 1; chosen = []; render(); return true; }
      if (event.key === "r") { name.focus(); return true; }
      if (event.key === "d" || event.key === "Delete") { dissolve(); return true; }
      if (event.key === "Escape") { chosen = []; render(); return true; }
      return false;
    },
  };
}

const editors = { tokens: tokenEditor, classes: classEditor, pairs: pairEditor, numbers: numberEditor, trees: treeEditor };

// -- beside the question ---------------------------------------------------------------------------------------------
// The way to the files is beside the labels, where one looks for it.
const take = () => make("p", { className: "take" }, make("button", { type: "button", className: "link", textContent: "Take your labels with you", on: { click: () => view("files") } }));

let refreshing = null;
function refresh() { clearTimeout(refreshing); refreshing = setTimeout(load, 150); }

async function load() {
  let found;
  try {
    const response = await fetch(`/api/state?annotator=${encodeURIComponent(annotator())}`);
    if (!response.ok) throw new Refusal((await response.json()).detail);
    found = await response.json();
  } catch (error) { if (error instanceof Refusal) { away(error.message); return null; } return false; }
  state = { ...state, ...found };
  $("file").textContent = `${found.name} · ${found.items.toLocaleString("en")} ${found.items === 1 ? "item" : found.kind === "pairs" ? "records" : "items"} · ${found.answered.toLocaleString("en")} labeled`;
  document.querySelector("nav [data-view=clusters]").hidden = found.kind !== "pairs";
  $("n-conflicts").textContent = found.conflicts;
  $("n-conflicts").hidden = !found.conflicts;
  $("model").textContent = found.model ? `${found.model}; the last training took ${found.seconds.toFixed(2)} s.` : "There is no model yet.";
  panel(found);
  counts(found);
  suspects(found);
  return true;
}

function panel(found) {
  const p = found.panel, curve = p ? p.curve : [];
  const shown = (e) => (p.is_share ? percent(e) : plain(e));
  const last = curve[curve.length - 1];
  const now = $("now");
  if (!last) {
    now.replaceChildren(make("p", { className: "muted", textContent: found.answered < 8 ? `After ${8 - found.answered} more answers there is a first estimate.` : "The first estimate is being made." }));
  } else {
    now.replaceChildren(make("div", { className: "big" }, shown(last.error), make("span", { className: "muted", textContent: ` ± ${p.is_share ? Math.round(50 * (last.high - last.low)) : plain((last.high - last.low) / 2)} ${p.is_share ? `of ${p.measure} wrong` : p.measure}` })));
  }
  $("chart").replaceChildren(...(curve.length > 1 ? [chart(p, shown)] : []));
  const told = [];
  if (found.advice) told.push(found.advice);
  if (p && p.with_unlabeled) {
    const gain = p.with_unlabeled.without - p.with_unlabeled.with;
    told.push(`On held-out labels, learning from unlabeled items as well ${gain > 0 ? `brings ${shown(gain)}` : "brings nothing so far"} (${shown(p.with_unlabeled.without)} without, ${shown(p.with_unlabeled.with)} with).`);
  }
  if (p && p.halve && !found.advice) told.push(p.halve > 50 * found.answered ? "More labels bring little now." : `About ${p.halve.toLocaleString("en")} more labels would probably halve the error.`);
  if (p && p.expected) told.push(`Among ${p.measure} without labels probably ${percent(p.expected.error)} would be wrong (${percent(p.expected.low)} to ${percent(p.expected.high)}).`);
  $("outlook").textContent = told.join(" ");
}

function chart(p, shown) {
  const W = 300, H = 132, left = 36, right = 8, top = 10, bottom = 20;
  const most = p.curve[p.curve.length - 1].n;
  const ahead = p.halve && p.halve < 4 * most ? most + p.halve : most * 1.15;
  const peak = Math.max(...p.curve.map((q) => q.high), 1e-9);
  const x = (n) => left + ((W - left - right) * n) / ahead;
  const y = (e) => top + (H - top - bottom) * (1 - e / peak);
  const points = (pairs) => pairs.map(([n, e]) => `${x(n).toFixed(1)},${y(e).toFixed(1)}`).join(" ");
  const text = (px, py, value, anchor = "middle") => { const t = drawn("text", { x: px, y: py, "text-anchor": anchor }); t.textContent = value; return t; };
  const last = p.curve[p.curve.length - 1];
  const label = `Error on held-out labels: ${p.curve.map((q) => `${shown(q.error)} with ${Math.round(q.n)}`).join(", ")}`;
  return drawn("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label },
    drawn("line", { class: "axis", x1: left, y1: H - bottom, x2: W - right, y2: H - bottom }),
    drawn("polygon", { class: "band", points: points([...p.curve.map((q) => [q.n, q.high]), ...[...p.curve].reverse().map((q) => [q.n, q.low])]) }),
    drawn("polyline", { class: "curve", points: points(p.curve.map((q) => [q.n, q.error])) }),
    ...p.curve.map((q) => drawn("circle", { cx: x(q.n), cy: y(q.error), r: 3 })),
    ...(p.halve && p.halve < 4 * most ? [drawn("polyline", { class: "ahead", points: points([[last.n, last.error], [last.n + p.halve / 2, last.error * 0.68], [ahead, last.error / 2]]) })] : []),
    ...(p.with_unlabeled ? [drawn("circle", { class: "other", cx: x(last.n), cy: y(Math.min(p.with_unlabeled.with, peak)), r: 4 })] : []),
    text(left - 6, y(peak) + 9, shown(peak), "end"), text(left - 6, H - bottom, "0", "end"),
    ...p.curve.filter((_, k) => k !== 1).map((q) => text(x(q.n), H - 5, String(Math.round(q.n)))));
}

function counts(found) {
  const entries = Object.entries(found.counts).sort((a, b) => b[1] - a[1]).slice(0, 12);
  $("counts-card").hidden = !entries.length && Object.keys(found.annotators).length < 2;
  const most = Math.max(...entries.map(([, n]) => n), 1);
  const rows = entries.flatMap(([label, n]) => [make("div", { className: "row" }, make("span", { textContent: label }), make("span", { textContent: n.toLocaleString("en") })),
    make("div", { className: "bar" }, make("i", { vars: { width: `${(100 * n) / most}%`, "--c": colour(label) } }))]);
  const few = entries.filter(([label, n]) => label !== "unsure" && n < most / 8 && found.answered > 10).map(([label]) => label);
  if (few.length) rows.push(make("p", { className: "muted", textContent: `Few of ${few.slice(0, 3).join(", ")}.` }));
  if (Object.keys(found.annotators).length > 1) rows.push(make("p", { className: "muted", textContent: Object.entries(found.annotators).map(([name, n]) => `${name}: ${n}`).join(" · ") }));
  if (found.answered) rows.push(take());
  $("counts").replaceChildren(...rows);
}

function suspects(found) {
  const list = found.panel ? found.panel.suspects : [];
  $("suspects-card").hidden = !list.length;
  $("suspects").replaceChildren(...list.slice(0, 5).map((one) => make("li", {}, make("button", { type: "button", className: "open-item", on: { click: () => open(one.key) } },
    make("b", { textContent: one.word || one.text.slice(0, 50) }), ` was labeled ${one.given}; models that have not seen it say ${one.proposed ?? "something else"}.`))));
}

// -- other views -----------------------------------------------------------------------------------------------------
const said = (value) => (value === null ? "" : Array.isArray(value) ? value.map((one) => one ?? "?").filter((one) => one !== "O").join(" ") || "no labels" : String(value)).slice(0, 200);

// What to do with an export.
const THEN = {
  tokens: "accord train labels.conll --unknown-label '?' --model tagger.accord",
  classes: "accord train labels.csv --label-column label --model classes.accord",
  numbers: "accord train labels.csv --learner co-rlsr --label-column label --model numbers.accord",
  trees: "accord train labels.mrg --model parser.accord",
};

const views = {
  async clusters() { await cluster.next(); },
  async history() {
    const found = await ask("/api/history", {});
    $("history").replaceChildren(...found.map((event) => make("li", { className: event.undone && event.action !== "undo" ? "undone" : "" },
      make("button", { type: "button", className: "open-item", on: { click: () => open(event.item) } }, make("span", { className: "muted", textContent: `${new Date(1000 * event.at).toLocaleString()} · ${event.annotator} · ${event.action} ` }),
        make("b", { textContent: said(event.value) }), make("br"), make("bdi", { textContent: event.text })))));
    if (!found.length) $("history").append(make("li", { className: "muted", textContent: "You have not answered yet." }));
  },
  async conflicts() {
    await load();
    const rows = state.agreement.map((one) => make("p", { className: "muted", textContent: `${one.annotators.join(" and ")}: ${one.same} of ${one.items} items alike${one.kappa !== null ? `, κ ${one.kappa.toFixed(2)}` : ""}${one.f1 !== null ? `, F1 ${percent(one.f1)}` : ""}` }));
    $("agreement").replaceChildren(...rows);
    const found = await ask("/api/conflicts", {});
    $("conflicts").replaceChildren(...found.map((one) => make("li", {}, make("bdi", { textContent: one.item.text ?? JSON.stringify(one.item.fields ?? [one.item.a, one.item.b]) }),
      make("div", { className: "keys" }, ...Object.entries(one.answers).map(([name, value]) => make("button", { type: "button", className: "key", on: { click: async () => {
        try { await ask("/api/decide", { key: one.key, value, token: word() }); views.conflicts(); refresh(); } catch (error) { away(error.message); }
      } } }, make("b", { textContent: said(value) }), make("span", { className: "muted", textContent: name })))))));
    if (!found.length) $("conflicts").append(make("li", { className: "muted", textContent: "There is nothing to decide." }));
  },
  async files() {
    await load();
    $("exports").replaceChildren(...Object.entries(state.formats).map(([name, title]) => make("a", { className: "key", href: `/api/export?format=${name}`, download: "", textContent: title })));
    const then = THEN[state.kind] ?? "";
    $("then").replaceChildren(...(then ? ["Then train a model: ", make("code", { textContent: then })] : []));
    $("import-format").replaceChildren(...Object.entries(state.formats).map(([name, title]) => make("option", { value: name, textContent: title })));
  },
  async help() {
    const own = { tokens: [["← →", "to the next token; with Shift, select"], ["1 – 9", "label what is selected"], ["0", "no label"], ["u", "not sure about this token"], ["mouse", "drag to select; drag out of a span to extend it"]],
      classes: [["1 – 9", "choose and go on"], ["↑ ↓", "choose"], ["/", "find a class"]], pairs: [["y", "the same"], ["n", "different"], ["u", "not sure"], ["Clusters", "↑ ↓ to a record, 1 – 9 its group, m merge all, x split all"]],
      trees: [["1 – 4", "choose a tree"], ["click, Space", "select a bracket; with Shift, its neighbours"], ["r", "rename it, or put a bracket around the selected"], ["d", "remove a bracket"]],
      numbers: [["digits", "the number"]] }[state.kind] || [];
    const more = ["tokens", "classes"].includes(state.kind) && !state.taxonomy ? [["+", "a label that there is not yet"]] : [];
    const rows = [...own, ...more, ["Enter", "all right, next"], ["z", "undo, also what was answered days ago"], ["s", "skip"], ["Esc", "back to the question"]];
    $("help").replaceChildren(...rows.flatMap(([keys, does]) => [make("dt", {}, make("kbd", { textContent: keys })), make("dd", { textContent: does })]));
  },
  async label() { $("question").focus({ preventScroll: true }); },
};

async function view(name, filled = true) {
  for (const other of Object.keys(views)) $(`view-${other}`).hidden = other !== name;
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  }
  if (filled) try { await views[name](); } catch (error) { away(error instanceof Refusal ? error.message : "The server is away."); }
}

// -- everything together ---------------------------------------------------------------------------------------------
document.addEventListener("keydown", (event) => {
  const inClusters = !$("view-clusters").hidden;
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  if ($("view-label").hidden && event.key === "Escape") return void view("label");
  if ($("view-label").hidden && !inClusters) return;
  const onButton = ["BUTTON", "A", "SUMMARY"].includes(event.target.tagName);
  if (inClusters) {
    if (cluster.press(event)) event.preventDefault();
    else if (event.key === "Enter" && !onButton) { event.preventDefault(); cluster.send(false); }
    else if (event.key === "s") cluster.send(true);
    else if (event.key === "z") undo();
    return;
  }
  if (editor && !(onButton && (event.key === "Enter" || event.key === " ")) && editor.press(event)) return void event.preventDefault();
  if (event.key === "Enter" && !onButton && !$("accept").hidden) { event.preventDefault(); accept(); }
  else if (event.key === "z") { event.preventDefault(); undo(); }
  else if (event.key === "s") { event.preventDefault(); skip(); }
  else if (event.key === "?") view("help");
  else if (event.key === "+") { event.preventDefault(); $("keys").querySelector(".add input")?.focus(); }
});

function listen() {
  const source = new EventSource(`/api/events?window=${windowId}`);
  source.addEventListener("news", (event) => {
    const told = JSON.parse(event.data);
    behind(told);
    refresh();
    if (told.model) fillIn();
    if (waiting.all.length) flush().then((found) => found && show(found.next));
  });
}

// A window that was duplicated has the same name as its twin, and would be asked the same.
const channel = "BroadcastChannel" in window ? new BroadcastChannel("accord-label") : null;
const self = word();
channel?.addEventListener("message", (event) => {
  const { windowId: other, self: who, answer } = event.data;
  if (other !== windowId || who === self) return;
  if (!answer) channel.postMessage({ windowId, self, answer: true });
  else { windowId = word(); sessionStorage.setItem("window", windowId); next(); }
});

function prepare() {
  $("annotator").value = localStorage.getItem("annotator") || "me";
  $("annotator").addEventListener("change", () => { localStorage.setItem("annotator", annotator()); $("annotator").value = annotator(); next(); refresh(); });
  for (const button of document.querySelectorAll("nav button")) button.addEventListener("click", () => view(button.dataset.view));
  $("accept").addEventListener("click", accept);
  $("undo").addEventListener("click", undo);
  $("skip").addEventListener("click", skip);
  $("group-accept").addEventListener("click", () => cluster.send(false));
  $("group-skip").addEventListener("click", () => cluster.send(true));
  $("group-undo").addEventListener("click", undo);
  $("invite").addEventListener("click", async () => { try { $("link").value = `${location.origin}/?token=${(await ask("/api/invite", {})).token}`; } catch (error) { away(error.message); } });
  $("import-file").addEventListener("change", async () => {
    const [file] = $("import-file").files;
    if (!file) return;
    const query = new URLSearchParams({ format: $("import-format").value, annotator: annotator() });
    const response = await fetch(`/api/import?${query}`, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
    const found = await response.json();
    $("imported").textContent = response.ok ? `${found.added} labels were taken over, ${found.known} were known, ${found.unknown} are of items that are not here.` : found.detail;
    $("import-file").value = "";
    refresh();
  });
}

async function begin() {
  const loaded = await load();
  if (loaded === false) return void setTimeout(begin, 1000);
  if (loaded === null) return;
  channel?.postMessage({ windowId, self });
  if (waiting.all.length) await flush();
  await next();
  listen();
}
prepare();
begin();

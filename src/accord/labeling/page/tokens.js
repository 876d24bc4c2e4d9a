// Sentences: labels of tokens.
import { $, make, percent } from "./dom.js";
import { addKey, colour, labelKeys } from "./labels.js";
import { say, state } from "./server.js";

const RTL = /[\u0591-\u07ff\u200f\ufb1d-\ufdfd\ufe70-\ufefc]/;
const LTR = /[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff]/;
const isRtl = (text) => { const a = text.search(RTL), b = text.search(LTR); return a >= 0 && (b < 0 || a < b); };
export function tokenEditor(room, found, asking) {
  const { text, places } = found.item;
  const n = places.length;
  const p = found.proposal;
  const base = found.mine || (p ? p.labels : places.map(() => (state.spans ? "O" : null)));
  const draft = [...base];
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
    addKey((label) => { keys(); if (from >= 0 && state.labels.includes(label)) mark(label); else render(); }, asking.isAsked);
  };
  keys();
  render();
  if (found.part && Array.isArray(found.part)) { cursor = found.part[0]; render(); }
  return { value: () => [...draft], press };
}

// Beside the question: how good the model is, what was labeled, and what to look at again.
import { $, drawn, make, percent, plain } from "./dom.js";
import { colour } from "./labels.js";
import { Refusal, annotator, away, state } from "./server.js";

// The way to the files is beside the labels, where one looks for it.
export const take = () => make("p", { className: "take" }, make("button", { type: "button", className: "link", textContent: "Take your labels with you", "data-view": "files" }));

let refreshing = null;
export function refresh() { clearTimeout(refreshing); refreshing = setTimeout(load, 150); }

export async function load() {
  let found;
  try {
    const response = await fetch(`/api/state?annotator=${encodeURIComponent(annotator())}`);
    if (!response.ok) throw new Refusal((await response.json()).detail);
    found = await response.json();
  } catch (error) { if (error instanceof Refusal) { away(error.message); return null; } return false; }
  Object.assign(state, found);
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
  $("suspects").replaceChildren(...list.slice(0, 5).map((one) => make("li", {}, make("button", { type: "button", className: "open-item", "data-open": one.key },
    make("b", { textContent: one.word || one.text.slice(0, 50) }), ` was labeled ${one.given}; models that have not seen it say ${one.proposed ?? "something else"}.`))));
}

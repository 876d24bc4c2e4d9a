// Pairs of records: the same thing, or not.
import { $, keyButton, make, percent } from "./dom.js";
import { differing, marked } from "./differences.js";

export function pairEditor(room, found, asking) {
  let draft = found.mine ?? undefined;
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
  const answer = (value) => { draft = value; asking.accept(); };
  const choices = { y: ["same", "Same"], n: ["different", "Different"], u: ["unsure", "Not sure"] };
  for (const [key, [value, name]] of Object.entries(choices)) $("keys").append(keyButton(key, name, () => answer(value), { "aria-pressed": String(draft === value) }));
  $("accept").hidden = true;
  return { value: () => draft, press(event) { const found = choices[event.key]; if (found) answer(found[0]); return Boolean(found); } };
}

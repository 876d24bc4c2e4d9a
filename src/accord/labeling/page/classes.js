// Classes, and taxonomies of them.
import { $, content, make, percent } from "./dom.js";
import { addKey, colour } from "./labels.js";
import { say, state } from "./server.js";

export function classEditor(room, found, asking) {
  const p = new Map(found.proposal ? found.proposal.candidates : []);
  const order = found.proposal ? found.proposal.candidates.map(([label]) => label) : [];
  const rest = state.labels.filter((label) => !order.includes(label));
  let draft = found.mine ?? order[0];
  const shown = [...order, ...rest].slice(0, state.taxonomy || state.labels.length > 12 ? 6 : 12);
  const list = make("ul", { className: "candidates", role: "radiogroup", "aria-label": "Classes" });
  const choose = (label, done) => { draft = label; render(); say(label); if (done) asking.accept(); };
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
    find.addEventListener("keydown", (event) => { if (event.key === "Enter") asking.accept(); if (event.key === "Escape") $("question").focus(); event.stopPropagation(); });
  }
  room.append(content(found.item), list, ...(find ? [find] : []), ...(tree ? [tree] : []));
  render();
  addKey((label) => {
    if (!shown.includes(label)) shown.push(label);
    const field = $("keys").querySelector("input");
    field.value = "";
    field.placeholder = "another label";
    choose(label, false);
  }, asking.isAsked);
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

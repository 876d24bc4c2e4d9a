// Trees: nodes are { label, children } or { word }.
import { $, drawn, keyButton, make, percent } from "./dom.js";

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

export function treeEditor(room, found) {
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

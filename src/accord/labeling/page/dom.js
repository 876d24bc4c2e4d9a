// Elements of the page. What comes from files and people goes into it as text, never as HTML.

export const $ = (id) => document.getElementById(id);
export const make = (tag, props = {}, ...children) => {
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
export const drawn = (tag, props = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
export const word = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
export const percent = (p) => `${Math.round(100 * p)} %`;
export const plain = (x) => (Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(4)).toString());

export function keyButton(key, text, act, props = {}) {
  return make("button", { type: "button", className: "key", on: { click: act }, ...props }, make("kbd", { textContent: key }),
    props.dot ? make("i", { className: "dot", vars: { "--c": props.dot } }) : null, text);
}

// What an item shows that is neither a sentence nor a pair.
export function content(item) {
  if (item.text !== undefined) return make("div", { className: "text", dir: "auto", textContent: item.text });
  const list = make("dl", { className: "fields" });
  for (const [name, value] of Object.entries(item.fields)) list.append(make("dt", { textContent: name }), make("dd", { dir: "auto", textContent: value }));
  return list;
}

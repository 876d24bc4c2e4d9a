// What there is besides the question: history, conflicts, files, help; and the way from one to the other.
import { $, make, percent, word } from "./dom.js";
import { clusters } from "./clusters.js";
import { load, refresh } from "./panel.js";
import { Refusal, ask, away, state } from "./server.js";

const said = (value) => (value === null ? "" : Array.isArray(value) ? value.map((one) => one ?? "?").filter((one) => one !== "O").join(" ") || "no labels" : String(value)).slice(0, 200);

// What to do with an export.
const THEN = {
  tokens: "accord train labels.conll --unknown-label '?' --model tagger.accord",
  classes: "accord train labels.csv --label-column label --model classes.accord",
  numbers: "accord train labels.csv --learner co-rlsr --label-column label --model numbers.accord",
  trees: "accord train labels.mrg --model parser.accord",
};

const views = {
  async clusters() { await clusters.next(); },
  async history() {
    const found = await ask("/api/history", {});
    $("history").replaceChildren(...found.map((event) => make("li", { className: event.undone && event.action !== "undo" ? "undone" : "" },
      make("button", { type: "button", className: "open-item", "data-open": event.item }, make("span", { className: "muted", textContent: `${new Date(1000 * event.at).toLocaleString()} · ${event.annotator} · ${event.action} ` }),
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

export async function view(name, filled = true) {
  for (const other of Object.keys(views)) $(`view-${other}`).hidden = other !== name;
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  }
  if (filled) try { await views[name](); } catch (error) { away(error instanceof Refusal ? error.message : "The server is away."); }
}

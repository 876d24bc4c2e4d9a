// Clusters: records that may be one thing or several. Every record has the number of a group; what is saved are answers
// about pairs, and one undo takes all of them back.
import { $, keyButton, make, word } from "./dom.js";
import { differing, marked } from "./differences.js";
import { refresh } from "./panel.js";
import { Refusal, ask, away, say } from "./server.js";

export const clusters = {
  found: null, groups: [], at: 0, busy: false,
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
    if (!this.found || this.busy) return;
    this.busy = true;
    try {
      const found = await ask("/api/regroup", { keys: this.found.keys, groups: this.groups, skip, token: word() });
      $("group-saved").textContent = skip ? "" : `saved: ${found.done} answers about pairs`;
      this.show(found.group);
    } catch (error) { away(error instanceof Refusal ? error.message : "The server is away; try again when it is back."); }
    this.busy = false;
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

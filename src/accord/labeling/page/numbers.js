// Numbers.
import { $, content, make, plain } from "./dom.js";

export function numberEditor(room, found, asking) {
  const p = found.proposal;
  const input = make("input", { type: "number", step: "any", "aria-label": "The number", inputMode: "decimal" });
  const given = found.mine ?? (p ? p.number : null);
  if (given !== null) input.value = found.mine !== null ? String(given) : String(Number(given.toPrecision(4)));
  const beside = make("div", { className: "number" }, input);
  if (p) for (const [name, value] of p.views) beside.append(make("span", { className: "muted", textContent: `${name}: ${plain(value)}` }));
  if (p && p.error) beside.append(make("span", { className: "muted", textContent: `± ${plain(p.error)}` }));
  room.append(content(found.item), beside);
  setTimeout(() => { input.focus(); input.select(); }, 0);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); asking.accept(); } if (!["Escape"].includes(event.key)) event.stopPropagation(); else $("question").focus(); });
  return { value: () => (input.value.trim() === "" || !Number.isFinite(Number(input.value)) ? undefined : Number(input.value)), press: () => false };
}

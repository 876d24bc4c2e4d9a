// The page of `accord label`: keys, news of the server, and the start.
import { clusters } from "./clusters.js";
import { $, word } from "./dom.js";
import { load, refresh } from "./panel.js";
import { accept, behind, fillIn, next, open, press, show, skip, undo } from "./questions.js";
import { annotator, ask, away, flush, isWaiting, nameWindow, resend, whenSent, windowName } from "./server.js";
import { view } from "./views.js";

document.addEventListener("keydown", (event) => {
  const inClusters = !$("view-clusters").hidden;
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  if ($("view-label").hidden && event.key === "Escape") return void view("label");
  if ($("view-label").hidden && !inClusters) return;
  const onButton = ["BUTTON", "A", "SUMMARY"].includes(event.target.tagName);
  if (inClusters) {
    if (clusters.press(event)) event.preventDefault();
    else if (event.key === "Enter" && !onButton) { event.preventDefault(); clusters.send(false); }
    else if (event.key === "s") clusters.send(true);
    else if (event.key === "z") undo();
    return;
  }
  if (!(onButton && (event.key === "Enter" || event.key === " ")) && press(event)) return void event.preventDefault();
  if (event.key === "Enter" && !onButton && !$("accept").hidden) { event.preventDefault(); accept(); }
  else if (event.key === "z") { event.preventDefault(); undo(); }
  else if (event.key === "s") { event.preventDefault(); skip(); }
  else if (event.key === "?") view("help");
  else if (event.key === "+") { event.preventDefault(); $("keys").querySelector(".add input")?.focus(); }
});

function listen() {
  const source = new EventSource(`/api/events?window=${windowName()}`);
  source.addEventListener("news", (event) => {
    const told = JSON.parse(event.data);
    behind(told);
    refresh();
    if (told.model) fillIn();
    if (isWaiting()) resend();
  });
}

// A window that was duplicated has the same name as its twin, and would be asked the same.
const channel = "BroadcastChannel" in window ? new BroadcastChannel("accord-label") : null;
const self = word();
channel?.addEventListener("message", (event) => {
  const { name, self: who, answer } = event.data;
  if (name !== windowName() || who === self) return;
  if (!answer) channel.postMessage({ name, self, answer: true });
  else { nameWindow(); next(); }
});

function prepare() {
  $("annotator").value = localStorage.getItem("annotator") || "me";
  $("annotator").addEventListener("change", () => { localStorage.setItem("annotator", annotator()); $("annotator").value = annotator(); next(); refresh(); });
  document.addEventListener("click", (event) => { // whatever leads to another view, or to an item
    const { view: name, open: key } = event.target.closest("[data-view], [data-open]")?.dataset ?? {};
    if (name) view(name);
    if (key) open(key);
  });
  whenSent((found) => show(found.next));
  $("accept").addEventListener("click", accept);
  $("undo").addEventListener("click", undo);
  $("skip").addEventListener("click", skip);
  $("group-accept").addEventListener("click", () => clusters.send(false));
  $("group-skip").addEventListener("click", () => clusters.send(true));
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
  channel?.postMessage({ name: windowName(), self });
  if (isWaiting()) await flush();
  await next();
  listen();
}
prepare();
begin();

// The server: what it is asked, what it said last, and answers that it does not have yet.
import { $, word } from "./dom.js";

export const state = { labels: [], kind: "", spans: true };

// Which window this is: two windows do not get the same question.
let named = sessionStorage.getItem("window");
export function nameWindow() {
  named = word();
  sessionStorage.setItem("window", named);
}
if (!named) nameWindow();
export const windowName = () => named;

export function annotator() { return ($("annotator").value || "").trim() || "me"; }

export class Refusal extends Error {}

export async function ask(path, body) {
  const sent = { window: named, annotator: annotator(), ...body };
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) };
  const response = await fetch(path, options);
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(found.detail || `the server answered ${response.status}`);
  return found;
}

// What could not be sent is kept in the browser, also over a reload, and sent again until it is acknowledged.
const waiting = {
  get all() { return JSON.parse(localStorage.getItem("waiting") || "[]"); },
  set all(list) { localStorage.setItem("waiting", JSON.stringify(list)); },
};
let retrying = null;
let arrived = () => {};
export const whenSent = (act) => { arrived = act; }; // what to do with the reply to answers that had to wait
export const isWaiting = () => waiting.all.length > 0;

export async function send(path, body) {
  waiting.all = [...waiting.all, { path, body: { ...body, annotator: annotator() } }];
  return flush();
}

export async function flush() {
  clearTimeout(retrying);
  let last = null;
  while (waiting.all.length) {
    const [first] = waiting.all;
    try {
      last = await ask(first.path, first.body);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        away(`The server is away. ${waiting.all.length === 1 ? "Your answer is" : "Your answers are"} kept here and sent when it is back.`);
        retrying = setTimeout(resend, 1000);
        return null;
      }
      away(error.message);
      waiting.all = waiting.all.slice(1);
      return null;
    }
    waiting.all = waiting.all.slice(1);
  }
  away("");
  return last;
}

export const resend = () => flush().then((found) => found && arrived(found));

export function away(text) { $("away").textContent = text; $("away").hidden = !text; }
export function say(text) { $("said").textContent = text; }
export function tell(text) { $("saved").textContent = text; say(text); } // also for those who see

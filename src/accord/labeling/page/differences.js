// What two texts do not have in common.
import { make } from "./dom.js";

// Characters that are in one text and not in the other, by their longest common subsequence.
export function differing(a, b) {
  const n = a.length, m = b.length;
  if (a === b || !a || !b || n * m > 250000) return [a === b ? [] : [[0, n]], a === b ? [] : [[0, m]]];
  const table = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) table[i][j] = a[i].toLowerCase() === b[j].toLowerCase() ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const left = [], right = [];
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i].toLowerCase() === b[j].toLowerCase()) { i++; j++; }
    else if (j >= m || (i < n && table[i + 1][j] >= table[i][j + 1])) left.push(i++);
    else right.push(j++);
  }
  const runs = (places) => places.reduce((found, k) => { const last = found[found.length - 1]; if (last && last[1] === k) last[1]++; else found.push([k, k + 1]); return found; }, []);
  return [runs(left), runs(right)];
}

export function marked(text, runs) {
  if (!text) return [make("span", { className: "none", textContent: "–" })];
  const out = [];
  let at = 0;
  for (const [a, b] of runs) { out.push(text.slice(at, a), make("mark", { textContent: text.slice(a, b) })); at = b; }
  return [...out, text.slice(at)];
}

// What is hard to read on this page: texts of little contrast, cut off, or on top of each other, and a page that is
// wider than its window. A function without arguments; gives a list of sentences.
async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); // scripts that follow a change
  document.getAnimations().forEach((animation) => animation.finish());
  const LEAST = 4.5; // contrast, by the Web Content Accessibility Guidelines 2.2 (AA) for text of any size
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const ink = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();

  // [red, green, blue, alpha] of any colour that CSS has a notation for
  function colour(text) {
    if (!known.has(text)) {
      ink.clearRect(0, 0, 1, 1);
      ink.fillStyle = text;
      ink.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = ink.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  }
  const over = (top, alpha, below) => below.map((b, k) => alpha * top[k] + (1 - alpha) * b);
  function luminance(rgb) {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(one, two) {
    const [low, high] = [luminance(one), luminance(two)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  const parent = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const CANVAS = colour("Canvas").slice(0, 3);
  // What is painted behind an element, and how much of its own colours is left by `opacity` of elements around it.
  function behind(element) {
    let opacity = 1;
    const layers = [];
    for (let node = element; node; node = parent(node)) {
      const style = getComputedStyle(node);
      const [r, g, b, a] = colour(style.backgroundColor);
      if (a > 0) layers.push([[r, g, b], a]);
      if (a === 1 && opacity === 1 && style.opacity === "1") break;
      opacity *= Number(style.opacity);
    }
    return [layers.reduceRight((below, [top, alpha]) => over(top, alpha, below), CANVAS), opacity];
  }

  // The part of a rectangle that elements around a node show; null if that is nothing. `cut`: no scrolling shows more.
  function shown(node, rect) {
    let { left, right, top, bottom } = rect;
    let cut = false;
    for (let e = node; e; e = parent(e)) {
      const style = getComputedStyle(e);
      if (style.display === "contents" || style.overflow === "visible" || e === document.documentElement) continue;
      const box = e.getBoundingClientRect();
      if (style.overflowX === "hidden" || style.overflowX === "clip") {
        cut ||= style.textOverflow !== "ellipsis" && (left < box.left - 2 || right > box.right + 2);
      }
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      if (style.position === "fixed") break;
    }
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom, cut } : null;
  }

  const faults = new Map();
  const shorten = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);
  function fault(text, what) {
    const key = `${what}: `;
    if (!faults.has(key)) faults.set(key, []);
    faults.get(key).push(shorten(text));
  }
  function judge(element, text, style, svg) {
    const [paper, opacity] = behind(element);
    const [r, g, b, a] = colour(svg ? style.fill : style.color);
    const found = contrast(over([r, g, b], a * opacity, paper), paper);
    const name = [element.tagName.toLowerCase(), ...element.classList].join(".");
    if (found < LEAST) fault(text, `contrast ${found.toFixed(2)} in ${name}`);
  }

  const places = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const silent = ["SCRIPT", "STYLE", "TITLE", "NOSCRIPT"].includes(element.tagName);
    if (silent || !/[\p{L}\p{N}\p{P}\p{S}]/u.test(node.data)) continue; // icons are no text
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].map((rect) => shown(element, rect)).filter(Boolean);
    if (!rects.length) continue;
    judge(element, node.data, getComputedStyle(element), element.namespaceURI.endsWith("svg"));
    if (rects.some((rect) => rect.cut)) fault(node.data, "cut off");
    for (const rect of rects) places.push({ ...rect, node });
  }
  for (const field of document.querySelectorAll("input[placeholder], textarea[placeholder]")) {
    if (field.value || !field.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (!shown(field, field.getBoundingClientRect())) continue;
    judge(field, field.placeholder, getComputedStyle(field, "::placeholder"));
  }

  // Two texts lie on each other if they share a good part of the smaller one.
  function stuck(node) {
    let e = node.parentElement;
    while (e && !/fixed|sticky/.test(getComputedStyle(e).position)) e = parent(e);
    return e !== null;
  }
  places.sort((a, b) => a.top - b.top);
  places.forEach((one, k) => {
    for (let j = k + 1; j < places.length && places[j].top < one.bottom; j++) {
      const two = places[j];
      if (one.node === two.node) continue;
      const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
      const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
      const area = ({ left, right, top, bottom }) => (right - left) * (bottom - top);
      if (wide <= 1 || high <= 1 || wide * high < 0.4 * Math.min(area(one), area(two))) continue;
      if (stuck(one.node) !== stuck(two.node)) continue; // one of them stays while the other is scrolled away
      fault(`${shorten(one.node.data)} / ${shorten(two.node.data)}`, "on top of each other");
    }
  });

  // A table or a program may be scrolled sideways within the page; a page, or the box that its heading is in, may not.
  for (let e = document.querySelector("h1") ?? document.body; e; e = parent(e)) {
    const wide = e.scrollWidth - (e === document.documentElement ? innerWidth : e.clientWidth);
    const scrolls = e === document.documentElement || /auto|scroll/.test(getComputedStyle(e).overflowX);
    if (scrolls && wide > 1) fault(`${e.tagName}.${e.className}: ${wide} pixels`, "wider than the window");
  }
  return [...faults].map(([what, texts]) => {
    const some = [...new Set(texts)].map((text) => JSON.stringify(text));
    return what + some.slice(0, 3).join(", ") + (some.length > 3 ? `, … (${texts.length})` : "");
  });
};

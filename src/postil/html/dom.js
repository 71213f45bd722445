// Elements from data: text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children. */
export function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else if (name in element && !(element instanceof SVGElement) && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("p", {className: "note"}, "text", child). */
export function h(name, properties, ...children) {
  return filled(document.createElement(name), properties, children);
}

/** An SVG element. */
export function s(name, properties, ...children) {
  return filled(document.createElementNS(SVG, name), properties, children);
}

/** Elements from data, [name, attributes, children …], as the server sends what it has drawn; a text is a text. */
export function built(data, isSvg = false) {
  if (typeof data === "string") return data;
  const [name, attributes, ...children] = data;
  const inSvg = isSvg || name === "svg";
  const element = inSvg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") element.style.cssText = value;
    else if (key === "viewbox") element.setAttribute("viewBox", value);
    else if (!key.startsWith("on") && !(key === "id" && document.getElementById(value)) && !(key === "href" && !value.startsWith("#"))) element.setAttribute(key, value);
  }
  element.append(...children.map((child) => built(child, inSvg)));
  if (attributes.class === "scroll") element.tabIndex = 0; // so that it can be scrolled by keys
  return element;
}

/** Call a function once the calls have stopped for some milliseconds. */
export function debounced(milliseconds, call) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

const COLOURS = 12;
const USUAL = new Map([["LOC", 0], ["ORG", 1], ["MISC", 2], ["PER", 3]]);
const known = new WeakMap(); // list of labels -> the colour of each

/** A class name with the colour of a label, which its name decides: `lasting_colours` of html/highlight.py does the same. */
export function colour(label, labels) {
  if (!known.has(labels)) {
    const free = new Set(Array(COLOURS).keys());
    const points = (text) => [...text].map((letter) => letter.codePointAt(0));
    const before = (a, b) => { const i = a.findIndex((point, place) => point !== b[place]); return i < 0 ? a.length - b.length : a[i] - (b[i] ?? -1); };
    const sorted = [...new Set(labels)].sort((a, b) => !USUAL.has(a) - !USUAL.has(b) || before(points(a), points(b)));
    known.set(labels, new Map(sorted.map((name) => {
      let place = USUAL.get(name) ?? points(name).reduce((code, point) => (Math.imul(31, code) + point) >>> 0, 7) % COLOURS;
      while (free.size && !free.has(place)) place = (place + 1) % COLOURS;
      free.delete(place);
      return [name, place];
    })));
  }
  return `label-${known.get(labels).get(label) ?? "other"}`;
}

/** A label on its colour, with what follows it. */
export const chip = (label, labels, ...more) => h("span", { className: `chip ${colour(label, labels)}` }, label, ...more);

export const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

export const heading = (title, lead) => [h("h1", {}, title), h("p", { className: "lead" }, lead)];

/** The message of an error. `isOld`: below it an older answer stays, which is greyed. */
export function failed(error, isOld = false) {
  return h("p", { className: "error", role: "alert" }, error.message, isOld ? " What is below belongs to an earlier request." : "");
}

/** A table that can be scrolled. A column whose name begins with # holds numbers, one without a name has no heading; cells may
 *  be elements. `region`: a name for readers who scroll by keyboard; `chosen`: the number of a row. */
export function table(columns, rows, { region, chosen, ...properties } = {}) {
  const kind = (i) => (String(columns[i]).startsWith("#") ? { className: "number" } : {});
  const head = columns.map((name, i) => (name instanceof HTMLElement ? name : h(name ? "th" : "td", kind(i), name.replace("#", ""))));
  const cells = (row) => row.map((cell, i) => (cell instanceof HTMLTableCellElement ? cell : h("td", kind(i), cell)));
  return h("div", { className: "scroll", ...(region ? { tabIndex: 0, role: "region", "aria-label": region } : {}) }, h("table", properties,
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map((row, i) => h("tr", { className: i === chosen ? "chosen" : null }, cells(row))))));
}

/** A curve of points [[x, value]] between the values `low` and `high`: a line at each of `ticks`, a name at both `ends` of the
 *  x axis, which goes `from` one number `to` another, dashed lines at `breaks`, a ring around the point at `marked`. */
export function curve(points, { label, low, high, ticks, shown, from = points[0][0], to, ends, breaks = [], marked = null }) {
  const [W, H, left, right, top, bottom] = [330, 160, 46, 12, 12, 28];
  const x = (at) => left + (to > from ? (at - from) / (to - from) : 0.5) * (W - left - right);
  const y = (value) => top + ((high - value) / (high - low)) * (H - top - bottom);
  const dot = ([at, value], properties) => s("circle", { cx: x(at), cy: y(value), ...properties });
  return s("svg", { class: "drawing curve", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label },
    ticks.map((value) => [s("line", { class: "grid-line", x1: left, x2: W - right, y1: y(value), y2: y(value) }), s("text", { class: "soft", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value))]),
    breaks.map((at) => s("line", { class: "break", x1: x(at), x2: x(at), y1: y(low), y2: y(high) })),
    s("text", { class: "soft", x: left, y: H - 6 }, ends[0]), s("text", { class: "soft", x: W - right, y: H - 6, "text-anchor": "end" }, ends[1]),
    s("polyline", { class: "curve-line", points: points.map(([at, value]) => `${x(at)},${y(value)}`).join(" ") }),
    marked === null ? null : dot(points.find(([at]) => at === marked), { class: "kept", r: 7 }), dot(points.at(-1), { class: "curve-point", r: 4.5 }));
}

/** Save a file from the page. */
export function download(content, name) {
  const link = h("a", { href: URL.createObjectURL(new Blob([content])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function percent(probability) {
  if (probability > 0 && probability < 0.0005) return "<0.1 %";
  return probability > 0.9995 && probability < 1 ? ">99.9 %" : `${(100 * probability).toFixed(1)} %`;
}

export function signed(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : `+${text}`;
}

export function number(value, digits = 4) {
  if (value === null || value === -Infinity) return "−∞";
  return value.toFixed(digits).replace("-", "−");
}

/** Say something in the status line, for screen readers too. */
export function say(text, milliseconds = 2500) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { status.textContent = ""; }, milliseconds);
}

/** Show a tip next to an element until the mouse or the focus leaves it. */
export function showTip(element, text) {
  const box = document.getElementById("tip");
  const place = element.getBoundingClientRect();
  box.textContent = text;
  box.hidden = false;
  const left = Math.min(place.left, window.innerWidth - box.offsetWidth - 8);
  const below = place.bottom + 6 + box.offsetHeight < window.innerHeight;
  box.style.setProperty("left", `${Math.max(4, left)}px`);
  box.style.setProperty("top", `${below ? place.bottom + 6 : place.top - box.offsetHeight - 6}px`);
  const hide = () => { box.hidden = true; };
  element.addEventListener("mouseleave", hide, { once: true });
  element.addEventListener("blur", hide, { once: true });
}

/** Show a tip while the mouse is over an element or it has the focus. */
export function tip(element, text) {
  const show = () => showTip(element, typeof text === "function" ? text() : text);
  element.addEventListener("mouseenter", show);
  element.addEventListener("focus", show);
  return element;
}

/** Copy a text; where the browser does not allow it, show it to be copied by hand. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    const box = h("textarea", { value: text, dir: "auto", rows: 8, "aria-label": what });
    const dialog = h("dialog", { onclose: () => dialog.remove() }, h("p", {}, `Copy the ${what} from here:`), box,
      h("form", { method: "dialog" }, h("button", {}, "Close")));
    document.body.append(dialog);
    dialog.showModal();
    box.select();
  }
}

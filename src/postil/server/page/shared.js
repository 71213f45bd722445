// What several views have: the box for text, the model that fits, errors.

import { h, s, say } from "/page/dom.js";

export const EXAMPLE = "Museums in Paris are amazing.";

/** The model of the address if it is of these kinds, else the first one that is; null where there is none. */
export function fitting(context, ...kinds) {
  if (context.model && kinds.includes(context.model.kind)) return context.model;
  const found = context.models.find((one) => kinds.includes(one.kind)) ?? null;
  if (context.model && found) say(`${context.model.name} is a ${context.model.kind}. This view needs a ${kinds.join(" or a ")} and uses ${found.name}.`, 8000);
  return found;
}

const EXAMPLES = [EXAMPLE, "Paris Hilton flew from Berlin to Paris. She works for the United Nations.", "Anna Smith (עברית: אנה סמית) lives in Oslo 😀."];

/** The box to type into, with examples to begin with. */
export function textBox(value, oninput, label = "Text", rows = 3, hasExamples = false) {
  const box = h("textarea", { id: "text", dir: "auto", rows, value, spellcheck: false, oninput: () => oninput(box.value) });
  const examples = hasExamples ? h("div", { className: "row examples" }, h("span", { className: "note" }, "Try"), EXAMPLES.map((text) => h("button", { onclick: () => { box.value = text; oninput(text); } }, h("bdi", {}, `${text.slice(0, 24)}…`)))) : "";
  return { box, field: h("div", { className: "card" }, h("label", { className: "field", htmlFor: "text" }, label), examples, box) };
}

export function heading(title, lead) {
  return [h("h1", {}, title), h("p", { className: "lead" }, lead)];
}

/** The message of an error. `isOld`: below it an older answer stays, which is greyed. */
export function failed(error, isOld = false) {
  return h("p", { className: "error", role: "alert" }, error.message, isOld ? " What is below belongs to an earlier request." : "");
}

/** Names with their values, side by side: [[name, value, id]]. */
export const figures = (items) => h("div", { className: "figures" }, items.map(([name, value, id]) => h("div", {}, h("span", {}, name), h("strong", { className: "big", id }, value))));

/** A table that can be scrolled. A column whose name begins with # holds numbers, one without a name has no heading; cells may
 *  be elements. `region`: a name for readers who scroll by keyboard; `chosen`: the number of a row. */
export function table(columns, rows, { region, chosen, ...properties } = {}) {
  const kind = (i) => (String(columns[i]).startsWith("#") ? { className: "number" } : {});
  const head = columns.map((name, i) => (name instanceof HTMLElement ? name : h(name ? "th" : "td", kind(i), name.replace("#", ""))));
  const cells = (row) => row.map((cell, i) => (cell instanceof HTMLTableCellElement ? cell : h("td", kind(i), cell)));
  return h("div", { className: "scroll", ...(region ? { tabIndex: 0, role: "region", "aria-label": region } : {}) }, h("table", properties,
    h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map((row, i) => h("tr", { className: i === chosen ? "chosen" : null }, cells(row))))));
}

export function missing(kind) {
  return h("p", { className: "error" }, `None of the served models is a ${kind}, which this view needs. “postil train” makes one; start the server with it: postil serve MODEL.`);
}

/** The model of all tasks to which the tagger of one task belongs; null where there is none. */
export function whole(context, model) {
  return context.models.find((one) => one.tasks?.some((task) => model.name === `${one.name}:${task}`)) ?? null;
}

const [WIDTH, HEIGHT] = [340, 170];
const EDGE = { left: 46, right: 12, top: 12, bottom: 28 };

/** A curve: points [[epoch or step, value]], values written by `shown`; the point `marked` has a ring. */
export function chart(title, points, shown, unit = "epoch", marked = null) {
  if (!points.length) return h("p", { className: "note" }, `${title}: after the first ${unit}.`);
  const ys = points.map(([, value]) => value);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const room = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  const [bottom, top] = [low - room, high + room];
  const first = points[0][0];
  const last = Math.max(first + 1, points.at(-1)[0]);
  const x = (epoch) => EDGE.left + ((epoch - first) / (last - first)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => EDGE.top + ((top - value) / (top - bottom)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const grid = [low, (low + high) / 2, high].slice(0, low === high ? 1 : 3).map((value) => [
    s("line", { class: "step", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value), "stroke-opacity": 0.3 }),
    s("text", { class: "soft", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value)),
  ]);
  return h("figure", {}, h("figcaption", { className: "field" }, title),
    s("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: "100%", style: { "max-width": "26rem" }, role: "img", "aria-label": `${title}: ${shown(ys.at(-1))} after ${unit} ${points.at(-1)[0]}` },
      grid,
      s("text", { class: "soft", x: EDGE.left, y: HEIGHT - 6 }, `${unit} ${first}`),
      s("text", { class: "soft", x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, `${last}`),
      s("polyline", { class: "path rank-1", points: points.map(([epoch, value]) => `${x(epoch)},${y(value)}`).join(" ") }),
      marked === null ? null : s("circle", { class: "kept", cx: x(marked), cy: y(points.find(([epoch]) => epoch === marked)[1]), r: 7 }),
      s("circle", { class: "dot", cx: x(points.at(-1)[0]), cy: y(ys.at(-1)), r: 4 })));
}

// What several views have: the box for text, the model that fits, errors.

import { curve, h, say } from "/page/dom.js";

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

/** Names with their values, side by side: [[name, value, id]]. */
export const figures = (items) => h("div", { className: "figures" }, items.map(([name, value, id]) => h("div", {}, h("span", {}, name), h("strong", { className: "big", id }, value))));

export function missing(kind) {
  return h("p", { className: "error" }, `None of the served models is a ${kind}, which this view needs. “postil train” makes one; start the server with it: postil serve MODEL.`);
}

/** The model of all tasks to which the tagger of one task belongs; null where there is none. */
export function whole(context, model) {
  return context.models.find((one) => one.tasks?.some((task) => model.name === `${one.name}:${task}`)) ?? null;
}

/** A curve: points [[epoch or step, value]], values written by `shown`; the point `marked` has a ring. */
export function chart(title, points, shown, unit = "epoch", marked = null) {
  if (!points.length) return h("p", { className: "note" }, `${title}: after the first ${unit}.`);
  const ys = points.map(([, value]) => value);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const room = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  const [[first], [now]] = [points[0], points.at(-1)];
  const last = Math.max(first + 1, now);
  return h("figure", {}, h("figcaption", { className: "field" }, title), curve(points, {
    label: `${title}: ${shown(ys.at(-1))} after ${unit} ${now}`, low: low - room, high: high + room,
    ticks: [low, (low + high) / 2, high].slice(0, low === high ? 1 : 3), shown, to: last, ends: [`${unit} ${first}`, `${last}`], marked,
  }));
}

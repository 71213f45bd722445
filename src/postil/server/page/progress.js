// How much is done, how the model learns, and how well it agrees with the person: drawn from plain numbers.

import { h, percent, s } from "/page/dom.js";

const WIDTH = 320;
const HEIGHT = 150;
const EDGE = { left: 34, right: 12, top: 10, bottom: 26 };

export function counted(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}

export function summary({ progress }) {
  const more = progress.more ? "+" : "";
  return `${progress.answered.toLocaleString("en")} answered · ${progress.waiting.toLocaleString("en")}${more} to go`;
}

/** What the learning is doing, as one sentence. */
export function learningText({ learning, progress }) {
  if (progress.every === null) return "Nothing is learnt in this session.";
  if (learning.state === "running" || learning.state === "stopping") {
    return learning.epoch ? `Learning: epoch ${learning.epoch} of ${learning.epochs}.` : "Learning …";
  }
  if (learning.state === "failed") return `The last training failed: ${learning.error}`;
  if (progress.until === 0) return "A model will be learnt as soon as an answer has a span.";
  return `A model will be learnt after ${counted(progress.until, "more answer")}.`;
}

function figure(name, value) {
  return h("div", {}, h("strong", { className: "big" }, value), h("span", {}, name));
}

export function figures({ progress }) {
  return h("div", { className: "figures" },
    figure("answered", progress.answered.toLocaleString("en")),
    figure("spans", progress.spans.toLocaleString("en")),
    figure("skipped", progress.skipped.toLocaleString("en")));
}

/** A point's height: F1, or where there is nothing to find, the share of records in which nothing was changed. */
function share(point) {
  return point.f1 ?? point.unchanged;
}

export function curve({ curve: points }) {
  if (!points.length) {
    return h("p", { className: "note" }, "The curve begins when a model has been in use for some answers: each of them is compared with what the model said before.");
  }
  const most = Math.max(...points.map((point) => point.answers));
  const x = (answers) => EDGE.left + (answers / most) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => EDGE.top + (1 - value) * (HEIGHT - EDGE.top - EDGE.bottom);
  const line = points.map((point) => `${x(point.answers)},${y(share(point))}`).join(" ");
  const last = points.at(-1);
  const told = `Agreement of the model in use: F1 ${percent(share(last))} over ${counted(last.records, "answer")}.`;
  const grid = [0, 0.5, 1].map((value) => [
    s("line", { class: "grid-line", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value) }),
    s("text", { class: "soft", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, `${100 * value}`),
  ]);
  const drawing = s("svg", { class: "drawing curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told },
    grid,
    s("text", { class: "soft", x: EDGE.left, y: HEIGHT - 6 }, "0"),
    s("text", { class: "soft", x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, counted(most, "answer")),
    s("polyline", { class: "curve-line", points: line }),
    points.map((point) => s("circle", { class: "curve-point", cx: x(point.answers), cy: y(share(point)), r: point === last ? 5 : 3.5 })));
  const rows = points.map((point) => h("tr", {},
    h("td", {}, String(point.round)),
    h("td", { className: "number" }, String(point.answers)),
    h("td", { className: "number" }, point.f1 === null ? "–" : percent(point.f1)),
    h("td", { className: "number" }, percent(point.unchanged))));
  return h("div", {}, drawing, h("p", { className: "note" }, told),
    h("details", {}, h("summary", {}, "All models"), h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Agreement by model" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, "Model"), h("th", { className: "number" }, "Answers"), h("th", { className: "number" }, "F1"), h("th", { className: "number" }, "Unchanged"))),
      h("tbody", {}, rows)))));
}

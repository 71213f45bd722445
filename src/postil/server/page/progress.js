// How much is done, how the model learns, and how well it agrees with the person: drawn from plain numbers.

import { chip, counted, h, percent, s } from "/page/dom.js";
import { table } from "/page/shared.js";

const WIDTH = 320;
const HEIGHT = 150;
let isOpen = false; // the table of all models, which is drawn anew with every answer
const EDGE = { left: 34, right: 12, top: 10, bottom: 26 };

export function summary({ progress }) {
  const more = progress.more ? "+" : "";
  return `${progress.answered.toLocaleString("en")} answered · ${progress.waiting.toLocaleString("en")}${more} to go`;
}

/** What the learning is doing, as one sentence. */
export function learningText({ learning, progress }) {
  if (progress.every === null) return "No model is trained in this session.";
  if (learning.state === "running" || learning.state === "stopping") {
    return learning.epoch ? `Learning: epoch ${learning.epoch} of ${learning.epochs}.` : "Learning …";
  }
  if (learning.state === "failed") return `The last training run failed: ${learning.error}`;
  if (progress.until === 0) return "The model trains as soon as an answer has a span.";
  return `The model retrains after ${counted(progress.until, "more answer")}.`;
}

/** How much of the pool is done. */
export function bar({ progress: { answered, skipped, waiting } }) {
  return h("progress", { max: answered + skipped + waiting || 1, value: answered + skipped, "aria-label": `${answered + skipped} of ${answered + skipped + waiting} records` });
}

/** Spans of each class so far. */
export function counts({ progress, classes }) {
  return h("p", { className: "row", id: "counts" }, classes.map((name) => h("span", {}, chip(name, classes), ` ${(progress.by_class[name] ?? 0).toLocaleString("en")}`)));
}

export function figures({ progress }) {
  return h("div", { className: "figures" }, ["answered", "spans", "skipped"].map((name) => h("div", {},
    h("strong", { className: "big" }, progress[name].toLocaleString("en")), h("span", {}, name))));
}

/** A point's height: F1, or where there is nothing to find, the share of records in which nothing was changed. */
function share(point) {
  return point.f1 ?? point.unchanged;
}

export function curve({ curve: { points, rounds } }) {
  if (!points.length) {
    return h("p", { className: "note" }, "The curve begins when a model has been in use for some answers: each of them is compared with what the model said before.");
  }
  const first = points[0].answers - 1;
  const most = points.at(-1).answers;
  const x = (answers) => EDGE.left + ((answers - first) / (most - first)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => EDGE.top + (1 - value) * (HEIGHT - EDGE.top - EDGE.bottom);
  const last = points.at(-1);
  const told = `F1 ${percent(share(last)).replace(" ", "\u00a0")} over the last ${counted(last.records, "answer")}, which the model was least sure of.`;
  const grid = [0, 0.5, 1].map((value) => [
    s("line", { class: "grid-line", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value) }),
    s("text", { class: "soft", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, `${100 * value}`),
  ]);
  const learnt = rounds.slice(0, -1).filter((round) => round.answers > first).map((round) => s("line", { class: "learnt", x1: x(round.answers), x2: x(round.answers), y1: y(0), y2: y(1) }));
  const drawing = s("svg", { class: "drawing curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Agreement with the model: ${told}` },
    grid, learnt,
    s("text", { class: "soft", x: EDGE.left, y: HEIGHT - 6 }, String(first)),
    s("text", { class: "soft", x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, counted(most, "answer")),
    s("polyline", { class: "curve-line", points: points.map((point) => `${x(point.answers)},${y(share(point))}`).join(" ") }),
    s("circle", { class: "curve-point", cx: x(last.answers), cy: y(share(last)), r: 4.5 }));
  const rows = rounds.map((round) => [String(round.round), String(round.records), round.f1 === null ? "–" : percent(round.f1), percent(round.unchanged)]);
  return h("div", {}, drawing, h("p", { className: "note" }, told),
    h("details", { open: isOpen, ontoggle: (event) => { isOpen = event.target.open; } }, h("summary", {}, "By model"),
      table(["Model", "#Answers", "#F1", "#Unchanged"], rows, { region: "Agreement by model" })));
}

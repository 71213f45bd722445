// How much is done, how the model learns, and how well it agrees with the person: drawn from plain numbers.

import { chip, counted, curve, h, percent, table } from "/page/dom.js";

let isOpen = false; // the table of all models, which is drawn anew with every answer

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

export function agreement({ curve: { points, rounds } }) {
  if (!points.length) {
    return h("p", { className: "note" }, "The curve begins when a model has been in use for some answers: each of them is compared with what the model said before.");
  }
  const first = points[0].answers - 1;
  const last = points.at(-1);
  const share = (point) => point.f1 ?? point.unchanged; // where there is nothing to find: of records in which nothing was changed
  const told = `F1 ${percent(share(last)).replace(" ", "\u00a0")} over the last ${counted(last.records, "answer")}, which the model was least sure of.`;
  const drawing = curve(points.map((point) => [point.answers, share(point)]), {
    label: `Agreement with the model: ${told}`, low: 0, high: 1, ticks: [0, 0.5, 1], shown: (value) => `${100 * value}`, from: first, to: last.answers,
    ends: [String(first), counted(last.answers, "answer")], breaks: rounds.slice(0, -1).map((round) => round.answers).filter((answers) => answers > first),
  });
  const rows = rounds.map((round) => [String(round.round), String(round.records), round.f1 === null ? "–" : percent(round.f1), percent(round.unchanged)]);
  return h("div", {}, drawing, h("p", { className: "note" }, told),
    h("details", { open: isOpen, ontoggle: (event) => { isOpen = event.target.open; } }, h("summary", {}, "By model"),
      table(["Model", "#Answers", "#F1", "#Unchanged"], rows, { region: "Agreement by model" })));
}

// Semantic roles: a row for every predicate of a text.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { colour, copy, debounced, failed, h, heading, percent, table, tip } from "/page/dom.js";
import { EXAMPLE, textBox } from "/page/shared.js";

/** The words of a sentence as they stand in the text, those with a role on its colour with its probability. */
function marked({ tokens, starts, ends }, roles, labels) {
  const gap = (t) => (t === 0 || starts[t] === ends[t - 1] ? "" : " ");
  const said = (first, end) => tokens.slice(first, end).map((word, i) => (i ? gap(first + i) : "") + word).join("");
  const parts = [];
  let end = 0;
  for (const role of roles) {
    if (end < role.start) parts.push(gap(end), said(end, role.start));
    const chip = h("span", { className: "chip" }, `${role.label} ${percent(role.probability)}`);
    const box = h("span", { className: `entity ${colour(role.label, labels)}` }, said(role.start, role.end), chip);
    parts.push(gap(role.start), tip(box, () => `${role.label}: probability ${percent(role.probability)}`));
    end = role.end;
  }
  return h("span", { className: "text", dir: "auto" }, parts, end < tokens.length ? gap(end) + said(end, tokens.length) : "");
}

export function mountRoles(root, values, model) {
  let text = values.get("text") ?? EXAMPLE;
  let answer = null;
  const [problem, rows] = [h("div", { className: "problem" }), h("div", { id: "roles" })];

  async function ask() {
    keep("tag", { model: model.name, text });
    try {
      const content = await call("/api/roles", { model: model.name, text });
      if (content === null) return;
      answer = content;
      const found = answer.sentences.flatMap((one) => one.predicates.map(({ predicate, roles }) => [one.tokens[predicate], marked(one, roles, model.labels)]));
      problem.replaceChildren();
      rows.replaceChildren(found.length ? table(["Predicate", "Roles"], found) : h("p", { className: "note" }, "No predicate was found."));
    } catch (error) {
      problem.replaceChildren(failed(error, answer !== null));
    }
  }

  const { field } = textBox(text, debounced(120, (typed) => { text = typed; ask(); }));
  root.append(...heading("Roles", "Type or paste a text. Every predicate has a row: who did what to whom."), field, problem,
    h("section", { className: "card", "aria-label": "Answer" }, rows,
      h("button", { onclick: () => copy(JSON.stringify(answer, null, 2), "JSON") }, "Copy as JSON")));
  ask();
  return undefined;
}

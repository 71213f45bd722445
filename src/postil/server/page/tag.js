// Tag: entities as one types, thresholds, n-best, constraints by mouse and keyboard, copies.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { characters } from "/page/characters.js";
import { colour, copy, debounced, h, percent, say, tip } from "/page/dom.js";
import { mountRoles } from "/page/roles.js";
import { chip, EXAMPLE, failed, fitting, heading, missing, table, textBox, whole } from "/page/shared.js";

/** "11:16=LOC" as {start, end, label}. */
function parsed(word) {
  const [, start, end, label] = word.match(/^(\d+):(\d+)(?:=(.*))?$/s) ?? [];
  return start === undefined ? null : { start: Number(start), end: Number(end), ...(label ? { label } : {}) };
}

const spelt = (one) => `${one.start}:${one.end}${one.label ? `=${one.label}` : ""}`;

export function mount(root, values, context) {
  const model = fitting(context, "tagger", "detector", "role-labeller");
  if (!model) { root.append(missing("tagger or a detector")); return undefined; }
  if (model.kind === "role-labeller") return mountRoles(root, values, model);
  const isTagger = model.kind === "tagger";
  const state = {
    text: values.get("text") ?? EXAMPLE,
    threshold: Number(values.get("threshold") ?? 0),
    nbest: Number(values.get("nbest") ?? 3),
    require: values.getAll("require").map(parsed).filter(Boolean),
    forbid: values.getAll("forbid").map(parsed).filter(Boolean),
  };
  const names = model.spans ? model.classes : model.labels;
  const all = whole(context, model);
  let answer = null;
  let letters = null; // its text, cut where the answer says
  let selected = null; // {from, to} in tokens
  let menu = null;

  // ---------------------------------------------------------------------------------------------- asking
  function options() {
    if (!isTagger) return { tokens: true };
    return { tokens: true, nbest: state.nbest, ...(state.threshold > 0 && model.spans ? { threshold: state.threshold } : {}) };
  }

  function constraints() {
    if (!isTagger || !(state.require.length || state.forbid.length)) return {};
    if (model.spans) return { constraints: { require: state.require, forbid: state.forbid } };
    const allow = state.require.map(({ start, end, label }) => ({ start, end, labels: [label] }));
    return { constraints: { allow } };
  }

  async function ask() {
    keep("tag", {
      model: model.name, text: state.text, threshold: state.threshold || "", nbest: state.nbest === 3 ? "" : state.nbest,
      require: state.require.map(spelt), forbid: state.forbid.map(spelt),
    });
    shown.classList.add("busy");
    try {
      const request = { model: model.name, text: state.text, options: options(), ...constraints() };
      const content = await call("/api/tag", request);
      if (content === null) return;
      [answer] = content.documents;
      letters = characters(answer.text);
      problem.replaceChildren();
      draw();
      if (all) await askLayers();
    } catch (error) {
      problem.replaceChildren(failed(error, answer !== null));
    }
    shown.classList.remove("busy");
  }
  const askSoon = debounced(120, ask);

  /** Ask the model's other tasks about the same words. */
  async function askLayers() {
    const content = await call("/api/tag", { model: all.name, text: answer.text, options: { tokens: true } }, "layers");
    if (content === null) return;
    const [{ layers: found, spans: together, tokens }] = content.documents;
    const said = (task, place) => { // groups of classes have one list of spans, other tasks a layer each
      const { spans, tokens: labelled } = found?.[task] ?? { spans: together.filter((one) => one.group === task) };
      if (labelled) return labelled[place]?.label ?? "";
      return spans.find((span) => span.start <= tokens[place].start && tokens[place].end <= span.end)?.label ?? "";
    };
    layers.replaceChildren(table(["Word", ...all.tasks], tokens.map((one, place) => [one.text, ...all.tasks.map((task) => said(task, place))]), { id: "layers" }));
  }

  // ---------------------------------------------------------------------------------------------- drawing
  function entityOf(token) {
    return (answer.spans ?? []).find((span) => span.start <= token.start && token.end <= span.end);
  }

  function facts(span) {
    const figure = span.probability === undefined ? `score ${span.score}` : `probability ${span.probability}`;
    return `${span.label}: ${figure}\ncharacters ${span.start} to ${span.end}`;
  }

  function token(one, place) {
    const span = entityOf(one);
    const chosen = selected !== null && selected.from <= place && place <= selected.to;
    const said = span ? `, ${facts(span)}` : one.label ? `, ${one.label}` : "";
    const element = h("span", {
      className: "token", role: "option", "aria-selected": String(chosen), "data-place": place,
      tabIndex: place === (selected?.to ?? 0) ? 0 : -1, "aria-label": `${one.text}${said}`,
    }, one.text);
    if (span) tip(element, () => facts(span));
    else if (one.label) tip(element, () => `${one.label}${one.probability === undefined ? "" : `: probability ${one.probability}`}`);
    return element;
  }

  function drawText() {
    const parts = [];
    let end = 0;
    let box = null; // of the entity under construction
    answer.tokens.forEach((one, place) => {
      const span = entityOf(one);
      const gap = letters.slice(end, one.start);
      const isNew = span && span.start === one.start;
      (box && span && !isNew ? box : parts).push(gap);
      if (isNew) {
        const isRequired = state.require.some((item) => item.start === span.start && item.end === span.end);
        box = [];
        parts.push({ box, span, isRequired });
      } else if (!span) box = null;
      (box ?? parts).push(token(one, place));
      if (!span && one.label && !model.spans) {
        parts.push(h("span", { className: `tag ${colour(one.label, names)}`, "aria-hidden": "true" }, one.label));
      }
      end = one.end;
    });
    parts.push(letters.slice(end));
    shown.replaceChildren(...parts.map((part) => (part.box ? h("span", {
      className: `entity ${colour(part.span.label, names)} ${part.isRequired ? "required" : ""}`,
    }, part.box, h("span", { className: "chip", "aria-hidden": "true" }, part.span.label)) : part)));
    if (!answer.tokens.length) shown.replaceChildren(h("span", { className: "note", role: "option", "aria-selected": "false" }, "Type a text above."));
  }

  function drawEntities() {
    const spans = answer.spans ?? [];
    const items = model.spans ? spans : answer.tokens.filter((one) => one.label);
    const rows = items.map((one) => {
      const figure = one.probability ?? one.score;
      const places = answer.tokens.map((item, i) => [item, i]).filter(([item]) => one.start <= item.start && item.end <= one.end);
      const span = `${places[0]?.[1]}:${(places.at(-1)?.[1] ?? 0) + 1}`;
      return [h("bdi", {}, one.text ?? letters.slice(one.start, one.end)), chip(one.label, names), one.probability === undefined ? String(figure) : percent(figure),
        h("td", { className: "barbox roomy" }, one.probability === undefined ? "" : h("span", { className: `bar ${colour(one.label, names)}`, style: { width: `${100 * figure}%` } })),
        h("a", { href: written("why", { model: model.name, text: state.text, span, label: one.label }) }, "why", h("span", { className: "skip" }, ` ${one.text}`))];
    });
    entities.replaceChildren(rows.length
      ? table([model.spans ? "Entity" : "Word", "Label", isTagger ? "#Probability" : "#Score", h("td", { className: "roomy" }), ""], rows)
      : h("p", { className: "note" }, "No entity was found."));
  }

  function drawConstraints() {
    const items = ["require", "forbid"].flatMap((kind) => state[kind].map((one, place) => h("li", { className: "row" },
      h("span", {}, `${kind === "require" ? "is" : "is not"} ${one.label ?? "an entity"}: `, h("q", {}, letters.slice(one.start, one.end))),
      h("button", { onclick: () => { state[kind].splice(place, 1); ask(); say("constraint removed"); } }, "remove",
        h("span", { className: "skip" }, ` constraint ${letters.slice(one.start, one.end)}`)))));
    fixed.replaceChildren(...(items.length ? [h("ul", { className: "list" }, items)] : [h("p", { className: "note" },
      "None. Select words in the text, by mouse or with the arrow keys and Enter, to say what they are or are not.")]));
  }

  function drawNbest() {
    const blocks = (answer.nbest ?? []).map((labellings, number) => {
      const [first, last] = answer.sentences[number];
      const words = answer.tokens.slice(first, last).map((one) => one.text);
      return h("li", {}, h("ol", {}, labellings.map((one) => h("li", {}, `${percent(one.probability)} `,
        h("span", { className: "mono" }, model.spans ? brief(words, one.labels) : one.labels.join(" "))))));
    });
    ranking.replaceChildren(blocks.length ? h("ol", { className: "list" }, blocks) : h("p", { className: "note" }, "Nothing to rank."));
  }

  function brief(words, labels) {
    const found = [];
    labels.forEach((label, i) => {
      if (label === "O") return;
      const name = label.slice(2);
      const continues = "IE".includes(label[0]) && i > 0 && labels[i - 1] !== "O" && labels[i - 1].slice(2) === name;
      if (continues) found[found.length - 1].words.push(words[i]);
      else found.push({ name, words: [words[i]] });
    });
    return found.length ? found.map((one) => `[${one.words.join(" ")}] ${one.name}`).join("  ") : "no entity";
  }

  function draw() {
    drawText();
    drawEntities();
    if (isTagger) { drawConstraints(); drawNbest(); }
  }

  // ---------------------------------------------------------------------------------------------- selecting
  function placeOf(event) {
    const element = event.target.closest?.("[data-place]");
    return element ? Number(element.dataset.place) : null;
  }

  function select(anchor, place) {
    selected = { anchor, from: Math.min(anchor, place), to: Math.max(anchor, place), at: place };
    for (const element of shown.querySelectorAll("[data-place]")) {
      const i = Number(element.dataset.place);
      element.setAttribute("aria-selected", String(selected.from <= i && i <= selected.to));
      element.tabIndex = i === place ? 0 : -1;
    }
  }

  function focused(place) {
    shown.querySelector(`[data-place="${place}"]`)?.focus();
  }

  let dragging = null;
  function down(event) {
    const place = placeOf(event);
    if (place === null) return;
    event.preventDefault();
    closeMenu();
    dragging = place;
    select(place, place);
    focused(place);
  }
  function over(event) {
    const place = placeOf(event);
    if (dragging !== null && place !== null) select(dragging, place);
  }
  function up() {
    if (dragging === null) return;
    dragging = null;
    openMenu();
  }

  function key(event) {
    const place = placeOf(event);
    if (place === null) return;
    const last = answer.tokens.length - 1;
    const targets = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last };
    if (event.key in targets) {
      const target = Math.max(0, Math.min(last, targets[event.key]));
      select(event.shiftKey ? selected?.anchor ?? place : target, target);
      focused(target);
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      if (selected === null || place < selected.from || selected.to < place) select(place, place);
      openMenu();
      event.preventDefault();
    }
  }

  // ---------------------------------------------------------------------------------------------- the menu
  function closeMenu(back = false) {
    if (menu === null) return;
    menu.remove();
    menu = null;
    if (back && selected) focused(selected.at);
  }

  function openMenu() {
    closeMenu();
    const first = answer.tokens[selected.from];
    const last = answer.tokens[selected.to];
    const place = { start: first.start, end: last.end };
    const words = letters.slice(place.start, place.end);
    const inOne = answer.sentences.some(([from, to]) => from <= selected.from && selected.to < to);
    const item = (text, action) => h("button", { role: "menuitem", onclick: () => { action(); closeMenu(true); } }, text);
    const put = (kind, label) => () => {
      for (const name of ["require", "forbid"]) {
        state[name] = state[name].filter((one) => one.end <= place.start || place.end <= one.start || (name === "forbid" && kind === "forbid" && one.label !== label));
      }
      state[kind].push({ ...place, ...(label ? { label } : {}) });
      ask();
    };
    const items = [];
    if (isTagger && inOne) {
      if (model.spans) {
        items.push(...names.map((name) => item(`is ${name}`, put("require", name))));
        items.push(item("is not an entity", put("forbid")), ...names.map((name) => item(`is not ${name}`, put("forbid", name))));
      } else items.push(...names.map((name) => item(`is ${name}`, put("require", name))));
    }
    if (inOne) {
      items.push(item("why?", () => {
        location.hash = written("why", { model: model.name, text: state.text, span: `${selected.from}:${selected.to + 1}` }).slice(1);
      }));
    }
    menu = h("div", {
      className: "menu", role: "menu", "aria-label": `“${words}”`, onkeydown: (event) => {
        const all = [...menu.querySelectorAll("button")];
        const at = all.indexOf(document.activeElement);
        if (event.key === "Escape") closeMenu(true);
        else if (event.key === "ArrowDown") all[(at + 1) % all.length].focus();
        else if (event.key === "ArrowUp") all[(at + all.length - 1) % all.length].focus();
        else return;
        event.preventDefault();
      },
    }, items);
    const target = shown.querySelector(`[data-place="${selected.from}"]`);
    const frame = anchor.getBoundingClientRect();
    const spot = target.getBoundingClientRect();
    menu.style.setProperty("left", `${Math.max(0, Math.min(spot.left - frame.left, frame.width - 190))}px`);
    menu.style.setProperty("top", `${spot.bottom - frame.top + 6}px`);
    anchor.append(menu);
    menu.querySelector("button")?.focus();
  }

  function outside(event) {
    if (menu !== null && !menu.contains(event.target) && !shown.contains(event.target)) closeMenu();
  }

  // ---------------------------------------------------------------------------------------------- copies
  function conll() {
    const lines = answer.sentences.map(([from, to]) => answer.tokens.slice(from, to).map((one, i) => {
      const span = entityOf(one);
      const begins = span && (i === 0 || span.start === one.start);
      const label = model.spans ? (span ? `${begins ? "B" : "I"}-${span.label}` : "O") : one.label;
      return `${one.text}\t${label}\n`;
    }).join(""));
    return lines.join("\n");
  }

  function html() {
    const safe = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
    let end = 0;
    let out = "";
    for (const one of answer.spans ?? []) {
      out += `${safe(letters.slice(end, one.start))}<mark title="${safe(one.label)}">${safe(letters.slice(one.start, one.end))}</mark>`;
      end = one.end;
    }
    return `<p>${out}${safe(letters.slice(end))}</p>`;
  }

  // ---------------------------------------------------------------------------------------------- the page
  const { field } = textBox(state.text, (text) => {
    state.text = text;
    state.require = [];
    state.forbid = [];
    selected = null;
    closeMenu();
    askSoon();
  });
  const shown = h("div", {
    className: "text", id: "answer", dir: "auto", role: "listbox", "aria-label": "Text with its labels", "aria-multiselectable": "true",
    onmousedown: down, onmouseover: over, onkeydown: key,
  });
  const anchor = h("div", { className: "anchor" }, shown);
  const [problem, entities, fixed, ranking, layers] = [h("div", { className: "problem" }), h("div"), h("div"), h("div"), h("div")];
  const threshold = h("output", {}, state.threshold ? percent(state.threshold) : "as set in the model");
  const slider = h("input", {
    type: "range", id: "threshold", min: 0, max: 0.99, step: 0.01, value: state.threshold,
    oninput: () => { state.threshold = Number(slider.value); threshold.textContent = state.threshold ? percent(state.threshold) : "as set in the model"; askSoon(); },
  });
  const count = h("input", {
    type: "number", id: "nbest", min: 1, max: 20, value: state.nbest,
    oninput: () => { state.nbest = Math.max(1, Math.min(20, Math.round(Number(count.value)) || 1)); askSoon(); },
  });
  const lattice = () => h("a", { href: "#/lattice", onclick: (event) => { event.preventDefault(); location.hash = written("lattice", { model: model.name, text: state.text }).slice(1); } }, "See the lattice");
  root.append(
    ...heading("Tag", "Type or paste a text. Its labels appear as you type; select words to say what they are, and the rest follows."),
    field, problem,
    h("div", { className: "grid" },
      h("div", {},
        h("section", { className: "card", "aria-label": "Answer" }, anchor,
          h("div", { className: "row" }, h("span", { className: "note" }, "Copy as"),
            h("button", { onclick: () => copy(JSON.stringify(answer, null, 2), "JSON") }, "JSON"),
            h("button", { onclick: () => copy(conll(), "CoNLL") }, "CoNLL"),
            h("button", { onclick: () => copy(html(), "HTML") }, "HTML"),
            h("button", { onclick: () => copy(location.href, "address") }, "address"),
            isTagger ? lattice() : null)),
        h("section", { className: "card" }, h("h2", {}, model.spans ? "Entities" : "Words"), entities),
        all ? h("section", { className: "card" }, h("h2", {}, "All layers"), h("p", { className: "note" }, `What each task of ${all.name} says, without thresholds and constraints.`), layers) : null),
      isTagger ? h("div", {},
        model.spans ? h("section", { className: "card" }, h("label", { className: "field", htmlFor: "threshold" }, "Lowest probability"), h("div", { className: "row" }, slider, threshold)) : null,
        h("section", { className: "card" }, h("h2", {}, "Constraints"), fixed),
        h("section", { className: "card" }, h("div", { className: "row" }, h("h2", {}, "Best labellings"), h("label", { htmlFor: "nbest", className: "note" }, "number"), count), ranking)) : null),
  );
  document.addEventListener("mouseup", up);
  document.addEventListener("mousedown", outside);
  ask();
  return () => {
    document.removeEventListener("mouseup", up);
    document.removeEventListener("mousedown", outside);
  };
}

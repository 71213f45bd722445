// Tag: entities as one types, thresholds, constraints by mouse, touch and keyboard, copies. Of a long text, one sentence at a
// time has its words apart, its best labellings and its alternatives; the rest is drawn as plain text with its entities.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { chip, colour, copy, debounced, failed, h, heading, percent, say, showTip, table } from "/page/dom.js";
import { mountRoles } from "/page/roles.js";
import { EXAMPLE, fitting, missing, textBox, whole } from "/page/shared.js";

/** "11:16=LOC" as {start, end, label}. */
function parsed(word) {
  const [, start, end, label] = word.match(/^(\d+):(\d+)(?:=(.*))?$/s) ?? [];
  return start === undefined ? null : { start: Number(start), end: Number(end), ...(label ? { label } : {}) };
}

const MOST_ROWS = 300; // of the table of entities
const MOST_ALTERNATIVES = 4;
const LONGEST_TAIL = 30; // letters that stay on one line with a label

const spelt = (one) => `${one.start}:${one.end}${one.label ? `=${one.label}` : ""}`;

// The server counts characters (code points), as Python does; JavaScript counts halves of those beyond the basic plane.
/** A text as characters: {length, slice(start, end)}, with the places that the server means. */
export function characters(text) {
  if (!/[\ud800-\udfff]/.test(text)) return { length: text.length, slice: (start, end) => text.slice(start, end) };
  const places = [0];
  for (const one of text) places.push(places.at(-1) + one.length);
  const at = (place) => places[Math.min(place, places.length - 1)];
  return { length: places.length - 1, slice: (start, end = places.length - 1) => text.slice(at(start), at(end)) };
}

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
  let sentence = 0; // the one whose words can be selected
  let alternatives = new Map(); // place of a token in that sentence -> [[label, probability]]
  let selected = null; // {from, to} in tokens
  let menu = null;
  const used = new Map(); // label -> how often it was chosen

  // ---------------------------------------------------------------------------------------------- asking
  function constraints() {
    if (!isTagger || !(state.require.length || state.forbid.length)) return {};
    if (model.spans) return { constraints: { require: state.require, forbid: state.forbid } };
    const allow = state.require.map(({ start, end, label }) => ({ start, end, labels: [label] }));
    return { constraints: { allow } };
  }

  function kept() {
    keep("tag", {
      model: model.name, text: state.text, threshold: state.threshold || "", nbest: state.nbest === 3 ? "" : state.nbest,
      require: state.require.map(spelt), forbid: state.forbid.map(spelt),
    });
  }

  async function ask() {
    kept();
    shown.classList.add("busy");
    try {
      const request = { model: model.name, text: state.text, options: { tokens: true, ...(isTagger && state.threshold > 0 && model.spans ? { threshold: state.threshold } : {}) }, ...constraints() };
      const content = await call("/api/tag", request);
      if (content === null) return;
      [answer] = content.documents;
      letters = characters(answer.text);
      sentence = Math.min(sentence, Math.max(0, answer.sentences.length - 1));
      problem.replaceChildren();
      draw();
      await askSentence();
    } catch (error) {
      problem.replaceChildren(failed(error, answer !== null));
    }
    shown.classList.remove("busy");
  }
  const askSoon = debounced(120, ask);

  /** The best labellings of the sentence, and what else its words could be. */
  async function askSentence() {
    alternatives = new Map();
    ranking.replaceChildren();
    const [from, to] = answer.sentences[sentence] ?? [0, 0];
    if (from === to) return;
    if (isTagger && !(await askAlternatives(from, to))) return;
    if (all) await askLayers(from, to);
  }

  /** False where another sentence was asked for meanwhile. */
  async function askAlternatives(from, to) {
    const [first, last] = [answer.tokens[from].start, answer.tokens[to - 1].end];
    const inside = ({ start, end, ...rest }) => (first <= start && end <= last ? [{ ...rest, start: tokenFrom(start) - from, end: tokenTo(end) - from }] : []);
    const fixedHere = Object.fromEntries(Object.entries(constraints().constraints ?? {}).map(([kind, items]) => [kind, items.flatMap(inside)]));
    const asked = { tokens: answer.tokens.slice(from, to).map((one) => one.text), ...(Object.values(fixedHere).some((items) => items.length) ? { constraints: fixedHere } : {}) };
    const content = await call("/api/tag", { model: model.name, documents: [asked], options: { nbest: state.nbest, marginals: true } }, "sentence");
    if (content === null) return false;
    const [{ nbest, marginals }] = content.documents;
    marginals.forEach((row, i) => alternatives.set(from + i, Object.entries(row).sort(([, a], [, b]) => b - a).slice(0, MOST_ALTERNATIVES).filter(([, p]) => p >= 0.001)));
    drawNbest(nbest?.[0] ?? [], answer.tokens.slice(from, to).map((one) => one.text));
    return true;
  }

  /** Places of characters as places of tokens. */
  const tokenFrom = (start) => answer.tokens.findIndex((one) => one.end > start);
  const tokenTo = (end) => answer.tokens.findLastIndex((one) => one.start < end) + 1;

  /** Ask the model's other tasks about the sentence. */
  async function askLayers(from, to) {
    const text = letters.slice(answer.tokens[from].start, answer.tokens[to - 1].end);
    const content = await call("/api/tag", { model: all.name, text, options: { tokens: true } }, "layers");
    if (content === null) return;
    const [{ layers: found, spans: together, tokens }] = content.documents;
    const said = (task, place) => { // groups of classes have one list of spans, other tasks a layer each
      const { spans, tokens: labelled } = found?.[task] ?? { spans: together.filter((one) => one.group === task) };
      if (labelled) return labelled[place]?.label ?? "";
      return spans.find((span) => span.start <= tokens[place].start && tokens[place].end <= span.end)?.label ?? "";
    };
    layers.replaceChildren(table(["Word", ...all.tasks], tokens.map((one, place) => [h("bdi", {}, one.text), ...all.tasks.map((task) => said(task, place))]), { id: "layers" }));
  }

  // ---------------------------------------------------------------------------------------------- drawing
  const facts = (span) => `${span.label}: ${span.probability === undefined ? `score ${span.score}` : `probability ${span.probability}`}\ncharacters ${span.start} to ${span.end}`;

  /** What a tip says about a place of the text: its entity, and what its word could be as well. */
  function told(element) {
    const span = answer.spans?.[element.closest("[data-span]")?.dataset.span];
    const place = element.closest("[data-place]")?.dataset.place;
    const one = answer.tokens[place];
    const others = (alternatives.get(Number(place)) ?? []).map(([label, p]) => `${label} ${percent(p)}`).join("\n");
    const own = span ? facts(span) : one?.label ? `${one.label}${one.probability === undefined ? "" : `: probability ${one.probability}`}` : "";
    return [own, others].filter(Boolean).join("\n\n");
  }

  function token(one, place, span) {
    const chosen = selected !== null && selected.from <= place && place <= selected.to;
    const said = span ? `, ${facts(span)}` : one.label ? `, ${one.label}` : "";
    return h("span", {
      className: "token", role: "option", "aria-selected": String(chosen), "data-place": place,
      tabIndex: place === (selected?.at ?? answer.sentences[sentence][0]) ? 0 : -1, "aria-label": `${one.text}${said}`,
    }, one.text);
  }

  /** An entity: shade and line say how probable it is; its label stays with its last word. */
  function entity(span, number, parts) {
    const isRequired = state.require.some((item) => item.start === span.start && item.end === span.end);
    const p = span.probability ?? 1;
    const label = h("span", { className: "chip", "aria-hidden": "true", "data-figure": span.probability === undefined ? "" : ` ${percent(p)}` }, span.label);
    const tail = parts.pop();
    const isShort = (tail.textContent ?? tail).length <= LONGEST_TAIL;
    return h("span", { className: `entity ${colour(span.label, names)} ${isRequired ? "required" : ""} ${p < 0.5 ? "unsure" : p < 0.8 ? "likely" : ""}`, "data-span": number, style: { "--p": p } },
      parts, isShort ? h("span", { className: "tail" }, tail, label) : [tail, label]);
  }

  const headAndTail = (span) => { const [, head, tail] = letters.slice(span.start, span.end).match(/^(.*\s)?(\S*)$/su); return [head, tail].filter((one) => one !== undefined); };

  function drawText() {
    const focus = shown.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    const spans = answer.spans ?? [];
    let next = 0; // among the spans
    let end = 0;
    const drawn = answer.sentences.map(([from, to], number) => {
      const parts = [];
      const gap = letters.slice(end, answer.tokens[from].start);
      const last = answer.tokens[to - 1].end;
      end = answer.tokens[from].start;
      const isOpen = number === sentence;
      for (let place = from; place < to;) {
        const one = answer.tokens[place];
        while (next < spans.length && spans[next].end <= one.start) next += 1;
        const span = spans[next]?.start <= one.start ? spans[next] : null;
        if (!span && !isOpen && model.spans) { // all words up to the next entity at once
          const stop = Math.min(spans[next]?.start ?? last, last);
          parts.push(letters.slice(end, stop));
          end = stop;
          while (place < to && answer.tokens[place].start < stop) place += 1;
          continue;
        }
        parts.push(letters.slice(end, one.start));
        if (span) {
          const inside = [];
          const first = place;
          for (; place < to && answer.tokens[place].end <= span.end; place += 1) if (isOpen) inside.push(place > first ? letters.slice(answer.tokens[place - 1].end, answer.tokens[place].start) : "", token(answer.tokens[place], place, span));
          parts.push(entity(span, next, isOpen ? inside : headAndTail(span)));
          end = span.end;
          if (place === first) place += 1; // not at the edges of words
        } else {
          parts.push(isOpen ? token(one, place, null) : one.text);
          if (one.label && !model.spans) parts.push(h("span", { className: `tag ${colour(one.label, names)}`, "aria-hidden": "true" }, one.label));
          end = one.end;
          place += 1;
        }
      }
      parts.push(letters.slice(end, last));
      end = Math.max(end, last);
      return [gap, h("span", isOpen ? { className: "sentence", role: "listbox", "aria-label": "Words of the sentence", "aria-multiselectable": "true" } : { className: "sentence", "data-sentence": number }, parts)];
    });
    shown.replaceChildren(...drawn.flat(), letters.slice(end));
    if (!answer.tokens.length) shown.replaceChildren(h("span", { className: "note" }, "Type a text above."));
    if (focus !== null) focused(focus);
  }

  function drawEntities() {
    const items = model.spans ? answer.spans ?? [] : answer.tokens.filter((one) => one.label);
    const starts = new Map(answer.tokens.map((one, i) => [one.start, i]));
    const ends = new Map(answer.tokens.map((one, i) => [one.end, i]));
    const where = (place) => answer.sentences.findIndex(([, to]) => place < to);
    const rows = items.slice(0, MOST_ROWS).map((one) => {
      const figure = one.probability ?? one.score;
      const [first, last] = [starts.get(one.start) ?? 0, ends.get(one.end) ?? 0];
      const [from, to] = answer.sentences[where(first)];
      const text = letters.slice(answer.tokens[from].start, answer.tokens[to - 1].end);
      return [h("button", { className: "finder", onclick: () => { choose(where(first)); focused(first); } }, h("bdi", {}, one.text ?? letters.slice(one.start, one.end))), chip(one.label, names), one.probability === undefined ? String(figure) : percent(figure),
        h("td", { className: "barbox roomy" }, one.probability === undefined ? "" : h("span", { className: `bar ${colour(one.label, names)}`, style: { width: `${100 * figure}%` } })),
        h("a", { href: written("why", { model: model.name, text, span: `${first - from}:${last - from + 1}`, label: one.label }) }, "why", h("span", { className: "skip" }, ` ${one.text}`))];
    });
    entities.replaceChildren(rows.length
      ? table([model.spans ? "Entity" : "Word", "Label", isTagger ? "#Probability" : "#Score", h("td", { className: "roomy" }), ""], rows)
      : h("p", { className: "note" }, "No entity was found."), items.length > MOST_ROWS ? h("p", { className: "note" }, `The first ${MOST_ROWS} of ${items.length.toLocaleString("en")}.`) : "");
  }

  function drawConstraints() {
    const items = ["require", "forbid"].flatMap((kind) => state[kind].map((one, place) => h("li", { className: "row" },
      h("span", {}, `${kind === "require" ? "is" : "is not"} ${one.label ?? "an entity"}: `, h("q", {}, letters.slice(one.start, one.end))),
      h("button", { onclick: () => { state[kind].splice(place, 1); ask(); say("constraint removed"); } }, "remove",
        h("span", { className: "skip" }, ` constraint ${letters.slice(one.start, one.end)}`)))));
    fixed.replaceChildren(...(items.length ? [h("ul", { className: "list" }, items)] : [h("p", { className: "note" },
      "None. Select words in the text, by mouse or with the arrow keys and Enter, to say what they are or are not.")]));
  }

  function drawNbest(labellings, words) {
    ranking.replaceChildren(labellings.length ? h("ol", {}, labellings.map((one) => h("li", {}, `${percent(one.probability)} `,
      h("bdi", { className: "mono" }, model.spans ? brief(words, one.labels) : one.labels.join(" "))))) : h("p", { className: "note" }, "Nothing to rank."));
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
    if (isTagger) drawConstraints();
  }

  /** Open another sentence. */
  function choose(number) {
    if (number === sentence) return;
    sentence = number;
    selected = null;
    drawText();
    askSentence().catch((error) => problem.replaceChildren(failed(error, true)));
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

  const focused = (place) => shown.querySelector(`[data-place="${place}"]`)?.focus();

  let dragging = null;
  function down(event) {
    const other = event.target.closest?.("[data-sentence]");
    if (other) { choose(Number(other.dataset.sentence)); return; }
    const place = placeOf(event);
    if (place === null) return;
    if (event.pointerType === "touch") return; // a tap is a click; a swipe scrolls
    event.preventDefault();
    closeMenu();
    dragging = place;
    select(place, place);
    focused(place);
  }
  function over(event) {
    if (answer) { const text = told(event.target); if (text) showTip(event.target, text); }
    const place = placeOf(event);
    if (dragging !== null && place !== null) select(dragging, place);
  }
  function up() {
    if (dragging === null) return;
    dragging = null;
    openMenu();
  }
  function tap(event) {
    const place = placeOf(event);
    if (event.pointerType !== "touch" || place === null) return;
    select(place, place);
    openMenu();
  }

  function key(event) {
    const place = placeOf(event);
    if (place === null) return;
    const [first, end] = answer.sentences[sentence];
    const targets = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: first, End: end - 1, ArrowDown: end, ArrowUp: first - 1 };
    if (event.key in targets) {
      const target = Math.max(0, Math.min(answer.tokens.length - 1, targets[event.key]));
      if (target < first || end <= target) choose(sentence + (target < first ? -1 : 1));
      select(event.shiftKey && first <= target && target < end ? selected?.anchor ?? place : target, target);
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
    const [begin, stop] = answer.sentences[sentence];
    const item = (text, action) => h("button", { role: "menuitem", onclick: () => { action(); closeMenu(true); } }, text);
    const extend = (by) => () => { select(selected.anchor, Math.max(begin, Math.min(stop - 1, selected.at + by))); openMenu(); };
    const put = (kind, label) => () => {
      for (const name of ["require", "forbid"]) {
        state[name] = state[name].filter((one) => one.end <= place.start || place.end <= one.start || (name === "forbid" && kind === "forbid" && one.label !== label));
      }
      state[kind].push({ ...place, ...(label ? { label } : {}) });
      if (label) used.set(label, (used.get(label) ?? 0) + 1);
      ask();
    };
    // The labels that were chosen most, then those that the text has most.
    const counts = new Map();
    for (const one of (model.spans ? answer.spans : answer.tokens) ?? []) counts.set(one.label, (counts.get(one.label) ?? 0) + 1);
    const weight = (name) => 1e6 * (used.get(name) ?? 0) + (counts.get(name) ?? 0);
    const ordered = [...names].sort((a, b) => weight(b) - weight(a));
    const here = (answer.spans ?? []).filter((one) => one.start < place.end && place.start < one.end).map((one) => one.label);
    const items = !isTagger ? [] : [...ordered.map((name) => item(`is ${name}`, put("require", name))),
      ...(model.spans ? [item("is not an entity", put("forbid")), ...[...new Set(here)].map((name) => item(`is not ${name}`, put("forbid", name)))] : [])];
    items.push(item("why?", () => {
      const text = letters.slice(answer.tokens[begin].start, answer.tokens[stop - 1].end);
      location.hash = written("why", { model: model.name, text, span: `${selected.from - begin}:${selected.to - begin + 1}` }).slice(1);
    }));
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
    }, h("p", { className: "title", role: "none" }, "“", h("bdi", {}, words), "” …"), items,
    h("div", { className: "row", role: "none" }, [["←", -1, "left"], ["→", 1, "right"]].map(([text, by, name]) => h("button", { role: "menuitem", "aria-label": `Move the selection to the ${name}`, onclick: extend(by) }, text))));
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
    const spans = answer.spans ?? [];
    let next = 0;
    const lines = answer.sentences.map(([from, to]) => answer.tokens.slice(from, to).map((one, i) => {
      while (next < spans.length && spans[next].end <= one.start) next += 1;
      const span = spans[next]?.start <= one.start ? spans[next] : null;
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
    sentence = 0;
    closeMenu();
    askSoon();
  }, "Text", 3, true);
  const shown = h("div", {
    className: "text", id: "answer", dir: "auto", role: "group", "aria-label": "Text with its labels",
    onpointerdown: down, onclick: tap, onmouseover: over, onfocusin: over, onkeydown: key,
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
    oninput: () => { state.nbest = Math.max(1, Math.min(20, Math.round(Number(count.value)) || 1)); kept(); askSentence().catch((error) => problem.replaceChildren(failed(error, true))); },
  });
  const lattice = () => h("a", { href: "#/lattice", onclick: (event) => { event.preventDefault(); location.hash = written("lattice", { model: model.name, text: state.text, sentence: sentence || "" }).slice(1); } }, "See the lattice");
  root.append(
    ...heading("Tag", "Type or paste a text. Its labels appear as you type: the stronger the colour, the surer. Select words to say what they are, and the rest follows."),
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
        h("section", { className: "card" }, h("h2", {}, model.spans ? "Entities" : "Words"), h("div", { className: "found", tabIndex: 0, role: "region", "aria-label": "What was found" }, entities)),
        all ? h("section", { className: "card" }, h("h2", {}, "All layers"), h("p", { className: "note" }, `What each task of ${all.name} says about the sentence, without thresholds and constraints.`), layers) : null),
      isTagger ? h("div", {},
        model.spans ? h("section", { className: "card" }, h("label", { className: "field", htmlFor: "threshold" }, "Lowest probability"), h("div", { className: "row" }, slider, threshold)) : null,
        h("section", { className: "card" }, h("h2", {}, "Constraints"), fixed),
        h("section", { className: "card" }, h("div", { className: "row" }, h("h2", {}, "Best labellings of the sentence"), h("label", { htmlFor: "nbest", className: "note" }, "number"), count), ranking)) : null),
  );
  document.addEventListener("pointerup", up);
  document.addEventListener("pointerdown", outside);
  ask();
  return () => {
    document.removeEventListener("pointerup", up);
    document.removeEventListener("pointerdown", outside);
  };
}

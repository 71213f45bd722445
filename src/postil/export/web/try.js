// The page to try a model: entities or labels as one types.

const MOST_CHARACTERS = 100_000; // that are drawn; all of the text is labelled
const MOST_ROWS = 500;
const EXAMPLE = "Museums in Paris are amazing. Anna Smith, who lives in Oslo, visited them with a friend from the United Nations.";

const main = document.getElementById("main");
const about = JSON.parse(document.getElementById("about").textContent);

/** The bytes of a data block: gzip in base64. */
async function unpacked(id) {
  const block = document.getElementById(id);
  const text = block.textContent;
  block.remove(); // megabytes that nobody needs any more
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return decompressed(bytes);
}

// ------------------------------------------------------------------------------------------------ parts of the page

/** A table of the model's card; columns of numbers are those without anything else. */
function figuresOf({ columns, rows }) {
  const names = columns.map((name, i) => (rows.every((row) => typeof row[i] === "number") ? `#${name}` : name));
  return table(names, rows.map((row) => row.map((value) => String(value ?? "–"))), { region: columns.join(", ") });
}

function card() {
  return h("section", { className: "card" },
    h("h2", {}, "About this model"),
    about.about ? h("p", {}, about.about) : null,
    h("details", { open: true }, h("summary", {}, "Facts"), h("dl", { className: "facts" }, about.facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]))),
    about.tables.map((one) => h("details", {}, h("summary", {}, one.title), figuresOf(one), one.note ? h("p", { className: "note" }, one.note) : null)),
    about.weaknesses.length ? h("details", {}, h("summary", {}, "What it is bad at"), h("ul", {}, about.weaknesses.map((one) => h("li", {}, one)))) : null);
}

/** The box to type into, with the example, or the text of the address: page.html#text=… */
const typing = (rows, example, oninput) => h("textarea", { id: "text", dir: "auto", rows, value: new URLSearchParams(location.hash.slice(1)).get("text") ?? example, spellcheck: false, oninput });

// ------------------------------------------------------------------------------------------------ taggers

function mountTagger(tagger) {
  const state = { task: tagger.tasks.find((one) => one.classes)?.name ?? tagger.tasks[0].name, threshold: 0, hidden: new Set(), answer: null };
  const task = () => tagger.tasks.find((one) => one.name === state.task);
  const layer = () => state.answer.layers?.[state.task] ?? state.answer;
  const names = () => task().classes ?? task().labels;
  const isShown = (one) => !state.hidden.has(one.label) && (one.probability === undefined || one.probability >= state.threshold);

  const shown = h("div", { className: "text", id: "answer", dir: "auto", role: "region", "aria-label": "Labelled text", tabIndex: 0 });
  const found = h("div", { className: "found", role: "region", "aria-label": "What was found", tabIndex: 0 });
  const legend = h("ul", { className: "legend", "aria-label": "Classes" });
  const figures = h("p", { className: "note", id: "figures" });
  const title = h("h2", {});

  function drawText() {
    const { tokens, entities } = layer();
    const limit = Math.min(state.answer.text.length, MOST_CHARACTERS);
    const parts = [];
    let end = 0;
    for (const [place, one] of (task().classes ? entities : tokens).filter(isShown).entries()) {
      if (one.end > limit) break;
      const drawn = task().classes ? h("mark", { className: `entity ${colour(one.label, names())}`, "data-place": place }, one.text, chip(one.label, names()))
        : h("span", { className: "word", "data-place": place }, one.text, h("span", { className: `tag ${colour(one.label, names())}` }, one.label));
      parts.push(state.answer.text.slice(end, one.start), tip(drawn, () => `${one.label}\nprobability ${percent(one.probability)}\ncharacters ${one.start} to ${one.end}`));
      end = one.end;
    }
    parts.push(state.answer.text.slice(end, limit));
    const left = state.answer.text.length - limit;
    if (left) parts.push(h("span", { className: "note" }, ` … (${left.toLocaleString("en")} more characters are labelled, but not drawn)`));
    shown.replaceChildren(...(tokens.length ? parts : [h("span", { className: "note" }, "Type a text above.")]));
  }

  /** Show the place of an item in the text. */
  function find(place) {
    shown.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
    const target = shown.querySelector(`[data-place="${place}"]`);
    target?.classList.add("chosen");
    target?.scrollIntoView({ block: "nearest" });
  }

  function drawTable() {
    const items = (task().classes ? layer().entities : layer().tokens).filter(isShown);
    title.textContent = `${task().classes ? "Entities" : "Words"}: ${items.length.toLocaleString("en")}`;
    if (!items.length) {
      found.replaceChildren(h("p", { className: "note" }, "Nothing to show."));
      return;
    }
    const rows = items.slice(0, MOST_ROWS).map((one, place) => [
      h("button", { className: "finder", onclick: () => find(place) }, one.text), chip(one.label, names()), percent(one.probability),
      h("td", { className: "barbox" }, h("span", { className: `bar ${colour(one.label, names())}`, style: { width: `${100 * one.probability}%` } }))]);
    found.replaceChildren(table([task().classes ? "Entity" : "Word", "Label", "#Probability", ""], rows), items.length > MOST_ROWS ? h("p", { className: "note" }, `The first ${MOST_ROWS} are listed.`) : "");
  }

  function drawLegend() {
    const counts = new Map();
    for (const one of task().classes ? layer().entities : layer().tokens) counts.set(one.label, (counts.get(one.label) ?? 0) + 1);
    const focused = document.activeElement?.dataset?.label;
    legend.replaceChildren(...names().map((name) => h("li", {}, h("button", {
      className: colour(name, names()), "data-label": name, "aria-pressed": String(!state.hidden.has(name)),
      onclick: () => { if (!state.hidden.delete(name)) state.hidden.add(name); draw(); },
    }, `${name} `, h("b", {}, String(counts.get(name) ?? 0))))));
    if (focused !== undefined) [...legend.querySelectorAll("button")].find((one) => one.dataset.label === focused)?.focus();
  }

  function draw() {
    drawText();
    drawTable();
    drawLegend();
  }

  function label() {
    const begun = performance.now();
    try {
      state.answer = tagger.tag(box.value);
    } catch (error) {
      problem.replaceChildren(failed(error));
      return;
    }
    problem.replaceChildren();
    const { tokens, sentences } = state.answer;
    figures.textContent = `${counted(tokens.length, "token")} in ${counted(sentences.length, "sentence")}, labelled in ${(performance.now() - begun).toFixed(1)} ms`;
    draw();
  }

  // A short text is labelled with every letter; a long one when the typing stops.
  const labelSoon = debounced(150, label);
  const box = typing(4, EXAMPLE, () => (box.value.length < 5000 ? label() : labelSoon()));
  const problem = h("div", {});
  const bound = h("output", { htmlFor: "threshold" }, "0 %");
  const slider = h("input", {
    type: "range", id: "threshold", min: 0, max: 1, step: 0.01, value: 0,
    oninput: () => { state.threshold = Number(slider.value); bound.textContent = `${Math.round(100 * state.threshold)} %`; draw(); },
  });
  const tasks = tagger.tasks.length < 2 ? null : h("fieldset", { className: "row" }, h("legend", { className: "skip" }, "Task"), tagger.tasks.map((one) => h("label", {},
    h("input", { type: "radio", name: "task", value: one.name, checked: one.name === state.task, onchange: () => { state.task = one.name; state.hidden.clear(); draw(); } }), ` ${one.name}`)));

  main.replaceChildren(
    ...heading(about.title, "Type or paste a text. Its labels appear as you type; point at one to see its probability."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "text" }, "Text"), box, problem),
    h("div", { className: "grid" },
      h("div", {},
        h("section", { className: "card" }, h("div", { className: "row" }, h("h2", {}, "Labels"), tasks), shown, figures,
          h("div", { className: "row" }, h("button", { onclick: () => copy(JSON.stringify(state.answer, null, 2), "JSON") }, "Copy as JSON")))),
      h("div", {},
        h("section", { className: "card" }, h("h2", {}, "Show"), legend,
          h("div", { className: "row" }, h("label", { htmlFor: "threshold" }, "Probability at least"), slider, bound)),
        h("section", { className: "card" }, title, found))),
    card());
  label();
}

// ------------------------------------------------------------------------------------------------ tree classifiers

const TREE = "(3 (2 (2 a) (2 film)) (3 (2 that) (3 (2 is) (3 (2 very) (3 good)))))";

function mountTrees(classifier) {
  const { labels } = classifier.tasks[0];
  const answer = h("div", { className: "scroll", id: "answer", role: "region", "aria-label": "Labelled tree", tabIndex: 0 });
  const problem = h("div", {});
  const words = (node) => node.text.replace(/\([^\s()]*|\)/g, " ").trim().replace(/\s+/g, " ");
  const drawn = (node) => h("li", {},
    tip(h("span", { className: "node-line" }, chip(node.label, labels), ` ${words(node)} `, h("span", { className: "note" }, percent(node.probability))),
      () => labels.map((name) => `${name}  ${percent(node.probabilities[name])}`).join("\n")),
    node.children.length ? h("ul", { className: "nodes" }, node.children.map(drawn)) : null);
  function label() {
    try {
      answer.replaceChildren(h("ul", { className: "nodes top" }, drawn(classifier.classifyTree(box.value))));
      problem.replaceChildren();
    } catch (error) {
      problem.replaceChildren(failed(error));
    }
  }
  const box = typing(3, TREE, label);
  main.replaceChildren(
    ...heading(about.title, "Type or paste a tree in brackets. Labels that stand there are not looked at; every phrase gets one."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "text" }, "Tree"), box, problem),
    h("section", { className: "card" }, h("h2", {}, "Labels"), answer), card());
  label();
}

// ------------------------------------------------------------------------------------------------ the beginning

async function begin() {
  const [plain, fast, model] = await Promise.all(["wasm-plain", "wasm-simd", "model"].map(unpacked));
  const simd = hasSimd();
  const tagger = await open(simd ? fast : plain, model);
  globalThis.tagger = tagger; // for the console: tagger.tag("…")
  (tagger.kind === "tagger" ? mountTagger : mountTrees)(tagger);
  document.documentElement.dataset.ready = simd ? "simd" : "plain";
}

begin().catch((error) => main.replaceChildren(h("h1", {}, about.title), h("p", { className: "error", role: "alert" }, `The model cannot run here: ${error.message}`)));

// Errors: the report of `postil evaluate --report` on a labelled file, made by the server; its filters work here.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { built, h } from "/page/dom.js";
import { failed, fitting, heading, missing } from "/page/shared.js";

/** The bytes of a file in base64. */
const encoded = (file) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => fail(new Error(`${file.name} cannot be read`));
  reader.readAsDataURL(file);
});

const TESTS = {
  kind: (item, value) => item.dataset.kind === value,
  label: (item, value) => item.dataset.gold === value || item.dataset.predicted === value,
  gold: (item, value) => item.dataset.gold === value,
  predicted: (item, value) => item.dataset.predicted === value,
  text: (item, value) => [...item.querySelectorAll(".t")].map((part) => part.textContent).join(" ").toLowerCase().includes(value.trim().toLowerCase()),
  min: (item, value) => Number(item.dataset.figure ?? NaN) >= Number(value),
  max: (item, value) => Number(item.dataset.figure ?? NaN) <= Number(value),
};

export function mount(root, values, context) {
  const model = fitting(context, "tagger");
  if (!model) { root.append(missing("tagger")); return; }

  async function opened() {
    const [chosen] = file.files;
    if (!chosen) return;
    problem.replaceChildren();
    answer.classList.add("busy");
    try {
      const content = await call("/api/page/errors", { model: model.name, name: chosen.name.slice(-200), content: await encoded(chosen) }, "errors");
      if (content !== null) { answer.replaceChildren(...content.drawn.map(([, ...rest]) => built(["div", ...rest]))); prepare(); }
    } catch (error) {
      if (error.code === "body") error.message += `. For a large file: postil evaluate MODEL ${chosen.name} --report report.html`;
      answer.replaceChildren(); // the report on another file
      problem.replaceChildren(failed(error));
    }
    answer.classList.remove("busy");
  }

  /** Filters of mistakes and of curves; links lead to sections, or set the filters. */
  function prepare() {
    const form = answer.querySelector("#filters");
    const items = [...answer.querySelectorAll("#examples > li")];
    const show = () => {
      const chosen = [...new FormData(form)].filter(([name, value]) => value !== "" && name in TESTS);
      for (const item of items) item.hidden = !chosen.every(([name, value]) => TESTS[name](item, value));
      answer.querySelector("[role=status]").textContent = `${items.filter((item) => !item.hidden).length.toLocaleString("en")} of ${items.length.toLocaleString("en")} examples`;
    };
    if (form) {
      form.hidden = false;
      form.addEventListener("submit", (event) => event.preventDefault());
      form.addEventListener("input", show);
      form.addEventListener("reset", () => setTimeout(show));
    }
    const curves = answer.querySelector("#curve-choice");
    if (curves) {
      curves.parentElement.hidden = false;
      curves.addEventListener("change", () => { for (const part of answer.querySelectorAll("[data-curve]")) part.classList.toggle("faint", curves.value !== "" && part.dataset.curve !== curves.value); });
    }
    answer.onclick = (event) => {
      const wanted = event.target.closest("a")?.getAttribute("href")?.slice(1);
      if (!wanted) return;
      event.preventDefault();
      const section = answer.querySelector(`#${CSS.escape(wanted)}`);
      if (section || !form) { section?.scrollIntoView(); return; }
      form.reset();
      for (const [name, value] of new URLSearchParams(wanted)) if (form.elements[name]) form.elements[name].value = value;
      setTimeout(show);
      form.scrollIntoView();
    };
  }

  keep("errors", { model: model.name });
  const file = h("input", { type: "file", id: "file", onchange: opened });
  const [answer, problem] = [h("div", { className: "report", id: "report" }), h("div", { className: "problem" })];
  root.append(...heading("Errors", "Open a labelled file: this server scores its model on it and shows every mistake, as postil evaluate --report does. The file is not kept."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "file" }, `Labelled file for ${model.name}`), file), problem, answer);
}

// Errors: the report of `postil evaluate --report` on a labelled file, made by the server; its filters work here.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { built, failed, h, heading } from "/page/dom.js";
import { filters } from "/page/report.js";
import { fitting, missing } from "/page/shared.js";

/** The bytes of a file in base64. */
const encoded = (file) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => fail(new Error(`${file.name} cannot be read`));
  reader.readAsDataURL(file);
});

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

  /** Links lead to sections, or set the filters. */
  function prepare() {
    const found = filters(answer);
    answer.onclick = (event) => {
      const wanted = event.target.closest("a")?.getAttribute("href")?.slice(1);
      if (!wanted) return;
      event.preventDefault();
      const section = answer.querySelector(`#${CSS.escape(wanted)}`);
      if (section) section.scrollIntoView();
      else if (found?.set(wanted)) found.form.scrollIntoView();
    };
  }

  keep("errors", { model: model.name });
  const file = h("input", { type: "file", id: "file", onchange: opened });
  const [answer, problem] = [h("div", { className: "report", id: "report" }), h("div", { className: "problem" })];
  root.append(...heading("Errors", "Open a labelled file: this server scores its model on it and shows every mistake, as postil evaluate --report does. The file is not kept."),
    h("div", { className: "card" }, h("label", { className: "field", htmlFor: "file" }, `Labelled file for ${model.name}`), file), problem, answer);
}

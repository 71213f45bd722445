// Train: a labelled file of the server's folder, loss and dev score while it learns, stop, keep.

import { keep, written } from "/page/address.js";
import { call } from "/page/api.js";
import { failed, h, heading, percent, say } from "/page/dom.js";
import { chart, figures } from "/page/shared.js";

const EVERY = 500; // milliseconds
const RUNNING = ["running", "stopping"];
const LEAD = "Choose a labelled file on the server’s machine, watch the model learn, and keep it under a new name. It is then served with the others.";

export function mount(root, values, context) {
  root.append(...heading("Train", LEAD));
  if (!context.training) {
    root.append(h("p", { className: "error" }, "This server may not train: start it with postil serve MODEL --allow-training FOLDER."));
    return undefined;
  }
  if (values.get("run")) sessionStorage.setItem("run", values.get("run"));
  keep("train", {}); // the token does not stay in the address bar
  let timer = null;
  let closed = false;
  let last = null;

  const ask = (path, body) => call(path, body, path, { "X-Postil-Run": sessionStorage.getItem("run") ?? "" });

  function wrong(error) {
    problem.replaceChildren(failed(error));
    if (error.code === "run") { token.hidden = false; form.hidden = true; }
  }

  async function act(path, body, said) {
    problem.replaceChildren();
    try {
      const state = await ask(path, body);
      if (state === null) return;
      if (said) say(said);
      draw(state);
      if (state.kept && path.endsWith("keep")) document.dispatchEvent(new CustomEvent("models"));
    } catch (error) { wrong(error); }
  }

  async function follow() {
    clearTimeout(timer);
    if (closed) return;
    try {
      const state = await ask("/api/training");
      if (closed || state === null) return;
      draw(state);
    } catch (error) { wrong(error); return; }
    if (RUNNING.includes(last.training.state)) timer = setTimeout(follow, EVERY);
  }

  async function begin() {
    if (!sessionStorage.getItem("run")) { token.hidden = false; return; }
    try {
      const { files, presets } = await ask("/api/training/files");
      const option = (value) => h("option", { value }, value);
      train.replaceChildren(...files.map(option));
      train.value = files.find((name) => name.includes("train")) ?? files[0] ?? "";
      dev.replaceChildren(h("option", { value: "" }, "every tenth sentence"), ...files.map(option));
      preset.replaceChildren(...presets.map((value) => h("option", { value, selected: value === "fast" }, value)));
      startButton.disabled = !files.length;
      nothing.hidden = files.length > 0;
      token.hidden = true;
      form.hidden = false;
      problem.replaceChildren();
    } catch (error) { wrong(error); return; }
    follow();
  }

  async function start() {
    const asked = { train: train.value, preset: preset.value, seed: Number(seed.value) || 0 };
    if (dev.value) asked.dev = dev.value;
    if (epochs.value) asked.epochs = Number(epochs.value);
    await act("/api/training/start", asked, "Training started");
    follow();
  }

  function draw(state) {
    last = state;
    const { training } = state;
    const isRunning = RUNNING.includes(training.state);
    startButton.disabled = isRunning || !train.options.length;
    stopButton.disabled = training.state !== "running";
    const score = training.best_score === null ? "–" : percent(training.best_score);
    if (training.run) {
      const told = { running: "learning", stopping: "stopping after this batch", finished: "finished", stopped: "stopped", failed: "failed" }[training.state] ?? training.state;
      progress.replaceChildren(
        figures([["state", told], ["epoch", `${training.epoch}${training.epochs ? ` of ${training.epochs}` : ""}`],
          ["loss", training.loss === null ? "–" : training.loss.toFixed(4)], ["best dev score", score], ["time", `${training.seconds.toFixed(1)} s`]]),
        h("progress", { max: 1, value: training.progress, "aria-label": "Progress of the training" }),
        h("div", { className: "grid even" }, chart("Loss", training.history.map((one) => [one.epoch, one.loss]), (value) => value.toFixed(3)),
          chart("Score on dev", training.history.filter((one) => one.score !== null).map((one) => [one.epoch, 100 * one.score]), (value) => value.toFixed(1), "epoch", training.history.some((one) => one.epoch === training.best_epoch && one.score !== null) ? training.best_epoch : null)),
        training.error ? failed({ message: training.error }) : "");
    }
    keeping.hidden = !state.can_keep;
    kept.replaceChildren(state.kept ? h("p", { className: "card" }, `Kept and served as ${state.kept}: `, h("a", { href: written("tag", { model: state.kept }) }, "open it in Tag")) : "");
  }

  const field = (id, title, control) => { control.id = id; return h("div", {}, h("label", { className: "field", htmlFor: id }, title), control); };
  const [train, dev, preset] = [h("select"), h("select"), h("select")];
  const epochs = h("input", { type: "number", min: 1, max: 1000, placeholder: "as preset" });
  const seed = h("input", { type: "number", min: 0, value: 0 });
  const startButton = h("button", { className: "first", onclick: start }, "Start");
  const stopButton = h("button", { disabled: true, onclick: () => act("/api/training/stop", {}, "Stopping") }, "Stop");
  const name = h("input", { type: "text", maxLength: 64, placeholder: "my-model" });
  const given = h("input", { type: "password", autocomplete: "off" });
  const [problem, progress, kept] = [h("div"), h("section", { "aria-label": "Progress" }), h("div", { role: "status" })];
  const nothing = h("p", { className: "note", hidden: true }, "The folder has no files.");
  const token = h("section", { className: "card", hidden: true, "aria-label": "Token" }, field("run", "Token of this run, which postil serve printed", given),
    h("div", { className: "row" }, h("button", { onclick: () => { sessionStorage.setItem("run", given.value.trim()); begin(); } }, "Use it")));
  const form = h("section", { className: "card", hidden: true, "aria-label": "Settings" },
    h("div", { className: "row" }, field("train", "Labelled file", train), field("dev", "Held-out data", dev), field("preset", "Preset", preset), field("epochs", "Epochs", epochs), field("seed", "Seed", seed)),
    nothing, h("div", { className: "row" }, startButton, stopButton));
  const keeping = h("section", { className: "card", hidden: true, "aria-label": "Keep" }, h("div", { className: "row" }, field("name", "Keep the model as", name), h("button", { id: "keep", onclick: () => { if (name.value.trim()) act("/api/training/keep", { name: name.value.trim() }, "Kept"); else name.focus(); } }, "Keep")));
  root.append(problem, token, form, progress, keeping, kept);
  begin();
  return () => { closed = true; clearTimeout(timer); };
}

// In place of the server and of the served page's addresses: the engine in the essay answers what the lattice asks.

import { written } from "./address.js";

let started;
/** Settled with the tagger of names once its model is loaded. */
export const engine = new Promise((resolve, reject) => { started = { resolve, reject }; });
export const start = (tagger) => started.resolve(tagger);
export const fail = (error) => started.reject(error);

export async function call(path, { text }) {
  const { labels } = ESSAY; // the states of the chain; the engine names them as they are written, several alike
  return { sentences: (await engine).lattices(text).map((one) => ({ ...one, labels })) };
}

/** The state of a figure into the address, once a reader is in it. */
export function keep(figure, values) {
  if (!document.getElementById(`${figure}-figure`).matches(":focus-within")) return;
  history.replaceState(null, "", written(figure, { ...values, model: "" }).replace("#/", "#"));
}

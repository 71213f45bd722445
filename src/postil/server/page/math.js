// Formulas as MathML, from one line of text: "∂J/∂W = δ x^⊤", "α_t(j)", with groups in braces.

import { filled } from "/page/dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TOKEN = /∂(\w+)\/∂(\w+)|[{}^_]|“[^”]*”|−?\d+(?:\.\d+)?(?:e[+−]?\d+)?|\p{L}+[′']?|\S/gu;

const tokens = (text) => [...text.matchAll(TOKEN)];
const m = (name, ...children) => filled(document.createElementNS(MATHML, name), name === "mo" ? { stretchy: "false" } : {}, children);
const kindOf = (token) => (token.startsWith("“") ? "mtext" : /^−?\d/.test(token) ? "mn" : /^\p{L}/u.test(token) ? "mi" : "mo");

/** One token, group or fraction of derivatives, with the scripts that follow it. */
function part(left) {
  const [token, above, below] = left.shift();
  let base;
  if (above) base = m("mfrac", m("mrow", m("mi", "∂"), ...parts(tokens(above))), m("mrow", m("mi", "∂"), ...parts(tokens(below))));
  else if (token === "{") base = m("mrow", ...parts(left, "}"));
  else base = m(kindOf(token), token.replace(/^“|”$/g, token.length > 2 ? "\u00a0" : ""));
  while (left.length && "^_".includes(left[0][0])) base = m(left.shift()[0] === "^" ? "msup" : "msub", base, part(left));
  return base;
}

function parts(left, until = null) {
  const found = [];
  while (left.length && left[0][0] !== until) found.push(part(left));
  left.shift();
  return found;
}

/** A formula as an element; words in quotes are text. */
export const formula = (text) => m("math", ...parts(tokens(text)));

/** One entry of a node, or of its gradient, spelt out: name_{2} = 0.02 · (−0.93) + … = 0.31. */
export function spelt(name, entry, text, output = null) {
  const symbol = m("msub", m("mtext", name), m("mn", entry));
  const left = output === null ? symbol : m("mfrac", m("mrow", m("mi", "∂"), m("mtext", output)), m("mrow", m("mi", "∂"), symbol));
  return m("math", left, m("mo", "="), ...parts(tokens(text)));
}

import { h } from "/page/dom.js";
export function mount(root) { root.append(h("p", {}, "Not supported yet.")); }

// Card: what is known about the chosen model.

import { keep } from "/page/address.js";
import { call } from "/page/api.js";
import { built, failed, h, heading } from "/page/dom.js";

export function mount(root, values, context) {
  const model = context.model ?? context.models[0];
  keep("card", { model: model.name });
  const answer = h("div", { className: "report card" });
  root.append(...heading(model.name, "What this model is, where it comes from, and what it is bad at."), answer);
  call("/api/page/card", { model: model.name }).then((content) => answer.replaceChildren(...(content?.drawn ?? []).map((one) => built(one))), (error) => answer.replaceChildren(failed(error)));
}

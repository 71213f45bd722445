"""Records of JSON Lines with several layers of labels, as a model of several tasks writes them.

{"text": "…", "layers": {"names": {"spans": […]}, "upos": {"tokens": [{"start": 0, "end": 4, "label": "…"}, …]}}}
"""

from collections.abc import Callable
from typing import Any

from postil.errors import DataError
from postil.text.annotations.records import LABEL_FIELDS, SPAN_FIELDS
from postil.text.lines import shortened
from postil.text.splitting.tokenise import Tokens

LAYERS = "layers"


def of_layer(fields: dict[str, Any], layer: str, where: str, cut: Callable[[str], Tokens]) -> dict[str, Any]:
    """The record with the labels of one layer and no others; a record without layers as it is.

    Tokens of a layer that are those into which ``cut`` cuts the text are left out: then the text is cut into sentences,
    as it was before it was labelled.
    """
    layers = fields.get(LAYERS)
    if not isinstance(layers, dict):
        return fields
    content = layers.get(layer)
    if not isinstance(content, dict):
        known = ", ".join(layers) or "none"
        raise DataError(f"no layer {layer!r}", expected="one of the layers of the record", got=known, where=where)
    kept = {name: value for name, value in fields.items() if name not in (*SPAN_FIELDS, *LABEL_FIELDS, LAYERS)}
    tokens = content.get("tokens")
    if tokens is None:
        return kept | {"spans": content.get("spans")}
    labels = _labels(tokens, layer, where)
    if not labels:
        return kept | {"spans": []}
    places = [{name: token[name] for name in ("text", "start", "end") if name in token} for token in tokens]
    text = fields.get("text")
    if "tokens" not in fields and isinstance(text, str) and _places(cut(text)) == _given_places(places):
        return kept | {"labels": labels}
    return kept | {"tokens": places, "labels": labels}


def _labels(tokens: Any, layer: str, where: str) -> list[str]:
    if not isinstance(tokens, list):
        raise DataError(f"tokens of the layer {layer!r}", expected="a list", got=shortened(repr(tokens)), where=where)
    for token in tokens:
        if not isinstance(token, dict) or not isinstance(token.get("label"), str):
            what, expected = f"a token of the layer {layer!r}", '{"start": …, "end": …, "label": "…"}'
            raise DataError(what, expected=expected, got=shortened(repr(token)), where=where)
    return [token["label"] for token in tokens]


def _places(tokens: Tokens) -> list[tuple[Any, Any]]:
    return list(zip(tokens.starts, tokens.ends, strict=True))


def _given_places(tokens: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    return [(token.get("start"), token.get("end")) for token in tokens]

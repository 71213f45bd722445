"""JSON Schemas of the requests. ``schema.check`` validates requests against them; ``openapi.py`` publishes them."""

from typing import Any

from postil.models.config import PRESETS
from postil.text.trees.tree import SHAPES

MOST_TEXTS = 1_000
MOST_NBEST = 50
MOST_CONSTRAINTS = 1_000
_PLACE = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}


def _object(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**content, "required": required} if required else content


def _list(items: Any, **sizes: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **sizes}


_CONSTRAINED = _object(["start", "end"], start=_PLACE, end=_PLACE, label={"type": ["string", "null"]})
_LABELS = _list({"type": "string"}, minItems=1, maxItems=1000)

MODEL = {
    "type": "string",
    "maxLength": 200,
    "description": "Name of a served model, as /api/models lists it. May be left out where one model fits.",
}
TEXT = {"type": "string", "description": "Raw text. It is cut into sentences and tokens."}
TOKENS = {
    **_list({"type": "string", "minLength": 1}),
    "description": "One sentence, as a list of its tokens.",
}
CONSTRAINTS = {
    **_object(
        force=_list(_CONSTRAINED, maxItems=MOST_CONSTRAINTS),
        forbid=_list(_CONSTRAINED, maxItems=MOST_CONSTRAINTS),
        allow=_list(_object(["start", "end", "labels"], start=_PLACE, end=_PLACE, labels=_LABELS), maxItems=100),
    ),
    "description": "What is known already. Offsets count characters of a text, tokens of a list of tokens.",
}
DOCUMENT = {
    "oneOf": [
        _object(["text"], text=TEXT, constraints=CONSTRAINTS),
        _object(["tokens"], tokens=TOKENS, constraints=CONSTRAINTS),
    ],
}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
OPTIONS = {
    "probabilities": {"type": "boolean", "description": "Add probabilities (taggers; default: true)."},
    "nbest": {"type": "integer", "minimum": 1, "maximum": MOST_NBEST, "description": "Add the best labellings."},
    "threshold": {**PROBABILITY, "description": "Drop entities that are less probable than this."},
    "thresholds": {
        "type": "object",
        "additionalProperties": PROBABILITY,
        "description": "The same by class; takes precedence over threshold.",
    },
    "all_above": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 1,
        "description": "Add every span that is at least this probable.",
    },
    "tokens": {"type": "boolean", "description": "Add the tokens of texts and the places of sentences."},
    "marginals": {"type": "boolean", "description": "Add the probability of every label at every token (taggers)."},
}

TAG = {
    "oneOf": [
        _object(["text"], model=MODEL, options=_object(**OPTIONS), text=TEXT, constraints=CONSTRAINTS),
        _object(["tokens"], model=MODEL, options=_object(**OPTIONS), tokens=TOKENS, constraints=CONSTRAINTS),
        _object(
            ["documents"],
            model=MODEL,
            options=_object(**OPTIONS),
            documents={**_list(DOCUMENT, minItems=1, maxItems=MOST_TEXTS), "description": "Many at once."},
        ),
    ],
}
SPAN = {
    **_object(["start", "end"], start=_PLACE, end=_PLACE),
    "description": "Tokens, counted through all sentences. Default: every entity that is found.",
}
LABEL = {"type": "string", "maxLength": 200, "description": "Explain this label. Default: the predicted one."}
BRACKETS = {"type": "string", "description": "A tree: (3 (2 not) (1 bad))."}
EXPLAIN = {
    "oneOf": [
        _object(["text"], model=MODEL, text=TEXT, span=SPAN, label=LABEL),
        _object(["tokens"], model=MODEL, tokens=TOKENS, span=SPAN, label=LABEL),
        _object(["brackets"], model=MODEL, brackets=BRACKETS, label=LABEL),
    ],
}
SHAPE = {"enum": list(SHAPES), "type": "string", "description": "Shape of the tree over a text."}
TREE = {
    "oneOf": [
        _object(["text"], model=MODEL, text=TEXT, shape=SHAPE),
        _object(["tokens"], model=MODEL, tokens=TOKENS, shape=SHAPE),
        _object(["brackets"], model=MODEL, brackets=BRACKETS),
    ],
}
LATTICE = {
    "oneOf": [
        _object(["text"], model=MODEL, text=TEXT, nbest=OPTIONS["nbest"]),
        _object(["tokens"], model=MODEL, tokens=TOKENS, nbest=OPTIONS["nbest"]),
    ],
}
GRAPH_LABELS = {**_list({"type": "string"}), "description": "Gold labels of the loss. Default: the predicted ones."}
MOST_EDITS = 100
_NODE_KEY = {"type": "string", "maxLength": 200, "description": "Key of a node, as an answer without edits has it."}
_NUMBER = {"type": "number", "minimum": -1e9, "maximum": 1e9}
_ENTRY = {"type": "integer", "minimum": 0, "maximum": 15}
EDIT = {
    "oneOf": [
        _object(["node", "row", "column", "value"], node=_NODE_KEY, row=_ENTRY, column=_ENTRY, value=_NUMBER),
        _object(
            ["optimiser", "rate"],
            optimiser={"enum": ["sgd", "adagrad", "adam"], "type": "string"},
            rate={"type": "number", "minimum": 0, "maximum": 1000},
        ),
    ],
}
GRAPH_OPTIONS = {
    "labels": GRAPH_LABELS,
    "edits": {
        **_list(EDIT, maxItems=MOST_EDITS),
        "description": "What is changed, in this order: numbers of nodes, single steps of learning. Nothing is kept.",
    },
    "check": {
        **_object(["node", "step"], node=_NODE_KEY, step={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        "description": "Compare the gradient of this node with numerical slopes.",
    },
}
GRAPH = {
    "oneOf": [
        _object(["text"], model=MODEL, text=TEXT, **GRAPH_OPTIONS),
        _object(["tokens"], model=MODEL, tokens=TOKENS, **GRAPH_OPTIONS),
    ],
}

# What the page of ``postil annotate`` sends. Places count words.
_NAME = {"type": "string", "maxLength": 200}
_LABELLED = _object(["start", "end", "label"], start=_PLACE, end=_PLACE, label=_NAME)
ANSWER = _object(["key"], key=_NAME, spans=_list(_LABELLED, maxItems=10_000), skipped={"type": "boolean"})
LOOK = _object(["back"], back=_PLACE)
CLASS = _object(["name"], name=_NAME)
NOTHING = _object()

_FILE = {
    "type": "string",
    "minLength": 1,
    "maxLength": 500,
    "description": "Name of a file, as GET /api/training/files lists it.",
}
TRAINING_START = _object(
    ["train"],
    train=_FILE,
    dev={**_FILE, "description": "Held-out file. Default: every tenth sentence of the training file."},
    preset={"enum": [name for name in PRESETS if name != "margin"], "type": "string"},
    epochs={"type": "integer", "minimum": 1, "maximum": 1000},
    seed={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
)
TRAINING_KEEP = _object(
    ["name"], name={"type": "string", "minLength": 1, "maxLength": 80, "description": "A new name for the model."}
)

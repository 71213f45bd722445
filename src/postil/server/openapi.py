"""The OpenAPI description: the schemas that requests are checked by, and those that answers keep to."""

from importlib.metadata import version
from typing import Any

from postil.server import requests
from postil.server.failures import CODES

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_PLACE = {"type": "integer", "minimum": 0}
_MAYBE_NUMBER = {"type": ["number", "null"]}


def _object(required: dict[str, Any], /, **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


_SPAN = _object({"start": _PLACE, "end": _PLACE, "label": _TEXT}, text=_TEXT, probability=_SHARE, score=_NUMBER)
_TOKEN = _object(
    {"text": _TEXT, "start": _PLACE, "end": _PLACE, "id": _PLACE}, label=_TEXT, probability=_SHARE, score=_NUMBER
)
_LABELLING = _object({"labels": _list(_TEXT), "probability": _SHARE})
_DOCUMENT = _object(
    {"text": _TEXT},
    spans=_list(_SPAN),
    labels=_list(_TEXT),
    tokens=_list({"oneOf": [_TEXT, _TOKEN]}),
    sentences=_list({"type": "array", "items": _PLACE, "minItems": 2, "maxItems": 2}),
    constraints=requests.CONSTRAINTS,
    labelling_probabilities=_list(_SHARE),
    probabilities=_list(_SHARE),
    spans_above=_list(_SPAN),
    nbest=_list(_list(_LABELLING)),
    marginals=_list(_map(_SHARE)),
    layers=_map(
        _object({}, spans=_list(_SPAN), tokens=_list(_TOKEN), labelling_probabilities=_list(_SHARE)),
    ),
)
_CONTRIBUTION = _object({"gradient": _MAYBE_NUMBER, "left_out": _MAYBE_NUMBER})
_EXPLANATION = {
    "type": "object",
    "required": ["label", "words"],
    "properties": {
        "tokens": _list(_TEXT),
        "start": _PLACE,
        "end": _PLACE,
        "text": _TEXT,
        "label": _TEXT,
        "measure": _TEXT,
        "value": _MAYBE_NUMBER,
        "probability": _MAYBE_NUMBER,
        "parts": _map(_MAYBE_NUMBER),
        "unknown": _MAYBE_NUMBER,
        "words": _list({"type": "object", "required": ["word"]}),
        "features": _map(_CONTRIBUTION),
        "phrases": _list({"type": "object"}),
    },
}
_PHRASE = _object({"start": _PLACE, "end": _PLACE, "label": _TEXT, "probability": _SHARE})
_TREE = _object(
    {"tokens": _list(_TEXT), "label": {"type": ["string", "null"]}},
    text=_TEXT,
    probability=_SHARE,
    probabilities=_map(_SHARE),
    tree=_TEXT,
    phrases=_list(_PHRASE),
)
_ROW, _TABLE = _list(_MAYBE_NUMBER), _list(_list(_MAYBE_NUMBER))
_LATTICE = _object(
    {
        "tokens": _list(_TEXT),
        "labels": _list(_TEXT),
        "unary": _TABLE,
        "transitions": _TABLE,
        "start": _ROW,
        "end": _ROW,
        "alphas": _TABLE,
        "betas": _TABLE,
        "marginals": _TABLE,
        "log_partition": _NUMBER,
        "paths": _list(_object({"labels": _list(_PLACE), "probability": _SHARE})),
    }
)
_NODE = _object(
    {
        "name": _TEXT,
        "key": {"type": ["string", "null"]},
        "kind": {"enum": ["input", "parameter", "result"]},
        "shape": _list(_PLACE),
        "parents": _list(_PLACE),
        "rms": _MAYBE_NUMBER,
        "norm": _MAYBE_NUMBER,
        "rows": _list(_PLACE),
        "value": _TABLE,
        "gradient": _TABLE,
    }
)
_MODEL = _object(
    {
        "name": _TEXT,
        "kind": {"enum": ["tagger", "detector", "tree-classifier", "multi-task-tagger"]},
        "labels": _list(_TEXT),
        "classes": _list(_TEXT),
        "spans": {"type": "boolean"},
        "scheme": _TEXT,
    },
    tasks=_list(_TEXT),
)
_MAYBE_TEXT = {"type": ["string", "null"]}
_EPOCH = _object({"epoch": _PLACE, "loss": _NUMBER, "score": _MAYBE_NUMBER, "seconds": _NUMBER})
_STATES = ("idle", "running", "stopping", "finished", "stopped", "failed")
_TRAINING = _object(
    {
        "training": _object(
            {
                "run": _PLACE,
                "state": {"enum": list(_STATES)},
                "epoch": _PLACE,
                "epochs": {"type": ["integer", "null"]},
                "progress": _NUMBER,
                "loss": _MAYBE_NUMBER,
                "score": _MAYBE_NUMBER,
                "best_score": _MAYBE_NUMBER,
                "best_epoch": {"type": ["integer", "null"]},
                "seconds": _NUMBER,
                "history": _list(_EPOCH),
                "error": _MAYBE_TEXT,
                "version": _PLACE,
            }
        ),
        "asked": {"type": "object"},
        "kept": _TEXT,
        "can_keep": {"type": "boolean"},
    }
)
_STATUS = _object({"status": _TEXT})
_ERROR = _object({"error": _object({"code": {"enum": list(CODES)}, "message": _TEXT})})

_ALWAYS = ("host", "origin", "token", "method", "internal")
_OF_POSTS = ("json", "schema", "model", "slow", "body", "tokens", "type", "unfit", "busy")


def description(*, training: bool = False) -> dict[str, Any]:
    """The whole API in OpenAPI 3.1; with ``training`` also what ``--allow-training`` adds."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postil",
            "version": version("postil"),
            "description": "Labels on words and phrases, with exact probabilities.",
        },
        "paths": {
            "/api/tag": _post(
                "tag",
                "Labels and entities of texts or of lists of tokens",
                requests.TAG,
                _object({"model": _TEXT, "documents": _list(_DOCUMENT)}),
            ),
            "/api/explain": _post(
                "explain",
                "What each word contributed to an answer",
                requests.EXPLAIN,
                _object({"model": _TEXT, "explanations": _list(_EXPLANATION)}),
            ),
            "/api/tree": _post(
                "tree",
                "A label for every phrase of a tree",
                requests.TREE,
                _object({"model": _TEXT, "trees": _list(_TREE)}),
            ),
            "/api/lattice": _post(
                "lattice",
                "Scores, messages and marginals of forward-backward; null stands for minus infinity",
                requests.LATTICE,
                _object({"model": _TEXT, "sentences": _list(_LATTICE)}),
            ),
            "/api/graph": _post(
                "graph",
                "The flow graph of the loss on one sentence; large arrays are cut, null stands for minus infinity",
                requests.GRAPH,
                _object(
                    {
                        "model": _TEXT,
                        "tokens": _list(_TEXT),
                        "labels": _list(_TEXT),
                        "nodes": _list(_NODE),
                        "losses": _ROW,
                    },
                    check=_object({"node": _TEXT, "central": _TABLE, "one_sided": _TABLE}),
                ),
            ),
            "/api/models": _get(
                "models",
                "The served models, and whether others can be trained",
                _object({"models": _list(_MODEL), "training": {"type": "boolean"}}),
            ),
            "/api/openapi.json": _get("openapi", "This description", {"type": "object"}),
            "/health": _get("health", "Whether the process is alive", _STATUS),
            "/ready": _get("ready", "Whether requests are answered", _STATUS, "busy"),
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "Counters in Prometheus's text format",
                    "responses": {
                        "200": {"description": "Counters.", "content": {"text/plain": {"schema": _TEXT}}},
                        **_errors(*_ALWAYS),
                    },
                }
            },
            **(_training_paths() if training else {}),
        },
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "run": {"type": "apiKey", "in": "header", "name": "X-Postil-Run"},
            }
        },
        "security": [{}, {"token": []}],
    }


def _training_paths() -> dict[str, Any]:
    """Routes that need the token of the run."""
    paths = {
        "/api/training": _get("training", "Where the training stands", _TRAINING, "run"),
        "/api/training/files": _get(
            "training_files",
            "Files that can be trained on, and presets",
            _object({"files": _list(_TEXT), "presets": _list(_TEXT)}),
            "run",
        ),
        "/api/training/start": _post("start_training", "Train a tagger", requests.TRAINING_START, _TRAINING, "run"),
        "/api/training/stop": _post("stop_training", "End the training", requests.NOTHING, _TRAINING, "run"),
        "/api/training/keep": _post(
            "keep_model", "Write the model to a new file and serve it", requests.TRAINING_KEEP, _TRAINING, "run"
        ),
    }
    for methods in paths.values():
        for operation in methods.values():
            operation["security"] = [{"run": []}, {"run": [], "token": []}]
    return paths


def _post(name: str, summary: str, request: Any, answer: Any, *codes: str) -> dict[str, Any]:
    return {
        "post": {
            "operationId": name,
            "summary": summary,
            "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
            "responses": {"200": _json("The answer.", answer), **_errors(*_ALWAYS, *_OF_POSTS, *codes)},
        }
    }


def _get(name: str, summary: str, answer: Any, *codes: str) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "responses": {"200": _json("The answer.", answer), **_errors(*_ALWAYS, *codes)},
        }
    }


def _errors(*codes: str) -> dict[str, Any]:
    """Status -> an answer that lists the meanings of its codes."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        status, meaning = CODES[code]
        by_status.setdefault(status, []).append(f"{code}: {meaning}")
    return {str(status): _json(" ".join(meanings), _ERROR) for status, meanings in sorted(by_status.items())}


def _json(meaning: str, schema: Any) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}

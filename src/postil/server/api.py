# ruff: noqa: UP013 - a short answer is a line
"""The API as types: what may be asked, what is answered. Decoding, checks and the OpenAPI description come from them.

A request that has alternatives (a text or a list of tokens …) names them in ``ALTERNATIVES``: the fields that one of
them needs, and those that may come with it. Exactly one must be there.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from postil.models.config import PRESETS
from postil.server.requests import CODES, refused
from postil.text.trees.tree import SHAPES

PRESETS_OFFERED = tuple(name for name in PRESETS if name != "margin")
_Kind = TypeVar("_Kind")
Maybe: TypeAlias = _Kind | UnsetType
"""A field that may be left out."""


def about(text: str) -> Meta:
    """The description of a field in the OpenAPI document."""
    return Meta(description=text)


Place = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(max_length=200)]
if TYPE_CHECKING:
    Preset = str
    Shape = str
    Code = str
else:
    Preset, Shape, Code = Literal[PRESETS_OFFERED], Literal[tuple(SHAPES)], Literal[tuple(CODES)]

# ------------------------------------------------------------------------------------------------ requests


class Request(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object whose fields are checked; a field that was left out is UNSET."""

    ALTERNATIVES: ClassVar[Mapping[tuple[str, ...], tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        if not self.ALTERNATIVES:
            return
        fields = {name for needed, optional in self.ALTERNATIVES.items() for name in (*needed, *optional)}
        present = {name for name in fields if getattr(self, name) is not UNSET}
        fitting = [
            needed for needed, optional in self.ALTERNATIVES.items() if set(needed) <= present <= {*needed, *optional}
        ]
        if len(fitting) != 1:
            raise ValueError("must have " + " or ".join(" and ".join(needed) for needed in self.ALTERNATIVES))


class SpanAsked(Request):
    start: Place
    end: Place


class Constrained(SpanAsked):
    label: str | None = None


class Allowed(SpanAsked):
    labels: Annotated[list[str], Meta(min_length=1, max_length=1000)]


class ConstraintsAsked(Request):
    require: Maybe[Annotated[list[Constrained], Meta(max_length=1000)]] = UNSET
    forbid: Maybe[Annotated[list[Constrained], Meta(max_length=1000)]] = UNSET
    allow: Maybe[Annotated[list[Allowed], Meta(max_length=100)]] = UNSET


Model = Annotated[
    str,
    Meta(max_length=200, description="Name of a model, as /api/models lists it. Not needed if only one model fits."),
]
Text = Annotated[str, about("Raw text. It is split into sentences and tokens.")]
Tokens = Annotated[list[Annotated[str, Meta(min_length=1)]], about("One sentence, as a list of its tokens.")]
Known = Annotated[
    ConstraintsAsked, about("What is known already. Offsets count characters of a text, tokens of a list of tokens.")
]
Brackets = Annotated[str, about("A tree: (3 (2 not) (1 bad)).")]
Best = Annotated[int, Meta(ge=1, le=50, description="Number of best labellings to add.")]
Label = Annotated[str, Meta(max_length=200, description="Explain this label. Default: the predicted one.")]


class DocumentAsked(Request):
    ALTERNATIVES = {("text",): ("constraints",), ("tokens",): ("constraints",)}
    text: Maybe[Text] = UNSET
    tokens: Maybe[Tokens] = UNSET
    constraints: Maybe[Known] = UNSET


class TagOptions(Request):
    probabilities: Maybe[Annotated[bool, about("Add probabilities (taggers; default: true).")]] = UNSET
    nbest: Maybe[Best] = UNSET
    threshold: Maybe[Annotated[Share, about("Drop entities below this probability.")]] = UNSET
    thresholds: Maybe[Annotated[dict[str, Share], about("The same by class; takes precedence over threshold.")]] = UNSET
    all_above: Maybe[
        Annotated[float, Meta(gt=0, le=1, description="Add every span that is at least this probable.")]
    ] = UNSET
    tokens: Maybe[Annotated[bool, about("Add the tokens and the sentence boundaries.")]] = UNSET
    marginals: Maybe[Annotated[bool, about("Add the probability of every label at every token (taggers).")]] = UNSET


class Tag(DocumentAsked):
    ALTERNATIVES = {**DocumentAsked.ALTERNATIVES, ("documents",): ()}
    model: Maybe[Model] = UNSET
    options: TagOptions = msgspec.field(default_factory=TagOptions)
    documents: Maybe[Annotated[list[DocumentAsked], Meta(min_length=1, max_length=1000)]] = UNSET


class TextAsked(Request):
    ALTERNATIVES = {("text",): (), ("tokens",): ()}
    model: Maybe[Model] = UNSET
    text: Maybe[Text] = UNSET
    tokens: Maybe[Tokens] = UNSET


class Explain(TextAsked):
    ALTERNATIVES = {("text",): ("span",), ("tokens",): ("span",), ("brackets",): ()}
    brackets: Maybe[Brackets] = UNSET
    span: Maybe[Annotated[SpanAsked, about("Tokens, counted through all sentences. Default: every entity.")]] = UNSET
    label: Maybe[Label] = UNSET


class TreeAsked(TextAsked):
    ALTERNATIVES = {("text",): ("shape",), ("tokens",): ("shape",), ("brackets",): ()}
    brackets: Maybe[Brackets] = UNSET
    shape: Maybe[Annotated[Shape, about("Shape of the tree over a text.")]] = UNSET


class ErrorsAsked(Request):
    name: Annotated[Name, about("Name of the labelled file, which messages use.")]
    content: Annotated[str, about("Its bytes in base64.")]
    model: Maybe[Model] = UNSET


class CardAsked(Request):
    model: Maybe[Model] = UNSET


NodeKey = Annotated[str, Meta(max_length=200, description="Key of a node, as an answer without edits lists it.")]
Entry = Annotated[int, Meta(ge=0, le=15)]


class Edit(Request):
    ALTERNATIVES = {("node", "row", "column", "value"): (), ("optimiser", "rate"): ()}
    node: Maybe[NodeKey] = UNSET
    row: Maybe[Entry] = UNSET
    column: Maybe[Entry] = UNSET
    value: Maybe[Annotated[float, Meta(ge=-1e9, le=1e9)]] = UNSET
    optimiser: Maybe[Literal["sgd", "adagrad", "adam"]] = UNSET
    rate: Maybe[Annotated[float, Meta(ge=0, le=1000)]] = UNSET


class SlopesAsked(Request):
    node: NodeKey
    step: Annotated[float, Meta(gt=0, le=1)]


class GraphAsked(TextAsked):
    labels: Maybe[Annotated[list[str], about("Gold labels. Default: the predicted ones.")]] = UNSET
    edits: Maybe[
        Annotated[list[Edit], Meta(max_length=100, description="Changed numbers and single training steps, in order.")]
    ] = UNSET
    check: Maybe[Annotated[SlopesAsked, about("Compare the gradient of this node with numerical slopes.")]] = UNSET


class Nothing(Request):
    """An empty object."""


class SpanGiven(SpanAsked):
    label: Name


class AnswerGiven(Request):
    """The answer that the page of ``postil annotate`` sends. Offsets count words."""

    key: Name
    spans: Annotated[list[SpanGiven], Meta(max_length=10_000)] = []
    skipped: bool = False


class Look(Request):
    back: Place


class NewClass(Request):
    name: Name


class RulesSaved(Request):
    """A file of rules or a list as the page of ``postil annotate`` saves it."""

    name: Name
    text: str
    stamp: Annotated[Name, about("The stamp of the text that was edited, as GET /api/annotation/rules tells it.")]
    replace: Annotated[bool, about("Whether to replace a file that has changed on the disk meanwhile.")] = False


File = Annotated[
    str, Meta(min_length=1, max_length=500, description="Name of a file, as GET /api/training/files lists it.")
]


class TrainingStart(Request):
    train: File
    dev: Maybe[Annotated[File, about("Held-out file. Default: every tenth sentence of the training file.")]] = UNSET
    preset: Preset = "fast"
    epochs: Maybe[Annotated[int, Meta(ge=1, le=1000)]] = UNSET
    seed: Place = 0


class TrainingKeep(Request):
    name: Annotated[str, Meta(min_length=1, max_length=80, description="A new name for the model.")]


Asked = TypeVar("Asked", bound=Request)


def _number(text: str) -> float:
    """A number with a point or exponent; JSON does not distinguish 1.0 from 1."""
    number = float(text)
    return int(number) if number.is_integer() else number


_DECODER = msgspec.json.Decoder(float_hook=_number)


def decoded(body: bytes, kind: type[Asked]) -> Asked:
    """The request in a body; a refusal that says what is wrong, and where."""
    try:
        return msgspec.convert(_DECODER.decode(body), kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        where = re.sub(r"^\$\.?", "", place.strip("`"))
        message = message[:1].lower() + message[1:]
        raise refused("schema", f"{where}: {message}" if where else f"the request: {message}") from None
    except UnicodeError:
        raise refused("json", "the body must be JSON in UTF-8") from None
    except msgspec.DecodeError as error:
        raise refused("json", f"the body must be JSON: {error}") from None
    except RecursionError:
        raise refused("json", "the body is nested too deeply") from None


# ------------------------------------------------------------------------------------------------ answers
# The types only describe: answers are written as bytes by what computes them.

Row = list[float | None]
Table = list[Row]


class SpanFound(TypedDict):
    start: Place
    end: Place
    label: str
    group: NotRequired[str]
    text: NotRequired[str]
    probability: NotRequired[Share]
    score: NotRequired[float]


class TokenFound(TypedDict):
    text: str
    start: Place
    end: Place
    id: Place
    label: NotRequired[str]
    probability: NotRequired[Share]
    score: NotRequired[float]


RankedLabels = TypedDict("RankedLabels", {"labels": list[str], "probability": Share})


class TaskLayer(TypedDict):
    spans: NotRequired[list[SpanFound]]
    tokens: NotRequired[list[TokenFound]]
    labelling_probabilities: NotRequired[list[Share]]


class TaggedDocument(TypedDict):
    text: str
    spans: NotRequired[list[SpanFound]]
    labels: NotRequired[list[str]]
    tokens: NotRequired[list[str | TokenFound]]
    sentences: NotRequired[list[tuple[Place, Place]]]
    constraints: NotRequired[ConstraintsAsked]
    labelling_probabilities: NotRequired[list[Share]]
    probabilities: NotRequired[list[Share]]
    spans_above: NotRequired[list[SpanFound]]
    nbest: NotRequired[list[list[RankedLabels]]]
    marginals: NotRequired[list[dict[str, Share]]]
    layers: NotRequired[dict[str, TaskLayer]]


TagAnswer = TypedDict("TagAnswer", {"model": str, "documents": list[TaggedDocument]})
Contribution = TypedDict("Contribution", {"gradient": float | None, "left_out": float | None})


class Explained(TypedDict):
    label: str
    words: list[dict[str, Any]]
    tokens: NotRequired[list[str]]
    start: NotRequired[Place]
    end: NotRequired[Place]
    text: NotRequired[str]
    measure: NotRequired[str]
    value: NotRequired[float | None]
    probability: NotRequired[float | None]
    parts: NotRequired[dict[str, float | None]]
    unknown: NotRequired[float | None]
    features: NotRequired[dict[str, Contribution]]
    phrases: NotRequired[list[dict[str, Any]]]


ExplainAnswer = TypedDict("ExplainAnswer", {"model": str, "explanations": list[Explained]})
Phrase = TypedDict("Phrase", {"start": Place, "end": Place, "label": str, "probability": Share})


class LabelledTree(TypedDict):
    tokens: list[str]
    label: str | None
    text: NotRequired[str]
    probability: NotRequired[Share]
    probabilities: NotRequired[dict[str, Share]]
    tree: NotRequired[str]
    phrases: NotRequired[list[Phrase]]


TreeAnswer = TypedDict("TreeAnswer", {"model": str, "trees": list[LabelledTree]})


class DrawnAnswer(TypedDict):
    model: str
    drawn: Annotated[list[Any], about("Elements of HTML and SVG: [tag, attributes, children …] or a text.")]


Role = TypedDict("Role", {"label": str, "start": Place, "end": Place, "probability": Share})
Predicate = TypedDict("Predicate", {"predicate": Place, "roles": list[Role]})


class SentenceRoles(TypedDict):
    tokens: list[str]
    predicates: list[Predicate]
    starts: NotRequired[list[Place]]
    ends: NotRequired[list[Place]]


RolesAnswer = TypedDict("RolesAnswer", {"model": str, "sentences": list[SentenceRoles]})


class SentenceLattice(TypedDict):
    tokens: list[str]
    labels: list[str]
    unary: Table
    transitions: Table
    start: Row
    end: Row


LatticeAnswer = TypedDict("LatticeAnswer", {"model": str, "sentences": list[SentenceLattice]})


class GraphNode(TypedDict):
    name: str
    key: str | None
    kind: Literal["input", "parameter", "result"]
    shape: list[Place]
    parents: list[Place]
    sent: Annotated[list[float], about("Size of the gradient that each parent gets from this node.")]
    rms: float | None
    norm: float | None
    rows: list[Place]
    value: Table
    gradient: Table


Slopes = TypedDict("Slopes", {"node": str, "central": Table, "one_sided": Table})


class GraphAnswer(TypedDict):
    model: str
    tokens: list[str]
    labels: list[str]
    nodes: list[GraphNode]
    losses: Row
    check: NotRequired[Slopes]


class ServedModel(TypedDict):
    name: str
    kind: Literal["tagger", "detector", "tree-classifier", "multi-task-tagger", "role-labeller"]
    labels: list[str]
    classes: list[str]
    spans: bool
    scheme: str
    tasks: NotRequired[list[str]]


ModelsAnswer = TypedDict("ModelsAnswer", {"models": list[ServedModel], "training": bool})
EpochDone = TypedDict("EpochDone", {"epoch": Place, "loss": float, "score": float | None, "seconds": float})


class TrainingStatus(Struct, frozen=True, kw_only=True):
    run: Annotated[Place, about("Its number, counted from 1; 0 before the first.")] = 0
    state: Literal["idle", "running", "stopping", "finished", "stopped", "failed"] = "idle"
    epoch: Annotated[Place, about("Epochs that are complete.")] = 0
    epochs: int | None = None
    progress: Annotated[float, about("Share of the training that is done, 0 to 1.")] = 0.0
    loss: Annotated[float | None, about("Of the last epoch, or of the last batch before there is one.")] = None
    score: Annotated[float | None, about("Of dev, if there is one.")] = None
    best_score: float | None = None
    best_epoch: int | None = 0
    seconds: float = 0.0
    history: tuple[EpochDone, ...] = ()
    error: Annotated[str | None, about("One line, if it failed.")] = None
    version: Annotated[Place, about("Larger after every change.")] = 0


class TrainingAnswer(TypedDict):
    training: TrainingStatus
    asked: dict[str, Any]
    kept: str
    can_keep: bool


FilesAnswer = TypedDict("FilesAnswer", {"files": list[str], "presets": list[str]})
Status = TypedDict("Status", {"status": str})
Failure = TypedDict("Failure", {"code": Code, "message": str})
FailureAnswer = TypedDict("FailureAnswer", {"error": Failure})

# ------------------------------------------------------------------------------------------------ OpenAPI

# Path -> name, summary, request (None: GET), answer, codes in addition to those of every path.
OPERATIONS: dict[str, tuple[str, str, Any, Any, tuple[str, ...]]] = {
    "/api/tag": ("tag", "Labels and entities of texts or of lists of tokens", Tag, TagAnswer, ()),
    "/api/explain": ("explain", "What each word contributed to a prediction", Explain, ExplainAnswer, ()),
    "/api/tree": ("tree", "A label for every phrase of a tree", TreeAsked, TreeAnswer, ()),
    "/api/roles": ("roles", "The predicates of a text and the roles of its words", TextAsked, RolesAnswer, ()),
    "/api/lattice": ("lattice", "Scores; null stands for minus infinity", TextAsked, LatticeAnswer, ()),
    "/api/graph": (
        "graph",
        "The flow graph of the loss on one sentence; large arrays are cut, null stands for minus infinity",
        *(GraphAsked, GraphAnswer, ()),
    ),
    "/api/page/tree": ("page_tree", "Labelled trees and why, as the page draws them", TreeAsked, DrawnAnswer, ()),
    "/api/page/errors": ("page_errors", "The report on a labelled file", ErrorsAsked, DrawnAnswer, ()),
    "/api/page/card": ("page_card", "The card of a model", CardAsked, DrawnAnswer, ()),
    "/api/models": ("models", "The served models, and whether others can be trained", None, ModelsAnswer, ()),
    "/api/openapi.json": ("openapi", "This description", None, dict[str, Any], ()),
    "/health": ("health", "Whether the process is alive", None, Status, ()),
    "/ready": ("ready", "Whether requests are answered", None, Status, ("busy",)),
    "/metrics": ("metrics", "Counters in Prometheus's text format", None, str, ()),
}
TRAINING_OPERATIONS: dict[str, tuple[str, str, Any, Any, tuple[str, ...]]] = {
    "/api/training": ("training", "Progress of the training run", None, TrainingAnswer, ("run",)),
    "/api/training/files": ("training_files", "Files to train on, and presets", None, FilesAnswer, ("run",)),
    "/api/training/start": ("start_training", "Train a tagger", TrainingStart, TrainingAnswer, ("run",)),
    "/api/training/stop": ("stop_training", "End the training run", Nothing, TrainingAnswer, ("run",)),
    "/api/training/keep": (
        "keep_model",
        "Write the model to a new file and serve it",
        *(TrainingKeep, TrainingAnswer, ("run",)),
    ),
}
_ALWAYS = ("host", "origin", "token", "method", "internal")
_OF_POSTS = ("json", "schema", "model", "slow", "body", "tokens", "cost", "type", "unfit", "busy")


def description(*, training: bool = False) -> dict[str, Any]:
    """The whole API in OpenAPI 3.1; with ``training`` also what ``--allow-training`` adds."""
    operations = {**OPERATIONS, **(TRAINING_OPERATIONS if training else {})}
    kinds = [
        FailureAnswer,
        *(kind for _, _, asked, answer, _ in operations.values() for kind in (asked, answer) if kind),
    ]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(map(str, kinds), schemas, strict=True))
    for name, component in components.items():
        kind = globals()[name]
        if alternatives := getattr(kind, "ALTERNATIVES", None):
            fields = {name for needed, optional in alternatives.items() for name in (*needed, *optional)}
            component["oneOf"] = []  # what each needs, without what belongs to the others alone
            for needed, optional in alternatives.items():
                others = [{"required": [name]} for name in sorted(fields - {*needed, *optional})]
                excluded = {"not": {"anyOf": others}} if others else {}
                component["oneOf"].append({"required": list(needed), **excluded})
        elif not issubclass(kind, Request):  # an answer: its fields in our order, not in that of the alphabet
            order, optional = list(kind.__annotations__), getattr(kind, "__optional_keys__", ())
            component["properties"] = {one: component["properties"][one] for one in order}
            component["required"] = [one for one in order if one not in optional]
            component |= {} if kind is Explained else {"additionalProperties": False}

    def json_of(meaning: str, kind: Any) -> dict[str, Any]:
        media = "text/plain" if kind is str else "application/json"
        return {"description": meaning, "content": {media: {"schema": schema_of[str(kind)]}}}

    def operation(name: str, summary: str, asked: Any, answer: Any, codes: tuple[str, ...]) -> dict[str, Any]:
        meanings: dict[int, list[str]] = {}
        for code in (*_ALWAYS, *(_OF_POSTS if asked else ()), *codes):
            status, meaning = CODES[code]
            meanings.setdefault(status, []).append(f"{code}: {meaning}")
        errors = {str(status): json_of(" ".join(meanings[status]), FailureAnswer) for status in sorted(meanings)}
        content: dict[str, Any] = {"operationId": name, "summary": summary}
        if asked:
            body = {"application/json": {"schema": schema_of[str(asked)]}}
            content["requestBody"] = {"required": True, "content": body}
        if "run" in codes:
            content["security"] = [{"run": []}, {"run": [], "token": []}]
        return {"post" if asked else "get": {**content, "responses": {"200": json_of("The answer.", answer), **errors}}}

    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postil",
            "version": version("postil"),
            "description": "Labels on words and phrases, with exact probabilities.",
        },
        "paths": {path: operation(*row) for path, row in operations.items()},
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "run": {"type": "apiKey", "in": "header", "name": "X-Postil-Run"},
            },
        },
        "security": [{}, {"token": []}],
    }

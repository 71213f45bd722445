"""Options of tagging: frozen, picklable, and independent of the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from postil.errors import ConfigurationError, DataError, PostilError
from postil.features.gazetteer import Gazetteer
from postil.kernels.plain_records import UNITS
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.distribution import lowest_probabilities
from postil.models.estimator import Estimator
from postil.text import Sentence
from postil.text.annotations.annotated import Record
from postil.text.options import ReadOptions


@final
@dataclass(frozen=True, kw_only=True)
class TaggingOptions:
    """The form of the answers and the conditions on them. Which options apply depends on the kind of model."""

    output: str | None = None
    """Format of the answers, a name of `FORMATS`; parquet for tables. None: the usual one of the model."""
    reading: ReadOptions = field(default_factory=lambda: ReadOptions(features=()))
    """How inputs are read; ``reading.features`` are the extra columns that the model sees."""
    probabilities: bool = False  # add the probability of each answer
    keep_gold: bool = False  # CoNLL: write the labels of the input in the column before the predicted ones
    scores: bool = False  # detectors: add the score of each token or entity
    nbest: int | None = None  # JSON Lines: add the ``nbest`` most probable labellings of each sentence
    threshold: Mapping[str, float] = field(default_factory=dict)
    """Taggers: class -> the probability below which its entities are dropped; "" stands for all other classes."""
    all_above: float | None = None
    """JSON Lines: add every span that is at least this probable, whether or not the best labelling contains it."""
    constraints: Constraints = field(default_factory=Constraints)
    """Taggers: constraints on a single text, in characters. Records of JSON Lines carry their own."""
    require_names: Sequence[tuple[str, str]] = ()
    """Taggers: (class, file) pairs. Every name in the file is an entity of the class wherever it occurs."""
    tasks: Sequence[str] = ()
    """Multi-task models: answer these only; one is answered as by a model that has no other. Empty: all."""
    tree: str | None = None
    """Tree classifiers: shape of the tree over a sentence without one. None: the shape the model was trained with."""
    offsets: str = "characters"  # JSON Lines: what offsets count: "characters", "utf16" units or "bytes" of UTF-8
    source: str = ""  # name of the input in messages about constraints, if there is only one input

    def __post_init__(self) -> None:
        object.__setattr__(self, "require_names", tuple(self.require_names))
        object.__setattr__(self, "tasks", tuple(self.tasks))
        if self.nbest is not None and self.nbest < 1:
            raise ConfigurationError("nbest", expected="at least 1", got=self.nbest)
        if self.all_above is not None and not 0 < self.all_above <= 1:
            raise ConfigurationError("all_above", expected="above 0 and at most 1", got=self.all_above)
        if self.keep_gold and self.output not in (None, "conll"):
            raise ConfigurationError("keep_gold", expected="needs output conll", got=self.output)
        for name in ("probabilities", "scores"):
            if getattr(self, name) and self.output == "conllu":
                raise ConfigurationError(name, expected="needs output conll or jsonl", got=self.output)
        if self.offsets not in UNITS:
            raise ConfigurationError("offsets", expected=f"one of {', '.join(UNITS)}", got=repr(self.offsets))
        for name, unused in (("nbest", None), ("all_above", None), ("offsets", "characters")):
            if getattr(self, name) != unused and self.output not in ("jsonl", "parquet"):
                raise ConfigurationError(name, expected="needs output jsonl", got=self.output or "conll")

    def sets(self, *names: str) -> list[str]:
        """Those of the options that differ from their defaults."""
        default = TaggingOptions()
        return [name for name in names if getattr(self, name) != getattr(default, name)]

    def refuse(self, *names: str, why: str) -> None:
        """Raise ConfigurationError if one of these options is set."""
        for name in self.sets(*names):
            raise ConfigurationError(name, expected=f"cannot be used here: {why}")


TAGGER_OPTIONS = ("nbest", "threshold", "all_above", "constraints", "require_names")
"""Options that require a distribution over whole labellings."""
SPECIAL_OPTIONS = ("keep_gold", "tree", "scores", "nbest", "all_above", "constraints", "require_names")
"""Options that the fast path leaves to the general one, and that do not apply to tables of texts."""
_NO_TREES = (("tree",), "only tree classifiers build trees")
_NO_SCORES = (("scores",), "a tagger has probabilities instead")
REFUSED: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "tagger": (_NO_SCORES, _NO_TREES),
    "multi-task-tagger": (
        ((*TAGGER_OPTIONS, "keep_gold"), "the model has several tasks; choose one with --task"),
        _NO_SCORES,
        _NO_TREES,
    ),
    "detector": (
        _NO_TREES,
        (("probabilities",), "a margin model has scores instead"),
        (TAGGER_OPTIONS, "a margin model decides about each token alone"),
    ),
    "tree-classifier": (
        (("keep_gold",), "a tree classifier writes no columns"),
        (("offsets",), "phrases are counted in tokens"),
        (("scores",), "a tree classifier has probabilities instead"),
        (TAGGER_OPTIONS, "a tree classifier decides about each phrase alone"),
    ),
}
"""Kind of model -> options that do not apply to it, and why."""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A passage with labels."""

    content: bytes  # the passage as it is written, up to the first mistake
    tokens: int
    long_sentences: list[int]  # lengths of the sentences that some models see only in pieces
    mistake: PostilError | None = None


def chosen(model: Estimator, tasks: Sequence[str]) -> Any:
    """The tagger of the one task that is asked of a multi-task model; otherwise the model itself."""
    heads = list(model.by_task(tasks).values()) if tasks else []
    return heads[0] if len(heads) == 1 else model


def has_groups(model: Any, tasks: Iterable[str]) -> bool:
    """Whether these tasks of a model are groups of classes, whose entities are answered together."""
    return set(tasks) <= getattr(model, "groups_", {}).keys()


def check_columns(model: Estimator, given: Sequence[object]) -> None:
    """Raise ConfigurationError if a model that was trained with extra columns gets fewer of them."""
    if model.KIND == "role-labeller":  # whose columns are distances
        raise ConfigurationError("model", expected="a tagger", got="one of semantic roles")
    expected = len(model.model.features.columns)
    if len(given) < expected:
        raise ConfigurationError(
            "the model was trained with extra columns",
            expected=f"--feature-columns with {expected} of them",
            got=len(given),
        )


def threshold_of(codec: LabelCodec, options: TaggingOptions) -> Mapping[str, float] | None:
    """The lowest probability of entities by class; None: those of the model."""
    if not options.threshold:
        return None
    by_class = dict(options.threshold)
    for_all = dict.fromkeys(codec.classes, by_class.pop("")) if "" in by_class else {}
    return lowest_probabilities(for_all | by_class, codec)


@final
class ConstraintSource:
    """Finds the constraints on each sentence."""

    def __init__(self, codec: LabelCodec, options: TaggingOptions) -> None:
        self._of_text, self._source = options.constraints, options.source
        self._gazetteers: list[Gazetteer] = []
        cut = options.reading.segmenter.tokenise
        for label, path in options.require_names:
            if not codec.has_spans or label not in codec.classes:
                known = ", ".join(codec.classes[:12]) if codec.has_spans else "those of a model of spans"
                raise DataError("class of a gazetteer constraint", expected=f"must be one of {known}", got=repr(label))
            self._gazetteers.append(Gazetteer.load(path, label=label, tokenise=lambda name: cut(name).tokens))

    def of_block(self, block: list[Sentence]) -> list[Constraints | None] | None:
        """The constraints on every sentence, in tokens; None if there are none at all."""
        constraints: list[Constraints | None] = []
        for sentence in block:
            record = sentence.rest if isinstance(sentence.rest, Record) else None
            given = None if record is None else record.fields.get("constraints")
            where = f"{self._source}, line {sentence.line}" if self._source else f"line {sentence.line}"
            if self._of_text:
                found = self._of_text.in_tokens(sentence)
            elif record is None or given is None:
                found = Constraints(where=where)
            else:
                found = Constraints.from_json(given, where)
                found = found.in_tokens(sentence) if record.tokens is None else found
            constraints.append(found.with_names(self._gazetteers, sentence.tokens) if self._gazetteers else found)
        return constraints if any(constraints) else None

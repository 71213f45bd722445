"""Options of tagging: frozen, picklable, and independent of the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, PostilError
from postil.features.gazetteer import Gazetteer
from postil.kernels.plain_records import UNITS
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.distribution import lowest_probabilities
from postil.models.estimator import Estimator
from postil.network.pooling import LONGEST_VIEW
from postil.text import Sentence, Tokens
from postil.text.annotations.annotated import Record
from postil.text.options import ReadOptions


@final
@dataclass(frozen=True, kw_only=True)
class TaggingOptions:
    """The form of the answers and the conditions on them. Which options apply depends on the kind of model."""

    output: str | None = None
    """Format of the answers: conll, conllu, jsonl or trees; parquet for tables. None: the usual one of the model."""
    reading: ReadOptions = field(default_factory=lambda: ReadOptions(features=()))
    """How inputs are read; ``reading.features`` are the extra columns that the model sees."""
    probabilities: bool = False
    """Add the probability of each answer."""
    keep_gold: bool = False
    """CoNLL: write the labels of the input in the column before the predicted ones."""
    scores: bool = False
    """Detectors: add the score of each token or entity."""
    nbest: int | None = None
    """JSON Lines: add the ``nbest`` most probable labellings of each sentence."""
    threshold: float | None = None
    """Taggers: drop entities that are less probable than this."""
    class_thresholds: Mapping[str, float] = field(default_factory=dict)
    """The same by class; takes precedence over ``threshold``."""
    all_above: float | None = None
    """JSON Lines: add every span that is at least this probable, whether or not the best labelling contains it."""
    constraints: Constraints = field(default_factory=Constraints)
    """Taggers: constraints on a single text, in characters. Records of JSON Lines carry their own."""
    gazetteer_constraints: Sequence[tuple[str, str]] = ()
    """Taggers: (class, file) pairs. Every name in the file is an entity of the class wherever it occurs."""
    tasks: Sequence[str] = ()
    """Multi-task models: answer these only; one is answered as by a model that has no other. Empty: all."""
    tree: str | None = None
    """Tree classifiers: shape of the tree over a sentence without one. None: the shape the model was trained with."""
    offsets: str = "characters"
    """JSON Lines: what offsets count: "characters", "utf16" units or "bytes" of UTF-8."""
    source: str = ""
    """Name of the input in messages about constraints, where there is only one input."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gazetteer_constraints", tuple(self.gazetteer_constraints))
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
            raise ConfigurationError(f"{_SPOKEN.get(name, name)} cannot be used here: {why}")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A passage with labels."""

    content: bytes
    """The passage as it is written, up to the first mistake."""
    tokens: int
    long_sentences: list[int]
    """Lengths of the sentences that some models see only in pieces."""
    mistake: PostilError | None = None

    @classmethod
    def plain(cls, content: bytes, lengths: Array) -> "Labelled":
        """``lengths`` (B,) of the sentences."""
        return cls(content=content, tokens=int(lengths.sum()), long_sentences=lengths[lengths > LONGEST_VIEW].tolist())


_SPOKEN = {"class_thresholds": "threshold", "gazetteer_constraints": "gazetteer_constraint"}
"""Options that users give one at a time."""
TAGGER_OPTIONS = ("nbest", "threshold", "class_thresholds", "all_above", "constraints", "gazetteer_constraints")
"""Options that require a distribution over whole labellings."""


def chosen(model: Estimator, tasks: Sequence[str]) -> Any:
    """The tagger of the one task that is asked of a multi-task model; otherwise the model itself."""
    if not tasks:
        return model
    from postil.models.decoding.codec import known_tasks  # most models have one task
    from postil.models.multi_task_tagger import MultiTaskTagger

    if not isinstance(model, MultiTaskTagger):
        raise ConfigurationError("tasks cannot be chosen here: the model has one task")
    names = known_tasks(tasks, model.tasks)
    return model[names[0]] if len(names) == 1 else model


def check_columns(model: Estimator, given: Sequence[object]) -> None:
    """Raise ConfigurationError if a model that was trained with extra columns gets fewer of them."""
    expected = len(model.model.features.columns)
    if len(given) < expected:
        raise ConfigurationError(
            "the model was trained with extra columns",
            expected=f"--feature-columns with {expected} of them",
            got=len(given),
        )


def threshold_of(codec: LabelCodec, options: TaggingOptions) -> Mapping[str, float] | None:
    """The lowest probability of entities by class; None: those of the model."""
    if options.threshold is None and not options.class_thresholds:
        return None
    for_all = {} if options.threshold is None else dict.fromkeys(codec.classes, options.threshold)
    return lowest_probabilities(for_all | dict(options.class_thresholds), codec)


# ------------------------------------------------------------------------------------------------ constraints


FIELD = "constraints"  # of a JSON object


@final
@dataclass(frozen=True, kw_only=True)
class ConstraintSource:
    """Finds the constraints on each sentence."""

    of_text: Constraints
    gazetteers: Sequence[Gazetteer]
    source: str

    @classmethod
    def of(cls, codec: LabelCodec, options: TaggingOptions) -> "ConstraintSource":
        cut = options.reading.segmenter.tokenise
        gazetteers = [_gazetteer(codec, label, path, cut) for label, path in options.gazetteer_constraints]
        return cls(of_text=options.constraints, gazetteers=gazetteers, source=options.source)

    def of_block(self, block: list[Sentence]) -> list[Constraints | None] | None:
        """The constraints on every sentence, in tokens; None if there are none at all."""
        if not (self.of_text or self.gazetteers or any(map(_is_constrained, block))):
            return None
        constraints: list[Constraints | None] = [self._of_sentence(sentence) for sentence in block]
        return constraints if any(constraints) else None

    def _of_sentence(self, sentence: Sentence) -> Constraints:
        constraints = self.of_text.in_tokens(sentence) if self.of_text else self._of_record(sentence)
        return constraints.with_names(self.gazetteers, sentence.tokens) if self.gazetteers else constraints

    def _of_record(self, sentence: Sentence) -> Constraints:
        """Offsets count characters of the text, or tokens if the record lists them."""
        record, where = sentence.rest, self._where(sentence)
        if not isinstance(record, Record) or not _is_constrained(sentence):
            return Constraints(where=where)
        constraints = Constraints.from_json(record.fields[FIELD], where)
        return constraints if record.tokens is not None else constraints.in_tokens(sentence)

    def _where(self, sentence: Sentence) -> str:
        return f"{self.source}, line {sentence.line}" if self.source else f"line {sentence.line}"


def _is_constrained(sentence: Sentence) -> bool:
    """Whether the sentence's JSON object has constraints."""
    return isinstance(sentence.rest, Record) and sentence.rest.fields.get(FIELD) is not None


def _gazetteer(codec: LabelCodec, label: str, path: str, cut: Callable[[str], Tokens]) -> Gazetteer:
    if not codec.has_spans or label not in codec.classes:
        known = ", ".join(codec.classes[:12]) if codec.has_spans else "those of a model of spans"
        raise DataError("class of a gazetteer constraint", expected=f"must be one of {known}", got=repr(label))
    return Gazetteer.load(path, label=label, tokenise=lambda name: cut(name).tokens)

"""Constraints on the labelling of a text: spans that are entities, spans that are not, labels that are possible.

Constraints leave only the labellings that agree with them, and every answer is then about those: the best one is the
best *of them*, and a probability is the probability *given that* they hold. That is exact for all three kinds.

    require  exactly this span is an entity of this class, or of some class: its probability is then 1
    forbid   exactly this span is not an entity of this class, or of any; longer and shorter ones still may be
    allow    every token of this stretch has one of these labels; a class stands for all its labels
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.gazetteer import GAZETTEER_CODES, Gazetteer
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.distribution import LabelPosterior
from postil.objectives.crf import Lattice, best_paths
from postil.objectives.spans import EntityLabels, SpanOfKind, forced_spans, without_spans
from postil.text import Sentence, Span
from postil.text.lines import shortened
from postil.text.splitting.segmenter import Tokens


class SpanConstraint(NamedTuple):
    """``start:end`` with a class, or with any."""

    start: int
    end: int
    label: str | None = None


class AllowedLabels(NamedTuple):
    """The labels that tokens of ``start:end`` may have."""

    start: int
    end: int
    labels: Sequence[str]


@final
@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints on the labelling of one sentence or text.

    Offsets count tokens for lists of tokens, characters for a text.

    Constraints(require=[(2, 3, "LOC")], forbid=[(0, 2, None)], allow=[(4, 5, ["PER", "O"])])

    ``require`` and ``forbid`` also take a Span or an Entity, whose fields count, not their order.
    """

    require: Sequence[tuple[int, int, str | None]] = ()
    forbid: Sequence[tuple[int, int, str | None]] = ()
    allow: Sequence[tuple[int, int, Sequence[str]]] = ()
    where: str = field(default="", compare=False)
    """How messages name the sentence; by default its number."""

    def __post_init__(self) -> None:
        for name, kind in (("require", SpanConstraint), ("forbid", SpanConstraint), ("allow", AllowedLabels)):
            items = [_item(kind, item, f"{self.where}: {name}" if self.where else name) for item in getattr(self, name)]
            object.__setattr__(self, name, items)

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid or self.allow)

    @classmethod
    def from_json(cls, content: Any, where: str) -> Self:
        """``{"require": [[0, 5, "LOC"]], "forbid": [{"start": 7, "end": 9}], "allow": [[0, 5, ["LOC", "O"]]]}``."""
        names = ("require", "forbid", "allow")
        if not isinstance(content, Mapping) or not set(content) <= set(names):
            got = shortened(str(sorted(content) if isinstance(content, Mapping) else content))
            raise DataError("constraints", expected="an object with " + ", ".join(names), got=got, where=where)
        for name in names:
            if not isinstance(content.get(name, []), list):
                raise DataError(f"constraints: {name}", expected="a list", got=repr(content[name]), where=where)
        try:
            return cls(**content, where=where)
        except ConfigurationError as error:
            raise DataError(error.what, expected=error.expected, got=error.got, where=error.where) from None

    def in_tokens(self, sentence: Sentence) -> "Constraints":
        """Convert constraints in characters of a text to those of one of its sentences, in tokens."""
        inside: dict[str, Any] = {
            name: list(self._inside(getattr(self, name), sentence)) for name in ("require", "forbid", "allow")
        }
        return replace(self, **inside)

    def with_names(self, gazetteers: Sequence[Gazetteer], tokens: Sequence[str]) -> "Constraints":
        """Add the gazetteers' names that occur in the sentence, as required entities of their classes.

        Longer names take precedence, then those further left. A name that overlaps another one, or an existing
        constraint, is skipped: the caller's constraints count more than a list.
        """
        taken = {t for start, end, _ in (*self.require, *self.forbid, *self.allow) for t in range(start, end)}
        required, names = list(self.require), list[Span]()
        begin, _, end, single = (GAZETTEER_CODES.index(code) for code in "BIES")
        for gazetteer in gazetteers:
            codes = gazetteer.match(tokens)
            for column, label in enumerate(gazetteer.columns):
                start = 0
                for t, code in enumerate(codes[:, column].tolist()):
                    start = t if code in (begin, single) else start
                    if code in (end, single):
                        names.append(Span(label, start, t + 1))
        for label, start, end in sorted(names, key=lambda span: (span.start - span.end, span.start)):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                required.append(SpanConstraint(start, end, label))
        return replace(self, require=required)

    def _inside(self, items: Sequence[Any], sentence: Sentence) -> Iterator[Any]:
        text, starts, ends = sentence.text, sentence.starts, sentence.ends
        assert text is not None and starts is not None and ends is not None, "only texts are counted in characters"
        tokens = Tokens(text, sentence.tokens, starts, ends)
        for item in items:
            start, end = item[:2]
            if not 0 <= start < end <= len(text):
                what, expected = (
                    "a constraint outside the text",
                    f"0 <= start < end <= {len(text)} (the length of the text)",
                )
                raise DataError(what, expected=expected, got=_place(item), where=self.where or None)
            if text[start].isspace() or (starts and starts[0] <= start < ends[-1] and not tokens.fits(start, end)):
                first, last = tokens.touched(start, end)
                expected = f"whole tokens of one sentence, as {shortened(' '.join(sentence.tokens[first:last]))}"
                got = f"{_place(item)} {shortened(text[start:end])}"
                what = "a constraint that does not fit the tokens"
                raise DataError(what, expected=expected, got=got, where=self.where or None)
            if starts and starts[0] <= start < ends[-1]:
                yield item._replace(**dict(zip(("start", "end"), tokens.touched(start, end), strict=True)))


Conditions = Sequence[Constraints | None] | None  # constraints on each sentence or None; None: on none of them


# ------------------------------------------------------------------------------------------------------- on the lattice


def constrained(
    posterior: LabelPosterior, constraints: Sequence[Constraints | None], *, valid_only: bool
) -> Iterator[LabelPosterior]:
    """The posterior given constraints, one or None per sentence of the whole data.

    Sentences with forbidden spans get separate distributions, the others stay together. ``valid_only``: the model
    knows only valid label sequences.
    """
    lattice, codec = posterior.lattice, posterior.codec
    by_row = [constraints[i] or Constraints() for i in posterior.which]
    for i, given in zip(posterior.which, by_row, strict=True):
        _check(given, codec, valid_only, given.where or f"sentence {i}")
    if any(by_row):
        allowed = np.concatenate([_allowed(lattice, row, given, codec) for row, given in enumerate(by_row)])
        lattice = lattice.restricted(allowed)
    forbids = np.array([bool(given.forbid) for given in by_row], bool)
    others = np.flatnonzero(~forbids)
    if len(others):
        yield _possible(posterior, by_row, lattice.selected(others)[0], others, None)
    for row in np.flatnonzero(forbids):
        one, _ = lattice.selected(np.array([row]))
        every = range(len(codec.classes))
        spans = [
            SpanOfKind(start, end, kind)
            for start, end, label in by_row[row].forbid
            for kind in (every if label is None else [codec.classes.index(label)])
        ]
        new, meaning = without_spans(one, spans, codec.entity_labels())
        yield _possible(posterior, by_row, new, np.array([row]), meaning)


def _possible(
    posterior: LabelPosterior, by_row: Sequence[Constraints], lattice: Lattice, rows: Array, meaning: Array | None
) -> LabelPosterior:
    """A distribution over these sentences, or an error that names the first for which nothing is left."""
    which = [posterior.which[row] for row in rows]
    if any(by_row[row] for row in rows):
        scores = best_paths(lattice)[1]
        if not np.isfinite(scores).all():
            first = int(rows[np.isfinite(scores).argmin()])
            given = by_row[first]
            what, got = "constraints that contradict each other: no labelling is left", _described(given)
            where = given.where or f"sentence {posterior.which[first]}"
            raise DataError(what, got=f"{got} (counted in tokens)", where=where)
    return replace(posterior, which=which, lattice=lattice, meaning=meaning)


def _allowed(lattice: Lattice, row: int, given: Constraints, codec: LabelCodec) -> Array:
    """(T, L) the labels that required spans and allowed labels leave to one sentence."""
    T, L = int(lattice.lengths[row]), lattice.chain.labels
    allowed = np.ones((T, L), bool)
    for start, end, labels in given.allow:
        allowed[start:end] &= np.any([_labels(codec, name) for name in labels], axis=0)
    if given.require:
        entities = codec.entity_labels()
        # After all classes stands an entity of any. Its labels are of one class, as only valid sequences are possible.
        places = np.stack([entity.at_places() for entity in entities])  # (classes, 6, L)
        either, every = np.asarray(places.any(axis=0)), np.asarray(places.all(axis=0))
        of_any = EntityLabels(
            before=every[0], only=either[1], first=either[2], middle=either[3], last=either[4], after=every[5]
        )
        kinds = [len(entities) if label is None else codec.classes.index(label) for *_, label in given.require]
        spans = [(0, start, end) for start, end, _ in given.require]
        one, _ = lattice.selected(np.array([row]))
        allowed &= forced_spans(one, spans, kinds, [*entities, of_any])
    return allowed


def _labels(codec: LabelCodec, name: str) -> Array:
    """(L,) the model's labels that a label of the data, or a class, stands for."""
    return np.array([name in spellings for spellings in codec.names()])


def check_constraints(constraints: Sequence[Constraints | None], lengths: Sequence[int]) -> None:
    """Refuse another number of them than of sentences, and places outside of their sentence.  lengths in tokens."""
    argument: object = constraints
    is_one = isinstance(argument, Constraints)  # an easy mistake
    if is_one or len(constraints) != len(lengths):
        got = "one for all" if is_one else len(constraints)
        raise ConfigurationError("constraints", expected=f"a list of {len(lengths)}, one a sentence or None", got=got)
    for i, (given, tokens) in enumerate(zip(constraints, lengths, strict=True)):
        for item in () if given is None else (*given.require, *given.forbid, *given.allow):
            if not 0 <= item[0] < item[1] <= tokens:
                expected, where = f"0 <= start < end <= {tokens} (tokens)", (given and given.where) or f"sentence {i}"
                raise DataError("a constraint outside the sentence", expected=expected, got=_place(item), where=where)


def _check(given: Constraints, codec: LabelCodec, valid_only: bool, where: str) -> None:
    """Refuse labels that the model does not have, and spans if it has none."""
    spans = (*given.require, *given.forbid)
    if spans and not (codec.has_spans and valid_only):
        got = "labels without spans" if not codec.has_spans else "one that allows any sequence (constrained=False)"
        raise DataError("constraints on spans", expected="a model of spans", got=got, where=where)
    for *_, label in spans:
        if label is not None and label not in codec.classes:
            expected = "one of " + ", ".join(codec.classes[:12])
            raise DataError("unknown class", expected=expected, got=repr(label), where=where)
    for *_, labels in given.allow:
        for name in labels:
            if not _labels(codec, name).any():
                known = list(dict.fromkeys([*codec.classes, *codec.answers]))
                expected = "one of " + ", ".join(known[:12])
                raise DataError("unknown label", expected=expected, got=repr(name), where=where)


def _item(kind: Any, item: Any, what: str) -> Any:
    """A constraint from a tuple, a list, an object of JSON, or anything with its fields: a Span, an Entity."""
    if all(hasattr(item, name) for name in kind._fields):
        item = {name: getattr(item, name) for name in kind._fields}
    try:
        constraint = kind(**item) if isinstance(item, Mapping) else kind(*item)
    except TypeError:
        constraint = None
    if constraint is None or not all(type(n) is int or isinstance(n, np.integer) for n in constraint[:2]):
        raise ConfigurationError(what, expected="(" + ", ".join(kind._fields) + ")", got=shortened(str(item)))
    label = constraint[2]
    are_strings = isinstance(label, Sequence) and label and all(isinstance(value, str) for value in label)
    if kind is AllowedLabels and (isinstance(label, str) or not are_strings):
        raise ConfigurationError(what, expected="a list of labels", got=shortened(str(label)))
    if kind is SpanConstraint and not isinstance(label, str | None):
        raise ConfigurationError(what, expected="a class or None", got=shortened(str(label)))
    return constraint


def _place(item: tuple[Any, ...]) -> str:
    return f"{item[0]}:{item[1]}"


def _described(given: Constraints) -> str:
    """All of them as the command line spells them."""
    parts = []
    for name in ("require", "forbid", "allow"):
        for item in getattr(given, name):
            labels = item[2] if item[2] is None or isinstance(item[2], str) else ",".join(item[2])
            parts.append(f"{name} {_place(item)}" + (f"={labels}" if labels is not None else ""))
    return shortened(", ".join(parts))

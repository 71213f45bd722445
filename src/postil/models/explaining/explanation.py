"""Explanations: the contributions of words and features to the log-odds of an entity or the score of a token (E6).

To **leave out** a word is to put the empty word in its place, which no vocabulary knows: its features are those of the
unknown word, it is in no gazetteer, and all others stay where they are. That sentence is really given to the network;
what the number falls by is the word's contribution. A feature is left out by giving it the value of the empty word at
every word. A hand-made feature, a key of the tokens' dicts, is left out by removing it from all of them.

**Gradient times input** is the first-order estimate of the same: ∂number/∂x · (x - x₀), x the vector of a word and x₀
that of the empty word. One reverse pass gives it for all words and features. Without x₀ it would depend on where the
vectors' origin happens to lie: moving all rows of a table by v, and the next layer's bias by -Wv, changes no answer.
Hand-made features are added to the scores directly: what one of them adds is known exactly, ∂number/∂score · weight.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, IndexRangeError, printable
from postil.features.inputs import InputFeatures, Inputs, Token, forms_of
from postil.features.named import FeatureToken
from postil.features.words import UNKNOWN
from postil.graph import Parameter, dense, gradients
from postil.html import Markup, element, joined
from postil.html.fragments import columns, fragment
from postil.html.highlight import Effect, effects_table, effects_text, signed
from postil.kernels import Attributes
from postil.models.config import TaggerConfig
from postil.models.decoding.codec import OUTSIDE, SHOWN, LabelCodec
from postil.models.decoding.distribution import calibrated_lattice
from postil.models.model import FittedModel
from postil.models.networks.encoders import reach
from postil.models.networks.network import EnsembleNetwork, ScoringNetwork, members_of
from postil.network import Chain, Layer, SentenceConvolution
from postil.network.lookup import sums_of_rows
from postil.objectives.crf import Lattice, Posterior, viterbi
from postil.objectives.spans import (
    forced_spans,
    log_odds,
    log_odds_and_gradient,
    outside_spans,
    span_probabilities,
    without_transition_scores,
)
from postil.text import Sentence, spans_from_labels
from postil.text.lines import shortened
from postil.threads import one_blas_thread

POSITION = "relative position"
TOKENS_AT_ONCE = 8192
FARTHEST = 40  # words: beyond the network's view, words act only through the labels between them and the entity


Measure: TypeAlias = "LogOdds | Margin"
"""The number: one for every sentence of a batch. All sentences are copies of one, with other words or features.

``of`` (N, L) scores -> (B,); ``slope`` -> (N, L) the derivatives of their sum by the scores.
"""


class Contribution(NamedTuple):
    """To the number, by gradient times input and by leaving out; None if nothing was left out."""

    gradient: float
    left_out: float | None


@final
@dataclass(frozen=True, kw_only=True)
class WordContribution:
    """Of one word; ``features`` are the parts of ``gradient``."""

    word: str
    gradient: float
    left_out: float | None
    features: dict[str, float]


def contributions(
    model: FittedModel, tokens: Sequence[Token], measure: Measure, start: int, end: int, label: str = ""
) -> "Explanation":
    """To the measure of one sentence; words very far from the tokens ``start:end`` are not left out."""
    network, groups = model.network, feature_groups(model.config, model.features, tokens)
    tried = words_in_reach(model.config, len(tokens), start, end)
    copies = changed_copies(model.features, tokens, tried, groups)
    with one_blas_thread():
        values = measured(network, measure, copies)
        # Of each group that is a key of the tokens' dicts: its place among the groups, and its attributes alone.
        named = [
            (place, model.features.named.of([[_featured(token).only(group.key) for token in tokens]]))
            for place, group in enumerate(groups)
            if model.features.named is not None and group.key is not None
        ]
        cells, positions = gradient_times_input(network, measure, copies, groups, named)
    fallen = values[ORIGINAL] - values  # (B,)
    features = {
        group.name: Contribution(float(column.sum()), float(fell))
        for group, column, fell in zip(groups, cells.T, fallen[2:], strict=False)
    }
    if positions is not None:
        without = measured(without_positions(network), measure, copies.selected(np.array([ORIGINAL])))
        features[POSITION] = Contribution(positions, float(values[ORIGINAL] - without[0]))
    left_out = dict(zip(tried, fallen[2 + len(groups) :].tolist(), strict=True))
    names = [group.name for group in groups]
    words = tuple(
        WordContribution(
            word=form,
            gradient=float(row.sum()),
            left_out=left_out.get(t),
            features=dict(zip(names, row.tolist(), strict=True)),
        )
        for t, (form, row) in enumerate(zip(forms_of(tokens), cells, strict=True))
    )
    return Explanation(
        tokens=tuple(forms_of(tokens)),
        start=start,
        end=end,
        label=label,
        measure=measure.name,
        value=float(values[ORIGINAL]),
        unknown=float(values[UNKNOWN_WORDS]),
        words=words,
        features=features,
    )


# ------------------------------------------------------------------------------------------------ features


@final
@dataclass(frozen=True, kw_only=True)
class FeatureGroup:
    """A feature by the name that users know: prefixes of all lengths are one."""

    name: str
    dims: list[int] = field(default_factory=list)  # of the token vectors (N, D)
    forms: list[int] = field(default_factory=list)  # columns of Inputs.forms,
    extra: list[int] = field(default_factory=list)  # of Inputs.extra,
    vectors: list[int] = field(default_factory=list)  # and 0 if Inputs.vectors belongs to it
    key: str | None = None  # of the tokens' dicts: then it has none of the above


def feature_groups(config: TaggerConfig, features: InputFeatures, tokens: Sequence[Token] = ()) -> list[FeatureGroup]:
    """In the order in which the token vectors hold them: of words, fixed vectors, columns of the file, gazetteers.

    Then the keys of the tokens' dicts, where they have any.
    """
    groups: dict[str, FeatureGroup] = {}
    D = 0
    words = [column for column in features.words.columns if column.name != "vector"]
    # Name of the group, where its ids stand, in which column, and how wide its vectors are.
    rows: list[tuple[str, str, int, int]] = [
        ({"prefix": "prefixes", "suffix": "suffixes"}.get(column.name.split()[0], column.name), "forms", i, column.D)
        for i, column in enumerate(words)
    ]
    if features.words.config.vector_dim:
        rows.append(("vector", "vectors", 0, features.words.config.vector_dim))
    for i in range(features.words.character_columns):  # all of them make one vector
        rows.append(("characters", "forms", len(words) + i, features.words.config.character_dim if i == 0 else 0))
    for i, (_, width) in enumerate(features.extra_sizes(config.column_dim, config.gazetteer_dim)):
        rows.append((f"column {i + 1}" if i < len(features.columns) else "gazetteer", "extra", i, width))
    for name, kind, place, width in rows:
        group = groups.setdefault(name, FeatureGroup(name=name))
        group.dims.extend(range(D, D + width))
        getattr(group, kind).append(place)
        D += width
    keys = {} if features.named is None else dict.fromkeys(key for token in tokens for key in token[1])
    of_keys = [
        FeatureGroup(name=f"feature {text}", key=key)
        for key in keys
        for text in [key if isinstance(key, str) else key.decode("utf8", "replace")]
    ]
    return [*groups.values(), *of_keys]


# ------------------------------------------------------------------------------------------------ leaving out

ORIGINAL, UNKNOWN_WORDS = 0, 1  # the first two copies of a sentence


def words_in_reach(config: TaggerConfig, T: int, start: int, end: int) -> range:
    """The words that are left out, one after the other: all that the network can see from the span, and some beyond."""
    view = reach(config)
    if view is None:
        return range(T)
    return range(max(0, start - 1 - view - FARTHEST), min(T, end + 1 + view + FARTHEST))


def with_empty_words(tokens: Sequence[Token], which: Sequence[int], features: InputFeatures) -> list[Token]:
    """The sentence with the empty word in these places."""
    empty: Token = (UNKNOWN, *([UNKNOWN] * len(features.columns))) if features.columns else UNKNOWN
    if features.named is not None:
        empty = FeatureToken.of(UNKNOWN, {})
    return [empty if t in which else token for t, token in enumerate(tokens)]


def changed_copies(
    features: InputFeatures, tokens: Sequence[Token], tried: Sequence[int], groups: Sequence[FeatureGroup]
) -> Inputs:
    """The sentence; all its words left out; each feature left out; each of the words ``tried`` left out."""
    T = len(tokens)
    nothing = with_empty_words(tokens, range(T), features)
    words = [with_empty_words(tokens, [t], features) for t in tried]
    without = [tokens if group.key is None else [_featured(t).without(group.key) for t in tokens] for group in groups]
    inputs = features.inputs([tokens, nothing, *without, *words])
    # One row of features per token, not per distinct form: features are left out in single copies of the sentence.
    forms, vectors, extra = inputs.forms[inputs.places], inputs.vectors[inputs.places], inputs.extra.copy()
    unknown = slice(T, 2 * T)
    for i, group in enumerate(groups, start=2):
        rows = slice(i * T, (i + 1) * T)
        for array, which in ((forms, group.forms), (extra, group.extra), (vectors[:, None], group.vectors)):
            array[rows, which] = array[unknown, which]
    return replace(inputs, forms=forms, vectors=vectors, places=np.arange(len(forms)), extra=extra)


def _featured(token: Token) -> FeatureToken:
    assert isinstance(token, FeatureToken), "the door has made them so"
    return token


def measured(network: ScoringNetwork | EnsembleNetwork, measure: Measure, copies: Inputs) -> Array:
    """(B,) the measure of every copy; a few of them at a time if they are long."""
    B, T = len(copies.offsets) - 1, int(copies.offsets[1])
    size = max(1, TOKENS_AT_ONCE // T)
    parts = [copies.selected(np.arange(first, min(first + size, B))) for first in range(0, B, size)]
    return np.concatenate([measure.of(network.scores(part).value, part.offsets) for part in parts])


def gradient_times_input(
    network: ScoringNetwork | EnsembleNetwork,
    measure: Measure,
    copies: Inputs,
    groups: Sequence[FeatureGroup],
    named: Sequence[tuple[int, Attributes]] = (),
) -> tuple[Array, float | None]:
    """(T, F) of every word and feature; and of the relative positions, None if the network has none.

    A position has no unknown value. x₀ is the mean of the table there: no position in particular.
    """
    original, unknown = (copies.selected(np.array([i])) for i in (ORIGINAL, UNKNOWN_WORDS))
    members = members_of(network)
    slope = measure.slope(network.unary(original), original.offsets).astype(network.dtype) / len(members)  # (N, L)
    of_members, of_positions = [], []
    for member in members:
        X = member.token_vectors(original)
        tables = [layer.distances.table for layer in _layers(member) if isinstance(layer, SentenceConvolution)]
        slopes = gradients(member.scores_of(X), [X, *tables], seed=slope)
        products = dense(slopes[X]).astype(np.float64) * (X.value - member.token_vectors(unknown).value)
        cells = np.stack([products[:, group.dims].sum(axis=1) for group in groups], axis=1)
        for place, attributes in named:
            cells[:, place] = (slope * sums_of_rows(member.named.value, attributes)).sum(axis=1)
        of_members.append(cells)
        for table in tables:
            of_positions.append(float((dense(slopes[table]) * (table.value - table.value.mean(axis=0))).sum()))
    return np.sum(of_members, axis=0), sum(of_positions) if of_positions else None


def without_positions(network: ScoringNetwork | EnsembleNetwork) -> ScoringNetwork | EnsembleNetwork:
    """The same network where all relative positions look alike; it shares everything else."""
    others = []
    for member in members_of(network):
        layers: list[Layer] = []
        for layer in _layers(member):
            if not isinstance(layer, SentenceConvolution):
                layers.append(layer)
                continue
            table, level = layer.distances.table.value, copy(layer)
            level.distances = copy(layer.distances)
            level.distances.table = Parameter(np.broadcast_to(table.mean(axis=0), table.shape).copy(), "table")
            layers.append(level)
        other = copy(member)
        other.encoder = Chain(*layers)
        others.append(other)
    alone: ScoringNetwork = others[0]
    return EnsembleNetwork(others) if isinstance(network, EnsembleNetwork) else alone


def _layers(network: ScoringNetwork) -> list[Layer]:
    return network.encoder.layers if isinstance(network.encoder, Chain) else [network.encoder]


# ------------------------------------------------------------------------------------------------ explanations

MOST_LISTED = 40  # words in the table of an explanation that is drawn
DIGITS = 6  # of the figures in ``to_dict``


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Contributions to ``value``: the log-odds of "exactly the tokens ``start:end`` are a ``label``".

    ``measure`` names the value: "log-odds", log p / (1 - p) of the entity's probability p; or "margin", how far the
    score of a detector lies above its threshold. ``of_words`` and ``of_transitions`` add up to ``value``; ``unknown``
    is the value with every word of the sentence left out.
    """

    tokens: tuple[str, ...]
    start: int
    end: int
    label: str
    measure: str
    value: float
    unknown: float
    words: tuple[WordContribution, ...]
    features: dict[str, Contribution]
    probability: float | None = None
    of_transitions: float = 0.0

    @property
    def of_words(self) -> float:
        """The value with all possible transitions scored alike."""
        return self.value - self.of_transitions

    @property
    def text(self) -> str:
        """The explained tokens."""
        return " ".join(self.tokens[self.start : self.end])

    def __str__(self) -> str:
        """The value, and below it the contributions of words and features: left out, gradient."""
        words = [(printable(word.word), word.left_out, word.gradient) for word in self.words]
        features = [(printable(name), part.left_out, part.gradient) for name, part in self.features.items()]
        width = max(len(name) for name, _, _ in [*words, *features])
        rows = [f"  {name:<{width}} {_signed(fell)} {_signed(slope)}" for name, fell, slope in [*words, *features]]
        title = f"{printable(self.text)} as {printable(self.label)}: {self.measure} {self.value:+.2f}"
        return "\n".join([title, *rows[: len(words)], "features", *rows[len(words) :]])

    def drawn(self) -> Markup:
        """The explanation as HTML: the sentence, the value, contributions of words and features."""
        words = [
            Effect(word.word, (word.left_out, word.gradient), self.start <= i < self.end)
            for i, word in enumerate(self.words)
        ]
        features = [Effect(name, (part.left_out, part.gradient)) for name, part in self.features.items()]
        chip = element("small", element("bdi", self.label), class_="chip", style="--label:var(--strong)")
        names = ("left out", "gradient")
        rest = f"With all words unknown, {self.measure} {signed(self.unknown)}."
        if self.measure == "log-odds":
            rest += f" Words contribute {signed(self.of_words)}, transitions {signed(self.of_transitions)}."
        listed = words
        if len(words) > MOST_LISTED:  # the explained words and those that contribute most, in their order
            strength = [(w.is_explained, max(abs(value) for value in w.values if value is not None)) for w in words]
            listed = [words[i] for i in sorted(sorted(range(len(words)), key=strength.__getitem__)[-MOST_LISTED:])]
        name = element("strong", element("bdi", self.text), " as ", element("bdi", self.label))
        shown = "" if self.probability is None else f"probability {self.probability:.4f}, "
        shown += f"{self.measure} {signed(self.value)}"
        others = f" {len(words) - len(listed):,} words with smaller contributions are not listed."
        return joined(
            [
                element("p", name, f": {shown}", class_="answer"),
                effects_text(words, chip=chip),
                columns(effects_table("word", names, listed), effects_table("feature", names, features)),
                element("p", "+ supports ", element("bdi", self.label), ", \u2212 opposes it. ", rest, class_="note"),
                element("p", others, class_="note") if len(listed) < len(words) else None,
            ]
        )

    def _repr_html_(self) -> str:
        return fragment(self.drawn())

    def to_dict(self) -> dict[str, Any]:
        """The explanation as a dict, ready for JSON.

        ``left_out`` is None for words that are too far away to be tried.
        """
        names = ("start", "end", "text", "label", "measure", "value", "probability")
        found = {name: getattr(self, name) for name in names}
        found["parts"] = {"words": self.of_words, "transitions": self.of_transitions}
        found |= {"unknown": self.unknown, "words": [asdict(word) for word in self.words]}
        found["features"] = {name: part._asdict() for name, part in self.features.items()}
        return {"tokens": list(self.tokens), **_rounded(found)}


def _signed(value: float | None) -> str:
    return f"{'':>8}" if value is None else f"{value:>+8.2f}"


def _rounded(value: Any) -> Any:
    """All numbers in a value of JSON, rounded."""
    match value:
        case dict():
            return {name: _rounded(part) for name, part in value.items()}
        case list():
            return [_rounded(part) for part in value]
        case float():
            return round(value, DIGITS)
    return value


# -------------------------------------------------------------------------------------------------------------- taggers


@final
@dataclass(frozen=True, eq=False)
class LogOdds:
    """Of the statement that every token has one of its ``allowed`` labels, (T, L) boolean.

    Read from scores as every answer of the tagger is. The ``evidence`` (T, L) of votes stays if words change.
    """

    model: FittedModel
    allowed: Array
    evidence: Array | None = None
    name: ClassVar[str] = "log-odds"

    def of(self, scores: Array, offsets: Array) -> Array:
        return log_odds(*self._copies(scores, offsets))

    def slope(self, scores: Array, offsets: Array) -> Array:
        return log_odds_and_gradient(*self._copies(scores, offsets))[1] / self.model.decoding.temperature

    def _copies(self, scores: Array, offsets: Array) -> tuple[Lattice, Array]:
        """All label sequences of copies of the sentence, and those that are allowed."""
        model, copies = self.model, (len(offsets) - 1, 1)
        lattice = calibrated_lattice(Lattice.over(scores, offsets, model.network.chain()), model.codec, model.decoding)
        if self.evidence is not None:
            lattice = replace(lattice, unary=lattice.unary + np.tile(self.evidence, copies))
        return lattice, np.tile(self.allowed, copies)


def explain_entity(
    model: FittedModel, tokens: Sequence[Token], lattice: Lattice, span: tuple[int, int], label: str | None
) -> Explanation:
    """``lattice`` is the sentence's own. Without ``label``: the one that the best path gives the span, else the most
    probable one.
    """
    codec = model.codec
    start, end = checked_span(tokens, *span)
    if not codec.has_spans and end != start + 1:
        expected = f"the span {start}:{start + 1}"
        raise ConfigurationError("labels of single tokens", expected=expected, got=f"{start}:{end}")
    asked = answered_label(codec, lattice, start, end) if label is None else label
    allowed = allowed_labels(codec, lattice, start, end, asked)
    evidence = None if model.voters is None else model.voters.evidence([tokens], codec)
    explained = contributions(model, tokens, LogOdds(model, allowed, evidence), start, end, asked)
    of_transitions = log_odds(lattice, allowed)[0] - log_odds(without_transition_scores(lattice), allowed)[0]
    probability = float(np.exp(-np.logaddexp(0, -explained.value)))
    return replace(explained, probability=probability, of_transitions=float(of_transitions))


def checked_span(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int]:
    """Whole numbers inside the sentence."""
    is_whole = all(isinstance(place, int | np.integer) for place in (start, end))
    if not is_whole or not 0 <= start < end <= len(tokens):
        room = f"0 <= start < end <= {len(tokens)}" if len(tokens) else "a sentence with tokens"
        raise IndexRangeError("a span lies outside its sentence", expected=room, got=f"{start}:{end}")
    return int(start), int(end)


def answered_label(codec: LabelCodec, lattice: Lattice, start: int, end: int) -> str:
    """The label of the span on the best path; of a span that is not there, the most probable one."""
    best = viterbi(lattice)
    if not codec.has_spans:
        return str(codec.labels[best[start]])
    on_path = {(span.start, span.end): span.label for span in codec.spans(best)}
    if (start, end) in on_path or not codec.classes:
        return str(on_path.get((start, end), OUTSIDE))
    every = np.arange(len(codec.classes))
    spans = np.tile([0, start, end], (len(every), 1))
    probabilities = span_probabilities(Posterior.of(lattice), spans, every, codec.entity_labels())
    return codec.classes[int(probabilities.argmax())]


def allowed_labels(codec: LabelCodec, lattice: Lattice, start: int, end: int, label: str) -> Array:
    """(T, L) boolean: the paths on which exactly this span is a ``label``; for O, on which no token is of an entity."""
    known = (*codec.classes, OUTSIDE) if codec.has_spans else codec.classes
    if label not in known:
        shown = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
        raise ConfigurationError("unknown label", expected=f"one of {shown}", got=repr(label))
    if not codec.has_spans:
        allowed = np.ones(lattice.unary.shape, bool)
        allowed[start] = np.arange(len(codec.labels)) == codec.labels.index(label)
        return allowed
    spans, entities = [(0, start, end)], codec.entity_labels()
    if label in codec.classes:
        return forced_spans(lattice, spans, codec.classes.index(label), entities)
    return outside_spans(lattice, spans, entities)


@final
@dataclass(frozen=True)
class Margin:
    """How far the score of one token lies above the threshold."""

    token: int
    threshold: float
    name: ClassVar[str] = "margin"

    def of(self, scores: Array, offsets: Array) -> Array:
        return np.asarray(scores[offsets[:-1] + self.token, 0].astype(np.float64) - self.threshold)

    def slope(self, scores: Array, offsets: Array) -> Array:
        slope = np.zeros_like(scores)
        slope[offsets[:-1] + self.token] = 1
        return slope


def explain_detection(
    model: FittedModel, tokens: Sequence[Token], scores: Array, span: tuple[int, int], label: str | None
) -> Explanation:
    """A span is detected if all its tokens score above the threshold: the lowest of ``scores`` (T,) is explained."""
    target = model.codec
    start, end = checked_span(tokens, *span)
    if label not in (None, target.label):
        raise ConfigurationError("label of a detector", expected=repr(target.label), got=repr(label))
    measure = Margin(start + int(np.argmin(scores[start:end])), target.threshold)
    return contributions(model, tokens, measure, start, end, target.label)


# ---------------------------------------------------------------------------------------------- which tokens to explain


class Place(NamedTuple):
    """Tokens of one sentence and the label to explain (None: the one that the model predicts)."""

    sentence: Sentence
    start: int
    end: int
    label: str | None


def place_of_span(sentences: list[Sentence], start: int, end: int, label: str | None, what: str = "span") -> Place:
    """The span of tokens that are numbered through all sentences. ``what`` is its name in messages."""
    first = 0
    for sentence in sentences:
        if first <= start < end <= first + len(sentence):
            return Place(sentence, start - first, end - first, label)
        first += len(sentence)
    room = f"must satisfy 0 <= START < END <= {first}" + (", inside one sentence" if len(sentences) > 1 else "")
    raise ConfigurationError(what, expected=room, got=f"{start}:{end}")


def places_of_words(sentences: list[Sentence], words: list[str], label: str | None, what: str) -> list[Place]:
    """Every occurrence of these words."""
    places = [
        Place(sentence, start, start + len(words), label)
        for sentence in sentences
        for start in range(len(sentence) - len(words) + 1)
        if words and sentence.tokens[start : start + len(words)] == words
    ]
    if not places:
        tokens = " ".join(token for sentence in sentences for token in sentence.tokens)
        expected = f"must be whole words of {shortened(tokens)}"
        raise ConfigurationError(what, expected=expected, got=repr(" ".join(words)))
    return places


def places_of_entities(
    model: Any, sentences: list[Sentence], label: str | None, *, what: str = "label", instead: str = "a span"
) -> Iterator[Place]:
    """The entities that the model finds; with ``label`` only those. ``instead``: what names a word in messages."""
    learnt = model.model.codec
    scheme = learnt.scheme if isinstance(learnt, LabelCodec) else learnt.span_codec.scheme
    if scheme == "none":
        raise ConfigurationError("labels without spans need a word to explain", expected=instead)
    known = learnt.classes if isinstance(learnt, LabelCodec) else (learnt.label,)
    if label is not None and label not in known:
        raise ConfigurationError(what, expected=f"one of {', '.join(known)}", got=repr(label))
    model.annotate(sentences)
    for sentence in sentences:
        for span in spans_from_labels(sentence.labels or [], scheme):
            if label in (None, span.label):
                yield Place(sentence, span.start, span.end, span.label)

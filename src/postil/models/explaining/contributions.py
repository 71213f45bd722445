"""What words and features contribute to a number that is computed from a network's scores (E6), in two ways.

To **leave out** a word is to put the empty word in its place, which no vocabulary knows: its features are those of the
unknown word, it is in no gazetteer, and all others stay where they are. That sentence is really given to the network;
what the number falls by is the word's contribution. A feature is left out by giving it the value of the empty word at
every word. A hand-made feature, a key of the tokens' dicts, is left out by removing it from all of them.

**Gradient times input** is the first-order estimate of the same: ∂number/∂x · (x - x₀), x the vector of a word and x₀
that of the empty word. One reverse pass gives it for all words and features. Without x₀ it would depend on where the
vectors' origin happens to lie: moving all rows of a table by v, and the next layer's bias by -Wv, changes no answer.
Hand-made features are added to the scores directly: what one of them adds is known exactly, ∂number/∂score · weight.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import InputFeatures, Inputs, Token, forms_of
from postil.features.named import FeatureToken
from postil.features.words import UNKNOWN
from postil.graph import Parameter, dense, gradients
from postil.kernels import Attributes
from postil.models.config import TaggerConfig
from postil.models.parts import Parts
from postil.models.scoring.ensemble_network import EnsembleNetwork, members_of
from postil.models.scoring.network import ScoringNetwork
from postil.models.scoring.pieces import reach
from postil.network import Chain, Layer, SentenceConvolution
from postil.network.attributes import sums_of_rows
from postil.threads import one_blas_thread

POSITION = "relative position"
TOKENS_AT_ONCE = 8192
FARTHEST = 40  # words: beyond the network's view, words act only through the labels between them and the entity


class Measure(ABC):
    """The number: one for every sentence of a batch. All sentences are copies of one, with other words or features."""

    @abstractmethod
    def of(self, scores: Array, offsets: Array) -> Array:
        """(N, L) scores -> (B,)."""

    @abstractmethod
    def slope(self, scores: Array, offsets: Array) -> Array:
        """(N, L) the derivatives of the sum of ``of`` by the scores."""


class Contribution(NamedTuple):
    """To the number, by gradient times input and by leaving out; None where nothing was left out."""

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


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Contributions:
    """To ``value``; ``unknown`` is what it would be if all words were left out."""

    value: float
    unknown: float
    words: tuple[WordContribution, ...]
    features: dict[str, Contribution]


def contributions(
    parts: Parts[Any, Any], tokens: Sequence[Token], measure: Measure, start: int, end: int
) -> Contributions:
    """To the measure of one sentence; words very far from the tokens ``start:end`` are not left out."""
    network, groups = parts.network, feature_groups(parts.config, parts.features, tokens)
    tried = words_in_reach(parts.config, len(tokens), start, end)
    copies = changed_copies(parts.features, tokens, tried, groups)
    with one_blas_thread():
        values = measured(network, measure, copies)
        named = _of_keys(parts.features, tokens, groups)
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
    words = _of_words(forms_of(tokens), [group.name for group in groups], cells, left_out)
    return Contributions(
        value=float(values[ORIGINAL]), unknown=float(values[UNKNOWN_WORDS]), words=words, features=features
    )


def _of_words(
    forms: Sequence[str], names: Sequence[str], cells: Array, left_out: Mapping[int, float]
) -> tuple[WordContribution, ...]:
    return tuple(
        WordContribution(
            word=form,
            gradient=float(row.sum()),
            left_out=left_out.get(t),
            features=dict(zip(names, row.tolist(), strict=True)),
        )
        for t, (form, row) in enumerate(zip(forms, cells, strict=True))
    )


# ------------------------------------------------------------------------------------------------ features


@final
@dataclass(frozen=True, kw_only=True)
class FeatureGroup:
    """A feature by the name that users know: prefixes of all lengths are one."""

    name: str
    dims: list[int]  # of the token vectors (N, D)
    forms: list[int]  # columns of Inputs.forms,
    extra: list[int]  # of Inputs.extra
    has_vector: bool  # and whether Inputs.vectors belongs to it
    key: str | None = None  # of the tokens' dicts: then it has none of the above


def feature_groups(config: TaggerConfig, features: InputFeatures, tokens: Sequence[Token] = ()) -> list[FeatureGroup]:
    """In the order in which the token vectors hold them: of words, fixed vectors, columns of the file, gazetteers.

    Then the keys of the tokens' dicts, where they have any.
    """
    groups: dict[str, FeatureGroup] = {}
    D = 0
    for name, kind, column, width in _columns(config, features):
        group = groups.setdefault(
            name, FeatureGroup(name=name, dims=[], forms=[], extra=[], has_vector=kind == "vector")
        )
        group.dims.extend(range(D, D + width))
        if kind != "vector":
            {"forms": group.forms, "extra": group.extra}[kind].append(column)
        D += width
    keys = {} if features.named is None else dict.fromkeys(key for token in tokens for key in token[1])
    of_keys = [
        FeatureGroup(name=f"feature {printable_key(key)}", dims=[], forms=[], extra=[], has_vector=False, key=key)
        for key in keys
    ]
    return [*groups.values(), *of_keys]


def printable_key(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode("utf8", "replace")


def _columns(config: TaggerConfig, features: InputFeatures) -> Iterator[tuple[str, str, int, int]]:
    """Name of the group, where its ids stand, in which column, and how wide its vectors are."""
    words = [column for column in features.words.columns if column.name != "vector"]
    for i, column in enumerate(words):
        yield _AFFIXES.get(column.name.split()[0], column.name), "forms", i, column.D
    if features.words.config.vector_dim:
        yield "vector", "vector", 0, features.words.config.vector_dim
    for i in range(features.words.character_columns):  # all of them make one vector
        yield "characters", "forms", len(words) + i, features.words.config.character_dim if i == 0 else 0
    for i, (_, width) in enumerate(features.extra_sizes(config.column_dim, config.gazetteer_dim)):
        name = f"column {i + 1}" if i < len(features.columns) else "gazetteer"
        yield name, "extra", i, width


_AFFIXES = {"prefix": "prefixes", "suffix": "suffixes"}


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
        forms[rows, group.forms] = forms[unknown, group.forms]
        extra[rows, group.extra] = extra[unknown, group.extra]
        if group.has_vector:
            vectors[rows] = vectors[unknown]
    places = np.arange(len(forms))
    return Inputs(
        forms=forms,
        vectors=vectors,
        places=places,
        extra=extra,
        offsets=inputs.offsets,
        attributes=inputs.attributes,
    )


def _featured(token: Token) -> FeatureToken:
    assert isinstance(token, FeatureToken), "the door has made them so"
    return token


def _of_keys(
    features: InputFeatures, tokens: Sequence[Token], groups: Sequence[FeatureGroup]
) -> list[tuple[int, Attributes]]:
    """For each group that is a key of the tokens' dicts: its place among the groups, and its attributes alone."""
    return [
        (place, features.named.of([[_featured(token).only(group.key) for token in tokens]]))
        for place, group in enumerate(groups)
        if features.named is not None and group.key is not None
    ]


def measured(network: ScoringNetwork | EnsembleNetwork, measure: Measure, copies: Inputs) -> Array:
    """(B,) the measure of every copy; a few of them at a time if they are long."""
    B, T = len(copies.offsets) - 1, int(copies.offsets[1])
    size = max(1, TOKENS_AT_ONCE // T)
    parts = [copies.selected(np.arange(first, min(first + size, B))) for first in range(0, B, size)]
    return np.concatenate([measure.of(network.scores(part).value, part.offsets) for part in parts])


# ------------------------------------------------------------------------------------------------ gradient times input


def gradient_times_input(
    network: ScoringNetwork | EnsembleNetwork,
    measure: Measure,
    copies: Inputs,
    groups: Sequence[FeatureGroup],
    named: Sequence[tuple[int, Attributes]] = (),
) -> tuple[Array, float | None]:
    """(T, F) of every word and feature; and of the relative positions, None where the network knows none.

    A position has no unknown value. x₀ is the mean of the table there: no position in particular.
    """
    original, unknown = (copies.selected(np.array([i])) for i in (ORIGINAL, UNKNOWN_WORDS))
    members = members_of(network)
    slope = measure.slope(network.unary(original), original.offsets).astype(network.dtype) / len(members)
    of_members = [_of_member(member, slope, original, unknown, groups) for member in members]
    for member, (cells, _) in zip(members, of_members, strict=True):
        for place, attributes in named:
            cells[:, place] = (slope * sums_of_rows(member.named.value, attributes)).sum(axis=1)
    cells = np.sum([cells for cells, _ in of_members], axis=0)
    of_tables = [value for _, values in of_members for value in values]
    return cells, sum(of_tables) if of_tables else None


def _of_member(
    network: ScoringNetwork, slope: Array, original: Inputs, unknown: Inputs, groups: Sequence[FeatureGroup]
) -> tuple[Array, list[float]]:
    """What one network passes on of the slope (N, L) by its scores: to its words' features, and to its positions."""
    X = network.token_vectors(original)
    scores = network.scores_of(X)
    tables = [layer.distances.table for layer in _position_layers(network)]
    slopes = gradients(scores, [X, *tables], seed=slope)
    products = dense(slopes[X]).astype(np.float64) * (X.value - network.token_vectors(unknown).value)
    cells = np.stack([products[:, group.dims].sum(axis=1) for group in groups], axis=1)
    of_tables = [float((dense(slopes[table]) * (table.value - table.value.mean(axis=0))).sum()) for table in tables]
    return cells, of_tables


def without_positions(network: ScoringNetwork | EnsembleNetwork) -> ScoringNetwork | EnsembleNetwork:
    """The same network where all relative positions look alike; it shares everything else."""
    if isinstance(network, EnsembleNetwork):
        return EnsembleNetwork([_without_positions(member) for member in network.members])
    one: ScoringNetwork = _without_positions(network)
    return one


def _without_positions(network: Any) -> Any:
    other, layers = copy(network), _layers(network)
    other.encoder = Chain(*(_levelled(part) if isinstance(part, SentenceConvolution) else part for part in layers))
    return other


def _levelled(layer: SentenceConvolution) -> SentenceConvolution:
    other = copy(layer)
    other.distances = copy(layer.distances)
    table = layer.distances.table.value
    other.distances.table = Parameter(np.broadcast_to(table.mean(axis=0), table.shape).copy(), "table")
    return other


def _position_layers(network: ScoringNetwork) -> list[SentenceConvolution]:
    return [layer for layer in _layers(network) if isinstance(layer, SentenceConvolution)]


def _layers(network: ScoringNetwork) -> list[Layer]:
    return network.encoder.layers if isinstance(network.encoder, Chain) else [network.encoder]

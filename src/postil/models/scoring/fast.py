"""The fast path of a fitted network: its first layer is multiplied out once per distinct word.

Words come as strings or as bytes of a text and leave as rows of the first layer's sums (``word_rows``), so features,
lookups and the largest matrix product happen once per distinct word instead of once per token. What is left for a
token: to add up the rows of its window, and the layers above. The rows of an ensemble's members stand side by side, so
a word is looked up once for all of them.
"""

import operator
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import InputFeatures, Token, forms_of
from postil.models.scoring.ensemble_network import EnsembleNetwork, mean_scores, members_of
from postil.models.scoring.network import ScoringNetwork
from postil.models.scoring.pieces import Piece, in_pieces
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.scoring.word_rows import WordRows
from postil.network import Activation, Chain, Layer, Linear, Window, WindowAverage
from postil.network.attributes import sums_of_rows
from postil.network.inference import infer, infer_linear, is_fused
from postil.network.layer import Run
from postil.network.precomputed import WindowMap
from postil.network.window import window_counts
from postil.objectives.crf_objective import summed_offsets

Rows: TypeAlias = Sequence[tuple[Array, Array]]
"""Tables of rows of the first layer's sums, and which row of each belongs to each token."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """A network as a linear map of windows, and what comes after it."""

    first: WindowMap
    layers: Sequence[Layer]  # on the sums of the first map
    outputs: Sequence[Linear]  # of the layers; none where the sums are the scores themselves
    shares: Callable[[Array], Array] | None = None  # offsets -> (N, 1) by which the sums are multiplied first


def split_network(network: ScoringNetwork) -> Split | None:
    """The network taken apart after its first linear map; None where it does not begin with one."""
    encoder, outputs = network.encoder, network.outputs
    if isinstance(encoder, WindowAverage) and len(outputs) == 1:
        return _averages(encoder.size, outputs[0])
    if not isinstance(encoder, Chain):
        return None
    match encoder.layers:
        case []:
            in_order = [outputs[1], outputs[0], outputs[2]] if len(outputs) == 3 else outputs
            return Split(first=WindowMap.of_maps(in_order), layers=[], outputs=[])
        case [Window() as window, Linear() as linear, *layers]:
            return Split(first=WindowMap.of_window(window, linear), layers=layers, outputs=outputs)
    return None


def _averages(size: int, output: Linear) -> Split:
    """A map of the mean of a window: the mean of the maps. The bias is added once, in equal parts."""
    first = WindowMap.of_maps([output] * size)

    def shares(offsets: Array) -> Array:
        return 1 / window_counts(offsets, size, first.W.dtype)[:, None]

    return Split(first=first, layers=[], outputs=[], shares=shares)


@final
class FastScorer:
    """Scores (N, L) of sentences, the fast way; made from a network that no longer changes.

    ``chain`` says what a tagger's labels score besides their tokens.
    Safe for any number of threads; a sentence's scores do not depend on who asked for what before.
    """

    def __init__(self, features: InputFeatures, network: ScoringNetwork | EnsembleNetwork) -> None:
        self.features, self.network = features, network
        self.chain = network.chain() if isinstance(network, TaggerNetwork | EnsembleNetwork) else None
        self.questions: dict[bool, Any] = {}  # what answers are read with, see `Posteriors`
        self._parameters = list(network.parameters().values())
        self._values = self._present_values()
        self._members: list[ScoringNetwork] = members_of(network)
        splits = [split_network(member) for member in self._members] if network.dtype == np.float32 else []
        self._splits = [split for split in splits if split is not None]
        if not self._splits:
            return
        words, split = network.form_dim, self._splits[0]  # members are alike in everything but their parameters
        self._of_words = [one.first.part(0, words, bias=True) for one in self._splits]
        self._of_extra = [one.first.part(words, one.first.W.shape[2], bias=False) for one in self._splits]
        self._K, self._H = split.first.b.shape
        padding = self._side_by_side([of_words.padding.reshape(1, -1) for of_words in self._of_words])
        self._rows = WordRows(self._rows_of, padding[0])
        fused = bool(split.layers) and is_fused(split.layers[0])
        self._activation = split.layers[0].function if fused and isinstance(split.layers[0], Activation) else "identity"
        self._is_fused = fused

    def for_head(self, network: TaggerNetwork) -> "FastScorer":
        """The scorer of another head of the same encoder. It shares the rows of words where the encoder makes them."""
        if not self.has_hidden:
            return FastScorer(self.features, network)
        other, (split,) = copy(self), self._splits
        other.network, other.chain, other.questions = network, network.chain(), {}
        other._members = [network]
        other._parameters = list(network.parameters().values())
        other._values = other._present_values()
        other._splits = [Split(first=split.first, layers=split.layers, outputs=network.outputs, shares=split.shares)]
        return other

    @property
    def has_hidden(self) -> bool:
        """Whether there is a layer between the rows of words and the output maps, and nothing beside it."""
        return len(self._splits) == 1 and bool(self._splits[0].outputs) and self.network.named is None

    def is_current(self, features: InputFeatures, network: ScoringNetwork | EnsembleNetwork) -> bool:
        """Whether the network still is what it was: the same arrays, and none of them can have been written to."""
        if features is not self.features or network is not self.network:
            return False
        return all(map(operator.is_, self._present_values(), self._values)) and not any(
            value.flags.writeable for value in self._values
        )

    def _present_values(self) -> list[Array]:
        """Every array that scores depend on."""
        fixed = [] if self.network.vectors is None else [self.network.vectors]
        return [parameter.value for parameter in self._parameters] + fixed

    def scores(self, sentences: Sequence[Sequence[Token]]) -> tuple[Array, Array]:
        """(N, L) and the offsets (B + 1,)."""
        if not self._splits:
            inputs = self.features.inputs(sentences)
            return self.network.unary(inputs), inputs.offsets
        parts, offsets = self.look_up(sentences)
        scores = self._scores_of_rows(parts, offsets)
        weights = [member.named.value for member in self._members if member.named is not None]
        if weights and self.features.named is not None:
            attributes = self.features.named.of(sentences)
            scores += mean_scores([sums_of_rows(one, attributes) for one in weights])
        return scores, offsets

    def look_up(self, sentences: Sequence[Sequence[Token]]) -> tuple[Rows, Array]:
        """Rows of words, and of other features, and which of them belongs to each token; and the offsets (B + 1,)."""
        offsets = offsets_from_lengths([len(tokens) for tokens in sentences])
        parts = [self._look_up(sentences)]
        if self.network.extra_tables:
            parts.append(self._extra_rows(sentences, int(offsets[-1])))
        return parts, offsets

    @property
    def takes_cells(self) -> bool:
        """Whether the scores depend on nothing but the words, and those have rows: then they need not be strings."""
        has_others = self.network.extra_tables or self.features.columns or self.features.named is not None
        return bool(self._splits) and not has_others

    def look_up_cells(self, text: bytes, cells: Array) -> tuple[Array, Array]:
        """Rows of words that stand in cells (N, 2) of a text in UTF-8, and which of them belongs to each cell, (N,).

        The cells are those of ``Segmenter.cells`` or of the columns of a file. New words get a row, known ones cost no
        object of Python. What is returned is what ``scores_of_words`` takes. Only if ``takes_cells``.
        """
        return self._rows.look_up_cells(text, cells)

    def scores_of_words(self, rows: Array, ids: Array, offsets: Array) -> Array:
        """(N, L) of sentences whose words have been looked up."""
        return self._scores_of_rows([(rows, ids)], offsets)

    def hidden(self, parts: Rows, piece: Piece) -> Array:
        """What the output maps take, (n, H), of the tokens of a piece. Only if ``has_hidden``."""
        of_piece = [(rows, ids[piece.first : piece.end]) for rows, ids in parts]
        return self._hidden(self._splits[0], self._sums(of_piece, piece.offsets), piece.offsets)

    def outputs(self, hidden: Array, offsets: Array) -> Array:
        """The scores (n, L) of what ``hidden`` returned."""
        return _mapped(self._splits[0], hidden, offsets)

    def _scores_of_rows(self, parts: Rows, offsets: Array) -> Array:
        return in_pieces(offsets, self.network.config, lambda piece: self._scores_of_piece(parts, piece))

    def _scores_of_piece(self, parts: Rows, piece: Piece) -> Array:
        """(n, L) from rows of words, and of other features, and which of them belongs to each token."""
        of_piece = [(rows, ids[piece.first : piece.end]) for rows, ids in parts]
        return self._scores_of(self._sums(of_piece, piece.offsets), piece.offsets)

    def _sums(self, parts: Rows, offsets: Array) -> Array:
        """The first layers of M members with their activation, (N, M·H)."""
        sums = np.empty((int(offsets[-1]), len(self._splits) * self._H), np.float32)
        for i, (rows, ids) in enumerate(parts):
            activation = self._activation if i == len(parts) - 1 else "identity"
            kernels.sum_windows(rows, ids, offsets, self._K, activation, sums, add=i > 0)
        return sums

    def _look_up(self, sentences: Sequence[Sequence[Token]]) -> tuple[Array, Array]:
        tokens: list[Any] = list(chain.from_iterable(sentences))
        if self.features.columns or self.features.named is not None:
            return self._rows.look_up(forms_of(tokens))
        try:
            return self._rows.look_up(tokens)
        except TypeError:  # some tokens have extra columns, which this model does not look at
            return self._rows.look_up(forms_of(tokens))

    def _rows_of(self, text: bytes, cells: Array) -> Array:
        """The rows of words in cells (U, 2) of a text, from all that depends on the word alone."""
        ids, vectors = self.features.form_ids_of_cells(text, cells)
        pairs = zip(self._of_words, self._members, strict=True)
        return self._side_by_side([of_words.rows(member.form_vectors(ids, vectors)) for of_words, member in pairs])

    def _side_by_side(self, rows: Sequence[Array]) -> Array:
        """M members' rows (U, K·H) as one (U, K·M·H): position by position."""
        if len(rows) == 1:
            return rows[0]
        by_position = [of_member.reshape(-1, self._K, self._H) for of_member in rows]
        return np.concatenate(by_position, axis=2).reshape(len(rows[0]), -1)

    def _extra_rows(self, sentences: Sequence[Sequence[Token]], N: int) -> tuple[Array, Array]:
        """Rows for the features of tokens in their sentences: every combination of values that occurs has one."""
        extra = self.features.extra(sentences, [forms_of(tokens) for tokens in sentences], N)
        distinct, ids = _distinct_rows(extra)
        rows = self._side_by_side(
            [
                of_extra.rows(member.extra_tables.forward(distinct, Run())[0])
                for of_extra, member in zip(self._of_extra, self._members, strict=True)
                if member.extra_tables is not None
            ]
        )
        return np.concatenate([np.zeros((1, rows.shape[1]), np.float32), rows]), ids + 1

    def _scores_of(self, sums: Array, offsets: Array) -> Array:
        """The mean of the members' scores (N, L)."""
        if len(self._splits) == 1:
            return self._scores_of_member(self._splits[0], sums, offsets)
        parts = [np.ascontiguousarray(sums[:, i * self._H : (i + 1) * self._H]) for i in range(len(self._splits))]
        pairs = zip(self._splits, parts, strict=True)
        return mean_scores([self._scores_of_member(split, part, offsets) for split, part in pairs])

    def _scores_of_member(self, split: Split, sums: Array, offsets: Array) -> Array:
        return _mapped(split, self._hidden(split, sums, offsets), offsets)

    def _hidden(self, split: Split, sums: Array, offsets: Array) -> Array:
        if split.shares is not None:
            sums *= split.shares(offsets)
        return infer(split.layers[1:] if self._is_fused else split.layers, sums, offsets)


def _mapped(split: Split, hidden: Array, offsets: Array) -> Array:
    """The scores (N, L) of the last hidden values (N, H)."""
    if not split.outputs:
        return hidden
    maps = [infer_linear(hidden, output) for output in split.outputs]
    return summed_offsets(maps, offsets) if len(maps) == 3 else maps[0]


def _distinct_rows(ids: Array) -> tuple[Array, Array]:
    """The different rows of ids (N, E), and which of them belongs to each token, (N,)."""
    sizes = ids.max(axis=0, initial=0) + 1
    if float(np.prod(sizes, dtype=np.float64)) >= 2**62:  # too many for one number: every token has its own
        return ids, np.arange(len(ids))
    steps = np.concatenate([[1], np.cumprod(sizes[:-1])])
    _, first, places = np.unique(ids @ steps, return_index=True, return_inverse=True)
    return ids[first], places

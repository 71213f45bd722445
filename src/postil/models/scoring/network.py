"""The network that all models of sentences share: features of tokens, an encoder, output maps.

``tagger_network.py`` and ``detector_network.py`` add what each kind of model learns from the scores.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import InputFeatures, Inputs
from postil.graph import Input, Node, Parameterised, Result
from postil.kernels import Attributes
from postil.models.config import TaggerConfig
from postil.models.scoring.encoders import ENCODERS, LayerMaker
from postil.models.scoring.pieces import Piece, in_pieces
from postil.network import Chain, Dropout, Linear, Window
from postil.network.attributes import weighted_rows
from postil.network.finish import finish_of
from postil.network.layer import Run
from postil.network.shared_windows import shared_windows
from postil.objectives import l2
from postil.objectives.crf_objective import offset_scores

NAMED_NOISE = 0.1
"""Share of the hand-made features that are left out in training, at most: fewer than of entries of vectors, because
each is the only one of its kind. This and the pace of their weights (``LayerMaker.weights``) come from a few runs on
held-out data, whose differences are no larger than those between seeds."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Inputs with their gold: labels (N,), or (N, L) boolean where several are possible, or a teacher's lattice."""

    inputs: Inputs
    gold: Any
    share: float = 1.0
    """Of the batch that it is a part of."""
    task: str = ""
    """Whose labels the gold is, where a network learns several tasks."""


class ScoringNetwork(Parameterised, ABC):
    """L scores for every token, and what a kind of model learns from them.

    ``form_sizes`` and ``extra_sizes`` are (V, D) of each feature column.
    """

    PATHS = {"form_tables": "forms", "extra_tables": "extra", "outputs": "output{}"}

    def __init__(
        self,
        config: TaggerConfig,
        L: int,
        *,
        form_sizes: list[tuple[int, int]],
        extra_sizes: list[tuple[int, int]],
        vectors: Array | None,
        word_counts: Array,
        named: int = 0,
        alphabet: int = 0,
        rng: "np.random.Generator | None",
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        """Without ``bias`` the output maps have none. ``named`` is the number of hand-made features, ``alphabet`` that
        of characters.

        Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
        """
        self.config = config
        make = LayerMaker(config, rng, dtype)
        self.vectors = vectors  # (V, D) fixed: not learnt
        self.word_counts = word_counts  # (V,) how often each word id occurs in training
        self.form_tables = make.tables(form_sizes)
        self.extra_tables = make.tables(extra_sizes)
        vector_dim = 0 if vectors is None else vectors.shape[1]
        self.characters = make.characters(alphabet, config.character_dim)
        # What depends on the form alone: features in tables, fixed vectors, characters.
        self.form_dim = sum(d for _, d in form_sizes) + vector_dim + config.character_dim
        D = self.form_dim + sum(d for _, d in extra_sizes)
        self.noise = Dropout(config.input_dropout or 0.0)
        encoder = ENCODERS[config.encoder]
        self.encoder = encoder.build(make, D)
        H = D if encoder.keeps_width else config.hidden
        self.outputs = [make.linear(H, L, bias=bias) for _ in range(config.offsets)]
        self.named = make.weights(named, L) if named else None  # (A, L)

    @abstractmethod
    def objective(self, scores: Result, example: Example, rng: "np.random.Generator") -> Node:
        """A node with the objective's value for scores (N, L)."""

    @abstractmethod
    def weight(self, example: Example) -> float:
        """How many things the objective is the mean of: by these weights the means of parts make that of the whole."""

    @abstractmethod
    def resized(self, **sizes: Any) -> "ScoringNetwork":
        """The same network over feature tables of other sizes, all parameters zeros."""

    @abstractmethod
    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        """(N,) valid gold at random, for gradient checks."""

    def scores(self, inputs: Inputs, rng: "np.random.Generator | None" = None) -> Result:
        """One score per token and label, a node (N, L) that carries the offsets."""
        scores = self._outputs(self.hidden(inputs, rng), inputs.offsets)
        if self.named is None or inputs.attributes is None:
            return scores
        scores = graph.add(scores, weighted_rows(self.named, self._with_noise(inputs.attributes, rng)))
        scores.offsets = inputs.offsets
        return scores

    def _with_noise(self, attributes: Attributes, rng: "np.random.Generator | None") -> Attributes:
        """Some of the attributes of each token, in training; their values make up for the others."""
        rate = min(NAMED_NOISE, self.noise.rate)
        if rng is None or not rate:
            return attributes
        is_kept = rng.random(len(attributes.ids)) >= rate
        values = np.ones(len(attributes.ids)) if attributes.values is None else attributes.values
        kept = np.concatenate([[0], np.cumsum(is_kept)])
        return Attributes(attributes.ids[is_kept], values[is_kept] / (1 - rate), kept[attributes.offsets])

    def scores_of(self, X: Node, rng: "np.random.Generator | None" = None) -> Result:
        """The scores (N, L) of token vectors (N, D) that carry offsets."""
        return self._outputs(self.encoder(self.noise(X, rng=rng), rng=rng), X.offsets)

    def _outputs(self, hidden: Result, offsets: Array | None) -> Result:
        maps = [output(hidden) for output in self.outputs]
        for node in maps:  # the sentence approach ends with one row per token
            node.offsets = offsets
        return self.scores_of_maps(maps)

    def scores_of_maps(self, maps: "list[Result]") -> Result:
        """The scores (N, L) of the output maps: of one, or of three that also look at the neighbours (C2)."""
        return offset_scores(*maps) if len(maps) == 3 else maps[0]

    def unary(self, inputs: Inputs) -> Array:
        """The scores (N, L) alone, to predict with: of any number of tokens, in pieces that bound the memory.

        They are those of ``scores`` in one piece, up to the rounding of matrix products of other sizes.
        """

        def scores(piece: Piece) -> Array:
            return self.scores(inputs.rows(piece.first, piece.end, piece.offsets)).value

        return in_pieces(inputs.offsets, self.config, scores)

    def hidden(self, inputs: Inputs, rng: "np.random.Generator | None") -> Result:
        """The encoder's output (N, H). Where it begins with a window of forms alone, a form is multiplied only once."""
        layers = self.encoder.layers if isinstance(self.encoder, Chain) else []
        match layers:
            case [Window() as window, Linear() as linear, *above] if self.extra_tables is None:
                forms = self.noise(self.distinct_forms(inputs), rng=rng)
                fused, finish = finish_of(above, Run(rng=rng))
                first = shared_windows(forms, inputs.places, inputs.offsets, window, linear, finish)
                return Chain(*above[fused:])(first, rng=rng) if above[fused:] else first
        return self.encoder(self.noise(self.token_vectors(inputs), rng=rng), rng=rng)

    def token_vectors(self, inputs: Inputs) -> Input | Result:
        """All features of every token side by side, a node (N, D). Each distinct form is looked up once."""
        parts: list[Any] = [] if self.form_dim == 0 else [graph.take_rows(self.distinct_forms(inputs), inputs.places)]
        if self.extra_tables is not None:
            parts.append(self.extra_tables(inputs.extra))
        X = graph.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
        X.offsets = inputs.offsets
        return X

    def distinct_forms(self, inputs: Inputs) -> Input | Result:
        """All features that depend on the form alone, a node (U, D')."""
        features, characters = self.form_columns(inputs.forms)
        parts: list[Any] = [] if self.form_tables is None else [self.form_tables(features)]
        if self.vectors is not None:
            parts.append(self.vectors[inputs.vectors].astype(self.dtype, copy=False))
        if self.characters is not None:
            parts.append(self.characters(characters))
        if len(parts) > 1:
            return graph.concatenate(parts, axis=1)
        return parts[0] if isinstance(parts[0], Result) else Input(parts[0])

    @property
    def alphabet(self) -> int:
        """Characters that have ids."""
        return 0 if self.characters is None else int(self.characters.table.shape[0])

    def form_columns(self, forms: Array) -> tuple[Array, Array]:
        """The ids (U, F) of the features that have tables, and the characters (U, M)."""
        F = len(self.form_tables.sizes) if self.form_tables is not None else 0
        return (forms, forms[:, :0]) if self.characters is None else (forms[:, :F], forms[:, F:])

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The objective, and the regulariser outside its mean."""
        loss = self.objective(self.scores(self.with_unknown_words(example.inputs, rng), rng), example, rng)
        if self.config.l2:
            loss = loss + l2(self.parameters().values(), self.config.l2)
        return loss

    def with_unknown_words(self, inputs: Inputs, rng: "np.random.Generator") -> Inputs:
        """Some words are replaced by the unknown word, rare ones more often, so that it has something to learn from."""
        strength = self.config.word_dropout
        if not (strength and self.config.word_dim):
            return inputs
        words = inputs.forms[:, 0]
        dropped = rng.random(len(words)) < strength / (strength + self.word_counts[words])
        forms = inputs.forms.copy()
        forms[dropped, 0] = 0
        return replace(inputs, forms=forms)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.outputs[0].W.dtype


def feature_sizes(config: TaggerConfig, features: InputFeatures) -> dict[str, Any]:
    """What a ScoringNetwork must know about the features."""
    return {
        "form_sizes": features.form_sizes(),
        "extra_sizes": features.extra_sizes(config.column_dim, config.gazetteer_dim),
        "word_counts": features.words.counts,
        "alphabet": len(features.words.vocabularies.get("character", ())),
        "named": 0 if features.named is None else len(features.named),
    }

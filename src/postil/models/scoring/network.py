"""Networks composed from a config: word features, encoder, output maps; and that of a tagger with its objective."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import InputFeatures, Inputs
from postil.graph import Input, Node, Parameter, Result
from postil.models.config import TaggerConfig
from postil.models.scoring.pieces import Piece, in_pieces
from postil.network import (
    INITIALISERS,
    Activation,
    Chain,
    Dropout,
    Layer,
    LayerNorm,
    Linear,
    LookupTables,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
)
from postil.network.finish import finish_of
from postil.network.initialisers import fan_in_variance
from postil.network.layer import Run
from postil.network.shared_windows import shared_windows
from postil.objectives import l2, softmax_cross_entropy
from postil.objectives.crf_decoding import viterbi
from postil.objectives.crf_objective import CRF, offset_scores
from postil.objectives.lattice import ChainScores, Lattice
from postil.text import TransitionMask


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Inputs with their gold: labels (N,), or (N, L) boolean where several are possible."""

    inputs: Inputs
    gold: Array
    share: float = 1.0
    """Of the batch that it is a part of."""


class ScoringNetwork(ABC):
    """L scores for every token, and what a kind of model learns from them.

    ``form_sizes`` and ``extra_sizes`` are (V, D) of each feature column.
    """

    def __init__(
        self,
        config: TaggerConfig,
        L: int,
        *,
        form_sizes: list[tuple[int, int]],
        extra_sizes: list[tuple[int, int]],
        vectors: Array | None,
        word_counts: Array,
        rng: np.random.Generator | None,
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        """Without ``bias`` the output maps have none.

        Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
        """
        self.config = config
        make = _Maker(config, rng, dtype)
        self.vectors = vectors  # (V, D) fixed: not learnt
        self.word_counts = word_counts  # (V,) how often each word id occurs in training
        self.form_tables = make.tables(form_sizes)
        self.extra_tables = make.tables(extra_sizes)
        vector_dim = 0 if vectors is None else vectors.shape[1]
        self.form_dim = sum(d for _, d in form_sizes) + vector_dim  # features that depend on the form alone
        D = self.form_dim + sum(d for _, d in extra_sizes)
        self.noise = Dropout(config.input_dropout)
        self.encoder, H = make.encoder(D)
        self.outputs = [make.linear(H, L, bias=bias) for _ in range(config.offsets)]

    @abstractmethod
    def objective(self, scores: Result, example: Example, rng: np.random.Generator) -> Node:
        """A node with the objective's value for scores (N, L)."""

    @abstractmethod
    def weight(self, example: Example) -> float:
        """How many things the objective is the mean of: by these weights the means of parts make that of the whole."""

    @abstractmethod
    def resized(self, **sizes: Any) -> "ScoringNetwork":
        """The same network over feature tables of other sizes, all parameters zeros."""

    @abstractmethod
    def random_gold(self, offsets: Array, rng: np.random.Generator) -> Array:
        """(N,) valid gold at random, for gradient checks."""

    def parameters(self) -> dict[str, Parameter]:
        """Every parameter by its path; subclasses with parameters of their own add them."""
        parts = {"forms": self.form_tables, "extra": self.extra_tables, "encoder": self.encoder}
        parts |= {f"output{i}": output for i, output in enumerate(self.outputs)}
        return {
            f"{name}.{path}": parameter
            for name, part in parts.items()
            if part is not None
            for path, parameter in part.parameters().items()
        }

    def scores(self, inputs: Inputs, rng: np.random.Generator | None = None) -> Result:
        """One score per token and label, a node (N, L) that carries the offsets."""
        return self._outputs(self._hidden(inputs, rng), inputs.offsets)

    def scores_of(self, X: Node, rng: np.random.Generator | None = None) -> Result:
        """The scores (N, L) of token vectors (N, D) that carry offsets."""
        return self._outputs(self.encoder(self.noise(X, rng=rng), rng=rng), X.offsets)

    def _outputs(self, hidden: Result, offsets: Array | None) -> Result:
        maps = [output(hidden) for output in self.outputs]
        for node in maps:  # the sentence approach ends with one row per token
            node.offsets = offsets
        return offset_scores(*maps) if len(maps) == 3 else maps[0]

    def unary(self, inputs: Inputs) -> Array:
        """The scores (N, L) alone, to predict with: of any number of tokens, in pieces that bound the memory.

        They are those of ``scores`` in one piece, up to the rounding of matrix products of other sizes.
        """

        def scores(piece: Piece) -> Array:
            return self.scores(inputs.rows(piece.first, piece.end, piece.offsets)).value

        return in_pieces(inputs.offsets, self.config, scores)

    def _hidden(self, inputs: Inputs, rng: np.random.Generator | None) -> Result:
        """The encoder's output (N, H). Where it begins with a window of forms alone, a form is multiplied only once."""
        layers = self.encoder.layers if isinstance(self.encoder, Chain) else []
        match layers:
            case [Window() as window, Linear() as linear, *above] if self.extra_tables is None:
                forms = self.noise(self.distinct_forms(inputs), rng=rng)
                together, finish = finish_of(above, Run(rng=rng))
                first = shared_windows(forms, inputs.places, inputs.offsets, window, linear, finish)
                return Chain(*above[together:])(first, rng=rng) if above[together:] else first
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
        parts: list[Any] = [] if self.form_tables is None else [self.form_tables(inputs.forms)]
        if self.vectors is not None:
            parts.append(self.vectors[inputs.vectors].astype(self.dtype, copy=False))
        if self.form_tables is None:
            return Input(parts[0])
        return graph.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def form_vectors(self, forms: Array, vectors: Array) -> Array:
        """All features of U distinct forms side by side, (U, D'): the part of token vectors that they alone decide."""
        parts = [] if self.form_tables is None else [self.form_tables.forward(forms, Run())[0]]
        if self.vectors is not None:
            parts.append(self.vectors[vectors].astype(self.dtype, copy=False))
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def loss(self, example: Example, *, rng: np.random.Generator) -> Node:
        """The objective, and the regulariser outside its mean."""
        loss = self.objective(self.scores(self._with_unknown_words(example.inputs, rng), rng), example, rng)
        if self.config.l2:
            loss = loss + l2(self.parameters().values(), self.config.l2)
        return loss

    def _with_unknown_words(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
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
    }


@final
class TaggerNetwork(ScoringNetwork):
    """Scores and losses of one tagger."""

    def __init__(self, config: TaggerConfig, *, mask: TransitionMask, dtype: Any = np.float32, **sizes: Any) -> None:
        """``sizes`` and the rest as ScoringNetwork takes them."""
        super().__init__(config, len(mask.start), dtype=dtype, **sizes)
        self.mask = mask
        self.crf = _crf(config, mask, dtype) if config.objective == "crf" else None

    def parameters(self) -> dict[str, Parameter]:
        of_crf = self.crf.parameters() if self.crf is not None else {}
        return super().parameters() | {f"crf.{path}": parameter for path, parameter in of_crf.items()}

    def objective(self, scores: Result, example: Example, rng: np.random.Generator) -> Node:
        """The mean over words (softmax) or sentences (CRF)."""
        if self.crf is not None:
            return self.crf.loss(scores, example.gold)
        return softmax_cross_entropy(scores, example.gold)

    def weight(self, example: Example) -> float:
        """Sentences for a CRF, words for a softmax; not those of which every label is possible."""
        offsets, gold = example.inputs.offsets, example.gold
        if self.crf is None:
            return float(len(gold) if gold.ndim == 1 else (~gold.all(axis=1)).sum())
        return float(len(offsets) - 1)

    def resized(self, **sizes: Any) -> "TaggerNetwork":
        return TaggerNetwork(self.config, mask=self.mask, rng=None, **sizes)

    def random_gold(self, offsets: Array, rng: np.random.Generator) -> Array:
        """The best labels under random scores and the scheme's mask."""
        L = len(self.mask.start)
        chain = ChainScores.under_mask(L, **_masks(self.mask))
        return viterbi(Lattice.over(rng.normal(size=(int(offsets[-1]), L)), offsets, chain))

    def lattice(self, inputs: Inputs, *, allowed: Array | None = None, bias: Array | None = None) -> Lattice:
        """All label sequences of the batch: marginals, best paths and spans are read from it."""
        return self.lattice_over(self.unary(inputs), inputs.offsets, allowed=allowed, bias=bias)

    def lattice_over(
        self, scores: Array, offsets: Array, *, allowed: Array | None = None, bias: Array | None = None
    ) -> Lattice:
        """The lattice of scores (N, L) that are there already."""
        return Lattice.over(scores, offsets, self.chain(), allowed=allowed, bias=bias)

    def chain(self) -> ChainScores:
        """What follows what: learnt by a CRF; for a softmax model only the scheme's rules."""
        if self.crf is not None:
            return self.crf.chain()
        return ChainScores.under_mask(len(self.mask.start), **_allowed(self.config, self.mask))


def _masks(mask: TransitionMask) -> dict[str, Any]:
    return {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}


def _allowed(config: TaggerConfig, mask: TransitionMask) -> dict[str, Any]:
    return _masks(mask) if config.constrained else {}


def _crf(config: TaggerConfig, mask: TransitionMask, dtype: Any) -> CRF:
    return CRF(len(mask.start), **_allowed(config, mask), dtype=dtype)


@final
class _Maker:
    """Makes the layers of a config: the same initialiser, generator and float type for all."""

    def __init__(self, config: TaggerConfig, rng: np.random.Generator | None, dtype: Any) -> None:
        self.config, self.dtype = config, dtype
        self.rng = rng or np.random.default_rng(0)
        self.initialise = INITIALISERS[config.initialiser] if rng is not None else self._placeholder
        self.initialise_table = fan_in_variance if rng is not None else self._placeholder

    def _placeholder(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Zeros that take neither time nor memory until they are touched: a model file's arrays take their place."""
        return np.zeros(shape, self.dtype)

    def tables(self, sizes: list[tuple[int, int]]) -> LookupTables | None:
        if not sizes:
            return None
        tables = LookupTables(sizes, rng=self.rng, initialise=self.initialise_table, dtype=self.dtype)
        for parameter in tables.parameters().values():
            parameter.pace = self.config.word_rate
        return tables

    def linear(self, D: int, H: int, *, bias: bool = True) -> Linear:
        return Linear(D, H, rng=self.rng, initialise=self.initialise, bias=bias, dtype=self.dtype)

    def window(self, D: int) -> Window:
        return Window(D, self.config.window, rng=self.rng, dtype=self.dtype)

    def norm(self) -> LayerNorm:
        return LayerNorm(self.config.hidden, rng=self.rng, dtype=self.dtype)

    def encoder(self, D: int) -> tuple[Layer, int]:
        """The layers between word features (N, D) and output maps, and the width of what they give."""
        kind, H = self.config.encoder, self.config.hidden
        if kind == "none":
            return Chain(), D
        if kind == "average":
            return WindowAverage(self.config.window), D
        return {"window": self._window, "sentence": self._sentence, "convolutions": self._convolutions}[kind](D), H

    def _window(self, D: int) -> Chain:
        """A window of word features, then hidden layers (A12)."""
        widths = [self.config.window * D] + [self.config.hidden] * (self.config.layers - 1)
        return Chain(self.window(D), *(layer for width in widths for layer in self._hidden(width)))

    def _sentence(self, D: int) -> Chain:
        """Distances, convolution, max over time, hidden layer (A12)."""
        view = SentenceConvolution(
            D,
            self.config.hidden,
            self.config.window,
            distance_dim=self.config.position_dim,
            rng=self.rng,
            initialise=self.initialise,
            dtype=self.dtype,
        )
        return Chain(view, *self._hidden(self.config.hidden))

    def _convolutions(self, D: int) -> Chain:
        """A first convolution to the hidden width, then residual ones, each behind a layer normalisation."""
        H = self.config.hidden
        first = [self.window(D), *self._hidden(self.config.window * D)]
        others = [
            Residual(Chain(self.norm(), self.window(H), *self._hidden(self.config.window * H)))
            for _ in range(self.config.layers - 1)
        ]
        return Chain(*first, *others, self.norm())

    def _hidden(self, D: int) -> list[Layer]:
        activation = Activation(self.config.activation)
        return [self.linear(D, self.config.hidden), activation, Dropout(self.config.hidden_dropout or 0.0)]

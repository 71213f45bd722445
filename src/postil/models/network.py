"""The network of a tagger, composed from its config: word features, encoder, output maps, objective."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import Inputs
from postil.graph import Input, Node, Parameter, Result
from postil.models.config import TaggerConfig
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
from postil.objectives import l2, softmax_cross_entropy
from postil.objectives.crf_objective import CRF, offset_scores
from postil.objectives.lattice import ChainScores, Lattice
from postil.text import TransitionMask


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Inputs with their gold: labels (N,), or (N, L) boolean where several are possible."""

    inputs: Inputs
    gold: Array


@final
class TaggerNetwork:
    """Scores and losses of one tagger. ``form_sizes`` and ``extra_sizes`` are (V, D) of each feature column."""

    def __init__(
        self,
        config: TaggerConfig,
        *,
        form_sizes: list[tuple[int, int]],
        extra_sizes: list[tuple[int, int]],
        vectors: Array | None,
        word_counts: Array,
        mask: TransitionMask,
        rng: np.random.Generator,
        dtype: Any = np.float32,
    ) -> None:
        self.config, self.mask = config, mask
        self.vectors = vectors  # (V, D) fixed: not learnt
        self.word_counts = word_counts  # (V,) how often each word id occurs in training
        self.form_tables = LookupTables(form_sizes, rng=rng, dtype=dtype) if form_sizes else None
        self.extra_tables = LookupTables(extra_sizes, rng=rng, dtype=dtype) if extra_sizes else None
        vector_dim = 0 if vectors is None else vectors.shape[1]
        D = sum(d for _, d in form_sizes) + sum(d for _, d in extra_sizes) + vector_dim
        L = len(mask.start)
        self.noise = Dropout(config.input_dropout)
        self.encoder, H = _encoder(config, D, rng, dtype)
        initialise = INITIALISERS[config.initialiser]
        self.outputs = [Linear(H, L, rng=rng, initialise=initialise, dtype=dtype) for _ in range(config.offsets)]
        self.crf = _crf(config, mask, dtype) if config.objective == "crf" else None

    def parameters(self) -> dict[str, Parameter]:
        parts = {"forms": self.form_tables, "extra": self.extra_tables, "encoder": self.encoder, "crf": self.crf}
        parts |= {f"output{i}": output for i, output in enumerate(self.outputs)}
        return {
            f"{name}.{path}": parameter
            for name, part in parts.items()
            if part is not None
            for path, parameter in part.parameters().items()
        }

    def scores(self, inputs: Inputs, rng: np.random.Generator | None = None) -> Result:
        """One score per token and label, a node (N, L) that carries the offsets."""
        X = self.noise(self.token_vectors(inputs), rng=rng)
        hidden = self.encoder(X, rng=rng)
        maps = [output(hidden) for output in self.outputs]
        for node in maps:  # the sentence approach ends with one row per token
            node.offsets = inputs.offsets
        return offset_scores(*maps) if len(maps) == 3 else maps[0]

    def token_vectors(self, inputs: Inputs) -> Input | Result:
        """All features of every token side by side, a node (N, D). Each distinct form is looked up once."""
        parts: list[Node | Array] = []
        if self.form_tables is not None:
            parts.append(graph.take_rows(self.form_tables(inputs.forms), inputs.places))
        if self.vectors is not None:
            parts.append(self.vectors[inputs.vectors[inputs.places]].astype(self.dtype, copy=False))
        if self.extra_tables is not None:
            parts.append(self.extra_tables(inputs.extra))
        X = (
            graph.concatenate(parts, axis=1)
            if any(isinstance(p, Node) for p in parts)
            else Input(np.concatenate(parts, 1))
        )
        X.offsets = inputs.offsets
        return X

    def loss(self, example: Example, *, rng: np.random.Generator) -> Node:
        """The objective's mean over words (softmax) or sentences (CRF), and the regulariser outside the mean."""
        scores = self.scores(self._with_unknown_words(example.inputs, rng), rng)
        if self.crf is not None:
            loss: Node = self.crf.loss(scores, example.gold)
        else:
            loss = softmax_cross_entropy(scores, example.gold)
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

    def lattice(self, inputs: Inputs, *, allowed: Array | None = None, bias: Array | None = None) -> Lattice:
        """All label sequences of the batch: marginals, best paths and spans are read from it."""
        return Lattice.over(self.scores(inputs).value, inputs.offsets, self.chain(), allowed=allowed, bias=bias)

    def chain(self) -> ChainScores:
        """What follows what: learnt by a CRF; for a softmax model only the scheme's rules."""
        if self.crf is not None:
            return self.crf.chain()
        return ChainScores.under_mask(len(self.mask.start), **_masks(self.config, self.mask))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.outputs[0].W.dtype


def _masks(config: TaggerConfig, mask: TransitionMask) -> dict[str, Array]:
    if not config.constrained:
        return {}
    return {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}


def _crf(config: TaggerConfig, mask: TransitionMask, dtype: Any) -> CRF:
    return CRF(len(mask.start), **_masks(config, mask), dtype=dtype)


def _encoder(config: TaggerConfig, D: int, rng: np.random.Generator, dtype: Any) -> tuple[Layer, int]:
    """The layers between word features (N, D) and output maps, and the width of what they give."""
    if config.encoder == "none":
        return Chain(), D
    if config.encoder == "average":
        return WindowAverage(config.window), D
    if config.encoder == "sentence":
        return _sentence_approach(config, D, rng, dtype), config.hidden
    if config.encoder == "convolutions":
        return _convolutions(config, D, rng, dtype), config.hidden
    layers: list[Layer] = [Window(D, config.window, rng=rng, dtype=dtype)]
    width = config.window * D
    for _ in range(config.layers):
        layers += _hidden_layer(config, width, rng, dtype)
        width = config.hidden
    return Chain(*layers), config.hidden


def _hidden_layer(config: TaggerConfig, D: int, rng: np.random.Generator, dtype: Any) -> list[Layer]:
    initialise = INITIALISERS[config.initialiser]
    linear = Linear(D, config.hidden, rng=rng, initialise=initialise, dtype=dtype)
    return [linear, Activation(config.activation), Dropout(config.hidden_dropout)]


def _sentence_approach(config: TaggerConfig, D: int, rng: np.random.Generator, dtype: Any) -> Chain:
    """A12: distances, convolution, max over time, linear, activation."""
    initialise = INITIALISERS[config.initialiser]
    view = SentenceConvolution(
        D, config.hidden, config.window, distance_dim=config.position_dim, rng=rng, initialise=initialise, dtype=dtype
    )
    return Chain(view, *_hidden_layer(config, config.hidden, rng, dtype))


def _convolutions(config: TaggerConfig, D: int, rng: np.random.Generator, dtype: Any) -> Chain:
    """A first convolution to the hidden width, then residual ones, each after a layer normalisation."""
    H = config.hidden
    layers: list[Layer] = [Window(D, config.window, rng=rng, dtype=dtype)]
    layers += _hidden_layer(config, config.window * D, rng, dtype)
    for _ in range(config.layers - 1):
        inner = [LayerNorm(H, rng=rng, dtype=dtype), Window(H, config.window, rng=rng, dtype=dtype)]
        layers.append(Residual(Chain(*inner, *_hidden_layer(config, config.window * H, rng, dtype))))
    return Chain(*layers, LayerNorm(H, rng=rng, dtype=dtype))

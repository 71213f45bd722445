"""The network that all models of sentences share: features of tokens, an encoder, output maps.

After it come the kinds of models, which differ in what they learn from the scores; ensembles; several tasks in one.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import InputFeatures, Inputs
from postil.graph import Input, Node, Parameterised, Result
from postil.kernels import Attributes
from postil.models.config import TaggerConfig
from postil.models.networks.encoders import ENCODERS, LayerMaker, in_pieces
from postil.network import Chain, Dropout, Linear, Window
from postil.network.layer import Run, finish_of
from postil.network.lookup import weighted_rows
from postil.network.window import shared_windows
from postil.objectives import l2, max_margin, softmax_cross_entropy
from postil.objectives.crf import CRF, ChainScores, Lattice, offset_scores, viterbi
from postil.text import TransitionMask

MAIN = "main"
"""The task of a model that has only one."""
FORM_TABLE = re.compile(r"\bforms\.tables\.\d+$")
"""How the name of a parameter ends that is a table of features of words."""
NAMED_NOISE = 0.1
"""Share of the hand-made features that are left out in training, at most: fewer than of entries of vectors, because
each is the only one of its kind. This and the pace of their weights (``LayerMaker.weights``) come from a few runs on
held-out data, whose differences are no larger than those between seeds."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Inputs with their gold: labels (N,), or (N, L) boolean if several are possible, or a teacher's lattice."""

    inputs: Inputs
    gold: Any
    share: float = 1.0
    """Of the batch that it is a part of."""
    task: str = MAIN
    """Whose labels the gold is."""


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
        """``named`` is the number of hand-made features, ``alphabet`` that of characters.

        Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
        """
        self.config = config
        make = LayerMaker(config, rng, dtype)
        self.vectors = vectors  # (V, D) fixed: not learned
        self.word_counts = word_counts  # (V,) how often each word id occurs in training
        self.form_tables = make.tables(form_sizes)
        self.extra_tables = make.tables(extra_sizes)
        vector_dim = 0 if vectors is None else vectors.shape[1]
        self.characters = make.characters(alphabet, config.character_dim)
        self.alphabet = alphabet if config.character_dim else 0  # characters that have ids
        # What depends on the form alone: features in tables, fixed vectors, characters.
        self.form_dim = sum(d for _, d in form_sizes) + vector_dim + config.character_dim
        self.input_dim = D = self.form_dim + sum(d for _, d in extra_sizes)
        self.noise = Dropout(config.input_dropout or 0.0)
        self.encoder = ENCODERS[config.encoder].build(make, D)
        H = D if ENCODERS[config.encoder].keeps_width else config.hidden
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
        scores, attributes = self._outputs(self.hidden(inputs, rng), inputs.offsets), inputs.attributes
        if self.named is None or attributes is None:
            return scores
        rate = min(NAMED_NOISE, self.noise.rate)
        if rng is not None and rate:  # some of the attributes of each token; their values make up for the others
            is_kept = rng.random(len(attributes.ids)) >= rate
            values = np.ones(len(attributes.ids)) if attributes.values is None else attributes.values
            kept = np.concatenate([[0], np.cumsum(is_kept)])
            attributes = Attributes(attributes.ids[is_kept], values[is_kept] / (1 - rate), kept[attributes.offsets])
        scores = graph.add(scores, weighted_rows(self.named, attributes))
        scores.offsets = inputs.offsets
        return scores

    def scores_of(self, X: Node, rng: "np.random.Generator | None" = None) -> Result:
        """The scores (N, L) of token vectors (N, D) that carry offsets."""
        return self._outputs(self.encoder(self.noise(X, rng=rng), rng=rng), X.offsets)

    def _outputs(self, hidden: Result, offsets: Array | None) -> Result:
        maps = [output(hidden) for output in self.outputs]
        for node in maps:  # the sentence approach ends with one row per token
            node.offsets = offsets
        return offset_scores(*maps) if len(maps) == 3 else maps[0]  # three also look at the neighbours (C2)

    def unary(self, inputs: Inputs) -> Array:
        """The scores (N, L) alone, to predict with: of any number of tokens, in pieces that bound the memory.

        They are those of ``scores`` in one piece, up to the rounding of matrix products of other sizes.
        """
        rows = inputs.rows
        return in_pieces(inputs.offsets, self.config, lambda p: self.scores(rows(p.first, p.end, p.offsets)).value)

    def hidden(self, inputs: Inputs, rng: "np.random.Generator | None") -> Result:
        """The encoder's output (N, H). If it begins with a window, each distinct row is multiplied only once."""
        layers = self.encoder.layers if isinstance(self.encoder, Chain) else []
        match layers:
            case [Window() as window, Linear() as linear, *above]:
                rows, places = self._distinct_rows(inputs)
                fused, finish = finish_of(above, Run(rng=rng))
                first = shared_windows(self.noise(rows, rng=rng), places, inputs.offsets, window, linear, finish)
                return Chain(*above[fused:])(first, rng=rng) if above[fused:] else first
        return self.encoder(self.noise(self.token_vectors(inputs), rng=rng), rng=rng)

    def token_vectors(self, inputs: Inputs) -> Input | Result:
        """All features of every token side by side, a node (N, D). Each distinct form is looked up once."""
        rows, places = self._distinct_rows(inputs)
        X = graph.take_rows(rows, places)
        X.offsets = inputs.offsets
        return X

    def _distinct_rows(self, inputs: Inputs) -> tuple[Any, Array]:
        """The features of each distinct form, or of each pair of a form and its extra features, a node (P, D).

        The second value says which row belongs to each token, (N,).
        """
        if self.extra_tables is None:
            return self.distinct_forms(inputs), inputs.places
        forms, extra, places = inputs.joined()
        of_pairs = self.extra_tables(extra)
        if not self.form_dim:
            return of_pairs, places
        return graph.concatenate([graph.take_rows(self.distinct_forms(inputs), forms), of_pairs], axis=1), places

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

    def form_columns(self, forms: Array) -> tuple[Array, Array]:
        """The ids (U, F) of the features that have tables, and the characters (U, M)."""
        F = len(self.form_tables.sizes) if self.form_tables is not None else 0
        return (forms, forms[:, :0]) if self.characters is None else (forms[:, :F], forms[:, F:])

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The objective, and the regulariser outside its mean."""
        loss = self.objective(self.scores(self.with_unknown_words(example.inputs, rng), rng), example, rng)
        return loss + l2(self.parameters().values(), self.config.l2) if self.config.l2 else loss

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
    """The sizes of the features, as arguments of a ScoringNetwork."""
    return {
        "form_sizes": features.form_sizes(),
        "extra_sizes": features.extra_sizes(config.column_dim, config.gazetteer_dim),
        "word_counts": features.words.counts,
        "alphabet": len(features.words.vocabularies.get("character", ())),
        "named": 0 if features.named is None else len(features.named),
    }


# ---------------------------------------------------------------------------------------------- The network of a tagger


@final
class TaggerNetwork(ScoringNetwork):
    """Scores and losses of one tagger."""

    def __init__(self, config: TaggerConfig, *, mask: TransitionMask, dtype: Any = np.float32, **sizes: Any) -> None:
        """``sizes`` and the rest as ScoringNetwork takes them."""
        super().__init__(config, len(mask.start), dtype=dtype, **sizes)
        self._label(mask, dtype)

    def _label(self, mask: TransitionMask, dtype: Any) -> None:
        self.mask, self.crf = mask, None
        if self.config.objective == "crf":
            self.crf = CRF(len(mask.start), **_allowed(mask, self.config.constrained), dtype=dtype)

    def with_head(self, mask: TransitionMask, rng: "np.random.Generator | None") -> "TaggerNetwork":
        """A network for other labels: it shares the tables and the encoder of this one, its output maps are new."""
        make, other = LayerMaker(self.config, rng, self.dtype), copy(self)
        other.outputs = [make.linear(output.W.shape[1], len(mask.start)) for output in self.outputs]
        other._label(mask, self.dtype)
        return other

    def objective(self, scores: Result, example: Example, rng: "np.random.Generator") -> Node:
        """The mean over words (softmax) or sentences (CRF)."""
        if self.crf is not None:
            return self.crf.loss(scores, example.gold)
        return softmax_cross_entropy(scores, example.gold)

    def weight(self, example: Example) -> float:
        """Sentences for a CRF, words for a softmax; not those of which every label is possible."""
        if self.crf is not None:
            return float(len(example.inputs.offsets) - 1)
        return float(len(example.gold) if example.gold.ndim == 1 else (~example.gold.all(axis=1)).sum())

    def resized(self, **sizes: Any) -> "TaggerNetwork":
        return TaggerNetwork(self.config, mask=self.mask, rng=None, **sizes)

    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        """The best labels under random scores and the scheme's mask."""
        L = len(self.mask.start)
        chain = ChainScores.under_mask(L, **_allowed(self.mask))
        return viterbi(Lattice.over(rng.normal(size=(int(offsets[-1]), L)), offsets, chain))

    def chain(self) -> ChainScores:
        """The transition scores: those of the CRF, or the scheme's rules alone for a softmax model."""
        if self.crf is not None:
            return self.crf.chain()
        return ChainScores.under_mask(len(self.mask.start), **_allowed(self.mask, self.config.constrained))


def _allowed(mask: TransitionMask, is_constrained: bool = True) -> dict[str, Any]:
    """The transitions that a scheme allows, as arguments of a CRF; empty if any sequence of labels is possible."""
    masks = {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}
    return masks if is_constrained else {}


# -------------------------------------------------------------------------------------------- The network of a detector


@final
class DetectorNetwork(ScoringNetwork):
    """s = Uᵀ f(W x + b) for the window x around every token (B1). ``gold`` of its examples is 1 at true centres.

    The score has no bias: shifting all scores by the same number changes no cost.
    """

    def __init__(self, config: TaggerConfig, **sizes: Any) -> None:
        """``sizes`` and the rest as ScoringNetwork takes them."""
        super().__init__(config, 1, bias=False, **sizes)

    def objective(self, scores: Result, example: Example, rng: "np.random.Generator") -> Node:
        """Every true window against some corrupt ones: mean cost of the pairs, or the sum.

        Corrupt windows are drawn from the example, whose windows are all scored in any case. If all windows are
        true, or all corrupt, no pair exists and nothing is learned.
        """
        true, corrupt = sampled_pairs(example.gold, self.config.corrupt, rng)
        s = graph.reshape(graph.take_rows(scores, true), len(true))
        s_c = graph.reshape(graph.take_rows(scores, corrupt.ravel()), *corrupt.shape)
        loss: Node = max_margin(s, s_c, margin=self.config.margin, normalise=self.config.pairs)
        # The loop multiplies by the share to make a mean of means. A sum must not be made smaller by it.
        return loss if self.config.pairs == "mean" else loss * (1 / example.share)

    def weight(self, example: Example) -> float:
        """Pairs."""
        trues = int((example.gold == 1).sum())
        return float(trues * self.config.corrupt) if (example.gold == 0).any() else 0.0

    def resized(self, **sizes: Any) -> "DetectorNetwork":
        return DetectorNetwork(self.config, rng=None, **sizes)

    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        """About every third window is true, the first one always and the last one never."""
        gold = (rng.random(int(offsets[-1])) < 1 / 3).astype(np.int64)
        gold[0], gold[-1] = 1, 0
        return gold


def sampled_pairs(gold: Array, corrupt: int, rng: "np.random.Generator") -> tuple[Array, Array]:
    """Places of the true windows (P,), and for each of them of ``corrupt`` others, (P, C), drawn with replacement."""
    true, others = np.flatnonzero(gold == 1), np.flatnonzero(gold == 0)
    if not len(others):
        return true[:0], np.zeros((0, corrupt), np.int64)
    return true, others[rng.integers(0, len(others), (len(true), corrupt))]


# -------------------------------------------------------------------------- Several networks of one architecture as one


class _SharedFeatures(Parameterised):
    """Networks over the same features: the sizes of tables, the fixed vectors and the counts of words are shared."""

    def __init__(self, first: TaggerNetwork) -> None:
        self.config, self.vectors, self.word_counts = first.config, first.vectors, first.word_counts
        self.form_tables, self.extra_tables, self.form_dim = first.form_tables, first.extra_tables, first.form_dim
        self.form_columns, self.alphabet = first.form_columns, first.alphabet


@final
class EnsembleNetwork(_SharedFeatures):
    """Answers as a TaggerNetwork does, with the mean of its members' scores.

    Members differ in what they began with and in their noise, so their mistakes differ and partly cancel out. They are
    trained side by side, each by its own loss on the same batches.
    """

    PATHS = {"members": "member{}"}

    def __init__(self, members: Sequence[TaggerNetwork]) -> None:
        self.members = list(members)
        super().__init__(self.members[0])
        self.mask, self.named = self.members[0].mask, None  # the members have their own
        self.weight, self.random_gold = self.members[0].weight, self.members[0].random_gold

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.members[0].dtype

    def scores(self, inputs: Inputs, rng: "np.random.Generator | None" = None) -> Result:
        """The mean of the members' scores, a node (N, L) that carries the offsets."""
        total = reduce(graph.add, [member.scores(inputs, rng) for member in self.members])
        mean = graph.multiply(total, 1 / len(self.members))
        mean.offsets = inputs.offsets
        return mean

    def unary(self, inputs: Inputs) -> Array:
        """The scores (N, L) alone, to predict with."""
        return mean_scores([member.unary(inputs) for member in self.members])

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The sum of the members' losses: each learns as it would alone."""
        return reduce(graph.add, [member.loss(example, rng=rng) for member in self.members])

    def resized(self, **sizes: Any) -> "EnsembleNetwork":
        return EnsembleNetwork([member.resized(**sizes) for member in self.members])

    def chain(self) -> ChainScores:
        """The mean of what the members score for what follows what; they forbid the same."""
        chains = [member.chain() for member in self.members]
        names = ("transitions", "start", "end")
        return ChainScores(**{name: mean_scores([getattr(chain, name) for chain in chains]) for name in names})


def members_of(network: Any) -> list[Any]:
    """The networks of an ensemble, or the one network that it is."""
    return list(network.members) if isinstance(network, EnsembleNetwork) else [network]


def mean_scores(of_members: Sequence[Array]) -> Array:
    """The mean of equal arrays, in their own float type."""
    total = of_members[0].copy()
    for scores in of_members[1:]:
        total += scores
    total /= len(of_members)
    return total


@final
class TaskNetwork(_SharedFeatures):
    """The heads by task. A batch is of one task, and only what this task uses has a gradient.

    A head is an ordinary TaggerNetwork: its tables and its encoder are the same objects as those of the other heads,
    its output maps and its CRF belong to it alone. So whatever is true of a tagger is true of each head.
    """

    PATHS = {"form_tables": "forms", "extra_tables": "extra"}

    def __init__(
        self, first: TaggerNetwork, masks: Mapping[str, TransitionMask], rng: "np.random.Generator | None"
    ) -> None:
        """A head for each mask; that of the first is the network ``first`` itself."""
        # Declared before the heads: the paths of shared parameters are those of a tagger with one task.
        super().__init__(first)
        self.characters, self.encoder = first.characters, first.encoder
        self.heads: dict[str, TaggerNetwork] = {}
        for task, mask in masks.items():
            self.heads[task] = first.with_head(mask, rng) if self.heads else first

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The loss of the example's task."""
        return self.heads[example.task].loss(example, rng=rng)

    def weight(self, example: Example) -> float:
        return self.heads[example.task].weight(example)

    def resized(self, **sizes: Any) -> "TaskNetwork":
        masks = {task: head.mask for task, head in self.heads.items()}
        return TaskNetwork(next(iter(self.heads.values())).resized(**sizes), masks, None)


SentenceNetwork: TypeAlias = TaggerNetwork | DetectorNetwork | EnsembleNetwork | TaskNetwork


def networks_by_task(network: Any) -> dict[str, Any]:
    """The network of each task: that of one task is the network itself."""
    return dict(network.heads) if isinstance(network, TaskNetwork) else {MAIN: network}


def network_of(
    config: TaggerConfig,
    features: InputFeatures,
    labels: Mapping[str, Any],
    vectors: Array | None,
    rng: "np.random.Generator | None",
    *,
    has_tasks: bool,
) -> SentenceNetwork:
    """The network of a model of sentences; ``labels`` are those of each task."""
    given: dict[str, Any] = {**feature_sizes(config, features), "vectors": vectors, "rng": rng}
    if config.objective == "margin":
        return DetectorNetwork(config, **given)
    masks = {task: codec.mask for task, codec in labels.items()}
    members = [TaggerNetwork(config, **given, mask=next(iter(masks.values()))) for _ in range(config.ensemble)]
    if has_tasks:
        return TaskNetwork(members[0], masks, rng)
    return EnsembleNetwork(members) if len(members) > 1 else members[0]

"""The fused step of training: loss and gradients of a tagger in one call of a kernel, on any number of threads.

The general path is ``ScoringNetwork.loss`` and the reverse pass. Where a network has the layers that the kernel knows
(a window over the features of words, residual convolutions, a CRF: ``fast``, ``accurate``, ``window-sll``), this one
computes the same with the same noise, up to the rounding of sums. The work is divided by the data, never by the number
of threads: the bits do not depend on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph import Gradient, Node, Parameter, RowGradient
from postil.kernels import Crew, TaggerBatch, TaggerKernel, TaggerShape
from postil.models.scoring.ensemble_network import EnsembleNetwork
from postil.models.scoring.network import Example
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.scoring.task_network import TaskNetwork
from postil.network import (
    Activation,
    Chain,
    CharacterConvolution,
    Dropout,
    Layer,
    LayerNorm,
    LayerPullback,
    Linear,
    Residual,
    Run,
    Window,
)
from postil.network.dropout import noise_of
from postil.objectives.crf import expected_counts
from postil.objectives.lattice import LARGEST_SCORE, Lattice
from postil.threads import blas_product


class _Layers(NamedTuple):
    """The layers of an encoder that the kernel knows."""

    activation: Activation
    noise: Dropout
    weights: list[Parameter]
    depth: int
    is_normed: bool


@final
class FusedTraining:
    """Loss and gradients of one network; make it with ``fused_training``."""

    def __init__(self, network: TaggerNetwork, layers: _Layers, kernel: TaggerKernel) -> None:
        assert network.crf is not None
        self._network, self._layers, self._kernel, self._crf = network, layers, kernel, network.crf
        self._tables = network.form_tables.tables if network.form_tables is not None else []
        masks = network.crf.masks
        self._steps = [
            (parameter, None if mask is None or mask.all() else ~np.asarray(mask))
            for parameter, mask in (
                (network.crf.transitions, masks.get("allowed_transitions")),
                (network.crf.start, masks.get("allowed_start")),
                (network.crf.end, masks.get("allowed_end")),
            )
        ]
        self._weights = [*layers.weights, *_linear(network.outputs[0]), *network.crf.parameters().values()]

    def __call__(self, prepared: TaggerBatch, *, crew: Crew) -> tuple[float, dict[Node, Gradient]] | None:
        """The mean loss of an example times its share, and its gradients, which stay valid until the next call.

        None where only the general path can tell: scores too far apart, impossible labels.
        """
        tables = [table.value for table in self._tables]
        weights = [parameter.value for parameter in self._weights]
        back: LayerPullback | None = None
        if self._network.characters is not None:
            prepared, back = self._with_characters(prepared, self._network.characters)
        found = self._kernel(prepared, self._chain(), tables, weights, crew)
        if found is None:
            return None
        gradients: dict[Node, Gradient] = dict(zip(self._weights, found.weights, strict=True))
        for table, (rows, sums) in zip(self._tables, found.tables, strict=True):
            gradients[table] = RowGradient(rows, sums, table.shape)
        if back is not None:
            _, of_characters = back(found.words[:, -self._network.config.character_dim :])
            gradients |= dict[Node, Gradient](of_characters.items())
        return found.loss, gradients

    def _chain(self) -> tuple[Array, Array, Array]:
        """What ``CRF.chain()`` returns, without its checks of shapes and types, which cannot change in training."""
        tables = []
        for parameter, forbidden in self._steps:
            table = parameter.value.astype(np.float64)
            if not np.vdot(table, table) <= LARGEST_SCORE**2:  # false for NaN as well
                self._crf.chain()  # raises the error
            if forbidden is not None:
                table[forbidden] = -np.inf
            tables.append(table)
        transitions, start, end = tables
        return transitions, start, end

    def _with_characters(
        self, prepared: TaggerBatch, characters: CharacterConvolution
    ) -> tuple[TaggerBatch, LayerPullback]:
        """The batch with the vectors of its characters beside the fixed vectors: the kernel only adds them up."""
        assert prepared.characters is not None
        Y, back = characters.forward(prepared.characters, Run())
        rows = [Y] if prepared.vectors is None else [prepared.vectors[0][prepared.vectors[1]], Y]
        return prepared._replace(vectors=(np.concatenate(rows, axis=1, dtype=np.float32), np.arange(len(Y)))), back

    def prepare(self, example: Example, share: float, *, rng: np.random.Generator) -> TaggerBatch | None:
        """What does not depend on the parameters; None where partial labels leave several labels open."""
        is_taught = isinstance(example.gold, Lattice)
        if not is_taught and example.gold.ndim != 1:
            return None
        network = self._network
        inputs = network.with_unknown_words(example.inputs, rng)
        noises = [network.noise, *[self._layers.noise] * (1 + self._layers.depth)]
        features, characters = network.form_columns(inputs.forms)
        return TaggerBatch(
            ids=network.form_tables.rows_by_table(features) if network.form_tables is not None else [],
            characters=None if network.characters is None else characters,
            vectors=None if network.vectors is None else (network.vectors, inputs.vectors),
            places=inputs.places,
            offsets=inputs.offsets,
            gold=_expected(example.gold) if is_taught else example.gold,
            share=share / max(1, len(inputs.offsets) - 1),
            keys=[noise_of(noise.rate, rng).key for noise in noises],
        )


@final
class FusedEnsemble:
    """Loss and gradients of the members of an ensemble, one after the other; their losses are summed."""

    def __init__(self, members: Sequence[FusedTraining]) -> None:
        self._members = members

    def __call__(self, prepared: Sequence[TaggerBatch], *, crew: Crew) -> tuple[float, dict[Node, Gradient]] | None:
        total, gradients = 0.0, dict[Node, Gradient]()
        for member, batch in zip(self._members, prepared, strict=True):
            found = member(batch, crew=crew)
            if found is None:
                return None
            total += found[0]
            gradients |= found[1]
        return total, gradients

    def prepare(self, example: Example, share: float, *, rng: np.random.Generator) -> list[TaggerBatch] | None:
        prepared = [member.prepare(example, share, rng=rng) for member in self._members]
        batches = [batch for batch in prepared if batch is not None]
        return batches if len(batches) == len(prepared) else None


@final
class FusedTasks:
    """Loss and gradients of a batch of one of several tasks: those of its head, and of all that heads share."""

    def __init__(self, heads: Mapping[str, FusedTraining]) -> None:
        self._heads = heads

    def __call__(self, prepared: tuple[str, TaggerBatch], *, crew: Crew) -> tuple[float, dict[Node, Gradient]] | None:
        task, batch = prepared
        return self._heads[task](batch, crew=crew)

    def prepare(self, example: Example, share: float, *, rng: np.random.Generator) -> tuple[str, TaggerBatch] | None:
        prepared = self._heads[example.task].prepare(example, share, rng=rng)
        return None if prepared is None else (example.task, prepared)


def fused_training(network: Any) -> FusedTraining | FusedEnsemble | FusedTasks | None:
    """The fused step of a network; None where it has none, or where the kernels are not compiled."""
    if isinstance(network, TaskNetwork):
        heads = {task: _fused_training(head) for task, head in network.heads.items()}
        known = {task: head for task, head in heads.items() if head is not None}
        return FusedTasks(known) if len(known) == len(heads) else None
    if not isinstance(network, EnsembleNetwork):
        return _fused_training(network)
    members = [_fused_training(member) for member in network.members]
    fused = [member for member in members if member is not None]
    return FusedEnsemble(fused) if len(fused) == len(members) else None


def _fused_training(network: Any) -> FusedTraining | None:
    if not isinstance(network, TaggerNetwork) or network.crf is None or network.dtype != np.float32:
        return None
    config = network.config
    has_other_parts = (
        network.extra_tables is not None or network.named is not None or len(network.outputs) != 1 or config.l2
    )
    layers = _known_layers(network.encoder)
    if layers is None or has_other_parts or layers.activation.function not in kernels.ACTIVATIONS:
        return None
    tables = network.form_tables
    shape = TaggerShape(
        K=config.window,
        D=network.form_dim,
        H=config.hidden,
        L=len(network.mask.start),
        depth=layers.depth,
        is_normed=layers.is_normed,
        activation=layers.activation.function,
        widths=() if tables is None else tuple(table.shape[1] for table in tables.tables),
        features=() if tables is None else tuple(map(len, tables.groups)),
        vector_dim=config.character_dim + (0 if network.vectors is None else network.vectors.shape[1]),
        input_dropped=noise_of(network.noise.rate, np.random.default_rng(0)).dropped,
        hidden_dropped=noise_of(layers.noise.rate, np.random.default_rng(0)).dropped,
    )
    kernel = kernels.tagger_kernel(shape, blas_product())
    return None if kernel is None else FusedTraining(network, layers, kernel)


def _expected(teacher: Lattice) -> tuple[Array, Array]:
    counts = expected_counts(teacher)
    return counts.unary, counts.transitions


def _known_layers(encoder: Layer) -> _Layers | None:
    """``window`` with one hidden layer, or ``convolutions``: see ``encoders.py``."""
    match encoder:
        case Chain(layers=[Window() as window, Linear() as linear, Activation() as f, Dropout() as noise, *others]):
            weights = [window.padding, *_linear(linear)]
            match others:
                case []:
                    return _Layers(f, noise, weights, 0, False)
                case [*blocks, LayerNorm() as norm]:
                    of_blocks = [_of_block(block) for block in blocks]
                    weights += [parameter for parameters in of_blocks for parameter in parameters]
                    known = all(of_blocks)
                    return _Layers(f, noise, [*weights, norm.gain, norm.bias], len(blocks), True) if known else None
    return None


def _of_block(block: Layer) -> Sequence[Parameter]:
    """The parameters of one residual convolution; nothing where it is something else."""
    match block:
        case Residual(layer=Chain(layers=[LayerNorm() as norm, Window() as window, Linear() as linear, _, _])):
            return norm.gain, norm.bias, window.padding, *_linear(linear)
    return ()


def _linear(layer: Linear) -> list[Parameter]:
    assert layer.b is not None
    return [layer.W, layer.b]

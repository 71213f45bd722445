"""The fused step of training: loss and gradients of a tagger in one call of a kernel, on any number of threads.

The general path is ``ScoringNetwork.loss`` and the reverse pass. Where a network has the layers that the kernel knows
(a window over the features of words, residual convolutions, a CRF: ``fast``, ``accurate``, ``window-sll``), this one
computes the same with the same noise, up to the rounding of sums. The work is divided by the data, never by the number
of threads: the bits do not depend on it. While the helpers of a ``Crew`` begin with a batch, the caller prepares the
next one, and only then takes part.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph import Gradient, Node, Parameter, RowGradient
from postil.kernels import AdamKernel, ComingRows, Crew, Joined, SpellingShape, TaggerBatch, TaggerKernel, TaggerShape
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
    Linear,
    Residual,
    Window,
)
from postil.network.dropout import noise_of
from postil.objectives.crf import expected_counts
from postil.objectives.lattice import Lattice
from postil.threads import blas_product
from postil.training.loop import LossAndGradients


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
        self._network, self._layers, self.kernel = network, layers, kernel
        self._tables = network.form_tables.tables if network.form_tables is not None else []
        steps = {"transitions": network.crf.transitions, "start": network.crf.start, "end": network.crf.end}
        self._forbidden = [
            _forbidden(network.crf.masks.get(f"allowed_{name}"), parameter.shape) for name, parameter in steps.items()
        ]
        self._weights = [*layers.weights, *_linear(network.outputs[0]), *network.crf.parameters().values()]
        if network.characters is not None:
            letters, of_windows = network.characters, network.characters.window
            self._weights += [letters.table, of_windows.padding, *_linear(letters.linear)]

    def enter(self, prepared: TaggerBatch) -> bool:
        """Hand a batch to the kernel. False where only the general path can tell."""
        tables, weights = [p.value for p in self._tables], [p.value for p in self._weights]
        return self.kernel.enter(prepared, tables, weights, self._forbidden)

    def coming(self) -> dict[Node, Gradient | ComingRows]:
        """Where the gradients of the batch that was entered will stand."""
        rows, weights = self.kernel.coming()
        return {**dict(zip(self._weights, weights, strict=True)), **dict(zip(self._tables, rows, strict=True))}

    def found(self) -> LossAndGradients:
        """The mean loss of an example times its share, and its gradients, valid until the next batch is entered."""
        found = self.kernel.gradients()
        gradients: dict[Node, Gradient] = dict(zip(self._weights, found.weights, strict=True))
        for table, (rows, sums) in zip(self._tables, found.tables, strict=True):
            gradients[table] = RowGradient(rows, sums, table.shape)
        return self.kernel.loss(), gradients

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
class BegunBatch:
    """A batch on which the helpers have begun: gradients of some networks, whose losses are summed; then Adam."""

    def __init__(self, members: Sequence[FusedTraining], crew: Crew) -> None:
        self._members, self._crew = members, crew
        self._joined: Joined | None = None
        crew.post([member.kernel for member in members])

    def gradients(self) -> Mapping[Node, Gradient | ComingRows]:
        """Where the gradients will stand."""
        return {node: gradient for member in self._members for node, gradient in member.coming().items()}

    def step(self, adam: AdamKernel) -> bool:
        """Finish the gradients and have Adam take its step, into which they were entered. False: it did not."""
        self._joined = self._crew.join(adam)
        return self._joined.is_stepped

    def loss(self) -> float:
        """The loss, once the step is done."""
        return sum(member.kernel.loss() for member in self._members)

    def result(self) -> LossAndGradients | None:
        """Loss and gradients; None where only the general path can tell: scores too far apart, impossible labels."""
        if self._joined is None:
            self._joined = self._crew.join()
        if not self._joined.has_gradients:
            return None
        found = [member.found() for member in self._members]
        return sum(loss for loss, _ in found), {node: g for _, gradients in found for node, g in gradients.items()}


def _begun(members: Sequence[FusedTraining], prepared: Sequence[TaggerBatch], crew: Crew) -> BegunBatch | None:
    are_entered = [member.enter(batch) for member, batch in zip(members, prepared, strict=True)]
    return BegunBatch(members, crew) if all(are_entered) else None


@final
class FusedEnsemble:
    """The networks that learn from the same batch: the members of an ensemble, or a single one."""

    def __init__(self, members: Sequence[FusedTraining]) -> None:
        self._members = members

    def begin(self, prepared: Sequence[TaggerBatch], *, crew: Crew) -> BegunBatch | None:
        """See ``training.loop.FusedStep``."""
        return _begun(self._members, prepared, crew)

    def prepare(self, example: Example, share: float, *, rng: np.random.Generator) -> list[TaggerBatch] | None:
        """See ``training.loop.FusedStep``."""
        prepared = [member.prepare(example, share, rng=rng) for member in self._members]
        batches = [batch for batch in prepared if batch is not None]
        return batches if len(batches) == len(prepared) else None


@final
class FusedTasks:
    """Loss and gradients of a batch of one of several tasks: those of its head, and of all that heads share."""

    def __init__(self, heads: Mapping[str, FusedTraining]) -> None:
        self._heads = heads

    def begin(self, prepared: tuple[str, TaggerBatch], *, crew: Crew) -> BegunBatch | None:
        """See ``training.loop.FusedStep``."""
        task, batch = prepared
        return _begun([self._heads[task]], [batch], crew)

    def prepare(self, example: Example, share: float, *, rng: np.random.Generator) -> tuple[str, TaggerBatch] | None:
        """See ``training.loop.FusedStep``."""
        prepared = self._heads[example.task].prepare(example, share, rng=rng)
        return None if prepared is None else (example.task, prepared)


def fused_training(network: Any) -> FusedEnsemble | FusedTasks | None:
    """The fused step of a network; None where it has none, or where the kernels are not compiled."""
    if isinstance(network, TaskNetwork):
        heads = {task: _fused_training(head) for task, head in network.heads.items()}
        known = {task: head for task, head in heads.items() if head is not None}
        return FusedTasks(known) if len(known) == len(heads) else None
    networks = network.members if isinstance(network, EnsembleNetwork) else [network]
    members = [_fused_training(member) for member in networks]
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
        vector_dim=0 if network.vectors is None else network.vectors.shape[1],
        input_dropped=noise_of(network.noise.rate, np.random.default_rng(0)).dropped,
        hidden_dropped=noise_of(layers.noise.rate, np.random.default_rng(0)).dropped,
        spelling=None if network.characters is None else _spelling(network.characters),
    )
    kernel = kernels.tagger_kernel(shape, blas_product())
    return None if kernel is None else FusedTraining(network, layers, kernel)


def _spelling(characters: CharacterConvolution) -> SpellingShape:
    return SpellingShape(len(characters.linear.W.value), characters.window.size, characters.table.shape[1])


def _forbidden(allowed: Array | None, shape: tuple[int, ...]) -> Array:
    """Where a step of the chain is not allowed; nowhere where the labels are not constrained."""
    return np.zeros(shape, bool) if allowed is None else np.broadcast_to(~allowed, shape)


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

"""The fused step of training: loss and gradients of taggers in one call of a kernel, on any number of threads.

``training_step`` is the one place that chooses between it and the flow graph, and says why the kernel is not used.
The kernel computes networks with a window over the features of words, residual convolutions and a CRF (``fast``,
``accurate``, ``window-sll``), as the graph does with the same noise, up to the rounding of sums. The work is divided
by the data, never by the number of threads: the bits do not depend on it. While the helpers of a ``Crew`` begin with a
batch, the caller prepares the next one, and only then takes part.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph import Gradient, Node, Parameter, RowGradient
from postil.kernels import SpellingShape, TableShape, TaggerBatch, TaggerKernel, TaggerShape
from postil.models.config import TaggerConfig
from postil.models.networks.encoders import ENCODERS
from postil.models.networks.network import Example, TaggerNetwork, members_of, networks_by_task
from postil.network import Activation, Chain, Dropout, Layer, LayerNorm, Linear, LookupTables, Residual, Window
from postil.network.layer import noise_of
from postil.objectives.crf import Lattice, Moments, expected_counts
from postil.optimisation.loop import Batch, GradientStep, GraphStep, LossAndGradients, Prepared, StepChoice, Workers
from postil.threads import blas_product

# ------------------------------------------------------------------------------------------------ the choice


def training_step(network: Any) -> GradientStep:
    """How to compute loss and gradients of a network: fused if a kernel can, else by the graph; ``choice`` says why."""
    fused: dict[str, list[FusedNetwork]] = {}
    for task, head in networks_by_task(network).items():
        fused[task] = []
        for member in members_of(head):
            reason: str | None = None  # why a network cannot be computed by the kernel
            if not isinstance(member, TaggerNetwork):
                reason = "only taggers have a fused step"
            elif by_settings := obstacles(member.config):
                reason = ", ".join(by_settings.values())
            elif member.named is not None:
                reason = "feature dicts"
            elif member.dtype != np.float32:
                reason = f"numbers of type {np.dtype(member.dtype)}"
            kernel = None if reason is not None else _kernel_of(member)
            if kernel is None:
                machine = kernels.in_use()
                no_kernel = f"{len(member.mask.start)} labels" if reason is None and machine.fused else str(machine)
                return GraphStep(network, reason or no_kernel)
            fused[task].append(FusedNetwork(member, kernel))
    return FusedStep(fused, GraphStep(network))


def obstacles(config: TaggerConfig) -> dict[str, str]:
    """The settings under which no kernel computes the network, each with the value that it has."""
    can_be_fused = {
        "encoder": ENCODERS[config.encoder].is_fused,
        "layers": config.encoder != "window" or config.layers == 1,
        "activation": config.activation in kernels.ACTIVATIONS,
        "objective": config.objective == "crf",
        "offsets": config.offsets == 1,
        "l2": not config.l2,
        "shards": config.shards in (None, 1),
    }
    return {name: f"{name}={getattr(config, name)}" for name, is_possible in can_be_fused.items() if not is_possible}


# ------------------------------------------------------------------------------------------------ one network


def _layers_of(encoder: Layer) -> tuple[Dropout, list[Parameter], list[int]]:
    """The noise and the weights of ``window`` with one hidden layer, or of ``convolutions``: see ``encoders.py``.

    The last value are the dilations of the residual convolutions after the first layer.
    """
    match encoder:
        case Chain(layers=[Window() as window, Linear() as linear, Activation(), Dropout() as noise, *others]):
            weights, dilations = [window.padding, *_linear(linear)], list[int]()
            for block in others[:-1]:
                match block:
                    case Residual(layer=Chain(layers=[LayerNorm() as norm, Window() as win, Linear() as inner, _, _])):
                        weights += [norm.gain, norm.bias, win.padding, *_linear(inner)]
                        dilations.append(win.dilation)
            if others and isinstance(last := others[-1], LayerNorm):
                weights += [last.gain, last.bias]
            return noise, weights, dilations
    raise AssertionError(f"an encoder that no kernel computes: {encoder.name}")


def _linear(layer: Linear) -> list[Parameter]:
    assert layer.b is not None
    return [layer.W, layer.b]


def _kernel_of(network: TaggerNetwork) -> TaggerKernel | None:
    config, letters = network.config, network.characters
    noise, _, dilations = _layers_of(network.encoder)
    assert network.crf is not None
    spelling = None
    if letters is not None:
        (V, D), F = letters.table.shape, len(letters.linear.W.value)
        spelling = SpellingShape(V, F, letters.window.size, D)
    rng = np.random.default_rng(0)
    shape = TaggerShape(
        K=config.window,
        D=network.input_dim,
        H=config.hidden,
        L=len(network.mask.start),
        dilations=tuple(dilations),
        is_normed=ENCODERS[config.encoder].is_normed,
        activation=config.activation,
        tables=_table_shapes(network.form_tables),
        extra=_table_shapes(network.extra_tables),
        vector_dim=0 if network.vectors is None else network.vectors.shape[1],
        input_dropped=noise_of(network.noise.rate, rng).dropped,
        hidden_dropped=noise_of(noise.rate, rng).dropped,
        spelling=spelling,
    )
    forbidden = []
    for name, parameter in network.crf.parameters().items():
        allowed = network.crf.masks[f"allowed_{name}"]
        forbidden.append(np.broadcast_to(False if allowed is None else ~allowed, parameter.shape))
    return kernels.tagger_kernel(shape, forbidden, blas_product())


def _table_shapes(lookup: LookupTables | None) -> tuple[TableShape, ...]:
    groups = [] if lookup is None else zip(lookup.tables, lookup.groups, strict=True)
    return tuple(TableShape(len(table.value), table.shape[1], len(group)) for table, group in groups)


@final
class FusedNetwork:
    """A network and its kernel: hands over batches and parameters, names the gradients."""

    def __init__(self, network: TaggerNetwork, kernel: TaggerKernel) -> None:
        assert network.crf is not None
        noise, weights, dilations = _layers_of(network.encoder)
        self._network, self.kernel = network, kernel
        self._noises = [network.noise, *[noise] * (1 + len(dilations))]
        lookups = [network.form_tables, network.extra_tables]
        self._tables = [table for lookup in lookups if lookup is not None for table in lookup.tables]
        self._weights = [*weights, *_linear(network.outputs[0]), *network.crf.parameters().values()]
        if network.characters is not None:
            letters = network.characters
            self._weights += [letters.table, letters.window.padding, *_linear(letters.linear)]

    def prepare(self, example: Example, share: float, rng: np.random.Generator) -> TaggerBatch | None:
        """Compute the part that does not depend on the parameters; None if partial labels leave several labels open."""
        network, gold = self._network, example.gold
        if isinstance(gold, Lattice | Moments):
            teacher = expected_counts(gold) if isinstance(gold, Lattice) else gold
            gold = teacher.unary, teacher.transitions
        elif gold.ndim != 1:
            return None
        inputs = network.with_unknown_words(example.inputs, rng)
        forms, vectors, places = inputs.forms, inputs.vectors, inputs.places
        of_pairs: list[Array] = []
        if network.extra_tables is not None:
            which, extra, places = inputs.joined()
            forms, vectors, of_pairs = forms[which], vectors[which], network.extra_tables.rows_by_table(extra)
        features, characters = network.form_columns(forms)
        of_forms = network.form_tables.rows_by_table(features) if network.form_tables is not None else []
        return TaggerBatch(
            ids=[*of_forms, *of_pairs],
            characters=None if network.characters is None else characters,
            vectors=None if network.vectors is None else (np.asarray(network.vectors), vectors),
            places=places,
            offsets=inputs.offsets,
            gold=gold,
            share=share / max(1, len(inputs.offsets) - 1),
            keys=[noise_of(noise.rate, rng).key for noise in self._noises],
        )

    def enter(self, batch: TaggerBatch) -> bool:
        return self.kernel.enter(batch, [parameter.value for parameter in (*self._tables, *self._weights)])

    def gradients(self) -> dict[Node, Gradient]:
        tables, weights = self.kernel.gradients()
        named: dict[Node, Gradient] = dict(zip(self._weights, weights, strict=True))
        for table, (rows, sums) in zip(self._tables, tables, strict=True):
            named[table] = RowGradient(rows, sums, table.shape)
        return named


# ------------------------------------------------------------------------------------------------ the step


@final
class FusedStep:
    """Loss and gradients in one call of a kernel: see ``optimisation.loop.GradientStep``.

    ``networks`` by task learn from the same batch: one, or the members of an ensemble, whose losses are summed. A batch
    that the kernel cannot compute (partial labels, scores too far apart, impossible labels) is left to the graph.
    """

    def __init__(self, networks: Mapping[str, Sequence[FusedNetwork]], by_graph: GraphStep) -> None:
        self.choice = StepChoice("fused", None)
        self._networks, self._by_graph = networks, by_graph
        self._begun: Sequence[FusedNetwork] = ()

    def prepare(self, batch: Batch[Example], rng: Callable[[int], np.random.Generator]) -> Prepared:
        if len(batch.shards) != 1:
            return Prepared(batch, rng)
        (example,), (share,), generator = batch.shards, batch.shares, rng(0)
        ready = [network.prepare(example, share, generator) for network in self._networks[example.task]]
        return Prepared(batch, rng, None if any(batch is None for batch in ready) else ready)

    def begin(self, prepared: Prepared, workers: Workers) -> None:
        self._begun = ()
        if prepared.ready is None:
            return
        networks = self._networks[prepared.batch.shards[0].task]
        if all(network.enter(batch) for network, batch in zip(networks, prepared.ready, strict=True)):
            workers.crew.begin([network.kernel for network in networks])
            self._begun = networks

    def finish(self, prepared: Prepared, workers: Workers) -> LossAndGradients:
        if not self._begun or not workers.crew.finish():
            return self._by_graph.finish(prepared, workers)
        gradients = {node: gradient for network in self._begun for node, gradient in network.gradients().items()}
        return sum(network.kernel.loss() for network in self._begun), gradients

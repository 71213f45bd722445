"""A fitted model under examination: its gradients checked (B4), and a laboratory for its loss on one sentence.

A check runs on made-up sentences of the model's words. The gold labels are random valid ones: those that the model
would choose have a loss near 0 and no gradient to compare. Tables are cut down to the rows that occur, so that a model
with a million words is checked as fast as a small one.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import InputFeatures, Inputs, Token
from postil.features.named import FeatureToken
from postil.features.vocabulary import Vocabulary
from postil.gradcheck import GradientReport, Sampling, examine
from postil.gradcheck.examination import EPSILONS
from postil.graph import Node, Parameter, ancestors
from postil.models.config import TaggerConfig
from postil.models.model import FittedModel, is_encoder
from postil.models.networks.encoders import ENCODERS
from postil.models.networks.network import (
    EnsembleNetwork,
    Example,
    ScoringNetwork,
    TaskNetwork,
    members_of,
    networks_by_task,
)
from postil.models.networks.tree_network import TreeBatch, TreeExample, TreeNetwork
from postil.models.tagger import Tagger
from postil.network import Chain, Dropout, Layer, Residual
from postil.network.tree import Forest
from postil.objectives import offset_scores
from postil.optimisation import OPTIMISERS, Optimiser
from postil.text.trees.tree import balanced, right_branching

# ------------------------------------------------------------------------------------------------ the loss of a model


# A model has dozens of arrays. A wrong entry shows in every random direction, so few arrays need a look at each entry.
_SAMPLING = Sampling(every_entry_up_to=60, entries=30, directions=30)
LENGTHS = (1, 2, 4, 5)  # of the made-up sentences
_Network: TypeAlias = ScoringNetwork | EnsembleNetwork | TaskNetwork
# Wider steps than usual: a parameter far from the loss, as a phrase deep in a tree, moves it by so little that rounding
# would hide it.
WIDE_STEPS = (1e-3, 1e-4)


class Loss(NamedTuple):
    """The sum of the losses of some shards, as a function of the parameters."""

    parameters: dict[str, Parameter]
    node: Callable[[], Node]


def summed_loss(network: Any, shards: Iterable[Any], noise: int) -> Loss:
    """The loss with the same dropout and sampled pairs, of the seed ``noise``, at every evaluation."""
    shards = list(shards)
    return Loss(
        network.parameters(),
        lambda: reduce(graph.add, [network.loss(shard, rng=np.random.default_rng(noise)) for shard in shards]),
    )


def examine_parts(parts: FittedModel, rng: np.random.Generator) -> GradientReport:
    """Compare the gradients of the model's loss with central differences, in float64."""
    shards: list[Any]
    if isinstance(parts.network, TreeNetwork):
        small, shards, zero, epsilons = *_small_trees(parts, rng), [], WIDE_STEPS
    else:
        if is_encoder(parts):
            raise ConfigurationError("nothing to check: a model without labels has no loss; train one from it")
        small, inputs = cut_down(parts, parts.features.inputs(made_up_sentences(parts.features, rng)))
        shards = [
            Example(inputs=inputs, gold=head.random_gold(inputs.offsets, rng), task=task)
            for task, head in networks_by_task(small).items()
        ]
        zero, epsilons = without_gradient(parts.config, small.parameters()), EPSILONS
    own, loss = summed_loss(small, shards, noise=11)
    options: dict[str, Any] = {"rng": rng, "expect_zero": zero, "epsilons": epsilons, "sampling": _SAMPLING}
    return examine(loss, parameters=own, name="the model's loss", **options)


def without_gradient(config: TaggerConfig, parameters: Iterable[str]) -> list[str]:
    """The parameters that cannot move the loss.

    The words beyond the edges of a sentence are in no window of one word. The bias of a layer norm below the scores of
    a detector shifts all of them alike, and its loss is made of their differences.
    """
    paths = [re.fullmatch(r"(.*encoder\.layers\.)(\d+)\.(\w+)", name) for name in parameters]
    zero = [path[0] for path in paths if path and path[3] == "padding" and config.window == 1]
    if config.objective == "margin" and ENCODERS[config.encoder].is_normed:
        last = max(int(path[2]) for path in paths if path)
        zero += [path[0] for path in paths if path and path[3] == "bias" and int(path[2]) == last]
    return zero


def made_up_sentences(features: InputFeatures, rng: np.random.Generator) -> list[list[Token]]:
    """Words of the vocabulary in any order, and some that it does not know; extra columns likewise."""
    words = features.words.vocabularies.get("word") or next(iter(features.words.vocabularies.values()), None)
    named = features.named

    def drawn(values: Vocabulary) -> str:
        return values[int(rng.integers(len(values)))] or "unknown"

    def token() -> Token:
        form = drawn(words) if words is not None and rng.random() < 0.9 else f"Word{rng.integers(100)}"
        if named is not None:  # known names if there is a list of them
            numbers = rng.integers(len(named), size=3).tolist()
            some = [str(number) if named.names is None else named.names[number] for number in numbers]
            return FeatureToken.of(form, dict.fromkeys(some, 0.5))
        return (form, *map(drawn, features.columns)) if features.columns else form

    return [[token() for _ in range(T)] for T in LENGTHS]


def cut_down(parts: FittedModel, inputs: Inputs) -> tuple[_Network, Inputs]:
    """The model's network with only those rows of its tables that the inputs use, and the inputs with their new ids."""
    network: _Network = parts.network
    features, characters = network.form_columns(inputs.forms)
    form_rows, forms = _used(features)
    extra_rows, extra = _used(inputs.extra)
    (vector_rows,), vectors = _used(inputs.vectors[:, None])
    named_rows, attributes = np.zeros(0, np.int64), inputs.attributes
    if attributes is not None:
        named_rows, ids = np.unique(attributes.ids, return_inverse=True)
        attributes = attributes._replace(ids=ids.astype(np.int32))
    tables = {"forms": (network.form_tables, form_rows), "extra": (network.extra_tables, extra_rows)}
    sizes: dict[str, list[tuple[int, int]]] = {"forms": [], "extra": []}
    rows: dict[str, Array] = {"named": named_rows} if len(named_rows) else {}
    for name, (table, used) in tables.items():
        if table is None:
            continue
        sizes[name] = [(len(own), D) for own, (_, D) in zip(used, table.sizes, strict=True)]
        for i, group in enumerate(table.groups):
            rows[f"{name}.tables.{i}"] = np.concatenate([table.starts[feature] + used[feature] for feature in group])
    small = network.resized(
        form_sizes=sizes["forms"],
        extra_sizes=sizes["extra"],
        vectors=network.vectors[vector_rows] if network.vectors is not None else None,
        word_counts=network.word_counts[form_rows[0]] if parts.config.word_dim else network.word_counts,
        alphabet=network.alphabet,
        named=len(named_rows),
    )
    if isinstance(network, EnsembleNetwork):
        rows = {f"member{i}.{name}": kept for i in range(len(network.members)) for name, kept in rows.items()}
    _copy_values(network, small, rows)
    forms, vectors = np.concatenate([forms, characters], axis=1), vectors[:, 0]
    return small, replace(inputs, forms=forms, vectors=vectors, extra=extra, attributes=attributes)


def _used(ids: Array) -> tuple[list[Array], Array]:
    """Per column of ids (N, F) those that occur and 0 (the unknown value); and where each id stands among them."""
    columns = [np.unique(np.append(column, 0)) for column in ids.T]
    renumbered = np.zeros_like(ids)
    for i, used in enumerate(columns):
        renumbered[:, i] = np.searchsorted(used, ids[:, i])
    return columns, renumbered


def _copy_values(network: Any, small: Any, rows: Mapping[str, Array]) -> None:
    """Give the small network the parameters of the whole one, of some only these rows."""
    for name, parameter in network.parameters().items():
        small.parameters()[name].value = np.array(parameter.value[rows[name]] if name in rows else parameter.value)


def _small_trees(parts: FittedModel, rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """The network with only those rows of its tables that some made-up trees use; the trees, with random labels."""
    network = parts.network
    trees = [shape(["w"] * T) for T in (1, 2, 5) for shape in (balanced, right_branching)]
    plan = Forest.of([tree.children for tree in trees]).schedule(np.arange(len(trees)))
    L, V = len(parts.codec.labels), 1 if network.vectors is None else len(network.vectors)
    (word_rows,), words = _used(rng.integers(0, len(network.word_counts), (plan.leaves, 1)))
    (vector_rows,), vectors = _used(rng.integers(0, V, (plan.leaves, 1)))
    fixed = None if network.vectors is None else network.vectors[vector_rows]
    small = TreeNetwork(network.config, L, word_counts=network.word_counts[word_rows], vectors=fixed, rng=None)
    _copy_values(network, small, {"words.table": word_rows})
    rows = plan.roots if parts.config.loss == "root" else np.arange(len(plan.nodes))
    batch = TreeBatch(plan=plan, words=words[:, 0], vectors=vectors[:, 0])
    return small, [TreeExample(batch=batch, rows=rows, gold=rng.integers(0, L, len(rows)))]


# ------------------------------------------------------------------------------------------------------- the laboratory
# A tagger's loss on one sentence as a laboratory: numbers can be changed, gradients checked, single steps taken.
#
# Everything is computed in float64 on a copy of the network that has only those rows of its tables which the sentence
# uses. The model itself is never changed.


CHANGED = "changed"
"""Name of the node that adds what was changed to a computed value."""


@final
class Laboratory:
    """The graph of a sentence's loss that is computed anew after every change.

    Nodes have keys: parameters their paths, computed values "#0", "#1", … in the order of the computation.
    """

    def __init__(self, tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> None:
        example = sentence_example(tagger, tokens, labels)
        self._network, inputs = cut_down(tagger.model, example.inputs)
        self._example = Example(inputs=inputs, gold=example.gold)
        self.parameters: dict[str, Parameter] = self._network.parameters()
        for parameter in self.parameters.values():
            parameter.value = parameter.value.astype(np.float64)
        self._added: dict[str, Array] = {}
        self._optimisers: dict[str, Optimiser] = {}

    def graph(self) -> tuple[Node, dict[Node, str]]:
        """The loss, and the keys of all nodes that can be changed."""
        keys: dict[Node, str] = {}

        def visit(node: Node) -> Node:
            key = f"#{len(keys)}"
            if key in self._added:
                changed = graph.add(node, self._added[key])
                changed.name, changed.offsets = CHANGED, node.offsets
                node = changed
            keys[node] = key
            return node

        loss = loss_graph(self._network, self._example, visit)
        used = set(ancestors(loss))
        keys |= {parameter: name for name, parameter in self.parameters.items() if parameter in used}
        return loss, keys

    def loss(self) -> float:
        return float(self.graph()[0].value)

    def set(self, key: str, row: int, column: int, value: float) -> None:
        """Give one number of a node another value; arrays are seen as rows and columns."""
        array = as_table(self._node(key).value)
        if not (0 <= row < len(array) and 0 <= column < array.shape[1]):
            expected = f"a row below {len(array)} and a column below {array.shape[1]}"
            raise ConfigurationError(f"entry of {key}", expected=expected, got=f"{row}, {column}")
        self._add(key, row, column, value - float(array[row, column]))

    def step(self, optimiser: str, rate: float) -> float:
        """Move every parameter against its gradient; returns the loss afterwards. Optimisers keep their state."""
        if optimiser not in self._optimisers:
            self._optimisers[optimiser] = OPTIMISERS[optimiser](self.parameters)
        loss, _ = self.graph()
        self._optimisers[optimiser].step(graph.gradients(loss, list(self.parameters.values())), rate)
        return self.loss()

    def slopes(self, key: str, rows: int, columns: int, step: float = 1e-5) -> tuple[Array, Array]:
        """Central and one-sided differences of the loss at the first entries of a node, (rows, columns) each (B4)."""
        array = as_table(self._node(key).value)
        rows, columns = min(rows, len(array)), min(columns, array.shape[1])
        base = self.loss()
        # ``_add`` never changes an array in place, so what was there before is still what it was.
        values, added = {name: p.value for name, p in self.parameters.items()}, self._added

        def beside(row: int, column: int, by: float) -> float:
            """The loss with one number changed for this once."""
            self._added = dict(added)
            self._add(key, row, column, by)
            try:
                return self.loss()
            finally:
                self._added = added
                if key in values:
                    self.parameters[key].value = values[key]

        central, one_sided = np.zeros((rows, columns)), np.zeros((rows, columns))
        for row in range(rows):
            for column in range(columns):
                above, below = (beside(row, column, by) for by in (step, -step))
                central[row, column] = (above - below) / (2 * step)
                one_sided[row, column] = (above - base) / step
        return central, one_sided

    def _add(self, key: str, row: int, column: int, by: float) -> None:
        if key in self.parameters:
            value = self.parameters[key].value.copy()
            as_table(value)[row, column] += by
            self.parameters[key].value = value
            return
        added = self._added[key].copy() if key in self._added else np.zeros(self._node(key).shape)
        as_table(added)[row, column] += by
        self._added[key] = added

    def _node(self, key: str) -> Node:
        if key in self.parameters:
            return self.parameters[key]
        found = next((node for node, name in self.graph()[1].items() if name == key), None)
        if found is None:
            raise ConfigurationError("node", expected="the key of a node of this graph", got=repr(key[:40]))
        return found


def as_table(array: Array) -> Array:
    """Any array as rows and columns, without a copy: a vector is a column."""
    return array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)


# ------------------------------------------------------------------------- the loss of one sentence, every layer a node


Visit: TypeAlias = Callable[[Node], Node]
"""Called with every node as it is computed; what it returns is used in its place."""


def sentence_loss(tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> Node:
    """The loss of training, without noise, against ``labels`` or else those that the tagger predicts.

    That of an ensemble is the sum over its members.
    """
    return loss_graph(tagger.model.network, sentence_example(tagger, tokens, labels))


def sentence_example(tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> Example:
    """One sentence with its gold as a network learns from it."""
    labels = list(labels) if labels is not None else tagger.predict([list(tokens)])[0]
    if len(labels) != len(tokens):
        raise DataError("labels", expected=f"one for each of the {len(tokens)} tokens", got=len(labels))
    (gold,) = tagger.model.codec.numbers([labels])
    return Example(inputs=tagger.model.features.inputs([list(tokens)]), gold=gold)


def loss_graph(network: Any, example: Example, visit: Visit = lambda node: node) -> Node:
    """The same for any network of taggers: unlike ``network.loss``, unfused, and layers of a chain are nodes."""
    losses: list[Node] = []
    for member in members_of(network):
        hidden = _through(member.encoder, visit(member.token_vectors(example.inputs)), visit)
        maps = [output(hidden) for output in member.outputs]
        for node in maps:  # the sentence approach ends with one row per token
            node.offsets = example.inputs.offsets
        visited = [visit(node) for node in maps]
        scores = visit(offset_scores(*visited)) if len(visited) > 1 else visited[0]
        losses.append(member.objective(scores, example, np.random.default_rng(0)))
    return reduce(graph.add, losses)


def _through(layer: Layer, X: Node, visit: Visit) -> Node:
    """The output of a layer. Layers made of other layers are visited part by part; dropout does nothing."""
    match layer:
        case Chain():
            for part in layer.layers:
                X = _through(part, X, visit)
            return X
        case Dropout():
            return X
        case Residual():
            inner = _through(layer.layer, X, visit)
            total = graph.add(X, inner)
            total.offsets = X.offsets
            return visit(total)
    return visit(layer(X))

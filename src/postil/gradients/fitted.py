"""The gradient check of a fitted model (B4): its own parameters, on made-up sentences of its own words.

The gold labels are random valid ones: those that the model would choose have a loss near 0 and no gradient to compare.
Tables are cut down to the rows that occur, so that a model with a million words is checked as fast as a small one.
"""

import re
from collections.abc import Iterable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.inputs import InputFeatures, Inputs, Token
from postil.features.named import FeatureToken, NamedFeatures
from postil.features.vocabulary import Vocabulary
from postil.gradcheck import Report, examine
from postil.gradients.fitted_trees import SAMPLING, examine_tree_parts
from postil.graph import Node
from postil.kernels import Attributes
from postil.models.config import TaggerConfig
from postil.models.parts import Parts, is_encoder
from postil.models.scoring.ensemble_network import EnsembleNetwork
from postil.models.scoring.network import Example, ScoringNetwork
from postil.models.scoring.task_network import TaskNetwork
from postil.models.scoring.tree_network import TreeNetwork
from postil.network import LookupTables

LENGTHS = (1, 2, 4, 5)  # of the made-up sentences
_Network: TypeAlias = ScoringNetwork | EnsembleNetwork | TaskNetwork
_NOISE = 11  # the seed of dropout: the same noise at every evaluation


def examine_parts(parts: Parts[Any, Any], rng: np.random.Generator) -> Report:
    """Compare the gradients of the model's loss with central differences, in float64."""
    if isinstance(parts.network, TreeNetwork):
        return examine_tree_parts(parts, rng)
    if is_encoder(parts):
        raise ConfigurationError("nothing to check: a model without labels has no loss; train one from it")
    inputs = parts.features.inputs(made_up_sentences(parts.features, rng))
    network, small = cut_down(parts, inputs)
    heads = network.heads if isinstance(network, TaskNetwork) else {"": network}
    examples = [
        Example(inputs=small, gold=head.random_gold(small.offsets, rng), task=task) for task, head in heads.items()
    ]

    def loss() -> Node:
        return reduce(graph.add, [network.loss(example, rng=np.random.default_rng(_NOISE)) for example in examples])

    own = network.parameters()
    zero = without_gradient(parts.config, own)
    return examine(loss, parameters=own, name="the model's loss", rng=rng, expect_zero=zero, sampling=SAMPLING)


def without_gradient(config: TaggerConfig, parameters: Iterable[str]) -> list[str]:
    """The parameters that cannot move the loss.

    The words beyond the edges of a sentence are in no window of one word. The bias of a layer norm below the scores of
    a detector shifts all of them alike, and its loss is made of their differences.
    """
    paths = [re.fullmatch(r"(.*encoder\.layers\.)(\d+)\.(\w+)", name) for name in parameters]
    zero = [path[0] for path in paths if path and path[3] == "padding" and config.window == 1]
    if config.objective == "margin" and config.encoder == "convolutions":
        last = max(int(path[2]) for path in paths if path)
        zero += [path[0] for path in paths if path and path[3] == "bias" and int(path[2]) == last]
    return zero


def made_up_sentences(features: InputFeatures, rng: np.random.Generator) -> list[list[Token]]:
    """Words of the vocabulary in any order, and some that it does not know; extra columns likewise."""
    words = features.words.vocabularies.get("word") or next(iter(features.words.vocabularies.values()), None)

    def token() -> Token:
        form = _drawn(words, rng) if words is not None and rng.random() < 0.9 else f"Word{rng.integers(100)}"
        if features.named is not None:
            return FeatureToken.of(form, dict.fromkeys(_some(features.named, rng), 0.5))
        return (form, *(_drawn(column, rng) for column in features.columns)) if features.columns else form

    return [[token() for _ in range(T)] for T in LENGTHS]


def _some(named: NamedFeatures, rng: np.random.Generator) -> list[str]:
    """Names of features, known ones where there is a list of them."""
    numbers = rng.integers(len(named), size=3)
    return [str(number) if named.names is None else named.names[int(number)] for number in numbers]


def _drawn(values: Vocabulary, rng: np.random.Generator) -> str:
    return values[int(rng.integers(len(values)))] or "unknown"


def cut_down(parts: Parts[Any, Any], inputs: Inputs) -> tuple[_Network, Inputs]:
    """The model's network with only those rows of its tables that the inputs use, and the inputs with their new ids."""
    network: _Network = parts.network
    features, characters = network.form_columns(inputs.forms)
    form_rows, forms = _used(features)
    extra_rows, extra = _used(inputs.extra)
    (vector_rows,), vectors = _used(inputs.vectors[:, None])
    named_rows, attributes = _used_attributes(inputs.attributes)
    has_words = bool(parts.config.word_dim)
    small = network.resized(
        form_sizes=_sizes(network.form_tables, form_rows),
        extra_sizes=_sizes(network.extra_tables, extra_rows),
        vectors=network.vectors[vector_rows] if network.vectors is not None else None,
        word_counts=network.word_counts[form_rows[0]] if has_words else network.word_counts,
        alphabet=network.alphabet,
        named=len(named_rows),
    )
    rows = _rows("forms", network.form_tables, form_rows) | _rows("extra", network.extra_tables, extra_rows)
    rows |= {"named": named_rows} if len(named_rows) else {}
    if isinstance(network, EnsembleNetwork):
        rows = {f"member{i}.{name}": kept for i in range(len(network.members)) for name, kept in rows.items()}
    for name, parameter in network.parameters().items():
        value = parameter.value[rows[name]] if name in rows else parameter.value
        small.parameters()[name].value = np.array(value)
    forms = np.concatenate([forms, characters], axis=1)
    return small, Inputs(
        forms=forms,
        vectors=vectors[:, 0],
        places=inputs.places,
        extra=extra,
        offsets=inputs.offsets,
        attributes=attributes,
    )


def _used_attributes(attributes: Attributes | None) -> tuple[Array, Attributes | None]:
    """The numbers of the attributes that occur, and the attributes numbered among them."""
    if attributes is None:
        return np.zeros(0, np.int64), None
    used, places = np.unique(attributes.ids, return_inverse=True)
    return used, attributes._replace(ids=places.astype(np.int32))


def _used(ids: Array) -> tuple[list[Array], Array]:
    """Per column of ids (N, F) those that occur and 0 (the unknown value); and where each id stands among them."""
    found, renumbered = [], np.zeros_like(ids)
    for column in range(ids.shape[1]):
        used = np.unique(np.append(ids[:, column], 0))
        found.append(used)
        renumbered[:, column] = np.searchsorted(used, ids[:, column])
    return found, renumbered


def _sizes(tables: LookupTables | None, rows: list[Array]) -> list[tuple[int, int]]:
    return [] if tables is None else [(len(used), D) for used, (_, D) in zip(rows, tables.sizes, strict=True)]


def _rows(name: str, tables: LookupTables | None, rows: list[Array]) -> dict[str, Any]:
    """Which rows of each parameter stay."""
    if tables is None:
        return {}
    return {
        f"{name}.tables.{i}": np.concatenate([tables.starts[feature] + rows[feature] for feature in group])
        for i, group in enumerate(tables.groups)
    }

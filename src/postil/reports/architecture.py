"""A network as a stack of stages: what goes in, the layers with their shapes and parameters, what comes out.

``architecture_of`` describes any fitted model; ``network_drawing.py`` draws the description.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from postil.features.words import LEXICONS
from postil.graph import Parameterised
from postil.models.scoring.encoders import ENCODERS
from postil.models.scoring.ensemble_network import members_of
from postil.models.scoring.tree_network import TreeNetwork
from postil.network import (
    Activation,
    Chain,
    Layer,
    LayerNorm,
    Linear,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
)

_ACTIVATIONS = {"relu": "ReLU", "leaky-relu": "leaky ReLU", "hardtanh": "HardTanh"}
_COMPOSITIONS = {
    "sum": "f(W (l + r))",
    "concatenation": "f(W [l; r] + b)",
    "tensor": "f([l; r]ᵀ V [l; r] + W [l; r] + b)",
    "tree-lstm": "gates and a memory cell for each phrase",
}


@final
@dataclass(frozen=True, kw_only=True)
class Band:
    """A kind of feature: so many columns, each of V values that are looked up as vectors of D numbers."""

    name: str
    columns: int
    values: int
    width: int
    parameters: int
    is_fixed: bool = False


@final
@dataclass(frozen=True, kw_only=True)
class Stage:
    """A box of the drawing. ``kind`` is words, features, layer, output, chain, tree or labels."""

    kind: str
    title: str
    detail: str = ""
    shape: str = ""
    """Of what leaves the stage."""
    parameters: int = 0
    bands: Sequence[Band] = ()
    names: Sequence[str] = ()
    """Of labels, or of the words in a window."""
    shortcut: int = 0
    """A shortcut leads around this number of stages, of which this is the last."""


@final
@dataclass(frozen=True, kw_only=True)
class Architecture:
    """``trunk`` is shared by all ``heads`` (task -> stages); an ensemble has ``copies`` of everything."""

    kind: str
    trunk: Sequence[Stage]
    heads: dict[str, Sequence[Stage]]
    copies: int = 1

    @property
    def parameters(self) -> int:
        """All that is learnt."""
        of_heads = (stage for stages in self.heads.values() for stage in stages)
        return self.copies * sum(stage.parameters for stage in (*self.trunk, *of_heads))


def architecture_of(model: Any) -> Architecture:
    """The network of a fitted tagger, ensemble, detector, model of several tasks or tree classifier."""
    parts = model.fitted_parts()
    if isinstance(parts.network, TreeNetwork):
        return _of_trees(model.KIND, parts)
    members = members_of(parts.network)
    heads = {task: (head.network, head.labelling) for task, head in parts.heads.items()}
    heads = heads or {"": (members[0], parts.labelling)}
    first = next(iter(heads.values()))[0]
    trunk = [*_inputs(first, parts), *_layers(first.encoder, _width_of(first))]
    return Architecture(
        kind=model.KIND,
        trunk=trunk,
        heads={task: list(_head(network, labelling)) for task, (network, labelling) in heads.items()},
        copies=len(members),
    )


def _size(*owners: Parameterised | None) -> int:
    return sum(int(one.value.size) for owner in owners if owner is not None for one in owner.parameters().values())


# ------------------------------------------------------------------------------------------------ words and features


def _inputs(network: Any, parts: Any) -> Iterator[Stage]:
    bands = list(_bands(network, parts.features, parts.config))
    reach = ENCODERS[parts.config.encoder].reach
    sides = 2 if reach is None else reach(parts.config)  # None: all words are seen
    names = [f"w{i:+d}".replace("-", "−") if i else "word" for i in range(-sides, sides + 1)]
    yield Stage(kind="words", title="Words of the sentence", names=names, shape="N words")
    yield Stage(
        kind="features",
        title="Features of each word",
        shape=f"N × {_width_of(network):,}",
        parameters=sum(band.parameters for band in bands),
        bands=bands,
    )


def _width_of(network: Any) -> int:
    extra = sum(D for _, D in network.extra_tables.sizes) if network.extra_tables is not None else 0
    return int(network.form_dim) + extra


def _bands(network: Any, features: Any, config: Any) -> Iterator[Band]:
    """One band per kind of feature, in the order of the vectors."""
    words, lexicons = features.words, features.words.lexicons
    of_lexicon = {column: name for name in LEXICONS if name in lexicons for column in lexicons[name].columns}
    groups: dict[str, list[Any]] = {}
    for column in words.columns:
        kind = of_lexicon.get(column.name) or column.name.split(" ")[0]
        groups.setdefault(kind, []).append(column)
    vectors = groups.pop("vector", [])
    for kind, columns in groups.items():
        yield _learnt(_NAMES.get(kind, kind), [(column.V, column.D) for column in columns])
    if vectors:
        V, D = vectors[0].V, vectors[0].D
        yield Band(name="pre-trained vector", columns=1, values=V, width=D, parameters=0, is_fixed=True)
    if network.characters is not None:
        of_characters = _size(network.characters)
        width = config.character_dim
        yield Band(name="characters", columns=1, values=network.alphabet, width=width, parameters=of_characters)
    sizes = network.extra_tables.sizes if network.extra_tables is not None else []
    of_columns = len(features.columns)
    for name, some in (("column of the file", sizes[:of_columns]), ("gazetteer", sizes[of_columns:])):
        if some:
            yield _learnt(name, some)


_NAMES = {
    "caps": "capitalisation",
    "clusters": "word cluster",
    "vector clusters": "cluster of vectors",
    "names": "list of names",
}


def _learnt(name: str, sizes: Iterable[tuple[int, int]]) -> Band:
    sizes = list(sizes)
    values, parameters = sum(V for V, _ in sizes), sum(V * D for V, D in sizes)
    return Band(name=name, columns=len(sizes), values=values, width=sum(D for _, D in sizes), parameters=parameters)


# ------------------------------------------------------------------------------------------------ layers


def _layers(encoder: Layer, width: int) -> list[Stage]:
    """The stages of an encoder; what has neither parameters nor a shape of its own joins the stage before it."""
    stages: list[Stage] = []
    for layer in encoder.layers if isinstance(encoder, Chain) else [encoder]:
        match layer:
            case Window():
                width *= layer.size
                detail = f"{layer.size} words side by side, learnt padding at the edges"
                stages.append(_layer(f"Window of {layer.size}", detail, width, layer))
            case WindowAverage():
                stages.append(_layer(f"Mean of a window of {layer.size}", "every word counts the same", width, layer))
            case SentenceConvolution():
                width = _outputs_of(layer.convolution)
                detail = f"windows of {layer.size}, distances to the word, maximum over the sentence"
                stages.append(_layer("Sentence convolution", detail, width, layer))
            case Linear():
                before, width = width, int(layer.W.shape[0])
                stages.append(_layer("Linear", f"{before:,} → {width:,}", width, layer))
            case Activation():
                name = _ACTIVATIONS.get(layer.function, layer.function)
                stages[-1] = replace(stages[-1], title=f"{stages[-1].title}, {name}")
            case LayerNorm():
                stages.append(_layer("Layer normalisation", "", width, layer))
            case Residual():
                inside = _layers(layer.layer, width)
                stages += [*inside[:-1], replace(inside[-1], shortcut=len(inside))]
            case _ if _size(layer):
                stages.append(_layer(type(layer).__name__, "", width, layer))
    return stages


def _layer(title: str, detail: str, width: int, layer: Layer) -> Stage:
    return Stage(kind="layer", title=title, detail=detail, shape=f"N × {width:,}", parameters=_size(layer))


def _outputs_of(chain: Layer) -> int:
    assert isinstance(chain, Chain)
    linear = chain.layers[-1]
    assert isinstance(linear, Linear)
    return int(linear.W.shape[0])


# ------------------------------------------------------------------------------------------------ heads


def _head(network: Any, labelling: Any) -> Iterator[Stage]:
    """Output maps, what is added to their scores, and how labels are read from them."""
    L, H = network.outputs[0].W.shape
    maps = len(network.outputs)
    title = "Linear" if maps == 1 else "Linear, for the word and both neighbours"
    shape = f"N × {L:,}" if L > 1 else "N"
    yield Stage(kind="output", title=title, detail=f"{H:,} → {L:,}", shape=shape, parameters=_size(*network.outputs))
    if network.named is not None:
        A = len(network.named.value)
        detail = f"{A:,} features with a weight for each label, added to the scores"
        yield Stage(
            kind="output", title="Hand-made features", detail=detail, shape=shape, parameters=network.named.value.size
        )
    if network.config.objective == "margin":
        yield Stage(
            kind="output", title="Max-margin score", detail=f"{labelling.label} above {labelling.threshold:.3g}"
        )
        yield Stage(kind="labels", title="Detected or not", names=labelling.answers)
        return
    forbidden = int((~network.mask.transitions).sum())
    rules = f"{forbidden:,} of {L * L:,} transitions impossible" if network.config.constrained and forbidden else ""
    if network.crf is not None:
        detail = "; ".join(part for part in (f"transitions {L:,} × {L:,}, start, end", rules) if part)
        yield Stage(kind="chain", title="CRF", detail=detail, parameters=_size(network.crf), shape="best sequence")
    else:
        yield Stage(kind="output", title="Softmax", detail=rules or "label by label", shape=shape)
    yield Stage(kind="labels", title=f"{len(labelling.labels):,} labels", names=labelling.labels)


# ------------------------------------------------------------------------------------------------ trees


def _of_trees(kind: str, parts: Any) -> Architecture:
    network, config = parts.network, parts.config
    (word, *_), H = parts.features.words.columns, config.hidden
    D = word.D if network.vectors is None else int(network.vectors.shape[1])
    bands = []
    if network.vectors is not None:
        V = len(network.vectors)
        bands.append(Band(name="pre-trained vector", columns=1, values=V, width=D, parameters=0, is_fixed=True))
    if network.table is not None:
        name = "word" if network.vectors is None else "word, added to it"
        bands.append(
            Band(name=name, columns=1, values=len(network.word_counts), width=D, parameters=_size(network.table))
        )
    learnt = sum(band.parameters for band in bands)
    trunk = [
        Stage(kind="words", title="Words of the sentence", names=["w₁", "w₂", "w₃", "w₄"], shape="n words"),
        Stage(kind="features", title="Vector of each word", shape=f"n × {D:,}", parameters=learnt, bands=bands),
    ]
    if network.leaf_map is not None:
        size = _size(network.leaf_map)
        trunk.append(Stage(kind="layer", title="Linear", detail=f"{D:,} → {H:,}", shape=f"n × {H:,}", parameters=size))
    name, detail = config.composition, _COMPOSITIONS[config.composition]
    detail = detail.replace("f(", f"{_ACTIVATIONS.get(config.activation, config.activation)}(")
    trunk.append(
        Stage(
            kind="tree",
            title=f"Composition: {name}",
            detail=detail,
            shape=f"(2 n − 1) × {H:,}",
            parameters=_size(network.composition),
        )
    )
    labels = list(map(str, parts.labelling.labels))
    head = [
        Stage(
            kind="output",
            title="Linear, softmax",
            detail=f"{H:,} → {len(labels):,} at every phrase",
            shape=f"(2 n − 1) × {len(labels):,}",
            parameters=_size(network.output),
        ),
        Stage(kind="labels", title=f"{len(labels):,} labels", names=labels),
    ]
    return Architecture(kind=kind, trunk=trunk, heads={"": head})

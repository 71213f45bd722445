"""A network as a picture, and as a table: its stages from words to labels, with shapes and numbers of parameters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple, final

from postil.features.words import LEXICONS
from postil.graph import Parameterised
from postil.graph.drawing import Box, one_line, picture
from postil.metrics import Table
from postil.models.networks.encoders import ENCODERS
from postil.models.networks.network import members_of
from postil.models.networks.tree_network import TreeNetwork
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
_NAMES = {
    "caps": "capitalisation",
    "clusters": "word cluster",
    "vector clusters": "cluster of vectors",
    "names": "list of names",
}
_MOST_NAMES, _LONGEST_NAME, _WIDEST = 30, 18, 64


class Stage(NamedTuple):
    """A step from words to labels."""

    title: str
    details: Sequence[str] = ()
    shape: str = ""
    """Of what leaves the stage."""
    parameters: int = 0
    kind: str = "result"
    """As of boxes in a drawing: input, parameter (tables that are looked up) or result."""
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
        """All trained parameters."""
        of_heads = (stage for stages in self.heads.values() for stage in stages)
        return self.copies * sum(stage.parameters for stage in (*self.trunk, *of_heads))

    @property
    def summary(self) -> str:
        """The kind of model and its size."""
        copies = f" in {self.copies} networks, whose scores are averaged" if self.copies > 1 else ""
        return f"{' '.join(self.kind.rsplit('-', 1))}, {self.parameters:,} parameters{copies}"

    def table(self) -> Table:
        """A row for each stage."""
        rows = [
            (f"{task}{stage.title}", "; ".join(stage.details), stage.shape, stage.parameters or None)
            for name, stages in [("", self.trunk), *self.heads.items()]
            for task in [f"{name}: " if name and len(self.heads) > 1 else ""]
            for stage in stages
        ]
        return Table("", ("stage", "what it does", "shape", "parameters"), rows, self.summary)

    def drawn(self, name: str) -> str:
        """The text of an SVG file."""
        boxes: list[Box] = []

        def add(stages: Sequence[Stage], sources: list[int], task: str = "") -> list[int]:
            for stage in stages:
                title, task = f"{task}: {stage.title}" if task else stage.title, ""
                counted = [f"{stage.parameters:,} parameters"] if stage.parameters else []
                shape = [f"→ {stage.shape}"] if stage.shape else []
                lines = [one_line(line) for line in (title, *stage.details, *counted, *shape)]
                boxes.append(Box(lines, stage.kind, sources))
                last = len(boxes) - 1
                sources = [last, last - stage.shortcut] if stage.shortcut else [last]
            return sources

        shared = add(self.trunk, [])
        for task, stages in self.heads.items():
            add(stages, shared, task if len(self.heads) > 1 else "")
        return picture(boxes, [one_line(name), self.summary])


def drawn_network(model: Any, name: str) -> str:
    """The network of a fitted model as the text of an SVG file."""
    return architecture_of(model).drawn(name)


def architecture_of(model: Any) -> Architecture:
    """The network of a fitted tagger, ensemble, detector, multi-task model or tree classifier."""
    parts = model.model
    if isinstance(parts.network, TreeNetwork):
        return _of_trees(model.KIND, parts)
    members = members_of(parts.network)
    heads = {task: (members_of(head.network)[0], head.codec) for task, head in parts.heads.items()}
    first = next(iter(heads.values()))[0]
    extra = list(first.extra_tables.sizes) if first.extra_tables is not None else []  # (V, D)
    width = int(first.form_dim) + sum(D for _, D in extra)
    reach = ENCODERS[parts.config.encoder].reach
    sides = 2 if reach is None else reach(parts.config)  # None: all words are seen
    names = [f"w{i:+d}".replace("-", "−") if i else "word" for i in range(-sides, sides + 1)]
    names = names if len(names) <= 9 else [*names[:4], "…", *names[-4:]]
    trunk = [
        Stage("Words of the sentence", [" ".join(["…", *names, "…"])], "N words", kind="input"),
        _features("Features of each word", f"N × {width:,}", _bands(first, parts.features, parts.config, extra)),
        *_layers(first.encoder, width),
    ]
    of_heads: dict[str, Sequence[Stage]] = {task: [*_head(*head)] for task, head in heads.items()}
    return Architecture(kind=model.KIND, trunk=trunk, heads=of_heads, copies=len(members))


def _size(*owners: Parameterised | None) -> int:
    return sum(int(one.value.size) for owner in owners if owner is not None for one in owner.parameters().values())


# ------------------------------------------------------------------------------------------------ words and features


Band = tuple[str, Sequence[tuple[int, int]], int | None]
"""A kind of feature: its name, for each of its columns the V values and the D numbers of each, and how many parameters
it has: None is all of these, 0 is none, because they are fixed."""


def _features(title: str, shape: str, bands: Iterator[Band]) -> Stage:
    details, parameters = [], 0
    for name, sizes, given in bands:
        values, width = (sum(column) for column in zip(*sizes, strict=True))
        learnt = sum(V * D for V, D in sizes) if given is None else given
        name = f"{name} × {len(sizes)}" if len(sizes) > 1 else name
        shown = f"{learnt:,} parameters" if learnt else "fixed"
        details.append(f"{name}: {values:,} values, {width:,} numbers, {shown}")
        parameters += learnt
    return Stage(title, details, shape, parameters, "parameter")


def _bands(network: Any, features: Any, config: Any, extra: list[tuple[int, int]]) -> Iterator[Band]:
    """In the order of the vectors; ``extra`` are the columns of a file and of gazetteers."""
    words, lexicons = features.words, features.words.lexicons
    of_lexicon = {column: name for name in LEXICONS if name in lexicons for column in lexicons[name].columns}
    groups: dict[str, list[tuple[int, int]]] = {}
    for column in words.columns:
        kind = of_lexicon.get(column.name) or column.name.split(" ")[0]
        groups.setdefault(kind, []).append((column.V, column.D))
    vectors, of_columns = groups.pop("vector", []), len(features.columns)
    for kind, sizes in groups.items():
        yield _NAMES.get(kind, kind), sizes, None
    if vectors:
        yield "pre-trained vector", vectors[:1], 0
    if network.characters is not None:
        yield "characters", [(network.alphabet, config.character_dim)], _size(network.characters)
    for name, sizes in (("column of the file", extra[:of_columns]), ("gazetteer", extra[of_columns:])):
        if sizes:
            yield name, sizes, None


# ------------------------------------------------------------------------------------------------ layers


def _layers(encoder: Layer, width: int) -> list[Stage]:
    """The stages of an encoder; a layer without parameters that keeps the shape joins the stage before it."""
    stages: list[Stage] = []
    for layer in encoder.layers if isinstance(encoder, Chain) else [encoder]:
        match layer:
            case Window():
                width *= layer.size
                detail = f"{layer.size} words side by side, learned padding at the edges"
                stages.append(_layer(f"Window of {layer.size}", detail, width, layer))
            case WindowAverage():
                stages.append(_layer(f"Mean of a window of {layer.size}", "every word counts the same", width, layer))
            case SentenceConvolution():
                assert isinstance(layer.convolution, Chain) and isinstance(layer.convolution.layers[-1], Linear)
                width = int(layer.convolution.layers[-1].W.shape[0])
                detail = f"windows of {layer.size}, distances to the word, maximum over the sentence"
                stages.append(_layer("Sentence convolution", detail, width, layer))
            case Linear():
                before, width = width, int(layer.W.shape[0])
                stages.append(_layer("Linear", f"{before:,} → {width:,}", width, layer))
            case Activation():
                name = _ACTIVATIONS.get(layer.function, layer.function)
                stages[-1] = stages[-1]._replace(title=f"{stages[-1].title}, {name}")
            case LayerNorm():
                stages.append(_layer("Layer normalisation", "", width, layer))
            case Residual():
                inside = _layers(layer.layer, width)
                stages += [*inside[:-1], inside[-1]._replace(shortcut=len(inside))]
            case _ if _size(layer):
                stages.append(_layer(type(layer).__name__, "", width, layer))
    return stages


def _layer(title: str, detail: str, width: int, layer: Layer, rows: str = "N") -> Stage:
    return Stage(title, [detail] if detail else [], f"{rows} × {width:,}", _size(layer))


# ------------------------------------------------------------------------------------------------ heads


def _head(network: Any, codec: Any) -> Iterator[Stage]:
    """Output maps, what is added to their scores, and how labels are read from them."""
    L, H = network.outputs[0].W.shape
    title = "Linear" if len(network.outputs) == 1 else "Linear, for the word and both neighbours"
    shape = f"N × {L:,}" if L > 1 else "N"
    yield Stage(title, [f"{H:,} → {L:,}"], shape, _size(*network.outputs))
    if network.named is not None:
        weights = network.named.value
        detail = f"{len(weights):,} features with a weight for each label, added to the scores"
        yield Stage("Hand-made features", [detail], shape, weights.size)
    if network.config.objective == "margin":
        yield Stage("Max-margin score", [f"{codec.label} above {codec.threshold:.3g}"])
        yield _labels("Detected or not", codec.answers)
        return
    forbidden = int((~network.mask.transitions).sum())
    rules = [f"{forbidden:,} of {L * L:,} transitions impossible"] * (network.config.constrained and forbidden > 0)
    if network.crf is not None:
        yield Stage("CRF", [f"transitions {L:,} × {L:,}, start, end", *rules], "best sequence", _size(network.crf))
    else:
        yield Stage("Softmax", rules or ["label by label"], shape)
    yield _labels(f"{len(codec.labels):,} labels", codec.labels)


def _labels(title: str, names: Sequence[str]) -> Stage:
    cut = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:_MOST_NAMES]]
    title += f", {_MOST_NAMES} of them here" if len(names) > _MOST_NAMES else ""
    return Stage(title, wrap(" ".join(cut), _WIDEST, break_on_hyphens=False), kind="input")


# ------------------------------------------------------------------------------------------------ trees


def _of_trees(kind: str, parts: Any) -> Architecture:
    network, config = parts.network, parts.config
    (word, *_), H = parts.features.words.columns, config.hidden
    D = word.D if network.vectors is None else int(network.vectors.shape[1])
    bands: list[Band] = []
    if network.vectors is not None:
        bands.append(("pre-trained vector", [(len(network.vectors), D)], 0))
    if network.table is not None:
        name = "word" if network.vectors is None else "word, added to it"
        bands.append((name, [(len(network.word_counts), D)], _size(network.table)))
    trunk = [
        Stage("Words of the sentence", ["w₁ w₂ w₃ w₄"], "n words", kind="input"),
        _features("Vector of each word", f"n × {D:,}", iter(bands)),
    ]
    if network.leaf_map is not None:
        trunk.append(_layer("Linear", f"{D:,} → {H:,}", H, network.leaf_map, "n"))
    activation = _ACTIVATIONS.get(config.activation, config.activation)
    detail = _COMPOSITIONS[config.composition].replace("f(", f"{activation}(")
    trunk.append(_layer(f"Composition: {config.composition}", detail, H, network.composition, "(2 n − 1)"))
    labels = list(map(str, parts.codec.labels))
    detail = f"{H:,} → {len(labels):,} at every phrase"
    output = _layer("Linear, softmax", detail, len(labels), network.output, "(2 n − 1)")
    return Architecture(kind=kind, trunk=trunk, heads={"": [output, _labels(f"{len(labels):,} labels", labels)]})

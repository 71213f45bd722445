"""A network as a picture: one SVG file without style sheet or script, from a description as a stack of stages.

Words stand at the top, labels at the bottom; arrows carry the shapes of what flows, boxes show what is learned in them.
"""

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from postil.features.words import LEXICONS
from postil.graph import Parameterised
from postil.html import Markup, element, joined
from postil.html.svg import Point, circle, line, polyline, rectangle, text, title
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

# ------------------------------------------------------------------------------------------------ the description


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
    """A kind of feature: a number of columns, each of V values that are looked up as vectors of D numbers."""

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
        """All trained parameters."""
        of_heads = (stage for stages in self.heads.values() for stage in stages)
        return self.copies * sum(stage.parameters for stage in (*self.trunk, *of_heads))


def architecture_of(model: Any) -> Architecture:
    """The network of a fitted tagger, ensemble, detector, multi-task model or tree classifier."""
    parts = model.model
    if isinstance(parts.network, TreeNetwork):
        return _of_trees(model.KIND, parts)
    members = members_of(parts.network)
    heads = {task: (members_of(head.network)[0], head.codec) for task, head in parts.heads.items()}
    first = next(iter(heads.values()))[0]
    width = int(first.form_dim) + sum(D for _, D in _extra_sizes(first))
    bands = list(_bands(first, parts.features, parts.config))
    reach = ENCODERS[parts.config.encoder].reach
    sides = 2 if reach is None else reach(parts.config)  # None: all words are seen
    names = [f"w{i:+d}".replace("-", "−") if i else "word" for i in range(-sides, sides + 1)]
    trunk = [
        Stage(kind="words", title="Words of the sentence", names=names, shape="N words"),
        _features("Features of each word", f"N × {width:,}", bands),
        *_layers(first.encoder, width),
    ]
    of_heads: dict[str, Sequence[Stage]] = {
        task: list(_head(network, codec)) for task, (network, codec) in heads.items()
    }
    return Architecture(kind=model.KIND, trunk=trunk, heads=of_heads, copies=len(members))


def _features(title: str, shape: str, bands: Sequence[Band]) -> Stage:
    learnt = sum(band.parameters for band in bands)
    return Stage(kind="features", title=title, shape=shape, parameters=learnt, bands=bands)


def _size(*owners: Parameterised | None) -> int:
    return sum(int(one.value.size) for owner in owners if owner is not None for one in owner.parameters().values())


# ------------------------------------------------------------------------------------------------ words and features


_NAMES = {
    "caps": "capitalisation",
    "clusters": "word cluster",
    "vector clusters": "cluster of vectors",
    "names": "list of names",
}


def _extra_sizes(network: Any) -> list[tuple[int, int]]:
    """(V, D) of the columns of a file and of gazetteers."""
    return list(network.extra_tables.sizes) if network.extra_tables is not None else []


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
        size, width = _size(network.characters), config.character_dim
        yield Band(name="characters", columns=1, values=network.alphabet, width=width, parameters=size)
    sizes, of_columns = _extra_sizes(network), len(features.columns)
    for name, some in (("column of the file", sizes[:of_columns]), ("gazetteer", sizes[of_columns:])):
        if some:
            yield _learnt(name, some)


def _learnt(name: str, sizes: Sequence[tuple[int, int]]) -> Band:
    values, parameters = sum(V for V, _ in sizes), sum(V * D for V, D in sizes)
    return Band(name=name, columns=len(sizes), values=values, width=sum(D for _, D in sizes), parameters=parameters)


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


# ------------------------------------------------------------------------------------------------ heads


def _head(network: Any, codec: Any) -> Iterator[Stage]:
    """Output maps, what is added to their scores, and how labels are read from them."""
    L, H = network.outputs[0].W.shape
    maps = len(network.outputs)
    title = "Linear" if maps == 1 else "Linear, for the word and both neighbours"
    shape = f"N × {L:,}" if L > 1 else "N"
    yield Stage(kind="output", title=title, detail=f"{H:,} → {L:,}", shape=shape, parameters=_size(*network.outputs))
    if network.named is not None:
        weights = network.named.value
        detail = f"{len(weights):,} features with a weight for each label, added to the scores"
        yield Stage(kind="output", title="Hand-made features", detail=detail, shape=shape, parameters=weights.size)
    if network.config.objective == "margin":
        yield Stage(kind="output", title="Max-margin score", detail=f"{codec.label} above {codec.threshold:.3g}")
        yield Stage(kind="labels", title="Detected or not", names=codec.answers)
        return
    forbidden = int((~network.mask.transitions).sum())
    rules = f"{forbidden:,} of {L * L:,} transitions impossible" if network.config.constrained and forbidden else ""
    if network.crf is not None:
        detail = "; ".join(part for part in (f"transitions {L:,} × {L:,}, start, end", rules) if part)
        yield Stage(kind="chain", title="CRF", detail=detail, parameters=_size(network.crf), shape="best sequence")
    else:
        yield Stage(kind="output", title="Softmax", detail=rules or "label by label", shape=shape)
    yield Stage(kind="labels", title=f"{len(codec.labels):,} labels", names=codec.labels)


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
        name, V = "word" if network.vectors is None else "word, added to it", len(network.word_counts)
        bands.append(Band(name=name, columns=1, values=V, width=D, parameters=_size(network.table)))
    trunk = [
        Stage(kind="words", title="Words of the sentence", names=["w₁", "w₂", "w₃", "w₄"], shape="n words"),
        _features("Vector of each word", f"n × {D:,}", bands),
    ]
    if network.leaf_map is not None:
        trunk.append(replace(_layer("Linear", f"{D:,} → {H:,}", H, network.leaf_map), shape=f"n × {H:,}"))
    activation = _ACTIVATIONS.get(config.activation, config.activation)
    detail = _COMPOSITIONS[config.composition].replace("f(", f"{activation}(")
    composed = _layer(f"Composition: {config.composition}", detail, H, network.composition)
    trunk.append(replace(composed, kind="tree", shape=f"(2 n − 1) × {H:,}"))
    labels = list(map(str, parts.codec.labels))
    L = len(labels)
    output = _layer("Linear, softmax", f"{H:,} → {L:,} at every phrase", L, network.output)
    head = [
        replace(output, kind="output", shape=f"(2 n − 1) × {L:,}"),
        Stage(kind="labels", title=f"{L:,} labels", names=labels),
    ]
    return Architecture(kind=kind, trunk=trunk, heads={"": head})


# ------------------------------------------------------------------------------------------------ the picture


INK, SOFT, FAINT, RULE, GROUND = "#1c2127", "#565e69", "#9aa3ad", "#d5dae0", "#ffffff"
_FILLS = {
    "words": ("#f5f6f8", "#9aa3ad"),
    "features": ("#eaf2fb", "#2f6fb5"),
    "layer": ("#edf6ee", "#2c6e36"),
    "tree": ("#edf6ee", "#2c6e36"),
    "output": ("#fdf3e4", "#a86a10"),
    "chain": ("#f6effb", "#7640a3"),
    "labels": ("#ffffff", "#9aa3ad"),
}
_HUES = ("#2160ab", "#a3441a", "#2c6e36", "#7640a3", "#9c1f5b", "#0d6b74", "#755600", "#54599c", "#5a626d")
NAMESPACE = "http://www.w3.org/2000/svg"
_WIDTH, _HEAD_WIDTH, _GAP, _MARGIN, _PAD = 560.0, 292.0, 34.0, 30.0, 14.0
_LINE, _CHIP = 19.0, 22.0
_MOST_NAMES, _LONGEST_NAME, _LONGEST_TITLE = 30, 18, 60


def drawn_network(model: Any, name: str) -> str:
    """The network of a fitted model as the text of an SVG file."""
    return f"{drawn_architecture(architecture_of(model), name)}\n"


def network_picture(model: Any, name: str) -> Markup:
    """The same as a part of a page."""
    return drawn_architecture(architecture_of(model), name, is_file=False)


def drawn_architecture(network: Architecture, name: str, *, is_file: bool = True) -> Markup:
    """The picture of a described network: a separate file, or a part of a page."""
    columns, is_pile = len(network.heads), network.copies > 1
    of_heads = columns * _HEAD_WIDTH + (columns - 1) * _GAP if columns > 1 else _WIDTH
    inside = max(_WIDTH, of_heads)
    side = _MARGIN + (24.0 if is_pile else 8.0)
    middle = side + inside / 2
    trunk = _placed(network.trunk, middle - _WIDTH / 2, 78.0, _WIDTH)
    below = trunk[-1].bottom + _GAP + (22 if columns > 1 else 0)
    width_of_head = _HEAD_WIDTH if columns > 1 else _WIDTH
    lefts = [middle - of_heads / 2 + n * (_HEAD_WIDTH + _GAP) for n in range(columns)]
    heads = [_placed(s, x, below, width_of_head) for x, s in zip(lefts, network.heads.values(), strict=True)]
    bottom = max(place.bottom for places in heads for place in places)
    width, height = inside + 2 * side, bottom + _MARGIN + (26 if is_pile else 0)
    copies = f" in {network.copies} networks" if is_pile else ""
    facts = f"{' '.join(network.kind.rsplit('-', 1))} · {network.parameters:,} parameters{copies}"
    shown = shortened(name, _LONGEST_TITLE)
    parts = [
        text((side, 38), shown, anchor="start", font_size=21, font_weight=650, fill=INK),
        text((side, 59), facts, anchor="start", fill=SOFT),
    ]
    if is_pile:
        parts.append(_copies(network.copies, (side - 22, trunk[1].top - 12), (inside + 44, bottom - trunk[1].top + 24)))
    total = max(1, network.parameters // network.copies)
    parts += _stack(trunk, total)
    for task, places in zip(network.heads, heads, strict=True):
        parts += [_branch(trunk[-1], places[0], task if columns > 1 else ""), *_stack(places, total)]
    return element(
        "svg",
        element("title", f"The network of {name}: {network.kind}, {network.parameters:,} parameters"),
        rectangle((0, 0), width, height, fill=GROUND),
        *parts,
        xmlns=NAMESPACE if is_file else None,
        width=width,
        height=height,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        font_family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif",
        font_size=14,
        class_="network",
        style=f"max-width:{width:g}px",
    )


# ------------------------------------------------------------------------------------------------ places


class _PlacedStage(NamedTuple):
    """A stage in its place."""

    stage: Stage
    left: float
    top: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def _placed(stages: Sequence[Stage], left: float, top: float, width: float) -> list[_PlacedStage]:
    places = []
    for stage in stages:
        places.append(_PlacedStage(stage, left, top, width, _height(stage, width)))
        top = places[-1].bottom + _GAP
    return places


def _height(stage: Stage, width: float) -> float:
    match stage.kind:
        case "words":
            return 34.0
        case "features":
            return 74.0 + _LINE * len(stage.bands)
        case "labels":
            rows = max((row for _, row, _ in _chips(stage.names, width)), default=0) + 1
            return _LINE + 12 + rows * (_CHIP + 6) + 6
    pictures = 52.0 if stage.kind in ("chain", "tree") else 0.0
    return 38.0 + 17 * len(_details(stage, width)) + pictures


def _stack(places: Sequence[_PlacedStage], total: int) -> list[Markup]:
    """Boxes from top to bottom, with arrows between them."""
    parts = []
    for number, place in enumerate(places):
        if number:
            parts.append(_arrow(places[number - 1], place))
        if place.stage.shortcut:
            parts.append(_shortcut(places[number + 1 - place.stage.shortcut], place))
        if place.stage.kind not in ("words", "labels"):
            parts += [_box(place), _titles(place), _counted(place, total)]
        if place.stage.kind in _DRAWN:
            parts.append(_DRAWN[place.stage.kind](place))
    return parts


def _arrow(upper: _PlacedStage, lower: _PlacedStage) -> Markup:
    shape = upper.stage.shape
    drawn = line((lower.middle, upper.bottom + 2), (lower.middle, lower.top - 3), stroke=FAINT)
    tip = _tip((lower.middle, lower.top - 2))
    beside = text((lower.middle + 10, upper.bottom + 21), shape, anchor="start", fill=SOFT, font_size=12)
    return joined([drawn, tip, beside if shape else None])


def _tip(place: Point) -> Markup:
    """The head of an arrow that points down to a place; a marker would be a reference, which pages do not have."""
    x, y = place
    return element("path", d=f"M{x - 4:g},{y - 7:g} L{x + 4:g},{y - 7:g} L{x:g},{y:g} z", fill=FAINT)


def _branch(trunk: _PlacedStage, first: _PlacedStage, task: str) -> Markup:
    """The arrow from the last shared stage to a head, and the name of its task."""
    if not task:
        return _arrow(trunk, first)
    y0, y1 = trunk.bottom + 2, first.top - 24
    bend = (y0 + y1) / 2
    path = f"M{trunk.middle:g},{y0:g} C{trunk.middle:g},{bend:g} {first.middle:g},{bend:g} {first.middle:g},{y1:g}"
    name = text((first.middle, first.top - 8), shortened(task, 32), font_weight=650, fill=INK)
    return joined([element("path", d=path, fill="none", stroke=FAINT), _tip((first.middle, y1 + 1)), name])


def _shortcut(first: _PlacedStage, last: _PlacedStage) -> Markup:
    """Around the stages of a residual layer, to the sum after them."""
    y0, y1 = first.top - _GAP / 2, last.bottom + _GAP / 2 - 4
    x, edge = first.middle, first.left - 12
    path = f"M{x:g},{y0:g} H{edge + 10:g} Q{edge:g},{y0:g} {edge:g},{y0 + 10:g} V{y1 - 10:g}"
    path += f" Q{edge:g},{y1:g} {edge + 10:g},{y1:g} H{x - 9:g}"
    plus = [
        circle((x, y1), 7, fill=GROUND, stroke=FAINT),
        line((x - 4, y1), (x + 4, y1), stroke=SOFT),
        line((x, y1 - 4), (x, y1 + 4), stroke=SOFT),
    ]
    return joined([element("path", d=path, fill="none", stroke=FAINT, stroke_dasharray="5 4"), *plus])


def _copies(copies: int, corner: Point, size: Point) -> Markup:
    """A card, and two more under it, around everything that each network of an ensemble has."""
    (x, y), (width, height) = corner, size
    cards = [
        rectangle((x + shift, y + shift), width, height, rx=14, fill="#fafbfc", stroke=RULE) for shift in (10, 5, 0)
    ]
    said = f"× {copies} networks; their scores are averaged"
    label = text((x + width - 6, y + height + 28), said, anchor="end", fill=SOFT, font_weight=650)
    return joined([*cards, label])


# ------------------------------------------------------------------------------------------------ boxes


def _box(place: _PlacedStage) -> Markup:
    fill, stroke = _FILLS[place.stage.kind]
    stripe = rectangle((place.left, place.top + 6), 4, place.height - 12, rx=2, fill=stroke)
    body = rectangle((place.left, place.top), place.width, place.height, rx=9, fill=fill, stroke=stroke, stroke_width=1)
    return joined([body, stripe])


def _titles(place: _PlacedStage) -> Markup:
    """Title, and the detail below it."""
    x, y = place.left + _PAD, place.top + 25
    parts = [text((x, y), place.stage.title, anchor="start", font_weight=650, fill=INK)]
    for row, part in enumerate(_details(place.stage, place.width)):
        parts.append(text((x, y + 18 + row * 16), part, anchor="start", fill=SOFT, font_size=12.5))
    return joined(parts)


def _details(stage: Stage, width: float) -> list[str]:
    """The lines of the detail, no wider than its box, cut at spaces."""
    lines = [""]
    for word in stage.detail.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, 12.5) > width - 2 * _PAD:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines if stage.detail else []


def _counted(place: _PlacedStage, total: int) -> Markup:
    """The number of parameters at the right edge, and a bar with their share of all."""
    count, right, y = place.stage.parameters, place.left + place.width - _PAD, place.top + 25
    if not count:
        return Markup("")
    if place.width < _WIDTH:
        return text((right, y), f"{count:,}", anchor="end", fill=SOFT, font_size=12)
    stroke = _FILLS[place.stage.kind][1]
    shown = text((right, y - 4), f"{count:,} parameters", anchor="end", fill=SOFT, font_size=12)
    whole = rectangle((right - 112, y + 3), 112, 4, title(f"{count / total:.1%} of all"), rx=2, fill=RULE)
    return joined([shown, whole, rectangle((right - 112, y + 3), max(1.5, 112 * count / total), 4, rx=2, fill=stroke)])


def _drawn_words(place: _PlacedStage) -> Markup:
    """A cell for each word that is seen at once, between the others of the sentence."""
    names = place.stage.names if len(place.stage.names) <= 9 else [*place.stage.names[:4], "…", *place.stage.names[-4:]]
    width = 62.0
    left = place.middle - width * len(names) / 2
    parts = []
    for number, name in enumerate(names):
        is_centre = len(names) % 2 == 1 and number == len(names) // 2
        fill, stroke = ("#dce9f8", "#2f6fb5") if is_centre else _FILLS["words"]
        corner = left + number * width + 4, place.top + 2
        parts.append(rectangle(corner, width - 8, 30, rx=6, fill=fill, stroke=stroke))
        weight = 650 if is_centre else 400
        at = corner[0] + width / 2 - 4, place.top + 22
        parts.append(text(at, name, fill=INK, font_size=13, font_weight=weight))
    for x in (left - 16, left + len(names) * width + 16):
        parts.append(text((x, place.top + 22), "…", fill=SOFT))
    return joined(parts)


def _drawn_features(place: _PlacedStage) -> Markup:
    """The vector of a word as a bar of its parts, and a line about each of them."""
    bands, room = place.stage.bands, place.width - 2 * _PAD
    parts, x, y = [], place.left + _PAD, place.top + 42
    widest = max(sum(band.width for band in bands), 1)
    for number, band in enumerate(bands):
        width = room * band.width / widest
        tip = title(f"{band.name}: {band.width:,} of {widest:,} numbers")
        parts.append(rectangle((x, y), max(width - 1.5, 1.0), 14, tip, rx=2, fill=_hue(number)))
        x += width
    right = place.left + place.width - _PAD
    for number, band in enumerate(bands):
        x, row = place.left + _PAD, y + 32 + number * _LINE
        name = f"{band.name} × {band.columns}" if band.columns > 1 else band.name
        learnt = "fixed" if band.is_fixed else f"{band.parameters:,}"
        parts.append(rectangle((x, row - 9), 10, 10, rx=2, fill=_hue(number)))
        parts.append(text((x + 18, row), name, anchor="start", fill=INK, font_size=13))
        facts = [(x + 330, f"{band.values:,} values"), (x + 430, f"{band.width:,} numbers"), (right, learnt)]
        parts += [text((at, row), fact, anchor="end", fill=SOFT, font_size=12) for at, fact in facts]
    return joined(parts)


def _hue(number: int) -> str:
    return _HUES[number % len(_HUES)]


def _drawn_chain(place: _PlacedStage) -> Markup:
    """Three labels by five words: all paths, and the best one."""
    x, y = place.middle - 84, place.bottom - 47
    xs, ys = [x + 42.0 * i for i in range(5)], [y + 15.0 * i for i in range(3)]
    best = (0, 1, 2, 0, 0)
    parts = []
    for left, right in itertools.pairwise(xs):
        parts += [line((left, a), (right, b), stroke=RULE) for a in ys for b in ys]
    way = [(xs[i], ys[row]) for i, row in enumerate(best)]
    parts.append(polyline(way, stroke=_FILLS["chain"][1], stroke_width=2.4, stroke_linejoin="round"))
    for i, at in enumerate(xs):
        for row, height in enumerate(ys):
            is_best = best[i] == row
            parts.append(circle((at, height), 4.2 if is_best else 3, fill=_FILLS["chain"][1] if is_best else FAINT))
    return joined(parts)


def _drawn_tree(place: _PlacedStage) -> Markup:
    """Four words, and the phrases that they form."""
    x, y = place.middle - 66, place.bottom - 47
    leaves = [(x + 44.0 * i, y + 30) for i in range(4)]
    first, second = (x + 22.0, y + 15), (x + 110.0, y + 15)
    root = (x + 66.0, y)
    pairs = [(first, leaves[0]), (first, leaves[1]), (second, leaves[2]), (second, leaves[3])]
    colour = _FILLS["tree"][1]
    parts = [line(a, b, stroke=colour) for a, b in [*pairs, (root, first), (root, second)]]
    parts += [circle(at, 3.2, fill=FAINT) for at in leaves]
    parts += [circle(at, 4.5, fill=colour) for at in (first, second, root)]
    return joined(parts)


def _drawn_labels(place: _PlacedStage) -> Markup:
    parts = [_box(place)]
    more = len(place.stage.names) - _MOST_NAMES
    heading = place.stage.title + (f", {_MOST_NAMES} of them here" if more > 0 else "")
    parts.append(text((place.left + _PAD, place.top + 22), heading, anchor="start", font_weight=650, fill=INK))
    classes = list(dict.fromkeys(_class_of(name) for name in place.stage.names if name != "O"))
    for name, row, left in _chips(place.stage.names, place.width):
        colour = FAINT if name == "O" else _hue(classes.index(_class_of(name)))
        shown = shortened(name, _LONGEST_NAME)
        x, y = place.left + _PAD + left, place.top + _LINE + 12 + row * (_CHIP + 6)
        width = width_of(shown, 12) + 16
        parts += [
            rectangle((x, y), width, _CHIP, title(name), rx=11, fill=GROUND, stroke=colour),
            text((x + width / 2, y + 15.5), shown, fill=INK, font_size=12),
        ]
    return joined(parts)


def _class_of(label: str) -> str:
    """B-PER and I-PER have one colour."""
    return label[2:] if label[1:2] == "-" and label[0] in "BIES" else label


def _chips(names: Sequence[str], width: float) -> list[tuple[str, int, float]]:
    """Each label with its row and its distance from the left edge."""
    found, row, x = [], 0, 0.0
    for name in names[:_MOST_NAMES]:
        size = width_of(shortened(name, _LONGEST_NAME), 12) + 16
        if x and x + size > width - 2 * _PAD:
            row, x = row + 1, 0.0
        found.append((name, row, x))
        x += size + 6
    return found


_DRAWN = {
    "words": _drawn_words,
    "features": _drawn_features,
    "chain": _drawn_chain,
    "tree": _drawn_tree,
    "labels": _drawn_labels,
}


# ------------------------------------------------------------------------------------------------ texts


def width_of(content: str, size: float) -> float:
    """About how wide a text of this font size is: nobody measures it, and fonts differ."""
    return (
        sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.67 if c.isupper() else 0.56 for c in content) * size
    )


def shortened(content: str, most: int) -> str:
    return content if len(content) <= most else content[: most - 1] + "…"

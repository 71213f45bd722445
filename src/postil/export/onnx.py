"""A fitted tagger as a graph of ONNX: ids of words in, label numbers, marginals and probabilities out.

    features (B, T, F), lengths (B,)  ->  network  ->  scores (B, T, L)  ->  Viterbi           ->  labels (B, T)
                                                                        ->  forward-backward  ->  marginals (B, T, C)
                                                                                                  probability (B,)

Everything that answers depend on is inside: the mean of an ensemble, the scheme's rules, temperature, shift and bias.
The folder that is written also holds the tables by which words become ids, and short programs that use them.
"""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from postil.errors import ConfigurationError
from postil.export.onnx_graph import Graph
from postil.export.onnx_labels import DataLabels
from postil.export.onnx_lattice import LatticeGraph
from postil.export.onnx_network import NetworkGraph
from postil.export.onnx_vocabulary import vocabulary_of
from postil.features.spelling import LONGEST
from postil.files import replaced
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.parts import Parts
from postil.models.scoring.ensemble_network import EnsembleNetwork, members_of
from postil.models.tagger import Tagger
from postil.objectives.lattice import ChainScores

COPIED = ("words.py", "words.mjs", "example.py", "example.mjs", "README.md")
"""Files of ``onnx_files`` that an exported folder has."""


def export_onnx(model: Any, path: str | os.PathLike[str]) -> list[Path]:
    """Write a fitted tagger, of one task or several, to a folder, or to a file if the name ends with .onnx.

    The folder has the graph, ``model.onnx``, and the rest of what is needed to tag words. A file has the graph alone,
    with the tables of words as its metadata ``postil``. Returns what was written.
    """
    path = Path(path)
    if path.exists() and path.is_dir() == (path.suffix == ".onnx"):
        expected, got = ("a file", "a folder") if path.is_dir() else ("a folder, or a file NAME.onnx", "another file")
        raise ConfigurationError("output", expected=f"must be {expected}", got=got, where=path)
    graph, vocabulary = onnx_model(model)
    content = json.dumps(vocabulary, separators=(",", ":"))
    if path.suffix == ".onnx":
        graph.metadata_props.add(key="postil", value=content)
        return [_written(path, graph.SerializeToString())]
    path.mkdir(parents=True, exist_ok=True)
    templates = files("postil.export") / "onnx_files"
    return [
        _written(path / "model.onnx", graph.SerializeToString()),
        _written(path / "vocabulary.json", content.encode()),
        *(_written(path / name, (templates / name).read_bytes()) for name in COPIED),
    ]


def onnx_model(model: Any) -> tuple[Any, dict[str, Any]]:
    """The graph, an ``onnx.ModelProto``, and the tables by which words become ids."""
    parts = _checked(model)
    heads = parts.heads or {"": parts}
    g = Graph()
    features = g.input("features", np.int64, ["sentences", "words", _width(parts)])
    lengths = g.input("lengths", np.int64, ["sentences"])
    T = g.add("Squeeze", g.size(features, 1))
    places = g.add("Range", g.constant(0, np.int64), T, g.constant(1, np.int64))
    is_word = g.add("Less", g.unsqueeze(places, 0), g.unsqueeze(lengths, 1))  # (B, T)
    labels: dict[str, list[str]] = {}
    hidden: dict[int, str] = {}  # the encoder that tasks share runs once
    for task, head in heads.items():
        labels[task] = _add_head(g, head, features, is_word, f"{task}." if task else "", hidden)
    vocabulary = {"labels": labels, **vocabulary_of(parts.features)}
    return g.model("postil", {"labels": json.dumps(labels)}), vocabulary


def _add_head(
    g: Graph, head: Parts[Any, Any], features: str, is_word: str, prefix: str, hidden: dict[int, str]
) -> list[str]:
    """One task, from the ids of features to the outputs. Returns the names of its labels."""
    network, decoding, labelling = NetworkGraph(g, is_word), head.decoding, head.labelling
    scores = []
    for member in members_of(head.network):
        if id(member.encoder) not in hidden:
            hidden[id(member.encoder)] = network.hidden(member, features)
        scores.append(network.scores(member, hidden[id(member.encoder)]))
    unary = g.add("Mean", *scores) if len(scores) > 1 else scores[0]
    unary = g.add("Div", g.cast(unary, np.float64), g.constant(decoding.temperature, np.float64))
    L = len(labelling.labels)
    if decoding.shift and labelling.outside is not None:
        unary = g.add("Sub", unary, g.constant(decoding.shift * (np.arange(L) == labelling.outside), np.float64))
    bonus = decoding.bias * labelling.opens_entity.astype(np.float64) if decoding.bias else None
    lattice = LatticeGraph(chain=_cooled(head.network.chain(), decoding.temperature), bonus=bonus)
    found, names = lattice.answers(g, unary, is_word), DataLabels(labelling)
    numbers, marginals = names.answers(g, found, lattice)
    numbers = g.add("Where", is_word, numbers, g.constant(-1, np.int64))
    marginals = g.add("Where", g.unsqueeze(is_word, 2), g.cast(marginals, np.float32), g.constant(0, np.float32))
    g.output(numbers, f"{prefix}labels", np.int64, ["sentences", "words"])
    g.output(marginals, f"{prefix}marginals", np.float32, ["sentences", "words", len(names.names)])
    g.output(g.cast(found.probability, np.float32), f"{prefix}probability", np.float32, ["sentences"])
    return names.names


def _cooled(chain: ChainScores, temperature: float) -> ChainScores:
    return ChainScores(
        transitions=chain.transitions / temperature, start=chain.start / temperature, end=chain.end / temperature
    )


def _width(parts: Parts[Any, Any]) -> int:
    """Ids of a word."""
    first = members_of(parts.network)[0] if isinstance(parts.network, EnsembleNetwork) else parts.network
    tables = [tables for tables in (first.form_tables, first.extra_tables) if tables is not None]
    characters = LONGEST if parts.features.words.alphabet is not None else 0
    return sum(len(one.sizes) for one in tables) + characters + (first.vectors is not None)


def _checked(model: Any) -> Parts[Any, Any]:
    """The parts of a model that the graph can hold, or an error."""
    if not isinstance(model, Tagger | MultiTaskTagger):
        kind = getattr(model, "KIND", type(model).__name__)
        raise ConfigurationError("a model for ONNX", expected="must be a tagger", got=f"a {kind}")
    parts: Parts[Any, Any] = model.fitted_parts()
    if parts.features.named is not None:
        raise ConfigurationError("a model for ONNX", expected="needs words", got="feature dicts (word_key)")
    for head in (parts.heads or {"": parts}).values():
        if head.decoding.thresholds:
            expected = "must have no thresholds: postil tune or tagger.decoding can take them away"
            raise ConfigurationError("a model for ONNX", expected=expected, got=dict(head.decoding.thresholds))
        if head.labelling.has_spans and not parts.config.constrained:
            raise ConfigurationError("a model for ONNX", expected="needs constrained=True", got="constrained=False")
    return parts


def _written(path: Path, content: bytes) -> Path:
    with replaced(path) as stream:
        stream.write(content)
    return path

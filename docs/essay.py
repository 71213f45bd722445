"""The live parts of the essay: the page's scripts as one, two models for WebAssembly, and the numbers of its text.

The figures run the modules of the served page and of the web export. A browser does not import modules from a folder
(file://), so they become one classic script; the models are scripts as well, in gzip and base64.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import postil
from postil.export.flat import exported
from postil.export.web.writing import as_exported, packed
from postil.graph import ancestors
from postil.models.decoding.posteriors import Posteriors
from postil.models.laboratory import Laboratory
from postil.objectives.crf import Lattice, best_paths
from postil.samples.corpora import made_up_trees
from postil.text.trees.treebank import parse_tree

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "postil"
ENGLISH = ROOT / "postil-english" / "src" / "postil_english" / "english.postil"
SENTENCE = "Paris Hilton in Paris"
TREES = 400
"""Opinions that the tree classifier learns from."""

MODULES = {
    "/page/dom.js": PACKAGE / "html" / "dom.js",
    "/page/crf.js": PACKAGE / "server" / "page" / "crf.js",
    "/page/flow.js": PACKAGE / "server" / "page" / "flow.js",
    "/page/shared.js": PACKAGE / "server" / "page" / "shared.js",
    "./runtime.mjs": PACKAGE / "export" / "web" / "runtime.mjs",
    "./address.js": PACKAGE / "server" / "page" / "address.js",
    "./stand-ins.js": ROOT / "docs" / "javascripts" / "stand-ins.js",
    "/page/lattice.js": PACKAGE / "server" / "page" / "lattice.js",
    "./essay.js": ROOT / "docs" / "javascripts" / "essay.js",
}
"""Address -> file, each after those that it imports."""
STAND_INS = {"/page/api.js": "./stand-ins.js", "/page/address.js": "./stand-ins.js"}
"""Modules of the served page that have something else in their place: an essay has no server."""


def write(folder: Path) -> None:
    """Write the scripts and the style of the essay into the folder of the site."""
    scripts, styles = folder / "javascripts", folder / "stylesheets"
    (scripts / "essay.js").write_text(script(), encoding="utf-8")
    (scripts / "essay-data.js").write_text(f"globalThis.ESSAY = {data()};\n", encoding="utf-8")
    (scripts / "essay-model.js").write_text(f'globalThis.ESSAY.names = "{packed(names_model())}";\n', encoding="utf-8")
    (styles / "essay.css").write_text(style(), encoding="utf-8")


# ------------------------------------------------------------------------------------------------ scripts and style


def script() -> str:
    """The modules as one classic script, each in a separate scope."""
    return f"(() => {{\nconst modules = {{}};\n{''.join(map(_scope, MODULES))}}})();\n"


def _scope(address: str) -> str:
    text = MODULES[address].read_text("utf-8")
    names = re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    text = re.sub(r'^import (\{[^}]*\}) from "([^"]+)";$', _import, text, flags=re.MULTILINE)
    return f'modules["{address}"] = (() => {{\n{text}\nreturn {{ {", ".join(names)} }};\n}})();\n'


def _import(found: re.Match[str]) -> str:
    return f'const {found[1].replace(" as ", ": ")} = modules["{STAND_INS.get(found[2], found[2])}"];'


def style() -> str:
    """The style of the served page inside of the figures, in the colours of the site's theme."""
    palette, page = ((PACKAGE / "html" / name).read_text("utf-8") for name in ("palette.css", "page.css"))
    light, dark = re.findall(r":root \{(.*?)\}", palette, re.DOTALL)
    themes = (
        f'[data-md-color-scheme="default"] .live {{{light}}}\n[data-md-color-scheme="slate"] .live {{{light}{dark}}}\n'
    )
    own = (ROOT / "docs" / "stylesheets" / "essay.css").read_text("utf-8")
    page = re.sub(r"([\d.]+)rem", r"calc(\1 * var(--rem))", page)  # the theme's rem has another size
    return f"{themes}.md-typeset .live.live {{\n{page}}}\n{own}"


# ------------------------------------------------------------------------------------------------ models


@functools.cache
def names_tagger() -> Any:
    """The English model's tagger of names, with the precision in which it is exported."""
    tagger = postil.load(ENGLISH).by_task()["names"]
    return as_exported(tagger, half=True, sentences=[SENTENCE.split()])[0]


def names_model() -> bytes:
    return exported(names_tagger(), half=True)


@functools.cache
def opinions() -> Any:
    """A recursive network (D1) for opinions on films, trained on made-up ones."""
    return postil.TreeClassifier(composition="sum").fit(made_up_trees(TREES, np.random.default_rng(0)))


# ------------------------------------------------------------------------------------------------ numbers


@functools.cache
def lattice() -> Any:
    return next(Posteriors(names_tagger().model).lattices([SENTENCE.split()]))[1]


def forward_backward(lattice: Lattice) -> tuple[Any, Any, float]:
    """Log α (T, L), log β (T, L) and log Z of the only sentence of a lattice, as the equations stand (A8, C3, C4)."""
    unary, chain = lattice.unary.astype(np.float64), lattice.chain
    alphas, betas = np.empty_like(unary), np.empty_like(unary)
    alphas[0], betas[-1] = chain.start + unary[0], chain.end
    with np.errstate(divide="ignore"):  # log 0 = -inf: nothing is possible
        for t in range(1, len(unary)):
            alphas[t] = unary[t] + np.logaddexp.reduce(alphas[t - 1][:, None] + chain.transitions, axis=0)
            betas[-t - 1] = np.logaddexp.reduce(chain.transitions + unary[-t] + betas[-t], axis=1)
        return alphas, betas, float(np.logaddexp.reduce(alphas[-1] + chain.end))


def numbers() -> dict[str, str]:
    """Name -> number, for the text: {{name}} stands there."""
    parts, size = names_tagger().model, sum(column.D for column in names_tagger().model.features.words.columns)
    labels, chain = parts.codec.labels, lattice().chain
    alphas, betas, log_z = forward_backward(lattice())
    first = labels.index("B-PER")
    unary = lattice().unary.astype(float)
    pinned = unary.copy()
    pinned[0, np.arange(len(labels)) != labels.index("B-LOC")] = -np.inf
    best, other = (
        best_paths(Lattice(unary=one, offsets=lattice().offsets, chain=chain))[1][0] for one in (unary, pinned)
    )
    rounded = {
        "alpha": alphas[0, first],
        "beta": betas[0, first],
        "log Z": log_z,
        "p": np.exp(alphas[0, first] + betas[0, first] - log_z),
        "score": unary[0, first] * parts.decoding.temperature,
        "temperature": parts.decoding.temperature,
        "u first": unary[0, first],
    }
    tree = parse_tree("(neither (bad (neither the) (neither film)) (bad (neither is) (bad (neither not) (bad bad))))")
    phrase = opinions().node_probabilities([tree])[0][6]  # after its two words
    return {name: f"{value:.3f}" for name, value in rounded.items()} | {
        "paths": f"{len(labels) ** len(unary):,}",
        "flip": f"{best - other:.1f}",
        "inputs": str(size),
        "window": f"{parts.config.window * size:,}",
        "opinions": ", ".join(f"{value:.2f}" for value in phrase),
        "classes": " and ".join(", ".join(f"*{one}*" for one in opinions().model.codec.labels).rsplit(", ", 1)),
        "trees": str(TREES),
        "learned": f"{parts.about['data']['tasks']['names']['sentences']:,}",
    }


def data() -> str:
    """JSON: what the figures show and no engine in the page computes, and what they run."""
    tagger, tokens = names_tagger(), SENTENCE.split()
    parts, words = tagger.model, tagger.model.features.words
    loss, _ = Laboratory(tagger, tokens, tagger.predict([tokens])[0]).graph()
    nodes = {node.name: node.value for node in ancestors(loss) if node.parents}  # the last of a name: the scores
    padding = next(node.value for node in ancestors(loss) if node.name == "padding")
    features = [
        {"name": column.name, "size": column.D, "values": [_feature(words, column.name, one) for one in ids]}
        for column, ids in zip(words.columns, words.rows(tokens).T, strict=True)
    ]
    return json.dumps({
        "sentence": SENTENCE,
        "wasm": {name: packed((PACKAGE / "export" / "web" / file).read_bytes()) for name, file in WASM.items()},
        "opinions": packed(exported(opinions())),
        "tokens": tokens,
        "labels": parts.codec.labels,
        "temperature": parts.decoding.temperature,
        "shift": parts.decoding.shift,
        "features": features,
        "vectors": _rounded([*nodes["take rows"], padding]),
        "hidden": _rounded(nodes["relu"]),
        "scores": _rounded(nodes["Linear"], 4),
    })  # fmt: skip


WASM = {"simd": "postil-simd.wasm", "plain": "postil.wasm"}


def _feature(words: Any, name: str, number: int) -> str:
    """The value of a feature: the string that a number stands for, or the number."""
    vocabulary = words.vocabularies.get(name)
    return (vocabulary[number] or "rare") if vocabulary is not None else str(number)


def _rounded(array: Any, digits: int = 2) -> Any:
    return np.round(np.asarray(array, float), digits).tolist()

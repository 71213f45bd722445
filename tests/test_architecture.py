"""The shape of the package: imports go one way, public names are listed, everything differentiable is checked."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import postil
from postil.gradients.checks import gradient_checks
from postil.graph import Node, Result
from postil.network import ACTIVATIONS, Layer

PACKAGE = Path(postil.__file__).parent
FOUNDATION = ["errors", "arrays", "markup", "kernels", "threads", "graph", "gradcheck", "archive"]
STREAM = [
    *["text", "samples", "features", "network", "objectives", "metrics", "training", "pretraining", "models"],
    *["gradients", "machine", "curation", "reports", "export", "serving", "integrations", "commands"],
]
# Rooms that later work will fill; named here so that each finds its place.
RESERVED = {"pretraining", "curation", "export", "serving", "integrations"}
ORDER = FOUNDATION + STREAM
# `python -m postil` and the package's own page of lazy names stand above the stream.
ABOVE = {"__main__", "__init__"}


def modules() -> list[str]:
    return [
        info.name for info in pkgutil.walk_packages([str(PACKAGE)], "postil.") if not info.name.endswith("__main__")
    ]


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> set[str]:
    """The parts of postil that a source text imports, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("postil.")}


def against_the_stream(part: str, imports: set[str]) -> set[str]:
    known = {name for name in imports if name in ORDER}
    return {name for name in known if ORDER.index(name) > ORDER.index(part)}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_with_the_stream(path):
    part = part_of(path)
    if part in ABOVE:
        return
    assert part in ORDER, f"{part} has no place in the stream"
    assert not against_the_stream(part, imported_parts(path.read_text(encoding="utf8")))


def test_an_import_against_the_stream_is_found():
    source = "def f():\n    from postil import training\n    from postil.network import Linear\n"
    assert imported_parts(source) == {"training", "network"}
    assert against_the_stream("objectives", {"training", "network"}) == {"training"}


PUBLIC = {
    "postil": [
        *[
            "__version__",
            "Tagger",
            "Detector",
            "TreeClassifier",
            "Constraints",
            "Decoding",
            "Gazetteer",
            "load",
            "errors",
            "arrays",
            "graph",
            "gradcheck",
            "archive",
            "text",
            "features",
        ],
        *["network", "objectives", "metrics", "training", "models", "reports"],
    ],
    "postil.features": [
        *["Vocabulary", "CAPS_CLASSES", "normalise", "fold_digits", "caps_class", "shape", "prefixes", "suffixes"],
        *["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values", "WordVectors"],
        *["arrays_under", "NAMED_VECTORS", "load_vectors", "GAZETTEER_CODES", "Gazetteer", "batches_of_similar_length"],
    ],
    "postil.gradcheck": ["TOLERANCE", "Disagreement", "Entry", "Report", "check", "examine"],
    "postil.graph": [
        *["Node", "Input", "Parameter", "Result", "Pullback", "Gradient", "Gradients", "RowGradient"],
        *["gradients", "jacobian", "ancestors", "dense", "sum_of_two"],
        *["add", "subtract", "multiply", "divide", "power", "negative", "matmul", "exp", "log", "sqrt", "tanh"],
        *["sum", "mean", "max", "reshape", "transpose", "concatenate", "getitem", "take_rows", "draw"],
    ],
    "postil.network": [
        *["Layer", "LayerPullback", "ParameterGradients", "Run"],
        *["Initialiser", "INITIALISERS", "constant", "fan_in_as_printed", "fan_in_variance", "xavier"],
        *[
            "LookupTable",
            "LookupTables",
            "Linear",
            "Window",
            "WindowAverage",
            "convolution",
            "MaxOverTime",
            "SentenceConvolution",
        ],
        *["ACTIVATIONS", "Activation", "ParametricReLU", "Dropout", "LayerNorm", "Chain", "Concatenation", "Residual"],
        *["Composition", "SumComposition", "AffineComposition", "TensorComposition", "TreeLSTM"],
        *["COMPOSITIONS", "new_composition"],
    ],
    "postil.objectives": [
        *["softmax", "log_softmax", "softmax_cross_entropy", "max_margin", "l2"],
        *["CRF", "offset_scores", "label_costs", "ChainScores", "Lattice", "path_scores", "log_probabilities"],
        *["Posterior", "forward_backward", "SCALED", "LOGARITHMIC", "loss_and_gradient", "LossGradient"],
        *["viterbi", "k_best", "RankedPath", "EntityLabels", "Windows", "span_windows", "window_probabilities"],
        *["span_probabilities", "any_entity_probabilities"],
        *["forced_spans", "outside_spans", "viterbi_without_spans"],
        *["log_odds", "log_odds_and_gradient", "summed_log_odds", "without_transition_scores"],
    ],
    "postil.kernels": [
        *["ACTIVATIONS", "IN_USE", "chain_messages", "chain_moments", "viterbi", "ranked_paths"],
        *["add_bias", "multiply_rows", "normalise_windows", "spread_windows", "sum_windows"],
        *["windows", "windows_back", "normalise_rows", "normalise_rows_back"],
        *["activate", "sum_of_squares", "sums_of_occurrences", "adam_step", "adagrad_step", "settle_rows"],
        *["AdamMemory", "AdamSettings", "Noise", "Totals"],
        *["binary_shape", "TreeCells", "cells_up", "cells_down", "leaf_cells_up", "leaf_cells_down"],
        *["TokenCells", "Columns", "Words", "token_cells", "line_cells", "number_words", "write_rows"],
        *["TokenPatterns", "ChunkCache", "TokenisedText", "tokenise_text", "SentencePatterns", "split_sentences"],
        *["character_offsets", "lower_case"],
        *["quadratic_forms", "quadratic_forms_back", "quadratic_weights", "sums_of_pairs"],
    ],
    "postil.models": [
        *["Tagger", "Detector", "TreeClassifier", "NodeLabel", "TreeExplanation", "TaggerConfig", "TreeConfig"],
        *["PRESETS", "load", "Explanation", "Constraints", "Decoding"],
    ],
    "postil.reports": [
        *["Answers", "Heading", "tagger_page", "detector_page", "tree_page", "Drawn"],
        *["Markup", "element", "Section", "page"],
    ],
    "postil.training": [
        *["Optimiser", "SGD", "AdaGrad", "Adam", "OPTIMISERS", "Averaged"],
        *["Schedule", "Constant", "InverseDecay", "WarmUpAndDecay", "clipped", "clipping_factor", "gradient_norm"],
        *["generator_state", "restored_generator"],
    ],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_listed(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name])
    for public in module.__all__:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ("postil", "postil.gradcheck")])
def test_nothing_public_is_left_unlisted(name):
    module = importlib.import_module(name)
    found = {n for n, v in vars(module).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert found == set(module.__all__)


def differentiable() -> dict[object, str]:
    """Every public function that makes a node, and every layer, wherever in the package it is defined."""
    found: dict[object, str] = dict.fromkeys(ACTIVATIONS, "activation")
    for module_name in modules():
        module = importlib.import_module(module_name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module_name:
                continue
            if thing is not Layer and (makes_a_node(thing) or is_a_layer(thing)):
                found[thing] = f"{module_name}.{name}"
    return found


def makes_a_node(thing: object) -> bool:
    call = thing.__call__ if inspect.isclass(thing) and "__call__" in vars(thing) else thing
    if not inspect.isfunction(call):
        return False
    return call.__annotations__.get("return") in (Result, Node, "Result", "Node") and not is_a_layer(thing)


def is_a_layer(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Layer)


def test_everything_differentiable_is_checked():
    covered = {id(thing) if not isinstance(thing, str) else thing for row in gradient_checks() for thing in row.covers}
    missing = [name for thing, name in differentiable().items() if thing not in covered and id(thing) not in covered]
    assert not missing, f"no gradient check covers {missing}"


def test_the_search_for_differentiable_things_finds_them():
    names = set(differentiable().values())
    assert {
        "postil.graph.operations.matmul",
        "postil.network.linear.Linear",
        "postil.objectives.margin.max_margin",
    } <= names


def test_every_test_file_stands_where_its_source_stands():
    tests = Path(__file__).parent
    for path in tests.rglob("test_*.py"):
        folder = path.relative_to(tests).parent
        assert folder == Path() or (PACKAGE / folder).is_dir(), f"{path}: no folder {folder} in the package"

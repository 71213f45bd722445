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


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(source: str, known: set[str]) -> set[str]:
    """The known modules that a source text imports: at its top, inside functions, for type checking only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in known else str(node.module) for name in found}
    return names & known


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; empty if there is none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        for other in sorted(graph.get(module, ())):
            if found := visit(other, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(graph) if (found := visit(module, []))), [])


def test_no_modules_import_each_other_in_a_circle():
    sources = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    graph = {
        module: imported_modules(path.read_text(encoding="utf8"), set(sources)) - {module}
        for module, path in sources.items()
    }
    assert sum(map(len, graph.values())) > 500, "imports are found"
    assert not cycle(graph)


@pytest.mark.parametrize(
    "hidden",
    [
        "def f():\n    from postil.b import g\n",
        "if TYPE_CHECKING:\n    from postil import b\n",
        "import postil.b\n",
    ],
)
def test_a_circle_of_imports_is_found(hidden):
    known = {"postil.a", "postil.b", "postil.c"}
    sources = {"postil.a": hidden, "postil.b": "from postil.c import h", "postil.c": "from postil.a import f"}
    graph = {module: imported_modules(source, known) for module, source in sources.items()}
    assert cycle(graph) == ["postil.a", "postil.b", "postil.c"]
    assert not cycle({**graph, "postil.c": set()})


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
        *["Vocabulary", "CAPS_CLASSES", "normalise", "fold_digits", "caps_class", "shape"],
        *["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values", "WordVectors"],
        *["arrays_under", "NAMED_VECTORS", "load_vectors", "GAZETTEER_CODES", "Gazetteer", "batches_of_similar_length"],
    ],
    "postil.gradcheck": ["TOLERANCE", "Disagreement", "Entry", "Report", "check", "examine"],
    "postil.graph": [
        *["Node", "Input", "Parameter", "Parameterised", "Result", "Pullback", "Gradient", "Gradients", "RowGradient"],
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
        *["CRF", "offset_scores", "ChainScores", "Lattice", "path_scores", "log_probabilities"],
        *["Posterior", "forward_backward", "SCALED", "LOGARITHMIC", "loss_and_gradient", "LossGradient"],
        *["viterbi", "k_best", "RankedPath", "EntityLabels", "Windows", "span_windows", "window_probabilities"],
        *["span_probabilities", "forced_spans", "outside_spans", "SpanOfKind", "without_spans", "entities_of"],
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
        *["Schedule", "Constant", "InverseDecay", "WarmUpAndDecay", "SCHEDULES", "new_schedule"],
        *["clipping_factor", "gradient_norm"],
    ],
}


EVERY_ESTIMATOR = [
    *["KIND", "fit", "fitting", "predict", "score", "evaluate", "explain", "save", "classes_"],
    *["get_params", "set_params", "check", "config", "fitted_parts"],
]
PUBLIC_OF_ESTIMATORS = {
    "Tagger": [
        *["tag", "annotate", "answers", "marginals", "nbest", "probability", "predict_with_probabilities"],
        *["spans_above", "entities_above", "labelling", "decoding", "calibrate", "tune"],
    ],
    "Detector": ["tag", "annotate", "annotate_with_scores", "decision", "threshold"],
    "TreeClassifier": ["predict_proba", "predict_nodes", "node_probabilities", "trees"],
}


@pytest.mark.parametrize("name", PUBLIC_OF_ESTIMATORS)
def test_public_names_of_estimators_are_listed(name):
    public = {member for member in dir(getattr(postil, name)) if not member.startswith("_")}
    assert public == {*EVERY_ESTIMATOR, *PUBLIC_OF_ESTIMATORS[name]}


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

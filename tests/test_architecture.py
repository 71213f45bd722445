"""The shape of the package: three rings, imports go inward, public names are listed.

That everything differentiable is checked is tested in ``models/test_gradients.py``.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import postil

PACKAGE = Path(postil.__file__).parent
# Every room imports only from rooms before it in this list; a ring imports only from the rings inside it.
FOUNDATION = ["errors", "lazy", "extras", "files", "reading", "arrays", "html", "threads", "archive"]
MATHEMATICS = ["kernels", "graph", "network", "objectives", "optimisation", "gradcheck"]  # knows nothing of text
LIBRARY = ["text", "samples", "features", "metrics", "pretraining", "models", "evaluation", "rules", "tagging"]
APPLICATIONS = ["quality", "annotation", "drawing", "reports", "export", "integrations", "server", "commands"]
ORDER = FOUNDATION + MATHEMATICS + LIBRARY + APPLICATIONS
# `python -m postil`, the package's own page of lazy names and public names of integrations stand outside the rings.
ABOVE = {"__main__", "__init__", "crfsuite", "arrow", "spacy", "ray", "presidio"}


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
    assert part in ORDER, f"{part} has no place in the rings"
    found = against_the_stream(part, imported_parts(path.read_text(encoding="utf8")))
    assert not found


def test_an_import_against_the_stream_is_found():
    source = "def f():\n    from postil import optimisation\n    from postil.network import Linear\n"
    assert imported_parts(source) == {"optimisation", "network"}
    assert against_the_stream("objectives", {"optimisation", "network"}) == {"optimisation"}


# The modules of an application that others may import, next to its package: what they have is loaded when it is needed.
DOORS = {"postil.reports.card", "postil.reports.data"}
DOORS |= {"postil.integrations.arrow", "postil.integrations.column_files"}
DOORS |= {"postil.export.c", "postil.export.web", "postil.export.web.trainer"}
OF_TUPLES = {"_asdict", "_replace", "_fields", "_make"}


def insides(part: str, source: str) -> set[str]:
    """What a source text takes from inside others: modules of applications, private names of anybody."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and f"{node.module}".startswith("postil."):
            _, room, *below = str(node.module).split(".")
            if room != part:
                found |= {alias.name for alias in node.names if alias.name.startswith("_")}
                found |= {str(node.module)} if room in APPLICATIONS and below and node.module not in DOORS else set()
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = ast.unparse(node.value)
            if owner.split(".")[0] not in ("self", "cls", "super()", "argparse", "parser", "os"):
                found |= {f"{owner}.{node.attr}"} - {f"{owner}.{name}" for name in OF_TUPLES}
    return found


@pytest.mark.parametrize("part", APPLICATIONS)
def test_applications_use_only_what_others_make_public(part):
    paths = [path for path in PACKAGE.rglob("*.py") if part_of(path) == part]
    assert paths and {str(path): found for path in paths if (found := insides(part, path.read_text("utf8")))} == {}


@pytest.mark.parametrize(
    "source", ["from postil.server.guard import Guard", "from postil.models.tagger import _store", "tagger._word_key"]
)
def test_an_import_of_the_insides_is_found(source):
    assert insides("commands", source)
    assert not insides("commands", "from postil.reports.card import card_of\nself._x = row._asdict()")


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
            "MultiTaskTagger",
            "Detector",
            "RoleLabeller",
            "Ensemble",
            "TreeClassifier",
            "Constraints",
            "Decoding",
            "Gazetteer",
            "load",
            "from_datasets",
            "read_spans",
            "pretrain",
            "errors",
            "arrays",
            "graph",
            "gradcheck",
            "archive",
            "text",
            "features",
        ],
        *["network", "objectives", "metrics", "optimisation", "pretraining", "models", "reports", "arrow", "spacy"],
        "presidio",
        *[
            "ray",
            "crfsuite",
            "evaluation",
            "rules",
            "quality",
            "compare",
            "crossval",
            "curve",
            "doctor",
            "extend",
            "suggest",
        ],
    ],
    "postil.evaluation": [
        *["CrossValidation", "Difference", "Fold", "LearningCurve", "ModelComparison", "Progress"],
        *[
            "compare",
            "compare_answers",
            "compared_by",
            "crossval",
            "curve",
            "Drift",
            "Expected",
            "expected",
            "documents_of",
            "folds",
            "groups_of",
            "run_all",
        ],
        "unfitted",
    ],
    "postil.rules": [
        *["read_rules", "Rules", "Vote", "ListRule", "PatternRule", "ModelRule", "FunctionRule", "ColumnRule"],
        *["MentionRule", "TextAnswer", "Reliability", "learn", "Learned", "check", "RuleReport"],
    ],
    "postil.quality": [
        *["CHECKS", "Diagnosis", "Finding", "Split", "Suspicion", "apply", "diagnosed", "doctor", "review"],
        *["DIVERSITY", "WAYS", "Doubt", "Option", "Suggestion", "suggest"],
    ],
    "postil.annotation": [
        *["Annotation", "Answer", "Journal", "Labelled", "Pool", "PoolRecord", "REVIEWED", "checked_class", "key_of"],
        *["EditedRules", "rules_of_names"],
    ],
    "postil.integrations.crfsuite": [
        *[
            "CRF",
            "CRFSUITE_VERSION",
            "CRFSuiteError",
            "install",
            "BaseTrainer",
            "ItemSequence",
            "LinePerIterationTrainer",
            "Tagger",
        ],
        *["Trainer"],
    ],
    "postil.features": [
        *["Vocabulary", "CAPS_CLASSES", "normalise", "fold_digits", "caps_class", "shape"],
        *["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values", "WordVectors"],
        *["arrays_under", "NAMED_VECTORS", "load_vectors", "GAZETTEER_CODES", "Gazetteer", "batches_of_similar_length"],
    ],
    "postil.gradcheck": ["TOLERANCE", "Disagreement", "Entry", "GradientReport", "Sampling", "check", "examine"],
    "postil.graph": [
        *["Node", "Input", "Parameter", "Parameterised", "Result", "Pullback", "Gradient", "Gradients", "RowGradient"],
        *["gradients", "jacobian", "ancestors", "dense", "sum_of_two"],
        *["add", "subtract", "multiply", "divide", "power", "negative", "matmul", "exp", "log", "sqrt", "tanh"],
        *["sigmoid", "relu", "softmax"],
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
            "CharacterConvolution",
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
        *["Mention", "Change", "given_mentions", "mention_loss"],
    ],
    "postil.kernels": [
        *["TaggerBatch", "TaggerKernel", "TaggerShape", "tagger_kernel", "Crew"],
        *["AdamKernel", "AdamUpdate", "SpellingShape", "TableShape", "adam_kernel"],
        *["ChainAnswers", "Question", "chain_answers"],
        *[
            "ACTIVATIONS",
            "IN_USE",
            "KernelsInUse",
            "in_use",
            "chain_messages",
            "chain_moments",
            "viterbi",
            "ranked_paths",
        ],
        *["spread_windows", "string_slots", "sum_windows"],
        *["windows", "windows_back", "first_maxima", "normalise_rows", "normalise_rows_back"],
        *["activate", "sum_of_squares", "sums_of_occurrences", "adam_step", "adagrad_step", "settle_rows"],
        *["AdamMemory", "AdamSettings", "Noise", "Totals"],
        *["binary_shape", "TreeCells", "cells_up", "cells_down", "leaf_cells_up", "leaf_cells_down"],
        *["CrfFile", "item_bytes", "items_of", "online_pass", "descent_pass"],
        *["TokenCells", "Columns", "token_cells", "line_cells", "write_rows"],
        *["Records", "write_records"],
        *["TokenPatterns", "ChunkCache", "TokenisedText", "tokenise_text", "SentencePatterns", "split_sentences"],
        *["character_offsets", "StringTable", "WordColumn", "WordRules", "word_features"],
        *["Attributes", "AttributeTokens", "PairWeights"],
        *["attribute_scores", "attribute_sums", "attribute_counts", "attribute_tokens"],
        *["padded_labels", "observed_features"],
        *["composed_phrases", "bilinear_forms", "chosen_products"],
        *["quadratic_forms", "quadratic_forms_back", "quadratic_weights", "sums_of_pairs"],
        *["RowChanges", "ShardChanges", "ShardRoom", "SkipgramText", "merge_rows", "skipgram_shard"],
        *["RankingLayers", "RankingRates", "RankingText", "ranking_shard"],
        *["Bigrams", "brown_merges"],
    ],
    "postil.pretraining": [
        *["pretrain", "CorpusConfig", "PretrainingConfig", "Corpus", "read_corpus", "Pretraining", "PretrainingStep"],
        *["negative_sampling", "window_ranking", "save_vectors", "WordClusters", "brown_clusters"],
        *["Neighbour", "neighbours"],
    ],
    "postil.models": [
        *[
            "Tagger",
            "MultiTaskTagger",
            "Detector",
            "RoleLabeller",
            "Ensemble",
            "TreeClassifier",
            "NodeLabel",
            "TreeExplanation",
            "TaggerConfig",
            "TreeConfig",
        ],
        *["PRESETS", "UNSET", "load", "Explanation", "Constraints", "Decoding"],
        *["FORGETTING_TOLERANCE", "Extending", "Extension", "extend"],
    ],
    "postil.reports": [
        *["Answers", "Heading", "tagger_page", "detector_page", "tree_page", "Drawn", "drawn_network"],
        *["Markup", "element", "Section", "page"],
    ],
    "postil.tagging": ["Labelled", "Labeller", "Summary", "TaggingOptions", "label"],
    "postil.optimisation": [
        *["Optimiser", "SGD", "AdaGrad", "Adam", "OPTIMISERS", "USUAL_RATES", "Averaged"],
        *["Schedule", "constant", "inverse_decay", "warm_up_and_decay", "SCHEDULES", "new_schedule"],
        *["clipping_factor", "gradient_norm"],
    ],
}


EVERY_ESTIMATOR = [
    *["KIND", "fit", "fitting", "predict", "score", "evaluate", "explain", "save", "classes_"],
    *["get_params", "set_params", "settings", "check", "config", "model", "by_task", "history_"],
]
PUBLIC_OF_ESTIMATORS = {
    "Tagger": [
        *["tag", "tag_many", "annotate", "answers", "marginals", "nbest", "probability", "predict_with_probabilities"],
        *["spans_above", "entities_above", "decoding", "calibrate", "tune", "pretrain", "pretraining", "with_rules"],
        *["promise", "redact", "redact_many"],
    ],
    "MultiTaskTagger": [
        *["tag", "tag_many", "annotate", "tasks", "decoding", "groups_", "main_task", "with_rules"],
        "with_roles",
    ],
    "Detector": ["tag", "tag_many", "annotate", "decision", "threshold"],
    "RoleLabeller": ["tag", "annotate", "predicates", "tagger"],
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
    assert all(hasattr(module, public) for public in module.__all__)  # some are imported when they are asked for
    found = {n for n, v in vars(module).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert found == set(module.__all__)


def test_no_public_function_shares_its_name_with_a_module():
    """``from postil.text import tokenise`` must not mean the module at one time and the function at another."""
    for name in PUBLIC:
        module = importlib.import_module(name)
        below = {info.name for info in pkgutil.iter_modules(getattr(module, "__path__", []))}
        shared = {
            public for public in module.__all__ if public in below and not inspect.ismodule(getattr(module, public))
        }
        assert shared == set(), f"{name}: {shared}"

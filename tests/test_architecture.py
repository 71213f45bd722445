"""The shape of the package: imports go one way, public names are listed, tests mirror sources.

That everything differentiable is checked is tested in ``gradients/test_checks.py``.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import postil

PACKAGE = Path(postil.__file__).parent
FOUNDATION = [
    *["errors", "lazy", "extras", "files", "reading", "arrays", "markup", "kernels"],
    *["threads", "graph", "gradcheck", "archive"],
]
STREAM = [
    *["text", "samples", "features", "network", "objectives", "metrics", "training", "pretraining", "models"],
    *["gradients", "curation", "reports", "export", "serving", "integrations", "server", "commands"],
]
# Rooms that later work will fill; named here so that each finds its place.
RESERVED: set[str] = set()
ORDER = FOUNDATION + STREAM
# `python -m postil`, the package's own page of lazy names and public names of integrations stand above the stream.
ABOVE = {"__main__", "__init__", "crfsuite", "arrow", "spacy", "ray"}


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
            "MultiTaskTagger",
            "Detector",
            "Ensemble",
            "TreeClassifier",
            "Constraints",
            "Decoding",
            "Gazetteer",
            "load",
            "from_datasets",
            "pretrain",
            "errors",
            "arrays",
            "graph",
            "gradcheck",
            "archive",
            "text",
            "features",
        ],
        *["network", "objectives", "metrics", "training", "pretraining", "models", "reports", "arrow", "spacy"],
        *["ray", "crfsuite", "curation", "compare", "crossval", "curve", "doctor", "extend", "suggest"],
    ],
    "postil.curation": [
        *["CrossValidation", "Diagnosis", "Doubt", "Extending", "Extension", "LearningCurve", "ModelComparison"],
        *["Option", "Suggestion"],
        *["compare", "crossval", "curve", "doctor", "extend", "suggest"],
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
            "Template",
        ],
        *["Trainer"],
    ],
    "postil.features": [
        *["Vocabulary", "CAPS_CLASSES", "normalise", "fold_digits", "caps_class", "shape"],
        *["UNKNOWN", "Column", "WordFeatureConfig", "WordFeatures", "distinct", "frequent_values", "WordVectors"],
        *["arrays_under", "NAMED_VECTORS", "load_vectors", "GAZETTEER_CODES", "Gazetteer", "batches_of_similar_length"],
    ],
    "postil.gradcheck": ["TOLERANCE", "Disagreement", "Entry", "Report", "Sampling", "check", "examine"],
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
    ],
    "postil.kernels": [
        *["TaggerBatch", "TaggerKernel", "TaggerShape", "tagger_kernel", "Crew", "Joined", "new_crew"],
        *["AdamKernel", "AdamUpdate", "ComingRows", "SpellingShape", "adam_kernel"],
        *["Answers", "Question", "chain_answers"],
        *["ACTIVATIONS", "IN_USE", "chain_messages", "chain_moments", "viterbi", "ranked_paths"],
        *["add_bias", "multiply_rows", "normalise_windows", "spread_windows", "sum_windows"],
        *["windows", "windows_back", "first_maxima", "normalise_rows", "normalise_rows_back"],
        *["activate", "sum_of_squares", "sums_of_occurrences", "adam_step", "adagrad_step", "settle_rows"],
        *["AdamMemory", "AdamSettings", "Noise", "Totals"],
        *["binary_shape", "TreeCells", "cells_up", "cells_down", "leaf_cells_up", "leaf_cells_down"],
        *["TokenCells", "Columns", "Words", "token_cells", "line_cells", "number_words", "write_rows"],
        *["Records", "write_records"],
        *["TokenPatterns", "ChunkCache", "TokenisedText", "tokenise_text", "SentencePatterns", "split_sentences"],
        *["character_offsets", "lower_case", "StringTable", "WordColumn", "WordRules", "word_features"],
        *["Attributes", "AttributeTokens", "PairWeights"],
        *["attribute_scores", "attribute_sums", "attribute_counts", "attribute_tokens"],
        *["padded_labels", "observed_features"],
        *["composed_phrases", "bilinear_forms", "chosen_products"],
        *["quadratic_forms", "quadratic_forms_back", "quadratic_weights", "sums_of_pairs"],
        *["RowChanges", "ShardRoom", "SkipgramChanges", "SkipgramText", "merge_rows", "skipgram_shard"],
        *["RankingChanges", "RankingLayers", "RankingRates", "RankingText", "ranking_shard"],
        *["Bigrams", "brown_merges"],
    ],
    "postil.pretraining": [
        *["pretrain", "CorpusConfig", "PretrainingConfig", "Corpus", "read_corpus", "Pretraining", "Step"],
        *["negative_sampling", "window_ranking", "save_vectors", "WordClusters", "brown_clusters", "kmeans_clusters"],
        *["Neighbour", "neighbours"],
    ],
    "postil.models": [
        *[
            "Tagger",
            "MultiTaskTagger",
            "Detector",
            "Ensemble",
            "TreeClassifier",
            "NodeLabel",
            "TreeExplanation",
            "TaggerConfig",
            "TreeConfig",
        ],
        *["PRESETS", "UNSET", "load", "Explanation", "Constraints", "Decoding"],
    ],
    "postil.reports": [
        *["Answers", "Heading", "tagger_page", "detector_page", "tree_page", "Drawn", "drawn_network"],
        *["Markup", "element", "Section", "page"],
    ],
    "postil.serving": ["Labelled", "Labeller", "Summary", "TaggingOptions", "label"],
    "postil.training": [
        *["Optimiser", "SGD", "AdaGrad", "Adam", "OPTIMISERS", "Averaged"],
        *["Schedule", "Constant", "InverseDecay", "WarmUpAndDecay", "SCHEDULES", "new_schedule"],
        *["clipping_factor", "gradient_norm"],
    ],
}


EVERY_ESTIMATOR = [
    *["KIND", "fit", "fitting", "predict", "score", "evaluate", "explain", "save", "classes_"],
    *["get_params", "set_params", "settings", "check", "config", "parts", "fitted_parts", "history_"],
]
PUBLIC_OF_ESTIMATORS = {
    "Tagger": [
        *["tag", "tag_many", "annotate", "answers", "marginals", "nbest", "probability", "predict_with_probabilities"],
        *["spans_above", "entities_above", "labelling", "decoding", "calibrate", "tune", "pretrain", "pretraining"],
    ],
    "MultiTaskTagger": [
        *["tag", "tag_many", "annotate", "answers", "marginals", "nbest", "predict_with_probabilities", "tasks"],
        *["decoding", "calibrate", "main_task"],
    ],
    "Detector": ["tag", "tag_many", "annotate", "annotate_with_scores", "decision", "threshold"],
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


def test_every_test_file_stands_where_its_source_stands():
    tests = Path(__file__).parent
    for path in tests.rglob("test_*.py"):
        folder = path.relative_to(tests).parent
        assert folder == Path() or (PACKAGE / folder).is_dir(), f"{path}: no folder {folder} in the package"


# Modules without a test file of their own: what tests them instead (a file of tests/), or why nothing does.
TESTED_ELSEWHERE = {
    "export/conformance.py": "export/test_c.py",
    "server/bodies.py": "server/test_app.py",
    "export/sections.py": "export/test_flat.py",
    "integrations/extras.py": "test_extras.py",
    "crfsuite.py": "integrations/crfsuite/test_estimator.py",
    **dict.fromkeys(("arrow.py", "spacy.py", "ray.py"), "test_lazy.py"),
    "graph/activations.py": "network/test_activations.py",
    "integrations/part_folders.py": "integrations/test_column_files.py",
    "integrations/crfsuite/metrics.py": "integrations/crfsuite/test_estimator.py",
    "integrations/crfsuite/model.py": "integrations/crfsuite/test_problem.py",
    "integrations/crfsuite/parameters.py": "integrations/crfsuite/test_tagger.py",
    "integrations/crfsuite/scorers.py": "integrations/crfsuite/test_estimator.py",
    "integrations/crfsuite/trainer.py": "integrations/crfsuite/test_tagger.py",
    "integrations/crfsuite/training_log.py": "integrations/crfsuite/test_estimator.py",
    "kernels/compiled_sparse.py": "kernels/test_sparse.py",
    "kernels/plain_sparse.py": "kernels/test_sparse.py",
    "commands/training/stopping.py": "commands/test_train.py",
    "kernels/compiled_engine.py": "models/test_engine.py",
    "models/scoring/ensemble_network.py": "models/test_ensemble.py",
    "models/answers/task_labels.py": "models/test_multi_task_tagger.py",
    "models/fitting/training_set.py": "models/fitting/test_sentences.py",
    "models/scoring/task_network.py": "models/test_multi_task_tagger.py",
    "models/task_parts.py": "models/test_multi_task_tagger.py",
    "models/trainee.py": "models/test_estimator.py",
    "commands/check.py": "commands/test_main.py",
    "commands/options/curating.py": "commands/test_doctor.py",
    "commands/terminal/diagnosis.py": "commands/test_doctor.py",
    "commands/terminal/rounds.py": "commands/test_crossval.py",
    "reports/comparison.py": "commands/test_compare.py",
    "reports/diagnosis.py": "commands/test_doctor.py",
    "commands/kinds/table.py": "commands/test_train.py",
    "commands/options/mapping.py": "commands/kinds/test_multi_tasking.py",
    "commands/options/tasks.py": "commands/kinds/test_multi_tasking.py",
    "commands/training/files.py": "commands/test_train.py",
    "serving/task_answers.py": "commands/kinds/test_multi_tasking.py",
    "commands/options/labelled.py": "commands/test_partial.py",
    "commands/options/reading.py": "commands/test_convert.py",
    "commands/tag_ray.py": "integrations/test_ray.py",
    "commands/kinds/tagging.py": "commands/test_tag.py",
    "commands/terminal/detection.py": "commands/kinds/test_detecting.py",
    "commands/terminal/explanation.py": "commands/test_explain.py",
    "commands/terminal/gradients.py": "commands/test_main.py",
    "commands/terminal/notices.py": "commands/test_score.py",
    "commands/terminal/pretraining.py": "commands/test_pretrain.py",
    "commands/terminal/score.py": "commands/test_score.py",
    "commands/terminal/training.py": "commands/test_train.py",
    "commands/terminal/tree_explanation.py": "commands/kinds/test_tree_classifying.py",
    "commands/terminal/trees.py": "commands/kinds/test_tree_classifying.py",
    "commands/terminal/tuning.py": "commands/test_tune.py",
    "features/vector_files.py": "features/test_vectors.py",
    # The rows of the gradient list are run and removed one by one in a single place.
    "gradients/layers.py": "gradients/test_checks.py",
    "gradients/objectives.py": "gradients/test_checks.py",
    "gradients/operations.py": "gradients/test_checks.py",
    "gradients/pretraining.py": "gradients/test_checks.py",
    "gradients/rows.py": "gradients/test_checks.py",
    "gradients/trees.py": "gradients/test_models.py",
    "integrations/column_answers.py": "integrations/test_arrow.py",
    "integrations/column_sources.py": "integrations/test_column_files.py",
    "kernels/build.py": "kernels/test_choice.py",
    "kernels/library.py": "kernels/test_choice.py",
    # The compiled kernels and their NumPy twins are one table of tests each, which runs both and compares them.
    "kernels/compiled.py": "kernels/test_chain.py",
    "kernels/compiled_answers.py": "kernels/test_answers.py",
    "kernels/plain_answers.py": "kernels/test_answers.py",
    "kernels/compiled_brown.py": "kernels/test_brown.py",
    "kernels/compiled_characters.py": "kernels/test_characters.py",
    "kernels/compiled_columns.py": "kernels/test_columns.py",
    "kernels/compiled_layers.py": "kernels/test_layers.py",
    "kernels/compiled_phrases.py": "kernels/test_phrases.py",
    "kernels/compiled_quadratic.py": "kernels/test_quadratic.py",
    "kernels/compiled_ranking.py": "kernels/test_ranking.py",
    "kernels/compiled_sentences.py": "kernels/test_sentences.py",
    "kernels/compiled_skipgram.py": "kernels/test_skipgram.py",
    "kernels/compiled_records.py": "kernels/test_records.py",
    "kernels/compiled_tokens.py": "kernels/test_tokens.py",
    "kernels/compiled_training.py": "kernels/test_training.py",
    "kernels/compiled_trees.py": "kernels/test_trees.py",
    "kernels/compiled_words.py": "kernels/test_words.py",
    "kernels/plain_words.py": "kernels/test_words.py",
    "kernels/compiled_windows.py": "kernels/test_windows.py",
    "kernels/forward_backward.py": "objectives/test_crf.py",
    "kernels/plain.py": "kernels/test_chain.py",
    "kernels/plain_brown.py": "kernels/test_brown.py",
    "kernels/plain_characters.py": "kernels/test_characters.py",
    "kernels/plain_columns.py": "kernels/test_columns.py",
    "kernels/plain_layers.py": "kernels/test_layers.py",
    "kernels/plain_phrases.py": "kernels/test_phrases.py",
    "kernels/plain_quadratic.py": "kernels/test_quadratic.py",
    "kernels/plain_ranking.py": "kernels/test_ranking.py",
    "kernels/plain_sentences.py": "kernels/test_sentences.py",
    "kernels/plain_skipgram.py": "kernels/test_skipgram.py",
    "kernels/plain_records.py": "kernels/test_records.py",
    "kernels/plain_tokens.py": "kernels/test_tokens.py",
    "kernels/plain_training.py": "kernels/test_training.py",
    "kernels/plain_trees.py": "kernels/test_trees.py",
    "kernels/plain_windows.py": "kernels/test_windows.py",
    "metrics/reliability.py": "models/answers/test_reliability.py",
    "models/answers/decoding.py": "models/answers/test_calibration.py",
    "models/answers/dial.py": "models/answers/test_tuning.py",
    "models/explaining/contributions.py": "models/explaining/test_explanation.py",
    "models/explaining/tree_explanation.py": "models/test_tree_classifier.py",
    "models/fitting/trees.py": "models/test_tree_classifier.py",
    "models/fitting/warm_start.py": "models/fitting/test_sentences.py",
    "models/parts.py": "models/test_storage.py",
    "models/scoring/tree_network.py": "gradients/test_fitted_trees.py",
    "models/sentence_estimator.py": "models/test_tagger.py",
    "network/tree_lstm.py": "network/test_tree.py",
    "reports/answers.py": "reports/test_reports.py",
    "reports/detector.py": "reports/test_reports.py",
    "reports/sections.py": "reports/test_reports.py",
    "reports/spans.py": "reports/test_reports.py",
    "reports/tagger.py": "reports/test_reports.py",
    "reports/tokens.py": "reports/test_reports.py",
    "reports/trees.py": "commands/kinds/test_tree_classifying.py",
    "server/assets.py": "server/test_app.py",
    "server/failures.py": "server/test_app.py",
    "server/monitoring.py": "server/test_app.py",
    "server/requests.py": "server/test_schema.py",
    "serving/constraints.py": "commands/test_tag_options.py",
    "serving/detector_answers.py": "commands/kinds/test_detecting.py",
    "serving/general_path.py": "serving/test_fast_path.py",
    "serving/labelled.py": "plain data without behaviour",
    "serving/labeller.py": "serving/test_fast_path.py",
    "serving/tagger_answers.py": "commands/test_tag_options.py",
    "serving/tree_answers.py": "commands/kinds/test_tree_classifying.py",
    "text/annotations/assembly.py": "text/annotations/test_spans.py",
    "text/trees/binarisation.py": "text/trees/test_tree.py",
    "text/columns/blocks.py": "text/bulk/test_passages.py",
    "text/trees/bracket_reader.py": "text/trees/test_treebank.py",
    "text/columns/conll_writer.py": "text/columns/test_conll.py",
    "text/columns/conllu_writer.py": "text/columns/test_conllu.py",
    "text/bulk/plain_writers.py": "serving/test_fast_path.py",
    "text/splitting/sentence_rules.py": "text/splitting/test_sentences.py",
}


def without_mirror(package: Path, tests: Path) -> list[str]:
    """The modules of a package that have no test file at the same place."""
    modules = [path.relative_to(package) for path in package.rglob("*.py") if not path.name.startswith("_")]
    return sorted(str(path) for path in modules if not (tests / path.with_name(f"test_{path.name}")).exists())


def test_every_module_has_its_tests_or_says_where_they_are():
    tests = Path(__file__).parent
    missing = without_mirror(PACKAGE, tests)
    untested = [name for name in missing if name not in TESTED_ELSEWHERE]
    assert untested == [], "write tests at the same place, or name those that cover them in TESTED_ELSEWHERE"
    stale = [name for name in TESTED_ELSEWHERE if name not in missing]
    assert stale == [], "these have tests of their own now, or are gone: take them out of TESTED_ELSEWHERE"
    files = [place for place in TESTED_ELSEWHERE.values() if place.endswith(".py")]
    assert [place for place in files if not (tests / place).exists()] == []


def test_a_module_without_tests_is_found(tmp_path):
    package, tests = tmp_path / "package", tmp_path / "tests"
    for path in ("package/text/one.py", "package/text/two.py", "package/text/__init__.py", "tests/text/test_two.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert without_mirror(package, tests) == ["text/one.py"]


def test_no_public_function_shares_its_name_with_a_module():
    """``from postil.text import tokenise`` must not mean the module at one time and the function at another."""
    for name in PUBLIC:
        module = importlib.import_module(name)
        below = {info.name for info in pkgutil.iter_modules(getattr(module, "__path__", []))}
        shared = {
            public for public in module.__all__ if public in below and not inspect.ismodule(getattr(module, public))
        }
        assert shared == set(), f"{name}: {shared}"

"""``postil evaluate``: how good a model or a file of predictions is on labelled data, and where it fails."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from postil.commands import labelled, models
from postil.commands.console import say, show_table
from postil.commands.notices import note
from postil.commands.output import present, tell_of_report
from postil.commands.parser import JSON, OVERWRITE, option, refuse
from postil.commands.reading import MAP, PARTIAL, column_argument, options_for_file, reading_arguments, reading_options
from postil.commands.roles import are_roles, compare_role_files, evaluate_roles, role_examples
from postil.errors import ConfigurationError, DataError
from postil.metrics import Counts, DetectionScores, significance, tables
from postil.metrics.evaluation import (
    RESAMPLES,
    Compared,
    FileScores,
    ModelScores,
    compare_files,
    mistakes_as_json,
    novelty_parts,
    prepare,
    score_compared,
    score_groups,
)
from postil.metrics.raw_text import RawTextScores, agreement, aligned, words_of
from postil.metrics.trees import length_table
from postil.models import Detector, MultiTaskTagger, RoleLabeller, Tagger, TreeClassifier
from postil.models.decoding.codec import LabelCodec, known_tasks
from postil.models.decoding.promise import Profile, profile_from_json
from postil.models.decoding.tuning import reliability
from postil.models.multi_task_tagger import ROLES
from postil.models.sentences import tokens_of
from postil.reading import parsed_json
from postil.tagging.options import check_columns
from postil.text import FORMATS, Tree, bracketed, read, spans_from_labels, tree_of
from postil.text.labelled import LabelledFile, check_same_tokens
from postil.text.labels import schemes
from postil.text.labels.groups import found_groups
from postil.text.lines import shortened
from postil.text.output import write_text
from postil.text.report import counted

DESCRIPTION = """\
Score a model on labelled data, or a file of predicted labels against gold labels.

Spans (names, chunks) are scored by conlleval's rules: a span is correct if its boundaries and its class are. Labels
without a scheme (parts of speech) are scored token by token. A model that detects one label is scored by the average
precision of its scores and by precision, recall and F1 of the tokens it detects. A tree classifier is scored on the
labels of the roots and on those of all nodes. Semantic roles are scored by the rules of CoNLL-2005, for the predicates
of GOLD and for those that the model finds. docs/how-to/metrics.md explains every number.

  postil evaluate ner.postil test.txt
  postil evaluate predicted.conll gold.conll                    two files with the same tokens, in any format
  postil evaluate ner.postil test.txt --json
  postil evaluate ner.postil test.txt --report report.html      one HTML page with charts and all mistakes
  postil evaluate ner.postil test.txt --train train.txt         seen and unseen entities separately
  postil evaluate ner.postil test.txt --json --mistakes > report.json     every mistake, for other programs
  postil evaluate both.postil --task names=ner.txt --task upos=pos.conllu      a multi-task model
  postil evaluate mail.postil test.jsonl            groups of classes that overlap: all together, then each
  postil evaluate both.txt both.txt --label-column -2 --predicted-column -1    both labels in one file
  postil evaluate sentiment.postil test.trees       a tree classifier
  postil evaluate roles.postil test.conll05         semantic roles
  postil evaluate ner.postil raw.txt --expected --against dev.txt     without labels: docs/how-to/expected.md
"""
SHOWN = "--json --report --overwrite --expected --against --train --task --mistakes --map --label-column --from"


_PAGE_INSTEAD = "--json: a report (--report FILE) shows them to people"
PREDICTIONS = [
    option("--predicted-column C", "predictions: column of the label, if it differs", type=column_argument),
    option("--scheme", "predictions: labelling scheme of GOLD (default: detected)", choices=schemes.SCHEMES),
    option("--predicted-scheme", "predictions: scheme of their labels (default: detected)", choices=schemes.SCHEMES),
]
OPTIONS = {
    "": [
        option("MODEL|PREDICTIONS", "model file or name, or a file of predicted labels", dest="model"),
        option("GOLD", "labelled file of any format", nargs="?", dest="data"),
        option(
            "--task NAME[=FILE][:COLUMN] …",
            "multi-task models: score this task on FILE or GOLD, with the labels of this column",
        ),
        JSON,
        option("--raw", "split GOLD's raw text with the model, and score tokens, sentences and labels (CoNLL-2018)"),
        option("--mistakes", "--json: add every mistake with its sentence (taggers)", needs=_PAGE_INSTEAD),
        option("--train FILE", "training data: score seen and unseen words and entities separately"),
        option("--expected", "GOLD has no labels: expected scores, from the model's probabilities (taggers)"),
        option(
            "--against BASE",
            "--expected: compare with the calibration data: a file, or the --json output of an earlier --expected",
            needs="--expected",
        ),
        option("--report FILE", "write an HTML page with charts and all mistakes", type=Path, writes="report"),
        OVERWRITE,
    ],
    "reading": reading_arguments(PARTIAL, MAP),
    "a file of predictions": [
        *PREDICTIONS,
        option("--strict", "reject labels that violate their scheme, and empty tokens"),
        option("--resamples N", f"bootstrap resamples (default: {2 * RESAMPLES})", least=1),
        option("--seed N", "random seed (default: 0)", least=0),
    ],
}


def run(arguments: Namespace) -> int:
    if arguments.data is None and (arguments.expected or not arguments.task):
        arguments.usage_error("the following arguments are required: GOLD")
    if not models.names_model(arguments.model):
        return compare_role_files(arguments) if are_roles(arguments) else _evaluate_predictions(arguments)
    of_predictions = ("predicted_column", "scheme", "predicted_scheme", "strict", "resamples", "seed")
    refuse(arguments, "it is for predictions in a file", *of_predictions)
    model: Any = models.open_model(arguments.model)
    if (labeller := models.role_labeller(model, arguments.task if arguments.task == [ROLES] else ())) is not None:
        return evaluate_roles(labeller, arguments)
    check_columns(model, arguments.feature_columns)
    if arguments.expected:
        return _expected(model, arguments)
    if isinstance(model, MultiTaskTagger):
        refuse(arguments, "it is a multi-task model", "mistakes")
        return _evaluate_tasks(model, arguments)
    model.by_task(arguments.task or None)  # an error: there is none to choose
    options = reading_options(arguments, model.model.segmenter)
    is_of_trees = isinstance(model, TreeClassifier)
    if is_of_trees:
        file = load_trees(arguments.data, arguments.encoding)
        if arguments.map:
            raise ConfigurationError("--map cannot be used here: it is for labels of words")
    else:
        file = _gold(arguments, options)
        labelled.resolve_labels(model, file, arguments.partial)
    models.warn_of_long_sentences(model, map(len, file.tokens))
    if arguments.raw:
        if not isinstance(model, Tagger):
            raise ConfigurationError("--raw cannot be used here: it is for taggers")
        refuse(arguments, "it is for gold tokens", "report", "mistakes", "train")
        on_raw = raw_text_scores(model, file)
        return present(arguments, on_raw, lambda: show_table(on_raw.table()))
    scores = report(model, arguments.model, file)
    if arguments.train is not None:
        if not isinstance(scores, FileScores):
            what = "a tree classifier has no separate scores for seen entities"
            what = what if is_of_trees else "a detector has no separate scores for seen and new entities"
            raise ConfigurationError(f"--train cannot be used here: {what}")
        train = labelled.load(arguments.train, **options)
        labelled.resolve_labels(model, train, arguments.partial)
        span_parts, word_parts = novelty_parts(file, scores.compared, train)
        scores = replace(scores, span_parts=span_parts, word_parts=word_parts)
    return _present(arguments, scores, file, lambda: page(model, scores, arguments.model, file))


def _gold(arguments: Namespace, options: Mapping[str, Any]) -> LabelledFile:
    """GOLD, its labels renamed as --map says."""
    file = labelled.load(arguments.data, **options)
    labelled.map_labels(file, labelled.label_maps(arguments.map, [file.path])[file.path])
    return file


def _present(arguments: Namespace, scores: Any, file: LabelledFile, page: Any) -> int:
    """With the data of --mistakes."""
    if arguments.mistakes and not isinstance(scores, FileScores):
        raise ConfigurationError("--mistakes cannot be used here: it is for taggers")
    mistakes = {"mistakes": mistakes_as_json(scores.compared, file.tokens)} if arguments.mistakes else {}
    return present(arguments, scores.to_dict() | mistakes, lambda: show(scores), page)


# ------------------------------------------------------------------------------------------------ without labels


TO_LABEL = 20
"""Sentences to label first, listed if the text is unlike the base."""


def _expected(whole: Any, arguments: Namespace) -> int:
    """Expected scores on text without labels; what differs from the base, and what to label then."""
    from postil.evaluation.expectation import expected
    from postil.quality import suggest

    refuse(arguments, "--expected needs no labels", "report", "train", "mistakes", "map", "raw")
    if len(arguments.task) > 1 or any("=" in word for word in arguments.task):
        raise ConfigurationError("--task", expected="one NAME with --expected", got=" ".join(arguments.task))
    tagger = models.one_tagger(whole, next(iter(arguments.task), None), "--expected", "needs a tagger")

    def sentences(path: str) -> list[Any]:
        with read(path, **reading_options(arguments, whole.model.segmenter)) as reading:
            return [sentence for sentence in reading if len(sentence)]

    base: Profile | None = None
    if arguments.against is not None:
        stored = stored_profile(arguments.against)
        base = stored or expected(tagger, list(map(tokens_of, sentences(arguments.against)))).profile
    texts = sentences(arguments.data)
    scores = expected(tagger, list(map(tokens_of, texts)), base)
    to_label = [] if base is None or scores.is_alike else suggest(tagger, texts, TO_LABEL)

    def show() -> None:
        say(f"{arguments.model} on {arguments.data}: {scores.sentences:,} sentences, {scores.tokens:,} tokens")
        say((scores.summary(), "bold green"))
        for table in scores.tables():
            show_table(table)
        if base is None:
            say("how far this can be trusted depends on whether the text is like dev: check with --against dev.txt")
        elif scores.is_alike:
            say(f"the text looks like {arguments.against}")
        else:
            say(f"the text is unlike {arguments.against}: label some of it, these sentences first:")
            for one in to_label:
                say(f"  {shortened(' '.join(one.sentence.tokens), 100)}")

    lines = [{"line": one.sentence.line, "index": one.index} for one in to_label]
    return present(arguments, {**scores.to_dict(), "to_label": lines}, show)


def stored_profile(path: str) -> Profile | None:
    """The profile in the JSON of an earlier --expected; None if the file is something else."""
    try:
        content = parsed_json(Path(path).read_bytes())
    except (ValueError, OSError):
        return None
    if not isinstance(content, dict) or "profile" not in content:
        return None
    return profile_from_json(content["profile"], f"profile in {path}")


# ------------------------------------------------------------------------------------------------ several tasks


def _evaluate_tasks(tagger: MultiTaskTagger, arguments: Namespace) -> int:
    """The reports of the tasks that --task names, on its files or on GOLD; each on a page with its name."""
    refuse(arguments, "save one task of the model first: tagger[task].save(FILE)", "train")
    groups = tagger.groups_
    options = reading_options(arguments, tagger.model.segmenter, groups=bool(groups))
    if groups and not arguments.task:
        files = labelled.in_groups(_gold(arguments, options), groups, arguments.partial)
    else:
        files = _files_of_tasks(tagger, arguments, options)
    reports: dict[str, Any] = {}
    pages = []
    for task, file in files.items():
        labelled.resolve_labels(tagger[task], file, arguments.partial)
        models.checked_scheme(file, tagger[task].model.codec)
        models.warn_of_long_sentences(tagger, map(len, file.tokens))
        if arguments.raw:
            refuse(arguments, "it is for gold tokens", "report")
            reports[task] = raw_text_scores(tagger[task], file)
        else:
            reports[task] = report(tagger[task], f"{arguments.model}[{task}]", file)
    for task, scores in reports.items() if arguments.report is not None else ():
        path: Path = arguments.report
        path = path.with_name(f"{path.stem}-{task}{path.suffix}") if len(reports) > 1 else path
        write_text(path, [page(tagger[task], scores, f"{arguments.model}[{task}]", files[task])])
        pages.append(path)
    together: FileScores | None = None
    if not (arguments.task or arguments.raw):
        parts = [scores.compared for scores in reports.values()]
        together = score_groups(arguments.data, arguments.model, parts, np.random.default_rng(0))
    return _present_parts(arguments, reports, together, pages)


def _files_of_tasks(
    tagger: MultiTaskTagger, arguments: Namespace, options: Mapping[str, Any]
) -> dict[str, LabelledFile]:
    sources: dict[str, list[labelled.Source]] = {}
    for word in arguments.task:
        task, equals, place = word.partition("=")
        task, colon, column = (task, "", "") if equals else word.partition(":")
        if not equals and arguments.data is None:
            raise ConfigurationError("--task", expected="must be NAME=FILE if DATA is not given", got=repr(word))
        known_tasks([task], tagger.tasks)
        source = labelled.source_of(place if equals else f"{arguments.data}{colon}{column}")
        sources.setdefault(task, []).append(source)
    if not sources:
        first = tagger.tasks[0]
        raise ConfigurationError(f"the model has several tasks: choose one with --task {first}, or --task {first}=FILE")
    maps = labelled.label_maps(arguments.map, labelled.paths_of(sources))
    files = {}
    for task in known_tasks(sources, tagger.tasks):
        file = labelled.joined([source.load(options, maps[source.path], task) for source in sources[task]])
        is_group = task in tagger.groups_
        files[task] = labelled.in_groups(file, tagger.groups_, arguments.partial)[task] if is_group else file
    return files


def _present_parts(
    arguments: Namespace, parts: Mapping[str, Any], together: FileScores | None, pages: Iterable[Path] = ()
) -> int:
    """The scores of tasks; of groups of classes, before them those of all groups together."""

    def show_all() -> None:
        every = {"all groups": together, **parts} if together is not None else parts
        for number, (name, scores) in enumerate(every.items()):
            print(f"{'' if number == 0 else chr(10)}{name}: ", end="", flush=True)
            show_table(scores.table()) if arguments.raw else show(scores)
        for path in pages:
            tell_of_report(path)

    content = {name: scores.to_dict() for name, scores in parts.items()}
    return present(arguments, content if together is None else together.to_dict() | {"groups": content}, show_all)


# ------------------------------------------------------------------------------------------------ predictions in a file


def _evaluate_predictions(arguments: Namespace) -> int:
    refuse(arguments, "it is for multi-task models", "task")
    if [arguments.model, arguments.data, arguments.train].count("-") > 1:
        raise ConfigurationError("standard input can be read only once", expected="at most one file named -")
    options = {**options_for_file(arguments, arguments.data, groups=True), "strict": arguments.strict}
    gold, predicted = labelled.load(arguments.data, **options), load_predictions(arguments.model, arguments, options)
    maps = labelled.label_maps(arguments.map, [gold.path, predicted.path])
    for file in (gold, predicted):
        labelled.map_labels(file, maps[file.path])
    rng, resamples = partial(np.random.default_rng, arguments.seed or 0), arguments.resamples or 2 * RESAMPLES
    if labelled.has_overlaps(gold, predicted):  # spans of different classes: in groups, found in both files
        refuse(arguments, "spans overlap", "report", "train", "mistakes")
        check_same_tokens(gold, predicted)
        files = [gold, predicted]
        groups = found_groups(one for file in files for one in labelled.annotations_of(file, arguments.partial))
        sides = [labelled.in_groups(file, groups, arguments.partial) for file in files]
        parts = {name: compared_predictions(sides[0][name], sides[1][name], arguments) for name in groups}
        reports = {
            name: score_compared(gold.path, predicted.path, part, rng(), resamples) for name, part in parts.items()
        }
        together = score_groups(gold.path, predicted.path, list(parts.values()), rng(), resamples)
        return _present_parts(arguments, reports, together)
    compared = compared_predictions(gold, predicted, arguments)
    broken = {
        "gold": _broken(gold, compared.scheme, arguments.strict),
        "predicted": _broken(predicted, compared.predicted_scheme, arguments.strict),
    }
    train = labelled.load(arguments.train, **options) if arguments.train else None
    span_parts, word_parts = novelty_parts(gold, compared, train) if train is not None else ({}, {})
    novelty = {"span_parts": span_parts, "word_parts": word_parts}
    scores = score_compared(gold.path, predicted.path, compared, rng(), resamples, broken=broken, **novelty)

    def page() -> str:
        from postil.reports.data import predictions_page

        return predictions_page(scores, gold)

    return _present(arguments, scores, gold, page)


def load_predictions(path: str, arguments: Namespace, options: Mapping[str, Any]) -> LabelledFile:
    column = {} if arguments.predicted_column is None else {"label": arguments.predicted_column}
    return labelled.load(path, **{**options, **column})


def compared_predictions(gold: LabelledFile, predicted: LabelledFile, arguments: Namespace) -> Compared:
    check_same_tokens(gold, predicted)
    answers = {label for labels in predicted.labels for label in labels}
    labelled.resolve_partial_labels([gold], arguments.partial, known=answers)
    return compare_files(gold, predicted, arguments.scheme or "", arguments.predicted_scheme or "")


def _broken(file: LabelledFile, scheme: str, strict: bool) -> int:
    """How many labels violate their scheme; reported in one line, or an error."""
    report = schemes.inspect(file.labels, scheme)
    if report.first is not None:
        what = schemes.summarise(report, f"on {file.place(*report.first)}")
        if strict:
            raise DataError(what, expected=f"valid {scheme.upper()} labels", where=file.path)
        note(f"{file.path}: {what}; read by conlleval's rules")
    return report.broken


# ------------------------------------------------------------------------------------------------ a model on a file


def load_trees(path: str, encoding: str | None = None) -> LabelledFile:
    """Read a whole file of trees."""
    with read(path, encoding=encoding) as reading:
        if reading.format != "trees":
            expected = "bracketed trees: (LABEL (LABEL word) …)"
            got = f"what looks like {FORMATS[reading.format].title}"
            raise DataError("not a file of trees", expected=expected, got=got, where=path)
        return LabelledFile(reading.name, reading.format, list(reading))


def trees_of(file: LabelledFile) -> list[Tree]:
    return [tree_of(sentence) for sentence in file.sentences]


def examples_of(model: Any, file: LabelledFile) -> tuple[Any, Any]:
    """The sentences or trees of a file and their labels, as the model takes them."""
    if isinstance(model, TreeClassifier):
        return trees_of(file), None
    return role_examples(file) if isinstance(model, RoleLabeller) else labelled.examples(file)


def report(model: Any, name: str, file: LabelledFile) -> FileScores | ModelScores:
    """Scores of a model on a file, with a confidence interval and the reliability of its probabilities."""
    if isinstance(model, TreeClassifier):
        trees = trees_of(file)
        if not any(label is not None for tree in trees for label in tree.labels):
            expected = "trees such as (3 (2 good) (2 film))"
            raise DataError("no labels", expected=expected, got=shortened(bracketed(trees[0])), where=file.path)
        scores = model.evaluate(trees)
        counts = scores.root_counts if scores.roots.tokens else scores.node_counts
        rng = np.random.default_rng(0)
        interval = significance.bootstrap_interval(counts, significance.accuracy, rng=rng, resamples=RESAMPLES)
        return ModelScores(name, file.path, scores, interval)
    codec = model.model.codec
    if isinstance(model, Detector):
        classes = LabelCodec.of(file.labels).classes
        if codec.label not in classes:
            what = f"the model detects {codec.label}, which does not occur in this file"
            note(f"{file.path}: {what}: {', '.join(classes[:20])}")
        return ModelScores(name, file.path, model.evaluate(*labelled.examples(file)))
    gold_scheme = models.checked_scheme(file, codec)
    classes = LabelCodec.of(file.labels).classes if codec.has_spans else ()
    if unknown := [name for name in classes if name not in codec.classes]:
        what = "none of the classes" if len(unknown) == len(classes) else f"nothing of {models.listed(unknown)}"
        both = f"the file has {models.listed(classes)}; the model has {models.listed(codec.classes)}"
        note(f"{file.path}: the model can find {what} in this file: {both}")
    X = models.inputs_of(file)
    compared = prepare(file.labels, model.predict(X), gold_scheme, codec.scheme)
    calibration = reliability(model.model, X, file.labels)
    return score_compared(file.path, name, compared, np.random.default_rng(0), reliability=calibration)


def raw_text_scores(model: Tagger, file: LabelledFile) -> RawTextScores:
    """Cut and label the raw text of a file, document by document, and compare with its tokens and labels."""
    from postil.models.segmentation import texts_of, token_places

    gold = texts_of(file.sentences, None)
    if not gold:
        expected = "sentences with their raw text (# text in CoNLL-U)"
        raise DataError("--raw: no raw text", expected=expected, got="none", where=file.path)
    codec = model.model.codec
    documents = model.tag_many([text.text for text in gold])
    tokens, of_words, sentences, on_labels = (Counts() for _ in range(4))
    scheme = models.checked_scheme(file, codec)
    for text, document in zip(gold, documents, strict=True):
        cut = document.sentences
        places = [place for one in cut for place in zip(one.starts or (), one.ends or (), strict=True)]
        forms = [form for one in cut for form in one.tokens]
        parts = [is_part for one in cut for is_part in one.joined or [False] * len(one)]
        wanted, answered = (list(chain.from_iterable(x)) for x in (text.labels, (one.labels or () for one in cut)))
        tokens += agreement(text.tokens, token_places(places, parts))
        sentences += agreement(
            text.sentences, [(one.starts[0], one.ends[-1]) for one in cut if one.starts and one.ends]
        )
        pairs = aligned(words_of(text.words, text.forms, text.joined), words_of(places, forms, parts))
        of_words += Counts(len(pairs), len(forms), len(text.forms))
        if codec.has_spans:
            entities = []
            for (first, _), labels in zip(text.ranges, text.labels, strict=True):
                for span in spans_from_labels(labels, scheme):
                    start, end = text.words[first + span.start][0], text.words[first + span.end - 1][1]
                    entities.append((start, end, span.label))
            on_labels += agreement(entities, [(one.start, one.end, one.label) for one in document.entities])
        else:
            right = sum(wanted[g] == answered[p] for g, p in pairs)
            on_labels += Counts(right, len(answered), len(wanted))
    kind = "entities" if codec.has_spans else "labels"
    return RawTextScores(tokens=tokens, words=of_words, sentences=sentences, labels=on_labels, kind=kind)


def page(model: Any, scores: Any, name: str, file: LabelledFile) -> str:
    """The scores with their details as an HTML page."""
    from postil.reports import Answers, Drawn, Heading, detector_page, tagger_page, tree_page

    heading = Heading.of(model, model_name=name, data_name=file.path)
    if isinstance(model, Detector):
        return detector_page(heading, model, file.sentences, place=file.place)
    if isinstance(model, TreeClassifier):
        trees = model.trees(trees_of(file))
        drawn = [
            Drawn(
                tree.with_labels([node.label for node in nodes]),
                tree.labels,
                max(nodes[-1].probabilities.values()),
                f"line {sentence.line}",
            )
            for tree, nodes, sentence in zip(trees, model.predict_nodes(trees), file.sentences, strict=True)
        ]
        return tree_page(heading, scores.scores, scores.interval, drawn)
    measured = scores.reliability
    return tagger_page(
        heading,
        Answers.of(model, file.sentences, scores.compared, file.place),
        interval=scores.interval,
        before=measured.before if measured is not None and measured.is_calibrated else None,
        span_novelty=scores.span_parts,
        word_novelty=scores.word_parts,
    )


# ------------------------------------------------------------------------------------------------ on a terminal


def show(scores: Any) -> None:
    """The score first, then its details, then its uncertainty."""
    if isinstance(scores, FileScores):
        _show_file_scores(scores)
        return
    found, interval = scores.scores, scores.interval
    say(f"{scores.model} against {scores.data}")
    if isinstance(found, DetectionScores):
        size = f"{counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}"
        say(f"{size}, {found.counts.gold:,} of them {found.label}\n")
        say(found.summary(), style="bold green")
        above = f"tokens with a score above {found.threshold:.4f} are detected"
        say(f"token accuracy {100 * found.accuracy:.2f}; {above}")
        return
    say(f"{found.size()}\n")
    say(found.summary(), style="bold green")
    say(f"{'root' if found.roots.tokens else 'node'} accuracy: {interval}")
    for name, part, calibration in (
        ("Roots", found.roots, found.root_calibration),
        ("All nodes", found.nodes, found.node_calibration),
    ):
        if part.tokens:
            show_table(tables.label_table(part.by_label(), title=name, column="label"))
            show_table(tables.confusion_table(part, f"{name}: confusion"))
            table = tables.calibration_table(calibration)
            show_table(table._replace(title=f"{name}: {table.title.lower()}"))
    show_table(length_table(found))


def _show_file_scores(scores: FileScores) -> None:
    evaluation = scores.evaluation
    spans, tokens = evaluation.spans, evaluation.tokens
    say(f"{scores.predicted} against {scores.gold}")
    gold, predicted = evaluation.scheme, scores.compared.predicted_scheme
    labels = "labels without a scheme" if gold == "none" else f"{gold.upper()} labels"
    labels += f" (predictions: {predicted.upper()})" if gold != "none" and predicted != gold else ""
    say(f"{counted(evaluation.sentences, 'sentence')}, {counted(tokens.tokens, 'token')}, {labels}")
    if any(left_out := evaluation.left_out):
        of_spans = f"{left_out.gold_entities:,} gold and {left_out.predicted_entities:,} predicted entities"
        of_spans = f", {of_spans} that depend on them" if any(left_out[1:]) else ""
        say(f"not scored: {left_out.tokens:,} tokens whose gold label is unknown{of_spans}")
    accuracy, interval = f"token accuracy {100 * tokens.accuracy:.2f}", f"   {scores.interval}"
    if spans is None:
        say("\n", (accuracy, "bold green"), interval)
        show_table(tables.label_table(tokens.by_label(), title="Labels", column="label"))
        if tokens.mistakes():
            show_table(tables.mistakes_table(tokens.mistakes(), "Confused most often"))
    else:
        counts = spans.overall
        say("\n", (f"F1 {100 * counts.f1:.2f}", "bold green"), interval)
        say(f"precision {100 * counts.precision:.2f}   recall {100 * counts.recall:.2f}   {accuracy}")
        show_table(tables.label_table(spans.by_label(), counts))
        if scores.span_parts:
            show_table(tables.span_novelty_table(scores.span_parts))
        show_table(tables.errors_table(spans, scores.span_parts))
        show_table(tables.confusion_table(spans))
        show_table(tables.matching_table(spans))
    if scores.word_parts:
        show_table(tables.token_novelty_table(scores.word_parts))
    if (measured := scores.reliability) is not None:  # predicted probabilities against observed frequencies
        title = f"Reliability of the probabilities of {'labels' if spans is None else 'entities'}"
        before, after = map(tables.calibration_table, (measured.before, measured.after))
        if not measured.is_calibrated:
            show_table(after._replace(title=f"{title} (not calibrated: trained without --dev)"))
            return
        fitted = f"temperature {measured.temperature:.3f}, shift {measured.shift:+.3f}"
        show_table(before._replace(title=f"{title}, before calibration"))
        show_table(after._replace(title=f"{title}, after calibration on dev ({fitted})"))

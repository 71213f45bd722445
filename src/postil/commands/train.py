"""``postil train``: labelled files in, a model file out."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from postil.commands import teaching
from postil.commands.console import say
from postil.commands.evaluate import examples_of, load_trees, trees_of
from postil.commands.fitting import Display, follow
from postil.commands.labelled import LoadedTask, Source, Sources, examples, joined, task_sources
from postil.commands.models import open_model, warn_of_long_sentences
from postil.commands.notices import note
from postil.commands.output import checkpoint_of, tell_of_report
from postil.commands.parser import OVERWRITE, SEED, option, refuse
from postil.commands.reading import (
    CHARACTERS,
    MAP,
    PARTIAL,
    is_raw_text,
    reading_arguments,
    reading_options,
    rules_for_file,
)
from postil.commands.roles import load_roles, tagger_named
from postil.errors import ConfigurationError, DataError
from postil.metrics.calibration import ReliabilityCurve
from postil.metrics.spans import SpanScores
from postil.models import Detector, MultiTaskTagger, RoleLabeller, Tagger, TreeClassifier
from postil.models.config import ARCHITECTURE, EPOCHS, PRESETS, TaggerConfig, TreeConfig, configured, parsed_setting
from postil.models.decoding.codec import known_tasks
from postil.models.decoding.tuning import reliability
from postil.models.estimator import Estimator
from postil.models.model import INPUT, is_encoder
from postil.models.networks.network import MAIN
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.settings import parsed, spelt
from postil.reports import Heading
from postil.reports.data import RunReport, training_page
from postil.text import Segmenter, bracketed
from postil.text.formats import format_of
from postil.text.labelled import LabelledFile
from postil.text.labels.groups import Groups
from postil.text.languages import language_of_file, rules_for
from postil.text.lines import shortened
from postil.text.output import write_text
from postil.text.splitting.segmenter import CHARACTERS as SINGLE
from postil.text.splitting.segmenter import ENGLISH, are_characters
from postil.text.trees.chunks import CHUNKS

DESCRIPTION = """\
Train a tagger, a detector of one label or a tree classifier on a labelled file, and write it to a single model file.

Files may be CoNLL columns, CoNLL-U, JSON Lines with spans or bracketed trees, optionally compressed with gzip. Formats
and labelling schemes are detected. With --dev, the epoch with the best score on that file is kept; without it, the full
schedule is run.

  postil train train.txt --dev dev.txt -o ner.postil
  postil train train.txt --dev dev.txt --test test.txt --preset accurate --vectors glove-50d -o ner.postil
  postil train train.conllu --label-column upos -o pos.postil          also learns to split raw text
  postil train ner.iob2 --segmenter treebank.conllu -o ner.postil      learns that from another file
  postil train chunks.txt --feature-columns 1 -o chunks.postil         use the second column as a feature
  postil train train.txt --dev dev.txt --preset margin --label LOC -o loc.postil     detect one label only
  postil train train.txt --dev dev.txt --set hidden=200 --set epochs=15 -o ner.postil
  postil train train.txt --dev dev.txt --minutes 2 -o ner.postil       with a time budget
  postil train train.txt --dev dev.txt --report training.html -o ner.postil
  postil train train.txt --dev dev.txt --resume -o ner.postil          continue after an interruption
  postil train persons.txt places.txt --annotates persons.txt=PER --annotates places.txt=LOC -o ner.postil
  postil train more.txt --warm-start ner.postil -o ner2.postil         continue with other data and new labels
  postil train mine.txt --warm-start english -o mine.postil            words and encoder of the English model
  postil train train.txt --dev dev.txt --vectors glove-50d --clusters brown -o ner.postil
  postil train --task names=ner.txt --task upos=pos.txt:1 --dev names=dev.txt -o both.postil     several tasks
  postil train mail.jsonl --group address=ADDRESS --group parts=STREET,CITY -o mail.postil       spans that overlap
  postil train --task upos=pos.conllu --warm-start ner.postil --freeze-encoder -o both.postil    one more task
  postil train train.txt --map train.txt=politician:PER,band:ORG -o ner.postil
  postil train train.txt --dev dev.txt --unlabelled raw.txt -o ner.postil    self-training on raw text
  postil train --rules rules.toml --unlabelled raw.txt -o ner.postil   lists and patterns instead of labels
  postil train train.trees --dev dev.trees -o sentiment.postil         a tree classifier of sentences and phrases
  postil train train.trees --dev dev.trees --set composition=tensor --set loss=root -o sentiment.postil
  postil train train.ptb --dev dev.ptb --preset fast -o pos.postil     a tagger, from the labels of the words in trees
  postil train train.conll05 --roles --vectors glove-50d -o roles.postil     semantic roles of every predicate
  postil train train.conll05 --roles --tagger english -o roles.postil        with tags by the English model
  postil train train.ptb --dev dev.ptb --label-column chunks -o chunks.postil     a tagger of the chunks of trees
"""
SHOWN = (
    "-o --dev --preset --set --vectors --unlabelled --rules --task --warm-start --threads --minutes --resume "
    "--overwrite"
)
OPTIONS = {
    "": [
        option("TRAIN", "labelled files to train on", nargs="*"),
        option("--task NAME=FILE[:COLUMN] …", "labelled file (and label column) for task NAME; replaces TRAIN"),
        option(
            "--group NAME=CLASS,CLASS …",
            "classes that do not overlap each other, but may overlap those of other groups (default: found "
            "if spans overlap)",
        ),
        option("--dev [NAME=]FILE …", "held-out file (of a task): keep the epoch with the best score on it"),
        option("--test [NAME=]FILE …", "another held-out file (of a task) to score at the end"),
        option("-o --output MODEL", "model file to write", type=Path, required=True, writes="model"),
        option("--preset NAME", "kind of model: see `postil info --presets` (default: fast)", choices=list(PRESETS)),
        option("--label NAME", "--preset margin: the label to detect"),
        option("--roles", "TRAIN has semantic roles in CoNLL-2005 columns: learn predicates and their roles"),
        option(
            "--tagger MODEL[:TASK]",
            "a tagger, such as english, whose labels are a column of the words; it is stored in the role model (of "
            "several tasks: TASK, by default the one of Penn tags)",
            needs="--roles",
        ),
        option(
            "--set NAME=VALUE …",
            "change one setting: such as epochs=15 or ensemble=3; see `postil info --presets NAME`",
            dest="settings",
        ),
        option("--vectors FILE …", "word vectors: a GloVe, word2vec or fastText file, or glove-50d"),
        option("--clusters FILE", "word clusters: a file of paths and words, or brown (an installed package)"),
        option("--pretrained FILE", "file of `postil pretrain`: vectors and clusters, or vectors and encoder"),
        option("--gazetteer FILE …", "names of a class, one per line; or names, places (installed packages)"),
        *teaching.OPTIONS,
        option(
            "--rules FILE",
            "rules that vote on the raw text of --unlabelled, instead of labels or in addition to TRAIN: see "
            "`postil rules --help`",
            type=Path,
        ),
        option(
            "--segmenter HOW",
            "how raw text, also texts with spans in TRAIN, is split into tokens and sentences: rules (for English, or "
            "for any language), learned (from TRAIN's raw text: # text in CoNLL-U), characters, or a FILE: a treebank "
            "to learn from, or a model to copy it from (default: learned if TRAIN shows how, otherwise rules)",
        ),
        SEED,
        teaching.THREADS,
        option("--minutes M", "time budget in minutes", type=float),
        option("--resume", "continue from MODEL.checkpoint"),
        option("--warm-start MODEL", "start from the weights and the preset of this model"),
        option(
            "--freeze-encoder", "--task with --warm-start: train only the given task heads; leave the others unchanged"
        ),
        option("--log FILE", "append one line of JSON per epoch to this file", type=Path, writes="log"),
        option("--report FILE", "write an HTML page about the training run", type=Path, writes="report"),
        OVERWRITE,
    ],
    "reading": reading_arguments(
        PARTIAL,
        MAP,
        option(
            "--annotates [FILE=]C,C …",
            "the only classes that TRAIN (or this FILE) annotates: O may hide any other class",
        ),
    ),
}


def run(arguments: Namespace) -> int:
    _prepare(arguments)
    if arguments.roles:
        return _train_roles(arguments)
    if arguments.rules is not None:
        return _train_on_rules(arguments)
    if arguments.task:
        refuse(arguments, "--task has the labels of each task in its own files", "group")
    if not arguments.task and _learns_from_trees(arguments):
        return _train_trees(arguments)
    return _train_taggers(arguments)


def _prepare(arguments: Namespace) -> None:
    """Find the files of each task, and split a pretrained file into its parts.

    A file of vectors and clusters is treated as one of each. An encoder stays one: its preset and its architecture are
    the defaults.
    """
    from postil.features.lexicon import with_pretrained
    from postil.features.vectors import holds_model

    given = arguments
    vectors, clusters = with_pretrained(given.vectors, given.clusters, given.pretrained)
    encoder = given.pretrained if given.pretrained is not None and holds_model(given.pretrained) else None
    if encoder is not None:
        known: Any = open_model(encoder, for_training=True)
        if is_encoder(known.model) and given.preset in (None, known.preset):  # other models raise an error later
            shape = _of_architecture(known).items()
            given.settings = [f"{name}={spelt(TaggerConfig, name, value)}" for name, value in shape] + given.settings
            given.preset = known.preset
    given.sources = _sources(given)
    given.common = {name: getattr(given, name) for name in ("seed", "threads", "minutes")}
    given.common["vectors"] = vectors or None
    given.parameters = {"clusters": clusters, "gazetteers": given.gazetteer, "pretrained": encoder, **given.common}
    given.checkpoint = checkpoint_of(given.output)


def _of_architecture(known: Any) -> dict[str, Any]:
    return {name: value for name, value in known.settings.items() if name in ARCHITECTURE}


def _preset_and_settings(
    arguments: Namespace, known: Any, inherited: Mapping[str, Any] | None = None, usual: str = "fast"
) -> tuple[str, dict[str, Any]]:
    """The preset and the settings of the ``known`` model, all or those ``inherited``, are defaults."""
    settings = dict(map(parsed_setting, arguments.settings))
    if known is not None and arguments.preset in (None, known.preset):
        return known.preset, {**(known.settings if inherited is None else inherited), **settings}
    return arguments.preset or usual, settings


def _sources(arguments: Namespace) -> Sources:
    """The files of each task; without --task the only task is called main."""
    if bool(arguments.train) == bool(arguments.task) and (arguments.task or arguments.rules is None):
        arguments.usage_error("TRAIN and --task exclude each other" if arguments.task else "TRAIN or --task is needed")
    if arguments.task:
        sources = {"train": task_sources(arguments.task, "--task")}
        for name in ("dev", "test"):
            sources[name] = task_sources(getattr(arguments, name), f"--{name}")
            for task in sources[name] if not arguments.warm_start else ():
                if task not in sources["train"]:
                    expected = f"must name one of the tasks {', '.join(sources['train'])}"
                    raise ConfigurationError(f"--{name}", expected=expected, got=repr(task))
        return sources
    for name in ("dev", "test"):
        if len(files := getattr(arguments, name)) > 1:
            raise ConfigurationError(f"--{name}", expected="must be one file without --task", got=", ".join(files))
    given = {name: [Source(path) for path in getattr(arguments, name)] for name in ("train", "dev", "test")}
    return {name: {MAIN: files} if files else {} for name, files in given.items()}


# ------------------------------------------------------------------------------------------------ training


HeldOut = dict[str, dict[str, LabelledFile]]
"""The files of dev and test, of those that are given, by task."""


def train(arguments: Namespace, model: Estimator, fitting: Any, held_out: HeldOut) -> int:
    """Train, then ``finish``."""
    shown = Display(fitting, arguments.log)
    return follow(fitting, shown) or finish(arguments, model, fitting, held_out, shown)


def finish(arguments: Namespace, model: Estimator, fitting: Any, held_out: HeldOut, shown: Display) -> int:
    """Score a trained model, write it, show how good it is."""
    heads = {MAIN: model} if isinstance(model, RoleLabeller) else model.by_task()
    scores: dict[str, dict[str, Any]] = {
        name: {task: heads[task].evaluate(*examples_of(heads[task], file)) for task, file in files.items()}
        for name, files in held_out.items()
    }
    headlines, about = {}, {}
    for name, by_task in scores.items():
        if isinstance(model, MultiTaskTagger):
            headlines[name] = "; ".join(f"{task}: {one.summary()}" for task, one in by_task.items())
            if model.groups_:
                spans = sum((one.spans for one in by_task.values()), SpanScores())
                together = replace(next(iter(by_task.values())), spans=spans)
                headlines[name] = f"{together.summary()}; {headlines[name]}"
            about[name] = {task: one.to_dict() for task, one in by_task.items()}
        else:
            headlines[name], about[name] = by_task[MAIN].summary(), by_task[MAIN].to_dict()
    fitting.model.about["scores"] = about
    model.save(arguments.output)
    fitting.checkpoint.unlink(missing_ok=True)
    for name in ("teacher", "encoder0", "encoder1", f"{teaching.ROUND}1"):  # encoders of the student and of its teacher
        teaching.beside(arguments, name).unlink(missing_ok=True)
    # By the mean over tasks, epochs are compared; detectors have no such score.
    on_dev = [one.main_score for one in scores.get("dev", {}).values() if hasattr(one, "main_score")]
    on_dev = on_dev if MAIN in fitting.model.heads or isinstance(model, MultiTaskTagger) else []
    shown.summary(arguments.output, headlines, sum(on_dev) / len(on_dev) if on_dev else None)
    if arguments.report is None:
        return 0
    scored: dict[str, Any] = {}
    calibrations: dict[str, ReliabilityCurve] = {}
    for name, files in held_out.items():
        for task, file in files.items():
            title, head = f"{name}, {task}" if isinstance(model, MultiTaskTagger) else name, heads[task]
            scored[title] = scores[name][task]
            if isinstance(head, Tagger):
                calibrations[title] = reliability(head.model, *examples(file))
    progress = fitting.training.progress
    run = RunReport(history=progress.history, seconds=progress.seconds, scores=scored, reliability=calibrations)
    data_name = ", ".join(map(str, [*arguments.train, *arguments.task]))
    heading = Heading.of(model, model_name=str(arguments.output), data_name=data_name)
    write_text(arguments.report, [training_page(heading, model, run)])
    tell_of_report(arguments.report)
    return 0


# ------------------------------------------------------------------------------------------------ taggers and detectors


def _train_taggers(arguments: Namespace) -> int:
    """Train a tagger or a detector; or a model of several tasks, or of groups of classes that overlap."""
    sources, groups = arguments.sources, None
    has_several = bool(arguments.task) and (len(sources["train"]) > 1 or bool(arguments.warm_start))
    if has_several:
        known = _known(arguments, "a tagger", Tagger, MultiTaskTagger)
        model: Any = _several(arguments, known)
    else:
        refuse(arguments, "it is for --task with --warm-start", "freeze_encoder")
        known = _known(arguments, "a tagger or a detector", SentenceEstimator, MultiTaskTagger)
        model = _estimator(arguments, known)
    cut_by = reading_segmenter(arguments, known)
    options = reading_options(arguments, cut_by, groups=not arguments.task)
    codecs = {task: head.codec for task, head in known.model.heads.items()} if has_several and known else {}
    tasks = list(dict.fromkeys([*codecs, *sources["train"]]))
    known_tasks([*tasks, *sources["dev"], *sources["test"]], tasks)
    loaded = {task: LoadedTask.load(sources, task, options, arguments) for task in tasks}
    different = list(loaded.values())  # groups have the same sentences
    if not arguments.task and (groups := different[0].groups(arguments)):
        refuse(arguments, "groups of classes always start from scratch", "warm_start")
        refuse(arguments, "all classes of a group are learned from every file", "annotates")
        listed = "; ".join(f"{name} ({', '.join(classes)})" for name, classes in groups.items())
        note(f"classes in groups, as spans of different groups may overlap: {listed}")
        model, loaded = _several(arguments, None, groups), different[0].by_group(groups, arguments)
    elif not has_several:
        loaded = {MAIN: different[0]}
        if different[0].train[0].format == "trees" and not (_means_tagger(arguments) or known):
            raise ConfigurationError(  # a pipe cannot be looked into before it is read
                "trees from a pipe",
                expected="--set composition=tree-lstm for a tree classifier, or --preset for a tagger of words",
            )
    for task, files in loaded.items():
        files.check(arguments, codecs.get(task))
    different = list(loaded.values())[: 1 if groups else None]
    train_files = [file for files in different for file in files.train]
    every = [*train_files, *(file for files in different for file in files.held_out.values())]
    warn_of_long_sentences(model, map(len, file_tokens(every)))
    choose_segmenter(model, arguments, known, train_files, cut_by)
    held_out = {
        name: {task: files.held_out[name] for task, files in loaded.items() if name in files.held_out}
        for name in ("dev", "test")
    }
    data = {task: examples(*files.train) for task, files in loaded.items() if files.train}
    dev = {task: examples(file) for task, file in held_out["dev"].items()}
    common = {"checkpoint": arguments.checkpoint, "warm_start": known, "partial": arguments.partial}
    if isinstance(model, MultiTaskTagger):
        X = {task: part for task, (part, _) in data.items()}
        segmenter = teaching.segmenter_of(model, list(chain.from_iterable(X.values())))
        common |= teaching.task_lesson(arguments, list(data), segmenter)
        common |= {"freeze_encoder": arguments.freeze_encoder, "resume": arguments.resume}
        fitting = model.fitting(X, {task: y for task, (_, y) in data.items()}, dev, **common)
    else:
        of_one = (*data[MAIN], dev.get(MAIN))
        common |= teaching.lesson(arguments, model, of_one)
        # A training run that was interrupted while its teacher learned has no checkpoint.
        resume = arguments.resume and (arguments.checkpoint.exists() or not arguments.unlabelled)
        fitting = model.fitting(*of_one, resume=resume, **common)
    if options["segmenter"].characters or arguments.segmenter == CHARACTERS:
        fitting.model.about[INPUT] = CHARACTERS
    note_language(fitting, train_files)
    return train(arguments, model, fitting, {name: files for name, files in held_out.items() if files})


def _several(arguments: Namespace, known: Any, groups: Groups | None = None) -> MultiTaskTagger:
    refuse(arguments, _LEARNS_ALL, "label")
    preset, settings = _preset_and_settings(arguments, known)
    model = MultiTaskTagger(preset=preset, groups=groups, **{**arguments.parameters, **settings})
    model.check()
    return model


def note_language(fitting: Any, train: Sequence[LabelledFile]) -> None:
    """The language that the names of the training files tell, as those of Universal Dependencies do."""
    languages = {language_of_file(Path(file.path).name) for file in train}
    if len(languages) == 1 and (language := languages.pop()) is not None:
        fitting.model.about["language"] = language


def reading_segmenter(arguments: Namespace, known: Any) -> Segmenter:
    """What cuts raw texts with spans: that of --segmenter or of the model, or rules for their language."""
    chosen, source = arguments.segmenter, next(iter(arguments.sources["train"].values()))[0]
    if chosen == CHARACTERS:
        return SINGLE
    if chosen not in (None, "rules", "learned"):
        return teaching.named_segmenter(chosen, arguments.seed, arguments.threads)
    if known is None and arguments.source_format != CHARACTERS:
        return rules_for_file(source.path, **reading_options(arguments))
    segmentation: Segmenter | None = None if known is None else known.model.segmentation
    return segmentation or ENGLISH


def choose_segmenter(
    model: Any, arguments: Namespace, known: Any, train: Sequence[LabelledFile], cut_by: Segmenter
) -> None:
    """Set the segmenter as --segmenter or the files ask for; ``cut_by``: what has cut the raw texts."""
    from postil.models.segmentation import FEWEST, texts_of

    chosen, every = arguments.segmenter, [sentence for file in train for sentence in file.sentences]
    sentences = [sentence for sentence in every if not is_raw_text(sentence)]  # which teach how to cut
    if len(sentences) < len(every):
        how = {ENGLISH: "English rules", SINGLE: "characters"}.get(
            cut_by, "rules for any language" if cut_by.has_rules else "a learned segmenter"
        )
        note(f"the texts are split into tokens by {how} (--segmenter changes that)")
    if chosen is None:
        is_known = known is not None or arguments.source_format == CHARACTERS or are_characters(file_tokens(train))
        if is_known or sum(len(text.ranges) for text in texts_of(sentences)) < FEWEST:
            if known is None and len(sentences) < len(every) and cut_by != ENGLISH and not cut_by.characters:
                model.segmenter = cut_by
            return
    if chosen in (None, "learned"):
        model.segmenter = teaching.learned_segmenter(sentences, arguments.seed, arguments.threads)
    elif chosen == CHARACTERS:
        model.segmenter = None
    elif chosen == "rules" and sentences:
        model.segmenter = rules_for(Counter(chain.from_iterable(file_tokens(train))))
    else:
        model.segmenter = cut_by


def file_tokens(files: Sequence[LabelledFile]) -> Iterator[list[str]]:
    return (tokens for file in files for tokens in file.tokens)


def _known(arguments: Namespace, expected: str, *kinds: Any) -> Any:
    """The model to start from, of one of these kinds."""
    known: Any = open_model(arguments.warm_start, for_training=True) if arguments.warm_start else None
    if known is not None and not isinstance(known, kinds):
        raise ConfigurationError("--warm-start", expected=expected, got=f"a {known.KIND}")
    return known


def _estimator(arguments: Namespace, known: Any) -> SentenceEstimator:
    """The tagger or detector; of several tasks, it inherits only what their words and encoder depend on."""
    has_tasks = known is not None and not isinstance(known, SentenceEstimator)
    preset, settings = _preset_and_settings(arguments, known, _of_architecture(known) if has_tasks else None)
    parameters = {"preset": preset, **arguments.parameters, **settings}
    model: SentenceEstimator
    if configured(preset, settings).objective == "margin":
        label = arguments.label
        if known is not None and arguments.preset in (None, known.preset):
            label = label or known.get_params().get("label")
        if not label:
            raise ConfigurationError("--preset margin", expected="needs the label to detect, such as --label LOC")
        model = Detector(label=label, **parameters)
    else:
        refuse(arguments, _LEARNS_ALL, "label")
        model = Tagger(**parameters)
    model.check()
    return model


def _train_on_rules(arguments: Namespace) -> int:
    """Rounds of training on the votes of rules about raw text; labelled files count as well if there are any."""
    from postil.models.voting.reliability import is_plain
    from postil.rules import MentionRule, read_rules
    from postil.rules.learning import ROUNDS, Learning, shorter

    refuse(arguments, "rules have no tasks", "task", "group")
    refuse(arguments, "training on rules always starts from scratch", "warm_start", "freeze_encoder")
    refuse(arguments, "rules are the teachers", "teacher", "pretrain")
    refuse(arguments, _LEARNS_ALL, "label")
    rules = read_rules(arguments.rules)
    if not arguments.unlabelled and not any(isinstance(rule, MentionRule) for rule in rules):
        raise ConfigurationError("--rules", expected="needs raw text to vote on: add --unlabelled TEXT")
    model = _estimator(arguments, None)
    if not isinstance(model, Tagger) or model.config.objective != "crf":
        raise ConfigurationError("--rules", expected="needs a preset with the objective crf", got=arguments.preset)
    if arguments.segmenter is not None:
        if arguments.segmenter in ("rules", "learned", CHARACTERS):
            expected = "must be a model or a treebank if --rules vote"
            raise ConfigurationError("--segmenter", expected=expected, got=arguments.segmenter)
        model.segmenter = teaching.named_segmenter(arguments.segmenter, arguments.seed, arguments.threads)
    options = reading_options(arguments, model.segmenter or ENGLISH)
    files = LoadedTask.load(arguments.sources, MAIN, options, arguments)
    raw = teaching.raw_sentences(arguments, model.segmenter) if arguments.unlabelled else []
    learning = Learning(raw, rules, examples(*files.train) if files.train else None)
    files.check(arguments, learning.codec)
    dev = examples(files.held_out["dev"]) if "dev" in files.held_out else None
    voted, votes = sum(map(bool, learning.votes)), sum(map(len, learning.votes))
    rules = learning.rules
    note(f"{len(rules)} rules, {votes:,} votes in {voted:,} of {len(learning.sentences):,} different sentences")
    seconds = 0.0
    for number in range(1, ROUNDS + 2):
        finished = teaching.beside(arguments, f"{teaching.ROUND}{number}")
        if arguments.resume and finished.exists():
            learning.update(open_model(str(finished)))
            note(f"round {number} of {ROUNDS + 1} is finished")
            continue
        note(f"round {number} of {ROUNDS + 1}" + (f", about {seconds:.0f} s" if seconds else ""))
        resumes = arguments.resume and (number == 1 or arguments.checkpoint.exists())
        student = model if number > ROUNDS else shorter(model, len(learning.sentences))
        fitting = student.fitting(**learning.data(), dev=dev, checkpoint=arguments.checkpoint, resume=resumes)
        shown = Display(fitting, arguments.log)
        if code := follow(fitting, shown):
            return code
        learning.update(student)
        if number <= ROUNDS:
            student.save(finished)
            arguments.checkpoint.unlink(missing_ok=True)
            epochs = student.model.config.epochs
            coming = epochs if student.config == model.config else model.config.epochs or EPOCHS
            seconds = fitting.training.progress.seconds * coming / epochs
    plain = [rule for rule in rules if is_plain(rule)]
    if plain:
        model = model.with_rules(plain, reliability=learning.reliability)
        note(f"the model has {len(plain)} of the rules, which vote when it tags (`postil tag --no-rules` without them)")
    if left_out := [rule.name for rule in rules if not is_plain(rule)]:
        names = shortened(", ".join(left_out))
        note(f"not in the model, as only lists and patterns without <pos:TAG> can be stored: {names}")
    code = finish(arguments, model, fitting, {name: {MAIN: file} for name, file in files.held_out.items()}, shown)
    for name, file in files.held_out.items():
        error = reliability(model.model, *examples(file)).after.expected_error
        say(f"{name:<5} calibration error {100 * error:.1f} %" + (", calibrated on it" if name == "dev" else ""))
    return code


_LEARNS_ALL = "a tagger learns all labels; --preset margin detects one"


# ------------------------------------------------------------------------------------------------ roles and trees


def _train_on_files(arguments: Namespace, model: Any, load: Callable[[str], LabelledFile], **options: Any) -> int:
    """Train a role labeller or a tree classifier on the whole files that ``load`` reads."""
    named = {name: getattr(arguments, name) for name in ("train", "dev", "test")}
    files = {name: joined([load(path) for path in paths]) for name, paths in named.items() if paths}
    data, dev = files.pop("train"), examples_of(model, files["dev"]) if "dev" in files else None
    options |= {"checkpoint": arguments.checkpoint, "resume": arguments.resume}
    if isinstance(model, TreeClassifier):
        _check_trees(data, list(files.values()), model.config.loss)
    fitting = model.fitting(*examples_of(model, data), dev, **options)
    return train(arguments, model, fitting, {name: {MAIN: file} for name, file in files.items()})


def _train_roles(arguments: Namespace) -> int:
    why = "it is not for semantic roles"
    refuse(arguments, why, "task", "label", "rules", "unlabelled", "teacher", "annotates", "map", "partial", "report")
    refuse(arguments, why, "segmenter", "freeze_encoder", "feature_columns", "pretrained")
    known = _known(arguments, "a role labeller", RoleLabeller)
    preset, settings = _preset_and_settings(arguments, known, usual="roles")
    model = RoleLabeller(preset=preset, **{**arguments.parameters, **settings})
    model.check()
    tagger = None if arguments.tagger is None else tagger_named(arguments.tagger)
    return _train_on_files(arguments, model, lambda path: load_roles(path, arguments), warm_start=known, tagger=tagger)


def _means_tagger(arguments: Namespace) -> bool:
    return bool(arguments.preset or arguments.label) or arguments.label_column == CHUNKS


def _learns_from_trees(arguments: Namespace) -> bool:
    """A preset, a label or chunks mean a tagger or a detector. Without them, trees mean a tree classifier."""
    if _means_tagger(arguments):
        return False
    if any(text.startswith(("composition=", "binarise=")) for text in arguments.settings):
        return True
    first = arguments.train[0]  # a pipe can be read only once
    return Path(first).is_file() and format_of(first, arguments.encoding) == "trees"


def _train_trees(arguments: Namespace) -> int:
    why = "it is for taggers of words"
    refuse(arguments, why, "segmenter", "clusters", "unlabelled", "map", "pretrained", "group")
    refuse(arguments, "tree classifiers use no gazetteers", "gazetteer")
    refuse(arguments, "tree classifiers always start from scratch", "warm_start", "freeze_encoder")
    refuse(arguments, "trees have no columns", "feature_columns")
    refuse(arguments, "a node without a label is unknown anyway", "annotates")
    settings = dict(parsed(text, TreeConfig) for text in arguments.settings)
    classifier = TreeClassifier(**{**settings, **arguments.common})
    classifier.check()
    return _train_on_files(arguments, classifier, lambda path: load_trees(path, arguments.encoding))


def _check_trees(train: LabelledFile, held_out: Sequence[LabelledFile], loss: str) -> None:
    """Refuse what cannot work, warn of what is probably a mistake."""

    def labels_of(file: LabelledFile) -> set[str]:
        labels = [label for tree in trees_of(file) for label in (tree.labels if loss == "all" else [tree.root_label])]
        return {label for label in labels if label is not None}

    def missing(what: str, expected: str, file: LabelledFile) -> DataError:
        return DataError(what, expected=expected, got=shortened(bracketed(trees_of(file)[0])), where=file.path)

    known = labels_of(train)
    if not known:
        what = "no labels at the roots" if loss == "root" else "no labels"
        raise missing(what, "trees such as (3 (2 good) (2 film))", train)
    if len(known) == 1:
        note(f"{train.path}: every label is {next(iter(known))!r}")
    for file in held_out:
        if all(tree.root_label is None for tree in trees_of(file)):
            raise missing("no labels at the roots", "at least one tree with a label at its root", file)
        if [bracketed(tree) for tree in trees_of(file)] == [bracketed(tree) for tree in trees_of(train)]:
            note(f"{file.path}: the same trees as in {train.path}: scores on training data are too good")
        if unseen := sorted(labels_of(file) - known):
            note(f"{file.path}: {len(unseen)} of its labels do not occur in {train.path}: {', '.join(unseen[:5])}")

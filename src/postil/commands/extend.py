"""``postil extend``: add classes or text to a tagger without forgetting the old classes."""

from argparse import Namespace
from pathlib import Path

from postil.commands import labelled
from postil.commands.console import show_table
from postil.commands.fitting import Display
from postil.commands.models import one_tagger, open_model
from postil.commands.notices import note
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, SEED, SETTINGS, option
from postil.commands.reading import PARTIAL, reading_arguments, reading_options
from postil.commands.teaching import THREADS, raw_sentences, tokens_option
from postil.errors import ConfigurationError, DataError
from postil.models import FORGETTING_TOLERANCE, Extending, Tagger
from postil.models import Extension as Extension
from postil.models.config import parsed_setting
from postil.tagging.options import check_columns
from postil.text.labels.partial import annotated_classes, classes_of

DESCRIPTION = """\
Extend a tagger with data in which only new classes are labelled, or with new text. The old model fills in the classes
that the new data do not label. With --dev, every known class is scored before and after. If the F1 of one falls by more
than --tolerance points, nothing is written and the exit code is 3.

  postil extend ner.postil products.txt --dev dev.txt -o ner2.postil
  postil extend ner.postil products.txt --old train.txt --dev dev.txt -o ner2.postil
      best: also train on the data that the model was trained on
  postil extend ner.postil products.txt --unlabelled raw.txt --dev dev.txt -o ner2.postil
      without these data: the old model labels raw text of the same kind
  postil extend ner.postil tweets.txt --annotates PER,LOC --dev dev.txt --tolerance 0.5 -o ner2.postil
  postil extend english products.txt --task names -o names.postil      one task of a multi-task model
"""
SHOWN = "-o --dev --old --unlabelled --annotates --tolerance --task --set --seed --threads --json --overwrite --from"
NOT_PASSED = 3
"""The exit code if the score of a known class fell."""
MOST_RAW_TOKENS = 100_000
OPTIONS = {
    "": [
        option("MODEL", "the tagger to extend; its file is not changed"),
        option("NEW", "labelled files with the new classes or text", nargs="+"),
        option("-o --output MODEL2", "model file to write", type=Path, required=True, writes="model"),
        option("--old FILE …", "labelled data that the model was trained on, all or some of them"),
        option("--unlabelled FILE …", "raw text that the old model labels, so that it keeps the old classes"),
        tokens_option(MOST_RAW_TOKENS),
        option("--dev FILE", "held-out file on which known classes must not get worse"),
        option(f"--tolerance N={FORGETTING_TOLERANCE}", "points of F1 by which a known class may fall"),
        option("--task NAME", "multi-task models: extend this task, as a separate model"),
        SETTINGS,
        SEED,
        THREADS,
        JSON,
        OVERWRITE,
    ],
    "reading": reading_arguments(
        PARTIAL,
        option(
            "--annotates [FILE=]C,C …",
            "the only classes that NEW (or this FILE) annotates (default: those that occur in it)",
        ),
    ),
}


def run(arguments: Namespace) -> int:
    tagger = one_tagger(open_model(arguments.model), arguments.task, where=arguments.model)
    check_columns(tagger, arguments.feature_columns)
    extending = _extending(tagger, arguments)
    if arguments.dev is None:
        note("without --dev, the scores of the old classes are not checked")
    if arguments.json:
        for _ in extending.fitting:
            pass
    else:
        note(f"new: {', '.join(extending.new_classes)}" if extending.new_classes else "no new class")
        with Display(extending.fitting) as display:
            for event in extending.fitting:
                display.show(event)
    extension = extending.result()
    if extension.passed:
        if extension.scores is not None:
            extension.tagger.model.about["scores"] = {"dev": extension.scores.to_dict()}
        extension.tagger.save(arguments.output)
    gate, written = extension.gate, str(arguments.output) if extension.passed else None

    def show() -> None:
        if gate is not None:
            show_table(gate.table())
        if gate is None or gate.passed:
            print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")

    content = gate.to_dict() if gate is not None else {"passed": None, "classes": {}}
    present(arguments, {**content, "model": written}, show)
    if gate is not None and not gate.passed:
        fallen = ", ".join(f"{one.name} by {-(one.difference or 0):.2f}" for one in gate.fallen)
        note(f"nothing is written: {fallen} points worse; more of --old or --unlabelled helps, or a higher --tolerance")
    return 0 if extension.passed else NOT_PASSED


def _extending(tagger: Tagger, arguments: Namespace) -> Extending:
    parts = tagger.model
    settings = dict(map(parsed_setting, arguments.settings))
    options = reading_options(arguments, parts.segmenter)
    new, old, dev = (
        labelled.load_labelled(paths, arguments, options, parts.codec.answers)
        for paths in (arguments.new, arguments.old, [] if arguments.dev is None else [arguments.dev])
    )
    for file in (*old, *dev):
        labelled.widen(file, parts.codec)
    named = labelled.annotated_by_option(arguments.annotates, arguments.new)
    annotates: list[tuple[str, ...] | None] = []  # by each new sentence: as its comment, the option or its file says
    if not parts.codec.has_spans and arguments.annotates:
        raise ConfigurationError("--annotates cannot be used here: the model's labels are not spans")
    for file in new if parts.codec.has_spans else ():
        classes = named[file.path] or tuple(sorted(classes_of(file.labels)))
        if not classes:
            expected = "some entities, or --annotates with the classes that are annotated"
            raise DataError("no entities", expected=expected, where=file.path)
        annotates += [stated or classes for stated in annotated_classes(file.sentences)]
        note(f"{file.path}: annotates {', '.join(classes)}")
    raw = None
    if arguments.unlabelled:
        if parts.features.columns or parts.config.word_key is not None or parts.segmenter.characters:
            raise ConfigurationError("--unlabelled cannot be used here: the model needs more than words of raw text")
        raw = raw_sentences(arguments, parts.segmenter)
    return Extending(
        tagger,
        *labelled.examples(*new),
        old=labelled.examples(*old) if old else None,
        unlabelled=raw,
        dev=labelled.examples(*dev) if dev else None,
        tolerance=arguments.tolerance,
        annotates=annotates if parts.codec.has_spans else None,
        partial=arguments.partial,
        seed=arguments.seed,
        threads=arguments.threads,
        **settings,
    )

"""``postil tune``: trade precision for recall, or recall for precision, in a trained model."""

from argparse import Namespace
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from postil.commands.console import say, show_table
from postil.commands.labelled import groups_with, in_groups, load, resolve_labels
from postil.commands.models import checked_scheme, inputs_of, one_task, open_model
from postil.commands.notices import note
from postil.commands.output import check_output, present
from postil.commands.parser import JSON, OVERWRITE, option
from postil.commands.reading import reading_arguments, reading_options
from postil.errors import ConfigurationError
from postil.models.decoding.promise import FEWEST_DOCUMENTS, Promise, check_open
from postil.models.decoding.tuning import Tuned, Unreachable, checked_wish
from postil.models.storage import located
from postil.models.tagger import Tagger
from postil.tagging.options import check_columns
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import is_partial

DESCRIPTION = """\
Tune a trained tagger to find more entities (higher recall) or to be right more often (higher precision).

  postil tune ner.postil dev.txt --recall 0.9 -o eager.postil
  postil tune ner.postil dev.txt --precision 0.9 -o careful.postil
  postil tune ner.postil dev.txt --recall 0.9 --dry-run    show the curve, write nothing
  postil tune ner.postil dev.txt --f1 --in-place           maximise F1, as train does with --dev
  postil tune ner.postil --reset --in-place                predict the most probable labels
  postil tune ner.postil dev.txt --miss 0.01 --classes PER,LOC -o redact.postil    for postil tag --to redacted

For higher recall, a decoding bias is set, which finds more entities. For higher precision, a threshold is set, which
drops the least probable ones. The other figure stays as high as possible. A model that already reaches the target is
not changed; among settings with equal figures, the smallest change is chosen. DATA must be held out from training. The
target must be reached there with a margin of one standard error (--margin), because part of any score on few sentences
is luck. For the best F1, the smallest bias within this margin of the best is chosen.

The model is not retrained, and its probabilities do not change: only one number in the model file does, and --reset
undoes it.

With --miss, the model file gets a promise instead, which postil tag --to redacted needs: how many names of --classes it
may miss, with --confidence. An exact binomial bound on DATA chooses the threshold; names of one document, or of
neighbouring sentences if DATA does not mark documents, are not counted as independent. Too few names raise an error.
"""
SHOWN = "--recall --precision --f1 --miss --classes --margin -o --in-place --dry-run --reset --task --json --from"
OPTIONS = {
    "": [
        option("MODEL", "model file of a tagger"),
        option("DATA", "labelled file of any format, held out from training", nargs="?"),
        option("--recall R", "share of entities to find, 0 to 1", type=float),
        option("--precision P", "share of predicted entities that must be correct, 0 to 1", type=float),
        option("--f1", "maximise F1"),
        option("--margin Z=1.0", "margin in standard errors"),
        option("--miss E", "redaction: share of names that may be missed, 0 to 1", type=float),
        option("--classes CLASS,…", "redaction: classes of names to hide (default: all)", needs="--miss"),
        option("--confidence C", "redaction: confidence of the promise (default: 0.95)", type=float, needs="--miss"),
        option("--task NAME", "multi-task models: use this task"),
        option("--reset", "remove the bias, the thresholds and the promise about missed names"),
        option("-o --output MODEL2", "model file to write", instead="target", writes="model"),
        option("--in-place", "change MODEL itself", instead="target"),
        option("--dry-run", "write nothing", instead="target"),
        JSON,
        OVERWRITE,
    ],
    "reading": reading_arguments(),
}


def run(arguments: Namespace) -> int:
    if not (arguments.output or arguments.in_place or arguments.dry_run):
        arguments.usage_error("one of -o MODEL2, --in-place and --dry-run is required")
    target = None if arguments.dry_run else arguments.output or str(located(arguments.model))
    if arguments.in_place:
        check_output(target, "model", inputs=[arguments.data], overwrite=arguments.overwrite)
    whole = open_model(arguments.model)
    model: Any = one_task(whole, arguments.task)
    if model.KIND != "tagger":
        raise ConfigurationError("only a tagger can be tuned", got=f"this is a {model.KIND}", where=arguments.model)
    wishes = [name for name in ("recall", "precision", "f1") if getattr(arguments, name) not in (None, False)]
    if arguments.reset:
        given = [name for name in ("data", "miss") if getattr(arguments, name) is not None]
        if given or wishes:
            raise ConfigurationError(f"--reset cannot be combined with {' and '.join([*given, *wishes])}")
        before = model.decoding
        model.decoding = replace(before, bias=0.0, thresholds={}, promise=None)
        if target is not None:
            whole.save(Path(target))
        thresholds = ", ".join(f"{name} {lowest:.3f}" for name, lowest in before.thresholds.items())
        removed = f"removed bias {before.bias:+.3f}, thresholds {thresholds or 'none'}"
        was = {"bias": before.bias, "thresholds": dict(before.thresholds)}
        result = {"model": target, "bias": 0.0, "thresholds": {}, "before": was}
        return present(arguments, result, lambda: note(f"{target or 'dry run'}: {removed}"))
    if arguments.data is None:
        raise ConfigurationError("nothing to tune on", expected="a labelled file as DATA, or --reset")
    if arguments.miss is not None:
        if wishes:
            raise ConfigurationError(f"--miss cannot be combined with --{wishes[0]}")
        promise = _promised(model, arguments)
        if target is not None:
            whole.save(Path(target))

        def show_promise() -> None:
            say((str(promise), "bold green"))
            share = f"{100 * promise.hidden:.1f} % of the words of DATA, {100 * promise.in_names:.1f} % belong to names"
            say(f"words with a probability of at least {promise.threshold:.4f} are hidden: {share}")
            say(f"written to {target}" if target else "dry run: nothing was written")

        return present(arguments, {"model": target, **asdict(promise)}, show_promise)
    try:
        checked_wish(arguments.recall, arguments.precision, arguments.margin, f1=arguments.f1)  # before a file is read
        file = _held_out(model, arguments)
        wish = {name: getattr(arguments, name) for name in ("recall", "precision", "f1", "margin")}
        tuned = model.tune(inputs_of(file), file.labels, **wish)
    except Unreachable as error:
        if not arguments.json:
            say(f"target {error.tuned.wish}: not reached. What can be reached:")
            show_table(error.tuned.table("best"))
        raise
    if target is not None and not (tuned.is_met and arguments.in_place):
        whole.save(Path(target))
    return present(arguments, {"model": target, **tuned.to_dict()}, lambda: show(tuned, arguments.model, target))


def _held_out(model: Tagger, arguments: Namespace) -> LabelledFile:
    check_columns(model, arguments.feature_columns)
    groups = groups_with(model)
    file = load(arguments.data, **reading_options(arguments, model.model.segmenter, groups=bool(groups)))
    file = in_groups(file, groups)[model.model.task] if groups else file
    resolve_labels(model, file)
    checked_scheme(file, model.model.codec)
    if unknown := sum(map(is_partial, file.labels)):
        note(f"{file.path}: {unknown:,} sentences with unknown labels are ignored")
    return file


def _promised(model: Tagger, arguments: Namespace) -> Promise:
    """The promise about missed names. Documents are those that the file marks."""
    from postil.evaluation import documents_of, groups_of  # tuning as such needs none of this

    confidence = 0.95 if arguments.confidence is None else arguments.confidence
    check_open(arguments.miss, "--miss")
    check_open(confidence, "--confidence")
    classes = model.model.codec.classes if arguments.classes is None else arguments.classes.split(",")
    file = _held_out(model, arguments)
    groups = groups_of(documents_of(file.sentences)) or None
    wish = {"classes": list(classes), "miss": arguments.miss, "confidence": confidence, "groups": groups}
    promise = model.promise(inputs_of(file), file.labels, **wish)
    if len(set(groups or ())) < FEWEST_DOCUMENTS:
        why = "so runs of neighbouring sentences stand for them, and the promise covers text from the same sources"
        note(f"{file.path}: fewer than {FEWEST_DOCUMENTS} documents are marked (-DOCSTART-), {why}")
    if promise.hidden > 0.5:
        note(f"{100 * promise.hidden:.0f} % of the words have to be hidden: the model finds these names too rarely")
    return promise


def show(tuned: Tuned, model: str, target: str | None) -> None:
    """``target``: where the model was written; None for a dry run."""
    chosen, untuned = tuned.summary().split("\n")
    say(f"{model}: target {tuned.wish}")
    say(chosen, style="bold green")
    say(untuned)
    show_table(tuned.table())
    written = f"{target} is unchanged" if tuned.is_met and target == model else f"written to {target}"
    say(written if target else "dry run: nothing was written")

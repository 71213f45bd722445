"""``postil doctor``: what is odd or wrong in labelled data."""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.text import Text

from postil.commands.console import make_console, show_table, training_progress
from postil.commands.labelled import add_data_arguments, add_tagger_arguments, joined_split, load_labelled, tagger_of
from postil.commands.notices import note
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import reading_options
from postil.errors import ConfigurationError, printable
from postil.quality import CHECKS, Diagnosis, apply, diagnosed, review
from postil.quality.diagnosis import SHOWN as MOST_LISTED
from postil.text import Sentence
from postil.text.formats import read, write
from postil.text.labels.schemes import recognise
from postil.text.output import write_text

DESCRIPTION = """\
Check labelled data before training on them, and report every finding with its file and line: labels that break their
scheme, sentences that occur in two splits, mentions that are labelled inconsistently, entities that end in punctuation,
odd characters, rare and missing classes. Then small models are trained to find labels that are probably wrong and to
estimate how much more data would help. The data files are not changed.

  postil doctor train.txt --dev dev.txt --test test.txt
  postil doctor train.txt --quick                            without training any model
  postil doctor train.txt --report health.html               write an HTML page
  postil doctor train.txt --review doubts.jsonl              write suspected errors for review
  postil doctor --apply doubts.jsonl train.txt -o better.txt apply the accepted corrections

A review of several files is applied to the same files; -o then has the sentences of all of them.
"""
SHOWN = "--dev --test --quick --report --review --apply -o --overwrite --json --preset --seed --threads --from".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", nargs="+", help="labelled files to train on")
    parser.add_argument("--dev", metavar="FILE", help="held-out file for development")
    parser.add_argument("--test", metavar="FILE", help="held-out file for testing")
    parser.add_argument("--quick", action="store_true", help="train no models, only check the data")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="parts to hold out in turn (default: 5)")
    parser.add_argument(
        "--repeats", type=int, default=2, metavar="N", help="how often every sentence is held out (default: 2)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page with all findings")
    parser.add_argument("--review", metavar="FILE", type=Path, help="write suspected errors as JSON Lines")
    parser.add_argument("--apply", metavar="FILE", help="apply the accepted corrections of a review to DATA")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="--apply: the corrected file to write")
    add_overwrite_argument(parser)
    add_tagger_arguments(parser, "to find wrong labels")
    add_data_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    inputs = [*arguments.data, arguments.dev, arguments.test, arguments.apply]
    for path, what, kind in ((arguments.report, "report", "report"), (arguments.review, "review", "jsonl")):
        if path is not None:
            check_output(path, what, kind, inputs=inputs, overwrite=arguments.overwrite)
    if arguments.apply is not None or arguments.output is not None:
        return _apply(arguments, inputs)
    diagnosis = _diagnosis(arguments)
    if arguments.report is not None:
        from postil.reports.data import diagnosis_page

        write_text(arguments.report, [diagnosis_page(diagnosis)])
    if arguments.review is not None:
        write_text(arguments.review, review(diagnosis))
    if arguments.json:
        print(json.dumps(diagnosis.to_dict(), indent=2, ensure_ascii=False))
        return 0

    show(diagnosis)
    if arguments.report is not None:
        print(f"\nThe report is in {arguments.report}: open it in a browser.")
    if arguments.review is not None:
        print(f"\n{_told_of_review(arguments.review, len(diagnosis.suspicions))}")
    return 0


def _told_of_review(path: Path, number: int) -> str:
    if not number:
        return f"No label is suspected to be wrong: {path} is empty."
    return f'The suspected errors are in {path}: set "answer" to "accept" or "reject", then --apply it.'


def _diagnosis(arguments: argparse.Namespace) -> Diagnosis:
    for name in ("folds", "repeats"):
        lowest = {"folds": 2, "repeats": 1}[name]
        if getattr(arguments, name) < lowest:
            raise ConfigurationError(name, expected=f"must be at least {lowest}", got=getattr(arguments, name))
    if arguments.quick and arguments.review is not None:
        raise ConfigurationError("--review", expected="must not be given with --quick: models find the errors")
    tagger = tagger_of(arguments)
    splits = [joined_split(load_labelled(arguments.data, arguments), ", ".join(arguments.data))]
    splits += [
        joined_split(load_labelled([path], arguments), path)
        for name in ("dev", "test")
        if (path := getattr(arguments, name))
    ]
    with training_progress() as progress:
        return diagnosed(
            splits,
            quick=arguments.quick,
            estimator=tagger,
            folds=arguments.folds,
            repeats=arguments.repeats,
            seed=arguments.seed,
            jobs=arguments.threads,
            progress=progress,
        )


def _apply(arguments: argparse.Namespace, inputs: list[str]) -> int:
    if arguments.apply is None or arguments.output is None:
        raise ConfigurationError("--apply", expected="needs -o FILE, and -o needs --apply", got=None)
    options = {**reading_options(arguments), "features": None}  # all columns are kept
    sentences: list[Sentence] = []
    formats: set[str] = set()
    for path in arguments.data:
        with read(path, **options) as reading:
            sentences += reading
        formats.add(reading.format)
    if len(formats) > 1:
        raise ConfigurationError("--apply", expected="needs files of one format", got=" and ".join(sorted(formats)))
    check_output(arguments.output, "output", reading.format, inputs=inputs, overwrite=arguments.overwrite)
    with read(arguments.apply, split=False) as reviewed:
        scheme = recognise([sentence.labels or [] for sentence in sentences])
        applied = apply(reviewed, sentences, scheme, arguments.apply)
    write(sentences, arguments.output, reading.format, reading.report, scheme=scheme, label=arguments.label_column)
    changed = f"{applied.changed:,} sentences changed, {applied.unchanged:,} confirmed"
    note(f"{arguments.output}: {changed}, {applied.left:,} not answered")
    return 0


# ------------------------------------------------------------------------------------------------ on a terminal


def show(diagnosis: Diagnosis) -> None:
    """Sizes, findings by kind, suspected errors, the forecast."""
    console = make_console()
    show_table(console, diagnosis.table())
    for kind, number in diagnosis.counts.items():
        _show_findings(console, diagnosis, kind, number)
    if not diagnosis.findings:
        console.print(Text("\nNothing odd was found by looking at the data.", style="green"))
    if diagnosis.suspicions:
        _show_suspicions(console, diagnosis)
    if diagnosis.curve is not None:
        console.print(Text("\nMore data", style="bold cyan"))
        console.print(Text(str(diagnosis.curve)))
    if diagnosis.left_out:
        console.print(Text(f"\n{diagnosis.left_out}", style="dim"))


def _show_findings(console: Console, diagnosis: Diagnosis, kind: str, number: int) -> None:
    check = CHECKS[kind]
    console.print()
    console.print(
        Text.assemble((f"{check.title}: {number:,}", "bold cyan"), (f"   {check.advice}", "dim")), soft_wrap=True
    )
    for finding in [finding for finding in diagnosis.findings if finding.kind == kind][:MOST_LISTED]:
        _line(console, f"{finding.where}: {finding.what}", finding.excerpt)
    if number > MOST_LISTED:
        console.print(Text(f"  … and {number - MOST_LISTED:,} more: --report or --json has all of them", style="dim"))


def _show_suspicions(console: Console, diagnosis: Diagnosis) -> None:
    number = len(diagnosis.suspicions)
    console.print()
    title = f"labels that are probably wrong: {number:,}"
    console.print(Text.assemble((title, "bold cyan"), ("   the most suspicious first", "dim")))
    for one in diagnosis.suspicions[:MOST_LISTED]:
        _line(console, f"{diagnosis.where(one)}: {diagnosis.described(one)}", diagnosis.excerpt(one))
    if number > MOST_LISTED:
        console.print(Text(f"  … and {number - MOST_LISTED:,} more: --review writes them to a file", style="dim"))


def _line(console: Console, line: str, excerpt: str) -> None:
    console.print(Text(f"  {printable(line)}"), soft_wrap=True)
    if excerpt:
        console.print(Text(f"      {printable(excerpt)}", style="dim"), soft_wrap=True)

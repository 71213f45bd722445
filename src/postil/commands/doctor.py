"""``postil doctor``: what is odd or wrong in labelled data."""

from argparse import Namespace
from pathlib import Path

from postil.commands.console import say, show_table, training_progress
from postil.commands.labelled import joined_split, load_labelled, tagger_of, tagger_options
from postil.commands.notices import note
from postil.commands.output import check_output, present
from postil.commands.parser import JSON, OVERWRITE, option
from postil.commands.reading import options_for_file
from postil.errors import ConfigurationError, printable
from postil.quality import Diagnosis, apply, diagnosed, review
from postil.reports.data import diagnosis_page
from postil.text import Sentence, read, recognise, write
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
  postil doctor --apply doubts.jsonl train.txt -o better.txt  apply the accepted corrections

A review of several files is applied to the same files; -o then has the sentences of all of them.
"""
SHOWN = "--dev --test --quick --report --review --apply -o --overwrite --json --preset --seed --threads --from"
OPTIONS = {
    "": [
        option("DATA", "labelled files to train on", nargs="+"),
        option("--dev FILE", "held-out file for development"),
        option("--test FILE", "held-out file for testing"),
        option("--quick", "train no models, only check the data"),
        option("--folds N=5", "parts to hold out in turn", least=2),
        option("--repeats N=2", "how often every sentence is held out", least=1),
        JSON,
        option("--report FILE", "write an HTML page with all findings", type=Path, writes="report"),
        option("--review FILE", "write suspected errors as JSON Lines", type=Path, writes="jsonl"),
        option("--apply FILE", "apply the accepted corrections of a review to DATA", needs="--output FILE"),
        option("-o --output FILE", "--apply: the corrected file to write", type=Path, needs="--apply FILE"),
        OVERWRITE,
    ],
    **tagger_options("to find wrong labels"),
}


def run(arguments: Namespace) -> int:
    if arguments.apply is not None:
        return _apply(arguments)
    if arguments.quick and arguments.review is not None:
        raise ConfigurationError("--review", expected="must not be given with --quick: models find the errors")
    tagger = tagger_of(arguments)
    files = [arguments.data, *([path] for path in (arguments.dev, arguments.test) if path)]
    splits = [joined_split(load_labelled(paths, arguments), ", ".join(paths)) for paths in files]
    with training_progress() as progress:
        same = {name: getattr(arguments, name) for name in ("quick", "folds", "repeats", "seed", "threads")}
        diagnosis = diagnosed(splits, estimator=tagger, progress=progress, **same)
    if arguments.review is not None:
        write_text(arguments.review, review(diagnosis))
    code = present(arguments, diagnosis, lambda: _show(diagnosis), lambda: diagnosis_page(diagnosis))
    if arguments.review is not None and not arguments.json:
        wrong = (
            f'The suspected errors are in {arguments.review}: set "answer" to "accept" or "reject", then --apply it.'
        )
        none = f"No label is suspected to be wrong: {arguments.review} is empty."
        print(f"\n{wrong if diagnosis.suspicions else none}")
    return code


def _apply(arguments: Namespace) -> int:
    options = {**options_for_file(arguments, arguments.data[0]), "features": None}  # all columns are kept
    sentences: list[Sentence] = []
    formats: set[str] = set()
    for path in arguments.data:
        with read(path, **options) as reading:
            sentences += reading
        formats.add(reading.format)
    if len(formats) > 1:
        raise ConfigurationError("--apply", expected="needs files of one format", got=" and ".join(sorted(formats)))
    inputs = [*arguments.data, arguments.apply]
    check_output(arguments.output, reading.format, inputs=inputs, overwrite=arguments.overwrite)
    with read(arguments.apply, split=False) as reviewed:
        scheme = recognise([sentence.labels or [] for sentence in sentences])
        applied = apply(reviewed, sentences, scheme, arguments.apply)
    write(sentences, arguments.output, reading.format, reading.report, scheme=scheme, label=arguments.label_column)
    changed = f"{applied.changed:,} sentences changed, {applied.unchanged:,} confirmed"
    note(f"{arguments.output}: {changed}, {applied.left:,} not answered")
    return 0


def _show(diagnosis: Diagnosis) -> None:
    """Sizes, findings by kind and suspected errors with the first places of each, the forecast."""
    show_table(diagnosis.table())
    if not diagnosis.findings:
        say("\nNothing odd was found by looking at the data.", style="green")
    for title, number, advice, lines in diagnosis.lists():
        say("\n", (f"{title}: {number:,}", "bold cyan"), (f"   {advice}", "dim"))
        for line, excerpt in lines:
            say(f"  {printable(line)}")
            if excerpt:
                say(f"      {printable(excerpt)}", style="dim")
        if number > len(lines):
            say(f"  … and {number - len(lines):,} more: --report or --json has all of them", style="dim")
    if diagnosis.curve is not None:
        say("\nMore data", style="bold cyan")
        say(str(diagnosis.curve), wrap=True)
    if diagnosis.left_out:
        say(f"\n{diagnosis.left_out}", style="dim", wrap=True)

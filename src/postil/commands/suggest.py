"""``postil suggest``: what to label next."""

import json
from argparse import Namespace
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from postil.commands.console import say
from postil.commands.labelled import load
from postil.commands.models import one_tagger, open_model, take_model
from postil.commands.notices import progress_line
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, SEED, option
from postil.commands.reading import reading_arguments, reading_options, warn_of_unspaced
from postil.errors import printable
from postil.quality import DIVERSITY, WAYS, Suggestion, suggest
from postil.tagging.options import check_columns
from postil.text import Sentence, read
from postil.text.output import write_text
from postil.text.report import counted

DESCRIPTION = """\
Suggest which sentences of a pool to label next: those that the model is least sure of per token and that differ from
each other. The pool may be larger than memory: raw text, tokens, CoNLL or JSON Lines, as for `postil tag`. Labels in
it are ignored. No sentence is suggested twice.

  postil suggest ner.postil pool.txt -n 50 -o next.jsonl
  postil suggest ner.postil pool.jsonl --labelled train.jsonl -o next.jsonl     skip what is already labelled
  postil suggest ner.postil pool.txt --by spans --json
  cat *.txt | postil suggest ner.postil -n 20

-o writes one JSON object per sentence, labelled by the model: "spans" with their probabilities and whether they are
sure, and "unsure", the passages to look at, with the possible labellings of each. Correct the spans, set "answer" to
"accept" and train on the file; or label it with `postil annotate`; or use `postil convert` to write it for another
annotation tool.
"""
SHOWN = "-n -o --labelled --by --diversity --sure --task --seed --json --from --overwrite"
OPTIONS = {
    "": [
        option(
            "[MODEL] [POOL…]",
            "model file or name (default: the installed English model); files (default: standard input)",
            nargs="*",
            dest="words",
        ),
        option("-n N=50", "number of sentences"),
        option("--by", "measure of uncertainty (default: entropy)", choices=WAYS, default="entropy"),
        option(f"--diversity P={DIVERSITY}", "how much to prefer sentences unlike those already chosen"),
        option("--sure P=0.9", "spans at least this probable are sure"),
        option("--labelled FILE …", "sentences that are already labelled, not to be suggested"),
        option("--task NAME", "multi-task models: use this task"),
        SEED,
        option("-o --output FILE", "write the suggestions as JSON Lines", type=Path, writes="jsonl"),
        JSON,
        OVERWRITE,
    ],
    "reading": reading_arguments(),
}


def run(arguments: Namespace) -> int:
    model, files = take_model(arguments.words)
    tagger = one_tagger(open_model(model), arguments.task, "suggest", "needs a tagger", where=model, needed=False)
    check_columns(tagger, arguments.feature_columns or ())
    options = reading_options(arguments, tagger.model.segmenter)
    firsts: list[int] = []  # of each file: the number of its first sentence, and its name
    names: list[str] = []
    size = 0

    def pool() -> Iterator[Sentence]:
        nonlocal size
        for file in files or ["-"]:
            with read(file, **options) as reading:
                warn_of_unspaced(reading, options["segmenter"])
                firsts.append(size)
                names.append(reading.name)
                for sentence in reading:
                    size += 1
                    yield sentence

    labelled = [load(path, **{**options, "format": None}) for path in arguments.labelled]
    with progress_line(to_file=True) as progress:
        suggestions = suggest(
            tagger,
            pool(),
            arguments.n,
            labelled=[tokens for file in labelled for tokens in file.tokens],
            progress=progress,
            **{name: getattr(arguments, name) for name in ("by", "diversity", "sure", "seed")},
        )
    places = []
    for one in suggestions:
        name, line = names[bisect_right(firsts, one.index) - 1], one.sentence.line
        places.append(f"{name}, line {line}" if line else name)
    records = [{**one.record(), "where": place} for one, place in zip(suggestions, places, strict=True)]
    if arguments.output is not None:
        write_text(arguments.output, (json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    result = {"pool": size, "by": arguments.by, "suggestions": records}
    return present(arguments, result, lambda: show(suggestions, places, size, arguments.output))


LISTED = 10


def show(suggestions: Sequence[Suggestion], places: Sequence[str], sentences: int, output: Path | None) -> None:
    """The first suggestions, with what is unsure in colour, and how much there is to look at."""
    if not suggestions:
        say(f"Nothing to suggest: {counted(sentences, 'sentence')} in the pool.")
        return
    say(("What to label next", "bold cyan"), ("   the most useful first", "dim"))
    for one, place in zip(suggestions[:LISTED], places, strict=False):
        say((f"  {one.score:.3f}  ", "bold"), (printable(place), "dim"))
        parts = [(f"{printable(piece)} ", "yellow" if is_doubt else "dim") for piece, is_doubt in one.pieces()]
        say("      ", *parts)
    if len(suggestions) > LISTED:
        more = "all are in the file" if output is not None else "-o writes all of them to a file"
        say(f"  … and {len(suggestions) - LISTED:,} more: {more}", style="dim")
    tokens = sum(len(one.tokens) for one in suggestions)
    doubts = [doubt for one in suggestions for doubt in one.doubts]
    unsure = sum(doubt.end - doubt.start for doubt in doubts)
    chosen = f"{len(suggestions):,} of {counted(sentences, 'sentence')}, {counted(tokens, 'token')}"
    unsure_part = f"{counted(len(doubts), 'passage')}, {counted(unsure, 'token')} ({100 * unsure / tokens:.0f} %)"
    say(f"\n{chosen}; to look at: {unsure_part}")
    if output is not None:
        say(f"The suggestions are in {output}.")

"""What ``postil suggest`` shows on a terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from postil.commands.terminal.display import make_console
from postil.curation.preannotation import Suggestion
from postil.errors import printable
from postil.text.report import counted

SHOWN = 10


def show(suggestions: Sequence[Suggestion], places: Sequence[str], sentences: int, output: Path | None) -> None:
    """The first suggestions, with what is unsure in colour, and how much there is to look at."""
    console = make_console()
    if not suggestions:
        console.print(Text(f"Nothing to suggest: {counted(sentences, 'sentence')} in the pool."))
        return
    console.print(Text.assemble(("What to label next", "bold cyan"), ("   the most useful first", "dim")))
    for one, place in zip(suggestions[:SHOWN], places, strict=False):
        console.print(Text.assemble((f"  {one.score:.3f}  ", "bold"), (printable(place), "dim")), soft_wrap=True)
        console.print(_sentence(one), soft_wrap=True)
    if len(suggestions) > SHOWN:
        more = "all are in the file" if output is not None else "-o writes all of them to a file"
        console.print(Text(f"  … and {len(suggestions) - SHOWN:,} more: {more}", style="dim"))
    tokens = sum(len(one.tokens) for one in suggestions)
    unsure = sum(doubt.end - doubt.start for one in suggestions for doubt in one.doubts)
    doubts = sum(len(one.doubts) for one in suggestions)
    console.print(
        Text(
            f"\n{len(suggestions):,} of {counted(sentences, 'sentence')}, {counted(tokens, 'token')}; to look at: "
            f"{counted(doubts, 'passage')}, {counted(unsure, 'token')} ({100 * unsure / tokens:.0f} %)"
        )
    )
    if output is not None:
        console.print(Text(f"The suggestions are in {output}."), soft_wrap=True)


def _sentence(one: Suggestion) -> Text:
    """The tokens; those in doubt in brackets with what they most probably are."""
    starts = {doubt.start: doubt for doubt in one.doubts}
    text, t = Text("      "), 0
    while t < len(one.tokens):
        doubt = starts.get(t)
        if doubt is None:
            text.append(printable(one.tokens[t]) + " ", style="dim")
            t += 1
            continue
        best = doubt.options[0]
        words = " ".join(map(printable, one.tokens[doubt.start : doubt.end]))
        text.append(f"[{words}]", style="bold yellow")
        text.append(f" {printable(best.label)} {100 * best.probability:.0f} % ", style="yellow")
        t = doubt.end
    return text

"""What ``postil evaluate`` shows of a detector."""

from rich.text import Text

from postil.commands.terminal.display import make_console
from postil.metrics import DetectionScores
from postil.metrics.files import DetectionFileScores
from postil.text.report import counted


def headline(scores: DetectionScores) -> str:
    """The scores in one line."""
    return scores.summary()


def show(report: DetectionFileScores) -> None:
    """The size of the file, the scores, the threshold."""
    console, scores = make_console(), report.scores
    console.print(Text(f"{report.model} against {report.data}"), soft_wrap=True)
    size = f"{counted(scores.sentences, 'sentence')}, {counted(scores.tokens, 'token')}"
    size += f", {scores.counts.gold:,} of them {scores.label}"
    console.print(Text(size), end="\n\n")
    console.print(Text(headline(scores), style="bold green"))
    console.print(
        f"token accuracy {100 * scores.accuracy:.2f}; tokens with a score above {scores.threshold:.4f} are detected"
    )

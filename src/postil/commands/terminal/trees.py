"""What ``postil evaluate`` shows of a tree classifier."""

from rich.text import Text

from postil.commands.terminal.display import make_console, show_table
from postil.metrics.files import TreeFileScores
from postil.metrics.tables import calibration_table, label_table
from postil.metrics.trees import TreeScores, label_confusion_table, length_table


def headline(scores: TreeScores) -> str:
    """The scores in one line."""
    return scores.summary()


def show(report: TreeFileScores) -> None:
    """The score first, then its details."""
    console, scores, interval = make_console(), report.scores, report.interval
    console.print(Text(f"{report.model} against {report.data}"), soft_wrap=True)
    console.print(f"{scores.trees:,} trees, {scores.roots.tokens:,} labelled roots, {scores.nodes.tokens:,} nodes\n")
    console.print(Text(headline(scores), style="bold green"))
    of = "root" if scores.roots.tokens else "node"
    level, low, high = 100 * interval.level, 100 * interval.low, 100 * interval.high
    console.print(f"{of} accuracy: {level:.0f} % interval {low:.2f} to {high:.2f}")
    for name, part, calibration in (
        ("Roots", scores.roots, scores.root_calibration),
        ("All nodes", scores.nodes, scores.node_calibration),
    ):
        if part.tokens:
            show_table(console, label_table(part.by_label(), title=name, column="label"))
            show_table(console, label_confusion_table(part, f"{name}: confusion"))
            table = calibration_table(calibration)
            show_table(console, table._replace(title=f"{name}: {table.title.lower()}"))
    show_table(console, length_table(scores))

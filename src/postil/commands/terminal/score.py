"""What ``postil score`` and ``postil evaluate`` show on a terminal."""

from rich.console import Console
from rich.text import Text

from postil.commands.terminal.display import make_console, show_table
from postil.metrics import tables
from postil.metrics.evaluation import Evaluation, LeftOut
from postil.metrics.files import FileScores
from postil.metrics.reliability import Reliability
from postil.metrics.significance import Comparison, Interval
from postil.text.report import counted


def headline(evaluation: Evaluation) -> str:
    """The scores in one line."""
    return evaluation.summary()


def show(scores: FileScores) -> None:
    """The score first, then its details, then its uncertainty."""
    console = make_console()
    _show_headline(console, scores)
    if scores.evaluation.spans is not None:
        _show_spans(console, scores)
    else:
        _show_tokens(console, scores)
    if scores.word_parts:
        show_table(console, tables.token_novelty_table(scores.word_parts))
    if scores.comparison is not None:
        _show_comparison(console, scores, scores.comparison)
    if scores.reliability is not None:
        _show_reliability(console, scores.reliability, "entities" if scores.evaluation.spans is not None else "labels")


def _show_headline(console: Console, scores: FileScores) -> None:
    evaluation = scores.evaluation
    size = f"{counted(evaluation.sentences, 'sentence')}, {counted(evaluation.tokens.tokens, 'token')}"
    console.print(Text(f"{scores.predicted} against {scores.gold}"), soft_wrap=True)
    console.print(Text(f"{size}, {_schemes(evaluation.scheme, scores.compared.predicted_scheme)}"))
    if any(evaluation.left_out):
        console.print(Text(_left_out(evaluation.left_out)))
    console.print()
    accuracy = f"token accuracy {100 * evaluation.tokens.accuracy:.2f}"
    if evaluation.spans is None:
        console.print(Text.assemble((accuracy, "bold green"), _interval(scores.interval)))
        return
    counts = evaluation.spans.overall
    others = f"precision {100 * counts.precision:.2f}   recall {100 * counts.recall:.2f}   {accuracy}"
    console.print(Text.assemble((f"F1 {100 * counts.f1:.2f}", "bold green"), _interval(scores.interval)))
    console.print(Text(others))


def _left_out(left_out: LeftOut) -> str:
    tokens = f"not scored: {left_out.tokens:,} tokens whose gold label is unknown"
    spans = (
        f"{left_out.gold_entities:,} gold and {left_out.predicted_entities:,} predicted entities that depend on them"
    )
    return f"{tokens}, {spans}" if any(left_out[1:]) else tokens


def _schemes(gold: str, predicted: str) -> str:
    if gold == "none":
        return "labels without a scheme"
    return f"{gold.upper()} labels" + (f" (predictions: {predicted.upper()})" if predicted != gold else "")


def _interval(interval: Interval) -> str:
    return f"   {100 * interval.level:g} % interval {100 * interval.low:.2f} to {100 * interval.high:.2f}"


def _show_spans(console: Console, scores: FileScores) -> None:
    spans = scores.evaluation.spans
    assert spans is not None
    show_table(console, tables.label_table(spans.by_label(), spans.overall))
    if scores.span_parts:
        show_table(console, tables.span_novelty_table(scores.span_parts))
    show_table(console, tables.errors_table(spans, scores.span_parts))
    show_table(console, tables.confusion_table(spans))
    show_table(console, tables.matching_table(spans))


def _show_tokens(console: Console, scores: FileScores) -> None:
    tokens = scores.evaluation.tokens
    show_table(console, tables.label_table(tokens.by_label(), title="Labels", column="label"))
    if tokens.mistakes():
        show_table(console, tables.mistakes_table(tokens.mistakes(), "Confused most often"))


def _show_comparison(console: Console, scores: FileScores, comparison: Comparison) -> None:
    score = "accuracy" if scores.evaluation.spans is None else "F1"
    rows = [
        (scores.predicted, 100 * comparison.first),
        (scores.other, 100 * comparison.second),
    ]
    show_table(console, tables.Table("Two systems", ("predictions", score), rows))
    low, high = 100 * comparison.low, 100 * comparison.high
    interval = f"{100 * comparison.level:g} % interval {low:+.2f} to {high:+.2f}"
    console.print(Text(f"difference {100 * comparison.difference:+.2f}, {interval}"))
    luck = "unlikely to be chance" if comparison.p_value < 0.05 else "may well be chance"
    ahead = f"ahead in {100 * comparison.second_better:.1f} % of {comparison.resamples:,} resamples"
    console.print(Text(f"p-value {comparison.p_value:.4f}: {luck}; {scores.other} is {ahead}"), soft_wrap=True)
    if comparison.note:
        console.print(Text(comparison.note), soft_wrap=True)


def _show_reliability(console: Console, reliability: Reliability, things: str) -> None:
    """Predicted probabilities against observed frequencies."""
    title = f"Reliability of the probabilities of {things}"
    before, after = tables.calibration_table(reliability.before), tables.calibration_table(reliability.after)
    if not reliability.is_calibrated:
        show_table(console, after._replace(title=f"{title} (not calibrated: trained without --dev)"))
        return
    fitted = f"temperature {reliability.temperature:.3f}, shift {reliability.shift:+.3f}"
    show_table(console, before._replace(title=f"{title}, before calibration"))
    show_table(console, after._replace(title=f"{title}, after calibration on dev ({fitted})"))

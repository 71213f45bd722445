"""``postil explain``: which words and features led a model to its answer."""

import argparse
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from postil.commands.console import make_console, show_table
from postil.commands.kinds.table import refuse
from postil.commands.labelled import add_task_argument, one_task
from postil.commands.models import open_model, tagger_of_names, take_inputs, take_model, warn_of_long_sentences
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.reading import CHARACTERS, add_reading_arguments, reading_options, warn_of_unspaced
from postil.errors import DataError, printable
from postil.html import Markup, joined
from postil.metrics.tables import Table
from postil.models.explaining.explanation import Explanation
from postil.models.explaining.places import Place, place_of_span, places_of_entities, places_of_words
from postil.models.explaining.tree_explanation import PhraseEffect, TreeExplanation
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import tokens_of
from postil.models.tree_classifier import TreeClassifier
from postil.tagging.options import check_columns
from postil.text import Segmenter, Sentence, Tree, bracketed
from postil.text.formats import read
from postil.text.output import write_text

DESCRIPTION = """\
Explain why a model found an entity, or why not. For a tree classifier, explain the label of the sentence.

  postil explain "Angela Merkel met Tim Cook in Cupertino."     the installed English model (package postil-english)
  postil explain ner.postil "Museums in Paris are amazing."
  postil explain ner.postil "Museums in Paris are amazing." --entity Paris --label PER
  postil explain ner.postil "Museums in Paris are amazing." --span 0:1 --label O      tokens are numbered from 0
  postil explain ner.postil "Museums in Paris are amazing ." --from tokens --json
  postil explain pos.postil "Time flies" --entity flies                               a model of single words
  postil explain sentiment.postil "(3 (2 not) (1 bad))" --from trees                 a tree: its words and phrases
  postil explain ner.postil "Museums in Paris are amazing." --report why.html         an HTML page

By default, every entity that the model finds is explained. The log-odds of an entity, log p / (1 - p), are 0 if it is
as likely as not. Every word and every feature contributes to them. "left out" is the decrease of the log-odds when the
word is replaced by one that the model does not know. "gradient" is gradient times input: an estimate that also
separates the features of each word (with --json). docs/how-to/explain.md has the formulas.

In a tree, each word and phrase is removed in turn; its sibling takes the place of their parent. "left out" is then the
decrease of the probability of the label.
"""
SHOWN = "--text --entity --span --label --task --from --json --report --overwrite".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="[MODEL] [TEXT | FILE…]",
        nargs="*",
        help="model file or name (default: the installed English model); what to explain (default: standard input)",
    )
    parser.add_argument("--text", metavar="TEXT", help="explain this text")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--entity", metavar="TEXT", help="explain these words wherever they occur")
    which.add_argument("--span", metavar="START:END", type=_span, help="explain these tokens: 2:3 is the third")
    parser.add_argument("--label", metavar="L", help="explain this label (default: the one that the model predicts)")
    add_task_argument(parser, "multi-task models: explain this task")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write the explanations as an HTML page")
    add_overwrite_argument(parser)
    add_reading_arguments(parser, what="the input", default="text")


def run(arguments: argparse.Namespace) -> int:
    arguments.model, inputs = take_model(arguments.words)
    arguments.text, arguments.files = take_inputs(inputs, arguments.text)
    for name in ("entity", "label"):  # in a locale that cannot decode them, they are typed in UTF-8 all the same
        if getattr(arguments, name) is not None:
            typed = getattr(arguments, name).encode("utf8", "surrogateescape")
            setattr(arguments, name, typed.decode("utf8", "backslashreplace"))
    if arguments.report is not None:
        check_output(arguments.report, "report", "report", inputs=[arguments.model], overwrite=arguments.overwrite)
    model: Any = open_model(arguments.model)
    # Without --task, entities are explained: those of the first task with spans, as in documents.
    model = (None if arguments.task else tagger_of_names(model)) or one_task(model, arguments.task)
    check_columns(model, arguments.feature_columns)
    options = reading_options(arguments, model.model.segmenter)
    sentences = _sentences(arguments, options)
    finds_entities = isinstance(model, SentenceEstimator)
    if not finds_entities:
        return _explain_trees(model, sentences, arguments)
    warn_of_long_sentences(model, map(len, sentences))
    chosen = list(_chosen(model, sentences, arguments, options["segmenter"]))
    explanations = [model.explain(tokens_of(at.sentence), at.start, at.end, at.label) for at in chosen]
    if arguments.report is not None:
        _write_page(arguments, [(f"{one.text} as {one.label}", one.drawn()) for one in explanations])
    if arguments.json:
        return _print_json(explanations)

    if not explanations:
        show_nothing([token for sentence in sentences for token in sentence.tokens], arguments.label)
    show(explanations)
    return _told_of_page(arguments)


def _explain_trees(classifier: Any, sentences: list[Sentence], arguments: argparse.Namespace) -> int:
    """Explain the label of each sentence: the predicted one, or ``--label``."""
    from postil.tagging.tree_answers import tree_over

    for option in ("entity", "span"):
        refuse(arguments, option, "a tree classifier explains whole sentences")
    trees = [tree_over(sentence, classifier.config.tree) for sentence in sentences]
    explanations = [classifier.explain(tree, arguments.label) for tree in trees]
    if arguments.report is not None:
        answers = [nodes.drawn() for nodes in classifier.predict_nodes(trees)]
        drawn = [joined([answer, one.drawn()]) for answer, one in zip(answers, explanations, strict=True)]
        titles = [f"{one.label}: {' '.join(word.word for word in one.words)}" for one in explanations]
        _write_page(arguments, list(zip(titles, drawn, strict=True)))
    if arguments.json:
        return _print_json(explanations)

    show_trees(classifier, trees, explanations)
    return _told_of_page(arguments)


def _write_page(arguments: argparse.Namespace, explanations: list[tuple[str, Markup]]) -> None:
    from postil.reports.data import explanation_page

    write_text(arguments.report, [explanation_page(Path(arguments.model).stem, explanations)])


def _told_of_page(arguments: argparse.Namespace) -> int:
    if arguments.report is not None:
        print(f"\nThe report is in {printable(str(arguments.report))}: open it in a browser.")
    return 0


def _print_json(explanations: list[Any]) -> int:
    print(json.dumps({"explanations": [one.to_dict() for one in explanations]}, indent=2, ensure_ascii=False))
    return 0


def _span(text: str) -> tuple[int, int]:
    start, colon, end = text.partition(":")
    if not colon or not (start.isdecimal() and end.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be START:END in tokens from 0, such as 2:3 (got {text!r})")
    return int(start), int(end)


def _sentences(arguments: argparse.Namespace, options: dict[str, Any]) -> list[Sentence]:
    sources: list[Any] = arguments.files or ["-"]
    if arguments.text is not None:
        if not arguments.text.strip():
            raise DataError("the text is empty", expected="words", got=repr(arguments.text))
        sources = [io.BytesIO(arguments.text.encode("utf8", "surrogateescape"))]
    sentences: list[Sentence] = []
    for source in sources:
        with read(source, **options) as reading:
            if not options["segmenter"].characters:
                warn_of_unspaced(reading)
            sentences += reading
    return sentences


# ------------------------------------------------------------------------------------------------ what to explain


def _chosen(
    model: Any, sentences: list[Sentence], arguments: argparse.Namespace, segmenter: Segmenter
) -> Iterator[Place]:
    if arguments.span is not None:
        start, end = arguments.span
        yield place_of_span(sentences, start, end, arguments.label, "--span")
    elif arguments.entity is not None:
        is_raw = arguments.source_format in ("text", CHARACTERS)
        words = segmenter.tokenise(arguments.entity).tokens if is_raw else arguments.entity.split()
        yield from places_of_words(sentences, words, arguments.label, "--entity")
    else:
        instead = "--entity WORD or --span START:END"
        yield from places_of_entities(model, sentences, arguments.label, what="--label", instead=instead)


# ------------------------------------------------------------------------------------------------ on a terminal


FOR, AGAINST = "green", "red"
BAR = 16  # characters of the longest bar
MOST_WORDS = 8  # of longer sentences only the words that matter are listed
SMALL = 0.02  # of the largest contribution: does not matter


class Row(NamedTuple):
    name: str
    left_out: float | None
    gradient: float | None
    is_explained: bool = False


def show(explanations: Sequence[Explanation], console: Console | None = None) -> None:
    """Print explanations, one below the other."""
    console = console or make_console()
    for explanation in explanations:
        _show_one(console, explanation)


def show_nothing(tokens: Sequence[str], label: str | None) -> None:
    """Report that there is no entity in these tokens, and how to ask about any words."""
    console = make_console()
    console.print(Text(f"No {label or 'entity'} found in: {' '.join(tokens)}"), soft_wrap=True)
    console.print("Ask about any words: --entity TEXT or --span START:END, with --label L for one label.")


def _show_one(console: Console, explanation: Explanation) -> None:
    console.print()
    console.print(_sentence(explanation))
    console.print(_verdict(explanation))
    words, others = _rows_of_words(explanation)
    _show_rows(console, "word", words)
    if others:
        console.print(Text(f"  {others} other words contribute less than {_limit(explanation):.2f} each", style="dim"))
    _show_rows(console, "feature", [Row(name, c.left_out, c.gradient) for name, c in explanation.features.items()])
    if explanation.measure == "log-odds":
        parts = {"words": explanation.of_words, "transitions": explanation.of_transitions}
        _show_rows(console, "comes from", [Row(name, None, part) for name, part in parts.items()], ("log-odds",))
    unknown = f"With all words unknown, {explanation.measure} {_signed(explanation.unknown)}."
    console.print(Text(f"\n+ supports {explanation.label}, - opposes it. {unknown}", style="dim"))


def _sentence(explanation: Explanation) -> Text:
    """The tokens in the colour of their contributions, the explained ones in brackets."""
    line, limit = Text(), 5 * _limit(explanation)
    for i, word in enumerate(explanation.words):
        value = word.gradient if word.left_out is None else word.left_out
        style = _colour(value) if abs(value) >= limit and limit > 0 else ""
        inside = explanation.start <= i < explanation.end
        line.append(" " if i else "")
        line.append("[" if i == explanation.start else "", "bold")
        line.append(word.word, f"bold {style}" if inside else style)
        line.append(f"]{explanation.label}" if i == explanation.end - 1 else "", "bold")
    return line


def _verdict(explanation: Explanation) -> Text:
    if explanation.probability is None:
        text = f" scores {'above' if explanation.value > 0 else 'below'} the threshold of {explanation.label}: "
        return Text.assemble((explanation.text, "bold"), text, (_signed(explanation.value), "bold"))
    text = f": probability {_probability(explanation.probability)}, log-odds "
    return Text.assemble(
        (f"{explanation.text} as {explanation.label}", "bold"), text, (_signed(explanation.value), "bold")
    )


def _probability(probability: float) -> str:
    """Never rounded to certainty."""
    if 0.0001 <= probability <= 0.9999:
        return f"{100 * probability:.2f} %"
    return "above 99.99 %" if probability > 0.5 else "below 0.01 %"


def _signed(value: float) -> str:
    """Two digits; no sign if they are 0."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def _rows_of_words(explanation: Explanation) -> tuple[list[Row], int]:
    """The words in the order of the sentence, and the number of those that are not listed."""
    limit = _limit(explanation) if len(explanation.words) > MOST_WORDS else 0.0
    rows = [
        Row(word.word, word.left_out, word.gradient, explanation.start <= i < explanation.end)
        for i, word in enumerate(explanation.words)
    ]
    listed = [row for row in rows if row.is_explained or _largest([row]) >= limit]
    return listed, len(rows) - len(listed)


def _limit(explanation: Explanation) -> float:
    return SMALL * _largest([Row(word.word, word.left_out, word.gradient) for word in explanation.words])


def _largest(rows: Iterable[Row]) -> float:
    return max((abs(v) for row in rows for v in (row.left_out, row.gradient) if v is not None), default=0.0)


def _show_rows(
    console: Console, title: str, rows: Sequence[Row], columns: tuple[str, ...] = ("left out", "gradient")
) -> None:
    scale = _largest(rows)
    table = RichTable(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 2, 0, 0))
    table.add_column(Text(f"  {title}"), min_width=20, overflow="fold")
    for column in columns:
        table.add_column(Text(column), justify="right")
        table.add_column("", min_width=BAR)
    for row in rows:
        values = (row.left_out, row.gradient)[-len(columns) :]
        name = Text(("▸ " if row.is_explained else "  ") + row.name, "bold" if row.is_explained else "")
        table.add_row(name, *(cell for value in values for cell in _cells(value, scale)))
    console.print()
    console.print(table)


def _cells(value: float | None, scale: float) -> tuple[Text, Text]:
    """The figure and its bar, solid for what speaks for the label and light for what speaks against it."""
    if value is None:
        return Text("too far", "dim"), Text("")
    length = round(BAR * abs(value) / scale) if scale else 0
    bar = ("█" if value > 0 else "░") * length
    return Text(_signed(value), _colour(value) if length else ""), Text(bar, _colour(value))


def _colour(value: float) -> str:
    return FOR if value > 0 else AGAINST


# ------------------------------------------------------------------------------------------------ trees on a terminal


MOST_PHRASES = 10


def show_trees(classifier: TreeClassifier, trees: Sequence[Tree], explanations: Sequence[TreeExplanation]) -> None:
    """Print explanations one after the other."""
    console = make_console()
    for tree, explanation in zip(trees, explanations, strict=True):
        _show_tree(console, classifier, tree, explanation)


def _show_tree(console: Console, classifier: TreeClassifier, tree: Tree, explanation: TreeExplanation) -> None:
    labels = [node.label for node in classifier.predict_nodes([tree])[0]]
    console.print(Text(bracketed(tree.binarised(classifier.config.binarise).with_labels(labels))), soft_wrap=True)
    console.print(Text(f"{explanation.label}: probability {explanation.probability:.4f}", style="bold green"))
    show_table(console, _words(explanation))
    if explanation.phrases:
        show_table(console, _phrases(explanation))
    console.print()


def _words(explanation: TreeExplanation) -> Table:
    """Each word with its gradient times input and the effect of removing it, if it can be removed."""
    alone = {phrase.start: phrase.effect for phrase in explanation.phrases if phrase.end == phrase.start + 1}
    rows = [
        (word.word, _signed_effect(word.effect), _signed_effect(alone.get(word.position))) for word in explanation.words
    ]
    note = "gradient: of the log-probability, times input; left out: decrease of the probability"
    return Table("Words", ("word", "gradient", "left out"), rows, note)


def _phrases(explanation: TreeExplanation) -> Table:
    def strength(phrase: PhraseEffect) -> float:
        return -abs(phrase.effect)

    longer = sorted((phrase for phrase in explanation.phrases if phrase.end > phrase.start + 1), key=strength)
    rows = [
        (phrase.text, f"{phrase.start}:{phrase.end}", _signed_effect(phrase.effect)) for phrase in longer[:MOST_PHRASES]
    ]
    note = f"and {len(longer) - MOST_PHRASES:,} with smaller effects" if len(longer) > MOST_PHRASES else ""
    return Table("Phrases left out", ("phrase", "words", "left out"), rows, note)


def _signed_effect(effect: float | None) -> str:
    return "" if effect is None else f"{effect:+.4f}"

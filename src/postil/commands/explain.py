"""``postil explain``: which words and features led a model to its answer."""

import argparse
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from postil.commands import models
from postil.commands.console import make_console, say, show_table
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, option, refuse
from postil.commands.reading import CHARACTERS, reading_arguments, reading_options, warn_of_unspaced
from postil.html import Markup, joined
from postil.html.highlight import Effect
from postil.metrics.tables import Table
from postil.models import Explanation, TreeClassifier, TreeExplanation
from postil.models.explaining.explanation import Place, place_of_span, places_of_entities, places_of_words
from postil.models.sentences import tokens_of
from postil.tagging.options import check_columns
from postil.text import Sentence, bracketed, read

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
word is replaced by an unknown word. "gradient" is gradient times input: an estimate that also separates the features
of each word (with --json). docs/how-to/explain.md has the formulas.

In a tree, each word and phrase is removed in turn; its sibling takes the place of their parent. "left out" is then the
decrease of the probability of the label.
"""
SHOWN = "--text --entity --span --label --task --from --json --report --overwrite"


def _span(text: str) -> tuple[int, int]:
    start, colon, end = text.partition(":")
    if not colon or not (start.isdecimal() and end.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be START:END in tokens from 0, such as 2:3 (got {text!r})")
    return int(start), int(end)


OPTIONS = {
    "": [
        option("[MODEL] [TEXT | FILE…]", models.WORDS_HELP.format("explain"), nargs="*", dest="words"),
        option("--text TEXT", "explain this text"),
        option("--entity TEXT", "explain these words wherever they occur", instead="which"),
        option("--span START:END", "explain these tokens: 2:3 is the third", type=_span, instead="which"),
        option("--label L", "explain this label (default: the one that the model predicts)"),
        option("--task NAME", "multi-task models: use this task"),
        JSON,
        option("--report FILE", "write the explanations as an HTML page", type=Path, writes="report"),
        OVERWRITE,
    ],
    "reading": reading_arguments(default="text"),
}


def run(arguments: Namespace) -> int:
    arguments.model, inputs = models.take_model(arguments.words, arguments.text)
    arguments.text, arguments.files = models.take_inputs(inputs, arguments.text)
    for name in ("entity", "label"):  # in a locale that cannot decode them, they are typed in UTF-8 all the same
        if getattr(arguments, name) is not None:
            typed = getattr(arguments, name).encode("utf8", "surrogateescape")
            setattr(arguments, name, typed.decode("utf8", "backslashreplace"))
    model: Any = models.open_model(arguments.model)
    model = models.one_task(model, arguments.task, needed=False)
    check_columns(model, arguments.feature_columns)
    options = reading_options(arguments, model.model.segmenter)
    sentences: list[Sentence] = []
    for source in models.typed_source(arguments, "the text"):
        with read(source, **options) as reading:
            warn_of_unspaced(reading, options["segmenter"])
            sentences += reading
    if isinstance(model, TreeClassifier):
        return _explain_trees(model, sentences, arguments)
    models.warn_of_long_sentences(model, map(len, sentences))
    if arguments.span is not None:
        start, end = arguments.span
        places: Iterable[Place] = [place_of_span(sentences, start, end, arguments.label, "--span")]
    elif arguments.entity is not None:
        is_raw = arguments.source_format in ("text", CHARACTERS)
        words = options["segmenter"].tokenise(arguments.entity).tokens if is_raw else arguments.entity.split()
        places = places_of_words(sentences, words, arguments.label, "--entity")
    else:
        instead = "--entity WORD or --span START:END"
        places = places_of_entities(model, sentences, arguments.label, what="--label", instead=instead)
    chosen = list(places)
    explanations = [model.explain(tokens_of(at.sentence), at.start, at.end, at.label) for at in chosen]

    def show() -> None:
        if not explanations:
            text = " ".join(token for sentence in sentences for token in sentence.tokens)
            say(f"No {arguments.label or 'entity'} found in: {text}")
            say("Ask about any words: --entity TEXT or --span START:END, with --label L for one label.")
        for explanation in explanations:
            _show(explanation)

    drawn = [(f"{one.text} as {one.label}", one.drawn()) for one in explanations] if arguments.report else []
    result = {"explanations": [one.to_dict() for one in explanations]}
    return present(arguments, result, show, lambda: _page(arguments, drawn))


def _explain_trees(classifier: TreeClassifier, sentences: list[Sentence], arguments: Namespace) -> int:
    """Explain the label of each sentence: the predicted one, or ``--label``."""
    from postil.text.trees.treebank import tree_over

    refuse(arguments, "a tree classifier explains whole sentences", "entity", "span")
    trees = [tree_over(sentence, classifier.config.tree) for sentence in sentences]
    explanations = [classifier.explain(tree, arguments.label) for tree in trees]

    def show() -> None:
        for tree, nodes, explanation in zip(trees, classifier.predict_nodes(trees), explanations, strict=True):
            say(bracketed(tree.binarised(classifier.config.binarise).with_labels([node.label for node in nodes])))
            say(f"{explanation.label}: probability {explanation.probability:.4f}", style="bold green")
            for table in _tables_of(explanation):
                show_table(table)
            print()

    def page() -> str:
        answers = zip(classifier.predict_nodes(trees), explanations, strict=True)
        titles = [f"{one.label}: {' '.join(word.word for word in one.words)}" for one in explanations]
        drawn = [joined([nodes.drawn(), one.drawn()]) for nodes, one in answers]
        return _page(arguments, list(zip(titles, drawn, strict=True)))

    return present(arguments, {"explanations": [one.to_dict() for one in explanations]}, show, page)


MOST_PHRASES = 10


def _tables_of(explanation: TreeExplanation) -> Iterator[Table]:
    """Each word with its gradient and the effect of removing it, and the strongest phrases."""

    def signed(effect: float | None) -> str:
        return "" if effect is None else f"{effect:+.4f}"

    alone, longer = explanation.left_out()
    words = [(word.word, signed(word.effect), signed(alone.get(word.position))) for word in explanation.words]
    note = "gradient: of the log-probability, times input; left out: decrease of the probability"
    yield Table("Words", ("word", "gradient", "left out"), words, note)
    if explanation.phrases:
        rows = [(one.text, f"{one.start}:{one.end}", signed(one.effect)) for one in longer[:MOST_PHRASES]]
        note = f"and {len(longer) - MOST_PHRASES:,} with smaller effects" if len(longer) > MOST_PHRASES else ""
        yield Table("Phrases left out", ("phrase", "words", "left out"), rows, note)


def _page(arguments: Namespace, explanations: list[tuple[str, Markup]]) -> str:
    from postil.reports.data import explanation_page

    return explanation_page(Path(arguments.model).stem, explanations)


# ------------------------------------------------------------------------------------------------ on a terminal


FOR, AGAINST = "green", "red"
BAR = 16  # characters of the longest bar
MOST_WORDS = 8  # of longer sentences only the words that matter are listed
SMALL = 0.02  # of the largest contribution: does not matter


def _largest(rows: Iterable[Effect]) -> float:
    """Of all figures in rows of effects: left out, and by the gradient."""
    return max((abs(value) for row in rows for value in row.values if value is not None), default=0.0)


def _show(explanation: Explanation) -> None:
    """The sentence, the verdict, and what each word and each feature contributes."""
    words = [
        Effect(word.word, (word.left_out, word.gradient), explanation.start <= i < explanation.end)
        for i, word in enumerate(explanation.words)
    ]
    limit = SMALL * _largest(words)
    line = Text()  # the tokens in the colour of their contributions, the explained ones in brackets
    for i, row in enumerate(words):
        value = next((value for value in row.values if value is not None), 0.0)
        style = _colour(value) if abs(value) >= 5 * limit > 0 else ""
        line.append(" " if i else "")
        line.append("[" if i == explanation.start else "", "bold")
        line.append(row.name, f"bold {style}" if row.is_explained else style)
        line.append(f"]{explanation.label}" if i == explanation.end - 1 else "", "bold")
    say("\n", line, wrap=True)
    if explanation.probability is None:
        side = "above" if explanation.value > 0 else "below"
        title, text = explanation.text, f" scores {side} the threshold of {explanation.label}: "
    else:
        title, p = f"{explanation.text} as {explanation.label}", explanation.probability
        rounded = f"{100 * p:.2f} %" if 0.0001 <= p <= 0.9999 else "above 99.99 %" if p > 0.5 else "below 0.01 %"
        text = f": probability {rounded}, log-odds "
    say((title, "bold"), text, (_signed(explanation.value), "bold"))
    listed = [row for row in words if row.is_explained or len(words) <= MOST_WORDS or _largest([row]) >= limit]
    _show_rows("word", listed)
    if len(listed) < len(words):
        say(f"  {len(words) - len(listed)} other words contribute less than {limit:.2f} each", style="dim")
    _show_rows("feature", [Effect(name, (c.left_out, c.gradient)) for name, c in explanation.features.items()])
    if explanation.measure == "log-odds":
        parts = {"words": explanation.of_words, "transitions": explanation.of_transitions}
        _show_rows("comes from", [Effect(name, (part,)) for name, part in parts.items()], ("log-odds",))
    unknown = f"With all words unknown, {explanation.measure} {_signed(explanation.unknown)}."
    say(f"\n+ supports {explanation.label}, - opposes it. {unknown}", style="dim")


def _signed(value: float) -> str:
    """Two digits; no sign if they are 0."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def _colour(value: float) -> str:
    return FOR if value > 0 else AGAINST


def _show_rows(title: str, rows: Sequence[Effect], columns: tuple[str, ...] = ("left out", "gradient")) -> None:
    """Each figure with its bar, solid for what speaks for the label and light for what speaks against it."""
    scale = _largest(rows)
    table = RichTable(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 2, 0, 0))
    table.add_column(Text(f"  {title}"), min_width=20, overflow="fold")
    for column in columns:
        table.add_column(Text(column), justify="right")
        table.add_column("", min_width=BAR)
    for row in rows:
        cells = [Text(("▸ " if row.is_explained else "  ") + row.name, "bold" if row.is_explained else "")]
        for value in row.values:
            if value is None:
                cells += [Text("too far", "dim"), Text("")]
                continue
            length = round(BAR * abs(value) / scale) if scale else 0
            cells.append(Text(_signed(value), _colour(value) if length else ""))
            cells.append(Text(("█" if value > 0 else "░") * length, _colour(value)))
        table.add_row(*cells)
    console = make_console()
    console.print()
    console.print(table)

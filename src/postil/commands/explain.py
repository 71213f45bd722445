"""``postil explain``: which words and features led a model to its answer."""

import argparse
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from postil.commands.kinds.table import refuse
from postil.commands.options.models import open_model, tagger_of_names, take_model, warn_of_long_sentences
from postil.commands.options.reading import (
    CHARACTERS,
    add_format_argument,
    add_reading_arguments,
    format_argument,
    reading_options,
    warn_of_unspaced,
)
from postil.commands.options.tasks import add_task_argument, one_task
from postil.commands.options.writing import add_force_argument, check_output
from postil.errors import ConfigurationError, DataError, printable
from postil.markup import Markup, joined
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import takes_characters, tokens_of
from postil.serving.options import check_columns
from postil.serving.places import Place, place_of_span, places_of_entities, places_of_words
from postil.text import Sentence, tokenise
from postil.text.formats import read
from postil.text.output import write_text
from postil.text.splitting.characters import characters

DESCRIPTION = """\
Explain why a model found an entity, or why not. For a tree classifier, explain the label of the sentence.

  postil explain "Angela Merkel met Tim Cook in Cupertino."     the installed English model (package postil-english)
  postil explain ner.postil "Museums in Paris are amazing."
  postil explain ner.postil "Museums in Paris are amazing." --entity Paris --label PER
  postil explain ner.postil "Museums in Paris are amazing." --span 0:1 --label O      tokens are numbered from 0
  postil explain ner.postil "Museums in Paris are amazing ." --input tokens --json
  postil explain pos.postil "Time flies" --entity flies                               a model of single words
  postil explain sentiment.postil "(3 (2 not) (1 bad))" --input trees                 a tree: its words and phrases
  postil explain ner.postil "Museums in Paris are amazing." --report why.html         an HTML page

By default, every entity that the model finds is explained. The log-odds of an entity, log p / (1 - p), are 0 if it is
as likely as not. Every word and every feature contributes to them. "left out" is the decrease of the log-odds when the
word is replaced by one that the model does not know. "gradient" is gradient times input: an estimate that also
separates the features of each word (with --json). docs/use/explain.md has the formulas.

In a tree, each word and phrase is removed in turn; its sibling takes the place of their parent. "left out" is then the
decrease of the probability of the label.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="[MODEL] [SENTENCE]",
        nargs="*",
        help="model file or name (default: the installed English model); text (default: standard input)",
    )
    add_format_argument(parser, "the sentence", default="text")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--entity", metavar="TEXT", help="explain these words wherever they occur")
    which.add_argument("--span", metavar="START:END", type=_span, help="explain these tokens: 2:3 is the third")
    parser.add_argument("--label", metavar="L", help="explain this label (default: the one that the model predicts)")
    add_task_argument(parser, "models of several tasks: explain this one")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write the explanations as an HTML page")
    add_force_argument(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.model, sentences_given = take_model(arguments.words)
    if len(sentences_given) > 1:
        raise ConfigurationError("explain takes one sentence", expected="a text in quotes", got=len(sentences_given))
    arguments.sentence = sentences_given[0] if sentences_given else "-"
    for name in ("entity", "label"):  # in a locale that cannot decode them, they are typed in UTF-8 all the same
        if getattr(arguments, name) is not None:
            typed = getattr(arguments, name).encode("utf8", "surrogateescape")
            setattr(arguments, name, typed.decode("utf8", "backslashreplace"))
    if arguments.report is not None:
        check_output(arguments.report, "report", "report", inputs=[arguments.model], force=arguments.force)
    model: Any = open_model(arguments.model)
    # Without --task, entities are explained: those of the first task with spans, as in documents.
    model = (None if arguments.task else tagger_of_names(model)) or one_task(model, arguments.task)
    check_columns(model, arguments.feature_columns)
    by_characters = takes_characters(model.fitted_parts()) or arguments.input == CHARACTERS
    sentences = _sentences(arguments, by_characters)
    finds_entities = isinstance(model, SentenceEstimator)
    if not finds_entities:
        return _explain_trees(model, sentences, arguments)
    warn_of_long_sentences(model, map(len, sentences))
    chosen = list(_chosen(model, sentences, arguments, by_characters))
    explanations = [model.explain(tokens_of(at.sentence), at.start, at.end, at.label) for at in chosen]
    if arguments.report is not None:
        _write_page(arguments, [(f"{one.text} as {one.label}", one.drawn()) for one in explanations])
    if arguments.json:
        return _print_json(explanations)
    from postil.commands.terminal import explanation as display

    if not explanations:
        display.show_nothing([token for sentence in sentences for token in sentence.tokens], arguments.label)
    display.show(explanations)
    return _told_of_page(arguments)


def _explain_trees(classifier: Any, sentences: list[Sentence], arguments: argparse.Namespace) -> int:
    """Explain the label of each sentence: the predicted one, or ``--label``."""
    from postil.serving.tree_answers import tree_over

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
    from postil.commands.terminal import tree_explanation as display

    display.show(classifier, trees, explanations)
    return _told_of_page(arguments)


def _write_page(arguments: argparse.Namespace, explanations: list[tuple[str, Markup]]) -> None:
    from postil.reports.explanations import explanation_page

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


def _sentences(arguments: argparse.Namespace, by_characters: bool) -> list[Sentence]:
    given = arguments.sentence
    source = "-" if given == "-" else io.BytesIO(given.encode("utf8", "surrogateescape"))
    if given != "-" and not given.strip():
        raise DataError("the sentence is empty", expected="words", got=repr(given))
    # The other commands take files. (Path.is_file would fail on sentences that are too long for a name.)
    if given != "-" and os.path.isfile(given):  # noqa: PTH113
        raise DataError(
            "this is the name of a file", expected=f"a sentence; for its text: explain MODEL < {given}", got=given
        )
    with read(source, format_argument(arguments), **reading_options(arguments, by_characters)) as reading:
        if not by_characters:
            warn_of_unspaced(reading)
        return list(reading)


# ------------------------------------------------------------------------------------------------ what to explain


def _chosen(
    model: Any, sentences: list[Sentence], arguments: argparse.Namespace, by_characters: bool
) -> Iterator[Place]:
    if arguments.span is not None:
        start, end = arguments.span
        yield place_of_span(sentences, start, end, arguments.label, "--span")
    elif arguments.entity is not None:
        cut = characters if by_characters else tokenise
        is_raw = arguments.input in ("text", CHARACTERS)
        words = cut(arguments.entity).tokens if is_raw else arguments.entity.split()
        yield from places_of_words(sentences, words, arguments.label, "--entity")
    else:
        instead = "--entity WORD or --span START:END"
        yield from places_of_entities(model, sentences, arguments.label, what="--label", instead=instead)

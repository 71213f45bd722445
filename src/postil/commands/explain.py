"""``postil explain``: which words and features made a model find an entity."""

import argparse
import io
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from postil.commands.models import check_columns, open_model, tell_long_sentences
from postil.commands.reading import add_reading_arguments, reading_options
from postil.errors import ConfigurationError, DataError
from postil.models.answers.labelling import Labelling
from postil.models.sentence_estimator import SentenceEstimator
from postil.models.sentences import tokens_of
from postil.text import Sentence, spans_from_labels, tokenise
from postil.text.formats import FORMATS, read
from postil.text.lines import shortened

DESCRIPTION = """\
Why did the model find this entity? Or why not? Of a classifier of trees: why has the sentence this label?

  postil explain ner.postil "Museums in Paris are amazing."
  postil explain ner.postil "Museums in Paris are amazing." --entity Paris --label PER
  postil explain ner.postil "Museums in Paris are amazing." --span 0:1 --label O      tokens are counted from 0
  postil explain ner.postil "Museums in Paris are amazing ." --input tokens --json
  postil explain pos.postil "Time flies" --entity flies                               labels without spans: one word
  postil explain sentiment.postil "(3 (2 not) (1 bad))" --input trees                 words and phrases of a tree

Explains every entity that the model finds, or the one asked for. The log-odds of an entity, log p / (1 - p), are 0
where it is as likely as not; every word and every feature has contributed to them. "left out" is what the log-odds lose
when the word is really replaced by one that the model does not know. "gradient" is gradient times input, an estimate
which also tells the features of each word apart (with --json). docs/explain.md has the formulas.

A tree's words and phrases are really left out, each in turn: what stands beside one takes the place of both. "left
out" is then what the probability of the label loses.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("sentence", metavar="SENTENCE", nargs="?", default="-", help="text (default: standard input)")
    parser.add_argument("--input", choices=list(FORMATS), default="text", help="format of the sentence (text)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--entity", metavar="TEXT", help="explain these words wherever they stand")
    which.add_argument("--span", metavar="START:END", type=_span, help="explain these tokens, say 2:3 for the third")
    parser.add_argument("--label", metavar="L", help="as this label (default: the one that the model chooses)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    model: Any = open_model(arguments.model)
    check_columns(model, arguments.feature_columns)
    sentences = _sentences(arguments)
    finds_entities = isinstance(model, SentenceEstimator)
    if not finds_entities:
        from postil.commands.tree_explaining import explain

        explain(model, sentences, arguments)
        return 0
    tell_long_sentences(model, map(len, sentences))
    chosen = list(_chosen(model, sentences, arguments))
    found = [model.explain(tokens_of(at.sentence), at.start, at.end, at.label) for at in chosen]
    if arguments.json:
        print(json.dumps({"explanations": [one.as_dict() for one in found]}, indent=2, ensure_ascii=False))
        return 0
    from postil.commands.terminal import explanation as explanation_display

    if not found:
        explanation_display.show_nothing(
            [token for sentence in sentences for token in sentence.tokens], arguments.label
        )
    explanation_display.show(found)
    return 0


def _span(text: str) -> tuple[int, int]:
    start, colon, end = text.partition(":")
    if not colon or not (start.isdecimal() and end.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected START:END in tokens from 0, say 2:3, got {text!r}")
    return int(start), int(end)


def _sentences(arguments: argparse.Namespace) -> list[Sentence]:
    given = arguments.sentence
    source = "-" if given == "-" else io.BytesIO(given.encode("utf8", "surrogateescape"))
    if given != "-" and not given.strip():
        raise DataError("the sentence is empty", expected="words", got=repr(given))
    # The other commands take files. (Path.is_file would fail on sentences that are too long for a name.)
    if given != "-" and os.path.isfile(given):  # noqa: PTH113
        raise DataError("a file's name", expected=f"a sentence, or the file's text: explain MODEL < {given}", got=given)
    return list(read(source, arguments.input, **reading_options(arguments)))


# ------------------------------------------------------------------------------------------------ what to explain


class Place(NamedTuple):
    """Tokens of one sentence, and as which label to explain them (None: as the model chooses)."""

    sentence: Sentence
    start: int
    end: int
    label: str | None


def _chosen(model: Any, sentences: list[Sentence], arguments: argparse.Namespace) -> Iterator[Place]:
    if arguments.span is not None:
        start, end = arguments.span
        yield _at(sentences, start, end, arguments.label)
    elif arguments.entity is not None:
        words = tokenise(arguments.entity).tokens if arguments.input == "text" else arguments.entity.split()
        yield from _named(sentences, words, arguments.label)
    else:
        yield from _found(model, sentences, arguments.label)


def _at(sentences: list[Sentence], start: int, end: int, label: str | None) -> Place:
    """A span that counts through all sentences of the text."""
    first = 0
    for sentence in sentences:
        if first <= start < end <= first + len(sentence):
            return Place(sentence, start - first, end - first, label)
        first += len(sentence)
    room = f"0 <= START < END <= {first}" + (", inside one sentence" if len(sentences) > 1 else "")
    raise ConfigurationError("--span", expected=room, got=f"{start}:{end}")


def _named(sentences: list[Sentence], words: list[str], label: str | None) -> Iterator[Place]:
    """Every place where these words stand."""
    places = [
        Place(sentence, start, start + len(words), label)
        for sentence in sentences
        for start in range(len(sentence) - len(words) + 1)
        if words and sentence.tokens[start : start + len(words)] == words
    ]
    if not places:
        tokens = " ".join(token for sentence in sentences for token in sentence.tokens)
        raise ConfigurationError("--entity", expected=f"whole words of: {shortened(tokens)}", got=repr(" ".join(words)))
    yield from places


def _found(model: Any, sentences: list[Sentence], label: str | None) -> Iterator[Place]:
    """The entities that the model finds; with ``label`` only those."""
    learnt = model.fitted_parts().labelling
    scheme = learnt.scheme if isinstance(learnt, Labelling) else learnt.span_scheme
    if scheme == "none":
        raise ConfigurationError(
            "which word?", expected="--entity WORD or --span START:END", got="labels without spans"
        )
    known = learnt.classes if isinstance(learnt, Labelling) else (learnt.label,)
    if label is not None and label not in known:
        raise ConfigurationError("--label of entities", expected=f"one of {', '.join(known)}", got=repr(label))
    model.annotate(sentences)
    for sentence in sentences:
        for span in spans_from_labels(sentence.labels or [], scheme):
            if label in (None, span.label):
                yield Place(sentence, span.start, span.end, span.label)

"""Tagged text on a terminal: names in the colours of their classes, with their probabilities."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from postil.errors import printable
from postil.models.tagger import Tagger
from postil.text import Entity, Sentence

STYLES = {
    "PER": "#101418 on #f3a6d4",
    "LOC": "#101418 on #8fd3e8",
    "ORG": "#101418 on #f2d479",
    "MISC": "#101418 on #b9d99a",
}


def coloured(text: str, entities: Sequence[Entity]) -> Text:
    """The text with its entities in the colours of their labels, and their probabilities where they have any."""
    shown, done = Text(), 0
    for entity in entities:
        style = STYLES.get(entity.label, "reverse")
        shown.append(printable(text[done : entity.start]))
        shown.append(f" {printable(entity.text)} ", style=style)
        figure = "" if entity.probability is None else f" {entity.probability:.2f}"
        shown.append(f"{printable(entity.label)}{figure} ", style=f"{style} bold")
        done = entity.end
    return shown.append(printable(text[done:]))


def show_tagged(console: Console, tagger: Tagger, sentences: Iterable[Sentence]) -> None:
    """Print each text with its entities in colour. Sentences of one text share it."""
    for text, of_text in _by_text(sentences):
        entities = [entity for found in tagger.annotate(of_text) for entity in found]
        console.print(coloured(text.strip("\n"), entities), soft_wrap=True)


def _by_text(sentences: Iterable[Sentence]) -> Iterator[tuple[str, list[Sentence]]]:
    """Each text with its sentences; two texts with the same characters are two objects."""
    group: list[Sentence] = []
    for sentence in sentences:
        if group and group[0].text is not sentence.text:
            yield group[0].text or "", group
            group = []
        group.append(sentence)
    if group:
        yield group[0].text or "", group

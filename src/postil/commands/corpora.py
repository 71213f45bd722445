"""Made-up labelled sentences for the demonstration: nobody's data, small, and hard enough to need the context.

Some words are names of places, of people, or ordinary words, depending on what stands beside them.
"""

from dataclasses import dataclass

import numpy as np

LABELS = ("O", "PER", "LOC")

_PLACES = [
    "Paris",
    "London",
    "Berlin",
    "Lima",
    "Oslo",
    "Austin",
    "Florence",
    "Jordan",
    "Chad",
    "Victoria",
    "Lincoln",
    "Sydney",
]
_FIRST = [
    "Paris",
    "Austin",
    "Florence",
    "Jordan",
    "Chad",
    "Victoria",
    "Lincoln",
    "Sydney",
    "Anna",
    "Boris",
    "Clara",
    "Diego",
    "Edda",
    "Farid",
]
_LAST = ["Hilton", "London", "Moss", "Reed", "Stone", "Vale", "Lima", "Banks", "Berlin", "Marsh"]
_THINGS = ["museums", "cafés", "bridges", "parks", "gardens", "markets", "streets", "theatres"]
_QUALITIES = ["amazing", "quiet", "crowded", "lovely", "famous", "dull", "expensive"]
_MOVES = ["flew", "drove", "walked", "travelled", "returned", "moved"]
_VERBS = ["likes", "paints", "remembers", "describes", "studied", "praised"]

# {P} is a place, {F} a first name, {L} a last name: these carry labels; the others are ordinary words.
_PATTERNS = (
    "{things} in {P} are {quality}",
    "{F} {L} {moves} to {P}",
    "{F} {L} {verb} {things}",
    "{moves} from {P} to {P} with {F}",
    "the {things} of {P} are {quality}",
    "{F} and {F} {L} are {quality}",
    "near {P} {F} {verb} the {things}",
    "{quality} {things} near {P}",
)
_WORDS = {
    "{things}": _THINGS,
    "{quality}": _QUALITIES,
    "{moves}": _MOVES,
    "{verb}": _VERBS,
    "{P}": _PLACES,
    "{F}": _FIRST,
    "{L}": _LAST,
}
_LABEL_OF = {"{P}": "LOC", "{F}": "PER", "{L}": "PER"}


@dataclass(frozen=True)
class LabelledSentence:
    tokens: tuple[str, ...]
    labels: tuple[str, ...]


def made_up_sentences(count: int, rng: np.random.Generator) -> list[LabelledSentence]:
    """``count`` sentences drawn from the patterns above."""
    return [_sentence(str(rng.choice(_PATTERNS)).split(), rng) for _ in range(count)]


def _sentence(pattern: list[str], rng: np.random.Generator) -> LabelledSentence:
    tokens = tuple(str(rng.choice(_WORDS[part])) if part in _WORDS else part for part in pattern)
    return LabelledSentence(tokens, tuple(_LABEL_OF.get(part, "O") for part in pattern))

"""The labelled corpora of the English model, read with their own guidelines in mind.

Every corpus annotates names in its own way. What it annotates is mapped to PER, LOC, ORG and MISC. What it does not
annotate is unknown there: ``O|MISC`` is a token that is not a person, a place or an organisation, ``?`` any label. So a
corpus never teaches the model that something is *not* a name only because its annotators were not asked for it.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from postil.text import Frame, frames_of, read

CLASSES = ("PER", "LOC", "ORG", "MISC")
UNKNOWN = "?"
NOT_CORE = "O|MISC"
"""The label of a token that is in no person, place or organisation."""


class Part(NamedTuple):
    """Sentences and their labels."""

    X: list[list[str]]
    y: list[list[str]]

    def __add__(self, other: "Part") -> "Part":  # type: ignore[override]
        return Part(self.X + other.X, self.y + other.y)


# ------------------------------------------------------------------------------------------------ names

_CROSSNER = {
    **dict.fromkeys(("person", "politician", "scientist", "musicalartist", "writer"), "PER"),
    **dict.fromkeys(("country", "location"), "LOC"),
    **dict.fromkeys(("organisation", "politicalparty", "university", "band"), "ORG"),
    **dict.fromkeys(("misc", "event", "election", "award", "album", "song"), "MISC"),
    # A class of CoNLL's names contains neither genres nor proteins; journals are MISC to some and ORG to others.
    **dict.fromkeys(("astronomicalobject", "academicjournal"), UNKNOWN),
    **dict.fromkeys(("musicgenre", "musicalinstrument", "discipline", "theory", "protein", "enzyme"), NOT_CORE),
    **dict.fromkeys(("chemicalcompound", "chemicalelement"), NOT_CORE),
}


@dataclass(frozen=True, kw_only=True)
class Names:
    """One corpus of names: how its classes are mapped, and what O means in it."""

    classes: Mapping[str, str]
    """Class of the corpus -> our class, UNKNOWN, or NOT_CORE."""
    outside: str = "O"
    """What its O says: NOT_CORE where it does not annotate MISC, or not all of it."""
    suffix: str = "txt"
    of_tokens: Callable[[Sequence[str], Sequence[str], list[str]], list[str]] | None = None
    """Corrects the labels of a sentence, by its tokens and their parts of speech."""


_SAME = {name: name for name in CLASSES}
_TITLES = frozenset(
    "Mr. Mrs. Ms. Dr. Prof. Mr Mrs Ms Dr Prof Sir Lady Lord President Governor Senator Minister Professor Captain "
    "General Colonel Judge Justice Chancellor King Queen Prince Princess Emperor Tsar Pope Saint St. St Madam".split()
)
_PROPER = ("NNP", "NNPS")
_JOINING = frozenset("of the and & - 's ' for de la von van".split())


def _only_proper(tokens: Sequence[str], tags: Sequence[str], labels: list[str]) -> list[str]:
    """GUM's names were derived from mentions, many of which are whole noun phrases: only proper nouns are sure.

    Spans with other words, titles and proper nouns outside of spans are unknown.
    """
    proper = [tag in _PROPER for tag in tags]
    answer = [UNKNOWN if name and label == NOT_CORE else label for name, label in zip(proper, labels, strict=True)]
    for start, end in _spans(labels):
        inside = range(start, end)
        is_name = proper[start] and proper[end - 1] and all(proper[i] or tokens[i] in _JOINING for i in inside)
        if not is_name or tokens[start] in _TITLES:
            answer[start:end] = [UNKNOWN] * (end - start)
    return answer


def _spans(labels: Sequence[str]) -> list[tuple[int, int]]:
    starts = [i for i, label in enumerate(labels) if label.startswith("B-")]
    ends = []
    for start in starts:
        end = start + 1
        while end < len(labels) and labels[end].startswith("I-"):
            end += 1
        ends.append(end)
    return list(zip(starts, ends, strict=True))


NAMES: dict[str, Names] = {
    "wikigold": Names(classes=_SAME),
    "btc": Names(classes=_SAME, outside=NOT_CORE),
    "wnut17": Names(
        classes={
            "person": "PER",
            "location": "LOC",
            "corporation": "ORG",
            "group": "ORG",
            "creative-work": "MISC",
            "product": "MISC",
        },
        outside=NOT_CORE,
    ),
    "gum_open": Names(
        classes={
            "person": "PER",
            "place": "LOC",
            "organization": "ORG",
            "time": "O",
            **dict.fromkeys(("abstract", "object", "event", "substance", "animal", "plant"), UNKNOWN),
        },
        outside=NOT_CORE,
        suffix="ner.txt",
        of_tokens=_only_proper,
    ),
    "crossner_politics": Names(classes=_CROSSNER),
    "crossner_science": Names(classes=_CROSSNER),
    "crossner_music": Names(classes=_CROSSNER),
}
CROSSNER = tuple(name for name in NAMES if name.startswith("crossner_"))


def read_names(data: Path, corpus: str, part: str) -> Part:
    """One part of a corpus of names, with our labels."""
    names = NAMES[corpus]
    features = (1,) if names.of_tokens is not None else ()
    X, y = [], []
    for sentence in read(data / corpus / f"{part}.{names.suffix}", features=features):
        tokens = list(sentence.tokens)
        labels = [_mapped(label, names) for label in sentence.labels or []]
        if names.of_tokens is not None:
            labels = names.of_tokens(tokens, [row[0] for row in sentence.columns or []], labels)
        X.append(tokens)
        y.append(labels)
    return Part(X, y)


def _mapped(label: str, names: Names) -> str:
    if label == "O":
        return names.outside
    letter, _, name = label.partition("-")
    ours = names.classes[name]
    return names.outside if ours == "O" else ours if ours in (UNKNOWN, NOT_CORE) else f"{letter}-{ours}"


# ------------------------------------------------------------------------------------------------ noise


def with_cases(part: Part, shares: Mapping[str, float], seed: int) -> Part:
    """The part, and copies of some of its sentences in lower and in upper case."""
    rng = random.Random(seed)
    X, y = list(part.X), list(part.y)
    for case, share in shares.items():
        chosen = [i for i in range(len(part.X)) if rng.random() < share]
        X += [in_case(part.X[i], case) for i in chosen]
        y += [part.y[i] for i in chosen]
    return Part(X, y)


def in_case(tokens: Iterable[str], case: str) -> list[str]:
    """Tokens in ``lower`` or ``upper`` case; links and names of accounts stay as they are."""
    change = str.lower if case == "lower" else str.upper
    return [token if token.startswith(("@", "http")) else change(token) for token in tokens]


# ------------------------------------------------------------------------------------------------ parts of speech

_UPOS = {"ud_ewt": "pos.txt", "gum_open": "pos.txt"}
_XPOS = {**_UPOS, "masc_pos": "txt"}
# MASC spells some marks differently, and has tags for which the treebanks have several.
_MASC = {"(": "-LRB-", ")": "-RRB-", '"': "''", "...": ":", ";": ":", "--": ":"}
_PENN = frozenset(
    "NN NNS NNP NNPS IN DT JJ JJR JJS PRP PRP$ RB RBR RBS VB VBD VBP VBZ VBG VBN CC TO CD MD WRB WP WDT WP$ POS UH RP "
    "EX PDT FW LS . , : '' `` -LRB- -RRB- $".split()
)


def read_speech(data: Path, corpus: str, part: str, *, penn: bool) -> Part:
    """One part of a corpus of parts of speech: Penn tags, or universal ones."""
    suffix = (_XPOS if penn else _UPOS)[corpus]
    is_masc = corpus == "masc_pos"
    sentences = list(read(data / corpus / f"{part}.{suffix}", label=1 if penn else 2, features=()))
    X = [list(sentence.tokens) for sentence in sentences]
    y = [[_penn(label) if is_masc else label for label in sentence.labels or []] for sentence in sentences]
    return Part(X, y)


def _penn(tag: str) -> str:
    tag = _MASC.get(tag, tag)
    return tag if tag in _PENN else UNKNOWN


UPOS, XPOS = tuple(_UPOS), tuple(_XPOS)


def read_open_names(data: Path, corpus: str, part: str) -> Part:
    """A corpus of Penn tags as one of names: proper nouns are open, other words are in no core class.

    A word that joins proper nouns (University of Oslo) is open as well.
    """
    speech = read_speech(data, corpus, part, penn=True)
    return Part(speech.X, [_open_names(*pair) for pair in zip(speech.X, speech.y, strict=True)])


def _open_names(tokens: Sequence[str], tags: Sequence[str]) -> list[str]:
    proper = [tag in (*_PROPER, UNKNOWN) for tag in tags]
    labels = [UNKNOWN if is_proper else NOT_CORE for is_proper in proper]
    for i, token in enumerate(tokens):
        if token.lower() in _JOINING and any(proper[:i][-1:]) and any(proper[i + 1 : i + 3]):
            labels[i : i + 2] = [UNKNOWN] * 2
    return labels


# ------------------------------------------------------------------------------------------------ chunks


def read_chunks(data: Path, part: str) -> Part:
    """Chunks of GUM, derived from its trees."""
    sentences = list(read(data / "gum_trees" / f"{part}.ptb", label="chunks", features=()))
    return Part([list(one.tokens) for one in sentences], [list(one.labels or []) for one in sentences])


# ------------------------------------------------------------------------------------------------ semantic roles


ROLES = "srl_ewt"


def read_roles(data: Path, part: str) -> tuple[list[list[str]], list[list[Frame]]]:
    """Sentences of English EWT, and the predicates of each with their roles."""
    sentences = list(read(data / ROLES / f"{part}.conll05.txt", "conll05"))
    return [list(one.tokens) for one in sentences], [list(frames_of(one) or ()) for one in sentences]

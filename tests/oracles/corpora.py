"""Small made-up corpora for tests of whole models."""

from dataclasses import dataclass

import numpy as np

_FIRST = ["Anna", "Boris", "Clara", "Diego", "Edda", "Paris"]
_PLACES = ["Paris", "Lima", "Oslo", "New York", "Rio de Janeiro"]
_PATTERNS = ["P lives in L", "the museums of L are old", "P and P left L", "L", "L P slept", "they met P P"]


def named_entities(count, seed=0, scheme="bio"):
    """Sentences with persons and places as lists of tokens, and their labels."""
    from postil.text.labels.schemes import Span, labels_from_spans

    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        tokens, spans = [], []
        for word in str(rng.choice(_PATTERNS)).split():
            words = str(rng.choice({"P": _FIRST, "L": _PLACES}.get(word, [word]))).split()
            if word in "PL":
                spans.append(Span({"P": "PER", "L": "LOC"}[word], len(tokens), len(tokens) + len(words)))
            tokens += words
        X.append(tokens)
        y.append(labels_from_spans(spans, len(tokens), scheme))
    return X, y


def parts_of_speech(count, seed=0):
    """Labels without a scheme."""
    X, _ = named_entities(count, seed)
    verbs = {"lives", "are", "left", "slept", "met"}
    return X, [["NAME" if word[0].isupper() else "VERB" if word in verbs else "X|Y" for word in tokens] for tokens in X]


def as_conll(X, y):
    """The text of a CoNLL file."""
    return "".join(
        "".join(f"{token}\t{label}\n" for token, label in zip(tokens, labels, strict=True)) + "\n"
        for tokens, labels in zip(X, y, strict=True)
    )


_FRAMES = [
    "A:ARG0 gave:V B:ARG2 the_T:ARG1 W .",
    "the_T:ARG1 was found:V by_A:ARG0 W .",
    "A:ARG0 sold:V the_T:ARG1 W .",
    "W A:ARG0 asked:V B:ARG2 .",
]
_WHEN = ["yesterday:ARGM-TMP", "at_noon:ARGM-TMP", "in_the_garden:ARGM-LOC"]


def semantic_roles(count, seed=0):
    """Sentences with one predicate each, and their frames; the words of a chunk are joined by _."""
    from postil.text import Frame

    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        tokens, labels, predicate = [], [], 0
        for chunk in str(rng.choice(_FRAMES)).split():
            words, _, role = (str(rng.choice(_WHEN)) if chunk == "W" else chunk).partition(":")
            for place, word in enumerate(words.split("_")):
                predicate = len(tokens) if role == "V" else predicate
                choices = {"A": _FIRST[:3], "B": _FIRST[3:], "T": ["book", "map", "lamp"]}.get(word, [word])
                tokens.append(str(rng.choice(choices)))
                labels.append(f"{'I' if place else 'B'}-{role}" if role else "O")
        X.append(tokens)
        y.append([Frame(predicate, labels)])
    return X, y


@dataclass(frozen=True)
class LabelledSentence:
    tokens: tuple[str, ...]
    labels: tuple[str, ...]


_WORDS = {
    "{P}": "Paris London Berlin Lima Oslo Austin Florence Jordan Chad Victoria Lincoln Sydney".split(),
    "{F}": "Paris Austin Florence Jordan Chad Victoria Lincoln Sydney Anna Boris Clara Diego Edda Farid".split(),
    "{L}": "Hilton London Moss Reed Stone Vale Lima Banks Berlin Marsh".split(),
    "{things}": "museums cafés bridges parks gardens markets streets theatres".split(),
    "{quality}": "amazing quiet crowded lovely famous dull expensive".split(),
    "{moves}": "flew drove walked travelled returned moved".split(),
    "{verb}": "likes paints remembers describes studied praised".split(),
}
_LABEL_OF = {"{P}": "LOC", "{F}": "PER", "{L}": "PER"}
_SENTENCES = (
    "{things} in {P} are {quality}",
    "{F} {L} {moves} to {P}",
    "{F} {L} {verb} {things}",
    "{moves} from {P} to {P} with {F}",
    "the {things} of {P} are {quality}",
    "{F} and {F} {L} are {quality}",
    "near {P} {F} {verb} the {things}",
    "{quality} {things} near {P}",
)


def made_up_sentences(count, rng):
    """People and places, told apart by their neighbours alone; easy enough for tiny models. Labels have no scheme."""
    return [_sentence(str(rng.choice(_SENTENCES)).split(), rng) for _ in range(count)]


def _sentence(pattern, rng):
    tokens = tuple(str(rng.choice(_WORDS[part])) if part in _WORDS else part for part in pattern)
    return LabelledSentence(tokens, tuple(_LABEL_OF.get(part, "O") for part in pattern))

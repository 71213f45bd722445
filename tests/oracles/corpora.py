"""Small made-up corpora for tests of whole models."""

import numpy as np

_FIRST = ["Anna", "Boris", "Clara", "Diego", "Edda", "Paris"]
_PLACES = ["Paris", "Lima", "Oslo", "New York", "Rio de Janeiro"]
_PATTERNS = ["P lives in L", "the museums of L are old", "P and P left L", "L", "L P slept", "they met P P"]


def named_entities(count, seed=0, scheme="bio"):
    """Sentences with persons and places as lists of tokens, and their labels."""
    from postil.text.schemes import Span, labels_from_spans

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

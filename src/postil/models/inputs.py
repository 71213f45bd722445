"""Input checks: sentences, labels and trees that users pass to an estimator, in their order, as lists.

Lists, tuples, NumPy arrays, pandas Series, iterators and generators all mean their order: of a Series the positions
count, not the labels of its index. A plain list stays the same object. Items are looked at one by one
only if the set of their types has a surprise, and the tokens of a prediction only if that failed: looking at every
token first would slow tagging down by 3 %.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from numbers import Integral, Real
from typing import Any, TypeAlias

from postil.errors import DataError
from postil.features.inputs import Token
from postil.features.named import FeatureToken
from postil.text import Sentence
from postil.text.labels.schemes import PartialLabel
from postil.text.lines import shortened
from postil.text.trees.tree import Tree

TokenLists: TypeAlias = list[list[Token]]
LabelLists: TypeAlias = list[list[str]]

SHOWN_KEYS = 5  # of a dict, in an error
_SENTENCES = "a list of sentences, each a list of tokens"
_LABELS = "a list with one list of labels for each sentence"
_TOKEN = "must be a string, or a tuple of strings: the form and its columns"
_NO_DICTS = "feature dicts need word_key, the key of the word: Tagger(word_key='word')"


def in_order(values: Any, what: str, expected: str, where: str | None = None) -> list[Any]:
    """The items in their order, as a list; an error for what has no order or no items."""
    if type(values) is list:
        return values
    if isinstance(values, str | bytes | Mapping | Set | Sentence | Tree) or not isinstance(values, Iterable):
        raise DataError(what, expected=expected, got=described(values), where=where)
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        got = "a table: select one column, table[name]"
        raise DataError(what, expected=expected, got=got, where=where)
    # The tolist() of NumPy and pandas turns their scalars into Python's.
    items: Any = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(items, list):
        raise DataError(what, expected=expected, got="an array without dimensions", where=where)
    return items


def described(value: object) -> str:
    """A value for a message: what it is and, where that helps, what to do about it."""
    if value is None:
        return "None"
    if isinstance(value, float) and value != value:
        return "NaN, a missing value"
    if isinstance(value, str):
        return f"the string {shortened(value)}"
    if isinstance(value, Mapping):
        return "a dict"
    if isinstance(value, Sentence):
        return "a Sentence: give its tokens, or call annotate([sentence])"
    if isinstance(value, Integral | Real):
        return f"the number {value}"
    return "bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"


# ------------------------------------------------------------------------------------------------------------ sentences


def listed_sentences(X: Any, name: str = "X", *, word_key: str | None = None) -> TokenLists:
    """Sentences as lists. Their content is checked by ``check_tokens`` if scoring fails.

    With ``word_key`` their tokens are feature dicts with the word under that key.
    """
    if isinstance(X, Mapping):
        got = "a dict: a MultiTaskTagger learns several tasks"
        raise DataError(name, expected=f"must be {_SENTENCES}", got=got)
    X = in_order(X, name, _SENTENCES)
    if set(map(type, X)) - {list}:
        if all(isinstance(tokens, str) for tokens in X):
            got = "a list of strings: for one sentence give [tokens]"
            raise DataError(name, expected=f"must be {_SENTENCES}", got=got)
        if any(isinstance(tokens, Mapping) for tokens in X):
            raise DataError(name, expected=f"must be {_SENTENCES}", got=f"a list of dicts: {_NO_DICTS}")
        X = [in_order(tokens, "a sentence", "a list of tokens", where=f"sentence {i}") for i, tokens in enumerate(X)]
    if word_key is not None:
        return [with_features(tokens, word_key, f"sentence {i}, ") for i, tokens in enumerate(X)]
    sentences: TokenLists = X
    return sentences


def with_features(items: Sequence[Any], word_key: str, where: str = "") -> list[Token]:
    """Feature dicts as tokens with their word."""
    if set(map(type, items)) == {FeatureToken}:
        return list(items)
    tokens: list[Token] = []
    for t, item in enumerate(items):
        place, features = f"{where}token {t}", item[1] if type(item) is FeatureToken else item
        if not isinstance(features, Mapping):
            expected = f"must be a feature dict, by word_key={word_key!r}"
            raise DataError("a token", expected=expected, got=described(features), where=place)
        word = features.get(word_key)
        if not isinstance(word, str):
            keys = ", ".join(repr(key) for key in list(features)[:SHOWN_KEYS]) or "an empty dict"
            keys += ", …" if len(features) > SHOWN_KEYS else ""
            expected, got = f"must have the word under {word_key!r}", keys if word is None else described(word)
            raise DataError("a feature dict", expected=expected, got=got, where=place)
        tokens.append(FeatureToken.of(word, features))
    return tokens


def checked_sentences(X: Any, name: str = "X", *, word_key: str | None = None) -> TokenLists:
    """Sentences as lists of tokens, each of which was looked at."""
    sentences = listed_sentences(X, name, word_key=word_key)
    if _are_plain(sentences):
        return sentences
    return [
        [_token(token, f"sentence {i}, token {t}") for t, token in enumerate(tokens)]
        for i, tokens in enumerate(sentences)
    ]


def checked_sentence(tokens: Any, word_key: str | None = None) -> list[Token]:
    """One sentence as a list of tokens."""
    tokens = in_order(tokens, "a sentence", "a list of tokens")
    if any(isinstance(token, list) for token in tokens):
        got = "a list of lists: give one sentence at a time"
        raise DataError("a sentence", expected="must be a list of tokens", got=got)
    if word_key is not None:
        return with_features(tokens, word_key)
    return tokens if _are_plain([tokens]) else [_token(token, f"token {t}") for t, token in enumerate(tokens)]


def _are_plain(X: TokenLists) -> bool:
    """Whether all tokens are strings, or tuples of strings; of a subclass of these, False."""
    kinds = set(map(type, chain.from_iterable(X)))
    if kinds <= {str} or kinds == {FeatureToken}:
        return True
    if kinds != {tuple}:
        return False
    tokens: Iterable[Any] = chain.from_iterable(X)
    return set(map(type, chain.from_iterable(tokens))) <= {str} and all(chain.from_iterable(X))


def _token(token: Any, where: str) -> Token:
    """The token with Python's own strings instead of NumPy's."""
    if isinstance(token, str):
        return str(token)
    if type(token) is FeatureToken:
        return token
    if isinstance(token, tuple) and token:
        for value in token:
            if not isinstance(value, str):
                raise DataError("a value of a token", expected="must be a string", got=described(value), where=where)
        return tuple(map(str, token))
    got = f"a dict: {_NO_DICTS}" if isinstance(token, Mapping) else described(token)
    raise DataError("a token", expected=_TOKEN, got=got, where=where)


def checked_documents(sentences: Any) -> list[Sentence]:
    """``Sentence`` objects as a list; that each is one, ``tokens_of`` checks."""
    return in_order(sentences, "sentences to annotate", "a list of postil.text.Sentence objects")


# --------------------------------------------------------------------------------------------------------------- labels


def checked_labelled(
    X: Any, y: Any, names: tuple[str, str] = ("X", "y"), *, word_key: str | None = None
) -> tuple[TokenLists, LabelLists]:
    """Sentences and their labels, one label for each token."""
    X = checked_sentences(X, names[0], word_key=word_key)
    y = in_order(y, names[1], _LABELS)
    if len(X) != len(y):
        raise DataError("sentences and label sequences", expected=f"{len(X)} of each", got=f"{len(y)} label sequences")
    if set(map(type, y)) - {list}:
        if y and all(isinstance(labels, str) for labels in y):
            got = f"a list of strings such as {shortened(y[0])}: a tagger needs a label for each token"
            raise DataError(names[1], expected=f"must be {_LABELS}", got=got)
        y = [in_order(labels, "labels", "a list of labels", where=f"sentence {i}") for i, labels in enumerate(y)]
    if not set(map(type, chain.from_iterable(y))) <= {str, PartialLabel}:
        for i, labels in enumerate(y):
            for t, label in enumerate(labels):
                if not isinstance(label, str):
                    where = f"sentence {i}, token {t}"
                    raise DataError("a label", expected="must be a string", got=described(label), where=where)
        y = [[label if isinstance(label, PartialLabel) else str(label) for label in labels] for labels in y]
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if len(tokens) != len(labels):
            where = f"sentence {i}"
            raise DataError("tokens and labels", expected=f"{len(tokens)} labels", got=len(labels), where=where)
    return X, y


def checked_for_scores(X: Any, y: Any, word_key: str | None = None) -> tuple[TokenLists, LabelLists]:
    """Labelled sentences, at least one: an empty list has no score."""
    X, y = checked_labelled(X, y, word_key=word_key)
    if not X:
        raise DataError("nothing to score", expected="at least one sentence", got="none")
    return X, y


def checked_dev(dev: Any, word_key: str | None = None) -> tuple[TokenLists, LabelLists] | None:
    """Held-out sentences with their labels; None if there are none."""
    if dev is None:
        return None
    expected = "a pair (X_dev, y_dev)"
    if not isinstance(dev, tuple | list) or len(dev) != 2:
        got = f"{len(dev)} items" if isinstance(dev, tuple | list) else described(dev)
        raise DataError("dev", expected=expected, got=got)
    if any(isinstance(part, list | tuple) and part and all(isinstance(one, str) for one in part) for part in dev):
        raise DataError("dev", expected=expected, got="sentences without labels")
    X, y = checked_labelled(dev[0], dev[1], ("X_dev", "y_dev"), word_key=word_key)
    return (X, y) if X else None


def checked_label_sequence(labels: Any, tokens: Sequence[Token]) -> list[str]:
    """The labels of one sentence."""
    _, (checked,) = checked_labelled([tokens], [in_order(labels, "labels", "a list of labels")])
    return checked


# ---------------------------------------------------------------------------------------------------------------- trees


def checked_trees(trees: Any, name: str = "trees") -> list[Any]:
    """Trees in any form, as a list; that each is one, ``Tree.of`` checks."""
    expected = "a list of trees"
    if isinstance(trees, Tree) or callable(getattr(trees, "label", None)):
        raise DataError(name, expected=expected, got="one tree: give [tree]")
    items = in_order(trees, name, expected)
    if set(map(type, items)) <= {Tree, list, tuple}:
        return items
    for i, tree in enumerate(items):
        if isinstance(tree, Mapping) or not isinstance(tree, Iterable | Tree):
            expected = "a Tree, nested tuples or tokens"
            raise DataError("a tree", expected=expected, got=described(tree), where=f"tree {i}")
    return [tree.tolist() if hasattr(tree, "tolist") else tree for tree in items]


def checked_root_labels(y: Any, count: int) -> list[str]:
    """One label for each of ``count`` trees; numbers become strings."""
    y = in_order(y, "y", "a list with one label for each tree")
    if len(y) != count:
        raise DataError("trees and labels", expected=f"{count} labels", got=len(y))
    for i, label in enumerate(y):
        if not isinstance(label, str | Integral | Real) or label != label:
            expected = "must be a string or a number"
            raise DataError("a label", expected=expected, got=described(label), where=f"tree {i}")
    return [str(label) for label in y]

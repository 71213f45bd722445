"""Semantic roles: who did what to whom, for every predicate of a sentence.

A sentence is read once for each of its predicates, and every word has its distance to the predicate, the number of
other predicates between, the predicate and the words next to it as extra columns of its features. A CRF then labels the
roles. Predicates are found by a second head of the same network, which reads the sentence without them. The encoder
``dilated`` sees the whole sentence; in ``sentence``, a word also knows its distance to the word being labelled, so that
both position features of the sentence approach (A12) are there. A tagger inside the model may add its labels, such as
parts of speech, as one more column.
"""

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, final

import numpy as np

from postil.arrays import offsets_from_lengths
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.features.inputs import InputFeatures, NumberedSentence, Token, check_columns, forms_of
from postil.models.config import RoleParameters
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Posteriors
from postil.models.estimator import FitData
from postil.models.inputs import checked_sentences, in_order
from postil.models.model import FittedModel, is_encoder
from postil.models.multi_task_tagger import ROLES, MultiTaskTagger, head_of
from postil.models.sentence_estimator import WordEstimator
from postil.models.sentences import sentences_of, tokens_of
from postil.models.settings import takes
from postil.models.tagger import Tagger
from postil.objectives.spans import best_without_repeats
from postil.text import Document, Sentence
from postil.text.document import VERB, Frame, Frames

if TYPE_CHECKING:
    from postil.metrics.roles import RoleScores
    from postil.models.explaining.explanation import Explanation
    from postil.models.fitting.sentences import SentenceFitting

PREDICATES = "predicates"
"""The head that finds them; the other one is called ROLES."""
PREDICATE, OTHER = "predicate", "-"
"""The labels of the first head."""
NEAR = 4
"""Words whose distance to the predicate is a value of its own; further ones share one with others."""
FAR = 32
"""Distances from here on share a value."""
MOST_BETWEEN = 3
"""Other predicates between a word and the predicate that are counted."""
MOST_ROLES = 28
"""Roles that are learned, the most frequent ones: the CRF compares each of their labels with each."""
TAGGER = "tagger"
"""The part of a role labeller that makes a column of its words: the tagger."""
PENN = frozenset(("NN", "NNS", "VB", "VBD", "VBZ", "IN", "DT"))
"""Labels of a tagger of Penn tags."""
_CORE = re.compile(r"A(?:RG)?[0-5A]$")
_NO_DISTANCE, _RARE, _OTHER = "no predicate", "rare", "p"


@dataclass(frozen=True)
class RoleData(FitData):
    """The arguments of ``fit``: see there."""

    _: KW_ONLY
    tagger: Tagger | MultiTaskTagger | None = None


@final
class RoleLabeller(WordEstimator):
    """Finds predicates and labels their semantic roles. Takes the parameters of a Tagger.

    X is a list of sentences, as a Tagger takes them. y has for each sentence a list of its predicates: each a
    ``postil.text.Frame``, or a pair of the place of the predicate and the labels (BIO) of all words. The predicate
    itself has the role V.

    Examples
    --------
    >>> from postil import RoleLabeller
    >>> X = [["Anna", "saw", "Ben"], ["Ben", "called"]] * 20
    >>> y = [[(1, ["B-ARG0", "B-V", "B-ARG1"])], [(1, ["B-ARG0", "B-V"])]] * 20
    >>> labeller = RoleLabeller(hidden=20, layers=2, seed=0).fit(X, y)
    >>> [[(frame.predicate, frame.labels) for frame in frames] for frames in labeller.predict([["Ben", "saw", "Anna"]])]
    [[(1, ['B-ARG0', 'B-V', 'B-ARG1'])]]
    """

    @takes(RoleParameters)
    def __init__(self, **parameters: Any) -> None:
        self._store(parameters)

    KIND: ClassVar[str] = "role-labeller"
    _HAS_TASKS: ClassVar[bool] = True
    _PARTS: ClassVar[Mapping[str, str]] = MappingProxyType({TAGGER: Tagger.KIND})
    _PASSES: ClassVar[Mapping[str, float]] = MappingProxyType({ROLES: 1.0, PREDICATES: 0.5})

    # -------------------------------------------------------------------------------------------- its kind of model

    @classmethod
    def _check_model(cls, model: FittedModel) -> None:
        if sorted(model.heads) != [PREDICATES, ROLES]:
            got = ", ".join(model.heads)[:80]
            raise ModelFileError("heads of a role labeller", expected=f"{PREDICATES}, {ROLES}", got=got)
        places = [i for i, column in enumerate(model.features.columns) if _NO_DISTANCE in column]
        if not places or places[0] < (TAGGER in model.parts):
            expected = "that of its tagger, then the distance" if TAGGER in model.parts else "that of the distance"
            raise ModelFileError("columns of a role labeller", expected=expected, got=len(model.features.columns))
        if len(model.features.columns) != (count := 4 * places[0] + 6):  # see `with_distances`
            raise ModelFileError("columns of a role labeller", expected=count, got=len(model.features.columns))

    def _labels_of(self, y: Sequence[Sequence[str]]) -> LabelCodec:
        """Roles are many and long: without labels of ends, the CRF has half as many, for about the same F1."""
        return replace(LabelCodec.of(y), ends=False)

    def _head(self, model: FittedModel) -> Tagger:
        return head_of(self, model)

    @property
    def classes_(self) -> list[str]:
        """The roles that may occur in answers."""
        return list(self.model.heads[ROLES].codec.classes)

    @property
    def tagger(self) -> Tagger | None:
        """The tagger inside, whose labels are a column of the words, those of training and of every text."""
        tagger: Tagger | None = self.model.parts.get(TAGGER)
        return tagger

    # -------------------------------------------------------------------------------------------- training

    @takes(RoleData)
    def fit(self, *arguments: Any, **options: Any) -> Self:
        """Train on sentences X with the predicates y.

        Parameters
        ----------
        X : sequence of sentences
            Each is a sequence of tokens.
        y : sequence of sequences of Frame, or of pairs (place, labels)
            The predicates of each sentence.
        dev : pair (X_dev, y_dev), optional
            Held-out data: the epoch that scores best on them is kept.
        tagger : fitted Tagger or MultiTaskTagger, optional
            Its labels are a column of the words, those of X and of every text later; it is stored in the model file. Of
            several tasks, that of Penn tags is used, otherwise the only one without spans;
            ``tagger=english["upos"]`` chooses. Default: that of ``warm_start``, if there is one.
        warm_start : fitted RoleLabeller of the same architecture, optional
            Continue from it.
        checkpoint, resume, verbose
            As for a Tagger. Its other arguments cannot be used for semantic roles.

        Returns
        -------
        self
        """
        return cast(Self, super().fit(*arguments, **options))

    @takes(RoleData)
    def fitting(self, *arguments: Any, **options: Any) -> "SentenceFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop."""
        from postil.models.fitting.sentences import SentenceFitting  # training code is loaded only to train

        data = RoleData(*arguments, **options)
        for name in ("annotates", "unlabelled", "teachers", "freeze_encoder", "partial"):
            if getattr(data, name):
                raise ConfigurationError(f"{name} cannot be used for semantic roles")
        if data.warm_start is not None and data.warm_start.KIND != self.KIND:
            raise ConfigurationError("warm start", expected=f"a {self.KIND}", got=f"a {data.warm_start.KIND}")
        tagger = None if data.tagger is None else tagger_of_tags(data.tagger)
        if data.warm_start is not None:
            before: Tagger | None = data.warm_start.model.parts.get(TAGGER)
            if tagger is not None and before is None:
                expected, got = "a role labeller with a tagger, or no tagger here either", "one without"
                raise ConfigurationError("warm start", expected=expected, got=got)
            tagger = before if tagger is None else tagger
        X, y = _checked(data.X, data.y, "y")
        X = with_tags(X, tagger)
        if not any(y):
            raise DataError("nothing to learn from", expected="at least one predicate", got="none")
        counts = Counter(span.label for frames in y for frame in frames for span in frame.roles)
        roles = {role for role, _ in counts.most_common(MOST_ROLES)}
        about = zip(*(_about(X[i], frame.predicate) for i, frames in enumerate(y) for frame in frames), strict=True)
        known = [{value for value, n in Counter(values).items() if n > 1} for values in about]
        tasks = _tasks(X, y, roles, known)
        held_out: Any = data.dev
        if held_out is not None:
            if not isinstance(held_out, tuple | list) or len(held_out) != 2:
                raise DataError("dev", expected="a pair (X_dev, y_dev)", got=f"a {type(held_out).__name__}")
            X_dev, y_dev = _checked(held_out[0], held_out[1], "y_dev")
            held_out = _tasks(with_tags(X_dev, tagger), y_dev, roles, known)
        Xs, ys = ({task: side[i] for task, side in tasks.items()} for i in range(2))
        fitting = SentenceFitting(self, replace(data, X=Xs, y=ys, dev=held_out))
        fitting.model.about["data"] |= {"sentences": len(X), "tokens": sum(map(len, X))}  # not again for each predicate
        if tagger is not None:  # which cuts no texts any more
            fitting.model.parts[TAGGER] = tagger._with_model(replace(tagger.model, segmentation=None))
            if self.segmenter is None:
                fitting.model.segmentation = tagger.model.segmentation
        return fitting

    # -------------------------------------------------------------------------------------------- answers

    def predict(
        self,
        X: Sequence[Sequence[Token]],
        predicates: Sequence[Sequence[int]] | None = None,
        *,
        once: bool = True,
    ) -> list[list[Frame]]:
        """Find the predicates of every sentence and label their roles.

        Parameters
        ----------
        X : sequence of sentences
            Each is a sequence of tokens.
        predicates : sequence of sequences of int, optional
            The places of all predicates of each sentence, if they are known: each is read with the others.
        once : bool, default=True
            Each of the core roles (ARG0 to ARG5, ARGA) occurs at most once for a predicate: the best labelling of
            those that satisfy this, found exactly. Probabilities are those of the model without this condition.
        """
        X = self._with_columns(X)
        if predicates is None:
            predicates = self._predicates(X)
        elif len(predicates) != len(X):
            raise DataError("predicates", expected=f"a list for each of {len(X)} sentences", got=len(predicates))
        pairs = [(i, place) for i, places in enumerate(predicates) for place in sorted(places)]
        for i, place in pairs:
            _check_place(place, X[i], i)
        marked = numbered_pairs(self.model.features, X, pairs, predicates)
        posteriors = Posteriors(self.model.of_task(ROLES))
        decoded, codec = posteriors.decode(marked), posteriors.codec
        assert decoded.spans is not None and decoded.span_probabilities is not None
        of_spans, kinds_of_spans = decoded.spans[:, 0], decoded.spans[:, 3]
        edges = np.searchsorted(of_spans, np.arange(len(pairs) + 1)).tolist()
        figures = decoded.span_probabilities.tolist()
        labels, probabilities = decoded.texts(), [figures[first:end] for first, end in pairwise(edges)]
        core = [n for n, role in enumerate(codec.classes) if role == VERB or (once and _CORE.match(role))]
        is_core = np.isin(kinds_of_spans, core)
        counted, counts = np.unique((of_spans * len(codec.classes) + kinds_of_spans)[is_core], return_counts=True)
        is_amiss = np.zeros(len(pairs), bool)
        is_amiss[counted[counts > 1] // max(1, len(codec.classes))] = True
        begins, kinds = codec.begins_and_classes
        if VERB in codec.classes:
            places = decoded.offsets[:-1] + np.array([place for _, place in pairs], np.int64)
            is_amiss |= ~(begins & (kinds == codec.classes.index(VERB)))[decoded.numbers[places]]
        amiss = np.flatnonzero(is_amiss).tolist()
        for posterior in posteriors.of([marked[row] for row in amiss]):
            # The best labelling in which the predicate is V and no core role is repeated.
            lattice, rows = posterior.lattice, [amiss[n] for n in posterior.which]
            biased = replace(lattice, unary=lattice.unary + posteriors.decoding.bias * codec.opens_entity)
            allowed = np.ones(biased.unary.shape, bool)
            if VERB in codec.classes:
                verbs = lattice.offsets[:-1] + [pairs[row][1] for row in rows]
                allowed[verbs] = begins & (kinds == codec.classes.index(VERB))
            numbers = best_without_repeats(biased.restricted(allowed), begins, kinds, core)
            for row, of_sentence in zip(rows, np.split(numbers, lattice.offsets[1:-1]), strict=True):
                labels[row], probabilities[row] = codec.texts(of_sentence), []
            for (row, *_), probability in zip(*posterior.spans_of(numbers), strict=True):
                probabilities[rows[row]].append(float(probability))
        frames: list[list[Frame]] = [[] for _ in X]
        for (i, place), of_words, figures in zip(pairs, labels, probabilities, strict=True):
            frames[i].append(Frame(place, of_words, probabilities=figures))
        return frames

    def _of_words(self) -> int:
        """The number of columns of the words, the last of them that of the tagger if there is one.

        After them come the distance and what is said about the predicate.
        """
        return next(i for i, column in enumerate(self.model.features.columns) if _NO_DISTANCE in column)

    def _known(self) -> Sequence[Container[str]]:
        """The values of each column about a predicate."""
        return self.model.features.columns[1 + self._of_words() :]

    def _with_columns(self, X: Sequence[Sequence[Token]]) -> list[list[Token]]:
        """The sentences with the columns that the model has learned from, and no others."""
        X, count = checked_sentences(X), self._of_words() - (self.tagger is not None)
        if not count:
            return with_tags([forms_of(tokens) for tokens in X], self.tagger)
        for tokens in X:
            check_columns(tokens, count)
        X = [[token[: 1 + count] for token in tokens if isinstance(token, tuple)] for tokens in X]
        return with_tags(X, self.tagger)

    def predicates(self, X: Sequence[Sequence[Token]]) -> list[list[int]]:
        """The places of the predicates of every sentence."""
        return self._predicates(self._with_columns(X))

    def _predicates(self, X: Sequence[Sequence[Token]]) -> list[list[int]]:
        """Those of sentences with their columns."""
        marked = [with_distances(tokens, None) for tokens in X]
        decoded = Posteriors(self.model.of_task(PREDICATES)).decode(marked, probabilities=False)
        return [[t for t, label in enumerate(labels) if label == PREDICATE] for labels in decoded.texts()]

    def annotate(self, sentences: Sequence[Sentence], *, given: bool = False) -> list[list[Frame]]:
        """Put the predicates and their roles on the sentences, in place, and return them.

        ``given``: the predicates are those that the sentences have already.
        """
        from postil.text.document import frames_of

        before = [frames_of(sentence) or () for sentence in sentences]
        places = [[frame.predicate for frame in frames] for frames in before] if given else None
        answers = self.predict([tokens_of(sentence) for sentence in sentences], places)
        for sentence, old, new in zip(sentences, before, answers, strict=True):
            lemmas = {frame.predicate: frame.lemma for frame in old}
            new[:] = [replace(frame, lemma=lemmas.get(frame.predicate, "")) for frame in new]
            sentence.rest = Frames(tuple(new))
        return answers

    def tag(self, text: str) -> Document:
        """Tokens and sentences of a raw text; ``postil.text.frames_of(sentence)`` are the predicates of each."""
        sentences = sentences_of(text, self.model.segmenter)
        self.annotate(sentences)
        return Document(text, sentences)

    def explain(
        self, tokens: Sequence[Token], predicate: int, start: int, end: int, label: str | None = None
    ) -> "Explanation":
        """Why the words ``start:end`` have a role for the predicate at this place: see ``Tagger.explain``."""
        tagger: Tagger = self.by_task([ROLES])[ROLES]
        (tokens,) = X = self._with_columns([tokens])
        (predicates,) = self._predicates(X)
        return tagger.explain(with_distances(tokens, predicate, self._known(), predicates), start, end, label)

    def evaluate(self, X: Sequence[Sequence[Token]], y: Sequence[Any], *, given: bool = True) -> "RoleScores":
        """Score by the rules of CoNLL-2005. ``given``: the predicates are those of y; otherwise they are found."""
        from postil.metrics.roles import score_roles  # what only held-out data need is loaded with them

        X, gold = _checked(X, y, "y")
        places = [[frame.predicate for frame in frames] for frames in gold] if given else None
        return score_roles(gold, self.predict(X, places), sum(map(len, X)))

    def score(self, X: Sequence[Sequence[Token]], y: Sequence[Any]) -> float:
        """F1 of the arguments of given predicates, 0 to 1."""
        return self.evaluate(X, y).main_score


def tagger_of_tags(model: Any, task: str | None = None) -> Tagger:
    """The tagger whose labels are a column: of several tasks this one, else that of Penn tags or of the only tags."""
    if model.KIND not in (Tagger.KIND, MultiTaskTagger.KIND) or is_encoder(model.model):
        got = "one without labels" if is_encoder(model.model) else f"a {model.KIND}"
        raise ConfigurationError(TAGGER, expected="a tagger of words", got=got)
    heads = model.by_task(None if task is None else [task])
    if len(heads) > 1:
        of_penn = {name: head for name, head in heads.items() if {*head.classes_} >= PENN}
        heads = of_penn or {name: head for name, head in heads.items() if not head.model.codec.has_spans}
    if len(heads) != 1:
        raise ConfigurationError(TAGGER, expected=f"one task: {' or '.join(model.tasks)}", got="several")
    ((_, tagger),) = heads.items()
    if tagger.model.features.columns or tagger.model.features.named is not None:
        raise ConfigurationError(TAGGER, expected="one that needs nothing but the words", got="one of further columns")
    return cast(Tagger, tagger)


def with_tags(X: Sequence[Sequence[Token]], tagger: Tagger | None) -> list[list[Token]]:
    """The sentences with the labels of the tagger as their last column; without a tagger as they are."""
    if tagger is None:
        return [[*tokens] for tokens in X]
    answers = tagger.predict([forms_of(tokens) for tokens in X])
    return [
        [(*(token if isinstance(token, tuple) else (token,)), tag) for token, tag in zip(tokens, tags, strict=True)]
        for tokens, tags in zip(X, answers, strict=True)
    ]


def with_distances(
    tokens: Sequence[Token],
    predicate: int | None,
    known: Sequence[Container[str]] = (),
    predicates: Sequence[int] = (),
) -> list[Token]:
    """The tokens with more columns: their distance to the predicate, what is said about the predicate, and how many of
    the sentence's ``predicates`` are between.

    Without a predicate there is nothing in the columns; a value that is not ``known`` is _RARE.
    """
    forms = [token if isinstance(token, tuple) else (token,) for token in tokens]
    if predicate is None:
        return [(*form, *[_NO_DISTANCE] * (3 + 3 * len(form))) for form in forms]
    columns = _columns(tokens, predicate, known, predicates)[len(forms[0]) - 1 :]
    values = [repeat(column, len(tokens)) if isinstance(column, str) else column for column in columns]
    return [(*form, *more) for form, *more in zip(forms, *values, strict=True)]


def _columns(
    tokens: Sequence[Token], predicate: int, known: Sequence[Container[str]], predicates: Sequence[int]
) -> list[str | Sequence[str]]:
    """The columns of tokens, then those of ``with_distances``: a value for each token, or one for all."""
    count = len(tokens[predicate]) if isinstance(tokens[predicate], tuple) else 1
    of_tokens = [[token[column] for token in tokens] for column in range(1, count)]
    distances = [_distance(words) for words in range(-predicate, len(tokens) - predicate)]
    about = list(_about(tokens, predicate))
    about[: len(known)] = [value if value in values else _RARE for value, values in zip(about, known, strict=False)]
    return [*of_tokens, distances, *about, _between(len(tokens), predicate, predicates)]


def _between(T: int, predicate: int, predicates: Sequence[int]) -> list[str]:
    """The number of other predicates between each token and the predicate, -3 to 3, and a mark if the token is one."""
    others = set(predicates) - {predicate}
    values = [""] * T
    for step in (-1, 1):
        count = 0
        for t in range(predicate, T if step > 0 else -1, step):
            values[t] = f"{step * min(count, MOST_BETWEEN)}{_OTHER if t in others else ''}"
            count += t in others
    return values


def _about(tokens: Sequence[Token], predicate: int) -> tuple[str, ...]:
    """The ending of the predicate and the word before it, which tell active from passive; itself, the word after it;
    the further columns of the three words.
    """
    at = tokens[predicate]
    none = ("",) * (len(at) if isinstance(at, tuple) else 1)
    before = tokens[predicate - 1] if predicate > 0 else none
    after = tokens[predicate + 1] if predicate + 1 < len(tokens) else none
    near = [token if isinstance(token, tuple) else (token,) for token in (before, at, after)]
    (first, *of_first), (verb, *of_verb), (last, *of_last) = near
    verb = verb.lower()
    return verb[-3:], first.lower(), verb, last.lower(), *of_first, *of_verb, *of_last


def numbered_pairs(
    features: InputFeatures,
    X: Sequence[Sequence[Token]],
    pairs: Sequence[tuple[int, int]],
    predicates: Sequence[Sequence[int]],
) -> list[NumberedSentence]:
    """``with_distances`` of all pairs of a sentence and a predicate at once, with the numbers of columns."""
    if not pairs:
        return []
    forms, of_column = [forms_of(tokens) for tokens in X], features.column_ids
    offsets = offsets_from_lengths([len(tokens) for tokens in X])
    which, places = np.array(pairs, np.int64).T
    lengths = np.diff(offsets)[which]
    ends = np.cumsum(lengths)
    words = np.arange(ends[-1]) - np.repeat(ends - lengths + places, lengths)  # from the predicate
    at = np.repeat(offsets[which] + places, lengths)  # the predicate, among all tokens
    tokens = at + words
    ids, count = np.empty((len(words), len(of_column)), np.int64), (len(of_column) - 6) // 4  # that of the words' own
    for e in range(count):
        values = (token[1 + e] for sentence in X for token in sentence)
        ids[:, e] = np.fromiter(map(of_column[e].__getitem__, values), np.int64, offsets[-1])[tokens]
    farthest = np.arange(-FAR, FAR + 1)
    ids[:, count] = np.array([of_column[count][_distance(n)] for n in farthest.tolist()])[
        np.clip(words, -FAR, FAR) + FAR
    ]
    known = features.columns
    about = [
        [
            of_value[value] or (0 if value in values else of_value[_RARE])
            for value, of_value, values in zip(
                _about(X[i], place), of_column[count + 1 :], known[count + 1 :], strict=False
            )
        ]
        for i, place in pairs
    ]
    ids[:, count + 1 : -1] = np.repeat(np.array(about), lengths, axis=0)
    is_predicate = np.zeros(offsets[-1], bool)
    is_predicate[[offsets[i] + place for i, of_sentence in enumerate(predicates) for place in of_sentence]] = True
    before = np.concatenate([[0], np.cumsum(is_predicate)])
    between = np.where(words > 0, before[tokens] - before[at + 1], before[tokens + 1] - before[at])
    between[words == 0] = 0
    is_other = is_predicate[tokens] & (words != 0)
    texts = [[f"{n}{mark}" for n in range(-MOST_BETWEEN, MOST_BETWEEN + 1)] for mark in ("", _OTHER)]
    of_texts = np.array([[of_column[-1][text] for text in of_mark] for of_mark in texts])
    clipped = np.clip(between, -MOST_BETWEEN, MOST_BETWEEN)
    ids[:, -1] = of_texts[is_other.astype(np.int64), clipped + MOST_BETWEEN]
    parts = [0, *ends.tolist()]
    return [NumberedSentence(forms[i], ids[parts[n] : parts[n + 1]]) for n, (i, _) in enumerate(pairs)]


def _distance(words: int) -> str:
    """The value of a distance: up to 4 words one by one, then 5 to 7, 8 to 15, …"""
    group = f"{'<' if words < 0 else '>'}{min(abs(words).bit_length(), FAR.bit_length())}"
    return str(words) if abs(words) <= NEAR else group


def _checked(X: Any, y: Any, name: str) -> tuple[list[list[Token]], list[list[Frame]]]:
    """Sentences, and the predicates of each as frames."""
    X = checked_sentences(X)
    expected = "a list of predicates for each sentence"
    y = in_order(y, name, expected)
    if len(X) != len(y):
        raise DataError(name, expected=f"{expected}: {len(X)}", got=len(y))
    frames: list[list[Frame]] = []
    for i, (tokens, of_sentence) in enumerate(zip(X, y, strict=True)):
        frames.append([])
        for one in in_order(of_sentence, name, expected, where=f"sentence {i}"):
            where, is_frame = f"sentence {i}", isinstance(one, Frame)
            if not is_frame and (not isinstance(one, tuple | list) or len(one) != 2 or isinstance(one[1], str)):
                expected = "a Frame, or a pair of its place and the labels of all words"
                raise DataError("a predicate", expected=expected, got=repr(one)[:80], where=where)
            frame = one if is_frame else Frame(one[0], list(one[1]))
            _check_place(frame.predicate, tokens, i)
            if len(frame.labels) != len(tokens):
                raise DataError("labels of a predicate", expected=len(tokens), got=len(frame.labels), where=where)
            frames[i].append(frame)
    return X, frames


def _check_place(place: Any, tokens: Sequence[Token], i: int) -> None:
    if not isinstance(place, int | np.integer) or not 0 <= place < len(tokens):
        expected = f"the number of a word, from 0 to {len(tokens) - 1}"
        raise DataError("place of a predicate", expected=expected, got=repr(place), where=f"sentence {i}")


def _tasks(
    X: Sequence[Sequence[Token]], y: Sequence[Sequence[Frame]], roles: set[str], known: Sequence[Container[str]]
) -> dict[str, tuple[Any, Any]]:
    """The sentences and labels of each head; words of other roles have none."""
    places = [{frame.predicate for frame in frames} for frames in y]
    found = [
        [PREDICATE if t in of_one else OTHER for t in range(len(tokens))]
        for tokens, of_one in zip(X, places, strict=True)
    ]
    pairs = [(i, tokens, frame) for i, (tokens, frames) in enumerate(zip(X, y, strict=True)) for frame in frames]
    labels = [[label if label[2:] in roles else "O" for label in frame.labels] for _, _, frame in pairs]
    marked = [with_distances(tokens, frame.predicate, known, sorted(places[i])) for i, tokens, frame in pairs]
    return {
        ROLES: (marked, labels),
        PREDICATES: ([with_distances(tokens, None) for tokens in X], found),
    }

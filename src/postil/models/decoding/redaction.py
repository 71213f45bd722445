"""Hide the names of a text: which tokens, how sure it is that no name is left, and where to look first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import exp, expm1
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Sentences, forms_of
from postil.features.words import normalise
from postil.html import Markup, element, joined
from postil.html.fragments import note, page_of
from postil.metrics.counts import check_same_shape
from postil.metrics.tables import Table, drawn_table
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.promise import (
    FEWEST_DOCUMENTS,
    LEFT,
    UNKNOWN,
    ClassShare,
    Profile,
    Promise,
    check_open,
    chosen_threshold,
    unlike,
)
from postil.models.model import FittedModel
from postil.models.sentences import entity, tokens_of
from postil.text import Entity, Sentence, recognise, spans_from_labels, with_marks
from postil.text.labels.partial import Labels, is_partial, runs

LOWEST = 0.001  # spans less probable than this are not worth a look
MOST_LOOKS, SHOWN_LOOKS = 20, 5  # of a text; of many


def labels_of(codec: LabelCodec, classes: Sequence[str]) -> Array:
    """(L,) whether each label of the network belongs to an entity of these classes."""
    if not codec.has_spans:
        raise ConfigurationError("only a tagger of spans can redact", got="labels without spans")
    if isinstance(classes, str) or not classes or len(set(classes)) != len(classes):
        raise ConfigurationError("classes", expected="a list of different classes", got=repr(classes)[:80])
    for name in classes:
        if name not in codec.classes:
            expected = f"one of {', '.join(codec.classes[:12])}"
            raise ConfigurationError("classes to redact", expected=expected, got=repr(name)[:80])
    _, numbers = codec.begins_and_classes
    return np.isin(numbers, [codec.classes.index(name) for name in classes])


def unknown_words(model: FittedModel, X: Sentences) -> Array:
    """(B,) how many words the training data did not have, in any capitals and with any digits."""
    vocabulary, forms = model.features.words.vocabularies.get("word"), list(map(forms_of, X))
    if vocabulary is None:
        return np.zeros(len(forms), np.int64)
    unknown = {form for form in {form for some in forms for form in some} if normalise(form) not in vocabulary}
    return np.array([sum(form in unknown for form in some) for some in forms], np.int64)


class HiddenTokens(NamedTuple):
    """The redaction of one sentence of T tokens."""

    probability: Array  # (T,) of belonging to a name
    kind: Array  # (T,) the most probable class, by its place among the promised ones
    hidden: Array  # (T,) boolean
    log_kept: float  # log of the probability that no name is left
    left: list[tuple[int, int, str, float]]  # words that may be in a name, with the class and the probability of that


def hidden_tokens(
    posteriors: Posteriors, X: Sentences, classes: Sequence[str], threshold: float, *, look: bool = True
) -> list[HiddenTokens]:
    """For every sentence; ``look``: also which spans may be left."""
    of_names = labels_of(posteriors.codec, classes)
    _, numbers = posteriors.codec.begins_and_classes
    places = [posteriors.codec.classes.index(name) for name in classes]
    found: list[Any] = [None] * len(X)
    for posterior in posteriors.of(X):
        marginals = posterior.marginals()
        of_class = np.stack([marginals[:, numbers == place].sum(axis=1) for place in places], axis=1)  # (N, classes)
        probability = of_class.sum(axis=1)
        hidden = probability >= threshold
        log_kept = posterior.log_probability_within(hidden[:, None] | ~of_names)
        # What is not hidden of the spans that may be names.
        probable = posterior.spans_above(LOWEST) if look else []
        left: list[dict[tuple[int, int, str], float]] = [{} for _ in posterior.which]
        for of_row, first, spans in zip(left, posterior.lattice.offsets.tolist(), probable, strict=False):
            for span, p in spans:
                for start, end in runs(~hidden[first + span.start : first + span.end]) if span.label in classes else ():
                    place = span.start + start, span.start + end, span.label
                    of_row[place] = max(p, of_row.get(place, 0.0))
        listed = [[(*place, p) for place, p in spans.items()] for spans in left]
        values = map(posterior.by_sentence, (probability, of_class.argmax(axis=1), hidden))
        for i, *of_sentence in zip(posterior.which, *values, log_kept.tolist(), listed, strict=True):
            found[i] = HiddenTokens._make(of_sentence)
    return found


def profile_of(model: FittedModel, X: Sentences, found: Sequence[HiddenTokens]) -> Profile:
    """The figures by which a text is compared with dev."""
    lengths = np.array([len(tokens) for tokens in X])
    expected = np.array([one.probability.sum() for one in found])
    left = np.array([one.probability[~one.hidden].sum() for one in found])
    return {UNKNOWN: ClassShare.of(unknown_words(model, X), lengths), LEFT: ClassShare.of(left, expected)}


def promised(
    model: FittedModel,
    X: Sentences,
    y: Labels,
    classes: Sequence[str],
    miss: float,
    confidence: float,
    groups: Sequence[int] | None,
) -> Promise:
    """The promise that labelled sentences allow. Sentences with unknown labels are left out.

    groups: the number of each sentence's document; None, or fewer than `FEWEST_DOCUMENTS`: not known.
    """
    check_same_shape(X, y)
    check_open(miss, "miss")
    check_open(confidence, "confidence")
    posteriors = Posteriors(model)
    labels_of(posteriors.codec, classes)
    y = with_marks(y, X, known=posteriors.codec.answers)
    of_group = np.zeros(len(X), int) if groups is None else np.asarray(groups)
    if of_group.shape != (len(X),) or of_group.dtype.kind not in "iu" or (len(X) and of_group.min() < 0):
        raise DataError("groups", expected=f"a number for each of {len(X):,} sentences", got=of_group.shape)
    known = [i for i, labels in enumerate(y) if not is_partial(labels)]
    X, y = [X[i] for i in known], [y[i] for i in known]
    scheme = recognise(y)
    if scheme == "none":
        raise DataError("nothing to promise", expected="data with entities of the model's kind", got="none")
    found = hidden_tokens(posteriors, X, classes, 1.0, look=False)
    scores, of_names, in_names = [], [], 0
    for i, labels, one in zip(known, y, found, strict=True):
        for span in spans_from_labels(labels, scheme):
            if span.label in classes:
                scores.append(float(one.probability[span.start : span.end].min()))
                of_names.append(i)
                in_names += span.end - span.start
    sentences = np.array(of_names, int)
    documents = None if len(np.unique(of_group)) < FEWEST_DOCUMENTS else of_group[sentences]
    threshold, missed, effect = chosen_threshold(np.array(scores), sentences, miss, confidence, documents)
    found = [one._replace(hidden=one.probability >= threshold) for one in found]
    tokens = sum(map(len, X))
    return Promise(
        classes=tuple(classes),
        miss=float(miss),
        confidence=float(confidence),
        threshold=threshold,
        names=len(scores),
        missed=missed,
        design_effect=effect,
        hidden=float(sum(one.hidden.sum() for one in found)) / max(tokens, 1),
        in_names=in_names / max(tokens, 1),
        temperature=model.decoding.temperature,
        shift=model.decoding.shift,
        profile=profile_of(model, X, found),
    )


def valid_promise(model: FittedModel) -> Promise:
    """The promise of a model, or an error that says how to get one."""
    promise, how = model.decoding.promise, "tagger.promise(X, y, classes=…), or postil tune MODEL DEV --miss 0.01"
    if promise is None:
        raise ConfigurationError("the model has no promise about missed names", expected=how)
    labels_of(model.codec, promise.classes)
    if (promise.temperature, promise.shift) != (model.decoding.temperature, model.decoding.shift):
        raise ConfigurationError("the promise was made before the model was calibrated again", expected=how)
    return promise


class RiskyPassage(NamedTuple):
    """A sentence of a text, in characters, and the probability that it still has a name."""

    start: int
    end: int
    risk: float


@final
@dataclass(frozen=True, kw_only=True)
class Redacted:
    """A text, what is hidden in it, and what may be left."""

    text: str
    hidden: list[Entity]  # the hidden names; ``probability`` is the lowest of their tokens
    passages: list[RiskyPassage]
    log_probability: float
    look_first: list[Entity]
    """Words that are left and most probably belong to a name, the most probable first, with that name's probability."""
    profile: Profile = field(repr=False)

    @property
    def tokens(self) -> int:
        return int(self.profile[UNKNOWN].n)

    @property
    def probability(self) -> float:
        """That no name of the promised classes is left in the text, by the model."""
        return exp(self.log_probability)

    def placeholders(self) -> str:
        """The text with ``[PER]`` in place of each name."""
        return self.replaced(lambda one: f"[{one.label}]")

    def pseudonyms(self, numbers: "Pseudonyms | None" = None) -> str:
        """The text with ``PER-1`` in place of each name, the same for the same name."""
        return self.replaced(Pseudonyms() if numbers is None else numbers)

    def replaced(self, name: Callable[[Entity], str]) -> str:
        """The text with something else in place of what is hidden."""
        parts, last = [], 0
        for one in self.hidden:
            parts += [self.text[last : one.start], name(one)]
            last = one.end
        return "".join([*parts, self.text[last:]])

    def to_html(self, title: str | None = None) -> str:
        """A page with the redacted text, the risk of every passage and the spans to look at first."""
        return redacted_page([self], title)


@final
class Pseudonyms:
    """Numbers names as they come. A part of exactly one longer name of the class has the number of that."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, frozenset[str]], dict[tuple[str, ...], int]] = {}
        self._names_with: dict[tuple[str, str], set[frozenset[str]]] = {}
        self._count: dict[str, int] = {}

    def __call__(self, one: Entity) -> str:
        words = tuple(one.text.casefold().split())
        label, bag = one.label, frozenset(words)
        same = self._numbers.setdefault((label, bag), {})
        if words not in same:
            having = [self._names_with.setdefault((label, word), set()) for word in bag]
            fewest = min(having, key=len, default=set())
            longer = {n for other in fewest if bag < other for n in self._numbers[label, other].values()}
            same[words] = longer.pop() if len(longer) == 1 else self._count.get(label, 0) + 1
            self._count[label] = max(same[words], self._count.get(label, 0))
            for names in having:
                names.add(bag)
        return f"{label}-{same[words]}"


@final
class RedactionRun:
    """The remains of redacted texts that went by: the figures of the promise, and the most probable names left."""

    def __init__(self, promise: Promise) -> None:
        self._promise = promise
        self._profile: Profile = {}
        self.log_probability = 0.0
        self.look_first: list[Entity] = []

    def add(self, one: Redacted) -> None:
        """Count one more text."""
        nothing, before = ClassShare(0.0, 0.0, 0.0, 0.0, 0.0), self._profile
        self._profile = {  # its figures are sums
            name: ClassShare(*map(sum, zip(before.get(name, nothing), one.profile.get(name, nothing), strict=True)))
            for name in {**before, **one.profile}
        }
        self.log_probability += one.log_probability
        looks = [*self.look_first, *one.look_first]
        self.look_first = sorted(looks, key=lambda look: -(look.probability or 0.0))[:SHOWN_LOOKS]

    def check(self) -> None:
        """Raise DataError if the promise cannot be made about these texts."""
        check_like_dev(self._promise, self._profile)


def redacted(
    model: FittedModel, texts: Sequence[tuple[str, Sequence[Sentence]]], *, check: bool = True
) -> list[Redacted]:
    """Texts with their sentences, redacted as the model promises; ``check``: refuse texts unlike dev."""
    promise = valid_promise(model)
    sentences = [sentence for _, some in texts for sentence in some]
    X = [tokens_of(sentence) for sentence in sentences]
    found = hidden_tokens(Posteriors(model), X, promise.classes, promise.threshold)
    if check:
        check_like_dev(promise, profile_of(model, X, found))
    results, first = [], 0
    for text, some in texts:
        last = first + len(some)
        hidden: list[Entity] = []
        passages: list[RiskyPassage] = []
        left: list[Entity] = []
        for sentence, one in zip(some, found[first:last], strict=True):
            if not len(sentence):
                continue
            kinds = np.where(one.hidden, one.kind, -1).tolist()
            for kind, tokens in groupby(range(len(sentence)), kinds.__getitem__):
                if kind >= 0:
                    places = list(tokens)
                    lowest = float(one.probability[places].min())
                    hidden.append(entity(sentence, promise.classes[kind], places[0], places[-1] + 1, lowest))
            whole = entity(sentence, "", 0, len(sentence))
            passages.append(RiskyPassage(whole.start, whole.end, -expm1(one.log_kept)))
            left += [entity(sentence, label, start, end, p) for start, end, label, p in one.left]
        results.append(
            Redacted(
                text=text,
                hidden=hidden,
                passages=passages,
                log_probability=sum(one.log_kept for one in found[first:last]),
                look_first=sorted(left, key=lambda one: -(one.probability or 0.0))[:MOST_LOOKS],
                profile=profile_of(model, X[first:last], found[first:last]),
            )
        )
        first = last
    return results


def check_like_dev(promise: Promise, profile: Profile) -> None:
    """Raise DataError if the promise cannot be made about a text with these figures."""
    if reasons := unlike(profile, promise.profile):
        what = f"no promise: the text is unlike the data on which it was made ({'; '.join(reasons)})"
        raise DataError(what, expected="text like dev, or a promise made on labelled text like this")


def redacted_page(texts: Iterable[Redacted], title: str | None = None) -> str:
    """The redacted texts, every passage shaded by its risk, each text with the spans to look at first."""
    content: list[Markup] = []
    for one in texts:
        head = f"no name is left with probability {one.probability:.3f}; darker passages have more risk"
        parts: list[Any] = []
        last, largest = 0, max((passage.risk for passage in one.passages), default=0.0) or 1.0
        for passage in one.passages:
            words: list[Any] = []
            at = passage.start
            for span in one.hidden:
                if passage.start <= span.start < passage.end:
                    words += [one.text[at : span.start], element("strong", f"[{span.label}]")]
                    at = span.end
            words.append(one.text[at : passage.end])
            shade = {"class_": "effect oppose", "style": f"--share:{passage.risk / largest:.2f}"}
            shade = shade if passage.risk > LOWEST else {}
            shaded = element("span", joined(words), title=f"risk {passage.risk:.3f}", **shade)
            parts += [one.text[last : passage.start], shaded]
            last = passage.end
        content += [note(head), element("p", *parts, one.text[last:], class_="excerpt text", dir="auto")]
        if one.look_first:
            rows = [(span.text, span.label, f"{span.probability:.3f}") for span in one.look_first]
            content.append(drawn_table(Table("", ("look first at", "class", "probability"), rows)))
    return page_of(title, *content)

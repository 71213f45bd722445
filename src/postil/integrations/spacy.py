"""A component of spaCy's pipelines: entities, probable spans and tags of a Postil model on spaCy's own tokens.

    nlp = spacy.blank("en")
    nlp.add_pipe("postil", config={"model": "ner.postil"})

spaCy finds the factory ``postil`` automatically, through the entry point of the installed package; ``import
postil.integrations.spacy`` registers it too. White-space tokens, which other tokenisers do not have, are left out
before the model sees a sentence, and answers are mapped back.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, final

from postil.errors import ConfigurationError
from postil.extras import needed
from postil.integrations.arrow import model_of
from postil.models import load
from postil.models.decoding.distribution import check_probability
from postil.models.detector import Detector
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.storage import from_bytes, to_bytes
from postil.models.tagger import Tagger
from postil.text import Entity, Segmenter, Sentence, Tokens
from postil.text.annotations.libraries import is_space

__all__ = ["PostilComponent"]

FILE = "model.postil"
_KEY = "postil"
_UNIVERSAL = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X SPACE CONJ".split()
)
"""Values of ``token.pos_``."""


class _Part(NamedTuple):
    """A sentence of a doc."""

    doc: Any
    places: list[int]
    """The token of the doc for each token of the sentence."""
    sentence: Sentence


@final
class PostilComponent:
    """Sets ``doc.ents``, ``doc.spans[spans_key]`` and, for models of single words, ``token.tag_`` (and ``token.pos_``).

    ``span._.probability`` and ``token._.probability`` are the probabilities of these answers. Entities less probable
    than ``threshold`` are dropped; None: the thresholds of the model. ``doc.spans[spans_key]`` has the entities, or,
    with ``above``, every span that is at least so probable, whether or not it overlaps others. Sentences are those of
    ``doc.sents`` where an earlier component has set them, otherwise Postil's own. Earlier entities that overlap ours
    are replaced with ``overwrite``, else they win.

    Of a multi-task model, the first with spans sets the entities, and each further one ``doc.spans[task]``.
    Universal tags are ``token.pos_``, other labels of words ``token.tag_``. ``tasks`` names the tasks that are written
    to the doc, in this order; None: all of them. ``model="english"`` is the English model.
    """

    def __init__(
        self,
        name: str = "postil",
        *,
        model: str | os.PathLike[str] | Tagger | Detector | MultiTaskTagger | None = None,
        threshold: float | dict[str, float] | None = None,
        above: float | None = None,
        spans_key: str = "postil",
        overwrite: bool = True,
        tasks: Sequence[str] | None = None,
    ) -> None:
        if isinstance(tasks, str) or (tasks is not None and not tasks):
            raise ConfigurationError("tasks", expected="a list of names", got=repr(tasks))
        if above is not None:
            check_probability(above, "above")
        self.name, self._source = name, model
        self._model: Any = None
        self.threshold, self.above, self.spans_key, self.overwrite = threshold, above, spans_key, overwrite
        self.tasks = tasks
        tokens = needed("spacy.tokens", "spacy")
        for kind, getter in ((tokens.Span, _of_span), (tokens.Token, _of_token)):
            if not kind.has_extension("probability"):
                kind.set_extension("probability", getter=getter)

    @property
    def tagger(self) -> Any:
        """The fitted model; opened when it is first needed, so that ``from_disk`` may bring another one.

        Not called ``model``, because spaCy expects one of its models under that name.
        """
        model, source = self._model, self._source
        if model is None:
            if source is None:
                raise ConfigurationError("model", expected='needs a file: add_pipe("postil", config={"model": …})')
            model = self._model = model_of(source)
        return model

    def __call__(self, doc: Any) -> Any:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], batch_size: int = 128) -> Iterator[Any]:
        """The docs with answers, computed for ``batch_size`` docs at once."""
        batch: list[Any] = []
        for doc in stream:
            batch.append(doc)
            if len(batch) >= batch_size:
                yield from self._annotated(batch)
                batch = []
        yield from self._annotated(batch)

    def _annotated(self, docs: list[Any]) -> list[Any]:
        heads = self.tagger.by_task(self.tasks)
        heads = {task: heads[task] for task in self.tasks or heads}  # in the user's order
        parts = [part for doc in docs for part in _parts(doc, self.tagger.model.segmenter)]
        of_words = {t: one for t, one in heads.items() if isinstance(one, Tagger) and not one.model.codec.has_spans}
        for number, task in enumerate(task for task in heads if task not in of_words):
            self._set_spans(docs, parts, heads[task], task if number else self.spans_key, are_entities=not number)
        if of_words:
            self._set_tags(docs, parts, list(of_words.values()))
        return docs

    def _set_spans(self, docs: list[Any], parts: list[_Part], tagger: Any, key: str, *, are_entities: bool) -> None:
        sentences = [part.sentence for part in parts]
        if isinstance(tagger, Tagger):
            entities = [answer.entities for answer in tagger.answers(sentences, threshold=self.threshold)]
        else:
            entities = list(tagger.annotate(sentences))
        probable = entities
        if self.above is not None and isinstance(tagger, Tagger):
            probable = tagger.entities_above(sentences, self.above)
        # Setting doc.ents costs as much as the doc is long, so it is set once, with the spans of all sentences.
        of_docs: dict[int, tuple[list[Any], list[Any]]] = {id(doc): ([], []) for doc in docs}
        for part, of_sentence, above in zip(parts, entities, probable, strict=True):
            spans, probable_spans = of_docs[id(part.doc)]
            spans += _spans(part, of_sentence)
            probable_spans += _spans(part, above)
        for doc in docs:
            spans, doc.spans[key] = of_docs[id(doc)]
            if are_entities and spans:
                first, second = (spans, list(doc.ents)) if self.overwrite else (list(doc.ents), spans)
                taken = {i for span in first for i in range(span.start, span.end)}
                doc.ents = [*first, *(span for span in second if taken.isdisjoint(range(span.start, span.end)))]

    def _set_tags(self, docs: list[Any], parts: list[_Part], taggers: list[Tagger]) -> None:
        """``token.pos_`` from labels that are universal tags, ``token.tag_`` from others, or from those if alone."""
        for doc in docs:
            for token in doc:
                if is_space(token):
                    token.tag_, token.pos_ = "_SP", "SPACE"
        X = [part.sentence.tokens for part in parts]
        for tagger in taggers:
            is_universal = _UNIVERSAL.issuperset(tagger.classes_)
            labels, figures = tagger.predict_with_probabilities(X)
            for part, of_sentence, probabilities in zip(parts, labels, figures, strict=True):
                for place, label, probability in zip(part.places, of_sentence, probabilities.tolist(), strict=True):
                    token = part.doc[place]
                    if is_universal:
                        token.pos_ = label
                    if not is_universal or len(taggers) == 1:
                        token.tag_ = label
                        _store(part.doc, token.idx, token.idx + len(token), label, probability)

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The model in the bytes of its file."""
        return to_bytes(self.tagger)

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> "PostilComponent":
        self._model = from_bytes(data)
        return self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Sequence[str] = ()) -> None:
        """Write the model into a folder of the pipeline's."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.tagger.save(folder / FILE)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Sequence[str] = ()) -> "PostilComponent":
        self._model = load(Path(path) / FILE)
        return self


# ------------------------------------------------------------------------------------------------ sentences and spans


def _parts(doc: Any, segmenter: Segmenter) -> Iterator[_Part]:
    """The sentences of a doc without its white-space tokens."""
    places = [token.i for token in doc if not is_space(token)]
    words = [doc[i].text for i in places]
    if not places:
        return
    if doc.has_annotation("SENT_START"):
        # A sentence starts with a token, or with one of the white-space tokens after the word before it.
        before = [-1, *places]
        starts = [any(doc[j].is_sent_start for j in range(a + 1, i + 1)) for a, i in zip(before, places, strict=False)]
        firsts = [n for n, is_start in enumerate(starts) if n == 0 or is_start]
        ranges = list(zip(firsts, [*firsts[1:], len(places)], strict=True))
    else:
        begins = [doc[i].idx for i in places]
        ends = [begin + len(word) for begin, word in zip(begins, words, strict=True)]
        ranges = segmenter.split(Tokens(doc.text, words, begins, ends))
    for first, end in ranges:
        yield _Part(doc, places[first:end], Sentence(words[first:end]))


def _spans(part: _Part, entities: Iterable[Entity]) -> list[Any]:
    Span = needed("spacy.tokens", "spacy").Span
    spans = []
    for entity in entities:
        start, end = part.places[entity.start], part.places[entity.end - 1] + 1
        span = Span(part.doc, start, end, label=entity.label)
        if entity.probability is not None:
            _store(part.doc, span.start_char, span.end_char, entity.label, entity.probability)
        spans.append(span)
    return spans


# ------------------------------------------------------------------------------------------------ probabilities
# In doc.user_data, which spaCy stores with a doc. Its own values of extensions do not tell spans apart that have the
# same place and different labels.


def _store(doc: Any, start: int, end: int, label: str, probability: float) -> None:
    doc.user_data[(_KEY, start, end, label)] = float(probability)


def _of_span(span: Any) -> Any:
    return span.doc.user_data.get((_KEY, span.start_char, span.end_char, span.label_))


def _of_token(token: Any) -> Any:
    return token.doc.user_data.get((_KEY, token.idx, token.idx + len(token), token.tag_))


def make_component(
    nlp: Any,
    name: str,
    model: str | None,
    threshold: float | dict[str, float] | None,
    above: float | None,
    spans_key: str,
    overwrite: bool,
    tasks: list[str] | None,
) -> PostilComponent:
    """The factory ``postil``."""
    options: dict[str, Any] = {"threshold": threshold, "above": above, "spans_key": spans_key, "overwrite": overwrite}
    return PostilComponent(name, model=model, tasks=tasks, **options)


if find_spec("spacy") is not None:  # without it the module can be imported, and what needs spaCy says so
    needed("spacy.language", "spacy").Language.factory(
        _KEY,
        default_config={
            **dict.fromkeys(("model", "threshold", "above", "tasks")),
            "spans_key": "postil",
            "overwrite": True,
        },
        assigns=["doc.ents", "doc.spans", "token.tag", "token.pos"],
        func=make_component,
    )

"""The general path: passages to sentences, annotated block by block by any kind of model, written in any format.

`TokenAnswers` puts the answers of taggers and detectors on sentences. A tagger of one task answers like a multi-task
model with one task, but its answers go to the record of JSON Lines itself instead of to a layer of it.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, final

import numpy as np

from postil.errors import ConfigurationError, DataError, PostilError
from postil.models.decoding.codec import known_tasks
from postil.models.decoding.posteriors import Decoded, Posteriors, decode, together
from postil.models.decoding.tagged import entities_of
from postil.models.inputs import listed_sentences
from postil.models.sentences import tokens_of
from postil.network.window import LONGEST_VIEW
from postil.tagging.options import (
    REFUSED,
    ConstraintSource,
    Labelled,
    TaggingOptions,
    has_groups,
    threshold_of,
)
from postil.text import Entity, Report, Sentence, Span, Tree, bracketed, write
from postil.text.annotations.annotated import CharacterSpan, Record
from postil.text.document import Rest
from postil.text.formats import read_passage
from postil.text.lines import Passage
from postil.text.options import Column
from postil.text.output import Target, write_text
from postil.text.trees.treebank import tree_over

if TYPE_CHECKING:
    from postil.models import NodeLabel, TreeClassifier

BLOCK_TOKENS = 20_000  # tokens that are labelled at once
LAYERS = "layers"  # the field of JSON Lines with the answers of each task
CONLLU_TASKS = ("lemma", "upos", "xpos", "feats", "deprel")
"""Tasks whose labels are written to the column of CoNLL-U with their name."""


class GeneralPath:
    """Labels sentences."""

    def __init__(self, model: Any, options: TaggingOptions) -> None:
        for names, why in REFUSED[model.KIND]:
            options.refuse(*names, why=why)
        self._options = options
        self.answers: Any = (PhraseAnswers if model.KIND == "tree-classifier" else TokenAnswers)(model, options)

    def blocks(self, sentences: Iterable[Sentence], long_sentences: list[int]) -> Iterator[list[Sentence]]:
        """Sentences for ``annotate``. Lengths of very long ones are appended to ``long_sentences``."""
        output = self._options.output
        record, text, line = Record({}), None, 0
        block: list[Sentence] = []
        tokens = 0
        try:
            for sentence in sentences:
                if output != "conllu" and sentence.text is not None and not isinstance(sentence.rest, Record):
                    # The sentences of one raw text share a record. Lines of one character may be the same object.
                    if sentence.text is not text or sentence.line != line:
                        record, text, line = Record({}), sentence.text, sentence.line
                    sentence.rest = record
                # The sentences of one JSON object stay in one block: they collect their answers in it.
                continues = (
                    output == "jsonl" and block and sentence.rest is not None and sentence.rest is block[-1].rest
                )
                if tokens >= BLOCK_TOKENS and not continues:
                    yield block
                    block, tokens = [], 0
                block.append(sentence)
                tokens += len(sentence) or 1
                if len(sentence) > LONGEST_VIEW:
                    long_sentences.append(len(sentence))
        except PostilError:  # after the sentences before the mistake
            if block:
                yield block
            raise
        if block:
            yield block

    def annotate(self, block: list[Sentence]) -> list[Sentence]:
        """Annotate the sentences in place. One without tokens, of an empty JSON record, has no labels."""
        gold: list[list[str]] = []
        for sentence in block if self._options.keep_gold else ():
            if sentence.labels is None:
                where = f"line {sentence.line}"
                raise DataError("keep_gold", expected="needs labels in the input", got="none", where=where)
            gold.append(sentence.labels)
        for sentence in block:
            sentence.labels = None if sentence.tokens else []
        self.answers.annotate(block)
        for sentence, labels in zip(block, gold, strict=False):
            add_column(sentence, labels)
        return block

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels, up to its first mistake."""
        report, long_sentences, target = Report(passage.format), list[int](), io.BytesIO()
        blocks = self.blocks(read_passage(passage, report, self._options.reading), long_sentences)
        mistake = None
        try:
            self.answers.write((sentence for block in blocks for sentence in self.annotate(block)), target)
        except PostilError as error:
            mistake = error
        return Labelled(content=target.getvalue(), tokens=report.tokens, long_sentences=long_sentences, mistake=mistake)


@final
class TokenAnswers:
    """Answers of taggers of one task or several, and of detectors."""

    def __init__(self, model: Any, options: TaggingOptions) -> None:
        self._model, self._options, self._has_tasks = model, options, model.KIND == "multi-task-tagger"
        heads = model.model.by_task()
        self._heads = {task: Posteriors(heads[task]) for task in known_tasks(options.tasks or None, heads)}
        self._main = model.main_task(list(self._heads)) if self._has_tasks else next(iter(self._heads))
        self._has_groups = has_groups(model, self._heads)
        if self._has_tasks and options.output == "conllu":
            self.columns()  # an error if they do not fit
        codec = self._heads[self._main].codec
        self._scheme, self._threshold = codec.scheme, None
        self._constraints: ConstraintSource | None = None
        if model.KIND == "tagger":
            if options.all_above is not None and not codec.has_spans:
                raise ConfigurationError("all_above", expected="needs a model of spans", got="labels without spans")
            self._threshold, self._constraints = threshold_of(codec, options), ConstraintSource(codec, options)

    def columns(self) -> list[Column]:
        """The columns of CoNLL-U that the answers go to, labels to the last one; of several tasks, each has its own."""
        if not self._has_tasks:  # to the column that labels are read from; those of spans have a separate place
            is_new = self._scheme != "none" and self._options.reading.label in ("auto", None)
            return ["misc:NER" if is_new else "auto"]
        places: dict[str, Column] = {}
        for task, head in self._heads.items():
            has_spans = head.codec.has_spans
            key = "NER" if task == self._main and has_spans else task
            places[task] = task if task in CONLLU_TASKS and not has_spans else f"misc:{key}"
        if len(set(places.values())) < len(places):
            expected = f"--task with some of {', '.join(places)}"
            raise ConfigurationError("two tasks have the same place in CoNLL-U", expected=expected, got="misc:NER")
        for task, place in places.items():
            cut = [label for label in self._model[task].classes_ if "|" in label]
            if cut and str(place).startswith("misc:"):
                others = " --task ".join(one for one in places if one != task)
                what, expected = f"labels of the task {task!r} for CoNLL-U", "must have no | (or choose others with"
                raise ConfigurationError(what, expected=f"{expected} --task {others})", got=repr(cut[0]))
        return list(places.values())

    def write(self, sentences: Iterable[Sentence], target: Target) -> None:
        """Write annotated sentences."""
        options = self._options
        if options.output == "conllu":
            *features, label = self.columns()
            write(sentences, target, "conllu", scheme="none", label=label, features=tuple(features))
            return
        if options.output == "trees":
            expected = "needs a tree classifier (other models write conll, conllu or jsonl)"
            raise ConfigurationError("output trees", expected=expected)
        figures = ["probability"] * options.probabilities + ["score"] * options.scores
        tasks = self._heads if self._has_tasks else ("Tag",)
        names = tuple(name for task in tasks for name in (*(f"{task} {figure}" for figure in figures), task))
        write(sentences, target, options.output or "conll", scheme=self._scheme, offsets=options.offsets, names=names)

    def annotate(self, block: list[Sentence]) -> None:
        options, filled = self._options, [sentence for sentence in block if sentence.tokens]
        is_json, probable = options.output == "jsonl", options.probabilities
        if is_json and self._has_tasks and not self._has_groups:
            kinds = {task: "spans" if head.codec.has_spans else "tokens" for task, head in self._heads.items()}
            for sentence in block:
                if not sentence.tokens:  # layers without answers
                    record_of(sentence).fields.setdefault(LAYERS, {task: {kind: []} for task, kind in kinds.items()})
        if not filled:
            return
        X = listed_sentences(list(map(tokens_of, filled)), word_key=self._model._word_key)
        constraints = None if self._constraints is None else self._constraints.of_block(filled)
        of_labels = probable and not (is_json and all(head.codec.has_spans for head in self._heads.values()))
        tasks = decode(
            self._heads,
            X,
            threshold=self._threshold,
            probabilities=probable or (is_json and self._has_tasks),
            label_probabilities=of_labels,
            constraints=constraints,
        )
        if not is_json:
            self._add_columns(filled, tasks)
            return
        if self._has_groups:
            self._add_spans(filled, together(tasks))
            return
        for task, decoded in tasks.items():
            self._add_fields(filled, task, decoded)
        if options.all_above is not None:
            above = self._model.entities_above(filled, options.all_above, constraints=constraints)
            for sentence, entities in zip(filled, above, strict=True):
                spans = record_of(sentence).fields.setdefault("spans_above", [])
                spans.extend(_span_objects(sentence, entities, True))
        if options.nbest:
            for sentence, conditions in zip(filled, constraints or [None] * len(filled), strict=True):
                best = self._model.nbest(tokens_of(sentence), options.nbest, conditions)
                objects = [{"labels": labels, "probability": round(probability, 6)} for labels, probability in best]
                record_of(sentence).fields.setdefault("nbest", []).append(objects)

    def _add_columns(self, block: list[Sentence], tasks: Mapping[str, Decoded]) -> None:
        """A column of labels for each task, each after its figures; that of the last task are the labels."""
        has_figures = self._options.probabilities or self._options.scores
        columns = [(decoded.texts(), decoded.by_sentence() if has_figures else None) for decoded in tasks.values()]
        for i, sentence in enumerate(block):
            for labels, figures in columns:
                if sentence.labels is not None:
                    add_column(sentence, sentence.labels)
                if figures is not None:
                    add_column(sentence, [f"{figure:.4f}" for figure in figures[i]])
                sentence.labels = labels[i]
            if self._has_tasks and self._options.output == "conllu":
                # Answers alone: the other columns of the input have no place there.
                cells, others = sentence.columns or (), len(columns) - 1
                sentence.columns = [row[len(row) - others :] for row in cells] or None

    def _add_fields(self, block: list[Sentence], task: str, decoded: Decoded) -> None:
        """Labels, from which the writer makes spans, and all other answers as fields of JSON objects or of a layer."""
        options, of_words = self._options, not decoded.codec.has_spans
        nothing: Any = [None] * len(block)
        entities: Any = [[] for _ in block] if decoded.spans is None else entities_of(decoded, block)
        figures = decoded.by_sentence() if options.probabilities and of_words else nothing
        whole = (
            decoded.probabilities.tolist() if decoded.probabilities is not None and options.probabilities else nothing
        )
        scores = iter(decoded.entity_scores() if options.scores else ())
        for i, (sentence, labels) in enumerate(zip(block, decoded.texts(), strict=True)):
            if task == self._main:
                sentence.labels = labels
            if options.scores:
                add_to_spans(sentence, entities[i], "score", [next(scores) for _ in entities[i]])
                continue
            if decoded.scores is not None and not self._has_tasks:
                continue
            record = record_of(sentence)
            fields, given = record.fields, record.tokens
            if self._has_tasks:
                fields, given = fields.setdefault(LAYERS, {}).setdefault(task, {}), None
            elif whole[i] is not None:
                add_to_spans(sentence, entities[i], "probability", [one.probability or 0.0 for one in entities[i]])
                fields.setdefault("labelling_probabilities", [])  # before the tokens
            if of_words and given and all(isinstance(token, str) for token in given):
                # A record that lists its tokens as strings keeps them; its labels are a list of the same length.
                if figures[i] is not None:
                    fields.setdefault("probabilities", []).extend(round(float(p), 6) for p in figures[i])
            elif of_words:
                _add_tokens(fields, sentence, labels, figures[i], given)
            elif self._has_tasks:
                fields.setdefault("spans", []).extend(_span_objects(sentence, entities[i], whole[i] is not None))
            if whole[i] is not None:
                fields.setdefault("labelling_probabilities", []).append(round(whole[i], 6))

    def _add_spans(self, block: list[Sentence], decoded: Decoded) -> None:
        """The entities of all groups of classes, from which the writer makes spans with the name of the group."""
        spans, whole = decoded.spans, decoded.probabilities
        assert spans is not None and whole is not None, "asked for"
        edges = np.searchsorted(spans[:, 0], np.arange(len(block) + 1)).tolist()
        for i, (sentence, entities) in enumerate(zip(block, entities_of(decoded, block), strict=True)):
            rows, record = spans[edges[i] : edges[i + 1], 1:].tolist(), record_of(sentence)
            sentence.spans = [Span(decoded.codec.classes[kind], start, end) for start, end, kind in rows]
            for span, entity in zip(character_spans(sentence, entities), entities, strict=True):
                figure = {"text": entity.text, "probability": round(entity.probability or 0.0, 6)}
                record.span_fields[span] = {"group": entity.group} | (figure if self._options.probabilities else {})
            if self._options.probabilities:
                record.fields.setdefault("labelling_probabilities", []).append(round(float(whole[i]), 6))


def record_of(sentence: Sentence) -> Record:
    """The sentence's JSON object; a new one if it has none."""
    if not isinstance(sentence.rest, Record):
        sentence.rest = Record({}, tokens=[])
    return sentence.rest


def add_to_spans(sentence: Sentence, entities: Sequence[Entity], name: str, figures: Iterable[float]) -> None:
    """Add the text and a figure to start, end and label of each entity."""
    fields = record_of(sentence).span_fields
    for span, entity, figure in zip(character_spans(sentence, entities), entities, figures, strict=True):
        fields[span] = {"text": entity.text, name: round(figure, 6)}


def _span_objects(sentence: Sentence, entities: Sequence[Entity], probable: bool) -> Iterator[dict[str, Any]]:
    for span, entity in zip(character_spans(sentence, entities), entities, strict=True):
        figure = {"text": entity.text, "probability": round(entity.probability or 0.0, 6)} if probable else {}
        yield {**span._asdict(), **figure}


def _add_tokens(
    fields: dict[str, Any], sentence: Sentence, labels: Sequence[str], figures: Any, given: Sequence[Any] | None = None
) -> None:
    """The label of each token with its place, and its probability if that is asked for."""
    tokens: list[dict[str, Any]] = fields.setdefault("tokens", [])
    starts, ends = _token_places(sentence)
    for n, token in enumerate(sentence.tokens):
        place = {"text": token, "start": starts[n], "end": ends[n], "id": len(tokens)}
        figure = {} if figures is None else {"probability": round(float(figures[n]), 6)}
        tokens.append({**(given[n] if given else {}), **place, "label": labels[n], **figure})


def character_spans(sentence: Sentence, entities: Sequence[Entity]) -> list[CharacterSpan]:
    """The spans of entities in the sentence's text, or in the text that the writer joins from its tokens."""
    if sentence.text is not None or not entities:
        return [CharacterSpan(e.start, e.end, e.label) for e in entities]
    starts, ends = _token_places(sentence)
    return [CharacterSpan(starts[e.start], ends[e.end - 1], e.label) for e in entities]


def add_column(sentence: Sentence, values: Sequence[str]) -> None:
    """Add a column after the others, before the label."""
    columns = sentence.columns or [()] * len(sentence)
    sentence.columns = [(*cells, value) for cells, value in zip(columns, values, strict=True)]


def _token_places(sentence: Sentence) -> tuple[list[int], list[int]]:
    """Starts and ends of the tokens in the sentence's text, or in one that joins them with single spaces."""
    if sentence.text is not None and sentence.starts is not None and sentence.ends is not None:
        return sentence.starts, sentence.ends
    lengths = [len(token) for token in sentence.tokens]
    starts = [*accumulate((length + 1 for length in lengths), initial=0)][:-1]
    return starts, [start + length for start, length in zip(starts, lengths, strict=True)]


# --------------------------------------------------------------------------------------------------- tree classifiers


@final
@dataclass(frozen=True, slots=True)
class Classified(Rest):
    """A sentence's tree and what the classifier says about its phrases."""

    tree: Tree  # the tree of the input, or one of the chosen shape, with predicted labels
    phrases: "list[NodeLabel]"  # one for each node of ``tree``

    def lost(self) -> Mapping[str, int]:
        return {}


@final
class PhraseAnswers:
    """A label for every phrase, as trees or as JSON Lines."""

    def __init__(self, classifier: "TreeClassifier", options: TaggingOptions) -> None:
        self._classifier, self._options = classifier, options
        if options.output in ("conll", "conllu"):
            expected = "must be trees or jsonl"
            raise ConfigurationError("output of a tree classifier", expected=expected, got=options.output)
        if options.probabilities and options.output != "jsonl":
            raise ConfigurationError("probabilities", expected="needs output jsonl", got="trees")

    def annotate(self, block: list[Sentence]) -> None:
        filled, config = [sentence for sentence in block if sentence.tokens], self._classifier.config
        trees = [tree_over(sentence, self._options.tree or config.tree) for sentence in filled]
        pairs = [tree.binarised_with_places(config.binarise) for tree in trees]
        predicted = self._classifier.predict_nodes([binary for binary, _ in pairs]) if pairs else []
        for sentence, tree, nodes, (_, places) in zip(filled, trees, predicted, pairs, strict=True):
            phrases = [nodes[place] for place in places]
            sentence.rest = Classified(tree.with_labels([phrase.label for phrase in phrases]), phrases)

    def write(self, sentences: Iterable[Sentence], target: Target) -> None:
        """Write annotated sentences: a line for each record, also for one without tokens."""

        def lines() -> Iterator[str]:
            for sentence in sentences:
                answer = sentence.rest if isinstance(sentence.rest, Classified) else None
                if self._options.output == "jsonl":
                    yield json.dumps(self._record(sentence, answer), ensure_ascii=False)
                elif answer is not None:
                    yield from (comment for comment in sentence.comments if comment.startswith("#"))
                    yield bracketed(answer.tree)

        write_text(target, (f"{line}\n" for line in lines()))

    def _record(self, sentence: Sentence, answer: Classified | None) -> dict[str, Any]:
        if answer is None:
            return {"text": sentence.text or "", "tokens": [], "label": None}
        label, probabilities = answer.phrases[-1]
        fields: dict[str, Any] = {}
        if sentence.text is not None and sentence.starts and sentence.ends:
            fields["text"] = sentence.text[sentence.starts[0] : sentence.ends[-1]]
        fields |= {
            "tokens": answer.tree.tokens,
            "label": label,
            "probability": round(probabilities[label], 6),
            "probabilities": {name: round(value, 6) for name, value in probabilities.items()},
            "tree": bracketed(answer.tree),
        }
        if self._options.probabilities:
            fields["phrases"] = [
                {"start": start, "end": end, "label": name, "probability": round(distribution[name], 6)}
                for (start, end), (name, distribution) in zip(answer.tree.spans, answer.phrases, strict=True)
            ]
        return fields

"""Answers of multi-task models: a column or a key of CoNLL-U for each task, or a layer in JSON Lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.models.decoding.codec import known_tasks
from postil.models.decoding.tagged import Answer
from postil.models.multi_task_tagger import MultiTaskTagger
from postil.models.sentences import tokens_of
from postil.tagging.annotations import add_column, character_spans, record_of, token_places, write_spans
from postil.tagging.general_path import Annotate
from postil.tagging.options import TAGGER_OPTIONS, TaggingOptions
from postil.text import Sentence
from postil.text import write as write_format
from postil.text.output import Target

LAYERS = "layers"
"""The field of JSON Lines with the answers of each task."""
CONLLU_TASKS = ("lemma", "upos", "xpos", "feats", "deprel")
"""Tasks whose labels are written to the column of CoNLL-U with their name."""
_WHY = "the model has several tasks; choose one with --task"


def annotator(tagger: MultiTaskTagger, options: TaggingOptions) -> Annotate:
    options.refuse(*TAGGER_OPTIONS, "keep_gold", why=_WHY)
    options.refuse("scores", why="a tagger has probabilities instead")
    options.refuse("tree", why="only tree classifiers build trees")
    if options.output == "conllu":
        columns(tagger, options)  # an error if they do not fit
    return partial(_annotate, tagger=tagger, tasks=_tasks(tagger, options), options=options)


def columns(tagger: MultiTaskTagger, options: TaggingOptions) -> list[str]:
    """The place of each task in CoNLL-U: a column of its name, NER for the first one with spans, else its own key."""
    tasks = _tasks(tagger, options)
    main = tagger.main_task(tasks)
    places = []
    for task in tasks:
        if tagger[task].model.codec.has_spans:
            places.append("misc:NER" if task == main else f"misc:{task}")
        else:
            places.append(task if task in CONLLU_TASKS else f"misc:{task}")
    if len(set(places)) < len(places):
        expected = f"--task with some of {', '.join(tasks)}"
        raise ConfigurationError("two tasks have the same place in CoNLL-U", expected=expected, got="misc:NER")
    for task, place in zip(tasks, places, strict=True):
        cut = [label for label in tagger[task].classes_ if "|" in label]
        if cut and place.startswith("misc:"):
            what, others = f"labels of the task {task!r} for CoNLL-U", [one for one in tasks if one != task]
            expected = f"must have no | (or choose others with --task {' --task '.join(others)})"
            raise ConfigurationError(what, expected=expected, got=repr(cut[0]))
    return places


def write(sentences: Iterable[Sentence], tagger: MultiTaskTagger, options: TaggingOptions, target: Target) -> None:
    tasks = _tasks(tagger, options)
    main = tagger.main_task(tasks)
    if options.output == "conllu":
        *others, last = columns(tagger, options)
        write_format(sentences, target, "conllu", scheme="none", label=last, features=tuple(others))
        return
    if options.output == "jsonl":
        sentences = _with_empty_layers(sentences, tagger, tasks)
    write_spans(sentences, target, tagger[main].model.codec.scheme if options.output == "jsonl" else "none", options)


def _tasks(tagger: MultiTaskTagger, options: TaggingOptions) -> list[str]:
    return known_tasks(options.tasks or None, tagger.tasks)


def _annotate(
    block: list[Sentence], tagger: MultiTaskTagger, tasks: Sequence[str], options: TaggingOptions
) -> list[Sentence]:
    if options.output == "jsonl":
        _add_layers(tagger, block, tasks, options.probabilities)
    else:
        _add_columns(tagger, block, tasks, options.probabilities)
    if options.output == "conllu":
        for sentence in block:  # answers alone: the other columns of the input have no place there
            sentence.columns = [cells[len(cells) - len(tasks) + 1 :] for cells in sentence.columns or ()] or None
    return block


# ------------------------------------------------------------------------------------------------ CoNLL


def _add_columns(tagger: MultiTaskTagger, block: list[Sentence], tasks: Sequence[str], probabilities: bool) -> None:
    """A column of labels for each task, each after its probabilities; that of the last task are the labels."""
    X = [tokens_of(sentence) for sentence in block]
    if probabilities:
        answers: Mapping[str, tuple[Any, Any]] = tagger.predict_with_probabilities(X, tasks=tasks)
    else:
        answers = {task: (labels, None) for task, labels in tagger.predict(X, tasks=tasks).items()}
    for i, sentence in enumerate(block):
        for task in tasks:
            labels, figures = answers[task]
            if sentence.labels is not None:
                columns = sentence.columns or [()] * len(sentence)
                sentence.columns = [(*cells, label) for cells, label in zip(columns, sentence.labels, strict=True)]
            if figures is not None:
                add_column(sentence, figures[i])
            sentence.labels = labels[i]


# ------------------------------------------------------------------------------------------------ JSON Lines


def _add_layers(tagger: MultiTaskTagger, block: list[Sentence], tasks: Sequence[str], probabilities: bool) -> None:
    answers, main = tagger.answers(block, tasks=tasks), tagger.main_task(tasks)
    of_words = [task for task in tasks if not tagger[task].model.codec.has_spans]
    X = [tokens_of(sentence) for sentence in block] if probabilities and of_words else []
    figures = {task: tagger[task].predict_with_probabilities(X)[1] for task in of_words} if X else {}
    for i, sentence in enumerate(block):
        layers: dict[str, dict[str, Any]] = record_of(sentence).fields.setdefault(LAYERS, {})
        for task in tasks:
            layer, answer = layers.setdefault(task, {}), answers[task][i]
            if task in of_words:
                _add_tokens(layer, sentence, answer, figures[task][i] if task in figures else None)
            else:
                _add_spans(layer, sentence, answer, probabilities)
            if probabilities:
                layer.setdefault("labelling_probabilities", []).append(round(answer.probability, 6))
        sentence.labels = answers[main][i].labels


def _add_spans(layer: dict[str, Any], sentence: Sentence, answer: Answer, probabilities: bool) -> None:
    spans = layer.setdefault("spans", [])
    for span, entity in zip(character_spans(sentence, answer.entities), answer.entities, strict=True):
        figure = {"text": entity.text, "probability": round(entity.probability or 0.0, 6)} if probabilities else {}
        spans.append({**span._asdict(), **figure})


def _add_tokens(layer: dict[str, Any], sentence: Sentence, answer: Answer, probabilities: Array | None) -> None:
    """The label of each token with its place."""
    tokens = layer.setdefault("tokens", [])
    for number, (token, start, end) in enumerate(zip(sentence.tokens, *token_places(sentence), strict=True)):
        figure = {} if probabilities is None else {"probability": round(float(probabilities[number]), 6)}
        place = {"text": token, "start": start, "end": end, "id": len(tokens)}
        tokens.append({**place, "label": answer.labels[number], **figure})


def _with_empty_layers(
    sentences: Iterable[Sentence], tagger: MultiTaskTagger, tasks: Sequence[str]
) -> Iterator[Sentence]:
    """A record without tokens has layers without answers."""
    empty = {task: "spans" if tagger[task].model.codec.has_spans else "tokens" for task in tasks}
    for sentence in sentences:
        if not sentence.tokens:
            record_of(sentence).fields.setdefault(LAYERS, {task: {field: []} for task, field in empty.items()})
        yield sentence

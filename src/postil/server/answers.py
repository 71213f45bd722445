"""From checked requests to answers: the same bytes as the command line writes, in one JSON object per request."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from postil.errors import PostilError
from postil.models.decoding.constraints import Constraints
from postil.models.explaining.explanation import feature_groups, words_in_reach
from postil.models.explaining.places import Place, place_of_span, places_of_entities
from postil.models.sentences import sentences_of, tokens_of
from postil.models.tagger import Tagger
from postil.server.api import DocumentAsked, Explain, Tag, TagOptions, TextAsked, TreeAsked
from postil.server.batching import Steps
from postil.server.registry import SEVERAL_TASKS, Registry, Served
from postil.server.requests import Refusal, refused, unfit
from postil.tagging import Labelled, Labeller, TaggingOptions
from postil.tagging.tree_answers import tree_over
from postil.text import Sentence, tokenise
from postil.text.options import ReadOptions
from postil.text.passages import Passage
from postil.text.trees.treebank import parse_tree

SENTENCE_KINDS = ("tagger", "detector")
TAGGED_KINDS = (*SENTENCE_KINDS, SEVERAL_TASKS)
# What one request may cost; each is about two seconds of one core. docs/how-to/serving.md lists them.
MOST_PASSES = 100_000
"""Tokens through the network for explanations: every word and feature is left out in turn, for every entity."""
MOST_TREE_NODES = 1_000_000
"""Nodes of trees computed for explanations: every phrase is left out in turn."""
MOST_SPANS = 1_000_000
"""Spans looked at for ``all_above``: the squares of the lengths of all sentences, for every class."""
MOST_MARGINALS = 500_000
"""Tokens times labels, for ``marginals``."""
_LEAF = re.compile(r"[^()\s]\s*\)")


def documents_of(request: Tag) -> list[DocumentAsked]:
    """The texts and lists of tokens of a request to /api/tag, each with its constraints."""
    if request.documents is not UNSET:
        return request.documents
    return [DocumentAsked(text=request.text, tokens=request.tokens, constraints=request.constraints)]


def check_constraints(served: Served, documents: Sequence[DocumentAsked]) -> None:
    """Refuse constraints on a multi-task model: they are labels of one task."""
    if served.kind == SEVERAL_TASKS and any(document.constraints is not UNSET for document in documents):
        raise refused("unfit", "constraints need one task: NAME:TASK instead of NAME")


def check_tokens(asked: Sequence[DocumentAsked | TextAsked], limit: int) -> int:
    """Refuse too many tokens; return their number, or a larger one that is cheaper to know."""
    contents = [
        (name, content)
        for one in asked
        for name in ("text", "tokens", "brackets")
        if (content := getattr(one, name, UNSET)) is not UNSET
    ]
    # A token has at least one character: most requests need not be tokenised to be counted.
    number = sum(len(content) for _, content in contents)
    if number > limit:
        count = {"text": lambda text: len(tokenise(text).tokens), "tokens": len, "brackets": _number_of_leaves}
        number = sum(count[name](content) for name, content in contents)
    if number > limit:
        raise refused("tokens", f"the request has {number:,} tokens; at most {limit:,} are answered at once")
    return number


def _number_of_leaves(brackets: str) -> int:
    return len(_LEAF.findall(brackets))


def check_cost(cost: int, most: int, what: str, unit: str) -> None:
    """Refuse what would take too long, before it is begun."""
    if cost > most:
        limit = f"at most {most:,} are computed for one request"
        raise refused("cost", f"{what} needs {cost:,} {unit}; {limit}: send fewer or shorter sentences")


# ------------------------------------------------------------------------------------------------ /api/tag


def tagging_options(served: Served, options: TagOptions) -> TaggingOptions:
    """The options of a request in the library's words."""
    fields = msgspec.structs.asdict(options)
    named = {name: fields[name] for name in ("nbest", "threshold", "all_above") if fields[name] is not UNSET}
    is_detector = served.kind == "detector"
    unanswered, needed = _UNANSWERED.get(served.kind, ((), ""))
    for name in unanswered:
        if fields[name] is not UNSET:
            raise refused("unfit", f"options: {name} needs {needed}")
    return TaggingOptions(
        output="jsonl",
        reading=ReadOptions(features=(), every_record=True, segmenter=served.model.model.segmenter),
        scores=is_detector,
        probabilities=not is_detector and options.probabilities is not False,
        class_thresholds=options.thresholds or {},
        **named,
    )


_OF_TAGGERS = ("nbest", "threshold", "thresholds", "all_above", "marginals")
# Kind -> the options that it does not answer, and why.
_UNANSWERED = {
    "detector": ((*_OF_TAGGERS, "probabilities"), "a tagger, which has probabilities; a detector has scores"),
    SEVERAL_TASKS: (_OF_TAGGERS, "one task: NAME:TASK instead of NAME"),
}


def tag_alike(
    served: Served, options: TagOptions, requests: Sequence[Sequence[DocumentAsked]]
) -> list[bytes | Exception]:
    """Answers to requests with the same model and options, labelled as one passage of JSON Lines."""
    try:
        labeller = served.labeller(msgspec.json.encode(options), partial(tagging_options, served, options))
    except PostilError as error:
        return [unfit(error)] * len(requests)
    except Refusal as refusal:
        return [refusal] * len(requests)
    costly = [_cost_of(served, options, documents) for documents in requests]
    if any(costly):
        return [refusal or tag_alike(served, options, [one])[0] for refusal, one in zip(costly, requests, strict=True)]
    lines = (
        [_lines(labeller, documents) for documents in requests] if len(requests) == 1 else _joined(labeller, requests)
    )
    return [_answer(served, options, *pair) for pair in zip(requests, lines, strict=True)]


def _cost_of(served: Served, options: TagOptions, documents: Sequence[DocumentAsked]) -> Refusal | None:
    """Why options cost too much; None if they do not."""
    if options.all_above is UNSET and not options.marginals:
        return None
    about = served.about()
    lengths = [len(sentence) for document in documents for sentence in sentences_in(served, document)]
    try:
        if options.all_above is not UNSET:
            spans = sum(length * length for length in lengths) * len(about.get("classes") or [""])
            check_cost(spans, MOST_SPANS, "options: all_above", "spans")
        if options.marginals:
            numbers = sum(lengths) * len(about.get("labels") or [""])
            check_cost(numbers, MOST_MARGINALS, "options: marginals", "probabilities")
    except Refusal as refusal:
        return refusal
    return None


def _joined(labeller: Labeller, requests: Sequence[Sequence[DocumentAsked]]) -> list[list[bytes] | Exception]:
    """The answers' lines of each request; one by one if a mistake in one of them ends the passage."""
    every = _lines(labeller, [document for documents in requests for document in documents])
    if isinstance(every, Exception):
        return [_lines(labeller, documents) for documents in requests]
    lines = iter(every)
    return [[next(lines) for _ in documents] for documents in requests]


def _lines(labeller: Labeller, documents: Sequence[DocumentAsked]) -> list[bytes] | Exception:
    try:
        labelled = _labelled(labeller, documents)
    except PostilError as error:
        return unfit(error)
    if labelled.mistake is not None:
        return unfit(labelled.mistake)
    lines: list[bytes] = labelled.content.split(b"\n")[:-1]
    assert len(lines) == len(documents), "one line per record"
    return lines


def _labelled(labeller: Labeller, documents: Sequence[DocumentAsked]) -> Labelled:
    if all(document.tokens is UNSET and document.constraints is UNSET for document in documents):
        return labeller.label_texts([document.text or "" for document in documents])
    text = "".join([msgspec.json.encode(document).decode() + "\n" for document in documents])
    return labeller.label(Passage(name="request", format="jsonl", first=1, text=text, whole=True))


def _answer(
    served: Served, options: TagOptions, documents: Sequence[DocumentAsked], lines: list[bytes] | Exception
) -> bytes | Exception:
    if isinstance(lines, Exception):
        return lines
    try:
        if options.tokens or options.marginals:
            lines = [_with_tokens(served, options, *pair) for pair in zip(documents, lines, strict=True)]
    except PostilError as error:
        return unfit(error)
    return b'{"model": %b, "documents": [%b]}' % (json.dumps(served.name).encode(), b", ".join(lines))


def _with_tokens(served: Served, options: TagOptions, document: DocumentAsked, line: bytes) -> bytes:
    """A document with its tokens, the places of its sentences among them, and the marginals of its labels."""
    answer = json.loads(line)
    sentences = sentences_in(served, document)
    if options.tokens:
        answer.setdefault("tokens", _token_list(document, sentences))
        answer["sentences"] = _sentence_places(sentences)
    if options.marginals:
        tagger, constraints = served.model, None
        assert isinstance(tagger, Tagger), "other kinds refuse marginals"
        if document.constraints is not UNSET:
            constraints = Constraints.from_json(msgspec.to_builtins(document.constraints), "constraints")
        answer["marginals"] = [
            {label: round(probability, 6) for label, probability in of_token.items()}
            for sentence in sentences
            for of_token in tagger.marginals(
                tokens_of(sentence),
                constraints.in_tokens(sentence) if constraints and document.tokens is UNSET else constraints,
            )
        ]
    return json.dumps(answer, ensure_ascii=False).encode()


def _token_list(document: DocumentAsked, sentences: list[Sentence]) -> list[Any]:
    if document.tokens is not UNSET:
        return list(document.tokens)
    places = [
        place
        for sentence in sentences
        for place in zip(sentence.tokens, sentence.starts or (), sentence.ends or (), strict=True)
    ]
    return [
        {"text": token, "start": start, "end": end, "id": number} for number, (token, start, end) in enumerate(places)
    ]


def _sentence_places(sentences: list[Sentence]) -> list[list[int]]:
    places, first = [], 0
    for sentence in sentences:
        places.append([first, first + len(sentence)])
        first += len(sentence)
    return places


def sentences_in(served: Served, asked: DocumentAsked | TextAsked) -> list[Sentence]:
    """The sentences of a text, or the one of a list of tokens; none if there are no tokens."""
    if asked.tokens is not UNSET:
        return [Sentence(list(asked.tokens))] if asked.tokens else []
    return sentences_of(asked.text or "", served.model.model.segmenter)


# ------------------------------------------------------------------------------------------------ one by one


def explain(registry: Registry, request: Explain) -> Steps:
    """/api/explain: what ``postil explain --json`` prints. A step is an explanation."""
    kinds = ("tree-classifier",) if request.brackets is not UNSET else (*SENTENCE_KINDS, "tree-classifier")
    served = registry.find(request.model or None, kinds, "explain this")
    model: Any = served.model
    explanations = []
    if served.kind == "tree-classifier":
        if request.span is not UNSET:
            raise refused("unfit", "span: a tree classifier explains whole sentences")
        trees = _trees(served, request, model.config.tree)
        check_cost(sum(len(tree) ** 2 for tree in trees), MOST_TREE_NODES, "the explanation", "nodes of trees")
        for tree in trees:
            yield
            explanations.append(model.explain(tree, request.label or None).to_dict())
        return _dumped(served, explanations=explanations)
    sentences, label = sentences_in(served, request), request.label or None
    if request.span is not UNSET:
        places = [place_of_span(sentences, request.span.start, request.span.end, label)]
    else:
        places = list(places_of_entities(model, sentences, label))
    check_cost(_passes(model, places), MOST_PASSES, "the explanation", "passes of a token through the network")
    for at in places:
        yield
        explanations.append(model.explain(tokens_of(at.sentence), at.start, at.end, at.label).to_dict())
    return _dumped(served, explanations=explanations)


def _passes(model: Any, places: Iterable[Place]) -> int:
    """Tokens that pass through the network for explanations of these places."""
    parts = model.model
    features = 2 + len(feature_groups(parts.config, parts.features))
    return sum(
        (features + len(words_in_reach(parts.config, len(at.sentence), at.start, at.end))) * len(at.sentence)
        for at in places
    )


def tree(registry: Registry, request: TreeAsked) -> bytes:
    """/api/tree: what ``postil tag --to jsonl --probabilities`` writes about trees."""
    served = registry.find(request.model or None, ("tree-classifier",), "classify trees")
    options = TaggingOptions(output="jsonl", probabilities=True, tree=request.shape or None)
    options = replace(options, reading=ReadOptions(features=(), every_record=True))
    if request.brackets is not UNSET:
        parse_tree(request.brackets)  # exactly one
        passage = Passage(name="request", format="trees", first=1, text=request.brackets, whole=True)
    else:
        record = msgspec.json.encode(DocumentAsked(text=request.text, tokens=request.tokens)).decode()
        passage = Passage(name="request", format="jsonl", first=1, text=record + "\n", whole=True)
    labelled = served.labeller(("tree", request.shape), lambda: options).label(passage)
    if labelled.mistake is not None:
        raise labelled.mistake
    return b'{"model": %b, "trees": [%b]}' % (
        json.dumps(served.name).encode(),
        b", ".join(labelled.content.split(b"\n")[:-1]),
    )


def _trees(served: Served, request: Explain, shape: Any) -> list[Any]:
    if request.brackets is not UNSET:
        return [parse_tree(request.brackets)]
    return [tree_over(sentence, shape) for sentence in sentences_in(served, request)]


def _dumped(served: Served, **content: Any) -> bytes:
    return json.dumps({"model": served.name, **content}, ensure_ascii=False).encode()

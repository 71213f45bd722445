"""From checked requests to answers: the same bytes as the command line writes, in one JSON object per request."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from postil.errors import PostilError, format_message
from postil.models.answers.constraints import Constraints
from postil.models.explaining.contributions import feature_groups, words_in_reach
from postil.models.sentences import sentences_of, tokens_of
from postil.models.tagger import Tagger
from postil.server.batching import Steps
from postil.server.failures import Refusal, refused
from postil.server.registry import PLAIN, SEVERAL_TASKS, Registry, Served
from postil.serving import Labelled, Labeller, TaggingOptions
from postil.serving.places import Place, place_of_span, places_of_entities
from postil.serving.tree_answers import tree_over
from postil.text import Sentence, tokenise
from postil.text.bulk.passages import Passage
from postil.text.options import ReadOptions
from postil.text.trees.treebank import parse_tree

SENTENCE_KINDS = ("tagger", "detector")
TAGGED_KINDS = (*SENTENCE_KINDS, SEVERAL_TASKS)
# What one request may cost; each is about two seconds of one core. docs/use/serving.md lists them.
MOST_PASSES = 100_000
"""Tokens through the network for explanations: every word and feature is left out in turn, for every entity."""
MOST_TREE_NODES = 1_000_000
"""Nodes of trees computed for explanations: every phrase is left out in turn."""
MOST_SPANS = 1_000_000
"""Spans looked at for ``all_above``: the squares of the lengths of all sentences, for every class."""
MOST_MARGINALS = 500_000
"""Tokens times labels, for ``marginals``."""
_ADDED = ("tokens", "marginals")
_LEAF = re.compile(r"[^()\s]\s*\)")


def documents_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts and lists of tokens of a request to /api/tag, each with its constraints."""
    if "documents" in request:
        documents: list[dict[str, Any]] = request["documents"]
        return documents
    return [{name: request[name] for name in ("text", "tokens", "constraints") if name in request}]


def check_constraints(served: Served, documents: Sequence[dict[str, Any]]) -> None:
    """Refuse constraints on a model of several tasks: they are labels of one."""
    if served.kind == SEVERAL_TASKS and any("constraints" in document for document in documents):
        raise refused("unfit", "constraints need one task: NAME:TASK instead of NAME")


def check_tokens(documents: Sequence[dict[str, Any]], most: int) -> int:
    """Refuse too many tokens; return their number, or a larger one that is cheaper to know."""
    # A token has at least one character: most requests need not be cut to be counted.
    number = sum(len(one[name]) for one in documents for name in ("text", "tokens", "brackets") if name in one)
    if number > most:
        number = sum(map(_number_of_tokens, documents))
    if number > most:
        raise refused("tokens", f"the request has {number:,} tokens; at most {most:,} are answered at once")
    return number


def _number_of_tokens(document: dict[str, Any]) -> int:
    if "brackets" in document:
        return len(_LEAF.findall(document["brackets"]))
    return len(document["tokens"] if "tokens" in document else tokenise(document["text"]).tokens)


def check_cost(cost: int, most: int, what: str, unit: str) -> None:
    """Refuse what would take too long, before it is begun."""
    if cost > most:
        limit = f"at most {most:,} are computed for one request"
        raise refused("cost", f"{what} needs {cost:,} {unit}; {limit}: send fewer or shorter sentences")


def unfit(error: PostilError) -> Refusal:
    """What the library refuses. The lines of our own passages are the documents of the request."""
    where = str(error.where or "")
    line = where.removeprefix("request, ").removeprefix("line ")
    place = f"document {int(line) - 1}" if line.isdecimal() else None
    return refused("unfit", format_message(error.what, error.expected, error.got, place))


# ------------------------------------------------------------------------------------------------ /api/tag


def key_of(options: dict[str, Any]) -> str:
    """Equal for equal options."""
    return json.dumps(options, sort_keys=True) if options else PLAIN


def tagging_options(served: Served, options: dict[str, Any]) -> TaggingOptions:
    """The options of a request in the library's words."""
    named = {name: options[name] for name in ("nbest", "threshold", "all_above") if name in options}
    if "nbest" in named:
        named["nbest"] = int(named["nbest"])
    of_kind: dict[str, Any] = {"scores": True}
    if served.kind != "detector":
        of_kind = {"probabilities": options.get("probabilities", True)}
    refusal = _REFUSALS.get(served.kind)
    if refusal is not None:
        _refuse_options(options, *refusal)
    reading = ReadOptions(features=(), every_record=True, characters=served.by_characters)
    thresholds = options.get("thresholds", {})
    return TaggingOptions(output="jsonl", reading=reading, class_thresholds=thresholds, **named, **of_kind)


_OF_TAGGERS = ("nbest", "threshold", "thresholds", "all_above", "marginals")
# Kind -> the options that it does not answer, and why.
_REFUSALS = {
    "detector": ((*_OF_TAGGERS, "probabilities"), "a tagger, which knows probabilities; a detector has scores"),
    SEVERAL_TASKS: (_OF_TAGGERS, "one task: NAME:TASK instead of NAME"),
}


def _refuse_options(options: dict[str, Any], names: Sequence[str], needed: str) -> None:
    for name in names:
        if name in options:
            raise refused("unfit", f"options: {name} needs {needed}")


def tag_alike(
    served: Served, options: dict[str, Any], requests: Sequence[Sequence[dict[str, Any]]]
) -> list[bytes | Exception]:
    """Answers to requests with the same model and options, labelled as one passage of JSON Lines."""
    try:
        labeller = served.labeller(key_of(options), partial(tagging_options, served, options))
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


def _cost_of(served: Served, options: dict[str, Any], documents: Sequence[dict[str, Any]]) -> Refusal | None:
    """Why options cost too much; None where they do not."""
    if not ("all_above" in options or options.get("marginals")):
        return None
    about = served.about()
    lengths = [len(sentence) for document in documents for sentence in sentences_in(served, document)]
    try:
        if "all_above" in options:
            spans = sum(length * length for length in lengths) * len(about.get("classes") or [""])
            check_cost(spans, MOST_SPANS, "options: all_above", "spans")
        if options.get("marginals"):
            numbers = sum(lengths) * len(about.get("labels") or [""])
            check_cost(numbers, MOST_MARGINALS, "options: marginals", "probabilities")
    except Refusal as refusal:
        return refusal
    return None


def _joined(labeller: Labeller, requests: Sequence[Sequence[dict[str, Any]]]) -> list[list[bytes] | Exception]:
    """The answers' lines of each request; one by one where a mistake in one of them ends the passage."""
    every = _lines(labeller, [document for documents in requests for document in documents])
    if isinstance(every, Exception):
        return [_lines(labeller, documents) for documents in requests]
    lines = iter(every)
    return [[next(lines) for _ in documents] for documents in requests]


def _lines(labeller: Labeller, documents: Sequence[dict[str, Any]]) -> list[bytes] | Exception:
    try:
        labelled = _labelled(labeller, documents)
    except PostilError as error:
        return unfit(error)
    if labelled.mistake is not None:
        return unfit(labelled.mistake)
    lines: list[bytes] = labelled.content.split(b"\n")[:-1]
    assert len(lines) == len(documents), "one line per record"
    return lines


def _labelled(labeller: Labeller, documents: Sequence[dict[str, Any]]) -> Labelled:
    if all(len(document) == 1 and "text" in document for document in documents):
        return labeller.label_texts([document["text"] for document in documents])
    text = "".join([json.dumps(document) + "\n" for document in documents])
    return labeller.label(Passage(name="request", format="jsonl", first=1, text=text, whole=True))


def _answer(
    served: Served, options: dict[str, Any], documents: Sequence[dict[str, Any]], lines: list[bytes] | Exception
) -> bytes | Exception:
    if isinstance(lines, Exception):
        return lines
    try:
        if any(options.get(name) for name in _ADDED):
            lines = [_with_tokens(served, options, *pair) for pair in zip(documents, lines, strict=True)]
    except PostilError as error:
        return unfit(error)
    return b'{"model": %b, "documents": [%b]}' % (json.dumps(served.name).encode(), b", ".join(lines))


def _with_tokens(served: Served, options: dict[str, Any], document: dict[str, Any], line: bytes) -> bytes:
    """A document with its tokens, the places of its sentences among them, and the marginals of its labels."""
    answer = json.loads(line)
    sentences = sentences_in(served, document)
    if options.get("tokens"):
        answer.setdefault("tokens", _token_list(document, sentences))
        answer["sentences"] = _sentence_places(sentences)
    if options.get("marginals"):
        tagger, constraints = served.model, document.get("constraints")
        assert isinstance(tagger, Tagger), "other kinds refuse marginals"
        known = None if constraints is None else Constraints.from_json(constraints, "constraints")
        answer["marginals"] = [
            {label: round(probability, 6) for label, probability in of_token.items()}
            for sentence in sentences
            for of_token in tagger.marginals(tokens_of(sentence), _of_sentence(known, document, sentence))
        ]
    return json.dumps(answer, ensure_ascii=False).encode()


def _of_sentence(known: Constraints | None, document: dict[str, Any], sentence: Sentence) -> Constraints | None:
    return known if known is None or "tokens" in document else known.in_tokens(sentence)


def _token_list(document: dict[str, Any], sentences: list[Sentence]) -> list[Any]:
    if "tokens" in document:
        return list(document["tokens"])
    places = [
        (token, start, end)
        for sentence in sentences
        for token, start, end in zip(sentence.tokens, sentence.starts or (), sentence.ends or (), strict=True)
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


def sentences_in(served: Served, document: dict[str, Any]) -> list[Sentence]:
    """The sentences of a text, or the one of a list of tokens; none where there are no tokens."""
    if "tokens" in document:
        return [Sentence(list(document["tokens"]))] if document["tokens"] else []
    return sentences_of(document["text"], served.by_characters)


# ------------------------------------------------------------------------------------------------ one by one


def explain(registry: Registry, request: dict[str, Any]) -> Steps:
    """/api/explain: what ``postil explain --json`` prints. A step is an explanation."""
    kinds = ("tree-classifier",) if "brackets" in request else (*SENTENCE_KINDS, "tree-classifier")
    served = registry.find(request.get("model"), kinds, "explain this")
    model: Any = served.model
    explanations = []
    if served.kind == "tree-classifier":
        if "span" in request:
            raise refused("unfit", "span: a tree classifier explains whole sentences")
        trees = _trees(served, request, model.config.tree)
        check_cost(sum(len(tree) ** 2 for tree in trees), MOST_TREE_NODES, "the explanation", "nodes of trees")
        for tree in trees:
            yield
            explanations.append(model.explain(tree, request.get("label")).to_dict())
        return _dumped(served, explanations=explanations)
    sentences, label = sentences_in(served, request), request.get("label")
    if "span" in request:
        start, end = int(request["span"]["start"]), int(request["span"]["end"])
        places = [place_of_span(sentences, start, end, label)]
    else:
        places = list(places_of_entities(model, sentences, label))
    check_cost(_passes(model, places), MOST_PASSES, "the explanation", "passes of a token through the network")
    for at in places:
        yield
        explanations.append(model.explain(tokens_of(at.sentence), at.start, at.end, at.label).to_dict())
    return _dumped(served, explanations=explanations)


def _passes(model: Any, places: Iterable[Place]) -> int:
    """Tokens that pass through the network for explanations of these places."""
    parts = model.fitted_parts()
    features = 2 + len(feature_groups(parts.config, parts.features))
    return sum(
        (features + len(words_in_reach(parts.config, len(at.sentence), at.start, at.end))) * len(at.sentence)
        for at in places
    )


def tree(registry: Registry, request: dict[str, Any]) -> bytes:
    """/api/tree: what ``postil tag --output jsonl --probabilities`` writes about trees."""
    served = registry.find(request.get("model"), ("tree-classifier",), "classify trees")
    options = TaggingOptions(output="jsonl", probabilities=True, tree=request.get("shape"))
    options = replace(options, reading=ReadOptions(features=(), every_record=True))
    if "brackets" in request:
        parse_tree(request["brackets"])  # exactly one
        passage = Passage(name="request", format="trees", first=1, text=request["brackets"], whole=True)
    else:
        record = {name: request[name] for name in ("text", "tokens") if name in request}
        passage = Passage(name="request", format="jsonl", first=1, text=json.dumps(record) + "\n", whole=True)
    labelled = served.labeller(("tree", request.get("shape")), lambda: options).label(passage)
    if labelled.mistake is not None:
        raise labelled.mistake
    return b'{"model": %b, "trees": [%b]}' % (
        json.dumps(served.name).encode(),
        b", ".join(labelled.content.split(b"\n")[:-1]),
    )


def _trees(served: Served, request: dict[str, Any], shape: Any) -> list[Any]:
    if "brackets" in request:
        return [parse_tree(request["brackets"])]
    return [tree_over(sentence, shape) for sentence in sentences_in(served, request)]


def _dumped(served: Served, **content: Any) -> bytes:
    return json.dumps({"model": served.name, **content}, ensure_ascii=False).encode()

"""From checked requests to answers: the same bytes as the command line writes, in one JSON object per request."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import msgspec
from msgspec import UNSET

from postil.errors import PostilError
from postil.models.decoding.constraints import Constraints
from postil.models.explaining.explanation import feature_groups, place_of_span, places_of_entities, words_in_reach
from postil.models.sentences import sentences_of, tokens_of
from postil.models.tagger import Tagger
from postil.server.api import DocumentAsked, Explain, Request, Tag, TagOptions, TextAsked, TreeAsked
from postil.server.batching import Steps
from postil.server.registry import SEVERAL_TASKS, Registry, Served
from postil.server.requests import Refusal, refused, unfit
from postil.tagging import Labelled, Labeller, TaggingOptions
from postil.text import Sentence, Tree, tokenise
from postil.text.document import record_of
from postil.text.lines import Passage
from postil.text.options import ReadOptions
from postil.text.trees.treebank import parse_tree, tree_over

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


def documents_of(served: Served, request: Tag) -> list[DocumentAsked]:
    """The texts and lists of tokens of a request to /api/tag, each with its constraints, which need one task."""
    documents = request.documents
    if documents is UNSET:
        documents = [DocumentAsked(text=request.text, tokens=request.tokens, constraints=request.constraints)]
    if served.kind == SEVERAL_TASKS and any(document.constraints is not UNSET for document in documents):
        raise refused("unfit", "constraints need one task: NAME:TASK instead of NAME")
    return documents


def check_tokens(asked: Sequence[Request], limit: int) -> int:
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
        count: dict[str, Callable[[Any], int]] = {
            "text": lambda text: len(tokenise(text).tokens),
            "tokens": len,
            "brackets": lambda brackets: len(_LEAF.findall(brackets)),
        }
        number = sum(count[name](content) for name, content in contents)
    if number > limit:
        raise refused("tokens", f"the request has {number:,} tokens; at most {limit:,} are answered at once")
    return number


def check_cost(cost: int, most: int, what: str, unit: str) -> None:
    """Refuse what would take too long, before it is begun."""
    if cost > most:
        limit = f"at most {most:,} are computed for one request"
        raise refused("cost", f"{what} needs {cost:,} {unit}; {limit}: send fewer or shorter sentences")


# ------------------------------------------------------------------------------------------------ /api/tag


def tagging_options(served: Served, options: TagOptions) -> TaggingOptions:
    """The options of a request in the library's words."""
    fields = msgspec.structs.asdict(options)
    named = {name: fields[name] for name in ("nbest", "all_above") if fields[name] is not UNSET}
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
        threshold=({} if options.threshold is UNSET else {"": options.threshold}) | (options.thresholds or {}),
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
        for documents in requests:
            _check_costs(served, options, documents)
        every = [document for documents in requests for document in documents]
        lines = iter(_tagged(served, labeller, options, every))
    except (PostilError, Refusal) as error:
        if len(requests) > 1:  # one of them is wrong: which one?
            return [tag_alike(served, options, [documents])[0] for documents in requests]
        return [error if isinstance(error, Refusal) else unfit(error)]
    return [_named(served, "documents", [next(lines) for _ in documents]) for documents in requests]


def _named(served: Served, name: str, objects: Iterable[bytes]) -> bytes:
    return b'{"model": %b, "%b": [%b]}' % (json.dumps(served.name).encode(), name.encode(), b", ".join(objects))


def _check_costs(served: Served, options: TagOptions, documents: Sequence[DocumentAsked]) -> None:
    """Refuse options that cost too much."""
    if options.all_above is UNSET and not options.marginals:
        return
    about = served.about()
    lengths = [len(sentence) for document in documents for sentence in sentences_in(served, document)]
    if options.all_above is not UNSET:
        spans = sum(length * length for length in lengths) * len(about.get("classes") or [""])
        check_cost(spans, MOST_SPANS, "options: all_above", "spans")
    if options.marginals:
        numbers = sum(lengths) * len(about.get("labels") or [""])
        check_cost(numbers, MOST_MARGINALS, "options: marginals", "probabilities")


def _tagged(served: Served, labeller: Labeller, options: TagOptions, documents: Sequence[DocumentAsked]) -> list[bytes]:
    """A JSON object for every document."""
    if all(document.tokens is UNSET and document.constraints is UNSET for document in documents):
        labelled = labeller.label_texts([document.text or "" for document in documents])
    else:
        text = "".join([msgspec.json.encode(document).decode() + "\n" for document in documents])
        labelled = labeller.label(Passage(name="request", format="jsonl", first=1, text=text, whole=True))
    lines = _lines(labelled)
    assert len(lines) == len(documents), "one line per record"
    if options.tokens or options.marginals:
        return [_with_tokens(served, options, *pair) for pair in zip(documents, lines, strict=True)]
    return lines


def _lines(labelled: Labelled) -> list[bytes]:
    if labelled.mistake is not None:
        raise labelled.mistake
    return labelled.content.split(b"\n")[:-1]


def _with_tokens(served: Served, options: TagOptions, document: DocumentAsked, line: bytes) -> bytes:
    """A document with its tokens, the places of its sentences among them, and the marginals of its labels."""
    answer = json.loads(line)
    sentences = sentences_in(served, document)
    is_text = document.tokens is UNSET
    if options.tokens:
        places = [
            {"text": token, "start": start, "end": end}
            for one in sentences
            for token, start, end in zip(one.tokens, one.starts or (), one.ends or (), strict=is_text)
        ]
        answer.setdefault(
            "tokens", [{**place, "id": i} for i, place in enumerate(places)] if is_text else document.tokens
        )
        answer["sentences"] = list(pairwise(accumulate(map(len, sentences), initial=0)))
    if options.marginals:
        tagger, constraints = served.model, None
        assert isinstance(tagger, Tagger), "other kinds refuse marginals"
        if document.constraints is not UNSET:
            constraints = Constraints.from_json(msgspec.to_builtins(document.constraints), "constraints")
        answer["marginals"] = [
            {label: round(probability, 6) for label, probability in of_token.items()}
            for sentence in sentences
            for of_token in tagger.marginals(
                tokens_of(sentence), constraints.in_tokens(sentence) if constraints and is_text else constraints
            )
        ]
    return json.dumps(answer, ensure_ascii=False).encode()


def sentences_in(served: Served, asked: DocumentAsked | TextAsked) -> list[Sentence]:
    """The sentences of a text, or a list of tokens as one sentence; an empty list without tokens."""
    if asked.tokens is not UNSET:
        return [Sentence(list(asked.tokens))] if asked.tokens else []
    return sentences_of(asked.text or "", served.model.model.segmenter)


# ------------------------------------------------------------------------------------------------ one by one


def explain(registry: Registry, request: Explain) -> Steps:
    """/api/explain: what ``postil explain --json`` prints. A step is an explanation."""
    kinds = ("tree-classifier",) if request.brackets is not UNSET else (*SENTENCE_KINDS, "tree-classifier")
    served = registry.find(request.model or None, kinds, "explain this")
    model: Any = served.model
    label, calls = request.label or None, list[Callable[[], Any]]()
    if served.kind == "tree-classifier":
        if request.span is not UNSET:
            raise refused("unfit", "span: a tree classifier explains whole sentences")
        calls += [partial(model.explain, tree, label) for tree in trees_to_explain(served, request)]
    else:
        sentences, parts = sentences_in(served, request), model.model
        if request.span is not UNSET:
            places = [place_of_span(sentences, request.span.start, request.span.end, label)]
        else:
            places = list(places_of_entities(model, sentences, label))
        features = 2 + len(feature_groups(parts.config, parts.features))
        passes = sum(
            (features + len(words_in_reach(parts.config, len(at.sentence), at.start, at.end))) * len(at.sentence)
            for at in places
        )
        check_cost(passes, MOST_PASSES, "the explanation", "passes of a token through the network")
        calls += [partial(model.explain, tokens_of(at.sentence), at.start, at.end, at.label) for at in places]
    explanations = []
    for call in calls:
        yield
        explanations.append(call().to_dict())
    return json.dumps({"model": served.name, "explanations": explanations}, ensure_ascii=False).encode()


def trees_to_explain(served: Served, request: Explain | TreeAsked, shape: str = "") -> list[Tree]:
    """The tree in brackets, or one of a shape over each sentence, by default as in training; few enough of them."""
    if request.brackets is not UNSET:
        trees = [parse_tree(request.brackets)]
    else:
        trees = [tree_over(one, shape or served.model.config.tree) for one in sentences_in(served, request)]
    check_cost(sum(len(tree) ** 2 for tree in trees), MOST_TREE_NODES, "the explanation", "nodes of trees")
    return trees


def tree(registry: Registry, request: TreeAsked) -> bytes:
    """/api/tree: what ``postil tag --to jsonl --probabilities`` writes about trees."""
    served = registry.find(request.model or None, ("tree-classifier",), "classify trees")
    reading = ReadOptions(features=(), every_record=True)
    options = TaggingOptions(output="jsonl", probabilities=True, tree=request.shape or None, reading=reading)
    if request.brackets is not UNSET:
        parse_tree(request.brackets)  # exactly one
        passage = Passage(name="request", format="trees", first=1, text=request.brackets, whole=True)
    else:
        record = msgspec.json.encode(DocumentAsked(text=request.text, tokens=request.tokens)).decode()
        passage = Passage(name="request", format="jsonl", first=1, text=record + "\n", whole=True)
    labelled = served.labeller(("tree", request.shape), lambda: options).label(passage)
    return _named(served, "trees", _lines(labelled))


def roles(registry: Registry, request: TextAsked) -> bytes:
    """/api/roles: what ``postil tag --to jsonl --probabilities`` writes about the sentences of a text."""
    served = registry.find(request.model or None, ("role-labeller",), "label semantic roles")
    model: Any = served.model
    read = sentences_in(served, request)
    X = [sentence.tokens for sentence in read]
    places = model.predicates(X)
    passes = sum(len(tokens) * len(of_sentence) for tokens, of_sentence in zip(X, places, strict=True))
    check_cost(passes, MOST_PASSES, "the answer", "passes of a token through the network")
    frames = model.predict(X, places)
    sentences = [
        record_of(one.tokens, of_one) | ({} if one.starts is None else {"starts": one.starts, "ends": one.ends})
        for one, of_one in zip(read, frames, strict=True)
    ]
    return json.dumps({"model": served.name, "sentences": sentences}, ensure_ascii=False).encode()

"""Groups of classes: spans of two classes may overlap if the classes are in different groups.

A sentence whose spans overlap has ``spans`` instead of ``labels``. Each group takes its share of them as labels, which
one head of a model learns. No class is in two groups: the spans of all groups together are those of the sentence.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from postil.errors import ConfigurationError, DataError
from postil.text.document import OUTSIDE
from postil.text.labels.schemes import SEPARATOR, UNKNOWN, PartialLabel, Span, labels_from_spans, parse_label
from postil.text.lines import shortened

Groups = Mapping[str, Sequence[str]]
Annotation = Sequence[str] | Sequence[Span]  # a label for every token of a sentence, or its spans, which may overlap


def checked_groups(groups: Groups) -> dict[str, list[str]]:
    """The classes of each group; ConfigurationError unless there are two groups or more and each class is in one."""
    listed = {name: list(classes) for name, classes in groups.items()}
    if len(listed) < 2 or not all(listed.values()):
        got = ", ".join(f"{name}={','.join(classes)}" for name, classes in listed.items())
        raise ConfigurationError("groups", expected="at least two, each with a class", got=got or "none")
    counts = Counter(name for classes in listed.values() for name in classes)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ConfigurationError("groups", expected="must have each class once", got=f"{twice[0]} twice")
    return listed


def classes_of_span(label: str) -> tuple[str, ...]:
    """Its class, or those of which one is right; none if nothing is known."""
    return label.alternatives if isinstance(label, PartialLabel) else (label,)


def may_overlap(one: str, other: str) -> bool:
    """Whether spans with these labels may overlap if their classes are in different groups."""
    names, others = classes_of_span(one), classes_of_span(other)
    return bool(names) and bool(others) and set(names).isdisjoint(others)


def overlaps(spans: Iterable[Span]) -> Iterator[tuple[Span, Span]]:
    """Every pair of spans that overlap; the first of a pair begins first."""
    active: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        active = [one for one in active if one.end > span.start]
        yield from ((one, span) for one in active)
        active.append(span)


def found_groups(annotations: Iterable[Annotation]) -> dict[str, list[str]]:
    """Few groups in which no spans overlap, each named after its most frequent class that overlaps.

    Colours the graph of classes that overlap: next comes the class whose neighbours have the most colours (DSATUR),
    which needs two colours whenever two are enough. The order of the data does not matter.
    """
    counts: Counter[str] = Counter()
    neighbours: dict[str, set[str]] = {}
    for annotation in annotations:
        counts.update(_classes(annotation))
        for pair in overlaps(item for item in annotation if isinstance(item, Span)):
            for one, other in (pair, pair[::-1]):
                for name in classes_of_span(one.label):
                    neighbours.setdefault(name, set()).update(classes_of_span(other.label))
    colours: dict[str, int] = {}
    while left := counts.keys() - colours.keys():

        def urgency(name: str) -> tuple[int, int, int, str]:
            around = neighbours.get(name, set())
            return -len({colours[one] for one in around if one in colours}), -len(around), -counts[name], name

        name = min(left, key=urgency)
        taken = {colours.get(one) for one in neighbours.get(name, ())}
        colours[name] = next(colour for colour in range(len(counts)) if colour not in taken)
    groups: dict[str, list[str]] = {}
    for colour in sorted(set(colours.values())):
        classes = sorted(name for name in colours if colours[name] == colour)
        title = max(classes, key=lambda name: (name in neighbours, counts[name], name))
        title = re.sub(r"[^\w-]+", "_", title.lower())[:60]
        title = title if title[:1].isalpha() else f"group{title}"
        groups[title if title not in groups else f"{title}{colour + 1}"] = classes
    return groups


def by_group(
    annotations: Sequence[Annotation], sentences: Sequence[Sequence[object]], groups: Groups, places: Sequence[str] = ()
) -> dict[str, list[list[str]]]:
    """The labels of each group for sentences of tokens; ``places`` name the sentences in an error."""
    groups = checked_groups(groups)
    known = {name for classes in groups.values() for name in classes}
    for annotation, place in zip_longest(annotations, places):
        if unknown := sorted({*_classes(annotation)} - known):
            expected = f"a class of the groups ({', '.join(sorted(known))})"
            raise DataError("a class that is in no group", expected=expected, got=unknown[0], where=place)
    return {
        name: [
            labels_in_group(annotation, tokens, classes, place)
            for annotation, tokens, place in zip_longest(annotations, sentences, places)
        ]
        for name, classes in groups.items()
    }


def _classes(annotation: Annotation) -> list[str]:
    spans = [name for item in annotation if isinstance(item, Span) for name in classes_of_span(item.label)]
    tags = [parse_label(part) for item in annotation if isinstance(item, str) for part in classes_of_span(item)]
    return spans + [tag.label for tag in tags if tag.role != "O"]


def labels_in_group(
    annotation: Annotation, tokens: Sequence[object], classes: Sequence[str], where: str | None = None
) -> list[str]:
    """One label per token: those of the group's classes; of a sentence with spans, in BIO."""
    inside = set(classes)
    spans = [span for span in annotation if isinstance(span, Span)]
    labels = [label for label in annotation if isinstance(label, str)]
    if spans or not annotation:
        names = [classes_of_span(span.label) for span in spans]  # none: nothing is known, in any group
        spans = [span for span, of in zip(spans, names, strict=True) if not of or not inside.isdisjoint(of)]
        for one, other in overlaps(spans):
            raise overlap_error(one, other, "are in one group", tokens, where)
        labels = labels_of_spans(spans, len(tokens))
    kept = []
    for label in labels:
        if isinstance(label, PartialLabel):
            parts = [part for part in label.alternatives if part == OUTSIDE or parse_label(part).label in inside]
            if len(parts) < len(label.alternatives):  # the token may also be outside of the group's spans
                parts = list(dict.fromkeys([*parts, OUTSIDE]))
            kept.append(parts[0] if len(parts) == 1 else PartialLabel(SEPARATOR.join(parts) or UNKNOWN))
        else:
            kept.append(label if parse_label(label).label in inside else OUTSIDE)
    return kept


def labels_of_spans(spans: Iterable[Span], length: int, scheme: str = "bio") -> list[str]:
    """One label per token; of a span with several labels each of them in turn, of an unknown one none."""
    spans = list(spans)
    labels = labels_from_spans(spans, length, scheme)
    for span in spans:
        if isinstance(span.label, PartialLabel):
            for token in range(span.start, span.end):
                letter = labels[token][0]
                names = [f"{letter}-{name}" for name in span.label.alternatives]
                labels[token] = PartialLabel(SEPARATOR.join(names) or UNKNOWN)
    return labels


def overlap_error(one: Span, other: Span, why: str, tokens: Sequence[object], where: str | None) -> DataError:
    """An error that names both spans."""
    first, second = (
        f"{span.label} {shortened(' '.join(map(str, tokens[span.start : span.end])))}" for span in (one, other)
    )
    expected = "classes that overlap in different groups (postil train --group NAME=CLASS,CLASS)"
    return DataError(f"overlapping spans {why}", expected=expected, got=f"{second} overlaps {first}", where=where)

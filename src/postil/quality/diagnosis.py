"""The health of labelled data: what is odd in them, which labels are probably wrong, what more data would bring."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, final

import numpy as np

from postil.errors import DataError
from postil.evaluation import LearningCurve, Progress, curve, groups_of
from postil.features.inputs import Sentences
from postil.html.fragments import fragment, note, titled
from postil.metrics.tables import Cell, Table, drawn_table, show_class, text
from postil.models.tagger import Tagger
from postil.quality.checks import CHECKS, Finding, Split
from postil.quality.suggestion import text_and_tokens
from postil.quality.suspicions import MOST_LEARNT, Suspicion, judged
from postil.text import Sentence, Span
from postil.text.annotations.annotated import Record
from postil.text.labels.partial import Labels
from postil.text.labels.schemes import convert, recognise

FEWEST = 20  # sentences below which models for the purpose would only guess
SHOWN = 10  # findings of a kind, and suspected errors, that are printed

Data = tuple[Sentences, Labels]


@final
@dataclass(frozen=True)
class Diagnosis:
    """The result of a diagnosis. ``str`` shows the beginning of everything."""

    splits: list[Split]
    findings: list[Finding]
    suspicions: list[Suspicion] = field(default_factory=list)
    """Probable errors in the training data: the models prefer something else. The most suspicious first."""
    curve: LearningCurve | None = None
    left_out: str = ""
    """Why suspicions and curve are missing; empty if they are not."""

    @property
    def sizes(self) -> list[dict[str, Any]]:
        """How large the splits are: ``lengths`` of the shortest, median, 99th percentile and longest sentence."""
        sizes = []
        for split in self.splits:
            lengths = np.array([len(tokens) for tokens in split.X] or [0])
            spread = np.percentile(lengths, [0, 50, 99, 100], method="nearest").astype(int).tolist()
            size = {"name": split.name, "sentences": len(split.X), "tokens": int(lengths.sum())}
            sizes.append({**size, "classes": dict(split.classes.most_common()), "lengths": spread})
        return sizes

    @property
    def counts(self) -> dict[str, int]:
        """How many findings of each kind there are."""
        counts = Counter(finding.kind for finding in self.findings)
        return {kind: counts[kind] for kind in CHECKS if counts[kind]}

    def table(self) -> Table:
        """A row per split: its size, the lengths of its sentences, and its most frequent classes."""
        labels = [label for label, _ in sum((split.classes for split in self.splits), Counter[str]()).most_common(8)]
        rows: list[tuple[Cell, ...]] = []
        for size in self.sizes:
            _, median, _, longest = size["lengths"]
            row = (size["name"], size["sentences"], size["tokens"], f"{median} / {longest}")
            rows.append((*row, *(size["classes"].get(label, 0) for label in labels)))
        return Table("Data", ("split", "sentences", "tokens", "median / longest", *map(show_class, labels)), rows)

    def _repr_html_(self) -> str:
        kinds = [(title, number, advice) for title, number, advice, _ in self.lists()]
        wrong = [(self.where(one), self.described(one), self.excerpt(one)) for one in self.suspicions[:SHOWN]]
        doubts = drawn_table(Table("", ("where", "labels", "text"), wrong)) if wrong else None
        return fragment(
            drawn_table(self.table()),
            drawn_table(Table("", ("finding", "number", "advice"), kinds)) if kinds else None,
            titled("Labels that are probably wrong", doubts) if wrong else None,
            note(self.curve.summary()) if self.curve is not None else None,
            note(self.left_out) if self.left_out else None,
        )

    def where(self, suspicion: Suspicion) -> str:
        return self.splits[0].place(suspicion.sentence, suspicion.start)

    def excerpt(self, suspicion: Suspicion) -> str:
        return self.splits[0].excerpt(suspicion.sentence, suspicion.start, suspicion.end)

    def spelt(self, suspicion: Suspicion, spans: Sequence[Span]) -> str:
        """Entities of a suspicion as text."""
        if not spans:
            return "no entity"
        tokens = self.splits[0].tokens[suspicion.sentence]
        return " and ".join(f"{' '.join(tokens[span.start : span.end])} = {span.label}" for span in spans)

    def described(self, suspicion: Suspicion) -> str:
        """The labels in the data and those of the models, with probabilities."""
        gold, other = self.spelt(suspicion, suspicion.gold), self.spelt(suspicion, suspicion.suggestion)
        return (
            f"{gold} ({100 * suspicion.gold_probability:.1f} %); "
            f"models predict {other} ({100 * suspicion.suggestion_probability:.1f} %)"
        )

    def lists(self) -> Iterator[tuple[str, int, str, list[tuple[str, str]]]]:
        """The findings of each kind, then the suspected labels: title, number, advice, and the first as text."""
        for kind, number in self.counts.items():
            of_kind = [finding for finding in self.findings if finding.kind == kind][:SHOWN]
            lines = [(f"{one.where}: {one.what}", one.excerpt) for one in of_kind]
            yield CHECKS[kind].title, number, CHECKS[kind].advice, lines
        if self.suspicions:
            some = self.suspicions[:SHOWN]
            lines = [(f"{self.where(one)}: {self.described(one)}", self.excerpt(one)) for one in some]
            yield "labels that are probably wrong", len(self.suspicions), "the most suspicious first", lines

    def __str__(self) -> str:
        parts = [text(self.table()), "" if self.findings else "nothing odd was found by looking at the data"]
        for title, number, advice, lines in self.lists():
            shown = [f"  {line}" + (f"\n      {excerpt}" if excerpt else "") for line, excerpt in lines]
            more = [f"  … and {number - SHOWN:,} more"] * (number > SHOWN)
            parts.append("\n".join([f"{title}: {number:,}   {advice}", *shown, *more]))
        parts += [] if self.curve is None else [self.curve.summary()]
        return "\n\n".join(filter(None, [*parts, self.left_out]))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "splits": self.sizes,
            "counts": self.counts,
            "findings": [finding._asdict() for finding in self.findings],
            "suspicions": [
                {"where": self.where(one), "excerpt": self.excerpt(one), **one._asdict()}
                | {name: [span._asdict() for span in getattr(one, name)] for name in ("gold", "suggestion")}
                for one in self.suspicions
            ],
            "curve": None if self.curve is None else self.curve.to_dict(),
        }


def doctor(
    X: Sentences,
    y: Labels,
    *,
    dev: Data | None = None,
    test: Data | None = None,
    quick: bool = False,
    estimator: Tagger | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    threads: int = 1,
) -> Diagnosis:
    """Find errors and inconsistencies in labelled data.

    Parameters
    ----------
    X, y : sequences
        Sentences of tokens to train on, and their labels.
    dev, test : pair (X, y), optional
        Held-out data, which are compared with these.
    quick : bool, default=False
        Only look at the data. Otherwise models are trained to find labels that are probably wrong, and for a learning
        curve.
    estimator : Tagger, optional
        Its hyperparameters are used (default: the preset `fast`).
    folds, repeats : int
        Parts that are held out in turn, and how often.
    seed : int, default=0
        Seed of the parts and models.
    threads : int, default=1
        Training runs at a time. Does not change the result.

    Returns
    -------
    Diagnosis
        The findings, and the suspected labels, the most suspicious first.
    """
    splits = [Split.of("X", X, y)]
    splits += [Split.of(name, *data) for name, data in (("dev", dev), ("test", test)) if data is not None]
    return diagnosed(splits, quick=quick, estimator=estimator, folds=folds, repeats=repeats, seed=seed, threads=threads)


def diagnosed(
    splits: list[Split],
    *,
    quick: bool = False,
    estimator: Tagger | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[str], Progress] | None = None,
) -> Diagnosis:
    """``doctor`` for splits; ``progress`` is called with what comes next and shows how far it is."""
    train = splits[0]
    if not any(map(len, train.X)):
        raise DataError("no sentences", expected="at least one token with its label")
    findings = [finding for check in CHECKS.values() for finding in check.find(splits)]
    left_out = ""  # why no models are trained
    if len(train.X) < FEWEST:
        number = "1 sentence is" if len(train.X) == 1 else f"{len(train.X)} sentences are"
        left_out = f"{number} too few to look for wrong labels with models: at least {FEWEST} are needed"
    elif not train.classes:
        left_out = "without any entity there is nothing to learn: no models were trained"
    if quick or left_out:
        return Diagnosis(splits, findings, left_out="" if quick else left_out)
    show = progress or (lambda what: lambda done, total: None)
    estimator = estimator or Tagger()
    folds = min(folds, len(set(groups_of(train.documents))) or folds)
    same: dict[str, Any] = {"seed": seed, "threads": threads}
    progressing = show("looking for errors")
    judgements = judged(estimator, train, number=folds, repeats=repeats, progress=progressing, **same)
    is_alike = [split.classes and (split.scheme == "none") == (train.scheme == "none") for split in splits[1:]]
    held_out = next(((split.X, split.labels) for split in compress(splits[1:], is_alike)), None)
    same |= {"sizes": 5, "repeats": 2, "progress": show("learning curve"), "most": MOST_LEARNT}
    growth = curve(estimator, train.X, train.labels, held_out, **same)
    worse = [one for one in judgements.ranked(seed) if one.suggestion_probability > one.gold_probability]
    return Diagnosis(splits, findings, worse, growth)


# ------------------------------------------------------------------------------- a file for review, and what comes back
# A record is a sentence with the labels that the models suggest, in our JSON Lines:
#
#     {"text": …, "tokens": […], "spans": […], "sentence": 17, "where": "train.txt, line 203", "answer": null, …}
#
# A person sets ``answer`` to "accept" (after changing the spans, if need be) or "reject". Annotation tools that do not
# know the field drop it: a record without it counts as reviewed and is accepted as it is.


TAKEN = "accept"
LEFT = ("reject", "ignore", None)


class Applied(NamedTuple):
    """How many records changed a sentence, agreed with it, or were not answered (readers drop what was rejected)."""

    changed: int
    unchanged: int
    left: int


def review(diagnosis: Diagnosis, most: int | None = None) -> Iterator[str]:
    """The lines of a review file: a record for each sentence with a suspected error, the most suspicious first."""
    split = diagnosis.splits[0]
    by_sentence: dict[int, list[Suspicion]] = {}
    for suspicion in diagnosis.suspicions[:most]:
        by_sentence.setdefault(suspicion.sentence, []).append(suspicion)
    for sentence, found in by_sentence.items():
        gold = split.spans[sentence]
        if split.scheme == "none":
            gold = [Span(label, t, t + 1) for t, label in enumerate(split.labels[sentence])]
        doubted = {span for one in found for span in one.gold}
        kept = [span for span in gold if span not in doubted]
        spans = sorted([*kept, *(span for one in found for span in one.suggestion)], key=lambda span: span.start)
        text, tokens = text_and_tokens(Sentence(split.tokens[sentence]))
        record = {
            "text": text,
            "tokens": tokens,
            "spans": [
                {"start": tokens[span.start]["start"], "end": tokens[span.end - 1]["end"], "label": span.label}
                for span in spans
            ],
            "sentence": sentence,
            "answer": None,
            "where": diagnosis.where(found[0]),
            "doubts": [
                {"in the data": diagnosis.spelt(one, one.gold), "models": diagnosis.spelt(one, one.suggestion)}
                | {"probability": round(one.gold_probability, 4), "of models": round(one.suggestion_probability, 4)}
                for one in found
            ],
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def apply(reviewed: Iterable[Sentence], sentences: Sequence[Sentence], scheme: str, where: str = "") -> Applied:
    """Put the reviewed labels into the sentences that they belong to; ``scheme`` is that of their labels."""
    by_tokens: dict[tuple[str, ...], int] = {}
    for number, sentence in enumerate(sentences):
        by_tokens.setdefault(tuple(sentence.tokens), number)
    counts = dict.fromkeys(Applied._fields, 0)
    for corrected in reviewed:
        fields = corrected.rest.fields if isinstance(corrected.rest, Record) else {}
        if fields.get("answer", TAKEN) in LEFT:
            counts["left"] += 1
            continue
        # Which sentence it is: by its number, and by its tokens if a tool lost the number.
        given, tokens = fields.get("sentence"), tuple(corrected.tokens)
        if not (isinstance(given, int) and 0 <= given < len(sentences) and tuple(sentences[given].tokens) == tokens):
            if tokens not in by_tokens:
                expected, place = "must be in the data", f"{where}, line {corrected.line}" if where else None
                raise DataError("a reviewed sentence", expected=expected, got=" ".join(tokens)[:60], where=place)
            given = by_tokens[tokens]
        labels = corrected.labels or ["O"] * len(corrected)
        own = recognise([labels])
        if scheme != "none":
            labels = convert(labels, "bio" if own == "none" else own, scheme)
        elif own != "none":
            labels = [label.partition("-")[2] or label for label in labels]
        counts["unchanged" if labels == sentences[given].labels else "changed"] += 1
        sentences[given].labels = labels
    return Applied(**counts)

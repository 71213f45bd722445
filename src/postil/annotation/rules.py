"""Rules in an annotation: the files that a person edits, and a model that is trained on the votes and the answers.

rules = EditedRules("rules.toml")
tagger, fitting = rules.training(Tagger(), sentences, gold)      to be run by anyone
rules.judge(tagger, sentences)                                   the report on the rules, and what has changed
"""

import hashlib
import re
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from postil.errors import DataError, PostilError
from postil.files import replaced
from postil.models.fitting.fitting import Fitting
from postil.models.tagger import Tagger
from postil.reading import MOST_JSON_BYTES, read_bytes
from postil.rules import Learned, ListRule, Rules, check, read_rules
from postil.rules.learning import AGAIN, Learning
from postil.text import Span, spans_from_labels
from postil.text.lines import shortened

MOST_EDITED = 300_000  # bytes of a file that can be edited on the page
MOST_SHOWN = 40  # changed sentences that are shown
Sentences = Sequence[Sequence[str]]


@final
class EditedRules:
    """A file of rules, what a model learned from it, and what that changed. Safe for any number of threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rules: Rules = read_rules(path)
        """Those of the last training run."""
        self._lock = threading.Lock()
        self._learning: tuple[Learning, float] | None = None
        self._learned: Learned | None = None
        self._spans: list[list[Span]] | None = None
        self._result: dict[str, Any] = {"report": None, "changes": None, "seconds": None}

    def _files(self) -> dict[str, tuple[Path, bytes]]:
        """The files that can be edited: the rules, and their lists next to them or in folders below."""
        content, names = _content(self.path), list[str]()
        with suppress(ValueError, RecursionError, AttributeError, TypeError):  # training on it tells what is wrong
            tables = tomllib.loads(content.decode("utf-8-sig")).get("rule", [])
            names = [table["list"] for table in tables if isinstance(table.get("list"), str)]
        folder, files = self.path.parent.resolve(), {self.path.name: (self.path, content)}
        for name in names:
            path = folder / name
            if path.resolve().is_relative_to(folder) and path.is_file() and path.stat().st_size <= MOST_EDITED:
                with suppress(UnicodeDecodeError):
                    (content := _content(path)).decode()
                    files[name] = path, content
        return files

    def state(self) -> dict[str, Any]:
        """The files with their texts, the report on the rules, and what the last training changed; ready for JSON."""
        files = [
            {"name": name, "text": content.decode("utf-8-sig", "replace"), "stamp": _stamp(content)}
            for name, (_, content) in self._files().items()
        ]
        with self._lock:
            return {"files": files, **self._result}

    def save(self, name: str, text: str, stamp: str, *, replace: bool = False) -> None:
        """Write a file of ``state`` if the text can be read as one. ``stamp`` is that of the text before.

        A file that has changed on the disk meanwhile is an error, unless the person wants to ``replace`` it.
        """
        files = self._files()
        if name not in files:
            raise DataError("a file", expected="must be the rules or one of their lists", got=shortened(name))
        path = files[name][0]
        if path == self.path:
            try:
                read_rules(path, text=text)
            except PostilError as error:
                raise _on_its_line(error, text, path) from None
        elif not text.strip():
            raise DataError(name, expected="at least one name", got="none")
        with self._lock:
            now = _content(path)
            if _stamp(now) != stamp and not replace:
                raise DataError(f"{name} has changed on disk since it was opened here")
            if b"\r\n" in now:  # a browser turns them into \n
                text = text.replace("\n", "\r\n")
            with replaced(path) as stream:
                stream.write(text.encode())

    def training(
        self, tagger: Tagger, sentences: Sentences, gold: tuple[Sentences, Sentences]
    ) -> tuple[Tagger, Fitting]:
        """A training run on the votes of the rules in the file now, and on gold labels.

        After the first one it is short, and starts from the tagger of before.
        """
        began, rules, before = time.monotonic(), read_rules(self.path), self._learned
        if before is not None:
            classes = {label.partition("-")[2] for labels in gold[1] for label in labels}.union(rules.labels)
            if not classes.issuperset(before.tagger.model.codec.classes):
                before = None  # a class is gone
        learning = Learning(sentences, rules, gold if gold[0] else None, before=before)
        if before is not None:
            tagger = tagger.set_params(epochs=min(AGAIN, before.tagger.model.config.epochs))
        self._learning = learning, began
        return tagger, tagger.fitting(**learning.data())

    def judge(self, tagger: Tagger, sentences: Sentences) -> None:
        """Judge the rules by the model that was trained, and compare its predictions with those of the one before."""
        assert self._learning is not None
        learning, began = self._learning
        learned = learning.learned(tagger)
        report = check(learned, learned.sentences).to_dict()
        spans = [spans_from_labels(labels, tagger.model.codec.scheme) for labels in tagger.predict(sentences)]
        changes = None if self._spans is None else differences(sentences, self._spans, spans)
        with self._lock:
            self.rules, self._learned, self._spans = learned.rules, learned, spans
            self._result = {"report": report, "changes": changes, "seconds": round(time.monotonic() - began, 2)}


def rules_of_names(names: Iterable[tuple[str, str]]) -> Rules:
    """Rules for lists of names: (class, name)."""
    phrases: dict[str, list[str]] = {}
    for label, name in names:
        phrases.setdefault(label, []).append(name)
    return Rules(ListRule(name=label, label=label, phrases=some) for label, some in phrases.items())


def voted_spans(rules: Rules, tokens: Sequence[str]) -> list[Span]:
    """The spans that rules vote for, and none votes against; of those that overlap, the longest."""
    (votes,) = rules.votes([tokens])
    against = {vote[1:4] for vote in votes if vote.negated}
    chosen: list[Span] = []
    for vote in sorted(votes, key=lambda one: (one.start - one.end, one.start)):
        is_free = all(vote.end <= one.start or one.end <= vote.start for one in chosen)
        if is_free and not vote.negated and vote[1:4] not in against:
            chosen.append(Span(vote.label, vote.start, vote.end))
    return sorted(chosen, key=lambda span: span.start)


def differences(
    sentences: Sentences, before: Sequence[Sequence[Span]], after: Sequence[Sequence[Span]]
) -> dict[str, Any]:
    """Compare the predictions of a new model with those before: spans by class, changed sentences, ready for JSON.

    A span that has another class is ``relabelled``; others are ``added`` or ``removed``.
    """
    classes = [Counter(span.label for spans in side for span in spans) for side in (before, after)]
    kinds: Counter[str] = Counter()
    changed: list[dict[str, Any]] = []
    for tokens, old, new in zip(sentences, before, after, strict=True):
        gone, come = set(old) - set(new), set(new) - set(old)
        if not gone and not come:
            continue
        was = {span[1:]: span.label for span in gone}
        marks: list[dict[str, Any]] = []
        for span in sorted(come, key=lambda span: span[1:]):
            kind = "relabelled" if span[1:] in was else "added"
            marks.append({**span._asdict(), "was": was.pop(span[1:], None), "kind": kind})
        for span in sorted((span for span in gone if span[1:] in was), key=lambda span: span[1:]):
            marks.append({**span._asdict(), "was": span.label, "kind": "removed"})
        kinds.update(mark["kind"] for mark in marks)
        changed.append({"words": list(tokens), "marks": sorted(marks, key=lambda mark: mark["start"])})
    changed.sort(key=lambda one: min(kinds[mark["kind"]] for mark in one["marks"]))  # rare kinds first
    return {
        "sentences": len(changed),
        "classes": [
            {"label": label, "before": classes[0][label], "after": classes[1][label]}
            for label in sorted(classes[0] | classes[1])
        ],
        **{kind: kinds[kind] for kind in ("added", "removed", "relabelled")},
        "changed": changed[:MOST_SHOWN],
    }


def _stamp(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _content(path: Path) -> bytes:
    """The bytes of a file, none if it is gone."""
    return read_bytes(path, "the file", MOST_JSON_BYTES, unpack=False) if path.exists() else b""


def _on_its_line(error: PostilError, text: str, path: Path) -> DataError:
    """An error in rules with the line of the text in which it is, as far as it is known, and without the folder."""
    what, got = error.what.replace(str(path), path.name), None if error.got is None else str(error.got)
    line = 0
    if found := re.search(r"at line (\d+)", got or ""):
        line = int(found[1])
    elif "at end of document" in (got or ""):
        line = text.count("\n") + 1
    elif found := re.search(r", rule (\d+)$", str(error.where or "")):
        tables = [number for number, one in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*rule\s*\]\]", one)]
        line = tables[int(found[1]) - 1] if int(found[1]) <= len(tables) else 0
    return DataError(f"line {line}: {what}" if line else what, expected=error.expected, got=got)

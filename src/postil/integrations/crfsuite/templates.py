"""Feature templates of CRF++: rows of columns -> feature dicts.

    U00:%x[-2,0]             the value of column 0 two tokens before
    U05:%x[-1,0]/%x[0,1]     two values with text between them
    U10:%x[0,1]              before the first token there is _B-1, _B-2 …, after the last one _B+1, _B+2 …
    B                        every pair of neighbouring labels

A feature is named as CRF++ names it, ``U00:the``. A template of pairs of labels that looks at columns (``B01:%x[0,0]``)
raises an error: in CRFsuite a pair of labels has the same weight at every token.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from postil.errors import DataError
from postil.integrations.crfsuite.estimator import CRF
from postil.reading import MOST_JSON_BYTES, read_text

FARTHEST = 8
"""Tokens that a template of CRF++ can look to either side."""
_MACRO = re.compile(r"%x\[\s*(-?\d+)\s*,\s*(\d+)\s*\]")
Row = Sequence[str]


@dataclass(frozen=True)
class _Rule:
    """One line of unigrams: texts, and between them (row, column) of values."""

    key: str | None  # what comes before the first colon, where no value does
    texts: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    def expanded(self, columns: Sequence[Sequence[str]], t: int) -> str:
        """The rule at token ``t``, of columns with FARTHEST values more on either side."""
        values = [columns[column][t + FARTHEST + row] for row, column in self.places]
        return "".join(part for pair in zip(self.texts, [*values, ""], strict=True) for part in pair)


@final
class Template:
    """The templates of a file of CRF++; ``has_transitions`` says whether it has a line ``B``.

    >>> template = Template("U00:%x[-1,0]\\nU01:%x[0,0]/%x[0,1]\\nB\\n")
    >>> template.features([("the", "DT"), ("end", "NN")])
    [{'U00': '_B-1', 'U01': 'the/DT'}, {'U00': 'the', 'U01': 'end/NN'}]
    """

    def __init__(self, text: str, where: object = "template") -> None:
        self._rules: list[_Rule] = []
        self.has_transitions = False
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                self._add(line, f"{where}:{number}")
        self._has_bare_names = any(rule.key is None for rule in self._rules)
        self.columns = 1 + max((column for rule in self._rules for _, column in rule.places), default=-1)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The templates of a file."""
        return cls(read_text(path, "the templates", MOST_JSON_BYTES), path)

    def _add(self, line: str, where: str) -> None:
        if line.startswith("B"):
            if "%" in line:
                expected = "must be B alone: a pair of labels has one weight, whatever the words"
                raise DataError("template", expected=expected, got=repr(line), where=where)
            self.has_transitions = True
        elif line.startswith("U"):
            self._rules.append(_rule(line, where))
        else:
            raise DataError("template", expected="must begin with U, B or #", got=repr(line), where=where)

    def features(self, rows: Iterable[Row], *, word_key: str | None = None) -> list[dict[str, Any]]:
        """A feature dict for each token of one sentence, from its row of columns.

        With ``word_key`` the value of the first column stands under that key: for ``Tagger(word_key=…)``.
        """
        rows = [*rows]
        for t, row in enumerate(rows):
            if isinstance(row, str) or len(row) < self.columns:
                got = "a string" if isinstance(row, str) else f"{len(row)}"
                raise DataError("columns of a row", expected=f"at least {self.columns}", got=got, where=f"token {t}")
        # The names that CRF++ has for the positions before and after a sentence.
        before, after = ([f"_B{sign}{i}" for i in range(1, FARTHEST + 1)] for sign in "-+")
        columns = [[*before[::-1], *(row[column] for row in rows), *after] for column in range(self.columns)]
        items = [self._item(columns, t) for t in range(len(rows))]
        if word_key is None:
            return items
        return [{**item, word_key: row[0]} for row, item in zip(rows, items, strict=True)]

    def _item(self, columns: Sequence[Sequence[str]], t: int) -> dict[str, Any]:
        item: dict[str, Any] = {}
        for rule in self._rules:
            value = rule.expanded(columns, t)
            if rule.key is None or self._has_bare_names:  # which may be the key of another rule
                item[value if rule.key is None else f"{rule.key}:{value}"] = True
            elif rule.key in item:  # two lines of one name: CRF++ takes both
                known = item[rule.key]
                item[rule.key] = [*(known if isinstance(known, list) else [known]), value]
            else:
                item[rule.key] = value
        return item

    def read(
        self, path: str | os.PathLike[str], *, word_key: str | None = None
    ) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
        """The feature dicts and the labels of a file for ``crf_learn``: columns, the last one the label.

        Columns are separated by spaces or tabs, sentences by blank lines.
        """
        X, y = [], []
        for rows in _sentences(Path(path), self.columns + 1):
            X.append(self.features([row[:-1] for row in rows], word_key=word_key))
            y.append([row[-1] for row in rows])
        return X, y

    def crf(self, C: float = 1.0, **parameters: Any) -> CRF:
        """The model that ``crf_learn -c C`` trains: a weight for every feature with every label, and an L2 penalty.

        CRF++ minimises Σ -log p + |w|² / 2C, CRFsuite Σ -log p + c2 |w|², so c2 is 1 / 2C. Pairs of labels are learned
        whether the template has a line ``B`` or not.
        """
        if not C > 0:
            raise DataError("C", expected="must be above 0", got=C)
        settings = {"algorithm": "lbfgs", "c2": 1 / (2 * C)}
        return CRF(**{**settings, "all_possible_states": True, "all_possible_transitions": True, **parameters})


def _rule(line: str, where: str) -> _Rule:
    texts = _MACRO.split(line)[::3]
    places = tuple((int(row), int(column)) for row, column in _MACRO.findall(line))
    if any("%" in text for text in texts):
        expected = "must have [row,column] after %x, and no other %"
        raise DataError("template", expected=expected, got=repr(line), where=where)
    for row, _ in places:
        if abs(row) > FARTHEST:
            expected = f"must be from -{FARTHEST} to {FARTHEST}"
            raise DataError("row of a template", expected=expected, got=row, where=where)
    key, colon, rest = texts[0].partition(":")
    if colon and (rest or places):
        return _Rule(key, (rest, *texts[1:]), places)
    return _Rule(None, tuple(texts), places)


def _sentences(path: Path, least: int) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    width = 0
    with path.open(encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            cells = re.split("[ \t]+", line.strip(" \t\r\n"))
            if cells == [""]:
                if rows:
                    yield rows
                rows = []
                continue
            width = width or len(cells)
            if len(cells) != width or width < least:
                expected = f"{max(width, least)}" if width >= least else f"at least {least}"
                raise DataError("columns of a row", expected=expected, got=len(cells), where=f"{path}:{number}")
            rows.append(cells)
    if rows:
        yield rows

"""Model cards: what a model is, as its file says, and where it comes from, as a JSON file next to it says.

A model file has neither dates nor timings, so that the same data and seed give the same bytes. What changes from run to
run, and what people write about a model, is in ``NAME.card.json`` next to ``NAME.postil``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from postil import archive
from postil.errors import DataError
from postil.metrics.tables import Cell, Table, format_cell, is_words
from postil.models.model import BY_CHARACTERS, INPUT
from postil.reading import read_json
from postil.text import Segmenter

_TEXTS = ("title", "about", "version", "date", "licence", "command")
_MOST_CLASSES = 60


@final
@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Everything that is known about a model, ready to be shown."""

    name: str
    texts: Mapping[str, str]
    """From the card file: title, about, version, date, licence, command; those that it has."""
    facts: Mapping[str, Cell]
    """From the model file."""
    tables: Sequence[Table] = ()
    weaknesses: Sequence[str] = ()

    @property
    def title(self) -> str:
        return self.texts.get("title", self.name)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        tables = [{"title": t.title, "columns": t.columns, "rows": t.rows, "note": t.note} for t in self.tables]
        return {
            "name": self.name,
            **self.texts,
            "facts": dict(self.facts),
            "tables": tables,
            "weaknesses": list(self.weaknesses),
        }

    def to_markdown(self) -> str:
        """The card as a page."""
        lines = [f"# {self.title}", ""]
        lines += [self.texts["about"], ""] if "about" in self.texts else []
        lines += _markdown_table(self.facts_table())
        for table in self.tables:
            lines += [f"## {table.title}", "", *_markdown_table(table), *([table.note, ""] if table.note else [])]
        if self.weaknesses:
            lines += ["## What it is bad at", "", *(f"- {weakness}" for weakness in self.weaknesses), ""]
        return "\n".join(lines)

    def facts_table(self) -> Table:
        """Facts of the file and short texts of the card, a row each."""
        texts = {name: self.texts[name] for name in _TEXTS[2:] if name in self.texts}
        return Table(
            self.title, ("what", "value"), [(name, format_cell(v)) for name, v in {**self.facts, **texts}.items()]
        )


def card_of(path: Path, name: str | None = None) -> ModelCard:
    """The card of a model file, which has been opened as a model before."""
    arrays, metadata = archive.load(path)
    written = _written(card_path(path))
    return ModelCard(
        name=name or path.name,
        texts={key: written[key] for key in _TEXTS if key in written},
        facts=_facts(path, arrays, metadata),
        tables=[
            Table(t["title"], tuple(t["columns"]), [*map(tuple, t["rows"])], t.get("note", ""))
            for t in written["tables"]
        ],
        weaknesses=written["weaknesses"],
    )


def card_path(model: Path) -> Path:
    """Where the card of a model file is."""
    return model.with_suffix(".card.json")


def _facts(path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Cell]:
    about, heads = metadata["about"], metadata["heads"]
    facts: dict[str, Cell] = {
        "kind": metadata["kind"],
        "preset": about.get("preset") or about.get("composition"),
        "size, MB": path.stat().st_size / 1e6,
        "words": _rows(arrays, "features/words/counts"),
        "word vectors": _rows(arrays, "features/words/vector/table"),
        "parameters": sum(int(np.prod(a.shape)) for n, a in arrays.items() if n.startswith(("network/", "heads/"))),
        "training sentences": about.get("data", {}).get("sentences"),
        "training tokens": about.get("data", {}).get("tokens"),
        "segmentation": _segmentation(metadata),
        "trained with": ", ".join(f"{part} {number}" for part, number in about.get("versions", {}).items()),
    }
    for name in metadata.get("tasks") or list(heads):
        facts["classes" if len(heads) == 1 else f"classes of {name}"] = _classes(heads[name]["labels"])
    return {name: value for name, value in facts.items() if value not in (None, "", 0)}


def _segmentation(metadata: Mapping[str, Any]) -> str:
    """How the model cuts raw text into tokens."""
    if "segmentation" in metadata:
        return str(Segmenter.from_dict(metadata["segmentation"]))
    return BY_CHARACTERS if metadata["about"].get(INPUT) == BY_CHARACTERS else "default rules"


def _classes(labels: Mapping[str, Any]) -> str:
    names = labels.get("classes") or labels.get("labels") or [labels.get("label", "")]
    more = f" and {len(names) - _MOST_CLASSES} others" if len(names) > _MOST_CLASSES else ""
    return " ".join(map(str, names[:_MOST_CLASSES])) + more


def _rows(arrays: Mapping[str, Any], name: str) -> int | None:
    return int(arrays[name].shape[0]) if name in arrays else None


def _written(path: Path) -> dict[str, Any]:
    """The content of a card file, checked; that of an empty one if there is none."""
    if not path.is_file():
        return {"tables": [], "weaknesses": []}
    content = read_json(path, "the model card")
    content = {"tables": [], "weaknesses": []} | content if isinstance(content, dict) else content
    if not isinstance(content, dict) or not _is_card(content):
        raise DataError(
            "model card", expected="texts, tables with columns and rows, weaknesses", got="others", where=path
        )
    return content


def _is_card(content: Mapping[str, Any]) -> bool:
    texts = all(isinstance(content.get(name, ""), str) for name in _TEXTS)
    weaknesses = isinstance(content["weaknesses"], list) and all(isinstance(one, str) for one in content["weaknesses"])
    return texts and weaknesses and isinstance(content["tables"], list) and all(map(_is_table, content["tables"]))


def _is_table(table: Any) -> bool:
    if (
        not isinstance(table, dict)
        or not isinstance(table.get("title"), str)
        or not isinstance(table.get("note", ""), str)
    ):
        return False
    columns, rows = table.get("columns"), table.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list) or not all(isinstance(one, str) for one in columns):
        return False
    return all(isinstance(row, list) and len(row) == len(columns) and all(map(_is_cell, row)) for row in rows)


def _is_cell(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return []
    rules = ["---" if is_words(table, column) else "--:" for column in range(len(table.columns))]
    rows = [[format_cell(cell).replace("|", "\\|") for cell in row] for row in table.rows]
    return [*(f"| {' | '.join(row)} |" for row in (list(table.columns), rules, *rows)), ""]

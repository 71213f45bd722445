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
from postil.models.model import BY_CHARACTERS, GROUPS, INPUT
from postil.models.storage import parts_of
from postil.reading import parsed_json, read_json
from postil.text import Segmenter
from postil.text.languages import script_of
from postil.text.splitting.segmenter import LEARNED

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
        rows = [(name, format_cell(value)) for name, value in {**self.facts, **texts}.items()]
        return Table(self.title, ("what", "value"), rows)


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


def _facts(path: Path, arrays: archive.Arrays, metadata: Mapping[str, Any]) -> dict[str, Cell]:
    about, heads = metadata["about"], metadata["heads"]
    data = about.get("data", {})
    raw, partial = data.get("unlabelled"), data.get("partial")  # which are not checked when a model is opened
    count = raw.get("sentences") if isinstance(raw, dict) else None
    if isinstance(partial, dict) and [*partial.values()] == [data.get("tokens"), 0] and isinstance(count, int):
        count, data = count + data["sentences"], {}  # no label is known: all came from the votes of rules
    # The most frequent words come first.
    words = np.asarray(arrays.get("features/words/word/text", np.zeros(0, np.uint8))[:20_000], np.uint8)
    facts: dict[str, Cell] = {
        "kind": metadata["kind"],
        "preset": about.get("preset") or about.get("composition"),
        "size, MB": path.stat().st_size / 1e6,
        "words": len(arrays.get("features/words/counts", ())),
        "word vectors": len(arrays.get("features/words/vector/table", ())),
        "parameters": sum(int(np.prod(a.shape)) for n, a in arrays.items() if n.startswith(("network/", "heads/"))),
        "training sentences": data.get("sentences"),
        "training tokens": data.get("tokens"),
        "language": about.get("language"),
        "script": script_of(words.tobytes().decode("utf-8", "ignore")),
        "sentences of raw text": count if isinstance(count, int) else None,
        "segmentation": _segmentation(metadata),
        "trained with": ", ".join(f"{part} {number}" for part, number in about.get("versions", {}).items()),
    }
    group = "group " if about.get(GROUPS) else ""
    for name in metadata.get("tasks") or list(heads):
        facts["classes" if len(heads) == 1 else f"classes of {group}{name}"] = _listed(_classes(heads[name]), " ")
        if (content := arrays.get(f"rules/{name}")) is not None:
            rules = enumerate(parsed_json(content.tobytes())["rules"], 1)
            named = [f"{rule.get('name', n)} ({rule.get('label') or 'not ' + rule['not']})" for n, rule in rules]
            facts["rules" if len(heads) == 1 else f"rules of {name}"] = _listed(named, ", ")
    for name, inside in parts_of(arrays).items():
        first = (inside.get("tasks") or list(inside["heads"]))[0]
        facts[f"{name} inside"] = _listed(_classes(inside["heads"][first]), " ")
    return {name: value for name, value in facts.items() if value not in (None, "", 0)}


def _classes(head: Mapping[str, Any]) -> Sequence[Any]:
    """The classes of spans, or the labels, of a head."""
    labels = head["labels"]
    return labels.get("classes") or labels.get("labels") or [labels.get("label", "")]


def _segmentation(metadata: Mapping[str, Any]) -> str:
    """How the model cuts raw text into tokens."""
    if metadata.get("segmentation", {}).get("rules") == LEARNED:
        return "learned from a treebank"
    if "segmentation" in metadata:
        return str(Segmenter.from_dict(metadata["segmentation"]))
    return BY_CHARACTERS if metadata["about"].get(INPUT) == BY_CHARACTERS else "default rules"


def _listed(names: Sequence[Any], between: str) -> str:
    more = f" and {len(names) - _MOST_CLASSES} others" if len(names) > _MOST_CLASSES else ""
    return between.join(map(str, names[:_MOST_CLASSES])) + more


def _written(path: Path) -> dict[str, Any]:
    """The content of a card file, checked; that of an empty one if there is none."""
    content = read_json(path, "the model card") if path.is_file() else {}
    if isinstance(content, dict):
        content = {"tables": [], "weaknesses": []} | content
        if (
            all(isinstance(content.get(name, ""), str) for name in _TEXTS)
            and _all(content["weaknesses"], str)
            and _all(content["tables"], dict)
            and all(map(_is_table, content["tables"]))
        ):
            return content
    raise DataError("model card", expected="texts, tables with columns and rows, weaknesses", got="others", where=path)


def _is_table(table: Mapping[str, Any]) -> bool:
    columns, rows = table.get("columns"), table.get("rows")
    if not _all([table.get("title"), table.get("note", "")], str) or not _all(columns, str) or not _all(rows, list):
        return False
    return all(len(row) == len(columns) and _all(row, str | int | float | None) for row in rows)  # type: ignore[arg-type,union-attr]


def _all(values: object, kind: Any) -> bool:
    """Whether this is a list of values of a kind; true and false are not numbers."""
    return isinstance(values, list) and all(isinstance(v, kind) and not isinstance(v, bool) for v in values)


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return []
    rules = ["---" if is_words(table, column) else "--:" for column in range(len(table.columns))]
    rows = [[format_cell(cell).replace("|", "\\|") for cell in row] for row in table.rows]
    return [*(f"| {' | '.join(row)} |" for row in (list(table.columns), rules, *rows)), ""]

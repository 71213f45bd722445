"""The licences that go with an exported model: the model's own, and those of the parts around it."""

from importlib.resources import files
from pathlib import Path

from postil.reports.card import card_of

FILE = "LICENSES.txt"
ATTRIBUTIONS = "ATTRIBUTIONS.md"
"""A file beside a model that its card may refer to: whose data it was made from."""


def licences(model: Path | None) -> str:
    """The licence of a model file as its card states it, its sources and attributions, then the notice of Postil."""
    return f"{_of_model(model)}\n\n{'=' * 100}\n{notice()}"


def notice() -> str:
    """The licences of Postil and of everything that it contains."""
    return (files("postil.export") / "NOTICE.txt").read_text(encoding="utf8")


def _of_model(path: Path | None) -> str:
    card = None if path is None else card_of(path, path.stem)
    licence = None if card is None else card.texts.get("licence")
    if path is None or card is None or licence is None:
        return "The model\n\nNo model card states a licence. Ask whoever trained the model."
    lines = [f"The model: {card.title}", "", f"Licence: {licence}"]
    for table in card.tables:
        if "licence" in table.columns:
            rows = [" | ".join(map(str, row)) for row in (table.columns, *table.rows)]
            lines += ["", table.title, "", *rows]
    attributions = path.with_name(ATTRIBUTIONS)
    if ATTRIBUTIONS in licence and attributions.is_file():
        lines += ["", attributions.read_text(encoding="utf8").strip()]
    return "\n".join(lines)

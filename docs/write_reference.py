"""Write the pages that exist in another form already: commands, settings, and the equations for the server.

    python docs/write_reference.py     rewrite reference/commands.md, reference/settings.md, server/page/equations.html

A test compares the pages with what this script writes.
"""

import argparse
import dataclasses
import re
import sys
from collections import Counter
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mathml import mathml

from postil.commands.parser import GROUPS, command_parser
from postil.models.config import configured, configured_tree
from postil.models.settings import rules

REFERENCE = Path(__file__).parent / "reference"

COMMANDS_HEAD = """# Commands

`postil COMMAND --help` prints the common options of a command, `--help-all` all of them, as on this page.

- MODEL is the path of a model file, else the name of an installed model. If it is left out, it is the English model.
- The extension of `-o` decides the [format](formats.md) to write, unless `--to` names it. Files are replaced.
- Results go to standard output, everything else to standard error. See [exit codes](troubleshooting.md#exit-codes).
"""

SETTINGS_HEAD = """# Settings

Pass settings as `Tagger(name=value)` or `postil train --set name=value`. A setting that you do not pass has the value
of the preset; an empty cell has the value on its left. If the description says so, None adapts to the training data.
This page is written from the code.

## Taggers and detectors

"""

TREES_HEAD = """
## Tree classifiers

The columns show the default composition and `tensor`; `postil info --presets sum` and the like list others. Settings of
the training loop that are not listed are those of taggers.

"""


def settings_table(described: object = None, **columns: object) -> str:
    """The settings as a table: name, value in each column (``a_b`` is headed `a-b`), and the description.

    A setting of ``described``, another table, with the same description and value is left out.
    """
    before = {} if described is None else {name: rule.text for name, rule in rules(type(described)).items()}
    config = type(next(iter(columns.values())))
    names = [name.replace("_", "-") for name in columns]
    rows = [f"| setting | {' | '.join(f'`{name}`' for name in names)} | |"]
    rows += ["|---|" + "---|" * len(columns) + "---|"]
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        is_described = before.get(field.name) == rules(config)[field.name].text
        if is_described and all(getattr(one, field.name) == getattr(described, field.name) for one in columns.values()):
            continue
        first, *others = [f"`{getattr(values, field.name)!r}`" for values in columns.values()]
        values = " | ".join([first, *("" if other == first else other for other in others)])
        text = rules(config)[field.name].text.replace("``", "`")
        rows.append(f"| `{field.name}` | {values} | {'as above' if is_described else text} |")
    return "\n".join(rows) + "\n"


def settings_page() -> str:
    fast, accurate = configured("fast", {}), configured("accurate", {})
    taggers = settings_table(fast=fast, accurate=accurate)
    trees = settings_table(fast, tree_lstm=configured_tree("tree-lstm", {}), tensor=configured_tree("tensor", {}))
    return SETTINGS_HEAD + taggers + TREES_HEAD + trees


def commands_page() -> str:
    names = [name for group in GROUPS.values() for name in group]
    tables = {name: {_label(action): _help(action) for action in _actions(name)} for name in names}
    counts = Counter((label, text) for table in tables.values() for label, text in table.items())
    shared = {label: text for (label, text), count in counts.items() if count >= SHARED}
    files = {label: text for label, text in shared.items() if label.split()[0] in FILE_OPTIONS}
    others = {label: text for label, text in shared.items() if label not in files}
    parts = [COMMANDS_HEAD, "## Shared options\n", _list(others)]
    parts += ["**File options** belong to every command that reads labelled files:\n", _list(files)]
    for group, commands in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [_command(name, text, tables[name], shared) for name, text in commands.items()]
    return "\n".join(parts)


SHARED = 3
"""An option that this number of commands describe in the same words is described once."""
FILE_OPTIONS = (
    *("--from", "--encoding", "--token-column", "--label-column", "--feature-columns"),
    *("--from-scheme", "--misaligned", "--overlaps", "--label-names", "--partial"),
)


def _command(name: str, summary: str, table: dict[str, str], shared: dict[str, str]) -> str:
    own = {label: text for label, text in table.items() if shared.get(label) != text}
    names = [label.split()[0].rstrip(",") for label in table if label not in own]
    others = [f"`{name}`" for name in names if name not in FILE_OPTIONS]
    others += ["and the file options"] if set(names) & set(FILE_OPTIONS) else []
    lines = [f"### postil {name}\n", f"{summary[0].upper()}{summary[1:]}.\n"]
    lines += [f"`{command_parser(name).usage}`\n", _list(own) if own else ""]
    return "\n".join([*lines, *([f"Shared: {' '.join(others)}\n"] if others else [])])


def _actions(name: str) -> list[argparse.Action]:
    hidden = {"--help", "--help-all"}
    actions = [action for action in command_parser(name)._actions if not hidden & {*action.option_strings}]
    return [action for action in actions if action.help != argparse.SUPPRESS]


def _list(rows: dict[str, str]) -> str:
    return "\n".join([*[f"- `{label}`: {text}" for label, text in rows.items()], ""])


def _label(action: argparse.Action) -> str:
    value = ""
    if action.choices is not None and action.metavar is None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    elif action.nargs != 0:
        value = str(action.metavar or action.dest.upper().replace("_", "-"))
    return f"{', '.join(action.option_strings)} {value}".strip()


def _help(action: argparse.Action) -> str:
    text = " ".join(((action.help or "") % {**vars(action), "prog": "postil"}).split())
    return re.sub(r": conll, [^()]*(?= \(|$)", ": see [File formats](formats.md)", _markdown(text))


def _markdown(text: str) -> str:
    """Help for a terminal as Markdown: angle brackets and asterisks stay what they are."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


# ------------------------------------------------------------------------------------------------ equations

EQUATIONS = "../../src/postil/server/page/equations.html"
EQUATIONS_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Equations – Postil</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/page/palette.css"><link rel="stylesheet" href="/page/page.css"></head>
<body><main><p><a href="/">Postil</a></p><h1>Equations</h1>
"""


def equations_page() -> str:
    """The formulas of the documents for the server's page: an equation a line, without the places in the code."""
    text = (REFERENCE.parent / "machinery" / "equations.md").read_text("utf-8")
    lines = []
    for part in re.split(r"^(?=###? )", text, flags=re.MULTILINE)[1:]:
        heading, *blocks = re.split(r"\n\n(?!\n)", part.strip())
        level, title, place = re.fullmatch(r"(#+) (.*?)(?: \{ #(\w+) \})?", heading).groups()  # type: ignore[union-attr]
        shown = "".join(_shown_block(block) for block in blocks if " · " not in block)
        tag, name = f"h{len(level)}", f' id="{place}"' if place else ""
        lines.append(f"<{tag}{name}>{escape(title)}</{tag}>{shown}\n")
    return EQUATIONS_HEAD + "".join(lines) + "</main></body></html>\n"


def _shown_block(block: str) -> str:
    if block.startswith("```math"):
        return f'<div class="scroll">{mathml(block[8:-3], display=True)}</div>'
    pieces = re.split(r"(\$`[^`]+`\$)", block.replace("\n", " "))
    shown = "".join(mathml(piece[2:-2]) if piece.startswith("$`") else escape(piece) for piece in pieces)
    shown = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", shown)
    return "<p>" + re.sub("`([^`]+)`", r"<code>\1</code>", shown) + "</p>"


PAGES = {"commands.md": commands_page, "settings.md": settings_page, EQUATIONS: equations_page}


def main() -> None:
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()

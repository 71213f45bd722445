"""``postil presets``: what each preset is for, and its settings."""

import argparse
import json
from dataclasses import asdict
from typing import Any

from postil.errors import ConfigurationError, similar
from postil.models.config import PRESETS, TaggerConfig, configured
from postil.models.settings import rules, spelt
from postil.models.tree_config import DEFAULTS, TreeConfig, configured_tree

DESCRIPTION = """\
List the presets of `train --preset` and the compositions of `train --composition`: what each is for, and the settings
in which it differs from the defaults. With a NAME, list all its settings and what they mean; `train --set NAME=VALUE`
changes one.

  postil presets
  postil presets fast
  postil presets --json
"""

PURPOSES = {
    "fast": "the default: good scores, trained in minutes, the fastest to tag with",
    "accurate": "the best scores; slower to train and to tag with",
    "linear-crf": "a linear model of the words and their neighbours: a baseline like CRFsuite",
    "neural-crf": "a hidden layer per word under a CRF: between linear-crf and fast",
    "margin": "a detector of one label with scores instead of probabilities: needs --label",
    "average-softmax": "textbook model: the mean of the window's vectors, each word decided alone",
    "window-softmax": "textbook model: a window with a tanh layer, each word decided alone",
    "window-wll": "textbook model: a window with a HardTanh layer, each word decided alone",
    "window-sll": "textbook model: the same, trained on whole sentences",
    "sentence-wll": "textbook model: a word sees its whole sentence, each word decided alone",
    "sentence-sll": "textbook model: the same, trained on whole sentences",
}
TREE_PURPOSES = {
    "tree-lstm": "the default for trees: the best scores",
    "tensor": "products of the two phrases: learns negation, slower",
    "concatenation": "the two phrases side by side through one layer",
    "sum": "the sum of the two phrases: a baseline that ignores their order",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="list all settings of this preset or composition")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    rows = _rows()
    if arguments.name is not None:
        rows = {arguments.name: _complete(arguments.name, rows)}
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    for name, row in rows.items():
        print(f"{name}: {row['purpose']}")
        print(f"  postil train TRAIN --{row['option']} {name} -o MODEL")
        if arguments.name is not None:
            _print_described(name, row["settings"])
        else:
            print("".join(f"    {line}\n" for line in _wrapped(_words(name, row["settings"]))))
    return 0


def _rows() -> dict[str, dict[str, Any]]:
    """Name -> purpose, option of ``postil train``, and the settings that differ from the defaults."""
    presets = {
        name: {"purpose": purpose, "option": "preset", "settings": PRESETS[name]} for name, purpose in PURPOSES.items()
    }
    compositions = {
        name: {"purpose": purpose, "option": "composition", "settings": DEFAULTS[name]}
        for name, purpose in TREE_PURPOSES.items()
    }
    return presets | compositions


def _complete(name: str, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The row of a name with all settings."""
    if name not in rows:
        hint = similar(name, rows)
        raise ConfigurationError(f"no preset {name!r}{hint}", expected=None if hint else f"one of {', '.join(rows)}")
    config = configured(name, {}) if name in PRESETS else configured_tree(name, {})
    return {**rows[name], "settings": asdict(config)}


def _config_of(preset: str) -> type:
    return TreeConfig if preset in DEFAULTS else TaggerConfig


def _words(preset: str, settings: dict[str, Any]) -> list[str]:
    return [f"{name}={spelt(_config_of(preset), name, value)}" for name, value in settings.items()]


def _print_described(preset: str, settings: dict[str, Any]) -> None:
    """Print each setting and its description on a line."""
    words = _words(preset, settings)
    width = max(map(len, words))
    for word, name in zip(words, settings, strict=True):
        print(f"    {word:<{width}}  {rules(_config_of(preset))[name].text.replace('``', '')}")


def _wrapped(words: list[str], width: int = 100) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines

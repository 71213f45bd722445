"""``postil info``: a model's card, a drawing of its network, or the presets."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from postil.commands.models import open_model
from postil.commands.output import add_overwrite_argument, check_output
from postil.errors import ConfigurationError, printable, similar
from postil.models.config import DEFAULTS, PRESETS, TaggerConfig, TreeConfig, configured, configured_tree
from postil.models.settings import rules, spelt
from postil.models.storage import ENGLISH, located
from postil.models.tagger import Tagger
from postil.reports.card import ModelCard, card_of
from postil.text.output import write_text

DESCRIPTION = """\
Show the card of a model: its size, classes and training data. If there is a file NAME.card.json next to NAME.postil,
also its licence, sources, scores and known weaknesses.

  postil info                            the installed English model
  postil info ner.postil
  postil info english -o english.md      the card as a Markdown page
  postil info ner.postil --network -o ner.svg
  postil info ner.postil --network --text "Museums in Paris are amazing." -o flow.svg
  postil info --presets                  all presets of `postil train`, with their purposes
  postil info --presets fast             all settings of one preset, with their meanings

--network draws the network as an SVG picture: features of words with their sizes, layers with shapes and numbers of
parameters, the CRF, the labels. With --text, it draws the flow graph of a tagger's loss on this sentence, with values
and gradients.
"""

PURPOSES = {
    "fast": "the default: good scores, trained in minutes, the fastest to tag with",
    "accurate": "the best scores; slower to train and to tag with",
    "linear-crf": "a linear model of the words and their neighbours: a baseline like CRFsuite",
    "neural-crf": "a hidden layer per word under a CRF: between linear-crf and fast",
    "margin": "a detector of one label with scores instead of probabilities: requires --label",
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
    parser.add_argument("model", metavar="MODEL", nargs="?", help=f"model file or name (default: {ENGLISH})")
    parser.add_argument("--network", action="store_true", help="draw the network of the model")
    parser.add_argument("--text", metavar="TEXT", help="--network: draw the flow graph of the loss on this sentence")
    parser.add_argument(
        "--task", metavar="NAME", help="--network --text: task of a multi-task model (default: the first)"
    )
    parser.add_argument(
        "--presets", metavar="NAME", nargs="?", const="", help="list the presets, or all settings of one of them"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the card as Markdown, or the network as SVG"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_overwrite_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.presets is not None:
        return _show_presets(arguments)
    arguments.model = arguments.model or ENGLISH
    if arguments.network:
        return _draw_network(arguments)
    for option in ("text", "task"):
        if getattr(arguments, option) is not None:
            raise ConfigurationError(f"--{option}", expected="needs --network")
    return _show_card(arguments)


# ------------------------------------------------------------------------------------------------ the card


def _show_card(arguments: argparse.Namespace) -> int:
    path = located(arguments.model)
    if arguments.output is not None:
        check_output(arguments.output, "card", "markdown", inputs=[path], overwrite=arguments.overwrite)
    open_model(arguments.model)  # which tells what is wrong with a file
    card = card_of(path, arguments.model)
    if arguments.output is not None:
        write_text(arguments.output, [card.to_markdown()])
    if arguments.json:
        print(json.dumps(card.to_dict(), indent=2, ensure_ascii=False))
    elif arguments.output is None:
        _print_card(card)
    return 0


def _print_card(card: ModelCard) -> None:
    from postil.commands.console import make_console, show_table

    console = make_console()
    if "about" in card.texts:
        console.print(printable(card.texts["about"]), markup=False)
    for table in (card.facts_table(), *card.tables):
        show_table(console, table)
    if card.weaknesses:
        console.print("\nKnown weaknesses", style="bold cyan")
        for weakness in card.weaknesses:
            console.print(f"- {printable(weakness)}", markup=False)


# ------------------------------------------------------------------------------------------------ the network


def _draw_network(arguments: argparse.Namespace) -> int:
    if arguments.output is None:
        raise ConfigurationError("--network", expected="needs -o FILE.svg")
    inputs = [located(arguments.model)]
    check_output(arguments.output, "picture", "picture", inputs=inputs, overwrite=arguments.overwrite)
    model = open_model(arguments.model)
    if arguments.text is not None:
        picture = _flow_graph(_tagger(model, arguments.task), arguments.text)
    elif arguments.task is not None:
        raise ConfigurationError("--task", expected="needs --text")
    else:
        from postil.drawing import drawn_network

        picture = drawn_network(model, Path(arguments.model).name)
    write_text(arguments.output, [picture])
    if arguments.json:
        print(json.dumps({"picture": str(arguments.output)}))
    else:
        print(f"The picture is in {arguments.output}: open it in a browser.")
    return 0


def _tagger(model: Any, task: str | None) -> Tagger:
    """The tagger whose flow graph is drawn: the model, or that of a task."""
    tasks = list(getattr(model, "tasks", ()))
    if task is not None and task not in tasks:
        expected = f"one of {', '.join(tasks)}" if tasks else "no task: the model has only one"
        raise ConfigurationError("--task", expected=expected, got=repr(task))
    tagger = model[task or tasks[0]] if tasks else model
    if not isinstance(tagger, Tagger):
        raise ConfigurationError("--text", expected="needs a tagger", got=f"a {model.KIND}")
    return tagger


def _flow_graph(tagger: Tagger, text: str) -> str:
    from postil import graph
    from postil.graph import ancestors
    from postil.models.explaining.flow import sentence_loss
    from postil.models.sentences import sentences_of, tokens_of

    sentences = sentences_of(text, tagger.model.segmenter)
    if len(sentences) != 1:
        raise ConfigurationError("--text", expected="must be one sentence", got=f"{len(sentences)} sentences")
    loss = sentence_loss(tagger, tokens_of(sentences[0]))
    return graph.draw(loss, "svg", values=True, gradients=graph.gradients(loss, ancestors(loss)))


# ------------------------------------------------------------------------------------------------ presets


def _show_presets(arguments: argparse.Namespace) -> int:
    rows = _rows()
    if arguments.presets:
        rows = {arguments.presets: _complete(arguments.presets, rows)}
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    for name, row in rows.items():
        print(f"{name}: {row['purpose']}")
        print(f"  postil train TRAIN {row['option']} -o MODEL")
        if arguments.presets:
            _print_described(name, row["settings"])
        else:
            print("".join(f"    {line}\n" for line in _wrapped(_words(name, row["settings"]))))
    return 0


def _rows() -> dict[str, dict[str, Any]]:
    """Name -> purpose, option of ``postil train``, and the settings that differ from the defaults."""
    presets = {
        name: {"purpose": purpose, "option": f"--preset {name}", "settings": PRESETS[name]}
        for name, purpose in PURPOSES.items()
    }
    compositions = {
        name: {"purpose": purpose, "option": f"--set composition={name}", "settings": DEFAULTS[name]}
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

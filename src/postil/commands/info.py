"""``postil info``: a model's card, a drawing of its network, or the presets."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import Any

from postil.commands.models import one_tagger, open_model
from postil.commands.output import present
from postil.commands.parser import JSON, OVERWRITE, option
from postil.errors import ConfigurationError, printable, similar
from postil.models.config import DEFAULTS, PRESETS, TaggerConfig, TreeConfig, configured, configured_tree
from postil.models.settings import rules, spelt
from postil.models.storage import ENGLISH, located
from postil.reports.card import card_of
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
    "roles": "semantic roles (--roles): sees the whole sentence",
    "linear-crf": "a linear model of the words and their neighbours, without their endings: a simple baseline",
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


OPTIONS = {
    "": [
        option("MODEL", f"model file or name (default: {ENGLISH})", nargs="?"),
        option("--network", "draw the network of the model"),
        option("--text TEXT", "--network: draw the flow graph of the loss on this sentence", needs="--network"),
        option(
            "--task NAME",
            "--network --text: task of a multi-task model (default: the first with spans)",
            needs="--text",
        ),
        option("--presets NAME", "list the presets, or all settings of one of them", nargs="?", const=""),
        option(
            "-o --output FILE",
            "write the card as Markdown, or the network as SVG",
            type=Path,
            writes=lambda arguments: "picture" if arguments.network else "markdown",
        ),
        JSON,
        OVERWRITE,
    ]
}


def run(arguments: Namespace) -> int:
    if arguments.presets is not None:
        return _show_presets(arguments)
    arguments.model = arguments.model or ENGLISH
    if arguments.network:
        return _draw_network(arguments)
    path = located(arguments.model)
    open_model(arguments.model)  # which tells what is wrong with a file
    card = card_of(path, arguments.model)
    if arguments.output is not None:
        write_text(arguments.output, [card.to_markdown()])

    def show() -> None:
        from postil.commands.console import say, show_table

        if "about" in card.texts:
            say(printable(card.texts["about"]), wrap=True)
        for table in (card.facts_table(), *card.tables):
            show_table(table)
        if card.weaknesses:
            say("\nKnown weaknesses", style="bold cyan")
            for weakness in card.weaknesses:
                say(f"- {printable(weakness)}", wrap=True)

    return present(arguments, card, show if arguments.output is None else lambda: None)


# ------------------------------------------------------------------------------------------------ the network


def _draw_network(arguments: Namespace) -> int:
    if not str(arguments.output).endswith(".svg"):
        raise ConfigurationError("--network", expected="needs -o FILE.svg", got=arguments.output)
    model = open_model(arguments.model)
    if arguments.text is not None:
        from postil import graph
        from postil.models.laboratory import sentence_loss
        from postil.models.sentences import sentences_of, tokens_of

        tagger = one_tagger(model, arguments.task, "--text", "needs a tagger", needed=False)
        sentences = sentences_of(arguments.text, tagger.model.segmenter)
        if len(sentences) != 1:
            raise ConfigurationError("--text", expected="must be one sentence", got=f"{len(sentences)} sentences")
        loss = sentence_loss(tagger, tokens_of(sentences[0]))
        picture = graph.draw(loss, "svg", values=True, gradients=graph.gradients(loss, graph.ancestors(loss)))
    else:
        from postil.drawing import drawn_network

        picture = drawn_network(model, Path(arguments.model).name)
    write_text(arguments.output, [picture])
    told = f"The picture is in {arguments.output}: open it in a browser."
    return present(arguments, {"picture": str(arguments.output)}, lambda: print(told))


# ------------------------------------------------------------------------------------------------ presets


def _show_presets(arguments: Namespace) -> int:
    """Name -> purpose, option of ``postil train``, and the settings that differ from the defaults; of one, all."""
    rows: dict[str, dict[str, Any]] = {
        name: {"purpose": purpose, "option": f"--preset {name}", "settings": PRESETS[name]}
        for name, purpose in PURPOSES.items()
    }
    for name, purpose in TREE_PURPOSES.items():
        rows[name] = {"purpose": purpose, "option": f"--set composition={name}", "settings": DEFAULTS[name]}
    if name := arguments.presets:
        if name not in rows:
            hint = similar(name, rows)
            expected = None if hint else f"one of {', '.join(rows)}"
            raise ConfigurationError(f"no preset {name!r}{hint}", expected=expected)
        config = configured(name, {}) if name in PRESETS else configured_tree(name, {})
        rows = {name: {**rows[name], "settings": asdict(config)}}

    def show() -> None:
        for name, row in rows.items():
            config = TreeConfig if name in DEFAULTS else TaggerConfig
            words = [f"{setting}={spelt(config, setting, value)}" for setting, value in row["settings"].items()]
            print(f"{name}: {row['purpose']}")
            print(f"  postil train TRAIN {row['option']} -o MODEL")
            if arguments.presets:
                width = max(map(len, words))
                for word, setting in zip(words, row["settings"], strict=True):
                    print(f"    {word:<{width}}  {rules(config)[setting].text.replace('``', '')}")
            else:
                wrapped = wrap(" ".join(words), 100, break_long_words=False, break_on_hyphens=False)
                print("".join(f"    {line}\n" for line in wrapped or [""]))

    return present(arguments, rows, show)

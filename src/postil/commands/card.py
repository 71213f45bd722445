"""``postil card``: what a model is, where it comes from, how good it is and what it is bad at."""

import argparse
import json

from postil.commands.options.models import open_model
from postil.models.installed import ENGLISH, located
from postil.reports.card import ModelCard, card_of

DESCRIPTION = """\
Show the card of a model: its size, classes and training data. If there is a file NAME.card.json next to NAME.postil,
also its licence, sources, scores and weaknesses.

  postil card                       the installed English model
  postil card ner.postil
  postil card english --markdown    as a page
  postil card english --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=ENGLISH, help=f"model file or name (default: {ENGLISH})"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    form.add_argument("--markdown", action="store_true", help="print the card as Markdown")


def run(arguments: argparse.Namespace) -> int:
    open_model(arguments.model)  # which tells what is wrong with a file
    card = card_of(located(arguments.model), arguments.model)
    if arguments.json:
        print(json.dumps(card.to_dict(), indent=2, ensure_ascii=False))
    elif arguments.markdown:
        print(card.to_markdown(), end="")
    else:
        _show(card)
    return 0


def _show(card: ModelCard) -> None:
    from postil.commands.terminal.display import make_console, show_table
    from postil.errors import printable

    console = make_console()
    if "about" in card.texts:
        console.print(printable(card.texts["about"]), markup=False)
    for table in (card.facts_table(), *card.tables):
        show_table(console, table)
    if card.weaknesses:
        console.print("\nWhat it is bad at", style="bold cyan")
        for weakness in card.weaknesses:
            console.print(f"- {printable(weakness)}", markup=False)

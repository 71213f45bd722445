"""``postil demo``: a tour of the commands on generated data, in well under a minute.

First a tagger of names, then a classifier of opinions in trees, which a bag of words cannot learn.
"""

import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from postil.commands.console import command, say
from postil.commands.output import check_output
from postil.commands.parser import OVERWRITE, SEED, check_options, command_module, command_parser, option
from postil.errors import ConfigurationError
from postil.models.storage import ENGLISH, installed_path
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.text import Sentence, write, write_trees
from postil.text.output import write_text

DESCRIPTION = """\
Generate labelled sentences about people, places and organisations, train a tagger on them, tag new sentences with
probabilities and write a report to open in a browser. Then do the same with trees of opinions, which a bag of words
cannot learn. Every step is a command that you can repeat. All files are kept in one folder.

  postil demo
  postil demo -o somewhere
"""
_folder = Path("demo-output")
OPTIONS = {
    "": [option("-o --output OUTPUT", f"folder (default: {_folder})", type=Path, default=_folder), SEED, OVERWRITE]
}

SIZES = {"train": 1200, "dev": 300, "test": 500}
TREE_SIZES = {"train": 1000, "dev": 200, "test": 500}
WRITTEN = {
    **{f"{name}.txt": "conll" for name in SIZES},
    "names.postil": "model",
    "report.html": "report",
    **{f"opinions-{name}.trees": "trees" for name in (*TREE_SIZES, "new")},
    "opinions.postil": "model",
    "opinions.html": "report",
}
"""The files of the tour, and what they are."""
NEW_TREES = "( ( not) ( ( bad) ( ( at) ( all))))\n( ( never) ( dull))\n( ( hardly) ( ( a) ( ( good) ( film))))\n"

STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "1. Training a tagger of names",
        "train ./train.txt --dev ./dev.txt --test ./test.txt -o ./names.postil",
        "train.txt has a word and its label on each line, and an empty line after each sentence. dev.txt chooses the\n"
        "best epoch, test.txt scores the model; both have many new names. F1 combines precision and recall of whole\n"
        "names: 100 means that all of them and nothing else was found.",
    ),
    (
        "2. New sentences, with probabilities",
        "tag ./names.postil --probabilities --text 'Museums in Paris are amazing. Paris Hilton flew to Paris.'",
        "Whether Paris is a place or a person depends on the words around it.",
    ),
    (
        "3. Ambiguous sentences",
        "tag ./names.postil --to jsonl --nbest 3 --text 'Washington lost again.'",
        "A person, a place, a club? The model gives the probability of each reading.",
    ),
    (
        "4. Explanations",
        "explain ./names.postil 'Museums in Paris are amazing.' --entity Paris",
        "These words and features led to the answer.",
    ),
    (
        "5. Scores and a report",
        "evaluate ./names.postil ./test.txt --report ./report.html",
        "The page has scores, charts, and all mistakes, with filters.",
    ),
    (
        "6. Trees: words that negate a phrase",
        "train ./opinions-train.trees --dev ./opinions-dev.trees -o ./opinions.postil",
        "A sentence is a tree of phrases, each with a label. A negation reverses a phrase. Each word is equally\n"
        "frequent in good and bad opinions: counting words would be no better than guessing.",
    ),
    (
        "7. The label of each phrase",
        "tag ./opinions.postil ./opinions-new.trees",
        "bad is bad and bad at all as well, but not bad at all is good.",
    ),
    (
        "8. Scores of whole sentences and of phrases",
        "evaluate ./opinions.postil ./opinions-test.trees --report ./opinions.html",
        "The page has the drawn trees.",
    ),
)
"""Title, command with the files of the folder as ``./``, and what is to be seen in its output."""
ENGLISH_STEP = (
    "English, without any training of yours",
    "tag 'Angela Merkel met Tim Cook in Cupertino.' --probabilities",
    "The package postil-english; postil info shows its data, scores and known weaknesses.",
)


def run(arguments: Namespace) -> int:
    folder: Path = arguments.output
    there = [name for name in WRITTEN if (folder / name).exists()]
    if not arguments.overwrite:  # nothing that an earlier tour did not write is replaced
        for name in there:
            check_output(folder / name, WRITTEN[name])
        if there and "names.postil" not in there:
            expected = "must be a folder without files of the same names: --overwrite replaces them"
            raise ConfigurationError("output", expected=expected, got=", ".join(there), where=folder)
    return show(folder, arguments.seed)


def show(folder: Path, seed: int, sizes: Mapping[str, int] = SIZES, tree_sizes: Mapping[str, int] = TREE_SIZES) -> int:
    """All steps, with corpora of these sizes."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError("output", expected="a folder or a new name", got="a file", where=folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_corpus(folder, seed, sizes)
    rng = np.random.default_rng(seed)
    for name, size in tree_sizes.items():
        write_trees(made_up_trees(size, rng, new_pairs=name == "test"), folder / f"opinions-{name}.trees")
    write_text(folder / "opinions-new.trees", [NEW_TREES])
    for title, line, remark in (*([ENGLISH_STEP] if installed_path(ENGLISH) is not None else []), *STEPS):
        words = [str(folder / word[2:]) if word.startswith("./") else word for word in shlex.split(line)]
        say(title, style="bold cyan")
        say((f"$ {command()} {shlex.join(words)}", "bold"))
        sys.stdout.flush()  # before the bytes that a command writes
        parser = command_parser(words[0])
        arguments = parser.parse_args([*words[1:], *(["--seed", str(seed)] if words[0] == "train" else [])])
        check_options(parser, arguments)
        if code := int(command_module(words[0]).run(arguments)):
            return code
        sys.stdout.flush()
        say(f"\n{remark}\n")
    say("Try it yourself", style="bold cyan")
    say("Repeat these commands with sentences of yours, or write a file like train.txt; then:")
    say(f"{command()} train mine.txt -o mine.postil")
    return 0


def write_corpus(folder: Path, seed: int, sizes: Mapping[str, int] = SIZES) -> None:
    """``train.txt``, ``dev.txt`` and ``test.txt``."""
    rng = np.random.default_rng(seed)
    for name, size in sizes.items():
        sentences = made_up_sentences(size, rng, new_names=name != "train")
        rows = (Sentence(tokens=list(s.tokens), labels=list(s.labels)) for s in sentences)
        write(rows, folder / f"{name}.txt", "conll")

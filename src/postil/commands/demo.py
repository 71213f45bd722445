"""``postil demo``: from labelled sentences to a model, its answers and a report, in well under a minute."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from postil.commands import demo_trees, train
from postil.commands.console import STYLES, coloured, command, make_console, quote
from postil.commands.explain import AGAINST, BAR, FOR
from postil.commands.kinds import tagging
from postil.commands.labelled import load
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.parser import command_parser
from postil.errors import ConfigurationError
from postil.models.storage import ENGLISH, installed_path
from postil.models.storage import load as load_model
from postil.models.tagger import Tagger
from postil.samples.corpora import LabelledSentence, made_up_sentences
from postil.text import Entity, Sentence, spans_from_labels, tokenise, write
from postil.text.output import write_text

DESCRIPTION = """\
Generate labelled sentences about people, places and organisations, train a tagger on them, tag new sentences with
probabilities and write a report to open in a browser. Then do the same with trees of opinions, which a bag of words
cannot learn. Everything is left in one folder to try out.

example:
  postil demo
  postil demo -o somewhere
"""

SIZES = {"train": 1200, "dev": 300, "test": 500}
ENGLISH_TEXTS = (
    "Angela Merkel met Tim Cook in Cupertino.",
    "The University of Oslo and Reuters reported from northern Norway on Monday.",
)
EXAMPLE = "Museums in Paris are amazing."
SAME_WORD = "Paris Hilton flew to Paris."
UNCLEAR = "Washington lost again."
MEANINGS = {"PER": "a person", "LOC": "a place", "ORG": "an organisation"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=Path, default=Path("demo-output"), help="folder (default: demo-output)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    add_overwrite_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.overwrite:
        _check_folder(arguments.output)
    return show(arguments.output, arguments.seed)


def _check_folder(folder: Path) -> None:
    """Refuse a folder with files of the same names that an earlier tour did not write."""
    kinds = {**{f"{name}.txt": "conll" for name in SIZES}, "names.postil": "model", "report.html": "report"}
    kinds |= demo_trees.KINDS
    there = [name for name in kinds if (folder / name).exists()]
    for name in there:
        check_output(folder / name, "file of the demo", kinds[name])
    if there and "names.postil" not in there:
        raise ConfigurationError(
            "output",
            expected="must be a folder without files of the same names: --overwrite replaces them",
            got=", ".join(there),
            where=folder,
        )


def show(
    folder: Path, seed: int, sizes: Mapping[str, int] = SIZES, tree_sizes: Mapping[str, int] = demo_trees.SIZES
) -> int:
    """All steps, with corpora of these sizes."""
    console = make_console()
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError("output", expected="a folder or a new name", got="a file", where=folder)
    folder.mkdir(parents=True, exist_ok=True)
    _show_english(console)
    console.print(Text("Postil learns to label words. Here it learns to find names from a file of examples.\n"))
    _heading(console, 1, "Labelled sentences")
    _show_corpus(console, write_corpus(folder, seed, sizes), folder)
    _heading(console, 2, "Training")
    code = _learn(console, folder, seed)
    if code:
        return code
    tagger = load_model(folder / "names.postil")
    _heading(console, 3, "New sentences, with probabilities")
    _show_answers(console, tagger)
    _heading(console, 4, "Ambiguous sentences")
    _show_alternatives(console, tagger)
    _heading(console, 5, "Explanations")
    _show_reasons(console, tagger, folder)
    _heading(console, 6, "A report")
    _show_report(console, tagger, folder)
    _heading(console, 7, "Trees: words that negate a phrase")
    code = demo_trees.show(console, folder, seed, tree_sizes)
    if code:
        return code
    _show_what_next(console, folder)
    return 0


def _heading(console: Console, number: int, title: str) -> None:
    console.print(Text(f"{number}. {title}", style="bold cyan"))


def _say(console: Console, text: Text | str) -> None:
    """One line, a little to the right; the terminal breaks it where it is narrow."""
    console.print(Text.assemble("   ", text), soft_wrap=True)


# ------------------------------------------------------------------------------------------------ the steps


def _show_english(console: Console) -> None:
    """Tag sentences with the installed English model; show nothing if it is not installed."""
    path = installed_path(ENGLISH)
    if path is None:
        return
    model = load_model(path)
    console.print(Text("English, without any training of yours", style="bold cyan"))
    _say(console, Text(f'$ {command()} tag "{ENGLISH_TEXTS[0]}"', style="bold"))
    for text in ENGLISH_TEXTS:
        _say(console, coloured(text, model.tag(text).entities))
    _say(console, f"The package postil-english; {command()} info shows its data, scores and known weaknesses.\n")


def write_corpus(folder: Path, seed: int, sizes: Mapping[str, int] = SIZES) -> list[LabelledSentence]:
    """``train.txt``, ``dev.txt`` and ``test.txt``; return the sentences of the first."""
    rng = np.random.default_rng(seed)
    parts = {name: made_up_sentences(size, rng, new_names=name != "train") for name, size in sizes.items()}
    for name, sentences in parts.items():
        rows = (Sentence(tokens=list(s.tokens), labels=list(s.labels)) for s in sentences)
        write(rows, folder / f"{name}.txt", "conll")
    return parts["train"]


def _show_corpus(console: Console, sentences: Sequence[LabelledSentence], folder: Path) -> None:
    keys = (Text.assemble((f" {label} ", STYLES[label]), f" {meaning}   ") for label, meaning in MEANINGS.items())
    _say(console, Text.assemble(*keys))
    for sentence in sentences[:4]:
        _say(console, coloured(" ".join(sentence.tokens), entities_of(sentence.tokens, sentence.labels)))
    _say(
        console, f"{len(sentences):,} such sentences are in {folder / 'train.txt'}. Two more files are for choosing the"
    )
    _say(console, "best epoch (dev.txt) and for scoring the model (test.txt). Both have many new names.\n")


def _learn(console: Console, folder: Path, seed: int) -> int:
    """The very command that a user would give."""
    files = [str(folder / "train.txt"), "--dev", str(folder / "dev.txt"), "--test", str(folder / "test.txt")]
    words = [*files, "-o", str(folder / "names.postil")]
    _say(console, Text(f"$ {command()} train {shlex.join(words)}", style="bold"))
    code = train.run(command_parser("train").parse_args([*words, "--seed", str(seed)]))
    _say(
        console,
        "F1 combines precision and recall of whole names: 100 means that all of them and nothing else was found.\n",
    )
    return code


def _show_answers(console: Console, tagger: Tagger) -> None:
    for text in (EXAMPLE, SAME_WORD):
        _say(console, coloured(text, tagger.tag(text).entities))
    _say(
        console, "The numbers are probabilities. Whether Paris is a place or a person depends on the words around it.\n"
    )


def _show_alternatives(console: Console, tagger: Tagger) -> None:
    tokens = tokenise(UNCLEAR).tokens
    for labels, probability in tagger.nbest(tokens, k=3):
        line = coloured(" ".join(tokens), entities_of(tokens, labels))
        _say(console, Text.assemble((f"{probability:>6.1%}  ", "bold"), line))
    _say(console, "A person, a place, a club? The model knows the probability of each reading.\n")


def _show_reasons(console: Console, tagger: Tagger, folder: Path) -> None:
    """Show how much the entity's log-odds drop without each word."""
    tokens = tokenise(EXAMPLE).tokens
    place = tokens.index("Paris")
    explanation = tagger.explain(tokens, place, place + 1)
    _say(
        console,
        f"Why is Paris {MEANINGS.get(explanation.label, explanation.label)}? The effect of each word of the sentence:",
    )
    losses = [word.left_out or 0.0 for word in explanation.words]
    for word, loss in zip(explanation.words, losses, strict=True):
        length = round(BAR * abs(loss) / (max(map(abs, losses)) or 1.0))
        bar = (("█" if loss > 0 else "░") * length, FOR if loss > 0 else AGAINST)
        _say(console, Text.assemble(f"{word.word:>10}  ", bar, "" if loss >= 0 else " (opposes it)"))
    _say(console, f'More: {command()} explain {quote(folder / "names.postil")} "{EXAMPLE}"\n')


def _show_report(console: Console, tagger: Tagger, folder: Path) -> None:
    path, name = folder / "report.html", str(folder / "names.postil")
    file = load(str(folder / "test.txt"))
    write_text(path, [tagging.page(tagger, tagging.report(tagger, name, file), name, file)])
    _say(console, Text.assemble("Open ", (str(path.resolve()), "bold green"), " in a browser:"))
    _say(console, "scores, charts, and all mistakes, with filters.\n")


def _show_what_next(console: Console, folder: Path) -> None:
    model = quote(folder / "names.postil")
    console.print(Text("Try it yourself", style="bold cyan"))
    _say(console, f'{command()} tag {model} --text "Chelsea Reed left Jordan Airlines."')
    _say(console, f"{command()} evaluate {model} {quote(folder / 'test.txt')}")
    opinions = quote(folder / "opinions.postil")
    _say(console, f'{command()} explain {opinions} "this film is hardly a good one"')
    _say(console, "With your own sentences: one word per line with its label, an empty line between sentences, as in")
    _say(console, f"{folder / 'train.txt'}; then: {command()} train mine.txt -o mine.postil")


# ------------------------------------------------------------------------------------------------ coloured sentences


def entities_of(tokens: Sequence[str], labels: Sequence[str]) -> list[Entity]:
    """Entities of BIO labels, in characters of the tokens with a space between."""
    entities = []
    for label, start, end in spans_from_labels(labels, "bio"):
        before = sum(len(token) + 1 for token in tokens[:start])
        text = " ".join(tokens[start:end])
        entities.append(Entity(text=text, label=label, start=before, end=before + len(text)))
    return entities

"""``postil demo``: from labelled examples to models, their answers and reports, in well under a minute.

First a tagger of names, then a classifier of opinions in trees, which a bag of words cannot learn.
"""

import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree as Branches

from postil.commands import evaluate, train
from postil.commands.console import coloured, command, make_console, quote, say, styles_of
from postil.commands.explain import AGAINST, BAR, FOR
from postil.commands.labelled import load
from postil.commands.output import check_output
from postil.commands.parser import OVERWRITE, SEED, command_parser, option
from postil.errors import ConfigurationError
from postil.models import NodeLabel, Tagger, TreeClassifier
from postil.models.storage import ENGLISH, installed_path
from postil.models.storage import load as load_model
from postil.samples.corpora import BAD, GOOD, LabelledSentence, made_up_sentences, made_up_trees
from postil.text import Entity, Sentence, Tree, parse_tree, spans_from_labels, tokenise, write, write_trees
from postil.text.output import write_text

DESCRIPTION = """\
Generate labelled sentences about people, places and organisations, train a tagger on them, tag new sentences with
probabilities and write a report to open in a browser. Then do the same with trees of opinions, which a bag of words
cannot learn. All files are kept in one folder.

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
    **{f"opinions-{name}.trees": "trees" for name in TREE_SIZES},
    "opinions.postil": "model",
    "opinions.html": "report",
}
"""The files of the tour, and what they are."""
ENGLISH_TEXTS = (
    "Angela Merkel met Tim Cook in Cupertino.",
    "The University of Oslo and Reuters reported from northern Norway on Monday.",
)
EXAMPLE = "Museums in Paris are amazing."
MEANINGS = {"PER": "a person", "LOC": "a place", "ORG": "an organisation"}
OPINION_STYLES = {GOOD: "#101418 on #9fdc9f", BAD: "#101418 on #f2a3a3"}


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
    show_english()
    say("Postil learns to label words. Here it learns to find names from a file of examples.\n")
    code = show_names(folder, seed, sizes) or show_trees(folder, seed, tree_sizes)
    if code:
        return code
    model, opinions = quote(folder / "names.postil"), quote(folder / "opinions.postil")
    say("Try it yourself", style="bold cyan")
    _say(f'{command()} tag {model} --text "Chelsea Reed left Jordan Airlines."')
    _say(f"{command()} evaluate {model} {quote(folder / 'test.txt')}")
    _say(f'{command()} explain {opinions} "this film is hardly a good one"')
    _say("With your own sentences: one word per line with its label, an empty line between sentences, as in")
    _say(f"{folder / 'train.txt'}; then: {command()} train mine.txt -o mine.postil")
    return 0


def _say(*parts: Text | str | tuple[str, str]) -> None:
    """One line, a little to the right."""
    say("   ", *parts)


def _learn(words: Sequence[str], seed: int) -> int:
    """The very command that a user would give."""
    _say((f"$ {command()} train {shlex.join(words)}", "bold"))
    return train.run(command_parser("train").parse_args([*words, "--seed", str(seed)]))


def show_english() -> None:
    """Tag sentences with the installed English model; show nothing if it is not installed."""
    path = installed_path(ENGLISH)
    if path is None:
        return
    model = load_model(path)
    say("English, without any training of yours", style="bold cyan")
    _say((f'$ {command()} tag "{ENGLISH_TEXTS[0]}"', "bold"))
    for text in ENGLISH_TEXTS:
        _say(coloured(text, model.tag(text).entities))
    _say(f"The package postil-english; {command()} info shows its data, scores and known weaknesses.\n")


# ------------------------------------------------------------------------------------------------ names


def show_names(folder: Path, seed: int, sizes: Mapping[str, int]) -> int:
    say("1. Labelled sentences", style="bold cyan")
    sentences = write_corpus(folder, seed, sizes)
    styles = styles_of(MEANINGS)
    _say(*(part for label, text in MEANINGS.items() for part in ((f" {label} ", styles[label]), f" {text}   ")))
    for sentence in sentences[:4]:
        _say(coloured(" ".join(sentence.tokens), entities_of(sentence.tokens, sentence.labels)))
    _say(f"{len(sentences):,} such sentences are in {folder / 'train.txt'}. Two more files are for choosing the")
    _say("best epoch (dev.txt) and for scoring the model (test.txt). Both have many new names.\n")

    say("2. Training", style="bold cyan")
    train_path, dev, test = (str(folder / f"{name}.txt") for name in ("train", "dev", "test"))
    name = str(folder / "names.postil")
    code = _learn([train_path, "--dev", dev, "--test", test, "-o", name], seed)
    _say("F1 combines precision and recall of whole names: 100 means that all of them and nothing else was found.\n")
    if code:
        return code
    tagger: Tagger = load_model(name)

    say("3. New sentences, with probabilities", style="bold cyan")
    for text in (EXAMPLE, "Paris Hilton flew to Paris."):
        _say(coloured(text, tagger.tag(text).entities))
    _say("The numbers are probabilities. Whether Paris is a place or a person depends on the words around it.\n")

    say("4. Ambiguous sentences", style="bold cyan")
    tokens = tokenise("Washington lost again.").tokens
    for labels, probability in tagger.nbest(tokens, k=3):
        _say((f"{probability:>6.1%}  ", "bold"), coloured(" ".join(tokens), entities_of(tokens, labels)))
    _say("A person, a place, a club? The model gives the probability of each reading.\n")

    say("5. Explanations", style="bold cyan")
    tokens = tokenise(EXAMPLE).tokens
    explanation = tagger.explain(tokens, tokens.index("Paris"), tokens.index("Paris") + 1)
    meaning = MEANINGS.get(explanation.label, explanation.label)
    _say(f"Why is Paris {meaning}? The effect of each word of the sentence:")
    losses = [word.left_out or 0.0 for word in explanation.words]  # how much the log-odds drop without each word
    for word, loss in zip(explanation.words, losses, strict=True):
        bar = ("█" if loss > 0 else "░") * round(BAR * abs(loss) / (max(map(abs, losses)) or 1.0))
        _say(f"{word.word:>10}  ", (bar, FOR if loss > 0 else AGAINST), "" if loss >= 0 else " (opposes it)")
    _say(f'More: {command()} explain {quote(name)} "{EXAMPLE}"\n')

    say("6. A report", style="bold cyan")
    file, path = load(test), folder / "report.html"
    write_text(path, [evaluate.page(tagger, evaluate.report(tagger, name, file), name, file)])
    _say("Open ", (str(path.resolve()), "bold green"), " in a browser:")
    _say("scores, charts, and all mistakes, with filters.\n")
    return 0


def write_corpus(folder: Path, seed: int, sizes: Mapping[str, int] = SIZES) -> list[LabelledSentence]:
    """``train.txt``, ``dev.txt`` and ``test.txt``; return the sentences of the first."""
    rng = np.random.default_rng(seed)
    parts = {name: made_up_sentences(size, rng, new_names=name != "train") for name, size in sizes.items()}
    for name, sentences in parts.items():
        rows = (Sentence(tokens=list(s.tokens), labels=list(s.labels)) for s in sentences)
        write(rows, folder / f"{name}.txt", "conll")
    return parts["train"]


def entities_of(tokens: Sequence[str], labels: Sequence[str]) -> list[Entity]:
    """Entities of BIO labels, in characters of the tokens with a space between."""
    entities = []
    for label, start, end in spans_from_labels(labels, "bio"):
        before = sum(len(token) + 1 for token in tokens[:start])
        text = " ".join(tokens[start:end])
        entities.append(Entity(text=text, label=label, start=before, end=before + len(text)))
    return entities


# ------------------------------------------------------------------------------------------------ trees


def show_trees(folder: Path, seed: int, sizes: Mapping[str, int] = TREE_SIZES) -> int:
    """Train, show the results, write a report; everything is left in the folder."""
    say("7. Trees: words that negate a phrase", style="bold cyan")
    rng = np.random.default_rng(seed)
    parts = {name: made_up_trees(size, rng, new_pairs=name == "test") for name, size in sizes.items()}
    paths = {name: str(folder / f"opinions-{name}.trees") for name in sizes}
    for name, trees in parts.items():
        write_trees(trees, paths[name])
    short = [tree for tree in parts["train"] if "not" in tree.words and len(tree) < 14]
    _say("A sentence is a tree of phrases, each with a label. A negation reverses a phrase:")
    make_console().print(Padding(branches((short or parts["train"])[0]), (0, 0, 0, 3)))
    name = str(folder / "opinions.postil")
    if code := _learn([paths["train"], "--dev", paths["dev"], "-o", name], seed):
        return code
    classifier: TreeClassifier = load_model(name)

    _say("Accuracy on the sentences of the test file: ", (f"{classifier.score(parts['test']):.1%}", "bold"))
    _say("Each word is equally frequent in good and bad opinions: counting words would be no better than guessing.\n")

    _say("The label of each phrase with its probability:")
    negated = "( ( not) ( ( bad) ( ( at) ( all))))"
    others = "( ( never) ( dull))", "( ( hardly) ( ( a) ( ( good) ( film))))"
    tree, *opinions = map(parse_tree, (negated, *others))
    nodes, *answers = classifier.predict_nodes([tree, *opinions])
    make_console().print(Padding(branches(tree, nodes), (0, 0, 0, 3)))
    for opinion, answer in zip(opinions, answers, strict=True):
        _say(_phrase(answer[-1].label, " ".join(opinion.tokens), answer[-1]))
    say()

    file, path = evaluate.load_trees(paths["test"]), folder / "opinions.html"
    write_text(path, [evaluate.page(classifier, evaluate.report(classifier, name, file), name, file)])
    _say("Open ", (str(path.resolve()), "bold green"), " for the report with drawn trees.\n")
    return 0


def branches(tree: Tree, nodes: Sequence[NodeLabel] | None = None) -> Branches:
    """A small tree for the terminal, labelled by ``nodes`` if given, without the inside of phrases of no opinion."""
    spans, tokens = tree.spans, tree.tokens
    drawn: list[Branches] = []
    for i, (label, _, children) in enumerate(tree):
        node = None if nodes is None else nodes[i]
        shown = label if node is None else node.label
        drawn.append(Branches(_phrase(shown, " ".join(tokens[slice(*spans[i])]), node), guide_style="dim"))
        if shown in OPINION_STYLES:
            drawn[i].children.extend(drawn[child] for child in children)
    return drawn[-1]


def _phrase(label: str | None, words: str, node: NodeLabel | None) -> Text:
    if label not in OPINION_STYLES:
        return Text(words, "dim")
    style = OPINION_STYLES[label]
    figure = "" if node is None else f" {node.probabilities[node.label]:.2f}"
    return Text.assemble((f" {words} ", style), (f"{label}{figure} ", f"{style} bold"))

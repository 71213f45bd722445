"""``postil demo``: learn a window classifier on made-up sentences and show the machinery behind it."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from postil import graph, network, objectives
from postil.arrays import Array, Ragged
from postil.commands.corpora import LABELS, LabelledSentence, made_up_sentences
from postil.gradcheck import examine
from postil.graph import Result
from postil.training import Adam, WarmUpAndDecay

DESCRIPTION = """\
Learn which words are people and places on sentences that Postil makes up, in a few seconds:
a lookup table, a window of five words, one hidden layer and a softmax, every gradient by hand.

example:
  postil demo --output demo-output
"""

EPOCHS, BATCH, SENTENCES = 10, 16, 600
EXAMPLE = ("museums", "in", "Paris", "are", "amazing")
OTHER_EXAMPLE = ("Paris", "Hilton", "flew", "to", "Paris")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="of all randomness (default: 0)")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the drawings")


def run(arguments: argparse.Namespace) -> int:
    console = Console()
    rng = np.random.default_rng(arguments.seed)
    train, test = made_up_sentences(SENTENCES, rng), made_up_sentences(200, rng)
    model = WindowClassifier(vocabulary_of(train), rng)
    console.print(f"[bold]1. {len(train)} made-up sentences[/], such as:")
    for sentence in train[:3]:
        console.print("   " + _coloured(sentence.tokens, sentence.labels))
    console.print("\n[bold]2. Are the gradients right?[/] Each against central differences, in float64:\n")
    console.print(examine(model, model.batch(train[:4]), name="parameter").table(), highlight=False)
    console.print(f"\n[bold]3. Learning[/] {_size(model)} parameters, {EPOCHS} passes over the sentences")
    _learn(model, train, rng, console)
    console.print(f"   right on {model.accuracy(test):.1%} of the words of {len(test)} other sentences")
    console.print("\n[bold]4. What it says[/]; Paris is a place or a person, as its neighbours have it:")
    for tokens in (EXAMPLE, OTHER_EXAMPLE):
        console.print(_answers(model, tokens), "")
    console.print("\n[bold]5. The flow graph[/] of one sentence, with the norm of every gradient:")
    for path in _draw(model, LabelledSentence(EXAMPLE, ("O", "O", "LOC", "O", "O")), arguments.output):
        console.print(f"   {path}", soft_wrap=True)
    console.print("\nNext: `postil check` compares every gradient in the package; docs/ explains how it works.")
    return 0


@final
class WindowClassifier:
    """The window softmax classifier (E3): lookup table, window, linear, hardtanh, linear, softmax."""

    def __init__(self, vocabulary: dict[str, int], rng: np.random.Generator) -> None:
        self.vocabulary = vocabulary
        self.layers = [
            network.LookupTable(len(vocabulary) + 1, 16, rng=rng),
            network.Window(16, 5, rng=rng),
            network.Linear(80, 32, rng=rng),
            network.Activation("hardtanh"),
            network.Linear(32, len(LABELS), rng=rng),
        ]

    def parameters(self) -> dict[str, graph.Parameter]:
        return network.Chain(*self.layers).parameters()

    def scores(self, words: Ragged) -> Result:
        """One score per word and label, (N, 3). Layer by layer, so that the drawing shows each."""
        node = self.layers[0](words)
        for layer in self.layers[1:]:
            node = layer(node)
        return node

    def loss(self, batch: tuple[Ragged, Array]) -> Result:
        words, gold = batch
        return objectives.softmax_cross_entropy(self.scores(words), gold)

    def words(self, sentences: list[tuple[str, ...]]) -> Ragged:
        """Numbers of the words; 0 stands for a word that was never seen."""
        return Ragged.from_sequences([[self.vocabulary.get(t, 0) for t in tokens] for tokens in sentences], np.int64)

    def batch(self, sentences: list[LabelledSentence]) -> tuple[Ragged, Array]:
        gold = [LABELS.index(label) for sentence in sentences for label in sentence.labels]
        return self.words([sentence.tokens for sentence in sentences]), np.array(gold)

    def probabilities(self, tokens: tuple[str, ...]) -> Array:
        return objectives.softmax(self.scores(self.words([tokens])).value)

    def accuracy(self, sentences: list[LabelledSentence]) -> float:
        words, gold = self.batch(sentences)
        return float((self.scores(words).value.argmax(axis=1) == gold).mean())


def vocabulary_of(sentences: list[LabelledSentence]) -> dict[str, int]:
    """A number from 1 for every word that occurs."""
    words = sorted({token for sentence in sentences for token in sentence.tokens})
    return {word: number for number, word in enumerate(words, start=1)}


def _learn(model: WindowClassifier, train: list[LabelledSentence], rng: np.random.Generator, console: Console) -> None:
    total = EPOCHS * -(-len(train) // BATCH)
    columns = (TextColumn("   "), BarColumn(40), TextColumn("loss {task.fields[loss]:.4f}"), TimeRemainingColumn())
    losses: list[float] = []
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total, loss=float("nan"))
        for loss in learning(model, train, rng, total):
            losses.append(loss)
            progress.update(task, advance=1, loss=np.mean(losses[-20:]))
    means = [float(np.mean(part)) for part in np.array_split(losses, EPOCHS)]
    console.print("   loss by pass: " + " ".join(f"{mean:.2f}" for mean in means) + "  " + sparkline(means))


def learning(
    model: WindowClassifier, train: list[LabelledSentence], rng: np.random.Generator, total: int
) -> Iterator[float]:
    """The loop, a generator: one step of Adam at a time; gives the loss of each batch."""
    optimiser = Adam(model.parameters())
    schedule = WarmUpAndDecay(rate=0.002, steps=total + 1)
    step = 0
    while step < total:
        order = rng.permutation(len(train))
        for start in range(0, len(train), BATCH):
            step += 1
            loss = model.loss(model.batch([train[i] for i in order[start : start + BATCH]]))
            optimiser.step(graph.gradients(loss), schedule(step))
            yield float(loss.value)


def sparkline(values: list[float]) -> str:
    """A row of bars, one per value, as text."""
    highest = max(values) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[min(int(8 * value / highest), 7)] for value in values)


def _answers(model: WindowClassifier, tokens: tuple[str, ...]) -> Table:
    table = Table("word", *LABELS, box=None, padding=(0, 3))
    for token, row in zip(tokens, model.probabilities(tokens), strict=True):
        best = int(row.argmax())
        cells = [f"[bold green]{p:.3f}[/]" if i == best else f"[dim]{p:.3f}[/]" for i, p in enumerate(row)]
        table.add_row(token, *cells)
    return table


def _draw(model: WindowClassifier, sentence: LabelledSentence, folder: Path) -> list[Path]:
    loss = model.loss(model.batch([sentence]))
    found = graph.gradients(loss, graph.ancestors(loss))
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "flow-graph.svg", folder / "flow-graph.mmd"]
    for path, form in zip(paths, ("svg", "mermaid"), strict=True):
        path.write_text(graph.draw(loss, form, values=True, gradients=found), encoding="utf8")
    return paths


def _coloured(tokens: tuple[str, ...], labels: tuple[str, ...]) -> str:
    styles = {"PER": "bold magenta", "LOC": "bold cyan"}
    marked = (f"[{styles[b]}]{a}[dim]/{b}[/][/]" if b in styles else a for a, b in zip(tokens, labels, strict=True))
    return " ".join(marked)


def _size(model: WindowClassifier) -> str:
    return f"{sum(p.value.size for p in model.parameters().values()):,}"

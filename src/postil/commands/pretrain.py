"""``postil pretrain``: raw text in, a file of word vectors, word clusters or the encoder of a tagger out."""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil.commands.console import make_console
from postil.commands.fitting import interrupted, stop_on_request
from postil.commands.notices import warn
from postil.commands.output import add_overwrite_argument, check_output
from postil.commands.teaching import sampled_sentences
from postil.errors import ConfigurationError, PostilError
from postil.features.lexicon import Lexicon
from postil.features.vectors import WordVectors
from postil.models.config import parsed_setting
from postil.models.tagger import Tagger
from postil.pretraining.clusters import WordClusters
from postil.pretraining.config import METHODS, CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import Corpus, read_corpus
from postil.pretraining.training import Pretraining, Step
from postil.text.formats import FORMATS, format_of

DESCRIPTION = """\
Learn word vectors from raw text and write them in GloVe's text format: a word and its vector on each line. With
--brown, learn word clusters instead: bits, word and count on each line. With --encoder, pretrain the words and the
encoder of a tagger by predicting hidden words from their context. Texts may be compressed with gzip, and may be larger
than memory. With --neighbours, list the words whose vectors have the largest cosine with that of a word.

  postil pretrain wikipedia.txt -o wikipedia.vectors
  postil pretrain *.txt --dimensions 100 --epochs 15 --threads 2 -o news.vectors
  postil pretrain wikipedia.txt --method ranking -o wikipedia.vectors
  postil pretrain wikipedia.txt --resume -o wikipedia.vectors        continue after an interruption
  postil pretrain wikipedia.txt --brown 500 -o wikipedia.paths       Brown clusters
  postil train train.txt --vectors wikipedia.vectors -o ner.postil   use the vectors
  postil pretrain wikipedia.txt --with-brown 500 -o wikipedia.pretrained        both in one file
  postil train train.txt --pretrained wikipedia.pretrained -o ner.postil        use both
  postil pretrain wikipedia.txt --encoder accurate --vectors glove-50d -o accurate.pretrained
  postil train train.txt --pretrained accurate.pretrained -o ner.postil         go on from vectors and encoder
  postil pretrain wikipedia.txt --encoder fast --with-brown 500 -o fast.pretrained     everything from raw text
  postil pretrain wikipedia.vectors --neighbours london                         the ten nearest words
  postil pretrain glove-50d --neighbours london --neighbours oxford --count 5
"""
SHOWN = (
    "-o --brown --with-brown --encoder --dimensions --epochs --neighbours --count --seed --threads "
    "--resume --overwrite --json"
).split()
_SETTINGS = {field.name for field in fields(PretrainingConfig)} - {"corpus"}
_OF_CORPUS = ("min_count", "words", "cased", "fold_digits")
_OF_BOTH = ("epochs", "rate", "hidden", "window")  # also settings of presets
_ONLY_VECTORS = ("method", "dimensions", "window", "epochs", "negatives", "sample", "hidden", "rate", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = PretrainingConfig()
    parser.add_argument(
        "texts", metavar="TEXT", nargs="+", type=Path, help="files of raw text, UTF-8; --neighbours: a file of vectors"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="file to write")
    parser.add_argument("--brown", type=int, metavar="N", help="learn N Brown clusters of words instead of vectors")
    parser.add_argument(
        "--with-brown",
        type=int,
        metavar="N",
        help="learn vectors and N Brown clusters, and write both into one file for `train --pretrained`",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="skipgram: words predict their neighbours; ranking: true windows beat corrupt ones (default: skipgram)",
    )
    parser.add_argument(
        "--dimensions", type=int, metavar="D", help=f"dimensions of a vector (default: {default.dimensions})"
    )
    parser.add_argument("--window", type=int, metavar="N", help="words on each side (default: 5; ranking: 2)")
    parser.add_argument("--epochs", type=int, metavar="N", help=f"passes over the text (default: {default.epochs})")
    parser.add_argument(
        "--negatives", type=int, metavar="N", help=f"skipgram: random words per window (default: {default.negatives})"
    )
    parser.add_argument(
        "--sample",
        type=float,
        metavar="F",
        help=f"skipgram: skip words above this frequency (default: {default.sample})",
    )
    parser.add_argument(
        "--hidden", type=int, metavar="H", help=f"ranking: hidden units, a multiple of 16 (default: {default.hidden})"
    )
    parser.add_argument("--rate", type=float, metavar="R", help="first learning rate (default: 0.025; ranking: 0.1)")
    parser.add_argument("--min-count", type=int, metavar="N", help="leave out words that occur less often (default: 5)")
    parser.add_argument("--words", type=int, metavar="N", help="keep the N most frequent words (default: all)")
    parser.add_argument(
        "--cased",
        action=argparse.BooleanOptionalAction,
        help="distinguish upper and lower case (default: only with --brown)",
    )
    parser.add_argument(
        "--fold-digits",
        action=argparse.BooleanOptionalAction,
        help="treat all digits as 0 (default: except with --brown)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="cores to use; does not change the result (default: 1)"
    )
    parser.add_argument("--resume", action="store_true", help="continue from FILE.checkpoint")
    add_overwrite_argument(parser)
    add_encoder_arguments(parser)
    near = parser.add_argument_group("looking at vectors")
    near.add_argument(
        "--neighbours", metavar="WORD", action="append", default=[], help="list the words nearest to WORD (repeatable)"
    )
    near.add_argument("--count", type=int, default=10, metavar="N", help="--neighbours: words to list (default: 10)")
    near.add_argument("--json", action="store_true", help="--neighbours: print one JSON object and nothing else")
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    if arguments.neighbours:
        return _show_neighbours(arguments)
    if arguments.output is None:
        arguments.usage_error("the following arguments are required: -o")
    is_clusters, is_encoder = arguments.brown is not None, arguments.encoder is not None
    if is_clusters and (is_encoder or arguments.with_brown is not None):
        arguments.usage_error(f"--brown and --{'encoder' if is_encoder else 'with-brown'} exclude each other")
    _refuse_unused(arguments)
    kind = "clusters" if is_clusters else "vectors" if arguments.with_brown is None and not is_encoder else "model"
    what = "pretrained file" if kind == "model" else f"file of {kind}"
    inputs = [*arguments.texts, *arguments.vectors, arguments.clusters, *arguments.gazetteer]
    check_output(arguments.output, what, kind, inputs=inputs, overwrite=arguments.overwrite)
    check_output(_beside(arguments, _CHECKPOINT), "checkpoint", "model", inputs=inputs, overwrite=arguments.overwrite)
    _warn_of_columns(arguments.texts)
    if is_encoder:
        return _pretrain_encoder(arguments)
    corpus_config = _corpus_config(arguments, is_clusters)
    return _cluster(arguments, corpus_config) if is_clusters else _pretrain(arguments, corpus_config)


def _show_neighbours(arguments: argparse.Namespace) -> int:
    from postil.commands.console import make_console, show_table
    from postil.features.vectors import load_vectors
    from postil.metrics.tables import Table
    from postil.pretraining.clusters import neighbours

    if len(arguments.texts) > 1:
        raise ConfigurationError("--neighbours", expected="needs one file of vectors", got=len(arguments.texts))
    vectors = load_vectors(str(arguments.texts[0]))
    nearest = {word: neighbours(vectors, word, arguments.count) for word in arguments.neighbours}
    if arguments.json:
        print(json.dumps({word: [near._asdict() for near in row] for word, row in nearest.items()}, ensure_ascii=False))
        return 0
    console = make_console()
    for word, row in nearest.items():
        show_table(console, Table(word, ("word", "cosine"), [(near.word, near.cosine) for near in row]))
    return 0


def _refuse_unused(arguments: argparse.Namespace) -> None:
    """Options of vectors without vectors, options of the encoder without an encoder."""
    if arguments.encoder is None:
        for name in ENCODER_OPTIONS:
            if getattr(arguments, name) not in (None, []):
                option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
                raise ConfigurationError(f"{option} cannot be used here: it is for --encoder")
    elif arguments.with_brown is None:
        for name in (*_ONLY_VECTORS, *_OF_CORPUS):
            if name != "seed" and getattr(arguments, name) is not None:
                hint = f" (for the encoder: --set {name}=…)" if name in _OF_BOTH else ""
                why = "it is for vectors, which --encoder learns with --with-brown"
                raise ConfigurationError(f"--{name.replace('_', '-')} cannot be used here: {why}{hint}")
    elif arguments.clusters is not None:
        raise ConfigurationError("--clusters", expected="must not be given with --with-brown")


def _pretrain_encoder(arguments: argparse.Namespace) -> int:
    """The encoder, after the vectors and clusters that it is to be learned with."""
    if arguments.with_brown is None:
        return train_encoder(arguments, None, _beside(arguments, _CHECKPOINT))
    output, words = arguments.output, _beside(arguments, _WORDS)
    if not (arguments.resume and words.exists()):
        arguments.output = words
        for path in (words, _beside(arguments, _CHECKPOINT)):
            check_output(
                path, "file of vectors and clusters", "model", inputs=arguments.texts, overwrite=arguments.overwrite
            )
        code = _pretrain(arguments, _corpus_config(arguments, False))
        if code:
            return code
    arguments.output = output
    return train_encoder(arguments, words, _beside(arguments, _CHECKPOINT))


def _warn_of_columns(texts: Sequence[str]) -> None:
    """Warn of files that are not raw text: their labels would count as words."""
    for path in filter(os.path.isfile, texts):  # a pipe can be read only once
        with suppress(PostilError, OSError):  # which reading the text reports
            if (format := format_of(path)) in ("conll", "conllu", "jsonl"):
                warn(f"{path}: looks like {FORMATS[format].title}, but is read as raw text, labels and all")


def _corpus_config(arguments: argparse.Namespace, for_clusters: bool) -> CorpusConfig:
    return CorpusConfig(
        min_count=CorpusConfig.min_count if arguments.min_count is None else arguments.min_count,
        words=arguments.words,
        cased=for_clusters if arguments.cased is None else arguments.cased,
        fold_digits=not for_clusters if arguments.fold_digits is None else arguments.fold_digits,
    )


def _pretrain(arguments: argparse.Namespace, corpus_config: CorpusConfig) -> int:
    from postil.pretraining.clusters import save_vectors
    from postil.pretraining.training import Pretraining

    given = {name: value for name in _SETTINGS if (value := getattr(arguments, name)) is not None}
    config = PretrainingConfig(corpus=corpus_config, **given)
    with read_with_progress(arguments.texts, corpus_config, arguments.output.resolve().parent) as corpus:
        checkpoint, resume = _beside(arguments, _CHECKPOINT), arguments.resume
        training = Pretraining(corpus, config, threads=arguments.threads, checkpoint=checkpoint, resume=resume)
        with stop_on_request() as stop, Display(training) as display:
            for step in training:
                display.show(step)
                if stop.by is not None:
                    return interrupted(training, stop.by)
        if arguments.with_brown is None:
            save_vectors(arguments.output, training.vectors())
        else:
            # the checkpoint has the finished vectors: an interruption of the clusters costs nothing but their own time
            training.save_checkpoint()
            _save_both(arguments, training.vectors())
        checkpoint.unlink(missing_ok=True)
        display.summary(arguments.output)
    return 0


def _save_both(arguments: argparse.Namespace, vectors: WordVectors) -> None:
    from postil.features.vector_files import save_pretrained

    clusters = _learnt_clusters(arguments, _corpus_config(arguments, True), arguments.with_brown)
    lexicon = Lexicon.of_paths(dict(zip(clusters.words, clusters.paths, strict=True)))
    save_pretrained(arguments.output, vectors=vectors.arrays(), clusters=lexicon.arrays())
    show_clusters(clusters, arguments.with_brown, arguments.output)


def _learnt_clusters(arguments: argparse.Namespace, corpus_config: CorpusConfig, number: int) -> WordClusters:
    from postil.pretraining.clusters import brown_clusters

    with (
        read_with_progress(arguments.texts, corpus_config, arguments.output.resolve().parent) as corpus,
        merging_progress(len(corpus.words) - 1) as report,
    ):
        return brown_clusters(corpus, number, report=report)


def _cluster(arguments: argparse.Namespace, corpus_config: CorpusConfig) -> int:

    for name in _ONLY_VECTORS:
        if getattr(arguments, name) is not None:
            raise ConfigurationError(f"--{name}", expected="must not be given with --brown: it is for vectors")
    if arguments.resume:
        raise ConfigurationError("--resume", expected="must not be given with --brown, which has no checkpoint")
    clusters = _learnt_clusters(arguments, corpus_config, arguments.brown)
    clusters.save(arguments.output)
    show_clusters(clusters, arguments.brown, arguments.output)
    return 0


_CHECKPOINT, _WORDS = ".checkpoint", ".words"


def _beside(arguments: argparse.Namespace, suffix: str) -> Path:
    path: Path = arguments.output
    return path.with_name(path.name + suffix)


# ------------------------------------------------------------------------------------------------ on a terminal


@contextmanager
def read_with_progress(texts: Sequence[Path], config: CorpusConfig, folder: Path) -> Iterator[Corpus]:
    """Read a corpus, with its temporary file in ``folder``; then say how large it is."""
    console, began, tokens = Console(stderr=True), time.perf_counter(), 0
    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading")

        def report(number: int) -> None:
            nonlocal tokens
            tokens += number
            speed = tokens / max(time.perf_counter() - began, 1e-9)
            progress.update(task, description=f"reading: {tokens:,} tokens, {speed:,.0f} tokens/s")

        corpus = read_corpus(texts, config, folder=folder, report=report)
    with corpus:
        known = int(corpus.counts.sum())
        share = f"{100 * known / max(corpus.tokens, 1):.1f} % of them known"
        line = f"{corpus.tokens:,} tokens, {len(corpus.words):,} words; {share}"
        console.print(Text(line, style="dim"))
        yield corpus


@final
class Display:
    """A progress bar with loss, speed and time left, and a line per epoch."""

    def __init__(self, training: Pretraining) -> None:
        self._training, self._console = training, Console(stderr=True)
        self._progress = Progress(
            *(TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[figures]}", style="dim")),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=1.0, figures="")
        self._words, self._seconds = 0, 0.0
        self._epoch = training.epoch
        self._losses: list[float] = []  # of this epoch

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        if kind is None and self._training.epoch > self._epoch:
            self._print_epoch()

    def show(self, step: Step) -> None:
        if step.epoch != self._epoch:
            self._print_epoch()
            self._epoch, self._losses = step.epoch, []
        self._losses.append(step.loss)
        self._words, self._seconds = self._words + step.words, step.seconds
        self._progress.update(
            self._task,
            completed=step.progress,
            description=f"epoch {step.epoch + 1}",
            figures=f"loss {step.loss:.3f}  {self._words / max(step.seconds, 1e-9):,.0f} words/s",
        )

    def _print_epoch(self) -> None:
        mean = sum(self._losses) / max(len(self._losses), 1)
        self._console.print(Text(f"epoch {self._epoch + 1:3}  loss {mean:.4f}"))

    def summary(self, path: Path) -> None:
        """Where the vectors are, and how long it took."""
        words, dimensions = len(self._training.corpus.words), self._training.config.dimensions
        line = f"{path}: {words:,} words, {dimensions} dimensions, trained in {self._seconds:.0f} s"
        make_console().print(Text(line), soft_wrap=True)


@contextmanager
def merging_progress(merges: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of merges that are done."""
    columns = (TextColumn("merging"), BarColumn(30), TextColumn("{task.completed:,.0f} of {task.total:,.0f} words"))
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=merges)
        yield lambda done: progress.update(task, completed=done)


def show_clusters(clusters: WordClusters, number: int, path: Path) -> None:
    """Where the clusters are."""
    make_console().print(Text(f"{path}: {len(clusters.words):,} words in {number:,} clusters"), soft_wrap=True)


# ------------------------------------------------------------------------------------------------ --encoder


MOST_TOKENS = 6_000_000
"""Of raw text, unless --tokens says otherwise: a minute or two for each network on one core."""


def add_encoder_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the encoder of a tagger, by predicting hidden words")
    group.add_argument(
        "--encoder",
        metavar="PRESET",
        choices=list(Tagger._rows()),
        help="learn words and encoder of this preset, and write them into one file for `train --pretrained`",
    )
    group.add_argument(
        "--vectors", metavar="FILE", action="append", default=[], help="word vectors of the tagger (repeatable)"
    )
    group.add_argument("--clusters", metavar="FILE", help="word clusters of the tagger: a file, or brown")
    group.add_argument(
        "--gazetteer", metavar="NAME", action="append", default=[], help="lists of names of the tagger (repeatable)"
    )
    group.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change one setting of the preset, such as epochs, the passes over the text (repeatable)",
    )
    group.add_argument(
        "--tokens",
        type=int,
        metavar="N",
        help=f"how much of the text the encoder learns from, sampled by sentences (default: {MOST_TOKENS:,})",
    )


ENCODER_OPTIONS = ("vectors", "clusters", "gazetteer", "settings", "tokens")
"""Those that mean nothing without --encoder."""


def train_encoder(arguments: argparse.Namespace, words: Path | None, checkpoint: Path) -> int:
    """Train and write the encoder. ``words`` is a file of vectors and clusters that were learned from the same text."""
    from postil.commands.fitting import Display as FittingDisplay

    tokens = MOST_TOKENS if arguments.tokens is None else arguments.tokens
    if tokens < 1:
        raise ConfigurationError("--tokens", expected="must be at least 1", got=tokens)
    seed = arguments.seed or 0
    tagger = Tagger(
        preset=arguments.encoder,
        vectors=[*arguments.vectors, *([words] if words else [])] or None,
        clusters=words or arguments.clusters,
        gazetteers=arguments.gazetteer,
        seed=seed,
        threads=arguments.threads,
        **dict(parsed_setting(text) for text in arguments.settings),
    )
    sentences = sampled_sentences(arguments.texts, tokens, seed=seed)
    resume = arguments.resume and (checkpoint.exists() or words is None)  # or it was interrupted before
    fitting = tagger.pretraining(sentences, checkpoint=checkpoint, resume=resume)
    with stop_on_request() as stop, FittingDisplay(fitting, None) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                return interrupted(fitting, stop.by)
    # The words that were trained are in the model; their file goes.
    tagger.set_params(vectors=arguments.vectors or None, clusters=arguments.clusters).save(arguments.output)
    for path in (checkpoint, *([words] if words else [])):
        path.unlink(missing_ok=True)
    display.summary(arguments.output, {})
    return 0

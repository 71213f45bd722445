"""``postil pretrain``: raw text in, a file of word vectors, word clusters or the encoder of a tagger out."""

import argparse
import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, final

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil.commands import fitting
from postil.commands.console import progress_bar, say, show_table
from postil.commands.notices import note, progress_line
from postil.commands.output import check_output, checkpoint_of, present
from postil.commands.parser import OVERWRITE, SETTINGS, needing, option, refuse, typed_name
from postil.commands.teaching import named_segmenter, sampled_sentences
from postil.errors import ConfigurationError, PostilError
from postil.features.lexicon import Lexicon
from postil.metrics.tables import Table
from postil.models.config import PRESETS, parsed_setting
from postil.models.tagger import Tagger
from postil.pretraining import Corpus, CorpusConfig, PretrainingConfig, WordClusters, read_corpus
from postil.pretraining import training as learning
from postil.text import Segmenter
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
  postil train train.txt --pretrained accurate.pretrained -o ner.postil         start from vectors and encoder
  postil pretrain wikipedia.txt --encoder fast --with-brown 500 -o fast.pretrained     everything from raw text
  postil pretrain wikipedia.vectors --neighbours london                         the ten nearest words
  postil pretrain glove-50d --neighbours london --neighbours oxford --count 5
"""
SHOWN = (
    "-o --brown --with-brown --encoder --dimensions --epochs --neighbours --count --seed --threads "
    "--resume --overwrite --json"
)
MOST_TOKENS = 6_000_000
"""Of raw text for an encoder, unless --tokens says otherwise: a minute or two for each network on one core."""
_SETTINGS = {field.name for field in fields(PretrainingConfig)} - {"corpus"}
_OF_CORPUS = ("min_count", "words", "cased", "fold_digits")
_default = PretrainingConfig()
_yes_or_no = argparse.BooleanOptionalAction


def _kind(arguments: Namespace) -> str:
    """The kind of file that is written."""
    if arguments.encoder is not None or arguments.with_brown is not None:
        return "model"
    return "vectors" if arguments.brown is None else "clusters"


OPTIONS = {
    "": [
        option("TEXT", "files of raw text, UTF-8; --neighbours: a file of vectors", nargs="+", type=Path, dest="texts"),
        option("-o --output FILE", "file to write", type=Path, writes=_kind),
        option("--brown N", "learn N Brown clusters of words instead of vectors"),
        option(
            "--with-brown N",
            "learn vectors and N Brown clusters, and write both into one file for `train --pretrained`",
        ),
        option(
            "--method",
            "skipgram: words predict their neighbours; ranking: true windows beat corrupt ones (default: skipgram)",
            choices=learning.METHODS,
        ),
        option("--dimensions D", f"dimensions of a vector (default: {_default.dimensions})", type=int),
        option("--window N", "words on each side (default: 5; ranking: 2)"),
        option("--epochs N", f"passes over the text (default: {_default.epochs})"),
        option("--negatives N", f"skipgram: random words per window (default: {_default.negatives})"),
        option("--sample F", f"skipgram: skip words above this frequency (default: {_default.sample})", type=float),
        option("--hidden H", f"ranking: hidden units, a multiple of 16 (default: {_default.hidden})", type=int),
        option("--rate R", "first learning rate (default: 0.025; ranking: 0.1)", type=float),
        option("--min-count N", "leave out words that occur less often (default: 5)"),
        option("--words N", "keep the N most frequent words (default: all)"),
        option("--cased", "distinguish upper and lower case (default: only with --brown)", action=_yes_or_no),
        option("--fold-digits", "treat all digits as 0 (default: except with --brown)", action=_yes_or_no),
        option(
            "--segmenter FILE", "model or treebank that splits the text (default: rules for English or any language)"
        ),
        option("--seed N", "random seed (default: 0)"),
        option("--threads N=1", "number of cores to use; does not change the result"),
        option("--resume", "continue from FILE.checkpoint"),
        OVERWRITE,
    ],
    "the encoder of a tagger, by predicting hidden words": [
        option(
            "--encoder PRESET",
            "learn words and encoder of this preset, and write them into one file for `train --pretrained`",
            choices=[name for name in PRESETS if name != "margin"],
        ),
        *needing(
            "--encoder",
            option("--vectors FILE …", "word vectors of the tagger"),
            option("--clusters FILE", "word clusters of the tagger: a file, or brown"),
            option("--gazetteer NAME …", "lists of names of the tagger"),
            SETTINGS,
            option(f"--tokens N={MOST_TOKENS:,}", "how much of the text it learns from, sampled by sentences", least=1),
        ),
    ],
    "nearest words": [
        option("--neighbours WORD …", "list the words nearest to WORD"),
        *needing(
            "--neighbours",
            option("--count N=10", "--neighbours: words to list"),
            option("--json", "--neighbours: print one JSON object and nothing else"),
        ),
    ],
}


def run(arguments: Namespace) -> int:
    if arguments.neighbours:
        refuse(arguments, "it is for raw text", "segmenter")
        return _show_neighbours(arguments)
    if arguments.output is None:
        arguments.usage_error("the following arguments are required: -o")
    is_clusters, is_encoder = arguments.brown is not None, arguments.encoder is not None
    if is_clusters and (is_encoder or arguments.with_brown is not None):
        arguments.usage_error(f"--brown and --{'encoder' if is_encoder else 'with-brown'} exclude each other")
    if arguments.with_brown is not None:
        refuse(arguments, "--with-brown learns them", "clusters")
    elif is_encoder:
        _refuse_all(arguments, "--encoder learns vectors only with --with-brown (for the encoder: --set)", *_OF_CORPUS)
    for path in filter(os.path.isfile, arguments.texts):  # a pipe can be read only once
        with suppress(PostilError, OSError):  # which reading the text reports
            if (format := format_of(str(path))) in ("conll", "conllu", "jsonl"):  # labels would count as words
                note(f"{path}: looks like {FORMATS[format].title}, but is read as raw text, labels and all")
    output: Path = arguments.output
    if is_clusters:
        refuse(arguments, "--brown has no checkpoint", "resume")
        _refuse_all(arguments, "--brown learns no vectors", "seed")
        _clusters(arguments, arguments.brown, output).save(output)
        return 0
    if not is_encoder:
        return _learn_vectors(arguments, output)
    words = None
    if arguments.with_brown is not None:  # the encoder is learned with vectors and clusters of the same text
        words = output.with_name(f"{output.name}.words")
        if not (arguments.resume and words.exists()):
            for path in (words, checkpoint_of(words)):
                check_output(path, "model", inputs=arguments.texts, overwrite=arguments.overwrite)
            if code := _learn_vectors(arguments, words):
                return code
    return _learn_encoder(arguments, words)


def _refuse_all(arguments: Namespace, why: str, *others: str) -> None:
    """Raise ConfigurationError for a setting of vectors, also one that is turned off, or one of the others."""
    for name in sorted((_SETTINGS - {"seed"}).union(others)):
        if getattr(arguments, name) is not None:
            raise ConfigurationError(f"{typed_name(name)} cannot be used here: {why}")


def _show_neighbours(arguments: Namespace) -> int:
    from postil.features.vectors import load_vectors
    from postil.pretraining.clusters import neighbours

    if len(arguments.texts) > 1:
        raise ConfigurationError("--neighbours", expected="needs one file of vectors", got=len(arguments.texts))
    vectors = load_vectors(str(arguments.texts[0]))
    nearest = {word: neighbours(vectors, word, arguments.count) for word in arguments.neighbours}

    def show() -> None:
        for word, row in nearest.items():
            show_table(Table(word, ("word", "cosine"), [(near.word, near.cosine) for near in row]))

    return present(arguments, {word: [near._asdict() for near in row] for word, row in nearest.items()}, show)


# ------------------------------------------------------------------------------------------------ vectors and clusters


def _segmenter(arguments: Namespace) -> Segmenter | None:
    name = arguments.segmenter
    return None if name is None else _learned(name, arguments.seed or 0, arguments.threads)


_learned = lru_cache(1)(named_segmenter)  # vectors and encoder of one call share it


def _corpus_config(arguments: Namespace, for_clusters: bool) -> CorpusConfig:
    given = {name: value for name in _OF_CORPUS if (value := getattr(arguments, name)) is not None}
    return CorpusConfig(**{"cased": for_clusters, "fold_digits": not for_clusters, **given})


@contextmanager
def _corpus(arguments: Namespace, config: CorpusConfig) -> Iterator[Corpus]:
    """Read the texts, with a temporary file next to the output; then say how large they are."""
    folder, segmenter = arguments.output.resolve().parent, _segmenter(arguments)
    with progress_line(to_file=True) as report:
        corpus = read_corpus(arguments.texts, config, folder=folder, report=report, segmenter=segmenter)
    with corpus:
        share = f"{100 * int(corpus.counts.sum()) / max(corpus.tokens, 1):.1f} % of them known"
        size = f"{corpus.tokens:,} tokens, {len(corpus.words):,} words; {share}"
        Console(stderr=True).print(Text(size, style="dim"))
        yield corpus


def _learn_vectors(arguments: Namespace, output: Path) -> int:
    """Word vectors, or with --with-brown both vectors and clusters in one file."""
    from postil.features.vectors import save_pretrained
    from postil.pretraining.clusters import save_vectors

    given = {name: value for name in _SETTINGS if (value := getattr(arguments, name)) is not None}
    config = PretrainingConfig(corpus=_corpus_config(arguments, False), **given)
    checkpoint = checkpoint_of(output)
    with _corpus(arguments, config.corpus) as corpus:
        training = learning.Pretraining(
            corpus, config, threads=arguments.threads, checkpoint=checkpoint, resume=arguments.resume
        )
        display = VectorsDisplay(training)
        if code := fitting.follow(training, display):
            return code
        vectors = training.vectors()
        if arguments.with_brown is None:
            save_vectors(output, vectors)
        else:
            # the checkpoint has the finished vectors: an interruption of the clusters costs nothing but their own time
            training.save_checkpoint()
            clusters = _clusters(arguments, arguments.with_brown, output)
            lexicon = Lexicon.of_paths(dict(zip(clusters.words, clusters.paths, strict=True)))
            save_pretrained(output, vectors=vectors.arrays(), clusters=lexicon.arrays())
        checkpoint.unlink(missing_ok=True)
        size = f"{len(corpus.words):,} words, {config.dimensions} dimensions"
        say(f"{output}: {size}, trained in {display.seconds:.0f} s")
    return 0


def _clusters(arguments: Namespace, number: int, path: Path) -> WordClusters:
    """``path``: where the clusters are to be written."""
    from postil.pretraining.clusters import brown_clusters

    columns = (TextColumn("merging"), BarColumn(30), TextColumn("{task.completed:,.0f} of {task.total:,.0f} words"))
    with (
        _corpus(arguments, _corpus_config(arguments, True)) as corpus,
        progress_bar(*columns, TimeRemainingColumn()) as progress,
    ):
        task = progress.add_task("", total=len(corpus.words) - 1)
        clusters = brown_clusters(corpus, number, report=lambda done: progress.update(task, completed=done))
    say(f"{path}: {len(clusters.words):,} words in {number:,} clusters")
    return clusters


@final
class VectorsDisplay:
    """A progress bar with loss, speed and time left, and a line per epoch."""

    def __init__(self, training: learning.Pretraining) -> None:
        self._training = training
        columns = (TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[figures]}", style="dim"))
        self._progress = progress_bar(*columns, TimeRemainingColumn())
        self._task = self._progress.add_task("", total=1.0, figures="")
        self._words, self.seconds = 0, 0.0
        self._epoch = training.epoch
        self._losses: list[float] = []  # of this epoch

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: Any) -> None:
        self._progress.stop()
        if kind is None and self._training.epoch > self._epoch:
            self._print_epoch()

    def show(self, step: learning.PretrainingStep) -> None:
        if step.epoch != self._epoch:
            self._print_epoch()
            self._epoch, self._losses = step.epoch, []
        self._losses.append(step.loss)
        self._words, self.seconds = self._words + step.words, step.seconds
        self._progress.update(
            self._task,
            completed=step.progress,
            description=f"epoch {step.epoch + 1}",
            figures=f"loss {step.loss:.3f}  {self._words / max(step.seconds, 1e-9):,.0f} words/s",
        )

    def _print_epoch(self) -> None:
        mean = sum(self._losses) / max(len(self._losses), 1)
        self._progress.console.print(Text(f"epoch {self._epoch + 1:3}  loss {mean:.4f}"))


# ------------------------------------------------------------------------------------------------ --encoder


def _learn_encoder(arguments: Namespace, words: Path | None) -> int:
    """Train and write the encoder. ``words`` is a file of vectors and clusters that were learned from the same text."""
    seed = arguments.seed or 0
    tagger = Tagger(
        preset=arguments.encoder,
        vectors=[*arguments.vectors, *([words] if words else [])] or None,
        clusters=words or arguments.clusters,
        gazetteers=arguments.gazetteer,
        seed=seed,
        threads=arguments.threads,
        **dict(map(parsed_setting, arguments.settings)),
    )
    checkpoint = checkpoint_of(arguments.output)
    sentences = sampled_sentences(arguments.texts, arguments.tokens, seed=seed, segmenter=_segmenter(arguments))
    resume = arguments.resume and (checkpoint.exists() or words is None)  # or it was interrupted before
    pretraining = tagger.pretraining(sentences, checkpoint=checkpoint, resume=resume)
    display = fitting.Display(pretraining)
    if code := fitting.follow(pretraining, display):
        return code
    # The words that were trained are in the model; their file goes.
    tagger.set_params(vectors=arguments.vectors or None, clusters=arguments.clusters).save(arguments.output)
    for path in (checkpoint, *([words] if words else [])):
        path.unlink(missing_ok=True)
    display.summary(arguments.output, {})
    return 0

"""``postil pretrain``: raw text in, a file of word vectors or word clusters out."""

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from postil.commands.stopping import interrupted, stop_on_request
from postil.commands.terminal.notices import warn
from postil.commands.writing import add_force_argument, check_output
from postil.errors import ConfigurationError, PostilError
from postil.features.lexicon import Lexicon
from postil.features.vectors import WordVectors
from postil.pretraining.clusters import WordClusters
from postil.pretraining.config import METHODS, CorpusConfig, PretrainingConfig
from postil.text.formats import FORMATS, format_of

DESCRIPTION = """\
Learn word vectors from raw text and write them in GloVe's text format: a word and its vector on each line. With
--clusters, learn word clusters instead: bits, word and count on each line. Texts may be compressed with gzip, and may
be larger than memory.

  postil pretrain wikipedia.txt -o wikipedia.vectors
  postil pretrain *.txt --dimensions 100 --epochs 15 --threads 2 -o news.vectors
  postil pretrain wikipedia.txt --method ranking -o wikipedia.vectors
  postil pretrain wikipedia.txt --resume -o wikipedia.vectors        continue after an interruption
  postil pretrain wikipedia.txt --clusters 500 -o wikipedia.paths    Brown clusters
  postil train train.txt --vectors wikipedia.vectors -o ner.postil   use the vectors
  postil pretrain wikipedia.txt --with-clusters 500 -o wikipedia.pretrained     both in one file
  postil train train.txt --pretrained wikipedia.pretrained -o ner.postil        use both
"""
_SETTINGS = {field.name for field in fields(PretrainingConfig)} - {"corpus"}
_ONLY_VECTORS = ("method", "dimensions", "window", "epochs", "negatives", "sample", "hidden", "rate", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = PretrainingConfig()
    parser.add_argument("texts", metavar="TEXT", nargs="+", type=Path, help="files of raw text, UTF-8")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="file to write")
    parser.add_argument("--clusters", type=int, metavar="N", help="learn N Brown clusters of words instead of vectors")
    parser.add_argument(
        "--with-clusters",
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
    parser.add_argument(
        "--min-count", type=int, default=5, metavar="N", help="leave out words that occur less often (default: 5)"
    )
    parser.add_argument("--words", type=int, metavar="N", help="keep the N most frequent words (default: all)")
    parser.add_argument(
        "--cased",
        action=argparse.BooleanOptionalAction,
        help="distinguish upper and lower case (default: only with --clusters)",
    )
    parser.add_argument(
        "--fold-digits",
        action=argparse.BooleanOptionalAction,
        help="treat all digits as 0 (default: except with --clusters)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="random seed (default: 0)")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="cores to use; does not change the result (default: 1)"
    )
    parser.add_argument("--resume", action="store_true", help="continue from FILE.checkpoint")
    add_force_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    is_clusters = arguments.clusters is not None
    if is_clusters and arguments.with_clusters is not None:
        arguments.usage_error("--clusters and --with-clusters exclude each other")
    kind = "clusters" if is_clusters else "vectors" if arguments.with_clusters is None else "model"
    what = "pretrained file" if kind == "model" else f"file of {kind}"
    check_output(arguments.output, what, kind, inputs=arguments.texts, force=arguments.force)
    check_output(_checkpoint(arguments), "checkpoint", "model", inputs=arguments.texts, force=arguments.force)
    _warn_of_columns(arguments.texts)
    corpus_config = _corpus_config(arguments, is_clusters)
    return _cluster(arguments, corpus_config) if is_clusters else _pretrain(arguments, corpus_config)


def _warn_of_columns(texts: Sequence[str]) -> None:
    """Warn of files that are not raw text: their labels would count as words."""
    for path in filter(os.path.isfile, texts):  # a pipe can be read only once
        with suppress(PostilError, OSError):  # which reading the text reports
            if (format := format_of(path)) in ("conll", "conllu", "jsonl"):
                warn(f"{path}: looks like {FORMATS[format].title}, but is read as raw text, labels and all")


def _corpus_config(arguments: argparse.Namespace, for_clusters: bool) -> CorpusConfig:
    return CorpusConfig(
        min_count=arguments.min_count,
        words=arguments.words,
        cased=for_clusters if arguments.cased is None else arguments.cased,
        fold_digits=not for_clusters if arguments.fold_digits is None else arguments.fold_digits,
    )


def _pretrain(arguments: argparse.Namespace, corpus_config: CorpusConfig) -> int:
    from postil.commands.terminal.pretraining import Display, read_with_progress
    from postil.pretraining.files import save_vectors
    from postil.pretraining.training import Pretraining

    given = {name: value for name in _SETTINGS if (value := getattr(arguments, name)) is not None}
    config = PretrainingConfig(corpus=corpus_config, **given)
    with read_with_progress(arguments.texts, corpus_config, arguments.output.resolve().parent) as corpus:
        training = Pretraining(
            corpus, config, threads=arguments.threads, checkpoint=_checkpoint(arguments), resume=arguments.resume
        )
        with stop_on_request() as stop, Display(training) as display:
            for step in training:
                display.show(step)
                if stop.by is not None:
                    return interrupted(training, stop.by)
        if arguments.with_clusters is None:
            save_vectors(arguments.output, training.vectors())
        else:
            # the checkpoint has the finished vectors: an interruption of the clusters costs nothing but their own time
            training.save_checkpoint()
            _save_both(arguments, training.vectors())
        _checkpoint(arguments).unlink(missing_ok=True)
        display.summary(arguments.output)
    return 0


def _save_both(arguments: argparse.Namespace, vectors: WordVectors) -> None:
    from postil.commands.terminal.pretraining import show_clusters
    from postil.features.pretrained import save_pretrained

    clusters = _learnt_clusters(arguments, _corpus_config(arguments, True), arguments.with_clusters)
    lexicon = Lexicon.of_paths(dict(zip(clusters.words, clusters.paths, strict=True)))
    save_pretrained(arguments.output, vectors=vectors.arrays(), clusters=lexicon.arrays())
    show_clusters(clusters, arguments.with_clusters, arguments.output)


def _learnt_clusters(arguments: argparse.Namespace, corpus_config: CorpusConfig, number: int) -> WordClusters:
    from postil.commands.terminal.pretraining import merging_progress, read_with_progress
    from postil.pretraining.clusters import brown_clusters

    with (
        read_with_progress(arguments.texts, corpus_config, arguments.output.resolve().parent) as corpus,
        merging_progress(len(corpus.words) - 1) as report,
    ):
        return brown_clusters(corpus, number, report=report)


def _cluster(arguments: argparse.Namespace, corpus_config: CorpusConfig) -> int:
    from postil.commands.terminal.pretraining import show_clusters

    for name in _ONLY_VECTORS:
        if getattr(arguments, name) is not None:
            raise ConfigurationError(f"--{name}", expected="must not be given with --clusters: it is for vectors")
    if arguments.resume:
        raise ConfigurationError("--resume", expected="must not be given with --clusters, which has no checkpoint")
    clusters = _learnt_clusters(arguments, corpus_config, arguments.clusters)
    clusters.save(arguments.output)
    show_clusters(clusters, arguments.clusters, arguments.output)
    return 0


def _checkpoint(arguments: argparse.Namespace) -> Path:
    path: Path = arguments.output
    return path.with_name(path.name + ".checkpoint")

"""``postil pretrain``: raw text in, a file of word vectors, word clusters or the encoder of a tagger out."""

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from postil.commands.options.writing import add_force_argument, check_output
from postil.commands.terminal.notices import warn
from postil.commands.training import encoder_pretraining
from postil.commands.training.stopping import interrupted, stop_on_request
from postil.errors import ConfigurationError, PostilError
from postil.features.lexicon import Lexicon
from postil.features.vectors import WordVectors
from postil.pretraining.clusters import WordClusters
from postil.pretraining.config import METHODS, CorpusConfig, PretrainingConfig
from postil.text.formats import FORMATS, format_of

DESCRIPTION = """\
Learn word vectors from raw text and write them in GloVe's text format: a word and its vector on each line. With
--clusters, learn word clusters instead: bits, word and count on each line. With --encoder, learn words and encoder of a
tagger, which then knows contexts that no labelled file has: some words are hidden, and it learns to predict them. Texts
may be compressed with gzip, and may be larger than memory.

  postil pretrain wikipedia.txt -o wikipedia.vectors
  postil pretrain *.txt --dimensions 100 --epochs 15 --threads 2 -o news.vectors
  postil pretrain wikipedia.txt --method ranking -o wikipedia.vectors
  postil pretrain wikipedia.txt --resume -o wikipedia.vectors        continue after an interruption
  postil pretrain wikipedia.txt --clusters 500 -o wikipedia.paths    Brown clusters
  postil train train.txt --vectors wikipedia.vectors -o ner.postil   use the vectors
  postil pretrain wikipedia.txt --with-clusters 500 -o wikipedia.pretrained     both in one file
  postil train train.txt --pretrained wikipedia.pretrained -o ner.postil        use both
  postil pretrain wikipedia.txt --encoder accurate --vectors glove-50d -o accurate.pretrained
  postil train train.txt --pretrained accurate.pretrained -o ner.postil         go on from vectors and encoder
  postil pretrain wikipedia.txt --encoder fast --with-clusters 500 -o fast.pretrained     everything from raw text
"""
_SETTINGS = {field.name for field in fields(PretrainingConfig)} - {"corpus"}
_OF_CORPUS = ("min_count", "words", "cased", "fold_digits")
_OF_BOTH = ("epochs", "rate", "hidden", "window")  # settings of presets, too
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
    parser.add_argument("--min-count", type=int, metavar="N", help="leave out words that occur less often (default: 5)")
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
    encoder_pretraining.add_arguments(parser)
    parser.set_defaults(usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    is_clusters, is_encoder = arguments.clusters is not None, arguments.encoder is not None
    if is_clusters and (is_encoder or arguments.with_clusters is not None):
        arguments.usage_error(f"--clusters and --{'encoder' if is_encoder else 'with-clusters'} exclude each other")
    _refuse_unused(arguments)
    kind = "clusters" if is_clusters else "vectors" if arguments.with_clusters is None and not is_encoder else "model"
    what = "pretrained file" if kind == "model" else f"file of {kind}"
    inputs = [*arguments.texts, *arguments.vectors, arguments.word_clusters, *arguments.gazetteer]
    check_output(arguments.output, what, kind, inputs=inputs, force=arguments.force)
    check_output(_beside(arguments, _CHECKPOINT), "checkpoint", "model", inputs=inputs, force=arguments.force)
    _warn_of_columns(arguments.texts)
    if is_encoder:
        return _pretrain_encoder(arguments)
    corpus_config = _corpus_config(arguments, is_clusters)
    return _cluster(arguments, corpus_config) if is_clusters else _pretrain(arguments, corpus_config)


def _refuse_unused(arguments: argparse.Namespace) -> None:
    """Options of vectors without vectors, options of the encoder without an encoder."""
    if arguments.encoder is None:
        for name in encoder_pretraining.OPTIONS:
            if getattr(arguments, name) not in (None, []):
                option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
                raise ConfigurationError(f"{option} cannot be used here: it is for --encoder")
    elif arguments.with_clusters is None:
        for name in (*_ONLY_VECTORS, *_OF_CORPUS):
            if name != "seed" and getattr(arguments, name) is not None:
                hint = f" (for the encoder: --set {name}=…)" if name in _OF_BOTH else ""
                why = "it is for vectors, which --encoder learns with --with-clusters"
                raise ConfigurationError(f"--{name.replace('_', '-')} cannot be used here: {why}{hint}")
    elif arguments.word_clusters is not None:
        raise ConfigurationError("--word-clusters", expected="must not be given with --with-clusters")


def _pretrain_encoder(arguments: argparse.Namespace) -> int:
    """The encoder, after the vectors and clusters that it is to be learnt with."""
    if arguments.with_clusters is None:
        return encoder_pretraining.run(arguments, None, _beside(arguments, _CHECKPOINT))
    output, words = arguments.output, _beside(arguments, _WORDS)
    if not (arguments.resume and words.exists()):
        arguments.output = words
        for path in (words, _beside(arguments, _CHECKPOINT)):
            check_output(path, "file of vectors and clusters", "model", inputs=arguments.texts, force=arguments.force)
        code = _pretrain(arguments, _corpus_config(arguments, False))
        if code:
            return code
    arguments.output = output
    return encoder_pretraining.run(arguments, words, _beside(arguments, _CHECKPOINT))


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
    from postil.commands.terminal.pretraining import Display, read_with_progress
    from postil.pretraining.files import save_vectors
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
        if arguments.with_clusters is None:
            save_vectors(arguments.output, training.vectors())
        else:
            # the checkpoint has the finished vectors: an interruption of the clusters costs nothing but their own time
            training.save_checkpoint()
            _save_both(arguments, training.vectors())
        checkpoint.unlink(missing_ok=True)
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


_CHECKPOINT, _WORDS = ".checkpoint", ".words"


def _beside(arguments: argparse.Namespace, suffix: str) -> Path:
    path: Path = arguments.output
    return path.with_name(path.name + suffix)

"""``postil pretrain --encoder``: the words and the encoder of a tagger, learnt from raw text, in a file of their own.

With --with-clusters, vectors and clusters are learnt before. They are kept beside the output until the encoder is
complete, so that an interruption does not lose them.
"""

import argparse
from pathlib import Path

from postil.commands.training.raw_text import sampled_sentences
from postil.commands.training.stopping import interrupted, stop_on_request
from postil.errors import ConfigurationError
from postil.models.config import parsed_setting
from postil.models.tagger import Tagger

MOST_TOKENS = 6_000_000
"""Of raw text, unless --tokens says otherwise: a minute or two for each network on one core."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    group.add_argument("--word-clusters", metavar="FILE", help="word clusters of the tagger: a file, or brown")
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


OPTIONS = ("vectors", "word_clusters", "gazetteer", "settings", "tokens")
"""Those that mean nothing without --encoder."""


def run(arguments: argparse.Namespace, words: Path | None, checkpoint: Path) -> int:
    """Train and write the encoder. ``words`` is a file of vectors and clusters that were learnt from the same text."""
    from postil.commands.terminal.training import Display

    tokens = MOST_TOKENS if arguments.tokens is None else arguments.tokens
    if tokens < 1:
        raise ConfigurationError("--tokens", expected="must be at least 1", got=tokens)
    seed = arguments.seed or 0
    tagger = Tagger(
        preset=arguments.encoder,
        vectors=[*arguments.vectors, *([words] if words else [])] or None,
        clusters=words or arguments.word_clusters,
        gazetteers=arguments.gazetteer,
        seed=seed,
        threads=arguments.threads,
        **dict(parsed_setting(text) for text in arguments.settings),
    )
    sentences = sampled_sentences(arguments.texts, tokens, seed=seed)
    resume = arguments.resume and (checkpoint.exists() or words is None)  # or it was interrupted before
    fitting = tagger.pretraining(sentences, checkpoint=checkpoint, resume=resume)
    with stop_on_request() as stop, Display(fitting, None) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                return interrupted(fitting, stop.by)
    # The words that were learnt are in the model; their file goes.
    tagger.set_params(vectors=arguments.vectors or None, clusters=arguments.word_clusters).save(arguments.output)
    for path in (checkpoint, *([words] if words else [])):
        path.unlink(missing_ok=True)
    display.summary(arguments.output, {})
    return 0

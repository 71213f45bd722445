"""``postil train --unlabelled``: words and encoder learn from the raw text before anything is labelled.

The student and its teacher begin with what they have learnt. Networks of one architecture share an encoder. It is kept
beside the model file until the student is complete, so that an interruption does not lose it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

from postil.commands.options.models import open_model
from postil.commands.terminal.notices import note
from postil.commands.training.stopping import train_or_exit
from postil.errors import ConfigurationError
from postil.models.config import TaggerConfig
from postil.models.fitting.warm_start import ARCHITECTURE
from postil.models.tagger import Tagger


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pretrain",
        action=argparse.BooleanOptionalAction,
        help="--unlabelled: first learn words and encoder from the raw text, as `postil pretrain --encoder` does "
        "(default: yes, unless there is something else to start from)",
    )


def are_wanted(arguments: argparse.Namespace, X: Sequence[Sequence[Any]]) -> bool:
    """Whether networks are to learn from the raw text first. It has no extra columns, so neither may the data."""
    others = [f"--{name.replace('_', '-')}" for name in ("pretrained", "warm_start") if getattr(arguments, name)]
    if arguments.pretrain and others:
        raise ConfigurationError("--pretrain", expected=f"must not be given with {others[0]}, which is a start already")
    has_columns = any(not isinstance(token, str) for tokens in X for token in tokens[:1])
    if arguments.pretrain and has_columns:
        raise ConfigurationError("--pretrain", expected="needs data without extra columns: raw text has none")
    return arguments.pretrain is not False and not others and not has_columns


@final
class Encoders:
    """Those of a training, by preset; each is learnt when it is first asked for."""

    def __init__(self, arguments: argparse.Namespace, sentences: Sequence[list[str]]) -> None:
        self._arguments, self._sentences = arguments, sentences
        self._learnt: dict[TaggerConfig, Tagger] = {}

    def of(self, tagger: Tagger) -> Tagger:
        """One that this tagger can start from."""
        encoder = new_encoder(tagger)
        config = encoder.config
        if config not in self._learnt:
            self._learnt[config] = self._trained(encoder, encoder_path(self._arguments, len(self._learnt)))
        return self._learnt[config]

    def _trained(self, encoder: Tagger, path: Path) -> Tagger:
        if self._arguments.resume and path.exists():
            return open_model(str(path), for_training=True)  # type: ignore[return-value]
        checkpoint = path.with_name(path.name + ".checkpoint")
        note(f"learning words and encoder from the raw text: {encoder.config.ensemble} × {encoder.preset}")
        resume = self._arguments.resume and checkpoint.exists()
        fitting = encoder.pretraining(self._sentences, checkpoint=checkpoint, resume=resume)
        train_or_exit(fitting, self._arguments.log)
        encoder.save(path)
        checkpoint.unlink(missing_ok=True)
        return encoder


def new_encoder(tagger: Tagger) -> Tagger:
    """A tagger with the same words and encoder, and with the preset's number of networks."""
    knowledge = {name: getattr(tagger, name) for name in ("vectors", "clusters", "gazetteers")}
    settings = {name: value for name, value in tagger.settings.items() if name in _TAKEN_OVER}
    return Tagger(preset=tagger.preset, seed=tagger.seed, threads=tagger.threads, **knowledge, **settings)


_TAKEN_OVER = {*ARCHITECTURE, "vector_clusters", "vector_scale"} - {"ensemble"}


def encoder_path(arguments: argparse.Namespace, number: int) -> Path:
    """Where an encoder is kept until the student is complete."""
    output: Path = arguments.output
    return output.with_name(f"{output.name}.encoder{number}")


def remove_encoders(arguments: argparse.Namespace) -> None:
    for number in range(2):  # of the student and of its teacher
        encoder_path(arguments, number).unlink(missing_ok=True)

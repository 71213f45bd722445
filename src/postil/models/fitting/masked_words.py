"""Masked-word pretraining: some words of raw text are hidden, and the encoder predicts their features.

A word's neighbours say much about it: whether it is capitalised, how it ends, which words it resembles. An encoder that
learns to predict this has seen contexts that no labelled file contains. It needs no labels: the targets are the hidden
word's features, the columns of ids that taggers look up anyway. The maps that predict them are thrown away afterwards;
tables and encoder are what a tagger begins with.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Inputs, Sentences, batches_of_similar_length
from postil.features.words import Column
from postil.graph import Node, Parameter, Parameterised
from postil.models.config import TaggerConfig, adapted
from postil.models.estimator import Trainee
from postil.models.fitting.fitting import Batches, Fitting, about
from postil.models.fitting.sentences import data_digest, new_features, pretrained_encoder
from postil.models.inputs import checked_sentences
from postil.models.model import new_model
from postil.models.networks.network import MAIN, TaggerNetwork, members_of
from postil.network import INITIALISERS, Linear
from postil.objectives import softmax_cross_entropy
from postil.optimisation.loop import Batch

HIDDEN = 0.2
"""Share of the words that are predicted."""
SHOWN = 0.1
"""Share of these that the encoder sees all the same: when it tags, it sees every word."""
MOST_CLASSES = 1024
"""Ids of a column that are told apart. They are sorted by frequency; the others count as unknown."""
NOISE = 0.1
"""Dropout, less than with labels: there is more text than an encoder can learn by heart."""
RATE = 0.004
BATCH_SENTENCES = 64
"""Of similar length: a word that occurs several times in a batch is multiplied once."""
MIN_COUNT, MIN_AFFIX_COUNT = 5, 10
WORDS_PER_MILLION = 2
"""A word that is rarer than this has no vector: a model holds the words of its encoder."""
ENOUGH = 6_000_000
"""Tokens that are seen at least, by several passes over a short text."""
MOST_PASSES = 10
TOKENS_AT_ONCE = 500_000
"""An epoch of the training loop: a checkpoint comes after each, and the parameters kept are the means of the last."""


class Hidden(NamedTuple):
    """Sentences in which one member of an ensemble predicts words."""

    inputs: Inputs
    member: int


@final
class MaskedWords(Parameterised):
    """The networks of a tagger, with maps from what their encoders say of a hidden word to its features."""

    PATHS = {"members": "member{}"}

    def __init__(self, members: Sequence[TaggerNetwork], columns: Sequence[Column], rng: np.random.Generator) -> None:
        """``columns`` are those of the members' tables, in their order."""
        self.members = list(members)
        self.targets = predicted_columns(columns)
        sizes = [min(columns[k].V, MOST_CLASSES) for k in self.targets]
        make: dict[str, Any] = {"rng": rng, "initialise": INITIALISERS["xavier"]}
        self.maps = [
            [Linear(member.outputs[0].W.shape[1], size, dtype=member.dtype, **make) for size in sizes]
            for member in members
        ]

    def loss(self, shard: Hidden, *, rng: np.random.Generator) -> Node:
        """The sum over the columns of the cross-entropy of the hidden words, a mean over these."""
        inputs, member = shard.inputs, self.members[shard.member]
        N = len(inputs.places)
        words = np.flatnonzero(rng.random(N) < HIDDEN)  # (M,) some of the tokens, at least one
        words = words if len(words) else rng.integers(N, size=1)
        seen = with_words_hidden(inputs, words[rng.random(len(words)) >= SHOWN])
        encoded = graph.take_rows(member.hidden(member.with_unknown_words(seen, rng), rng), words)
        ids = inputs.forms[inputs.places[words]]
        losses = [
            softmax_cross_entropy(to_column(encoded), np.where(ids[:, k] < len(to_column.W.value), ids[:, k], 0))
            for k, to_column in zip(self.targets, self.maps[shard.member], strict=True)
        ]
        return reduce(graph.add, losses)


def predicted_columns(columns: Sequence[Column]) -> list[int]:
    """The columns of ids by which a hidden word is predicted: capitals, its end, and words like it.

    Words are alike that are in one cluster, of Brown's or of the vectors; without clusters, the word itself counts.
    """
    names = [column.name for column in columns]
    alike = []
    for kind in ("cluster ", "vector cluster "):  # of each, the column with the most classes that can all be told apart
        several = [k for k, name in enumerate(names) if name.startswith(kind) and columns[k].V <= MOST_CLASSES]
        alike += [max(several, key=lambda k: columns[k].V)] if several else []
    alike = alike or [k for k, name in enumerate(names) if name == "word"]
    return alike + [k for k, name in enumerate(names) if name in ("caps", "suffix 3")]


def with_words_hidden(inputs: Inputs, words: Array) -> Inputs:
    """The same sentences, some of their tokens (M,) replaced by a word of which nothing is known."""
    places, extra = inputs.places.copy(), inputs.extra.copy()
    places[words], extra[words] = len(inputs.forms), 0
    nothing = np.zeros_like(inputs.forms[:1])
    return replace(
        inputs,
        forms=np.concatenate([inputs.forms, nothing]),
        vectors=np.concatenate([inputs.vectors, np.zeros_like(inputs.vectors[:1])]),
        places=places,
        extra=extra,
    )


# ------------------------------------------------------------------------------------------------------------- training


@final
class EncoderFitting(Fitting):
    """Words and encoder of a tagger learned from raw ``sentences``: a training run as Fitting describes it.

    The estimator then knows the words but no label except O; ``fit(…, warm_start=…)`` goes on from there. Members of an
    ensemble learn side by side from the same sentences, each with other words hidden, on as many threads.
    """

    def __init__(
        self, estimator: Trainee, sentences: Sentences, *, checkpoint: Path | None = None, resume: bool = False
    ) -> None:
        estimator.check()
        config = estimator._configured(estimator.settings)
        if config.word_key is not None:
            raise ConfigurationError("word_key", expected="must not be set: raw text has words, not feature dicts")
        sentences = [tokens for tokens in checked_sentences(sentences) if len(tokens)]
        if not sentences:
            raise DataError("raw text", expected="at least one sentence with a word", got="none")
        if pretrained_encoder(estimator) is not None:
            raise ConfigurationError("pretrained", expected="must be vectors and clusters", got="an encoder")
        tokens = sum(map(len, sentences))
        self._parts_of_text = max(1, round(tokens / TOKENS_AT_ONCE))
        config = masking_config(config, tokens, self._parts_of_text)
        features, vectors = new_features(estimator, config, sentences, None)
        labels, rng = {MAIN: estimator._labels_of([["O"]])}, np.random.default_rng(estimator.seed)
        model = new_model(estimator._network, config, labels, features, vectors, rng, segmentation=estimator.segmenter)
        columns = [column for column in features.words.columns if column.name != "vector"]
        self._masked = MaskedWords(members_of(model.network), columns, rng)
        self._inputs = features.inputs(sentences)
        digest = data_digest(sentences, [()] * len(sentences))
        model.about |= {"preset": estimator.preset} | about(estimator, sentences, digest)
        super().__init__(
            estimator,
            model,
            judged=False,
            checkpoint=checkpoint,
            digests=[digest],
            resume=resume,
            trainable=self._masked,
        )

    def _learnt_parameters(self) -> dict[str, Parameter]:
        return self._masked.parameters()

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Hidden]]:
        """The batches of the next part of the text."""
        lengths = np.diff(self._inputs.offsets)
        part = np.arange(self.training.progress.epoch % self._parts_of_text, len(lengths), self._parts_of_text)
        order = batches_of_similar_length(lengths[part], self.model.config.batch_sentences, rng)
        return Batches(self._batch, [part[batch] for batch in order])

    def _batch(self, which: Array) -> Batch[Hidden]:
        """A shard for each member: they learn from the same sentences."""
        inputs, count = self._inputs.selected(which), len(self._masked.members)
        return Batch([Hidden(inputs, member) for member in range(count)], [1.0] * count, len(inputs.places))

    def _score(self) -> float:
        raise NotImplementedError("nothing is held out")


def masking_config(config: TaggerConfig, tokens: int, parts_of_text: int) -> TaggerConfig:
    """The settings of a tagger as its encoder learns from raw text, in epochs that are parts of it.

    ``epochs``, ``rate``, ``batch_sentences`` and the dropout are the user's if they are set.
    """
    passes = config.epochs or min(MOST_PASSES, math.ceil(ENOUGH / tokens))
    own: dict[str, Any] = {
        "input_dropout": NOISE,
        "hidden_dropout": NOISE,
        "rate": RATE if config.optimiser == "adam" else None,
        "batch_sentences": BATCH_SENTENCES,
    }
    config = replace(config, **{name: value for name, value in own.items() if getattr(config, name) is None})
    return replace(
        adapted(config, tokens, tokens),
        min_count=max(config.min_count or MIN_COUNT, WORDS_PER_MILLION * tokens // 1_000_000),
        min_affix_count=max(config.min_affix_count, MIN_AFFIX_COUNT),
        epochs=passes * parts_of_text,
        patience=None,
    )

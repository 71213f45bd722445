"""Pretraining on raw text: word vectors and word clusters, from files of any size."""

from postil.pretraining.clusters import Neighbour, WordClusters, brown_clusters, neighbours, save_vectors
from postil.pretraining.corpus import Corpus, CorpusConfig, read_corpus
from postil.pretraining.training import (
    Pretraining,
    PretrainingConfig,
    PretrainingStep,
    negative_sampling,
    pretrain,
    window_ranking,
)

__all__ = ["pretrain", "CorpusConfig", "PretrainingConfig", "Corpus", "read_corpus", "Pretraining", "PretrainingStep"]
__all__ += ["negative_sampling", "window_ranking", "save_vectors", "Neighbour", "neighbours"]
__all__ += ["WordClusters", "brown_clusters"]

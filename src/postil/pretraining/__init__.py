"""Pretraining on raw text: word vectors and word clusters, from files of any size."""

from postil.pretraining.clusters import WordClusters, brown_clusters, kmeans_clusters
from postil.pretraining.config import CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import Corpus, read_corpus
from postil.pretraining.files import save_vectors
from postil.pretraining.ranking import window_ranking
from postil.pretraining.similarity import Neighbour, neighbours
from postil.pretraining.skipgram import negative_sampling
from postil.pretraining.training import Pretraining, Step, pretrain

__all__ = [
    "pretrain",
    "CorpusConfig",
    "PretrainingConfig",
    "Corpus",
    "read_corpus",
    "Pretraining",
    "Step",
    "negative_sampling",
    "window_ranking",
    "save_vectors",
    "WordClusters",
    "brown_clusters",
    "kmeans_clusters",
    "Neighbour",
    "neighbours",
]

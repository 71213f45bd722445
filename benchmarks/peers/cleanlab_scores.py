"""cleanlab's scores of sentences for ``benchmarks.doctor``; runs in an environment that has cleanlab and not Postil."""

import json
import resource
import sys
from itertools import pairwise

import numpy as np
from cleanlab.token_classification.rank import get_label_quality_scores

MOST_MEMORY = 8 << 30
"""Bytes. On 6,338 tweets it asks for more than 23 GB: then it ends with an error, and the machine goes on."""


def main(path: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    content = np.load(path)
    edges = content["offsets"]
    pairs = list(pairwise(edges))
    labels = [content["given"][first:end].tolist() for first, end in pairs]
    probabilities = [content["marginals"][first:end] for first, end in pairs]
    scores = {
        way: np.asarray(get_label_quality_scores(labels, probabilities, sentence_score_method=way)[0]).tolist()
        for way in ("min", "softmin")
    }
    json.dump(scores, sys.stdout)


main(sys.argv[1])

import numpy as np
import pytest

from postil.features.inputs import Inputs
from postil.models.config import configured
from postil.models.networks.network import Example, TaggerNetwork
from postil.text import transition_mask

LABELS = ["O", "B-A", "I-A"]
MASK = transition_mask(LABELS, "bio")
OFFSETS = np.array([0, 1, 4, 10])
SIZES = {"form_sizes": [(7, 2)], "extra_sizes": [], "vectors": None, "word_counts": np.arange(7)}


def network(preset, **settings):
    config = configured(preset, {"hidden": 3, **settings})
    return TaggerNetwork(config, mask=MASK, **SIZES, rng=np.random.default_rng(0))


def example(gold):
    ids = np.arange(7)[:, None]
    nothing = np.zeros((10, 0), np.int64)
    inputs = Inputs(forms=ids, vectors=np.zeros(7, np.int64), places=np.arange(10) % 7, extra=nothing, offsets=OFFSETS)
    return Example(inputs=inputs, gold=gold)


def test_a_crf_counts_sentences_and_a_softmax_words():
    gold = np.zeros(10, np.int64)
    assert network("window-sll").weight(example(gold)) == 3
    assert network("window-wll").weight(example(gold)) == 10


def test_a_word_whose_labels_are_all_possible_does_not_count_for_a_softmax():
    allowed = np.eye(3, dtype=bool)[np.zeros(10, np.int64)]
    allowed[[2, 5]] = True
    assert network("window-wll").weight(example(allowed)) == 8


@pytest.mark.parametrize("preset", ["window-sll", "window-wll"])
def test_random_gold_keeps_the_rules_of_the_scheme(preset):
    gold = network(preset).random_gold(OFFSETS, np.random.default_rng(1))
    assert MASK.start[gold[OFFSETS[:-1]]].all()
    inside = [i for i in range(1, 10) if i not in OFFSETS]
    assert all(MASK.transitions[gold[i - 1], gold[i]] for i in inside)


@pytest.mark.parametrize("preset", ["window-sll", "window-wll"])
def test_what_the_scheme_forbids_is_impossible_unless_switched_off(preset):
    assert np.isneginf(network(preset).chain().transitions[~MASK.transitions]).all()
    assert np.isfinite(network(preset, constrained=False).chain().transitions).all()


def test_a_network_of_other_sizes_keeps_everything_else():
    other = network("window-sll").resized(**{**SIZES, "form_sizes": [(9, 2)], "word_counts": np.arange(9)})
    assert other.parameters()["forms.tables.0"].shape == (9, 2)
    assert other.parameters().keys() == network("window-sll").parameters().keys()

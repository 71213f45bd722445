import numpy as np
import pytest

from postil.features.inputs import InputFeatures
from postil.features.words import WordFeatureConfig
from postil.graph import dense, gradients
from postil.models.config import adapted, configured
from postil.models.networks.network import DetectorNetwork, Example, feature_sizes, sampled_pairs

SENTENCES = [["museums", "in", "Paris"], ["Oslo"], ["we", "left", "Lima", "for", "Oslo"]]
GOLD = np.array([0, 0, 1, 1, 0, 0, 1, 0, 1])


def network_and_example(gold=GOLD, share=1.0, **settings):
    config = adapted(configured("margin", {"hidden": 7, "corrupt": 6, "word_dropout": 0.0, **settings}), 3, 9)
    features = InputFeatures.build(WordFeatureConfig.of(config), SENTENCES)
    sizes = feature_sizes(config, features)
    network = DetectorNetwork(config, **sizes, vectors=None, rng=np.random.default_rng(0), dtype=np.float64)
    return network, Example(inputs=features.inputs(SENTENCES), gold=gold, share=share)


def test_each_true_window_meets_corrupt_ones():
    true, corrupt = sampled_pairs(GOLD, 200, np.random.default_rng(0))
    assert list(true) == [2, 3, 6, 8]
    assert corrupt.shape == (4, 200)
    assert set(corrupt.ravel()) == {0, 1, 4, 5, 7}
    counts = np.bincount(corrupt.ravel())[[0, 1, 4, 5, 7]]
    assert counts.min() > 0.7 * 160  # each of the five about equally often


@pytest.mark.parametrize("gold", [np.ones(9, int), np.zeros(9, int)])
def test_no_pairs_no_loss_and_no_weight(gold):
    network, example = network_and_example(gold)
    loss = network.loss(example, rng=np.random.default_rng(0))
    assert loss.value == 0 == network.weight(example)
    found = gradients(loss)
    assert not any(np.any(dense(found[p])) for p in network.parameters().values() if p in found)


@pytest.mark.parametrize("pairs", ["mean", "sum"])
def test_the_loss_is_that_of_the_definition(pairs):
    network, example = network_and_example(pairs=pairs, margin=1.5, input_dropout=0.0, hidden_dropout=0.0)
    scores = network.unary(example.inputs)[:, 0].astype(np.float64)
    true, corrupt = sampled_pairs(GOLD, 6, np.random.default_rng(5))
    costs = [max(0.0, 1.5 + scores[c] - scores[t]) for t, row in zip(true, corrupt, strict=True) for c in row]
    expected = np.mean(costs) if pairs == "mean" else np.sum(costs)
    assert float(network.loss(example, rng=np.random.default_rng(5)).value) == pytest.approx(expected, abs=1e-9)


def test_a_sum_over_pairs_is_not_made_smaller_by_the_share_of_a_shard():
    whole, part = (network_and_example(pairs="sum", share=share) for share in (1.0, 0.25))
    losses = [float(network.loss(example, rng=np.random.default_rng(1)).value) for network, example in (whole, part)]
    assert 0.25 * losses[1] == pytest.approx(losses[0])


def test_weights_are_pairs():
    network, example = network_and_example()
    assert network.weight(example) == 4 * 6


def test_the_score_has_no_bias_of_its_own():
    network, _ = network_and_example()
    assert "output0.W" in network.parameters() and "output0.b" not in network.parameters()

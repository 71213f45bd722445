"""The ladder of docs/ladder: the plain version has the library's loss and gradients, each rung equals the one below."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import postil
from postil.arrays import Ragged
from postil.graph import Parameter, dense, gradients, take_rows
from postil.network import Activation, Chain, Linear, LookupTable, SumComposition, Window
from postil.network.tree import Forest
from postil.objectives import CRF, Lattice, Posterior, softmax_cross_entropy
from postil.objectives import viterbi as library_viterbi
from postil.text import Tree

LADDER = Path(__file__).parent.parent / "docs" / "ladder"
sys.path.insert(0, str(LADDER))

import batches  # noqa: E402
import engine  # noqa: E402
import fused  # noqa: E402
import tagger as plain  # noqa: E402
import tree as plain_tree  # noqa: E402
import words as rows  # noqa: E402

V, L, K = 9, 4, 5


@pytest.fixture
def parameters():
    """Every array filled at random, transitions included, so that no gradient is 0 by accident."""
    rng = np.random.default_rng(1)
    p = plain.new_parameters(V, L, rng, D=3, K=K, H=6)
    return {name: rng.normal(size=values.shape) * 0.5 for name, values in p.items()}


@pytest.fixture
def data():
    """Sentences of 1 to 7 words, with repeated words."""
    rng = np.random.default_rng(2)
    return [(rng.integers(V, size=T), rng.integers(L, size=T)) for T in (3, 1, 7, 2, 5)]


def joined(data):
    offsets = np.cumsum([0, *(len(ids) for ids, _ in data)])
    return np.concatenate([ids for ids, _ in data]), offsets, np.concatenate([gold for _, gold in data])


def agree(first, second, tolerance=1e-10):
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_allclose(value, second[name], rtol=0, atol=tolerance, err_msg=name)


def library(p):
    """The same network and CRF made of the library's layers, and which parameter is which."""
    rng, kind = np.random.default_rng(0), np.float64
    D, H = p["E"].shape[1], len(p["W1"])
    network = Chain(
        LookupTable(V, D, rng=rng, dtype=kind),
        Window(D, K, rng=rng, dtype=kind),
        Linear(K * D, H, rng=rng, dtype=kind),
        Activation("hardtanh"),
        Linear(H, L, rng=rng, dtype=kind),
    )
    crf = CRF(L, dtype=kind)
    lookup, window, first, _, second = network.layers
    named = {"E": lookup.table, "padding": window.padding, "W1": first.W, "b1": first.b, "W2": second.W, "b2": second.b}
    named |= {"A": crf.transitions, "start": crf.start, "end": crf.end}
    for name, parameter in named.items():
        parameter.value[...] = p[name]
    return network, crf, named


def test_the_plain_tagger_has_the_loss_and_gradients_of_the_library(parameters, data):
    network, crf, named = library(parameters)
    for ids, gold in data:
        loss, slopes = plain.loss_and_gradients(parameters, ids, gold)
        node = crf.loss(network(Ragged.from_sequences([ids])), gold)
        assert loss == pytest.approx(float(node.value), abs=1e-10)
        found = gradients(node)
        agree(slopes, {name: dense(found[parameter]) for name, parameter in named.items()})


def test_the_plain_tagger_decodes_as_the_library(parameters, data):
    network, crf, _ = library(parameters)
    for ids, _ in data:
        U, _ = plain.scores(parameters, ids)
        chain = [parameters[name] for name in ("A", "start", "end")]
        lattice: Lattice = crf.lattice(network(Ragged.from_sequences([ids])).value, [0, len(ids)])
        assert plain.viterbi(U, *chain) == library_viterbi(lattice).tolist()
        alpha, beta, log_Z = plain.forward_backward(U, *chain)
        np.testing.assert_allclose(np.exp(alpha + beta - log_Z), Posterior.of(lattice).marginals(), atol=1e-9)


def test_the_plain_gradients_are_those_of_central_differences(parameters, data):
    assert plain.gradient_error(parameters, *data[0]) < 1e-7


def test_batches_are_the_mean_of_single_sentences(parameters, data):
    loss, slopes = batches.loss_and_gradients(parameters, *joined(data))
    single = [plain.loss_and_gradients(parameters, ids, gold) for ids, gold in data]
    assert loss == pytest.approx(np.mean([one for one, _ in single]), abs=1e-10)
    agree(slopes, {name: np.mean([found[name] for _, found in single], axis=0) for name in slopes})


def test_shared_word_rows_change_nothing(parameters, data):
    loss, slopes = batches.loss_and_gradients(parameters, *joined(data))
    again, (words, drows), others = rows.loss_and_sparse_gradients(parameters, *joined(data))
    assert again == pytest.approx(loss, abs=1e-10)
    table = np.zeros_like(parameters["E"])
    table[words] = drows
    agree({"E": table} | others, slopes)


def test_cached_rows_score_as_the_network(parameters, data):
    cached = rows.CachedScores(parameters)
    for _ in range(2):  # the second time every word is known
        for ids, _ in data:
            expected, _ = plain.scores(parameters, ids)
            np.testing.assert_allclose(cached(ids, np.array([0, len(ids)])), expected, atol=1e-10)


@pytest.mark.parametrize("limit", [0.1, 100.0])
def test_the_fused_step_is_gradients_clipping_and_update(parameters, data, limit):
    loss, slopes = batches.loss_and_gradients(parameters, *joined(data))
    norm = np.sqrt(sum((slope**2).sum() for slope in slopes.values()))
    expected = {name: values - 0.3 * min(1, limit / norm) * slopes[name] for name, values in parameters.items()}
    assert fused.step(parameters, *joined(data), rate=0.3, limit=limit) == pytest.approx((loss, norm), abs=1e-10)
    agree(parameters, expected)


def test_the_engine_answers_what_the_plain_tagger_answers(tmp_path):
    X = [text.lower().split() for text, _ in plain.SENTENCES]
    y = [labels.replace("B-", "").replace("I-", "").split() for _, labels in plain.SENTENCES]
    only_words = {"caps_dim": 0, "word_dim": 6, "hidden": 8, "min_count": 1}
    model = postil.Tagger(preset="window-sll", epochs=20, rate=0.02, seed=0, **only_words).fit(X, y)
    model.save(tmp_path / "plain.postil")
    new = [*X, ["zoe", "lives", "in", "oslo"], ["york"]]
    found = list(engine.labels_and_marginals(tmp_path / "plain.postil", new))
    assert [labels for labels, _ in found] == model.predict(new)
    _, _, classes = engine.opened(tmp_path / "plain.postil")
    for tokens, (_, marginals) in zip(new, found, strict=True):
        expected = [[token[name] for name in classes] for token in model.marginals(tokens)]
        np.testing.assert_allclose(marginals, expected, atol=1e-5)


@pytest.mark.parametrize("tree", ["good", ("not", "good"), ("very", "very"), (("not", "very"), ("bad", "not"))])
def test_the_plain_tree_has_the_loss_and_gradients_of_the_library(tree):
    words = {word: place for place, word in enumerate(["good", "bad", "very", "not"])}
    p = plain_tree.new_parameters(4, 3, np.random.default_rng(3), D=5)
    loss, slopes = plain_tree.loss_and_gradients(p, words, tree, 1)

    nested = Tree.of(as_tuples(tree))
    composition = SumComposition(5, rng=np.random.default_rng(0), dtype=np.float64)
    composition.W.value[...] = p["W"]
    E, S = Parameter(p["E"], "E"), Parameter(p["S"], "S")
    plan = Forest.of([nested.children]).schedule(np.array([0]))
    leaves = take_rows(E, np.array([words[token] for token in nested.tokens]))
    node = softmax_cross_entropy(composition(leaves, plan)[plan.roots] @ S.T, np.array([1]))
    found = gradients(node)
    assert loss == pytest.approx(float(node.value), abs=1e-10)
    expected = {"E": dense(found[E]), "S": found[S], "W": found.get(composition.W, np.zeros((5, 5)))}
    agree(slopes, expected)


def as_tuples(tree):
    return (None, tree) if isinstance(tree, str) else (None, *map(as_tuples, tree))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "last"),
    [("tagger", "Boris/B-PER lives/O in/O New/B-LOC York/I-LOC ./O"), ("tree", "not very bad: positive")],
)
def test_the_plain_programs_run(name, last, capsys):
    runpy.run_path(str(LADDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == last

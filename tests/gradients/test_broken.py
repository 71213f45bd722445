"""A pullback that is broken on purpose: the rows that cover it fail, whole models too."""

import numpy as np
import pytest

import postil.models.scoring.network as scoring
import postil.objectives.crf as crf
import postil.objectives.crf_objective as crf_objective
from postil import kernels
from postil.gradients.checks import gradient_checks
from postil.graph import Result
from postil.network import dropout, finish, linear, lookup, shared_windows, tree, tree_lstm

ROWS = {check.name: check for check in gradient_checks()}


def spoilt(function, part: int, factor: float = 1.001):
    """``function`` gives a value and its pullback: one of the gradients is wrong by a small factor."""

    def wrong(*given, **options):
        Y, back = function(*given, **options)

        def pullback(dY):
            found = back(dY)
            if not isinstance(found, tuple):
                return found * factor
            return tuple(gradient * factor if i == part else gradient for i, gradient in enumerate(found))

        return Y, pullback

    return wrong


def spoilt_crf(field: str):
    def wrong(*given, right=crf.loss_and_gradient):
        losses, gradient = right(*given)
        return losses, gradient._replace(**{field: getattr(gradient, field) * 1.001})

    return wrong


def fails(*names: str) -> None:
    for name in names:
        assert not ROWS[name].run().passed, f"{name} should have failed"


@pytest.mark.parametrize("field", ["unary", "transitions", "start", "end"])
def test_the_gradient_of_a_crf(field, monkeypatch):
    monkeypatch.setattr(crf_objective, "loss_and_gradient", spoilt_crf(field))
    fails("CRF", "CRF, forbidden transitions", "CRF, partial labels", "CRF, long sentences")
    fails("tagger fast, forms", "tagger linear-crf, vectors", "tagger sentence-sll, gazetteers")
    assert ROWS["tagger window-wll, forms"].run().passed  # has no CRF


@pytest.mark.parametrize("part", range(4))
def test_the_gradient_of_shared_windows(part, monkeypatch):
    """Of the rows, of the padding, of the weights, of the bias."""
    monkeypatch.setattr(shared_windows, "linear_of_windows", spoilt(shared_windows.linear_of_windows, part))
    fails("shared windows", "shared windows with fused relu", "tagger fast, forms", "tagger accurate, vectors")
    fails("tagger window-wll, partial labels", "detector margin, forms")
    assert ROWS["tagger fast, extra columns"].run().passed  # takes the general path


@pytest.mark.parametrize("part", range(3))
def test_the_gradient_of_a_linear_layer(part, monkeypatch):
    monkeypatch.setattr(linear, "linear", spoilt(linear.linear, part))
    fails("linear", "fused hidden layer, relu", "tagger fast, forms", "detector margin, extra columns")


COMPOSITIONS = {
    "sum": (tree, "sum_composition", 2),
    "concatenation": (tree, "affine_composition", 3),
    "tensor": (tree, "tensor_composition", 4),
    "tree-lstm": (tree_lstm, "tree_lstm", 5),
}


@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name, (*_, n) in COMPOSITIONS.items() for part in range(n)]
)
def test_the_gradient_of_a_composition(name, part, monkeypatch):
    module, function, _ = COMPOSITIONS[name]
    monkeypatch.setattr(module, function, spoilt(getattr(module, function), part))
    fails(f"tree composition {name}", f"tree classifier {name}, trees", f"tree classifier {name}, loss=root")


def test_what_is_dropped_on_the_way_back(monkeypatch):
    monkeypatch.setattr(finish, "noise_of", lambda rate, rng: kernels.Noise(5, 2**31))
    assert ROWS["fused hidden layer, relu"].run().passed  # other noise, the same on both ways
    monkeypatch.setattr(dropout, "dropout", spoilt(dropout.dropout, 0))
    fails("dropout of elements", "dropout of rows", "tagger linear-crf, forms")


def test_a_gradient_that_forgets_repeated_words(monkeypatch):
    def forgetful(W, ids, right=lookup.lookup):
        Y, _ = right(W, ids)
        seen = np.unique(ids, return_index=True)[1]

        def pullback(dY):
            return right(W, ids[seen])[1](dY[seen])

        return Y, pullback

    monkeypatch.setattr(lookup, "lookup", forgetful)
    fails("lookup table", "lookup tables, concatenated", "tree classifier sum, trees", "tagger fast, extra columns")


def test_a_loss_that_a_parameter_moves_unseen(monkeypatch):
    right = scoring.ScoringNetwork.loss

    def skewed(self, example, *, rng):
        loss = right(self, example, rng=rng)
        extra = 1e-3 * float((self.outputs[0].W.value ** 2).sum())
        return Result(loss.value + extra, (loss,), lambda dY: [dY], "skewed")

    monkeypatch.setattr(scoring.ScoringNetwork, "loss", skewed)
    for name in ("tagger average-softmax, forms", "tagger accurate, gazetteers", "detector margin, vectors"):
        report = ROWS[name].run()
        failed = [entry.name for entry in report.entries if entry.failure(report.tolerance)]
        assert failed and {name.split(".", 1)[1] if name.startswith("member") else name for name in failed} == {
            "output0.W"
        }

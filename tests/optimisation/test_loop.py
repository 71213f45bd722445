"""The loop on a model of one number: what it learns, when it ends, what it remembers."""

import numpy as np
import pytest

from postil.errors import NumericalError
from postil.graph import Parameter
from postil.optimisation import SGD
from postil.optimisation.loop import Batch, Epoch, Step, Training


class Line:
    """The loss (w - target)² of each shard, with a little noise from the generator."""

    def __init__(self):
        self.w = Parameter(np.zeros(1), "w")

    def parameters(self):
        return {"w": self.w}

    def loss(self, shard, *, rng):
        distance = self.w - (shard + 0.01 * rng.normal())
        return (distance * distance).sum()


def training(score=None, batches=3, shards=(1.0, 2.0), **plan):
    model = Line()

    def of_epoch(rng):
        return [Batch(list(shards), [0.25, 0.75], tokens=2) for _ in range(batches)]

    return model, Training(model, SGD(model.parameters()), lambda share: 0.1, of_epoch, score=score, **plan)


def test_it_comes_to_the_mean_weighted_by_the_shares():
    model, loop = training(epochs=30)
    events = list(loop.run())
    assert model.w.value[0] == pytest.approx(1.75, abs=0.02)
    assert [type(event) for event in events[:4]] == [Step, Step, Step, Epoch]
    assert len(events) == 30 * 4
    assert events[-2].progress == 1.0
    assert [event.progress for event in events if isinstance(event, Step)] == pytest.approx(np.arange(1, 91) / 90)


def test_threads_change_no_bit():
    values = []
    for threads in (1, 2, 3):
        model, loop = training(epochs=5, threads=threads)
        list(loop.run())
        values.append(model.w.value[0])
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 10])
def test_a_state_goes_on_with_the_same_bits(stop):
    whole, loop = training(epochs=4)
    expected = list(loop.run())
    _, first = training(epochs=4)
    events = first.run()
    for _ in range(stop):
        next(events)
    arrays, progress = first.state()
    model, second = training(epochs=4)
    second.restore(arrays, progress)
    rest = list(second.run())
    assert (model.w.value == whole.w.value).all()
    losses = [event.loss for event in expected[stop:] if isinstance(event, Epoch)]
    assert [event.loss for event in rest if isinstance(event, Epoch)] == losses


def test_the_best_is_kept_and_patience_ends():
    scores = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9])
    model, loop = training(score=lambda: next(scores), epochs=6, patience=3)
    after = [loop.optimiser.mean("w") for event in loop.run() if isinstance(event, Epoch)]
    assert len(after) == 5
    assert loop.progress.best_epoch == 2
    loop.keep_best()
    assert (model.w.value == after[1]).all()


def test_what_is_not_finite_is_told_with_its_place():
    _, loop = training(epochs=1, shards=(np.inf, 1.0))
    with pytest.raises(NumericalError, match="epoch 1, batch 1: the training has diverged"):
        list(loop.run())

"""Feature dicts that C reads from Python's own bytes: the scores are those of the general way, for any items."""

import marshal
import random

import numpy as np
import pytest

from oracles.features import feature_dicts
from postil import kernels
from postil.crfsuite import ItemSequence, Tagger, Trainer
from postil.errors import ModelFileError
from postil.integrations.crfsuite.model import Model

pytestmark = pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="nothing was compiled")

SHARED = {"word": "Rome", "near": {"left": ["a", "b"], "deep": {"er": "x"}}}
LONG = "long" * 2000
ITEMS = [
    {"word": "Rome", "title": True, "no": False, "len": 4, "ratio": 0.25, "minus": -3},
    {"here": SHARED, "before": SHARED, "same": SHARED["near"]},
    ["word=Rome", "title", "word=Rome"],
    ("word=Rome", "ünï", "日本語"),
    {"ünï": "日本語", "日本語": {"ünï": ["한", "Zoë"]}},
    {"": "", "empty": {}, "none": []},
    {},
    [],
    {"zero\0behind": 1.0, "word": "Ro\0me"},
    {"half": "\ud800", "other": "\udc80"},
    {"set": {"only"}, b"bytes": b"text", "one": np.float64(0.5)},
    {"huge": 1 << 40, "word": "Rome"},
    {"long": LONG, LONG: 1},
    {"deep": {str(i): {str(i): {"x": "y"}} for i in range(50)}},
]
LEARNED = [*ITEMS[:8], ITEMS[10], *ITEMS[12:]]  # without what the format cannot hold and what is too large to learn


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A model that knows every attribute of the items that CRFsuite's format can hold."""
    trainer = Trainer("lbfgs", {"max_iterations": 20, "feature.possible_states": True}, verbose=False)
    for n in range(40):
        items = random.Random(n).sample(LEARNED, 6)
        trainer.append(items, [str((LEARNED.index(item) + n % 2) % 5) for item in items])
    path = tmp_path_factory.mktemp("items") / "model"
    trainer.train(path)
    return path.read_bytes()


def general(content):
    """The model without C."""
    model = Model(content)
    assert model.file is not None
    model.file = None
    return model


def test_scores_and_labels_are_those_of_the_general_way(content):
    fast, slow = Model(content), general(content)
    for n in range(200):
        items = random.Random(n).choices(ITEMS, k=n % 9)
        for given in (items, tuple(items), iter(items), ItemSequence(items)):
            found, expected = fast.answer(given), slow.answer(items)
            assert np.array_equal(found.unary, expected.unary) and found.labels == expected.labels
        assert found.probability(expected.labels) == pytest.approx(expected.probability(expected.labels))
        for one, other in zip(found.marginals(), expected.marginals(), strict=True):
            assert one == pytest.approx(other)
    assert np.abs(fast.answer(ITEMS).unary).min(axis=1)[:5].min() > 0, "known attributes have weights"


def test_an_item_that_contains_itself_is_no_endless_loop(content):
    item = {"a": "b"}
    item["left"] = item["right"] = item
    with pytest.raises(RecursionError):
        Model(content).answer([item])


def test_an_item_sequence_is_a_copy(content):
    item, words = {"word": "Rome"}, ["a"]
    sequence = ItemSequence([item, words])
    item["more"] = words.append("b")
    assert sequence.items() == [{"word:Rome": 1.0}, {"a": 1.0}] and len(sequence) == 2
    model = Model(content)
    assert np.array_equal(model.answer(sequence).unary, model.answer([{"word": "Rome"}, ["a"]]).unary)


@pytest.mark.parametrize("seed", range(4))
def test_forged_bytes_are_read_within_bounds(content, seed):
    """The bytes are Python's own; still, C must stay inside them."""
    file, rng = Model(content).file, random.Random(seed)
    genuine = marshal.dumps(ITEMS[:10], 4)
    for _ in range(2000):
        forged = bytearray(genuine[: rng.choice((len(genuine), rng.randrange(len(genuine))))] or b"[")
        for _ in range(rng.choice((1, 2, 8))):
            forged[rng.randrange(len(forged))] = rng.choice(
                (*b"[{(r0zuigTF)", 0x80 | rng.randrange(128), rng.randrange(256))
            )
        answers = file.answers(bytes(forged), 10)
        assert answers is None or np.isfinite(answers[0]).all()


def test_a_file_in_another_order_is_refused(tmp_path):
    X, Y = feature_dicts(20)
    trainer = Trainer("lbfgs", {"max_iterations": 5}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(tmp_path / "model")
    content = bytearray((tmp_path / "model").read_bytes())
    first = int.from_bytes(content[28:32], "little") + 12  # two features change places
    content[first : first + 40] = content[first + 20 : first + 40] + content[first : first + 20]
    (tmp_path / "swapped").write_bytes(content)
    Tagger().open(tmp_path / "model")
    with pytest.raises(ModelFileError, match="in another order than CRFsuite writes them"):
        Tagger().open(tmp_path / "swapped")

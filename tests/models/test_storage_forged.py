"""Model files from strangers: forged in every field, with right checksums, they are refused or harmless."""

import pytest

from oracles import forgeries
from oracles.golden import FOLDER
from postil.errors import ModelFileError, UnicodeVersionWarning
from postil.models import storage

# Of each kind of model; python -m benchmarks.forging tries them all, and more kinds.
COUNT = 250


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.postil")), ids=lambda path: path.stem)
def test_forged_files_are_refused_or_harmless(path):
    counts, wrong = forgeries.run(path.read_bytes(), count=COUNT)
    assert not wrong, "\n".join(wrong)
    assert counts.total() == COUNT and counts["refused"] > COUNT // 2 and counts["answered"] > 5


def test_every_field_and_every_array_is_forged():
    draft = forgeries.Draft.of((FOLDER / "tagger-everything-2.postil").read_bytes())
    groups = forgeries.forgeries(draft)
    assert len(groups) < COUNT  # so that each has its turn
    assert set(draft.arrays) <= set(groups)
    fields = {".".join(map(str, path)) for path in forgeries.paths(draft.metadata) if path}
    assert fields <= set(groups) and "config.layers" in fields and "heads.main.labels.classes.0" in fields


def test_a_failure_would_be_noticed(monkeypatch):
    """The judge is itself judged: what crashes, hangs or takes memory is told."""
    content = (FOLDER / "detector-2.postil").read_bytes()
    monkeypatch.setattr(forgeries, "SECONDS", 0.0)
    monkeypatch.setattr(forgeries, "MEGABYTES", -1.0)
    counts, wrong = forgeries.run(content, count=20)
    assert counts.total() == 20
    assert sum("took" in line for line in wrong) == 20 and sum("after" in line for line in wrong) == counts["refused"]


def forged(name="tagger-2", **changes):
    """A golden file with settings, labels or arrays changed."""
    draft = forgeries.Draft.of((FOLDER / f"{name}.postil").read_bytes())
    for place, value in changes.items():
        *path, last = place.split("__")
        inner = draft.metadata
        for key in path:
            inner = inner[key]
        inner[last] = value
    return draft.packed()


def names(count):
    return [f"C{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (forged(kind=[1]), r"another kind of model: expected tagger or .* or tree-classifier, got \[1\]"),
        (forged(config__layers=10**6), r"layers must be 1 to 100 \(got 1000000\)"),
        (forged(config__layers=100), "a parameter is missing"),
        (forged(config__hidden=10**9), r"hidden must be 1 to 100000 \(got 1000000000\)"),
        (forged(config__hidden=100_000), "parameter encoder"),
        (forged("tree-classifier-2", config__hidden=100_000), "parameter"),
        (forged("tree-classifier-2", config__composition="tensor", config__hidden=50_000), "parameter"),
        (forged(heads__main__labels__classes=names(20_000)), "too many classes: expected at most 4,096, got 20,000"),
        (forged(heads__main__labels__classes=names(2_047)), "wrong number of labels: expected 4095 rows of the output"),
        (forged(heads__main__labels__scheme="zoo"), "unknown labelling scheme"),
        (forged(heads__main__labels__classes=["PER", "LOC", "\x1b[2J"]), "none of them a control character"),
        (forged(heads__main__labels__classes=["PER", "LOC", "\ud800"]), "none of them a control character"),
        (forged(heads__main__decoding__temperature=0), "temperature must be a positive number"),
        (forged(heads__main__decoding__thresholds={"XYZ": 0.5}), "threshold of an unknown class"),
        (forged("detector-2", heads__main__labels__label="PER"), r"label must be 'PER' \(got 'LOC'\)"),
        (forged(about__training__history=[5]), "history of the training"),
        (forged(unicode="fifteen"), "version of Unicode"),
        (forged(needs=["clusters"]), "it needs 'clusters', which this version of Postil does not know: update it"),
        (forged(estimator__preset="\x1b[31m"), r"preset.*x1b\[31m"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(content, message):
    with pytest.raises(ModelFileError, match=message):
        storage.from_bytes(content)


def test_half_precision_is_widened():
    draft = forgeries.Draft.of((FOLDER / "tagger-everything-2.postil").read_bytes())
    for name, (dtype, _, _) in list(draft.arrays.items()):
        if dtype == "F32":
            forgeries.cast(name, "F16")[1](draft)
    narrow, wide = (
        storage.from_bytes(content) for content in (draft.packed(), forgeries.Draft.of(draft.packed()).packed())
    )
    full = storage.load(FOLDER / "tagger-everything-2.postil")
    X = [[("Anna", "up", "4"), ("left", "low", "4")]]
    assert narrow.model.network.vectors.dtype == "float16"
    assert all(p.value.dtype == "float32" for p in narrow.model.network.parameters().values())
    (p,), (q,), (r,) = (model.predict_with_probabilities(X)[1] for model in (narrow, wide, full))
    assert (p == q).all() and abs(p - r).max() < 5e-3


def test_the_unicode_version_may_be_there():
    assert storage.from_bytes(forged(unicode="14.0.0")).predict([["Anna"]])
    with pytest.warns(UnicodeVersionWarning, match="Unicode 16.0.0"):
        assert storage.from_bytes(forged(unicode="16.0.0")).predict([["Anna"]])

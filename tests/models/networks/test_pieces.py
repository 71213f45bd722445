"""Long documents: pieces are scored as the whole is, wherever they are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postil
from oracles.corpora import named_entities
from oracles.examples import examples
from postil.errors import LongSentenceWarning
from postil.models import PRESETS
from postil.models.config import configured
from postil.models.networks import encoders as pieces

TRAIN = named_entities(30)
SMALL = {"hidden": 8, "word_dim": 6, "epochs": 1, "batch_sentences": 8}
MADE = {
    **{preset: {} for preset in PRESETS if preset not in ("margin", "sentence-wll", "sentence-sll")},
    "deep convolutions": {"preset": "accurate", "layers": 4, "window": 5},
    "convolutions, three offsets": {"preset": "accurate", "offsets": 3},
    "wide average, three offsets": {"preset": "average-softmax", "window": 9, "offsets": 3},
}
WORDS = [*sorted({token for tokens in TRAIN[0] for token in tokens}), "unheard-of", "4711"]


@pytest.fixture(scope="module")
def taggers():
    found = {}
    for name, settings_ in MADE.items():
        options = {"preset": name, **settings_}
        found[name] = postil.Tagger(**{**SMALL, **options}).fit(*TRAIN)
    return found


def documents(rng, number):
    return [[WORDS[i] for i in rng.integers(0, len(WORDS), T)] for T in rng.integers(0, 60, number)]


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
@examples(0.3)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 40))
def test_pieces_cut_anywhere_are_scored_as_the_whole(taggers, name, seed, size):
    parts = taggers[name].model
    inputs = parts.features.inputs([*documents(np.random.default_rng(seed), 3), ["Anna"]])
    whole = parts.network.scores(inputs).value
    found = np.full_like(whole, np.nan)
    for piece in pieces.pieces(inputs.offsets, parts.config, size):
        scores = parts.network.scores(inputs.rows(piece.first, piece.end, piece.offsets)).value
        own = slice(piece.first + piece.left, piece.first + piece.right)
        assert np.isnan(found[own]).all()
        found[own] = scores[piece.left : piece.right]
    assert np.abs(found - whole).max(initial=0) < 1e-5 * max(1, np.abs(whole).max(initial=0))


@pytest.mark.parametrize("name", MADE)
def test_a_smaller_reach_would_not_do(taggers, name, monkeypatch):
    """The reach is no larger than it must be: with one token less the scores at the cuts are others."""
    parts = taggers[name].model
    around = pieces.reach(parts.config)
    if around == 0:
        pytest.skip("every token stands alone")
    monkeypatch.setattr(pieces, "reach", lambda config: around - 1)
    inputs = parts.features.inputs([[WORDS[i] for i in np.random.default_rng(0).integers(0, len(WORDS), 60)]])
    whole = parts.network.scores(inputs).value
    monkeypatch.setattr(pieces, "TOKENS_AT_ONCE", 10)
    assert np.abs(parts.network.unary(inputs) - whole).max() > 1e-5


@pytest.mark.parametrize("preset", ["fast", "accurate", "linear-crf", "window-wll"])
def test_answers_about_a_long_document_do_not_depend_on_the_pieces(taggers, preset, monkeypatch):
    tagger = taggers[preset]
    X = [[WORDS[i] for i in np.random.default_rng(1).integers(0, len(WORDS), 300)]]
    whole, sure = tagger.predict_with_probabilities(X)
    monkeypatch.setattr(pieces, "TOKENS_AT_ONCE", 7)
    again, sure_again = tagger.predict_with_probabilities(X)
    assert whole == again
    assert sure[0] == pytest.approx(sure_again[0], abs=1e-5)


@pytest.mark.filterwarnings("ignore::postil.errors.LongSentenceWarning")
@pytest.mark.parametrize("offsets", [1, 3])
def test_the_sentence_approach_is_cut_between_its_views(offsets, monkeypatch):
    tagger = postil.Tagger(preset="sentence-wll", **{**SMALL, "hidden": 4, "offsets": offsets}).fit(*TRAIN)
    lengths = [2300, 5, 0, 1001]
    X = [[WORDS[i] for i in np.random.default_rng(T).integers(0, len(WORDS), T)] for T in lengths]
    inputs = tagger.model.features.inputs(X)
    whole = tagger.model.network.scores(inputs).value
    monkeypatch.setattr(pieces, "TOKENS_AT_ONCE", 1100)
    assert np.abs(tagger.model.network.unary(inputs) - whole).max() < 1e-5
    cut = list(pieces.pieces(inputs.offsets, tagger.model.config, 1100))
    assert [piece.end - piece.first for piece in cut] == ([3306] if offsets == 3 else [766, 767, 772, 1001])


def test_python_warns_of_views_and_only_in_the_sentence_approach(taggers):
    tagger = postil.Tagger(preset="sentence-wll", **SMALL).fit(*TRAIN)
    long = [["Anna"] * 1001]
    with pytest.warns(LongSentenceWarning, match=r"more than 1,000 words are split"):
        tagger.predict(long)
    with pytest.warns(LongSentenceWarning):
        postil.Tagger(preset="sentence-wll", **SMALL).fit([*TRAIN[0], *long], [*TRAIN[1], ["B-PER"] * 1001])
    taggers["fast"].predict(long)


def test_the_reach_of_every_encoder():
    assert pieces.reach(configured("fast", {})) == 2
    assert pieces.reach(configured("accurate", {})) == 3
    assert pieces.reach(configured("linear-crf", {})) == 1
    assert pieces.reach(configured("sentence-sll", {})) is None


def test_a_text_without_a_sentence_end(taggers):
    text = " ".join(["Anna lives in Oslo and"] * 3000)
    document = taggers["fast"].tag(text)
    assert sum(map(len, document.sentences)) == 15_000
    assert all(text[entity.start : entity.end] == entity.text for entity in document.entities)


def test_training_on_a_very_long_sentence():
    X = [["Anna", "lives", "in", "Oslo"] * 5000]
    y = [["B-PER", "O", "O", "B-LOC"] * 5000]
    tagger = postil.Tagger(preset="window-wll", **{**SMALL, "hidden": 6}).fit(X, y)
    assert len(tagger.predict(X)[0]) == 20_000

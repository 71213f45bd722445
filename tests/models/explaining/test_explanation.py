"""Reasons: against what the tagger really says of changed sentences, and where the numbers must add up exactly."""

import json
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import postil
from oracles.corpora import made_up_sentences, named_entities, parts_of_speech
from oracles.pages import read_page, table_rows
from postil.errors import ConfigurationError, DataError, IndexRangeError
from postil.graph import Input
from postil.html.highlight import signed
from postil.models import PRESETS
from postil.models.decoding import codec as codec
from postil.models.decoding.distribution import Decoding
from postil.models.decoding.posteriors import Posteriors
from postil.models.explaining.explanation import (
    FARTHEST,
    MOST_LISTED,
    ORIGINAL,
    UNKNOWN_WORDS,
    LogOdds,
    allowed_labels,
    answered_label,
    changed_copies,
    contributions,
    feature_groups,
    gradient_times_input,
    words_in_reach,
)
from postil.models.model import Head
from postil.models.networks.network import MAIN, feature_sizes, mean_scores, members_of
from postil.objectives import Posterior, log_odds_and_gradient, span_probabilities
from postil.text import spans_from_labels

TAGGERS = [name for name in PRESETS if name != "margin"]
SMALL = {"hidden": 16, "word_dim": 12, "epochs": 3, "rate": 0.02, "batch_sentences": 8, "input_dropout": 0.0}
TOKENS = "Anna lives in New York".split()


@cache
def fitted(preset="fast", **settings):
    return postil.Tagger(preset=preset, **{**SMALL, **settings}).fit(*named_entities(60))


def odds(probability):
    return np.log(probability / (1 - probability))


def lattice_of(tagger, tokens):
    return next(Posteriors(tagger.model).lattices([tokens]))[1]


def probability_of(tagger, tokens, start, end, label):
    """What the tagger says of a span when it tags."""
    lattice = lattice_of(tagger, tokens)
    kind = tagger.model.codec.classes.index(label)
    entities = tagger.model.codec.entity_labels()
    return float(span_probabilities(Posterior.of(lattice), [(0, start, end)], kind, entities)[0])


def in_float64(tagger):
    """The same model with its parameters in float64, for exact comparisons."""
    twin = tagger._with_model(tagger.model)
    sizes = feature_sizes(tagger.model.config, tagger.model.features)
    network = tagger.model.network.resized(**sizes, vectors=tagger.model.network.vectors)
    for name, parameter in tagger.model.network.parameters().items():
        network.parameters()[name].value = parameter.value.astype(np.float64)
    twin._model = type(tagger.model)(
        config=tagger.model.config,
        features=tagger.model.features,
        network=network,
        heads={MAIN: Head(codec=tagger.model.codec, network=network)},
    )
    return twin


def measure_of(tagger, tokens, start, end, label):
    allowed = allowed_labels(tagger.model.codec, lattice_of(tagger, tokens), start, end, label)
    return LogOdds(tagger.model, allowed)


# ------------------------------------------------------------------------------------------------ the value


@pytest.mark.parametrize("preset", TAGGERS)
def test_the_value_is_the_log_odds_of_the_entity(preset):
    tagger = fitted(preset, epochs=1)
    found = tagger.explain(TOKENS, 3, 5, "LOC")
    expected = probability_of(tagger, TOKENS, 3, 5, "LOC")
    assert found.probability == pytest.approx(expected, abs=1e-5)
    assert found.value == pytest.approx(odds(expected), abs=1e-3)
    assert (found.measure, found.text, found.label) == ("log-odds", "New York", "LOC")


@pytest.mark.parametrize("inner", ["iobes", "bio"])
def test_all_labellings_together_give_the_odds_also_of_being_outside(inner, monkeypatch):
    if inner == "bio":  # as with very many classes
        monkeypatch.setattr(codec, "MANY_CLASSES", 1)
    tagger, tokens = postil.Tagger(**{**SMALL, "epochs": 1}).fit(*named_entities(60)), ["Anna", "left", "Oslo"]
    assert tagger.model.codec.inner == inner
    paths = tagger.nbest(tokens, k=2_000)
    for start, end in ((0, 1), (1, 3)):
        for label in ("PER", "LOC"):
            expected = sum(p for labels, p in paths if (label, start, end) in spans_from_labels(labels))
            assert tagger.explain(tokens, start, end, label).probability == pytest.approx(expected, abs=1e-5)
        outside = sum(p for labels, p in paths if set(labels[start:end]) == {"O"})
        assert tagger.explain(tokens, start, end, "O").probability == pytest.approx(outside, abs=1e-5)


def test_without_a_label_that_of_the_best_path_or_the_most_probable_one():
    tagger = fitted("fast", epochs=6)
    assert [tagger.explain(TOKENS, a, b).label for a, b in ((0, 1), (3, 5))] == ["PER", "LOC"]
    for start, end in ((1, 2), (0, 5), (4, 5)):
        sure = {label: probability_of(tagger, TOKENS, start, end, label) for label in ("PER", "LOC")}
        assert tagger.explain(TOKENS, start, end).label == max(sure, key=sure.get)


def test_labels_of_single_tokens():
    X, y = parts_of_speech(60)
    tagger = postil.Tagger(**SMALL).fit(X, y)
    tokens = ["Anna", "left", "Oslo"]
    for t, (label, marginal) in enumerate(zip(tagger.predict([tokens])[0], tagger.marginals(tokens), strict=True)):
        found = tagger.explain(tokens, t, t + 1)
        assert found.label == label
        assert found.probability == pytest.approx(marginal[label], abs=1e-5)
        assert tagger.explain(tokens, t, t + 1, "VERB").probability == pytest.approx(marginal["VERB"], abs=1e-5)
    with pytest.raises(ConfigurationError, match="labels of single tokens: expected the span 0:1, got 0:2"):
        tagger.explain(tokens, 0, 2)


def test_words_and_transitions_make_the_value():
    for preset in ("fast", "linear-crf"):
        found = fitted(preset).explain(TOKENS, 3, 5)
        assert found.of_words + found.of_transitions == found.value
        assert found.of_transitions != 0
        bare = in_float64(fitted(preset))
        for parameter in bare.model.network.crf.parameters().values():
            parameter.value[...] = 0
        assert bare.explain(TOKENS, 3, 5, found.label).value == pytest.approx(found.of_words, abs=1e-4)
    for preset in ("window-wll", "average-softmax"):
        assert fitted(preset).explain(TOKENS, 3, 5).of_transitions == 0


# ------------------------------------------------------------------------------------------------ leaving out


@pytest.mark.parametrize("preset", TAGGERS)
def test_leaving_out_is_what_the_tagger_says_of_the_changed_sentence(preset):
    tagger = fitted(preset, epochs=1)
    found = tagger.explain(TOKENS, 3, 5, "LOC")
    for t, word in enumerate(found.words):
        changed = [*TOKENS[:t], "", *TOKENS[t + 1 :]]
        assert word.word == TOKENS[t]
        expected = odds(probability_of(tagger, TOKENS, 3, 5, "LOC")) - odds(
            probability_of(tagger, changed, 3, 5, "LOC")
        )
        assert word.left_out == pytest.approx(expected, abs=2e-3)
    assert found.unknown == pytest.approx(odds(probability_of(tagger, [""] * 5, 3, 5, "LOC")), abs=1e-3)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """Extra columns and a gazetteer."""
    names = tmp_path_factory.mktemp("names") / "LOC.txt"
    names.write_text("New York\nOslo\n")
    X, y = named_entities(60)
    X = [[(word, "N" if word[0].isupper() else "X", str(len(word))) for word in tokens] for tokens in X]
    return postil.Tagger(gazetteers=[names], **SMALL).fit(X, y)


def test_columns_and_gazetteers(rich):
    tokens = [(word, "N" if word[0].isupper() else "X", str(len(word))) for word in TOKENS]
    found = rich.explain(tokens, 3, 5, "LOC")
    assert list(found.features) == [
        *["word", "shape", "prefixes", "suffixes", "caps", "column 1", "column 2", "gazetteer"]
    ]
    assert found.tokens == tuple(TOKENS)
    before = odds(probability_of(rich, tokens, 3, 5, "LOC"))
    for t, word in enumerate(found.words):  # without York there is no New York for the gazetteer to find
        changed = [*tokens[:t], ("", "", ""), *tokens[t + 1 :]]
        assert word.left_out == pytest.approx(before - odds(probability_of(rich, changed, 3, 5, "LOC")), abs=2e-3)
    without_column = [(word, "", length) for word, _, length in tokens]
    expected = before - odds(probability_of(rich, without_column, 3, 5, "LOC"))
    assert found.features["column 1"].left_out == pytest.approx(expected, abs=2e-3)
    groups = feature_groups(rich.model.config, rich.model.features)
    dims = [d for group in groups for d in group.dims]
    assert sorted(dims) == list(range(rich.model.network.token_vectors(rich.model.features.inputs([tokens])).shape[1]))


def test_a_feature_is_left_out_at_every_word(rich):
    tokens = [(word, "N", "3") for word in TOKENS]
    groups = feature_groups(rich.model.config, rich.model.features)
    copies = changed_copies(rich.model.features, tokens, range(5), groups)
    vectors = rich.model.network.token_vectors(copies).value.reshape(-1, 5, sum(len(g.dims) for g in groups))
    for i, group in enumerate(groups, start=2):
        others = [d for g in groups if g is not group for d in g.dims]
        np.testing.assert_array_equal(vectors[i][:, group.dims], vectors[UNKNOWN_WORDS][:, group.dims])
        np.testing.assert_array_equal(vectors[i][:, others], vectors[ORIGINAL][:, others])


def test_fixed_vectors_are_a_feature(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("anna 1 0\noslo 0 1\nin 0.5 -0.5\nyork 1 1\n")
    tagger = postil.Tagger(vectors=path, **SMALL).fit(*named_entities(60))
    found = tagger.explain(TOKENS, 3, 5)
    assert found.features["vector"].left_out != 0
    assert found.words[1].features["vector"] == 0  # "lives" has no vector: its row is that of the empty word


def test_words_that_no_network_can_see_are_not_left_out():
    config = fitted().config
    assert words_in_reach(config, 1000, 500, 501) == range(500 - 3 - FARTHEST, 501 + 3 + FARTHEST)
    assert words_in_reach(config, 30, 3, 5) == range(30)
    assert words_in_reach(fitted("sentence-wll", epochs=1).config, 500, 3, 5) == range(500)
    assert words_in_reach(fitted("linear-crf").config, 1000, 500, 501) == range(498 - FARTHEST, 503 + FARTHEST)
    accurate = fitted("accurate", epochs=1).config  # three layers that see one word more each
    assert words_in_reach(accurate, 1000, 500, 501) == range(496 - FARTHEST, 505 + FARTHEST)
    tokens = TOKENS * 60
    words = fitted().explain(tokens, 150, 151, "PER").words
    tried = [t for t, word in enumerate(words) if word.left_out is not None]
    assert tried == list(range(150 - 3 - FARTHEST, 151 + 3 + FARTHEST))


def test_relative_positions_are_a_feature_of_the_sentence_approach():
    tagger = fitted("sentence-sll", epochs=2)
    found = tagger.explain(TOKENS, 3, 5, "LOC")
    assert found.features["relative position"].gradient != 0
    level = in_float64(tagger)
    table = level.model.network.parameters()["encoder.layers.0.distances.table"]
    table.value[...] = table.value.mean(axis=0)
    expected = found.value - level.explain(TOKENS, 3, 5, "LOC").value
    assert found.features["relative position"].left_out == pytest.approx(expected, abs=1e-3)
    assert "relative position" not in found.words[0].features
    assert "relative position" not in fitted().explain(TOKENS, 3, 5).features


# ------------------------------------------------------------------------------------------------ gradient times input


@pytest.mark.parametrize("preset", TAGGERS)
def test_the_gradient_is_the_slope_towards_the_empty_words(preset):
    """Σ of all words and features is the slope of the log-odds on the straight way from x to x₀, in float64."""
    tagger = in_float64(fitted(preset, activation="tanh"))
    network, measure = tagger.model.network, measure_of(tagger, TOKENS, 3, 5, "LOC")
    groups = feature_groups(tagger.model.config, tagger.model.features)
    copies = changed_copies(tagger.model.features, TOKENS, range(5), groups)
    cells, _ = gradient_times_input(network, measure, copies, groups)
    original, unknown = (copies.selected(np.array([i])) for i in (ORIGINAL, UNKNOWN_WORDS))
    members = members_of(network)
    x, x0 = ([member.token_vectors(inputs).value for member in members] for inputs in (original, unknown))

    def scores(member, vectors):
        node = Input(vectors)
        node.offsets = original.offsets
        return member.scores_of(node).value

    def slope(chosen):
        """Of the measure in the direction x - x₀, as far as it is chosen."""
        moves = [(one - other) * chosen for one, other in zip(x, x0, strict=True)]
        step = 1e-5
        ahead, behind = (
            [
                scores(*each)
                for each in zip(members, [one + sign * move for one, move in zip(x, moves, strict=True)], strict=True)
            ]
            for sign in (step, -step)
        )
        values = [measure.of(mean_scores(found), original.offsets)[0] for found in (ahead, behind)]
        return (values[0] - values[1]) / (2 * step)

    assert cells.sum() == pytest.approx(slope(1.0), rel=1e-6)
    for t in (2, 4):  # and of one word's one feature by itself
        chosen = np.zeros_like(x[0])
        chosen[t, groups[0].dims] = 1
        assert cells[t, 0] == pytest.approx(slope(chosen), rel=1e-5, abs=1e-8)


def test_of_a_linear_crf_the_gradients_make_up_all_scores():
    """Scores are linear in the features: Σ gradient · (x - x₀) = Σ ∂log-odds/∂U · (U - U₀), all of it."""
    tagger = in_float64(fitted("linear-crf"))
    lattice = lattice_of(tagger, TOKENS)
    allowed = allowed_labels(tagger.model.codec, lattice, 3, 5, "LOC")
    _, slope = log_odds_and_gradient(lattice, allowed)
    expected = (slope * (lattice.unary - lattice_of(tagger, [""] * 5).unary)).sum()
    found = tagger.explain(TOKENS, 3, 5, "LOC")
    assert sum(word.gradient for word in found.words) == pytest.approx(expected, rel=1e-9)
    assert sum(feature.gradient for feature in found.features.values()) == pytest.approx(expected, rel=1e-9)


def test_where_the_log_odds_are_linear_both_ways_agree_and_are_complete():
    """Two labels without a scheme, softmax of averaged windows: log-odds are differences of linear scores."""
    X, y = parts_of_speech(60)
    y = [["NAME" if label == "NAME" else "OTHER" for label in labels] for labels in y]
    tagger = in_float64(postil.Tagger(preset="average-softmax", **SMALL).fit(X, y))
    found = tagger.explain(TOKENS, 3, 4)
    for word in found.words:
        assert word.gradient == pytest.approx(word.left_out, abs=1e-9)
        assert sum(word.features.values()) == pytest.approx(word.gradient, abs=1e-12)
    for feature in found.features.values():
        assert feature.gradient == pytest.approx(feature.left_out, abs=1e-9)
    assert found.unknown + sum(word.gradient for word in found.words) == pytest.approx(found.value, abs=1e-9)
    assert any(abs(word.gradient) > 0.1 for word in found.words)


def test_a_word_beyond_the_window_counts_for_nothing_in_a_softmax_of_single_tokens():
    X, y = parts_of_speech(60)
    found = postil.Tagger(preset="window-softmax", window=3, **SMALL).fit(X, y).explain(TOKENS, 0, 1)
    assert [abs(word.gradient) > 1e-6 for word in found.words] == [True, True, False, False, False]
    assert [word.left_out for word in found.words[2:]] == pytest.approx([0, 0, 0], abs=1e-5)


def test_a_temperature_divides_the_gradient():
    tagger = in_float64(fitted())
    network, allowed = tagger.model.network, allowed_labels(tagger.model.codec, lattice_of(tagger, TOKENS), 3, 5, "LOC")
    tagger.decoding = Decoding(temperature=2.0)
    measure, step = LogOdds(tagger.model, allowed), 1e-5
    found = contributions(tagger.model, TOKENS, measure, 3, 5)
    groups = feature_groups(tagger.model.config, tagger.model.features)
    copies = changed_copies(tagger.model.features, TOKENS, range(5), groups)
    scores = network.scores(copies.selected(np.array([ORIGINAL]))).value
    slope = measure.slope(scores, np.array([0, 5]))
    for place in ((3, 1), (4, 3), (2, 0)):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        numeric = (measure.of(up, np.array([0, 5])) - measure.of(down, np.array([0, 5])))[0] / (2 * step)
        assert slope[place] == pytest.approx(numeric, abs=1e-7)
    assert found.value == pytest.approx(measure.of(scores, np.array([0, 5]))[0])


# ------------------------------------------------------------------------------------------------ the rest


@pytest.fixture(scope="module")
def detector():
    sentences = made_up_sentences(100, np.random.default_rng(0))
    X, y = [list(s.tokens) for s in sentences], [list(s.labels) for s in sentences]
    return postil.Detector(label="LOC", hidden=20, epochs=4, word_dim=16).fit(X, y)


def test_a_detector_explains_its_lowest_score(detector):
    tokens = "the parks of Florence are quiet".split()
    scores = detector.decision([tokens])[0]
    found = detector.explain(tokens, 3, 4)
    assert (found.measure, found.probability, found.of_transitions) == ("margin", None, 0)
    assert found.value == pytest.approx(scores[3] - detector.threshold, abs=1e-4)
    for t, word in enumerate(found.words):
        changed = detector.decision([[*tokens[:t], "", *tokens[t + 1 :]]])[0]
        assert word.left_out == pytest.approx(scores[3] - changed[3], abs=1e-4)
    assert detector.explain(tokens, 2, 5).value == pytest.approx(scores[2:5].min() - detector.threshold, abs=1e-4)
    with pytest.raises(ConfigurationError, match="label of a detector: expected 'LOC', got 'PER'"):
        detector.explain(tokens, 3, 4, "PER")


def test_it_is_json():
    found = fitted().explain(TOKENS * 20, 3, 5)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["text"] == "New York" and content["label"] == "LOC" and content["measure"] == "log-odds"
    assert content["value"] == pytest.approx(sum(content["parts"].values()), abs=1e-5)
    assert [word["word"] for word in content["words"]] == TOKENS * 20
    assert content["words"][99]["left_out"] is None
    assert content["words"][3]["gradient"] == pytest.approx(sum(content["words"][3]["features"].values()), abs=1e-5)
    assert content["features"]["caps"] == pytest.approx(found.features["caps"]._asdict(), abs=1e-5)


def test_as_text():
    found = fitted().explain(TOKENS * 20, 3, 5)
    lines = str(found).splitlines()
    assert lines[0] == f"New York as LOC: log-odds {found.value:+.2f}"
    assert lines[4].split() == ["New", f"{found.words[3].left_out:+.2f}", f"{found.words[3].gradient:+.2f}"]
    assert lines[100].split() == ["York", f"{found.words[99].gradient:+.2f}"]  # too far away to be tried
    assert lines[101:] and lines[101] == "features" and lines[102].split()[0] == "word"


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        fitted().explain(TOKENS, 3, 5).value = 0


def test_mistakes(detector):
    tagger = fitted()
    for start, end in ((4, 6), (3, 3), (-1, 2), (4, 2), (0.0, 1)):
        with pytest.raises(IndexRangeError, match="outside its sentence: expected 0 <= start < end <= 5, got"):
            tagger.explain(TOKENS, start, end)
        with pytest.raises(IndexRangeError, match="outside its sentence"):
            detector.explain(TOKENS, start, end)
    with pytest.raises(IndexRangeError, match="expected a sentence with tokens, got 0:1"):
        tagger.explain([], 0, 1)
    with pytest.raises(ConfigurationError, match="unknown label: expected one of LOC, PER, O, got 'B-LOC'"):
        tagger.explain(TOKENS, 3, 5, "B-LOC")
    with pytest.raises(DataError, match="a list of tokens"):
        tagger.explain("Anna", 0, 1)
    with pytest.raises(ConfigurationError, match="is not fitted yet"):
        postil.Tagger().explain(TOKENS, 0, 1)


def test_a_model_of_one_label_has_no_odds():
    tagger = postil.Tagger(**SMALL).fit([["a", "b"]], [["O", "O"]])
    with pytest.raises(ConfigurationError, match="must be true has no odds"):
        tagger.explain(["a"], 0, 1)


def test_the_answer_is_that_of_the_network_also_when_nothing_is_on_the_path():
    tagger = fitted("fast", epochs=6)
    lattice = lattice_of(tagger, TOKENS)
    assert answered_label(tagger.model.codec, lattice, 3, 5) == "LOC"
    for start, end in pairwise(range(6)):
        assert answered_label(tagger.model.codec, lattice, start, end) in ("LOC", "PER")


def test_in_a_notebook():
    tokens = [*TOKENS * 20]
    tokens[0] = "<script>x"
    found = fitted().explain(tokens, 3, 5)
    page = read_page(found._repr_html_())
    answer = page.one("p", class_="answer").text
    assert answer == f"New York as LOC: probability {found.probability:.4f}, log-odds {signed(found.value)}"
    assert not list(page.all("script")) and "<script>x" in page.one("p", class_="effects").text
    words, features = map(table_rows, page.all("table"))
    assert len(words) == MOST_LISTED + 1  # of a hundred, and the names of the columns
    assert ["▸ New", signed(found.words[3].left_out)] in [row[:2] for row in words]
    assert [row[0] for row in features[1:]] == list(found.features)


def test_a_detection_in_a_notebook(detector):
    found = detector.explain("the parks of Florence are quiet".split(), 3, 4)
    assert (
        read_page(found._repr_html_()).one("p", class_="answer").text
        == f"Florence as LOC: margin {signed(found.value)}"
    )

"""Segmenters that are learned from sentences with their raw text."""

import io
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postil
from postil import archive
from postil.errors import DataError, ModelFileError
from postil.models import storage
from postil.models.segmentation import LearnedCuts, file_of, files_of, learn_segmenter, texts_of, units_of
from postil.text import Sentence, read
from postil.text.splitting.segmenter import Segmenter, characters

WORDS = (
    "anna berta caesar dora emil fritz gustav haus ida jana kurt lampe mond nacht otto paul quelle rose sonne".split()
)


def treebank(count: int, seed: int) -> list[Sentence]:
    """Sentences of a made-up language: l' is cut off, a hyphen is not, a full stop ends a sentence but not after dr."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        pieces: list[tuple[str, bool]] = []  # token, and whether a space follows
        for _ in range(rng.randint(3, 8)):
            word = rng.choice(WORDS)
            kind = rng.random()
            if kind < 0.15:
                pieces += [("l'", False), (word, True)]
            elif kind < 0.25:
                pieces += [("dr.", True), (word.capitalize(), True)]
            elif kind < 0.35:
                pieces += [(f"{word}-{rng.choice(WORDS)}", True)]
            elif kind < 0.45:
                pieces += [(f"{rng.randint(1, 9)} 000", True)]
            elif kind < 0.55:
                pieces += [(word, False), (",", True)]
            else:
                pieces += [(word, True)]
        pieces[0] = pieces[0][0].capitalize(), pieces[0][1]
        pieces[-1] = pieces[-1][0].rstrip(","), False
        pieces = [piece for piece in pieces if piece[0]] + [(rng.choice(".!?"), False)]
        text, starts, ends = "", [], []
        for token, has_space in pieces:
            starts.append(len(text))
            text += token
            ends.append(len(text))
            text += " " * has_space
        tokens = [token for token, _ in pieces]
        sentences.append(Sentence(tokens, ["X"] * len(tokens), text=text, starts=starts, ends=ends))
    return sentences


def spaced_treebank() -> list[Sentence]:
    """Few tokens with a space inside: only between digits may there be one."""
    sentences = treebank(500, seed=0)
    rare = [one for one in sentences if " 000" in str(one.text)]
    return [one for one in sentences if one not in rare] + rare[:12]


@pytest.fixture(scope="module", params=["one tagger", "two taggers"])
def segmenter(request: pytest.FixtureRequest) -> Segmenter:
    """With many spaces inside tokens only the tagger of characters is learned."""
    return learn_segmenter(treebank(400, seed=0) if request.param == "one tagger" else spaced_treebank())


@pytest.mark.slow
def test_held_out_text_is_cut_as_in_the_treebank(segmenter: Segmenter) -> None:
    right = total = ended = sentences = 0
    for text in texts_of(treebank(100, seed=1), None):
        found = segmenter.tokenise(text.text)
        cut = set(zip(found.starts, found.ends, strict=True))
        right += 2 * len(cut & set(text.tokens))
        total += len(cut) + len(text.tokens)
        borders = {(found.starts[first], found.ends[last - 1]) for first, last in found.sentences or ()}
        ended += 2 * len(borders & set(text.sentences))
        sentences += len(borders) + len(text.sentences)
    assert right / total > 0.99
    assert ended / sentences > 0.97


@settings(max_examples=60, deadline=None)
@given(st.text(st.one_of(st.sampled_from(" \n\tab.'1é\u0301한👨\u200d👩"), st.characters()), max_size=80))
def test_every_character_is_in_one_token_and_no_grapheme_is_cut(segmenter: Segmenter, text: str) -> None:
    found = segmenter.tokenise(text)
    covered = [place for start, end in zip(found.starts, found.ends, strict=True) for place in range(start, end)]
    assert len(covered) == len(set(covered))
    assert {place for place, one in enumerate(text) if not one.isspace()} <= set(covered)
    assert found.tokens == [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]
    assert [first for first, _ in found.sentences or ()][1:] == [last for _, last in found.sentences or ()][:-1]
    assert sum(last - first for first, last in found.sentences or ()) == len(found)
    whole = characters(text.replace("\ud800", "\ufffd"))
    inside = {place for start, end in zip(whole.starts, whole.ends, strict=True) for place in range(start + 1, end)}
    assert not inside & set(found.starts)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.one_of(st.sampled_from(" \nab.1é\u0301한👨\u200d👩"), st.characters(exclude_categories=["Cs"])))
    )
)
def test_units_are_the_characters_of_each_text(texts: list[str]) -> None:
    contents = [text.encode() for text in texts]
    edges = np.cumsum([0, *map(len, contents)])
    units = units_of(b"".join(contents), np.stack([edges[:-1], edges[1:]], axis=1))
    expected = [len(characters(text)) for text in texts]
    assert np.diff(units.documents).tolist() == expected
    joined = b"".join(contents)
    cut = [token for text in texts for token in characters(text).tokens]
    assert [joined[start:end].decode() for start, end in units.cells.tolist()] == cut


def test_many_texts_are_cut_as_one_by_one(segmenter: Segmenter) -> None:
    texts = [text.text for text in texts_of(treebank(60, seed=2), 100)] + ["", "  ", "a\n\nb", "x" * 5000]
    contents = [text.encode() for text in texts]
    edges = np.cumsum([0, *map(len, contents)])
    together = segmenter.cells(b"".join(contents), documents=np.stack([edges[:-1], edges[1:]], axis=1))
    for d, (text, content) in enumerate(zip(texts, contents, strict=True)):
        first, end = together.documents[d : d + 2].tolist()
        cells = together.cells[first:end] - edges[d]
        assert [content[a:b].decode() for a, b in cells.tolist()] == segmenter.tokenise(text).tokens


def test_white_space_of_any_kind_is_one_space(segmenter: Segmenter) -> None:
    plain = segmenter.tokenise("Anna haus l'emil, otto.").tokens
    assert segmenter.tokenise("Anna \t haus\u3000l'emil,\notto.").tokens == plain


def test_guards(segmenter: Segmenter) -> None:
    assert "https://example.org/a.b?c=d" in segmenter.tokenise("Anna https://example.org/a.b?c=d, otto.").tokens
    assert "a.b@example.org" in segmenter.tokenise("anna a.b@example.org.").tokens
    assert len(segmenter.sentences("anna haus\n\nemil otto")) == 2
    cut = segmenter.tokenise("Anna haus 3 000 emil.")
    assert "3 000" in cut.tokens  # a space between digits, as in training
    assert not any(" " in token and not token[0].isdigit() for token in cut.tokens)


def test_long_texts_are_cut_as_short_ones(segmenter: Segmenter) -> None:
    """The labels of a chunk do not depend on where it begins."""
    text = texts_of(treebank(300, seed=3), None)[0].text
    assert len(text) > 8000
    shift = "Anna haus. "
    moved = segmenter.tokenise(shift + text)
    assert moved.tokens[len(segmenter.tokenise(shift)) :] == segmenter.tokenise(text).tokens


def test_saved_loaded_and_pickled(segmenter: Segmenter, tmp_path: object) -> None:
    tagger = postil.Tagger(epochs=2, segmenter=segmenter)
    sentences = treebank(30, seed=4)
    tagger.fit([one.tokens for one in sentences], [["O"] * len(one) for one in sentences])
    content = io.BytesIO(pickle.dumps(tagger))
    again = pickle.load(content)
    text = texts_of(sentences, None)[0].text
    assert again.tag(text).sentences == tagger.tag(text).sentences
    assert again.model.segmenter == segmenter
    assert pickle.loads(pickle.dumps(segmenter)) == segmenter
    assert repr(tagger) == "Tagger(segmenter=Segmenter(learned=…), epochs=2)"
    tagger.save(f"{tmp_path}/model.postil")
    assert postil.load(f"{tmp_path}/model.postil").model.segmenter.tokenise(text) == segmenter.tokenise(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, metadata: arrays.pop("segmentation"),
        lambda arrays, metadata: arrays.update(segmentation=arrays["segmentation"][:-9]),
        lambda arrays, metadata: metadata["segmentation"].update(reach=9),
        lambda arrays, metadata: metadata["segmentation"].update(crossed=["x" * 10_000]),
        lambda arrays, metadata: metadata["segmentation"].update(more=1),
        lambda arrays, metadata: metadata.pop("segmentation"),
    ],
)
def test_a_forged_segmenter_is_an_error(segmenter: Segmenter, tmp_path: object, change: object) -> None:
    path = f"{tmp_path}/model.postil"
    tagger = postil.Tagger(epochs=1, segmenter=segmenter).fit([["a", "b"]] * 4, [["O", "O"]] * 4)
    tagger.save(path)
    arrays, metadata = archive.load(path)
    copies = {name: np.array(array) for name, array in arrays.items()}
    change(copies, metadata)  # type: ignore[operator]
    archive.save(path, copies, metadata)
    with pytest.raises(ModelFileError):
        postil.load(path)


def test_a_tagger_of_names_is_no_segmenter(segmenter: Segmenter, tmp_path: object) -> None:
    path = f"{tmp_path}/model.postil"
    names = postil.Tagger(epochs=1).fit([["Anna", "b"]] * 4, [["B-PER", "O"]] * 4)
    postil.Tagger(epochs=1, segmenter=segmenter).fit([["a", "b"]] * 4, [["O", "O"]] * 4).save(path)
    arrays, metadata = archive.load(path)
    forged = {**{name: np.array(array) for name, array in arrays.items()}}
    forged["segmentation"] = np.frombuffer(storage.to_bytes(names), np.uint8)
    archive.save(path, forged, metadata)
    with pytest.raises(ModelFileError, match="labels inside, token, sentence"):
        postil.load(path)


@pytest.mark.slow
def test_titles_end_before_a_word_that_begins_sentences_and_not_before_a_name() -> None:
    rng = random.Random(0)
    sentences = []
    for _ in range(600):
        middle = [rng.choice(WORDS) for _ in range(rng.randint(2, 5))]
        middle.insert(rng.randint(1, len(middle)), rng.choice(["Aldona", "Benigna", "Cordula"]))
        tokens = [rng.choice(["Aber", "Bevor", "Cirka"]), *middle, *([] if rng.random() < 0.4 else ["."])]
        text = " ".join(tokens).replace(" .", ".")
        sentences.append(Sentence(tokens, ["X"] * len(tokens), comments=[f"# text = {text}"]))
    segmenter = learn_segmenter(sentences[:500])
    (text,) = texts_of(sentences[500:], None)
    found = [(one.starts[0], one.ends[-1]) for one in segmenter.sentences(text.text) if one.starts and one.ends]
    assert found == text.sentences


def test_a_file_of_one_tagger_of_characters_opens() -> None:
    """Models had no tagger of tokens at first."""
    learned = learn_segmenter(spaced_treebank()).learned
    assert isinstance(learned, LearnedCuts)
    older = LearnedCuts.from_file(learned.settings(), storage.to_bytes(learned.tagger))
    assert older.ends is None and older != learned
    assert LearnedCuts.from_file(older.settings(), older.to_bytes()) == older
    assert LearnedCuts.from_file(learned.settings(), learned.to_bytes()) == learned
    swapped = file_of(dict(zip(("characters", "ends"), reversed(files_of(learned.to_bytes()).values()), strict=True)))
    with pytest.raises(ModelFileError, match="labels inside, token, sentence"):
        LearnedCuts.from_file(learned.settings(), swapped)


def test_too_few_sentences() -> None:
    with pytest.raises(DataError, match="at least 100 sentences"):
        learn_segmenter(treebank(20, seed=0))


def test_the_words_of_a_multiword_token_are_one_token() -> None:
    lines = ["# text = Vom Haus.", "1-2\tVom", "1\tvon", "2\tdem", "3\tHaus", "4\t."]
    rows = [line if line[0] == "#" else line + "\t_" * 7 + "\tSpaceAfter=_" for line in lines]
    (text,) = texts_of(list(read(io.BytesIO(("\n".join(rows) + "\n\n").encode()))))
    assert [text.text[start:end] for start, end in text.tokens] == ["Vom", "Haus", "."]
    assert len(text.words) == 4

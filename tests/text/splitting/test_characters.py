"""One token per character: what belongs to one character, offsets, sentences, and when it is worth a warning."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.text import read
from postil.text.splitting.segmenter import (
    CHARACTERS,
    are_characters,
    character_sentences,
    characters,
    is_character,
    is_unspaced,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我爱 北京", ["我", "爱", "北", "京"]),
        ("ｶﾞ ガ", ["ｶ", "ﾞ", "ガ"]),
        ("が", ["が"]),  # か and its voicing mark
        ("ที่นี่", ["ที่", "นี่"]),  # Thai vowels and tone marks
        ("กำ", ["ก", "ำ"]),  # a vowel that is a letter of its own
        ("e\u0301a", ["e\u0301", "a"]),
        ("\u1112\u1161\u11ab\u1100\u1173", ["\u1112\u1161\u11ab", "\u1100\u1173"]),  # Hangul in pieces
        ("👩‍👩‍👧x", ["👩‍👩‍👧", "x"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("❤️!", ["❤️", "!"]),
        (" \n\t", []),
        ("a \u0301", ["a", "\u0301"]),  # a mark has nothing to stand on after a space
        ("3.14", ["3", ".", "1", "4"]),
    ],
)
def test_a_character_keeps_what_belongs_to_it(text, expected):
    assert characters(text).tokens == expected
    assert all(is_character(token) for token in expected)


@given(st.text(st.characters() | st.sampled_from("我が\u3099ที่ \n\u200d👍🏽🇩🇪")))
def test_offsets_cover_everything_but_white_space(text):
    tokens = characters(text)
    assert [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)] == tokens.tokens
    assert "".join(tokens.tokens) == "".join(text.split()) == "".join(c for c in text if not c.isspace())
    for before, start in zip(tokens.ends, tokens.starts[1:], strict=False):
        assert before <= start
        if before == start:
            assert unicodedata.category(text[start])[0] != "M", "a mark is not split from its character"
    ranges = character_sentences(tokens)
    assert [place for first, last in ranges for place in range(first, last)] == list(range(len(tokens)))
    assert all(first < last for first, last in ranges)


def test_sentences_end_at_full_stops_with_what_closes_them_and_at_line_breaks():
    tokens = characters("「我爱。」他说！！\n3.14 好?\n\n完")
    sentences = ["".join(tokens.tokens[first:last]) for first, last in character_sentences(tokens)]
    assert sentences == ["「我爱。」", "他说！！", "3.14好?", "完"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我昨天和朋友一起去了北京的天安门广场。", True),
        ("李华昨天去了上海。我爱北京！王小明昨天也去了。", True),
        ("私は昨日東京に行きました。", True),
        ("เมื่อวานฉันไปกรุงเทพ", True),
        ("我 昨天 和 朋友 一起 去 了 北京", False),
        ("The word 北京 is Chinese, インターネット Japanese.", False),
        ("어제 나는 서울에 갔다.", False),  # Korean has spaces
        ("No such thing.", False),
        ("", False),
    ],
)
def test_unspaced_text_is_recognised(text, expected):
    assert is_unspaced(text) == expected


def test_training_data_of_characters_are_recognised():
    assert are_characters(iter([["我", "爱"], ["A", "1"]]))
    assert not are_characters(iter([["a", "b"]])), "letters may be words"
    assert not are_characters(iter([["我", "北京"]])) and not are_characters(iter([]))


def test_json_lines_by_characters(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "我爱北京。好", "spans": [{"start": 2, "end": 4, "label": "LOC"}]}\n', encoding="utf8")
    one, other = read(path, segmenter=CHARACTERS)
    assert one.tokens == list("我爱北京。") and one.labels == ["O", "O", "B-LOC", "I-LOC", "O"]
    assert (other.tokens, other.starts, other.ends) == (["好"], [5], [6])
    (whole,) = read(path, segmenter=CHARACTERS, split=False)
    assert whole.tokens == list("我爱北京。好")


def test_plain_text_by_characters(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("我爱北京。好 了\n\n完\n", encoding="utf8")
    sentences = list(read(path, "text", segmenter=CHARACTERS))
    assert ["".join(s.tokens) for s in sentences] == ["我爱北京。", "好了", "完"]
    assert [s.line for s in sentences] == [1, 1, 3] and sentences[1].starts == [5, 7]

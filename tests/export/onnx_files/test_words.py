"""The look-ups of an exported folder: in Python and in JavaScript, beside Postil's own functions."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.export import onnx_files
from postil.export.onnx_files import words as of_python
from postil.features.orthography import caps_class, fold_digits, normalise, shape

FOLDER = Path(onnx_files.__file__).parent
SAMPLE = [
    *["", "Anna", "NATO", "A", "McDonald", "iPhone", "3rd", "1984", "東京", "ǅ", "ª", "ΣΑΣ", "İ", "Ⅷ", "e\u0301"],
    *["Boeing-747s", "aaaa", "----", "€€€€", "+++++", "😀😀😀😀", "٣", "a\u0345Σ", "\x00\u200b", "\ue000", "²", "ß"],
]


@given(st.text(max_size=20) | st.sampled_from(SAMPLE))
def test_functions_of_a_word_are_those_of_postil(word):
    assert of_python.normal(word) == normalise(word)
    assert of_python.fold_digits(word, "#") == fold_digits(word, "#")
    assert of_python.shape(word) == shape(word)
    assert of_python.capitals(word) == caps_class(word)


def test_the_cache_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(of_python, "MOST_KNOWN", 3)
    words = of_python.Words({"labels": {}, "words": [{"kind": "caps"}], "columns": [], "gazetteer": None})
    for number in range(10):
        assert words.features([[f"A{number}"]])[0] == [[[4]]]
    assert len(words._known) <= 3


def in_node(program, value):
    """What a program in JavaScript makes of a value."""
    source = f"import * as words from {json.dumps((FOLDER / 'words.mjs').as_uri())};\n"
    source += (
        "let text = ''; process.stdin.setEncoding('utf8'); for await (const part of process.stdin) text += part;\n"
    )
    source += f"const value = JSON.parse(text); console.log(JSON.stringify({program}));"
    call = subprocess.run(
        ["node", "--input-type=module", "-e", source],
        input=json.dumps(value),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(call.stdout)


@pytest.mark.extra("node")
def test_functions_of_a_word_in_javascript():
    characters = [chr(code) for code in range(0x3000) if chr(code).isprintable()]
    sample = [*SAMPLE, *characters, *(f"a{c}B{c}{c}{c}{c}" for c in characters[::7])]
    program = "value.map((w) => [words.normal(w), words.foldDigits(w, '#'), words.shape(w), words.capitals(w)])"
    found = in_node(program, sample)
    expected = [[normalise(w), fold_digits(w, "#"), shape(w), caps_class(w)] for w in sample]
    # Newer versions of Unicode know more characters than the tables of the package.
    different = [(w, a, b) for w, a, b in zip(sample, found, expected, strict=True) if a != b]
    assert len(different) <= 20, different[:20]
    assert not [one for one in different if one[0] in SAMPLE or one[0].isascii()]


@pytest.mark.extra("node")
def test_ids_in_javascript_are_those_in_python():
    vocabulary = {
        "labels": {"": ["O"]},
        "words": [
            {"kind": "word", "values": ["", "anna", "0000", "straße"]},
            {"kind": "shape", "values": ["", "Xxxx", "dddd"]},
            {"kind": "prefix", "length": 2, "values": ["", "an", "00", "😀a"]},
            {"kind": "suffix", "length": 3, "values": ["", "nna", "ße", "aße"]},
            {"kind": "caps"},
            {"kind": "lexicon", "values": ["", "anna", "##"], "digit_mark": "#", "codes": [[0, 0], [1, 2], [3, 0]]},
            {"kind": "characters", "values": ["", "a", "n", "😀"], "longest": 6},
            {"kind": "vector", "values": ["", "Anna", "0000"], "digit_mark": "0"},
        ],
        "columns": [{"values": ["", "N"]}],
        "gazetteer": {
            "width": 2,
            "folded": {"ß": "ss"},
            "names": {"strasse": [0], "anna\x1fstrasse": [1], "anna\x1fx\x1f😀": [0, 1]},
        },
    }
    sentences = [
        [["Anna", "N"], ["Straße", "V"]],
        [],
        [["anna", "N"], ["X", "N"], ["😀", "N"], ["1984", "N"], ["12", "N"], ["😀abcdefgh", "N"], ["__proto__", "N"]],
    ]
    found = in_node(
        """(() => {
          const { features, lengths } = new words.Words(value[0]).features(value[1]);
          return [Array.from(features.data, Number), features.dims, Array.from(lengths.data, Number), lengths.dims];
        })()""",
        [vocabulary, sentences],
    )
    expected, lengths = of_python.Words(vocabulary).features(sentences)
    flat = [number for sentence in expected for row in sentence for number in row]
    assert found == [flat, [3, 7, len(expected[0][0])], lengths, [3]]
    assert any(flat) and len(expected[0][0]) == 5 + 2 + 6 + 1 + 1 + 2

"""Exported models that cut text by characters, or by a tagger that they learned: as Python does."""

import random

import numpy as np
import pytest

from export.test_flat import check_text
from models.test_learned_segmentation import spaced_treebank, treebank
from oracles.c_runtime import Runtime, RuntimeFailure, needs_compiler
from oracles.flat import read
from postil import Tagger
from postil.export.c import conformance_file, sample_texts
from postil.export.flat import exported, written
from postil.models.segmentation import learn_segmenter
from postil.text import Segmenter

pytestmark = needs_compiler
SMALL = {"hidden": 8, "epochs": 2, "seed": 0}
PIECES = (
    "Anna l'emil haus . ! ? dr. 5 000 5000 \u00a0 \u3000 \n\n \n\r\n\n \t a@b.org http://x.org/a,b. Www.x.y, e\u0301 "
    "x\u0300\u0316 \u0301 👩\u200d🔬 👍🏽 🇩🇪🇫🇷🇩 각 각 \u200c东京。 「是」！」 ? ） İ ſ https:// @ \u2028 \x85".split(
        " "
    )
)


def texts(count: int) -> list[str]:
    rng = random.Random(3)
    drawn = [
        "".join(rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randint(0, 30))) for _ in range(count)
    ]
    sentences = treebank(400, seed=7)
    long = " ".join(str(one.text) for one in sentences)  # labelled in several pieces
    return [*drawn, *sample_texts(), long, long.replace(" ", ""), " ", ""]


@pytest.fixture(scope="module")
def taggers():
    made = {}
    for name, sentences in (("spaces", spaced_treebank()), ("free", treebank(200, seed=0))):
        X, y = [s.tokens for s in sentences], [["B-X", *["O"] * (len(s.tokens) - 1)] for s in sentences]
        made[name] = Tagger(**SMALL, segmenter=learn_segmenter(sentences)).fit(X, y)
    for sentence in (joined := treebank(200, seed=0)):  # words of multiword tokens that spell them out
        sentence.joined = [False, *(token == "l'" for token in sentence.tokens[:-1])]
    made["words"] = Tagger(**SMALL, segmenter=learn_segmenter(joined)).fit(X, y)
    assert "cuts/ends" in read(exported(made["spaces"]))
    plain = (learned := made["spaces"].segmenter.learned).__class__(learned.tagger, learned.reach, learned.crossed)
    made["one tagger"] = Tagger(**SMALL, segmenter=Segmenter(learned=plain)).fit(X, y)  # as in older files
    single = [list("東京は大きい。")] * 4
    made["characters"] = Tagger(**SMALL).fit(single, [["B-X", "I-X", *["O"] * 5]] * 4)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spaces", "free", "words", "one tagger", "characters"])
def test_texts_are_cut_and_labelled_as_in_python(taggers, name):
    tagger = taggers[name]
    content = exported(tagger)
    assert ("cuts/crossed" in read(content)) == (name in ("spaces", "one tagger"))
    runtime, fixed = Runtime(content), Runtime(content, max_bytes=200_000)
    for text in texts(300):
        check_text(tagger, runtime, text)
        check_text(tagger, fixed, text)
    assert conformance_file(tagger, ["Anna."]).startswith(b"T 5 ")


def test_text_that_is_not_utf8(taggers):
    for tagger in taggers.values():
        runtime = Runtime(exported(tagger))
        for wrong in (b"Anna \xff", b"\xed\xa0\x80"):
            with pytest.raises(RuntimeFailure, match="not UTF-8"):
                runtime.tag(wrong)


@pytest.mark.parametrize("damage", ["tagger", "ends", "labels", "reach", "crossed", "program"])
def test_a_forged_tagger_inside_is_found(taggers, damage):
    sections = read(exported(taggers["spaces"]))
    inner = dict(read(sections["cuts/tagger"].tobytes()))
    if damage == "tagger":
        del inner["network"]
    elif damage == "ends":
        sections["cuts/ends"] = sections["cuts/tagger"]
    elif damage == "labels":
        inner["head0/labels"] = inner["head0/labels"].copy()
        inner["head0/labels"][0] = ord("x")
    elif damage == "reach":
        sections["cuts"] = sections["cuts"] + [0, 5]
    elif damage == "crossed":
        sections["cuts/crossed"] = sections["cuts/crossed"][:5]
    else:
        sections["cuts/address/code"] = sections["cuts/address/code"][:5]
    sections["cuts/tagger"] = np.frombuffer(written(inner), np.uint8)
    with pytest.raises(RuntimeFailure, match="damaged"):
        Runtime(written(sections))

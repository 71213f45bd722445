"""CRFsuite in an environment of its own: train on one JSON file, label another part of it, write the labels.

    python crfsuite.py IN.json OUT.json      IN: {"train": [[tokens, labels], …], "test": [tokens, …]}

Features as a careful user writes them: the word, its case, shapes, prefixes and suffixes to four characters, the two
neighbours on each side, bigrams of words and shapes. L-BFGS, c1 = c2 = 0.1, 100 iterations.
"""

import json
import re
import sys
import time
from pathlib import Path

import pycrfsuite


def shape(word: str) -> str:
    return re.sub(r"\d", "0", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", word)))


def short_shape(word: str) -> str:
    return re.sub(r"(.)\1+", r"\1", shape(word))


def own(word: str) -> list[str]:
    low = word.lower()
    affixes = [f"p{n}={word[:n]}" for n in range(1, 5)] + [f"s{n}={low[-n:]}" for n in range(1, 5)]
    case = [f"upper={word.isupper()}", f"title={word.istitle()}", f"digit={word.isdigit()}"]
    signs = [f"hyphen={'-' in word}", f"number={any(c.isdigit() for c in word)}"]
    return [
        "bias",
        f"w={word}",
        f"low={low}",
        f"shape={shape(word)}",
        f"short={short_shape(word)}",
        *affixes,
        *case,
        *signs,
    ]


def beside(word: str, place: int) -> list[str]:
    low = word.lower()
    values = (low, short_shape(word), low[-3:], low[:3], word.istitle(), word.isupper())
    return [f"{place}:{i}={value}" for i, value in enumerate(values)]


def features(words: list[str]) -> list[list[str]]:
    rows = []
    for i, word in enumerate(words):
        row = own(word)
        for place in (-2, -1, 1, 2):
            if 0 <= i + place < len(words):
                row += beside(words[i + place], place)
        for place, first, second in ((-1, i - 1, i), (1, i, i + 1)):
            if first >= 0 and second < len(words):
                row.append(f"pair{place}={words[first].lower()}|{words[second].lower()}")
                row.append(f"shapes{place}={short_shape(words[first])}|{short_shape(words[second])}")
        row += ["first"] if i == 0 else []
        row += ["last"] if i == len(words) - 1 else []
        rows.append(row)
    return rows


def main() -> None:
    data = json.loads(Path(sys.argv[1]).read_text(encoding="utf8"))
    began = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True})
    for words, labels in data["train"]:
        trainer.append(features(words), labels)
    model = sys.argv[2] + ".crfsuite"
    trainer.train(model)
    seconds = time.process_time() - began
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    answer = {"labels": [tagger.tag(features(words)) for words in data["test"]], "seconds": seconds}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf8")


main()

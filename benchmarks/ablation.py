"""What each kind of knowledge is worth: `fast` and `accurate` with and without vectors, clusters, teachers, on dev.

    python -m benchmarks.ablation DATA --unlabelled RAW            the whole table: all corpora, rows, presets, 3 seeds
    python -m benchmarks.ablation DATA --corpora wikigold wnut17 --rows plain vectors --presets fast --seeds 0
    python -m benchmarks.ablation DATA --unlabelled RAW --rows "vectors, encoder" --test
    python -m benchmarks.ablation DATA --unlabelled RAW --rows "vectors, clusters, taught" --test
    python -m benchmarks.ablation DATA --pretrained FILE --rows pretrained     only what `postil pretrain` learnt

DATA is a folder with a folder per corpus, each with train, dev and test (``.txt``, or ``.pos.txt``). Every training is
cached under ``benchmarks/results/`` as soon as it is done, so the command can be interrupted at any time and goes on
when it is run again; a changed preset or changed data are trained again. The table has the mean over seeds and their
standard deviation; wikigold is the mean of five folds.

A row with an encoder starts from words and encoder that have read the raw text (``postil pretrain --encoder``), one for
each preset, used for all corpora and seeds. A taught row has one teacher per corpus and fold besides, trained as
``postil train --unlabelled`` trains it and used for all seeds and presets. Their CPU times are not in that of the row.
Test scores are written to a file of their own, which is read only with ``--test``: choose on dev, then look once.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple, final

import postil
from benchmarks.accuracy import Part, splits
from benchmarks.environments import RESULTS
from benchmarks.measuring import parser
from postil.commands import teaching
from postil.models import PRESETS, Tagger
from postil.models.config import configured
from postil.models.fitting import masked_words

CORPORA = ["wikigold", "wnut17", "ncbi_disease", "btc", "ud_ewt"]
FOLDS = {"wikigold": 5}  # its dev and test parts are too small to say much
VECTORS, CLUSTERS = {"vectors": "glove-50d"}, {"clusters": "brown"}
ENCODER, TAUGHT = {"encoder": True}, {"encoder": True, "taught": True}
NAMES = {"gazetteers": ("names", "places")}
PRETRAINED = "pretrained"  # the row of vectors and clusters from one file, which is named on the command line
TABLE: dict[str, dict[str, Any]] = {
    "plain": {},
    "vectors": VECTORS,
    "vectors, characters": VECTORS | {"character_dim": 32},
    "vectors, clusters": VECTORS | CLUSTERS,
    "vectors, encoder": VECTORS | ENCODER,
    "vectors, clusters, taught": VECTORS | CLUSTERS | TAUGHT,
}
ROWS = TABLE | {
    "vectors without clusters of them": VECTORS | {"vector_clusters": ()},
    "clusters": CLUSTERS,
    "clusters, names": CLUSTERS | NAMES,
    "vectors, clusters, names": VECTORS | CLUSTERS | NAMES,
    "taught": TAUGHT,
    "vectors, taught": VECTORS | TAUGHT,
    "vectors, clusters, encoder": VECTORS | CLUSTERS | ENCODER,
    "vectors, clusters, taught without encoder": VECTORS | CLUSTERS | {"taught": True},
    PRETRAINED: {},
    "pretrained, taught": TAUGHT,
    "pretrained, vectors": VECTORS,
    "pretrained, vectors, taught": VECTORS | TAUGHT,
}
FEWEST_TOKENS = 50_000  # that are tagged to measure the speed


class Fold(NamedTuple):
    """One split of a corpus."""

    corpus: str
    number: int
    parts: tuple[Part, Part, Part]
    digest: str


def main() -> int:
    arguments = _arguments()
    folds = [fold for corpus in arguments.corpora for fold in _folds(arguments, corpus)]
    cache = Cache(RESULTS)
    rows: dict[tuple[str, str], dict[tuple[str, int], list[dict[str, float]]]] = {}
    for name in arguments.rows:
        for fold in folds:
            for preset in arguments.presets:
                for seed in arguments.seeds:
                    run = _run(arguments, cache, fold, name, preset, seed)
                    rows.setdefault((name, preset), {}).setdefault((fold.corpus, seed), []).append(run)
    for part in ("dev", "test") if arguments.test else ("dev",):
        print("\n".join(table(rows, arguments.corpora, arguments.seeds, part)))
    return 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("data", type=Path, metavar="DATA", help="folder of corpora")
    options.add_argument("--corpora", nargs="+", default=CORPORA)
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=["fast", "accurate"], metavar="PRESET")
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(TABLE), metavar="ROW")
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument(
        "--unlabelled", action="append", default=[], metavar="TEXT", help="for rows with an encoder, and taught ones"
    )
    options.add_argument("--unlabelled-tokens", type=int, default=teaching.MOST_TOKENS)
    options.add_argument("--pretrained", metavar="FILE", help="for pretrained rows: of postil pretrain --with-brown")
    options.add_argument("--test", action="store_true", help="show the scores of the test parts as well")
    arguments = options.parse_args()
    if not arguments.unlabelled:
        arguments.rows = [name for name in arguments.rows if not {"taught", "encoder"} & set(ROWS[name])]
    if arguments.pretrained is None:
        arguments.rows = [name for name in arguments.rows if not name.startswith(PRETRAINED)]
    arguments.seed, arguments.encoding = 0, None  # of the sample of raw text
    return arguments


def _settings(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    settings = dict(ROWS[name])
    if name.startswith(PRETRAINED):
        both = [settings["vectors"], arguments.pretrained] if "vectors" in settings else arguments.pretrained
        settings |= {"vectors": both, "clusters": arguments.pretrained}
    return settings


def _folds(arguments: argparse.Namespace, corpus: str) -> Iterator[Fold]:
    folder: Path = arguments.data / corpus
    suffix = ".txt" if (folder / "train.txt").exists() else ".pos.txt"
    files = [str(folder / f"{part}{suffix}") for part in ("train", "dev", "test")]
    for number, parts in enumerate(splits(files, FOLDS.get(corpus))):
        yield Fold(corpus, number, parts, hashlib.sha256(json.dumps(parts).encode()).hexdigest())


# ------------------------------------------------------------------------------------------------------------- runs


@final
class Cache:
    """Runs by their key, one line of JSON each; test scores stand in a second file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.models = folder / "ablation-models"  # teachers and encoders
        self.models.mkdir(exist_ok=True)
        self._files = {"dev": folder / "ablation.jsonl", "test": folder / "ablation-test.jsonl"}
        self._runs: dict[str, dict[str, Any]] = {}
        for file in self._files.values():
            for line in file.read_text(encoding="utf8").splitlines() if file.exists() else ():
                run = json.loads(line)
                self._runs[run["key"]] = self._runs.get(run["key"], {}) | run

    def get(self, key: str) -> dict[str, Any] | None:
        return self._runs.get(key)

    def put(self, key: str, run: Mapping[str, Any]) -> dict[str, Any]:
        parts = {"dev": {k: v for k, v in run.items() if k != "test"}}
        parts |= {"test": {"test": run["test"]}} if "test" in run else {}
        for name in reversed(parts):  # a run whose dev score is there is complete
            with self._files[name].open("a", encoding="utf8") as log:
                log.write(json.dumps({"key": key} | parts[name]) + "\n")
        self._runs[key] = dict(run)
        return self._runs[key]


def _key(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _run(
    arguments: argparse.Namespace, cache: Cache, fold: Fold, name: str, preset: str, seed: int
) -> dict[str, float]:
    settings = _settings(arguments, name)
    is_taught, has_encoder = settings.pop("taught", False), settings.pop("encoder", False)
    raw = (
        [*_raw(arguments), has_encoder, _teacher_settings() if is_taught else None]
        if is_taught or has_encoder
        else None
    )
    key = _key(fold.digest, asdict(configured(preset, {})), settings, raw, seed)
    known = cache.get(key)
    if known is not None and "dev" in known:
        return known
    encoders = Encoders(arguments, cache, settings) if has_encoder else None
    start = encoders.of(preset) if encoders is not None else None
    lesson = _lesson(arguments, cache, fold, settings, encoders) if is_taught else {}
    train, dev, test = fold.parts
    tagger = Tagger(preset=preset, seed=seed, **settings)
    began = time.process_time()
    tagger.fit(*train, dev=dev, warm_start=start, **lesson)
    run = {"corpus": fold.corpus, "fold": fold.number, "row": name, "preset": preset, "seed": seed}
    run |= {"cpu": time.process_time() - began, "dev": 100 * tagger.score(*dev), "test": 100 * tagger.score(*test)}
    run["rate"] = _rate(tagger, dev[0])
    where = f"{fold.corpus} {fold.number}, {name}, {preset}, seed {seed}"
    print(f"{where}: dev {run['dev']:.2f}, {run['cpu']:.0f} CPU s", file=sys.stderr, flush=True)
    return cache.put(key, run)


def _rate(tagger: Tagger, X: list[list[str]]) -> float:
    """Tokens tagged per CPU second, in lists of tokens whose words have been met before."""
    tagger.predict(X)
    tokens = sum(map(len, X))
    rounds = -(-FEWEST_TOKENS // tokens)
    began = time.process_time()
    for _ in range(rounds):
        tagger.predict(X)
    return rounds * tokens / (time.process_time() - began)


# --------------------------------------------------------------------------------------------------------- teachers


def _teacher_settings() -> dict[str, Any]:
    return asdict(configured(teaching.PRESET, {"ensemble": teaching.MEMBERS}))


_RAW: list[list[str]] = []


def _raw(arguments: argparse.Namespace) -> list[Any]:
    """Which raw text is read, and how."""
    how = [masked_words.BATCH_SENTENCES, masked_words.RATE, masked_words.HIDDEN, masked_words.ENOUGH]
    return [arguments.unlabelled, arguments.unlabelled_tokens, teaching.DRAWN, how]


def _sentences(arguments: argparse.Namespace) -> list[list[str]]:
    if not _RAW:
        _RAW.extend(teaching.raw_sentences(arguments, times=teaching.DRAWN))
    return _RAW


@final
class Encoders:
    """Those with some knowledge, by preset: each is learnt from raw text once."""

    def __init__(self, arguments: argparse.Namespace, cache: Cache, settings: dict[str, Any]) -> None:
        self._arguments, self._cache, self._settings = arguments, cache, settings

    def of(self, preset: str) -> Tagger:
        key = _key("encoder", _raw(self._arguments), asdict(configured(preset, {})), self._settings)
        path = self._cache.models / f"{key}.postil"
        if not path.exists() or not self._cache.get(key):
            encoder = Tagger(preset=preset, seed=0, **self._settings)
            began = time.process_time()
            encoder.pretrain(_sentences(self._arguments))
            cpu = time.process_time() - began
            encoder.save(path)
            self._cache.put(key, {"encoder of": preset, "knowledge": self._settings, "cpu": cpu})
            print(f"encoder of {preset}: {cpu:.0f} CPU s", file=sys.stderr, flush=True)
        return postil.load(path)


def _lesson(
    arguments: argparse.Namespace, cache: Cache, fold: Fold, settings: dict[str, Any], encoders: Encoders | None
) -> dict[str, Any]:
    """Raw text and a teacher with this knowledge, which is trained once."""
    key = _key("teacher", fold.digest, _teacher_settings(), settings, _raw(arguments) if encoders is not None else None)
    path = cache.models / f"{key}.postil"
    if path.exists() and cache.get(key):
        return _chosen(arguments, postil.load(path))
    train, dev, _ = fold.parts
    teacher = Tagger(preset=teaching.PRESET, ensemble=teaching.MEMBERS, seed=100, **settings)
    start = None if encoders is None else encoders.of(teaching.PRESET)
    began = time.process_time()
    teacher.fit(*train, dev=dev, warm_start=start)
    run = {"corpus": fold.corpus, "fold": fold.number, "teacher of": settings, "cpu": time.process_time() - began}
    run["teacher dev"] = 100 * teacher.score(*dev)
    teacher.save(path)
    cache.put(key, run)
    what = f"teacher of {fold.corpus} {fold.number}"
    print(f"{what}: dev {run['teacher dev']:.2f}, {run['cpu']:.0f} CPU s", file=sys.stderr, flush=True)
    return _chosen(arguments, teacher)


def _chosen(arguments: argparse.Namespace, teacher: Tagger) -> dict[str, Any]:
    chosen = teaching.sentences_to_learn(_sentences(arguments), [teacher], arguments.unlabelled_tokens)
    return {"unlabelled": chosen, "teachers": [teacher]}


# ------------------------------------------------------------------------------------------------------------ table


def table(
    rows: Mapping[tuple[str, str], Mapping[tuple[str, int], Sequence[Mapping[str, float]]]],
    corpora: Sequence[str],
    seeds: Sequence[int],
    part: str,
) -> list[str]:
    """A Markdown table of one part, and by how much ``accurate`` is ahead of ``fast``."""
    lines = [f"| {part} | preset | " + " | ".join(corpora) + " | CPU s | tokens/s |"]
    lines.append("|---|---|" + "---|" * (len(corpora) + 2))
    scores: dict[tuple[str, str], list[float]] = {}
    for (name, preset), runs in rows.items():
        by_seed = [[mean(run[part] for run in runs[corpus, seed]) for seed in seeds] for corpus in corpora]
        scores[name, preset] = [mean(values) for values in by_seed]
        all_runs = [run for of_seed in runs.values() for run in of_seed]
        cpu, rate = mean(run["cpu"] for run in all_runs), mean(run["rate"] for run in all_runs)
        cells = [_with_spread(values) for values in by_seed]
        lines.append(f"| {name} | {preset} | " + " | ".join(cells) + f" | {cpu:.0f} | {rate:,.0f} |")
    for name, preset in rows:
        if preset == "accurate" and (name, "fast") in scores:
            pairs = zip(scores[name, "accurate"], scores[name, "fast"], strict=True)
            gains = " | ".join(f"{ours - theirs:+.2f}" for ours, theirs in pairs)
            lines.append(f"| {name} | accurate − fast | {gains} | | |")
    return lines


def _with_spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"


if __name__ == "__main__":
    sys.exit(main())

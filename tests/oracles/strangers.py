"""Files other than models as a stranger would send them: checkpoints, vectors, clusters, lists, answers, settings.

Each kind has a genuine file, and a way to use one. Whatever is done to the file, it must be used, or refused in one
clear line, quickly and within bounds of memory. ``forgeries.tried`` does it in a child process.
"""

import contextlib
import gzip
import io
import json
import os
import random
import socket
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import postil
from oracles import forgeries
from oracles.golden import FEW, TINY, corpus
from oracles.mutations import mutate
from postil.annotation import Answer, Journal
from postil.commands.reading import _label_names
from postil.errors import PostilError, is_printable
from postil.features.gazetteer import Gazetteer
from postil.features.lexicon import load_clusters
from postil.features.vectors import load_vectors
from postil.models import storage
from postil.models.fitting.masked_words import EncoderFitting
from postil.pretraining import CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import read_corpus
from postil.pretraining.training import Pretraining
from postil.reading import parsed_json
from postil.samples.corpora import made_up_trees

SHORT = {"epochs": 3, "batch_sentences": 4}


# ------------------------------------------------------------------------------------------------ checkpoints


def _tagger(checkpoint: Path, resume: bool, **settings: Any) -> Any:
    X, y = corpus(12)
    model = postil.Tagger(**TINY | SHORT, **FEW, **settings)
    return model, model.fitting(X, y, dev=(X[:4], y[:4]), checkpoint=checkpoint, resume=resume)


def _tagger_without_dev(checkpoint: Path, resume: bool, **settings: Any) -> Any:
    model = postil.Tagger(**TINY | SHORT, **FEW, **settings)
    return model, model.fitting(*corpus(12), checkpoint=checkpoint, resume=resume)


def _detector(checkpoint: Path, resume: bool) -> Any:
    X, y = corpus(12)
    model = postil.Detector(label="LOC", **TINY | SHORT, **FEW)
    return model, model.fitting(X, y, dev=(X[:4], y[:4]), checkpoint=checkpoint, resume=resume)


def _several_tasks(checkpoint: Path, resume: bool) -> Any:
    X, y = corpus(12)
    cased = [["up" if word[:1].isupper() else "low" for word in words] for words in X]
    model = postil.MultiTaskTagger(**TINY | SHORT, **FEW)
    parts = {"names": X[:8], "case": X[4:]}, {"names": y[:8], "case": cased[4:]}
    return model, model.fitting(*parts, dev={"names": (X[8:], y[8:])}, checkpoint=checkpoint, resume=resume)


def _trees(checkpoint: Path, resume: bool) -> Any:
    trees = made_up_trees(12, np.random.default_rng(7))
    model = postil.TreeClassifier(hidden=6, word_dim=6, epochs=3, batch_trees=4)
    return model, model.fitting(trees, checkpoint=checkpoint, resume=resume)


def _encoder(checkpoint: Path, resume: bool) -> Any:
    model = postil.Tagger(**TINY | SHORT, **FEW, min_count=1, min_affix_count=1)
    return None, EncoderFitting(model, corpus(20)[0], checkpoint=checkpoint, resume=resume)


def _pretraining(checkpoint: Path, resume: bool, method: str) -> Any:
    text = "\n".join(" ".join(words) for words in corpus(60)[0])
    config = CorpusConfig(min_count=1)
    settings = PretrainingConfig(epochs=2, dimensions=8, corpus=config, method=method)
    with read_corpus(text, config) as read:
        training = Pretraining(read, settings, checkpoint=checkpoint, resume=resume)
        if resume:
            for _ in training:
                pass
            return None, ()
        for _ in zip(range(4), training, strict=False):
            pass
        training.save_checkpoint()
        return None, None


CHECKPOINTS: dict[str, Callable[[Path, bool], Any]] = {
    "tagger": _tagger,
    "tagger without dev, adagrad": partial(_tagger_without_dev, optimiser="adagrad"),
    "tagger, sgd": partial(_tagger, preset="sentence-sll", optimiser="sgd"),
    "tagger, accurate": partial(_tagger, preset="accurate"),
    "detector": _detector,
    "several tasks": _several_tasks,
    "trees": _trees,
    "encoder from raw text": _encoder,
    "skip-gram": partial(_pretraining, method="skipgram"),
    "ranking": partial(_pretraining, method="ranking"),
}


@cache
def genuine_checkpoint(kind: str) -> bytes:
    """The file of a training that was interrupted in the middle."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.checkpoint"
        _, fitting = CHECKPOINTS[kind](path, False)
        if fitting is not None:
            for _ in zip(range(5), fitting, strict=False):
                pass
            fitting.save_checkpoint()
        return path.read_bytes()


def checkpoint_outcome(kind: str, content: bytes) -> str:
    """Resume from a checkpoint and train to the end; the model must then be one that can be saved and opened."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.checkpoint"
        path.write_bytes(content)
        try:
            model, fitting = CHECKPOINTS[kind](path, True)
        except PostilError as error:
            return _told(error, "refused")
        try:
            for _ in fitting:
                pass
            if model is not None:
                storage.from_bytes(storage.to_bytes(model))
        except PostilError as error:
            return _told(error, "failed to answer")
    return "answered"


def _told(error: PostilError, how: str) -> str:
    assert is_printable(str(error)) and len(str(error)) < 1000, repr(str(error)[:500])
    return how


def forged_checkpoints(kind: str, count: int | None, seed: int) -> tuple[Any, list[str]]:
    cases = partial(forgeries.cases, forgeries.drafts, genuine_checkpoint(kind), count, seed)
    return forgeries.tried(cases, partial(checkpoint_outcome, kind), seconds_at_most=5.0)


# ------------------------------------------------------------------------------------------------ other files


@dataclass(frozen=True)
class Auxiliary:
    """A kind of file that commands read besides text: genuine content, and its reader."""

    genuine: Callable[[], bytes]
    read: Callable[[Path], object]


def _written(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return path.read_bytes()


def _answers(path: Path) -> None:
    answer = Answer(
        key="a",
        text="Anna lives in Oslo",
        tokens=((0, 4), (5, 10), (11, 13), (14, 18)),
        spans=(postil.text.Span("PER", 0, 1), postil.text.Span("LOC", 3, 4)),
        round=1,
        predicted=(postil.text.Span("LOC", 3, 4),),
        fields={"id": 7},
    )
    with Journal(path) as journal:
        journal.add(answer)


def _read_answers(path: Path) -> None:
    with Journal(path) as journal:
        for answer in journal:
            answer.record()
            assert all(map(answer.words.__getitem__, range(len(answer.tokens))))


def _binary_vectors() -> bytes:
    rows = [f"word{i} ".encode() + np.arange(i, i + 5).astype("<f4").tobytes() + b"\n" for i in range(20)]
    return b"20 5\n" + b"".join(rows)


def _read_label_names(path: Path) -> None:
    renamed = path.with_suffix(".json")
    path.rename(renamed)
    try:
        _label_names(str(renamed))
    except Exception as error:  # argparse's, which it shows in one line
        if type(error).__name__ != "ArgumentTypeError":
            raise
        raise PostilError(str(error)) from None


TEXT_VECTORS = "".join(f"word{i} {i / 7:.4f} {-i} 0.5 1e-3\n" for i in range(30)).encode()
AUXILIARY: dict[str, Auxiliary] = {
    "vectors": Auxiliary(lambda: TEXT_VECTORS, load_vectors),
    "vectors with a header": Auxiliary(lambda: b"30 4\n" + TEXT_VECTORS, load_vectors),
    "binary vectors": Auxiliary(_binary_vectors, load_vectors),
    "vectors, gzip": Auxiliary(lambda: gzip.compress(TEXT_VECTORS), load_vectors),
    "clusters": Auxiliary(lambda: b"0110\tAnna\t4\n0111\tOslo\t2\n10\tthe\t9\n", load_clusters),
    "clusters, gzip": Auxiliary(lambda: gzip.compress(b"Anna\tx\nOslo\ty\n" * 9), load_clusters),
    "gazetteer": Auxiliary(lambda: "LOC\tNew York\nLOC\tŁódź\nPER\tAnna\n".encode(), Gazetteer.load),
    "answers": Auxiliary(lambda: _written(_answers), _read_answers),
    "label names": Auxiliary(lambda: b'[{"id": 0, "text": "O"}, {"id": 1, "text": "PER"}]', _read_label_names),
}


def auxiliary_outcome(kind: str, content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        return _use(kind, path)


def _use(kind: str, path: Path) -> str:
    try:
        AUXILIARY[kind].read(path)
    except PostilError as error:
        return _told(error, "refused")
    except OSError as error:  # which the command line shows in one line
        assert error.filename is not None and error.strerror is not None, repr(error)
        return "refused"
    return "answered"


def _deep(data: bytes, rng: random.Random) -> bytes:
    """A JSON value replaced by one that is nested deeply."""
    deep = rng.choice([b"[" * 100_000, b"[" * 900 + b"]" * 900, b'{"a":' * 300 + b"1" + b"}" * 300])
    places = [i + 1 for i, byte in enumerate(data) if byte in b":,["]
    place = rng.choice(places or [0])
    return data[:place] + deep + data[place:]


HOSTILE = [b"1e999", b"-1", b"9" * 5000, b"NaN", b"null", b"true", b"{}", b"[]", b'"x"', b"1.5", b"1" + b"0" * 400]


def _other_value(data: bytes, rng: random.Random) -> bytes:
    """A number or a text replaced by something else."""
    try:
        value = parsed_json(data.split(b"\n")[0])
        paths = [path for path in forgeries.paths(value) if path]
    except ValueError:
        paths = []
    if not paths:
        return data.replace(rng.choice([b"0", b"1", b"5", b" "]), rng.choice(HOSTILE), 1)
    inner, path = value, rng.choice(paths)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = rng.choice([None, True, -1, 10**30, 0.5, "x", "\x1b[31m", [], {}, {"a": 1}, [1], "x" * 100_000])
    return json.dumps(value).encode() + b"\n" + b"\n".join(data.split(b"\n")[1:])


def mutated(kind: str, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The genuine file, and damaged and hostile ones."""
    genuine, rng = AUXILIARY[kind].genuine(), random.Random(f"{seed}/{kind}")
    yield "the genuine file", genuine
    plain = gzip.decompress(genuine) if genuine[:2] == b"\x1f\x8b" else genuine
    for number in range(count):
        data = plain
        for _ in range(rng.randint(1, 3)):
            data = rng.choice([mutate, mutate, mutate, _other_value, _deep])(data or b" ", rng)
        if genuine is not plain or rng.random() < 0.1:
            data = gzip.compress(data, 1)
            data = mutate(data, rng) if rng.random() < 0.7 else data
        yield f"{kind}, seed {seed}, file {number}", data


def mutated_files(kind: str, count: int, seed: int) -> tuple[Any, list[str]]:
    return forgeries.tried(partial(mutated, kind, count, seed), partial(auxiliary_outcome, kind), seconds_at_most=5.0)


# ------------------------------------------------------------------------------------------------ bombs, special files

BOMB = 6 << 30
"""Bytes that a bomb unpacks to."""


def _bomb(line: bytes) -> bytes:
    """A few megabytes of gzip that unpack to gigabytes of a line, repeated."""
    stream, block = io.BytesIO(), line * (min(16 << 20, BOMB) // len(line))
    once = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = once.compress(block) + once.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    stream.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
    for _ in range(BOMB // len(block)):
        stream.write(piece)
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.getvalue() + end.flush() + checksum.to_bytes(4, "little") + (BOMB & 0xFFFFFFFF).to_bytes(4, "little")


def bombs(kind: str) -> Iterator[tuple[str, bytes]]:
    """Small files that would become large ones."""
    yield "the genuine file", AUXILIARY[kind].genuine()
    lines = {"zeros": b"\0", "lines": b"a 1\n", "clusters": b"0\ta\n", "JSON": b"[", "blank": b"\n", "spaces": b" "}
    for name, line in lines.items():
        yield f"{kind}: a bomb of {name}", _bomb(line)
    for name, line in lines.items():
        yield f"{kind}: 32 MB of {name}", line * ((32 << 20) // len(line))
    yield f"{kind}: one vector of 200,000 dimensions", b"a" + b" 1.0" * 200_000
    yield f"{kind}: a header that promises much", b"9999999 9999\na 1\n"
    yield f"{kind}: a binary file that promises much", b"9999999 9999\na \0\1\2\xff"


def bombed_files(kind: str) -> tuple[Any, list[str]]:
    """Bombs are refused within seconds, and with less memory than they unpack to."""
    cases, outcome = partial(bombs, kind), partial(auxiliary_outcome, kind)
    return forgeries.tried(cases, outcome, seconds_at_most=60.0, megabytes=1500)


@contextlib.contextmanager
def special_files(folder: Path) -> Iterator[dict[str, Path]]:
    """Things in a file system that are no regular files."""
    names = {name: folder / name for name in ("pipe", "folder", "socket", "broken link")}
    os.mkfifo(names["pipe"])
    names["folder"].mkdir()
    names["broken link"].symlink_to("nowhere")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(names["socket"]))
        yield names | {name: Path("/dev", name) for name in ("zero", "full", "null")}


USES: dict[str, Callable[[Path], object]] = {
    **{kind: one.read for kind, one in AUXILIARY.items() if kind not in ("label names", "answers")},
    "model": postil.load,
    "checkpoint": lambda path: _tagger(path, True),
    "pretrained": lambda path: postil.Tagger(pretrained=path, **TINY).fit(*corpus(4)),
}


def use_special(use: str, path: Path) -> str:
    try:
        USES[use](path)
    except (PostilError, OSError) as error:
        assert is_printable(str(error)) and len(str(error)) < 1000, repr(str(error)[:500])
        return "refused"
    return "answered"

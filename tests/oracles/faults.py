"""Everything that can go wrong around a command, done to it on purpose: kills, signals, full disks, damaged files.

Each trial below injects faults at moments drawn from ``rng`` and checks what must hold whatever happens. It returns
counts of what it saw, and raises ``Violation`` where a promise is broken. ``benchmarks/faults.py`` is the campaign.
"""

import contextlib
import gzip
import importlib
import importlib.util
import io
import json
import os
import random
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import postil
from oracles import forged_crfs as forged_crf_files
from oracles import forgeries, strangers
from oracles.corpora import as_conll, named_entities
from oracles.golden import FOLDER, answers
from oracles.mutations import mutate
from postil import archive
from postil.errors import PostilError
from postil.models import storage
from postil.tagging import Labeller, TaggingOptions
from postil.text import read
from postil.text.output import write_text

ENDS_WITHIN = 2.0
"""Seconds in which a signal ends everything."""
SLACK = 6.0
"""More seconds for machines that are doing other things."""
COMMAND = """
import json, os, resource, sys
from postil.commands.main import main
from postil.tagging import bulk, workers
given = json.loads(os.environ["POSTIL_FAULTS"])
bulk.PASSAGE, bulk.ALONE, workers.LOST_AFTER = 3000, 1, 4.0
if given["limit"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["limit"],) * 2)
os.write(given["ready"], b".")
sys.exit(main(sys.argv[1:]))
"""
SMALL = [*"--set epochs=3 --set hidden=12 --set word_dim=8 --set batch_sentences=4".split(), "-o", "m"]
TRAININGS = {
    "tagger": ["train", "train.txt", "--dev", "dev.txt", *SMALL],
    "tagger without dev, two threads": ["train", "train.txt", "--threads", "2", *SMALL],
    "detector": ["train", "train.txt", "--dev", "dev.txt", "--preset", "margin", "--label", "LOC", *SMALL],
    "trees": ["train", "train.trees", *"--set epochs=3 --set hidden=8 --set batch_trees=4".split(), "-o", "m"],
}
GOLDEN = {path.name: path.read_bytes for path in sorted(FOLDER.glob("*.postil"))}
Trial = Callable[["Laboratory", random.Random], Counter[str]]


class Violation(AssertionError):
    """Something that must hold under faults does not."""


def demand(holds: object, what: str) -> None:
    if not holds:
        raise Violation(what)


class Laboratory:
    """A folder with data, and what commands write when nobody disturbs them; each made once, when it is needed."""

    def __init__(
        self,
        folder: Path,
        *,
        repeats: int = 100,
        models: Mapping[str, Callable[[], bytes]] = GOLDEN,
        forgeries: int = 150,
    ) -> None:
        """``repeats``: how long the text is that is tagged; ``models`` are forged and damaged.

        ``forgeries`` are tried in a trial.
        """
        self.folder, self._models, self.forgeries = folder, models, forgeries
        self._made: dict[str, bytes] = {}
        (folder / "data").mkdir()
        (folder / "tmp").mkdir()
        data = folder / "data"
        (data / "train.txt").write_text(as_conll(*named_entities(60)))
        (data / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
        (data / "train.trees").write_text("(3 (2 a) (3 good))\n(1 (2 a) (1 (2 very) (1 bad)))\n" * 15)
        (data / "long.txt").write_text("".join(" ".join(tokens) + "\n" for tokens in named_entities(60)[0] * repeats))
        self._trained: dict[str, tuple[bytes, float]] = {}
        self._outputs: dict[tuple[str, ...], tuple[bytes, float]] = {}

    @property
    def model(self) -> Path:
        """A tagger."""
        path = self.folder / "tagger.postil"
        if not path.exists():
            postil.Tagger(hidden=12, word_dim=8, epochs=3, rate=0.02).fit(*named_entities(60)).save(path)
        return path

    def any_model(self, rng: random.Random) -> tuple[str, bytes]:
        """One of the models to forge and damage, and its file."""
        name = rng.choice(sorted(self._models))
        if name not in self._made:
            self._made[name] = self._models[name]()
        return name, self._made[name]

    def trained(self, name: str) -> tuple[bytes, float]:
        """The model file of an uninterrupted training, and how long that took."""
        if name not in self._trained:
            with self.room() as room:
                running = Running(self, TRAININGS[name], room)
                began = time.monotonic()
                demand(running.finish() == 0, f"{name}: {running.errors}")
                self._trained[name] = (room / "m").read_bytes(), time.monotonic() - began
        return self._trained[name]

    def output(self, *words: str) -> tuple[bytes, float]:
        """What a command prints, and how long that takes."""
        if words not in self._outputs:
            with self.room() as room:
                running = Running(self, list(words), room)
                began = time.monotonic()
                demand(running.finish() == 0, f"{words}: {running.errors}")
                self._outputs[words] = running.output, time.monotonic() - began
        return self._outputs[words]

    @contextlib.contextmanager
    def room(self) -> Iterator[Path]:
        """A folder with the data; nothing but what is expected may be there in the end, nor in the temporary folder."""
        room = self.folder / f"room-{secrets.token_hex(4)}"
        room.mkdir()
        for path in (self.folder / "data").iterdir():
            (room / path.name).symlink_to(path)
        yield room
        left = [path.name for path in [*room.iterdir(), *(self.folder / "tmp").iterdir()]]
        demand(not [name for name in left if name.startswith((".", "tmp"))], f"left over: {left}")
        for path in room.iterdir():
            path.unlink()
        room.rmdir()


class Running:
    """A command in a process of its own, whose main function has begun."""

    def __init__(
        self, lab: Laboratory, words: list[str], room: Path, *, limit: int = 0, to: Path | None = None
    ) -> None:
        self._output = to or lab.folder / f"out-{secrets.token_hex(4)}"
        self._errors = lab.folder / f"err-{secrets.token_hex(4)}"
        self._keeps_output = to is not None
        self.mark = secrets.token_hex(8)
        begins, ready = os.pipe()
        environment = {"POSTIL_FAULTS": json.dumps({"limit": limit, "ready": ready, "mark": self.mark})}
        with self._output.open("wb") as out, self._errors.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=room,
                env=os.environ | environment | {"TMPDIR": str(lab.folder / "tmp")},
                pass_fds=[ready],
                start_new_session=True,
            )
        os.close(ready)
        select.select([begins], [], [], 60)
        os.close(begins)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within some seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def finish(self, seconds: float = 120.0) -> int:
        """The exit code; the processes that it started have ended, too."""
        if not self.wait(seconds):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise Violation(f"no end after {seconds:.0f} s: {self.process.args[3:]}")
        ends = time.monotonic() + ENDS_WITHIN + SLACK
        while (left := self.others()) and time.monotonic() < ends:
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.errors = self._errors.read_text()
        self._errors.unlink()
        if not self._keeps_output:
            self.output = self._output.read_bytes()
            self._output.unlink()
        demand(not left, f"{len(left)} processes were left behind")
        demand("Traceback" not in self.errors, self.errors)
        return self.process.returncode

    def others(self) -> list[int]:
        """The processes that it started, and that are still there."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                if self.mark.encode() in (path / "environ").read_bytes() and int(path.name) != self.process.pid:
                    state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                    found += [int(path.name)] * (state != "Z")
        return found


CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


def ended_by(running: Running, number: signal.Signals, is_complete: bool) -> str:
    """Check the exit code and the message after a signal."""
    code, what = CODES[number]
    found = running.process.returncode
    if found == code:
        demand(any(line.startswith(f"postil: {what}") for line in running.errors.splitlines()), running.errors)
        return f"{number.name}: exit {code}"
    # The signal came when everything was written, or before anything was done.
    demand(is_complete or found == -number, f"{number.name}: exit {found}: {running.errors}")
    return f"{number.name}: too late"


# ------------------------------------------------------------------------------------------------ training


def killed_training(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Kills and signals at random moments; resumed, the training writes the same bytes as an undisturbed one."""
    name = rng.choice(list(TRAININGS))
    expected, seconds = lab.trained(name)
    counts: Counter[str] = Counter()
    with lab.room() as room:
        model, checkpoint = room / "m", room / "m.checkpoint"
        for _ in range(rng.randint(1, 3)):
            number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
            running = Running(lab, _resumed(name, checkpoint), room)
            if not running.wait(rng.uniform(0, seconds)):
                running.process.send_signal(number)
                _demand_quick_end(running)
            code = running.finish()
            demand(not model.exists() or model.read_bytes() == expected, f"{name}: half a model")
            if checkpoint.exists():
                archive.check(checkpoint)
            if code == 0:
                counts["too late"] += 1
            elif number == signal.SIGKILL:
                demand(code == -9, f"exit {code}: {running.errors}")
                counts["killed"] += 1
            else:
                counts[ended_by(running, number, model.exists())] += 1
        if code != 0:  # the next run also removes what a kill has left
            counts["resumed" if checkpoint.exists() else "begun again"] += 1
            running = Running(lab, _resumed(name, checkpoint), room)
            demand(running.finish() == 0, f"{name}: {running.errors}")
        demand(model.read_bytes() == expected, f"{name}: other bytes than an undisturbed training")
    counts["equal bytes"] += 1
    return counts


def _resumed(name: str, checkpoint: Path) -> list[str]:
    return [*TRAININGS[name], *(["--resume"] if checkpoint.exists() else [])]


def _demand_quick_end(running: Running) -> None:
    demand(running.wait(ENDS_WITHIN + SLACK), f"no end within {ENDS_WITHIN + SLACK} s of a signal")


SAVE_FOR_EVER = """
import itertools, sys
import numpy as np
from postil import archive, files
from postil.text.output import write_text
for number in itertools.count(1):
    archive.save("model", {"x": np.full(100_000, number)}, {"number": number})
    write_text("text.gz", (f"{number}\\n" for _ in range(50_000)))
    files.append_line("log", f"[{number}]")
    if number == 1:
        print("ready", flush=True)
"""


def killed_saving(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Kills while files are written: each is the old one or the new one, and what is left over is removed."""
    counts: Counter[str] = Counter()
    with lab.room() as room:
        for _ in range(4):
            command = [sys.executable, "-c", SAVE_FOR_EVER]
            with subprocess.Popen(command, cwd=room, stdout=subprocess.PIPE) as process:
                process.stdout.readline()  # type: ignore[union-attr]
                time.sleep(rng.uniform(0, 0.15))
                process.kill()
            arrays, metadata = archive.load(room / "model")
            demand((arrays["x"] == metadata["number"]).all(), "a model of two saves")
            lines = gzip.decompress((room / "text.gz").read_bytes()).split()
            demand(len(lines) == 50_000 and len(set(lines)) == 1, "half a text")
            demand(all(map(json.loads, (room / "log").read_text().splitlines())), "half a line in a log")
            counts["killed while saving"] += 1
            counts["left a partial file"] += any(path.name.endswith(".partial") for path in room.iterdir())
        archive.save(room / "model", {}, {})
        write_text(room / "text.gz", [])
    return counts


# ------------------------------------------------------------------------------------------------ full disks


def full_disk(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Outputs that cannot be written, or not to the end: one line that names them, and the old file stays."""
    what = rng.choice(["standard output", "training", "convert", "report"])
    if what == "standard output":
        return _full_output(lab, rng)
    if what == "training":
        name = rng.choice(list(TRAININGS))
        words, target, expected = TRAININGS[name], "m", lab.trained(name)[0]
    elif what == "convert":
        words, target = ["convert", "train.txt", "m.jsonl"], "m.jsonl"
        expected = _undisturbed(lab, words, target)
    else:
        words, target = ["evaluate", str(lab.model), "dev.txt", "--report", "m.html"], "m.html"
        expected = _undisturbed(lab, words, target)
    limit = rng.randint(1, round(1.3 * len(expected)))
    with lab.room() as room:
        old = expected if rng.random() < 0.5 else None
        if old is not None:
            (room / target).write_bytes(old)
        running = Running(lab, words, room, limit=limit)
        code = running.finish()
        demand(code == (0 if limit >= len(expected) else 1), f"{what}: exit {code}: {running.errors}")
        lines = running.errors.splitlines()
        if code:
            demand(lines[-1].startswith(f"postil: {target}: ") and "File too large" in lines[-1], running.errors)
            demand(not (room / target).exists() or (room / target).read_bytes() == old, "half a file")
        else:
            demand(len((room / target).read_bytes()) == len(expected), "another file")
        warned = "cannot write the checkpoint (File too large)" in running.errors
    return Counter({f"{what}: {'refused' if code else 'written'}": 1, "checkpoints not written": int(warned)})


def _undisturbed(lab: Laboratory, words: list[str], target: str) -> bytes:
    with lab.room() as room:
        running = Running(lab, words, room)
        demand(running.finish() == 0, running.errors)
        return (room / target).read_bytes()


def _full_output(lab: Laboratory, rng: random.Random) -> Counter[str]:
    words = ["tag", str(lab.model), "long.txt", "--from", "tokens", "--threads", str(rng.randint(1, 2))]
    with lab.room() as room:
        running = Running(lab, words, room, to=Path("/dev/full"))
        code = running.finish()
    demand(code == 1, f"exit {code}: {running.errors}")
    demand(running.errors == "postil: standard output: No space left on device\n", running.errors)
    return Counter({"standard output: refused": 1})


# ------------------------------------------------------------------------------------------------ models, inputs


def forged_models(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Forged fields with correct checksums: refused in one line, quickly, or harmless."""
    name, content = lab.any_model(rng)
    return _forgeries(name, forgeries.run(content, count=lab.forgeries, seed=rng.randrange(2**31)))


def forged_checkpoints(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Checkpoints of every kind of training, forged with correct checksums: refused in one line, or trained on."""
    kind = rng.choice(sorted(strangers.CHECKPOINTS))
    return _forgeries(kind, strangers.forged_checkpoints(kind, lab.forgeries, rng.randrange(2**31)))


def mutated_files(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Damaged and hostile vectors, clusters, gazetteers, answers and settings: read, or refused in one line."""
    kind = rng.choice(sorted(strangers.AUXILIARY))
    return _forgeries(kind, strangers.mutated_files(kind, lab.forgeries, rng.randrange(2**31)))


def _forgeries(kind: str, found: tuple[Counter[str], list[str]]) -> Counter[str]:
    counts, wrong = found
    demand(not wrong, f"{kind}: {wrong[:3]}")
    return Counter({f"forgeries {what}": number for what, number in counts.items()})


def forged_crfs(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Forged CRF models, CRFsuite's where that is installed: refused in one line, quickly, or finite answers."""
    makers = [forged_crf_files.trained]
    if importlib.util.find_spec("pycrfsuite") is not None:
        makers.append(forged_crf_files.trained_by_crfsuite)
    counts, wrong = forgeries.run(
        rng.choice(makers)(), count=500, seed=rng.randrange(2**31), of=forged_crf_files.__name__
    )
    demand(not wrong, f"{wrong[:3]}")
    return Counter({f"forgeries {what}": number for what, number in counts.items()})


def bombs(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Small files that unpack to gigabytes, and lines and vectors without an end: refused within bounds of memory."""
    kind = rng.choice(sorted(strangers.AUXILIARY))
    counts, wrong = strangers.bombed_files(kind)
    demand(not wrong, f"{kind}: {wrong[:3]}")
    return Counter({f"bombs {what}": number for what, number in counts.items()})


def special_files(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Pipes, devices, sockets and folders where files are expected: refused at once, whatever the file is for."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, strangers.special_files(Path(folder)) as paths:
        for use in strangers.USES:
            for name, path in paths.items():
                if name == "folder" and use == "gazetteer":
                    continue  # all files of a folder are gazetteers
                with _in_time(f"{use}: {name}"):
                    found = strangers.use_special(use, path)
                demand(found == "refused", f"{use}: {name} was {found}")
                counts["special files refused"] += 1
    return counts


@contextlib.contextmanager
def _in_time(what: str, seconds: int = 60) -> Iterator[None]:
    def hang(number: int, frame: object) -> None:
        raise Violation(f"{what}: no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def parts_folders(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Parts of a folder that are cut, changed, exchanged or removed: the next run writes them again as they were."""
    if importlib.util.find_spec("pyarrow") is None:
        return Counter({"not tried: no pyarrow": 1})
    from postil.integrations.column_files import TableJob, tag_files

    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        source, folder = Path(name, "texts.csv"), Path(name, "out")
        _parquet_of_texts(source.with_suffix(".parquet"))
        files, model, job = [str(source.with_suffix(".parquet"))], postil.load(lab.model), TableJob()
        tag_files(files, model, job, folder)
        genuine = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
        for _ in range(20):
            changed = {}
            for part in rng.sample(sorted(genuine), rng.randint(1, len(genuine))):
                how = rng.choice(sorted(DAMAGE))
                DAMAGE[how](folder / part, genuine, rng)
                path = folder / part
                changed[part] = how if not path.is_file() or path.read_bytes() != genuine[part] else "nothing changed"
                counts[changed[part]] += 1
            receipt = rng.random() < 0.2
            if receipt:
                path = rng.choice(sorted((folder / "_parts").iterdir()))
                path.write_bytes(_damaged(path.read_bytes(), rng))
            tag_files(files, model, job, folder)
            found = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
            demand(found == genuine, f"parts other than written at first, after {changed}")
    return counts


def _parquet_of_texts(path: Path) -> None:
    pa, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    texts = [" ".join(tokens) for tokens in named_entities(12)[0]]
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=3)


def _exchange(path: Path, genuine: Mapping[str, bytes], rng: random.Random) -> None:
    path.write_bytes(genuine[rng.choice(sorted(genuine))])


def _become_a_pipe(path: Path, genuine: Mapping[str, bytes], rng: random.Random) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


DAMAGE: dict[str, Callable[[Path, Mapping[str, bytes], random.Random], object]] = {
    "damaged": lambda path, genuine, rng: path.write_bytes(_damaged(genuine[path.name], rng)),
    "emptied": lambda path, genuine, rng: path.write_bytes(b""),
    "exchanged": _exchange,
    "removed": lambda path, genuine, rng: path.unlink(missing_ok=True),
    "replaced by a pipe": _become_a_pipe,
}


def damaged_models(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Files that a disk or a transfer has damaged: refused, never other answers."""
    name, content = lab.any_model(rng)
    counts: Counter[str] = Counter()
    expected = answers(storage.from_bytes(content))
    for _ in range(60):
        damaged = _damaged(content, rng)
        try:
            found = answers(storage.from_bytes(damaged))
        except PostilError:
            counts["refused"] += 1
            continue
        demand(found == expected, f"{name}: a damaged file answers otherwise")
        counts["answered alike"] += 1
    return counts


def _damaged(content: bytes, rng: random.Random) -> bytes:
    place = rng.choice([rng.randrange(len(content)), rng.randrange(min(4096, len(content)))])
    size = rng.choice([1, 8, 512])
    how = rng.randrange(5)
    if how == 0:
        return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    if how == 1:
        return content[:place]
    if how == 2:
        return content[:place] + bytes(size) + content[place + size :]
    if how == 3:
        return content[:place] + content[place + size :]
    return content + rng.randbytes(size)


def mutated_inputs(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Damaged inputs through both tagging paths: equal bytes and equal mistakes."""
    X, Y = named_entities(12, seed=rng.randrange(1000))
    tokens = "".join(" ".join(words) + "\n" for words in X).encode()
    labeller = Labeller(postil.load(lab.model), TaggingOptions())
    counts: Counter[str] = Counter()
    for _ in range(200):
        format = rng.choice(["conll", "tokens", "text"])
        data = mutate(as_conll(X, Y).encode() if format == "conll" else tokens, rng)
        try:
            with read(io.BytesIO(data), format, features=()) as reading:
                passages = list(reading.passages(rng.choice([200, 1 << 19])))
        except PostilError:
            counts["not read"] += 1
            continue
        for passage in passages:
            found, expected = labeller.label(passage), labeller.general.label(passage)
            demand(found.content == expected.content, f"the paths differ on {passage.text!r}")
            demand(str(found.mistake) == str(expected.mistake), f"other mistakes in {passage.text!r}")
            demand(found.tokens == expected.tokens or found.mistake, f"other counts in {passage.text!r}")
        counts["both refuse" if found.mistake else "equal bytes"] += 1
    return counts


# ------------------------------------------------------------------------------------------------ workers, signals

TAG = ("tag", "long.txt", "--from", "tokens", "--probabilities")


def _tag_words(lab: Laboratory, threads: int) -> list[str]:
    return [TAG[0], str(lab.model), *TAG[1:], "--threads", str(threads)]


def lost_workers(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """Workers that are killed or stopped: the output is complete and in order all the same."""
    expected, _ = lab.output(*_tag_words(lab, 1))
    _, seconds = lab.output(*_tag_words(lab, 2))
    counts: Counter[str] = Counter()
    with lab.room() as room:
        running = Running(lab, _tag_words(lab, 2), room)
        for _ in range(rng.randint(1, 3)):
            running.wait(rng.uniform(0, seconds / 2))
            for pid in running.others()[: rng.randint(1, 2)]:
                number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
                    counts[f"workers: {number.name}"] += 1
        code = running.finish()
        demand(code == 0, f"exit {code}: {running.errors}")
        demand(running.output == expected, "another output after the loss of a worker")
    counts["outputs complete and in order"] += 1
    return counts


def signals_while_tagging(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """SIGINT and SIGTERM at random moments, with workers that may be stopped: all end soon, with the right code."""
    threads = rng.randint(1, 2)
    expected, _ = lab.output(*_tag_words(lab, 1))
    _, seconds = lab.output(*_tag_words(lab, threads))
    number = rng.choice(list(CODES))
    counts: Counter[str] = Counter()
    with lab.room() as room:
        running = Running(lab, _tag_words(lab, threads), room)
        running.wait(rng.uniform(0, seconds))
        for pid in running.others()[: rng.randint(0, 2)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                counts["workers: SIGSTOP"] += 1
        began = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.process.pid, number)
        _demand_quick_end(running)
        took = time.monotonic() - began
        running.finish()
        demand(expected.startswith(running.output), "an output that is not the beginning of the right one")
        counts[ended_by(running, number, running.output == expected)] += 1
    counts[f"ended within {ENDS_WITHIN:.0f} s" if took <= ENDS_WITHIN else "ended later (a busy machine)"] += 1
    return counts


def killed_tagging(lab: Laboratory, rng: random.Random) -> Counter[str]:
    """SIGKILL of the command itself: its workers end, too, also stopped ones."""
    _, seconds = lab.output(*_tag_words(lab, 2))
    counts: Counter[str] = Counter()
    with lab.room() as room:
        running = Running(lab, _tag_words(lab, 2), room)
        running.wait(rng.uniform(0, seconds))
        workers = running.others()
        for pid in workers[: rng.randint(0, 2)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                counts["workers: SIGSTOP"] += 1
        running.process.kill()
        running.finish()
    counts["killed with workers" if workers else "killed without workers"] += 1
    return counts


TRIALS: dict[str, Trial] = {
    "training killed and resumed": killed_training,
    "killed while saving": killed_saving,
    "full disk": full_disk,
    "forged models": forged_models,
    "forged CRF models": forged_crfs,
    "forged checkpoints": forged_checkpoints,
    "mutated files": mutated_files,
    "bombs": bombs,
    "special files": special_files,
    "parts folders": parts_folders,
    "damaged models": damaged_models,
    "mutated inputs, both paths": mutated_inputs,
    "workers killed or stopped": lost_workers,
    "signals while tagging": signals_while_tagging,
    "tagging killed": killed_tagging,
}


FORGING = ("forged models", "forged CRF models", "forged checkpoints", "mutated files")
"""Trials that count forgeries."""


def run(lab: Laboratory, name: str, seed: int, number: int) -> Counter[str]:
    """One trial; the same seed and number do the same, as far as moments can be the same."""
    try:
        return TRIALS[name](lab, random.Random(f"{seed}/{name}/{number}"))
    except Violation as violation:
        raise Violation(f"{name}, seed {seed}, trial {number}: {violation}") from None

"""Model files as an attacker would write them: every field of a genuine one replaced, all checksums repaired.

A forged file must be refused in one clear line, quickly and without much memory, or make a model that answers.
``run`` tries many in one child process, so that a crash, a hang or gigabytes are the child's; ``benchmarks/forging.py``
is the long campaign.
"""

import gc
import importlib
import json
import multiprocessing
import random
import resource
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

import numpy as np

import postil
from oracles.golden import TREES, answers, with_columns
from postil.archive import BLOCK
from postil.errors import ModelFileError, PostilError, is_printable
from postil.models import storage
from postil.reports import sections
from postil.reports.sections import Heading

SECONDS = 1.0
"""Of CPU time, in which a forgery is refused."""
MEGABYTES = 200
"""That it takes at most."""
_HANGS_AFTER = 120  # seconds: a busy machine may let a process wait for long
_RAW = "\x02raw:"  # a text that begins so is written into the JSON without quotes


# ------------------------------------------------------------------------------------------------ drafts of files


@dataclass
class Draft:
    """A model file taken apart: what ``packed`` writes may be nonsense, but its checksums are right."""

    metadata: dict
    arrays: dict[str, tuple[str, list, bytes]]  # name -> dtype, shape, bytes
    padding: int | None = None  # spaces after the header; None: as many as align the data
    more: str = ""  # put into the header after the last array
    places: dict[str, list] = field(default_factory=dict)  # name -> data_offsets other than the true ones

    @classmethod
    def of(cls, content: bytes) -> "Draft":
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        metadata = json.loads(header.pop("__metadata__")["content"])["metadata"]
        data = content[8 + length :]
        return cls(
            metadata,
            {n: (e["dtype"], e["shape"], data[slice(*e["data_offsets"])]) for n, e in header.items()},
        )

    def copy(self) -> "Draft":
        return Draft(json.loads(json.dumps(self.metadata)), dict(self.arrays), self.padding, self.more)

    def packed(self) -> bytes:
        checksums = {
            name: [zlib.crc32(data[i : i + BLOCK]) for i in range(0, len(data), BLOCK)]
            for name, (_, _, data) in self.arrays.items()
        }
        content = _with_raw(json.dumps({"metadata": self.metadata, "checksums": checksums}))
        entries, end = "", 0
        for name, (dtype, shape, data) in self.arrays.items():
            place = self.places.get(name, [end, end + len(data)])
            entry = {"dtype": dtype, "shape": shape, "data_offsets": place}
            entries += f",{json.dumps(name)}:{_with_raw(json.dumps(entry))}"
            end += len(data)
        rest = f'","content":{json.dumps(content)}}}{entries}{self.more}}}'.encode()
        begin = b'{"__metadata__":{"postil":"2","checksum":"'
        rest += b" " * (-(16 + len(begin) + len(rest)) % 64 if self.padding is None else self.padding)
        length = (len(begin) + 8 + len(rest)).to_bytes(8, "little")
        checksum = b"%08x" % zlib.crc32(rest, zlib.crc32(length))
        return length + begin + checksum + rest + b"".join(data for _, _, data in self.arrays.values())


def _with_raw(text: str) -> str:
    mark = json.dumps(_RAW)[1:-1]
    while mark in text:
        before, _, after = text.partition('"' + mark)
        raw, _, after = after.partition('"')
        text = before + raw.replace("'", '"') + after
    return text


Forgery = tuple[str, Callable[[Draft], None]]


# ------------------------------------------------------------------------------------------------ the metadata

HOSTILE = {
    "nothing": None,
    "true": True,
    "minus one": -1,
    "zero": 0,
    "three": 3,
    "a billion": 10**9,
    "2**63": 2**63,
    "10**400": 10**400,
    "a half": 0.5,
    "1e300": 1e300,
    "1e999": _RAW + "1e999",
    "NaN": _RAW + "NaN",
    "-Infinity": _RAW + "-Infinity",
    "empty text": "",
    "text": "none",
    "control characters": "\x1b[31mB\n\r\x00\x9b\u202e",
    "half a pair": "\ud800",
    "long text": "x" * 200_000,
    "empty list": [],
    "list": [1],
    "list of texts": ["O", "O"],
    "long list": [1] * 100_000,
    "many texts": [f"C{i}" for i in range(20_000)],
    "empty object": {},
    "object": {"a": {"b": 1}},
    "deep": _RAW + "[" * 900 + "]" * 900,
    "very deep": _RAW + "[" * 100_000 + "]" * 100_000,
}
HOSTILE["a name twice"] = _RAW + "{'a': 1, 'a': 2}"  # with the other quotes, which _with_raw turns


def paths(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Every place in a JSON value, objects and lists themselves too."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def _parent(metadata: dict, path: tuple) -> object:
    for key in path[:-1]:
        metadata = metadata[key]
    return metadata


def replaced(path: tuple, name: str) -> Forgery:
    def forge(draft: Draft) -> None:
        _parent(draft.metadata, path)[path[-1]] = HOSTILE[name]

    return f"{'.'.join(map(str, path))} = {name}", forge


def deleted(path: tuple) -> Forgery:
    def forge(draft: Draft) -> None:
        del _parent(draft.metadata, path)[path[-1]]

    return f"{'.'.join(map(str, path))} deleted", forge


def added(path: tuple) -> Forgery:
    def forge(draft: Draft) -> None:
        value = draft.metadata
        for key in path:
            value = value[key]
        if isinstance(value, dict):
            value["\x1bsurprise"] = 1
        else:
            value.extend(value or [0])

    return f"{'.'.join(map(str, path))} with more", forge


def of_metadata(draft: Draft) -> Iterator[Forgery]:
    for path in list(paths(draft.metadata)):
        value = draft.metadata
        for key in path:
            value = value[key]
        if isinstance(value, dict | list):
            yield added(path)
        if path:
            yield deleted(path)
            yield from (replaced(path, name) for name in HOSTILE)


# ------------------------------------------------------------------------------------------------ the arrays

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
FILLS = {
    "zeros": 0,
    "ones": 1,
    "minus one": -1,
    "most": "most",
    "least": "least",
    "nan": np.nan,
    "infinite": np.inf,
    "huge": 1e38,
    "random bytes": None,
}


def _array(draft: Draft, name: str) -> np.ndarray:
    dtype, shape, data = draft.arrays[name]
    return np.frombuffer(data, DTYPES[dtype]).reshape(shape)


def _put(draft: Draft, name: str, array: np.ndarray) -> None:
    codes = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
    draft.arrays[name] = codes[array.dtype], list(array.shape), np.ascontiguousarray(array).tobytes()


def filled(name: str, fill: str) -> Forgery:
    def forge(draft: Draft) -> None:
        array = _array(draft, name)
        value = FILLS[fill]
        if value is None:
            count = array.nbytes
            data = np.random.default_rng(count).integers(0, 256, count, np.uint8)
            if array.dtype == bool:
                data &= 1
            _put(draft, name, data.view(array.dtype).reshape(array.shape))
            return
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(np.float32)
        value = {"most": limits.max, "least": limits.min}.get(value, value)
        with np.errstate(all="ignore"):
            _put(draft, name, np.full(array.shape, np.asarray(value, np.float64).astype(array.dtype)))

    return f"{name} full of {fill}", forge


def reshaped(name: str, what: str) -> Forgery:
    def forge(draft: Draft) -> None:
        array = _array(draft, name)
        flat = array.reshape(-1)
        _put(
            draft,
            name,
            {
                "shorter": lambda: array[:-1] if array.ndim else array[None],
                "longer": lambda: np.concatenate([array, array[-1:]]) if array.ndim else array[None],
                "empty": lambda: flat[:0],
                "flat": lambda: np.concatenate([flat, flat[:1]]) if array.ndim == 1 else flat,
                "column": lambda: flat[:, None],
                "eight dimensions": lambda: flat.reshape(1, 1, 1, 1, 1, 1, 1, -1),
                "transposed": lambda: np.ascontiguousarray(array.T) if array.ndim > 1 else flat[::-1],
                "times a thousand": lambda: np.tile(array, [1000] + [1] * (array.ndim - 1)) if array.ndim else array,
                "a number": lambda: flat[0] if flat.size else array,
            }[what](),
        )

    return f"{name} {what}", forge


SHAPES = (
    "shorter",
    "longer",
    "empty",
    "flat",
    "column",
    "eight dimensions",
    "transposed",
    "times a thousand",
    "a number",
)


def cast(name: str, code: str) -> Forgery:
    def forge(draft: Draft) -> None:
        with np.errstate(all="ignore"):
            _put(draft, name, _array(draft, name).astype(DTYPES[code]))

    return f"{name} as {code}", forge


def removed(name: str) -> Forgery:
    return f"{name} removed", lambda draft: draft.arrays.pop(name) and None


def renamed(name: str) -> Forgery:
    def forge(draft: Draft) -> None:
        draft.arrays[name + "\x07"] = draft.arrays.pop(name)

    return f"{name} renamed", forge


def copied(name: str) -> Forgery:
    def forge(draft: Draft) -> None:
        draft.arrays[f"network/{name}"] = draft.arrays[name]

    return f"{name} once more", forge


def exchanged(name: str) -> Forgery:
    """Values at the edges of what is allowed: one number changed."""

    def forge(draft: Draft) -> None:
        array = _array(draft, name).copy()
        if array.size and array.dtype.kind in "iu":
            array.reshape(-1)[array.size // 2] = np.iinfo(array.dtype).max // 2
        elif array.size and array.dtype.kind == "f":
            array.reshape(-1)[array.size // 2] = np.nan
        _put(draft, name, array)

    return f"{name} with one number changed", forge


def of_arrays(draft: Draft) -> Iterator[Forgery]:
    for name in draft.arrays:
        yield from (removed(name), renamed(name), copied(name), exchanged(name))
        yield from (filled(name, fill) for fill in FILLS if draft.arrays[name][0][0] == "F" or fill in _OF_INTEGERS)
        yield from (reshaped(name, what) for what in SHAPES)
        yield from (cast(name, code) for code in DTYPES if code != draft.arrays[name][0])


_OF_INTEGERS = ("zeros", "ones", "minus one", "most", "least", "random bytes")


# ------------------------------------------------------------------------------------------------ the header


def of_header(draft: Draft) -> Iterator[Forgery]:
    def change(what: str, **values: object) -> Forgery:
        def forge(draft: Draft) -> None:
            for name, value in values.items():
                setattr(draft, name, value)

        return what, forge

    for spaces in range(8):
        yield change(f"{spaces} spaces after the header", padding=spaces)
    yield change("a header of 90 MB", padding=90_000_000)
    yield change("an array twice", more=',"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' * 2)
    many = ",".join("0" * 100_000)
    yield change(
        "an empty array of many dimensions", more=f',"x":{{"dtype":"U8","shape":[{many}],"data_offsets":[0,0]}}'
    )
    for name in draft.arrays:
        dtype, shape, data = draft.arrays[name]
        for what, entry in {
            "of 100,000 dimensions": (dtype, [1] * 100_000 + shape, data),
            "of 60 dimensions": (dtype, [1] * 60 + shape, data),
            "with a negative size": (dtype, [-1, *shape], data),
            "of text sizes": (dtype, [str(size) for size in shape], data),
            "of unknown dtype": ("F8_E4M3", shape, data),
            "of dtype 5": (5, shape, data),
        }.items():
            yield f"{name} {what}", lambda draft, name=name, entry=entry: draft.arrays.update({name: entry})
        end = sum(len(data) for _, _, data in draft.arrays.values())
        for place in ([0, len(data)], [end, end + len(data)], [-8, len(data) - 8], [0, 2**62], "x", None):
            yield (
                f"{name} at {place}",
                lambda draft, name=name, place=place: draft.places.update({name: place}),
            )


def forgeries(draft: Draft) -> dict[str, list[Forgery]]:
    """Everything that is tried, by the field or array that it changes."""
    found: dict[str, list[Forgery]] = {}
    for forgery in (*of_metadata(draft), *of_arrays(draft), *of_header(draft)):
        target = next((name for name in draft.arrays if forgery[0].startswith(f"{name} ")), forgery[0].split(" ")[0])
        found.setdefault(target, []).append(forgery)
    return found


# ------------------------------------------------------------------------------------------------ trying them


def use(model: object) -> None:
    """Ask a model for everything that it can answer, and show where it comes from."""
    answers(model)
    repr(model)
    heading = Heading(model="m", data="d", parameters=1, date="", about=model.model.about)
    sections.learning(heading)
    sections.header(heading, "F1", 50.0, None, {})
    if isinstance(model, postil.TreeClassifier):
        model.explain(TREES[0])
        return
    if isinstance(model, postil.RoleLabeller):
        model.explain(["Anna", "sold", "the", "map"], 1, 0, 1)
        model.tag("Anna sold the map. Ben gave Anna a lamp.")
        return
    columns = model.model.features.columns
    sentence = ["Anna", "flew", "to", "Berlin", "."]
    tokens = with_columns([sentence])[0] if len(columns) == 2 else sentence
    if isinstance(model, postil.MultiTaskTagger):
        for task in model.tasks:
            model.explain(tokens, 0, 1, task=task)
    else:
        model.explain(tokens, 0, 1)
    if not columns:
        model.tag("Anna flew to Berlin. Shares of Nimbus fell.")


def outcome(content: bytes) -> str:
    """``refused``, ``answered`` or ``failed to answer`` (in one clear line); anything else is raised."""
    try:
        model = storage.from_bytes(content)
    except ModelFileError as error:
        assert is_printable(str(error)) and len(str(error)) < 1000, repr(str(error)[:500])
        return "refused"
    try:
        use(model)
    except PostilError as error:
        assert is_printable(str(error)) and len(str(error)) < 1000, repr(str(error)[:500])
        return "failed to answer"
    return "answered"


def sample(draft: Draft, count: int | None, seed: int) -> list[tuple[str, list[Callable[[Draft], None]]]]:
    """Single forgeries, ``count`` of them; where more are wanted than there are, pairs of them too.

    As few as there may be, every field and every array has its turn: one of each, then a second one of each, and so on.
    """
    rng = random.Random(seed)
    groups = list(forgeries(draft).values())
    for group in groups:
        rng.shuffle(group)
    rounds = zip_longest(*groups)
    single = [(found[0], [found[1]]) for turn in rounds for found in turn if found is not None]
    if count is None or count <= len(single):
        return single[:count]
    pairs = [[rng.choice(single) for _ in range(2)] for _ in range(count - len(single))]
    return single + [(" and ".join(what for what, _ in pair), [f for _, fs in pair for f in fs]) for pair in pairs]


def drafts(content: bytes, count: int | None, seed: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Forgeries of a model file or a checkpoint: what each of them changes, and what makes it."""
    draft = Draft.of(content)
    for what, forges in sample(draft, count, seed):

        def packed(forges: list[Callable[[Draft], None]] = forges) -> bytes:
            copy = draft.copy()
            for forge in forges:
                forge(copy)
            return copy.packed()

        yield what, packed


def forged(content: bytes, count: int | None, seed: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Forgeries of a model file."""
    assert outcome(Draft.of(content).packed()) == "answered", "the genuine file, taken apart and put together"
    yield from drafts(content, count, seed)


Forged = Callable[[bytes, int | None, int], Iterator[tuple[str, Callable[[], bytes]]]]
Cases = Callable[[], Iterator[tuple[str, bytes | None]]]
"""What was done to a file, and the file; None: that was not possible. The first one is genuine, and must be used."""


def cases(forged: Forged, content: bytes, count: int | None, seed: int) -> Iterator[tuple[str, bytes | None]]:
    """The genuine file, and forgeries of it."""
    yield "the genuine file", content
    for what, make in forged(content, count, seed):
        try:
            packed = make()
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            packed = None  # the second of two forgeries had nothing to change
        yield what, packed


def _child(cases: Cases, outcome: Callable[[bytes], str], pipe: object) -> None:
    import warnings

    def hang(number: int, frame: object) -> None:
        raise TimeoutError(f"no end after {_HANGS_AFTER} s")

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, hang)
    tried = cases()
    what, genuine = next(tried)
    assert outcome(genuine) == "answered", what
    gc.collect()
    gc.freeze()  # collections need not look at the modules again
    for what, packed in tried:
        pipe.send(("begin", what))
        if packed is None:
            pipe.send(("end", "not possible", 0.0, 0.0))
            continue
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        signal.alarm(_HANGS_AFTER)
        try:
            found = outcome(packed)
        except BaseException:
            found = "FAILED: " + traceback.format_exc()[-1500:]
        signal.alarm(0)
        seconds = time.process_time() - began
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        pipe.send(("end", found, seconds, memory - len(packed) / 2**20))
    pipe.send(None)


def run(content: bytes, *, count: int | None = None, seed: int = 0, of: str = __name__) -> tuple[Counter, list[str]]:
    """Try forgeries of a model file in a child process: how they ended, and what was wrong.

    ``of``: the module whose ``forged`` makes them, and whose ``outcome`` opens and asks them.
    """
    kind = importlib.import_module(of)
    return tried(partial(cases, kind.forged, content, count, seed), kind.outcome)


def tried(
    cases: Cases,
    outcome: Callable[[bytes], str],
    seconds_at_most: float | None = None,
    megabytes: float | None = None,
) -> tuple[Counter, list[str]]:
    """Try files in a child process: how they ended, and what was wrong."""
    seconds_at_most = SECONDS if seconds_at_most is None else seconds_at_most
    megabytes = MEGABYTES if megabytes is None else megabytes
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(cases, outcome, send))
    child.start()
    send.close()
    counts, wrong, what = Counter(), [], "the beginning"
    try:
        while (message := receive.recv()) is not None:
            if message[0] == "begin":
                what = message[1]
                continue
            _, found, seconds, memory = message
            counts[found.partition(":")[0]] += 1
            if found.startswith("FAILED"):
                wrong.append(f"{what}: {found}")
            if seconds > seconds_at_most and found == "refused":
                wrong.append(f"{what}: {found} after {seconds:.1f} s")
            if memory > megabytes:
                wrong.append(f"{what}: {found} took {memory:.0f} MB")
    except EOFError:
        child.join()
        wrong.append(f"{what}: the process died, exit code {child.exitcode}")
    child.join()
    return counts, wrong


if __name__ == "__main__":
    sys.exit("see benchmarks/forging.py")

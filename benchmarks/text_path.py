"""From raw text to labelled bytes beside `predict` on the same tokens, in one run; and both paths byte by byte.

    python -m benchmarks.text_path MODEL TEXT [--megabytes 8] [--repeats 3]
    python -m benchmarks.text_path MODEL TEXT --equal [MORE_TEXT …]

One core, CPU time; the ways take turns and the best run of each counts. "The first time": a model that was just loaded
works out every word. With --equal nothing is timed: each file is labelled as plain text and as JSON Lines (a record a
line), to CoNLL and to JSON Lines, with and without probabilities, by the fast and by the general path.
"""

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import postil
from benchmarks.measuring import Outcome, interleaved, parser, report
from postil import kernels
from postil.models.tagger import Tagger
from postil.tagging import Labeller, TaggingOptions, label
from postil.tagging.bulk import PASSAGE
from postil.text import Sentence
from postil.text.formats import read
from postil.text.options import ReadOptions
from postil.text.splitting.segmenter import ENGLISH

READING = ReadOptions(features=(), every_record=True)
OUTPUTS = {
    "to CoNLL": TaggingOptions(reading=READING),
    "to CoNLL with probabilities": TaggingOptions(reading=READING, probabilities=True),
    "to JSON Lines": TaggingOptions(reading=READING, output="jsonl"),
    "to JSON Lines with probabilities": TaggingOptions(reading=READING, output="jsonl", probabilities=True),
}
GOALS = {"text to CoNLL": 0.7, "text to JSON Lines with probabilities": 0.45}  # of the rate of predict
MOST_FOR_ANSWERS = 1.6  # times the cost of predict


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("text", type=Path, nargs="+", help="plain text, a paragraph per line")
    options.add_argument("--megabytes", type=float, default=8.0, help="of each file, at most")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--equal", action="store_true", help="compare both paths instead of timing them")
    arguments = options.parse_args()
    texts = {path: _beginning(path, arguments.megabytes) for path in arguments.text}
    if arguments.equal:
        differing = [path for path, text in texts.items() if not _are_equal(arguments.model, path, text)]
        return 1 if differing else 0
    return report(outcome(arguments.model, texts[arguments.text[0]], arguments.repeats))


def _beginning(path: Path, megabytes: float) -> bytes:
    """Whole lines."""
    with path.open("rb") as file:
        content = file.read(int(megabytes * 1e6))
        return content + file.readline()


def as_records(text: bytes) -> bytes:
    lines = text.decode(errors="replace").replace("\0", " ").split("\n")
    return "".join(
        json.dumps({"id": i, "text": line}, ensure_ascii=False) + "\n" for i, line in enumerate(lines)
    ).encode()


# ------------------------------------------------------------------------------------------------ speed


def outcome(model: Path, text: bytes, repeats: int) -> Outcome:
    tagger: Tagger = postil.load(model)
    X, lines, records = sentences_of(text), text.decode().split("\n"), as_records(text)
    N = sum(map(len, X))
    sentences = [Sentence(tokens) for tokens in X]
    ways: dict[str, Callable[[], object]] = {"predict": lambda: tagger.predict(X)}
    for name, options in OUTPUTS.items():
        ways[f"text {name}"] = lambda options=options: labelled(tagger, text, "text", options)  # type: ignore[misc]
    name = "to JSON Lines with probabilities"
    ways[f"JSON Lines {name}"] = lambda: labelled(tagger, records, "jsonl", OUTPUTS[name])
    ways["tag_many"] = lambda: tagger.tag_many(lines)
    ways["tag_many, all entities looked at"] = lambda: [document.entities for document in tagger.tag_many(lines)]
    ways["answers"] = lambda: tagger.answers(sentences)
    ways["annotate"] = lambda: tagger.annotate(sentences)
    best = {name: min(values) for name, values in interleaved(ways, repeats).items()}
    best["predict, the first time"] = _first(model, lambda fresh: fresh.predict(X))
    best["text to CoNLL, the first time"] = _first(
        model, lambda fresh: labelled(fresh, text, "text", OUTPUTS["to CoNLL"])
    )
    rows = [
        {
            "what": name,
            "tokens/s": round(N / value),
            "us a token": value / N * 1e6,
            "rate beside predict": best["predict"] / value,
        }
        for name, value in best.items()
    ]
    shares = {name: best["predict"] / best[name] for name in GOALS}
    dearest = max(best["answers"], best["annotate"]) / best["predict"]
    return Outcome(
        name="text_path",
        compared=f"{N:,} tokens, {len(tagger.model.codec.labels)} labels, kernels: {kernels.IN_USE}",
        rows=rows,
        goal="of the rate of predict: text to CoNLL 0.7, to JSON Lines with probabilities 0.45; answers at most 1.6 x",
        passed=all(shares[name] >= goal for name, goal in GOALS.items()) and dearest <= MOST_FOR_ANSWERS,
    )


def sentences_of(text: bytes) -> list[list[str]]:
    """The sentences that the path itself finds, as lists of tokens."""
    segments = ENGLISH.cells(text, lines=True)
    words = [text[first:end].decode() for first, end in segments.cells.tolist()]
    return [words[first:end] for first, end in pairwise(segments.offsets.tolist())]


def labelled(tagger: Tagger, content: bytes, format: str, options: TaggingOptions) -> int:
    """The number of bytes written."""
    output = io.BytesIO()
    label(tagger, [read(io.BytesIO(content), format, features=(), every_record=True)], options, output)
    return output.tell()


def _first(model: Path, way: Callable[[Tagger], object]) -> float:
    fresh: Tagger = postil.load(model)
    begin = time.process_time()
    way(fresh)
    return time.process_time() - begin


# ------------------------------------------------------------------------------------------------ equality


def _are_equal(model: Path, path: Path, text: bytes) -> bool:
    tagger: Tagger = postil.load(model)
    good = True
    for format, content in (("text", text), ("jsonl", as_records(text))):
        for name, options in OUTPUTS.items():
            labeller = Labeller(tagger, options)
            size, fast, differences = 0, 0, 0
            for one, other, was_fast in _both(labeller, content, format):
                size, fast, differences = size + len(one), fast + was_fast, differences + (one != other)
            good &= differences == 0
            said = "the same" if not differences else f"{differences} passages DIFFER"
            print(f"{path.name}, {format} {name}: {size:,} bytes, {fast} passages by the fast path, {said}", flush=True)
    return good


def _both(labeller: Labeller, content: bytes, format: str) -> Iterator[tuple[bytes, bytes, bool]]:
    """What both paths write of each passage, and whether the fast one was taken."""
    with read(io.BytesIO(content), format, features=(), every_record=True) as reading:
        for passage in reading.passages(PASSAGE):
            fast = labeller.fast.label(passage) if labeller.fast is not None else None
            general = labeller.general.label(passage)
            yield (fast or general).content, general.content, fast is not None


if __name__ == "__main__":
    sys.exit(main())

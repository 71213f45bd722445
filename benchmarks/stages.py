"""Each step of labelling a file on the fast path, next to its limit.

    python -m benchmarks.stages MODEL FILE

The steps are those of ``FastPath``, called one after the other on the beginning of a file, and the best of some turns
counts. Their limits are what this machine needs at least:

| step | limit |
|---|---|
| read: bytes to passages of text | the bytes, read once at the bandwidth of memory |
| split: sentences and tokens | the same |
| scores: words to rows to scores | the word's bytes and the window's rows at the bandwidth; other layers at BLAS's |
| labels: Viterbi | the kernel alone |
| probabilities: forward-backward | the kernel alone |
| write | the bytes, written once at the bandwidth |
"""

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import postil
from benchmarks.limits import bandwidth, recursion_seconds, scoring_limit
from benchmarks.measuring import Outcome, parser, report
from postil.arrays import Array
from postil.kernels import chain_moments, viterbi
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tagged import Tagged
from postil.models.engine import Words
from postil.models.tagger import Tagger
from postil.tagging import Labeller
from postil.tagging.bulk import PASSAGE, label
from postil.tagging.fast_path import read_plain, write_columns
from postil.tagging.options import TaggingOptions
from postil.text import read
from postil.text.lines import Passage
from postil.threads import one_blas_thread

MOST_BYTES, TURNS = 8_000_000, 3
_SLOT = 8  # bytes of a slot of the word table


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path, metavar="MODEL")
    options.add_argument("file", type=Path, metavar="FILE", help="text, tokens, CoNLL columns or JSON Lines")
    arguments = options.parse_args()
    measured = stages(postil.load(arguments.model), arguments.file, TaggingOptions())
    rows = [
        {
            "step": step.name,
            "tokens/s": round(measured.tokens / max(step.seconds, 1e-9)),
            "ns a token": 1e9 * step.seconds / measured.tokens,
            "limit": "" if step.limit is None else round(1e9 * step.limit / measured.tokens),
        }
        for step in measured.steps
    ]
    return report(
        Outcome(
            name="stages",
            compared=f"the first {measured.bytes:,} bytes of {arguments.file.name}, {measured.tokens:,} tokens",
            rows=rows,
            goal="a model and a file that take the fast path",
            passed=measured.takes_fast_path,
        )
    )


class Step(NamedTuple):
    """Seconds of one step for N tokens, and the least that it could take; None where no limit is known."""

    name: str
    seconds: float
    limit: float | None


class Stages(NamedTuple):
    """All steps of one file."""

    tokens: int
    bytes: int
    steps: list[Step]
    takes_fast_path: bool


def stages(tagger: Tagger, path: Path, options: TaggingOptions, most_bytes: int = MOST_BYTES) -> Stages:
    """Measure the steps on the beginning of a file, and the whole way for each kind of output."""
    content = _beginning(path, most_bytes)
    passages = _passages(content)
    rows = [found for passage in passages if (found := _rows(passage, options)) is not None]
    whole = [
        Step("whole: labels", _best(lambda: _labelled(tagger, content, options, False)), None),
        Step("whole: labels and probabilities", _best(lambda: _labelled(tagger, content, options, True)), None),
    ]
    if Labeller(tagger, options).fast is None or len(rows) < len(passages):
        tokens = label(tagger, [read(io.BytesIO(content))], options, io.BytesIO()).tokens
        return Stages(tokens, len(content), whole, takes_fast_path=False)
    tokens = sum(len(one.cells) for one in rows)
    steps = list(_steps(tagger, content, passages, rows, options))
    return Stages(tokens, len(content), steps + whole, takes_fast_path=True)


def _steps(
    tagger: Tagger, content: bytes, passages: list[Passage], rows: list[Tagged], options: TaggingOptions
) -> Iterator[Step]:
    posteriors = Posteriors(tagger.model)
    passed = len(content) / bandwidth()
    yield Step("read", _best(lambda: _passages(content)), passed)
    yield Step("split", _best(lambda: [_rows(passage, options) for passage in passages]), passed)
    N = sum(len(one.cells) for one in rows)
    bytes_of_words = sum(int((one.cells[:, 1] - one.cells[:, 0]).sum()) for one in rows)
    scored = _scored(tagger, rows)
    looked_up = (bytes_of_words + _SLOT * N) / bandwidth()
    yield Step("scores", _best(lambda: _scored(tagger, rows)), looked_up + scoring_limit(tagger, N).seconds)
    lengths = [int(n) for _, offsets in scored for n in offsets[1:] - offsets[:-1]]
    L = len(tagger.model.codec.labels)
    best = posteriors.answering(None, False, False)
    labels = _best(lambda: [best(scores, offsets) for scores, offsets in scored])
    yield Step("labels", labels, recursion_seconds(viterbi, lengths, L))
    answer = posteriors.answering(None, True, False)
    answers = _best(lambda: [answer(scores, offsets) for scores, offsets in scored])
    yield Step("probabilities", answers, recursion_seconds(chain_moments, lengths, L))
    tagged = [one.by({tagger.model.task: posteriors}, None, False) for one in rows]

    def write() -> list[bytes]:
        return list(map(write_columns, tagged))

    yield Step("write", _best(write), sum(map(len, write())) / bandwidth())


def _scored(tagger: Tagger, rows: list[Tagged]) -> list[tuple[Array, Array]]:
    engine, task = tagger.model.engine(), tagger.model.task
    words = (Words(one.text, one.cells, one.offsets) for one in rows)
    return [(scores[task], offsets) for one in words for _, scores, offsets in engine.scored(one, [task])]


def _beginning(path: Path, most: int) -> bytes:
    """Whole lines."""
    with path.open("rb") as file:
        return file.read(most) + file.readline()


def _passages(content: bytes) -> list[Passage]:
    reading = read(io.BytesIO(content))
    return list(reading.passages(PASSAGE)) if reading.has_passages else []


def _rows(passage: Passage, options: TaggingOptions) -> Tagged | None:
    return read_plain(passage, options.reading)


def _labelled(tagger: Tagger, content: bytes, options: TaggingOptions, probabilities: bool) -> Any:
    asked = replace(options, probabilities=probabilities)
    return label(tagger, [read(io.BytesIO(content))], asked, io.BytesIO())


def _best(function: Callable[[], object]) -> float:
    """CPU seconds of the best of some turns, after one that fills the caches; on one BLAS thread, as tagging is."""
    seconds = []
    with one_blas_thread():
        function()
        for _ in range(TURNS):
            began = time.process_time()
            function()
            seconds.append(time.process_time() - began)
    return min(seconds)


if __name__ == "__main__":
    raise SystemExit(main())

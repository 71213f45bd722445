"""Inputs of any size: their passages go to worker processes and come back labelled, in order, a few at a time."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any, BinaryIO, TypeAlias, TypeVar, final

from postil.errors import ConfigurationError
from postil.models.estimator import Estimator
from postil.serving.labelled import Labelled
from postil.serving.labeller import Labeller
from postil.serving.options import TaggingOptions
from postil.serving.workers import Workers
from postil.text import Sentence
from postil.text.formats import Reading
from postil.text.passages import Passage

PASSAGE = 1 << 19  # characters
ALONE = 4  # passages that are labelled here while worker processes start
PAYS = 4  # times that many have to be there, or the processes would start for nothing

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress: TypeAlias = Callable[[int], None]
"""Called with the number of tokens labelled since the last call."""


@final
@dataclass(slots=True)
class Summary:
    """What was labelled."""

    tokens: int = 0
    long_sentences: list[int] = field(default_factory=list)
    """Lengths of the sentences that some models see only in pieces."""


def label(
    model: Estimator[Any, Any],
    inputs: Iterable[Reading],
    options: TaggingOptions,
    output: BinaryIO,
    *,
    threads: int = 1,
    path: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Write the labelled inputs to ``output``, in their order.

    Worker processes open the model at ``path``; without it, the model itself is sent to them. A mistake in an input is
    raised after everything before it has been written.

        with read("article.txt") as reading:
            label(tagger, [reading], TaggingOptions(output="jsonl", probabilities=True), sys.stdout.buffer)
    """
    if threads < 1:
        raise ConfigurationError("threads", expected="at least 1", got=threads)
    labeller, summary = Labeller(model, options, path), Summary()

    def count(tokens: int) -> None:
        summary.tokens += tokens
        if progress is not None:
            progress(tokens)

    for has_passages, readings in groupby(inputs, lambda reading: reading.has_passages):
        by = _label_passages if has_passages else _label_sentences
        by(readings, labeller, output, threads, summary.long_sentences, count)
    return summary


def _label_passages(
    readings: Iterable[Reading],
    labeller: Labeller,
    output: BinaryIO,
    threads: int,
    long_sentences: list[int],
    count: Progress,
) -> None:
    """Inputs that can be cut into passages, which are labelled by processes."""
    passages = (passage for reading in readings for passage in reading.passages(PASSAGE))
    with closing(labelled(passages, labeller, threads)) as answers:
        for answer in answers:
            output.write(answer.content)
            long_sentences += answer.long_sentences
            count(answer.tokens)
            if answer.mistake is not None:
                raise answer.mistake


def _label_sentences(
    readings: Iterable[Reading],
    labeller: Labeller,
    output: BinaryIO,
    threads: int,
    long_sentences: list[int],
    count: Progress,
) -> None:
    """Inputs that can only be read from beginning to end. Their blocks are labelled by threads."""
    general = labeller.general
    blocks = general.blocks((sentence for reading in readings for sentence in reading), long_sentences)
    answers = in_order(general.annotate, blocks, threads) if threads > 1 else map(general.annotate, blocks)
    general.write(_counted((sentence for block in answers for sentence in block), count), output)


def _counted(sentences: Iterable[Sentence], count: Progress) -> Iterator[Sentence]:
    for sentence in sentences:
        yield sentence
        count(len(sentence))


def labelled(passages: Iterator[Passage], labeller: Labeller, threads: int) -> Generator[Labelled, None, None]:
    """The passages with labels, in order.

    Processes take a moment to start, in which this one labels the first passages; all of them where there are few.
    """
    first = list(islice(passages, ALONE * PAYS)) if threads > 1 else []
    if threads == 1 or len(first) < ALONE * PAYS:
        yield from map(labeller.label, chain(first, passages))
        return
    with Workers(labeller, threads) as workers:
        yield from map(labeller.label, first[:ALONE])
        yield from in_order(workers.label, chain(first[ALONE:], passages), threads)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """The results of ``threads`` concurrent calls, in the order of the items.

    If the iteration over the items fails, the results of the items before the failure come first.
    """
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for future in _submitted(pool, function, items):
            waiting.append(future)
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(pool: Executor, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Future[Result]]:
    try:
        for item in items:
            yield pool.submit(function, item)
    except Exception as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        yield failed

"""Inputs of any size: their passages go to worker processes and come back labelled, in order, a few at a time."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar, final

from postil.errors import ConfigurationError
from postil.models.estimator import Estimator
from postil.tagging.fast_path import Labeller
from postil.tagging.options import Labelled, TaggingOptions
from postil.text import Reading, Sentence
from postil.text.lines import Passage

if TYPE_CHECKING:  # one thread needs none
    from postil.tagging.workers import WorkerPool

PASSAGE = 1 << 19  # characters
ALONE = 4  # passages that are labelled here while worker processes start
PAYS = 4  # times that many have to be there, or the processes would start for nothing

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress: TypeAlias = Callable[[int], None]  # called with the number of tokens labelled since the last call


@final
@dataclass(slots=True)
class Summary:
    """Statistics of the labelled sentences."""

    tokens: int = 0
    long_sentences: list[int] = field(default_factory=list)
    """Lengths of the sentences that some models see only in pieces."""


def label(
    model: Estimator,
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
    check_threads(threads)
    labeller, summary = Labeller(model, options, path), Summary()

    def count(tokens: int) -> None:
        summary.tokens += tokens
        if progress is not None:
            progress(tokens)

    def annotated(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Inputs that can only be read from beginning to end. Their blocks are labelled by threads."""
        general = labeller.general
        blocks = general.blocks(sentences, summary.long_sentences)
        answers = in_order(general.annotate, blocks, threads) if threads > 1 else map(general.annotate, blocks)
        for block in answers:
            for sentence in block:
                yield sentence
                count(len(sentence))

    def way(reading: Reading) -> str:
        if reading.format == options.output == "conllu":
            return "columns"
        # A table of words numbers its sentences.
        return "passages" if reading.has_passages and options.output != "csv" else "sentences"

    for by, readings in groupby(inputs, way):
        if by == "passages":
            passages = (passage for reading in readings for passage in reading.passages(PASSAGE))
            with closing(labelled(passages, labeller, threads)) as answers:
                for answer in answers:
                    output.write(answer.content)
                    summary.long_sentences += answer.long_sentences
                    count(answer.tokens)
                    if answer.mistake is not None:
                        raise answer.mistake
        elif by == "sentences":
            sentences = (sentence for reading in readings for sentence in reading)
            labeller.general.answers.write(annotated(sentences), output)
        else:  # CoNLL-U to CoNLL-U: one column changes, every other byte stays
            from postil.text.columns.conllu import refill

            before = b"\n\n"
            for reading in readings:
                originals = reading.originals()
                if not before.endswith((b"\n\n", b"\n\r\n")):  # a source may end without a blank line
                    output.write(b"\n" if before.endswith(b"\n") else b"\n\n")
                for piece in refill(annotated(reading), originals, labeller.general.answers.columns()):
                    output.write(piece)
                    before = (before + piece)[-4:]
    return summary


def check_threads(threads: int) -> None:
    if threads < 1:
        raise ConfigurationError("threads", expected="at least 1", got=threads)


def labelled(passages: Iterator[Passage], labeller: Labeller, threads: int) -> Generator[Labelled, None, None]:
    """The passages with labels, in order. Processes take a moment to start, in which this one labels the first ones."""
    first = list(islice(passages, ALONE * PAYS)) if threads > 1 else []
    if threads == 1 or len(first) < ALONE * PAYS:
        yield from map(labeller.label, chain(first, passages))
        return
    from postil.tagging.workers import WorkerPool

    with WorkerPool(labeller, threads) as workers:
        yield from map(labeller.label, first[:ALONE])
        yield from by_workers(chain(first[ALONE:], passages), labeller, workers)


def by_workers(
    passages: Iterable[Passage], labeller: Labeller, workers: "WorkerPool"
) -> Generator[Labelled, None, None]:
    """The answers of the workers, in order. Passages that a worker fails to label are labelled here."""

    def ask(passage: Passage) -> tuple[Passage, Labelled | None]:
        return passage, workers.ask(passage)

    with closing(in_order(ask, passages, workers.questions, watch=workers.watch, abandon=workers.kill)) as answers:
        for passage, answer in answers:
            yield labeller.label(passage) if answer is None else answer


def in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    *,
    watch: Callable[[], None] | None = None,
    abandon: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """The results of ``threads`` concurrent calls, in the order of the items.

    If the iteration over the items fails, the results of the items before the failure come first. ``watch`` is called
    every second while a result is waited for; ``abandon``, where the results are not wanted any more, before calls that
    are running are waited for.
    """
    from concurrent.futures import Future, ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    remaining, is_done = iter(items), False
    failure: Exception | None = None
    try:
        while waiting or not is_done:
            while not is_done and len(waiting) <= 2 * threads:
                try:
                    waiting.append(pool.submit(function, next(remaining)))
                except StopIteration:
                    is_done = True
                except Exception as error:
                    is_done, failure = True, error
            if waiting:
                future = waiting.popleft()
                while watch is not None and not wait([future], timeout=1.0).done:
                    watch()
                yield future.result()
        if failure is not None:
            raise failure
        abandon = None
    finally:
        if abandon is not None:
            abandon()
        pool.shutdown(cancel_futures=True)

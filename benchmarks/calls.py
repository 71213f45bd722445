"""What a call of a kernel costs besides its work: one short sentence, in microseconds of CPU time.

    python -m benchmarks.calls [--model FILE]

"kernel" is the call from Python: checks, allocation of results, pointers to arrays, the C function. "C call" is the C
function alone, through cffi, with arguments that are ready. The rest is Python's share.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import postil
from benchmarks.measuring import Outcome, parser, report
from postil import kernels
from postil.kernels.plain_segmentation import ChunkCache
from postil.text.splitting.rules import DEFAULT as DEFAULT_TOKENS
from postil.text.splitting.rules import DEFAULT_SENTENCES, sentence_patterns, token_patterns

REPEATS, CALLS = 9, 2000
SENTENCE = "Angela Merkel met Tim Cook in Cupertino on Monday ."


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--model", help="a tagger: time predict and tag of one sentence as well")
    model = options.parse_args().model
    rows = [measured(name, *case) for name, case in cases().items()] + (sentence_rows(model) if model else [])
    chain = rows[0]["kernel"]
    goal = "viterbi of one short sentence under 1.5 us"
    return report(Outcome(name="calls", compared="a call against its work", rows=rows, goal=goal, passed=chain < 1.5))


def microseconds(function: Callable[[], object], calls: int = CALLS) -> float:
    """CPU time of one call: the best of several runs, for noise only adds."""
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(calls):
            function()
        best = min(best, time.process_time() - begin)
    return 1e6 * best / calls


def measured(name: str, kernel: Callable[[], object], c_call: Callable[[], object]) -> dict[str, Any]:
    whole, bare = microseconds(kernel), microseconds(c_call)
    return {"what": name, "kernel": whole, "C call": bare, "Python's share": whole - bare}


def cases() -> Mapping[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Each kernel on ten tokens, and its C function with the same arguments."""
    from postil.kernels.library import ffi, lib  # the plain kernels have no calls to time

    rng = np.random.default_rng(0)
    N, L, H = 10, 9, 32
    unary, offsets = rng.normal(size=(N, L)).astype(np.float32), np.array([0, N])
    steps = np.zeros((L, L)), np.zeros(L), np.zeros(L)
    rows, ids, out = rng.normal(size=(50, 3 * H)).astype(np.float32), np.arange(N), np.empty((N, H), np.float32)
    labels, scores = np.empty(N, np.int64), np.empty(1)

    def at(array: Any, kind: str) -> Any:
        return ffi.from_buffer(kind, array)

    chain = at(unary, "float[]"), 1, at(offsets, "int64_t[]"), N, 1, L, *(at(array, "double[]") for array in steps)
    path = *chain, at(labels, "int64_t[]"), at(scores, "double[]")
    table = at(rows, "float[]"), len(rows), 3, H, at(ids, "int64_t[]"), at(offsets, "int64_t[]"), N, 1, 1, 0
    sums = *table, at(out, "float[]")
    return {
        "viterbi": (lambda: kernels.viterbi(unary, offsets, *steps), lambda: lib.viterbi(*path)),
        "sum_windows": (
            lambda: kernels.sum_windows(rows, ids, offsets, 3, "relu", out, add=False),
            lambda: lib.sum_windows(*sums),
        ),
        **text_cases(),
        "interface (no arguments)": (lib.interface, lib.interface),
    }


def text_cases() -> Mapping[str, tuple[Callable[[], object], Callable[[], object]]]:
    """The kernels of text on one sentence, whose words are in the tokeniser's cache."""
    from postil.kernels import compiled_segmentation
    from postil.kernels.library import ffi, lib

    text, patterns, splitting = SENTENCE.encode(), token_patterns(DEFAULT_TOKENS), sentence_patterns(DEFAULT_SENTENCES)
    documents, cache = np.array([[0, len(text)]]), ChunkCache(patterns)
    cells, edges = kernels.tokenise_text(text, documents, patterns, cache)
    room, out, state = np.empty((1024, 2), np.int64), np.empty(len(cells) + 2, np.int64), ffi.new("int64_t[6]")
    D, C, E, R, out_at = (ffi.from_buffer("int64_t[]", array) for array in (documents, cells, edges, room, out))
    assert patterns.program is not None and splitting.program is not None, "the default rules"
    rules = *compiled_segmentation.token_rules(patterns), False
    table = ffi.from_buffer("uint8_t[]", cache.table), cache.BUCKETS, cache.seed
    of_sentences = (
        text,
        len(text),
        D,
        E,
        1,
        C,
        len(cells),
        *compiled_segmentation.sentence_rules(splitting),
    )

    def tokenise() -> object:
        state[0] = state[1] = state[2] = 0
        return lib.tokenise_text(text, len(text), D, 1, *rules, *table, 1024, R, E, state)

    return {
        "tokenise_text": (lambda: kernels.tokenise_text(text, documents, patterns, cache), tokenise),
        "split_sentences": (
            lambda: kernels.split_sentences(text, documents, cells, edges, splitting),
            lambda: lib.split_sentences(*of_sentences, out_at, out_at + len(cells) + 1),
        ),
    }


def sentence_rows(path: str) -> list[dict[str, Any]]:
    tagger = postil.load(path)
    tokens = SENTENCE.split()
    functions = {
        "predict of one sentence": lambda: tagger.predict([tokens]),
        "tag of one": lambda: tagger.tag(SENTENCE),
    }
    return [{"what": name, "kernel": microseconds(function, 200)} for name, function in functions.items()]


if __name__ == "__main__":
    raise SystemExit(main())

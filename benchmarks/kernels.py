"""Compiled kernels beside their NumPy twins: nanoseconds per token (or row), and the ratio.

    python -m benchmarks kernels
    python -m benchmarks.kernels --labels 17 --tokens 20000

Both run in one process, on one thread, in turn, on the same arrays. Exit code 1 where a kernel does not pay.
"""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measuring import Outcome, interleaved, parser, report
from postil.arrays import Array, offsets_from_lengths
from postil.features import WordFeatureConfig, WordFeatures
from postil.kernels import (
    IN_USE,
    AdamMemory,
    AdamSettings,
    ChunkCache,
    Noise,
    compiled_chain,
    compiled_layers,
    compiled_segmentation,
    compiled_text,
    compiled_trees,
    plain_chain,
    plain_layers,
    plain_segmentation,
    plain_text,
    plain_trees,
)
from postil.kernels.plain_text import word_cells
from postil.models.config import configured
from postil.text.splitting.rules import SentenceRules, TokenRules, sentence_patterns, token_patterns
from postil.text.splitting.segmenter import lines_of
from postil.threads import one_blas_thread

REPEATS = 7
FASTER = 0.9  # with many labels both are the same code: their ratio is 1 but for noise
SENTENCE = 15  # tokens, on average
VOCABULARY = 3000
MOST_RANKED_LABELS = 64  # beyond, NumPy takes seconds
LAYERS = plain_layers, compiled_layers
WINDOWS = plain_layers, compiled_layers
TREES = plain_trees, compiled_trees
TOKENS = plain_segmentation, compiled_segmentation
SENTENCES = plain_segmentation, compiled_segmentation
WORDS = plain_text, compiled_text


class Case(NamedTuple):
    """One kernel on one size: how to call it out of a module, and how many tokens (or rows) it goes through."""

    kernel: str
    size: str
    call: Callable[[Any], object]
    units: int
    modules: tuple[ModuleType, ModuleType] = (plain_chain, compiled_chain)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--labels", type=int, nargs="*", default=[5, 17, 25, 64, 120, 200], help="numbers of labels")
    options.add_argument("--tokens", type=int, default=6000, help="tokens of a batch")
    arguments = options.parse_args()
    with one_blas_thread():
        rows = [measured(case) for case in cases(arguments.labels, arguments.tokens)]
    compared = f"{IN_USE} and NumPy, best of {REPEATS} turns each"
    passed = all(row["times as fast"] > FASTER for row in rows)
    outcome = Outcome(name="kernels", compared=compared, rows=rows, goal="every kernel pays", passed=passed)
    return report(outcome)


def cases(labels: list[int], tokens: int) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    yield from layer_cases(rng, tokens // 4)
    yield from window_cases(rng, tokens)
    yield from tree_cases(rng)
    yield from text_cases(rng, tokens)
    yield from word_cases(rng)
    yield from quadratic_cases(rng)
    for L in labels:
        yield from chain_cases(rng, L, max(300, min(tokens, 10**7 // L**2)))


def layer_cases(rng: np.random.Generator, tokens: int) -> Iterator[Case]:
    """Sizes of a training step: words of 100 features in windows of 5, 300 hidden features."""
    offsets = np.arange(0, tokens + 1, SENTENCE)
    N = int(offsets[-1])
    X, dY, H = (rng.normal(size=(N, D)).astype(np.float32) for D in (100, 500, 300))
    padding, gain = np.zeros(100, np.float32), np.ones(300, np.float32)
    Z, deviation = plain_layers.normalise_rows(H, gain, gain, 1e-5)[1:]
    ids = np.minimum(rng.zipf(1.3, N) - 1, VOCABULARY - 1)
    rows, sums = plain_layers.sums_of_occurrences(ids, X)
    yield Case("windows", "5 × 100 features", lambda m: m.windows(X, padding, offsets, 5, 1), N, LAYERS)
    yield Case("windows_back", "5 × 100 features", lambda m: m.windows_back(dY, offsets, 5, 1), N, LAYERS)
    filters, of_words = np.ascontiguousarray(X[:, :32]), np.append(np.arange(0, N, 6), N)
    of_characters = "32 filters over words of 6 characters"
    yield Case("first_maxima", of_characters, lambda m: m.first_maxima(filters, of_words), N, LAYERS)
    yield Case("normalise_rows", "300 features", lambda m: m.normalise_rows(H, gain, gain, 1e-5), N, LAYERS)
    yield Case("normalise_rows_back", "300 features", lambda m: m.normalise_rows_back(H, Z, deviation, gain), N, LAYERS)
    hidden = H, H[0], "hardtanh", Noise(2**60 + 1, 2**31), np.empty_like(H)
    yield Case("activate", "300 hidden, half dropped", lambda m: m.activate(*hidden), N, LAYERS)
    yield Case("sum_of_squares", "300 features", lambda m: m.sum_of_squares(H), N, LAYERS)
    yield Case("sums_of_occurrences", "100 features", lambda m: m.sums_of_occurrences(ids, X), N, LAYERS)
    value, mean, square = (np.zeros((VOCABULARY, 100), np.float32) for _ in range(3))
    touches = np.zeros((VOCABULARY, 1), np.int64)
    total, settled = np.zeros(value.shape), np.zeros(VOCABULARY, np.int64)
    for part, g, size in ((rows, sums, f"{len(rows)} rows of 100"), (..., value + 1, f"a whole table of {VOCABULARY}")):
        adam = AdamMemory(value, mean, square, touches), part, g, AdamSettings(0.001)
        yield Case("adam_step", size, lambda m, adam=adam: m.adam_step(*adam), len(g), LAYERS)
        adagrad = (value, square, part, g, 0.001, 1e-8)
        yield Case("adagrad_step", size, lambda m, adagrad=adagrad: m.adagrad_step(*adagrad), len(g), LAYERS)
        settle = (total, settled, value, part, 7)
        yield Case("settle_rows", size, lambda m, settle=settle: m.settle_rows(*settle), len(g), LAYERS)


def window_cases(rng: np.random.Generator, tokens: int) -> Iterator[Case]:
    """The size of ``fast``, which adds up 5 rows of 128 numbers."""
    offsets = np.arange(0, tokens + 1, SENTENCE)
    N = int(offsets[-1])
    rows = rng.normal(size=(VOCABULARY, 640)).astype(np.float32)
    ids = np.minimum(rng.zipf(1.3, N), VOCABULARY - 1)
    sums = np.empty((N, 128), np.float32)
    sum_up = (rows, ids, offsets, 5, "relu", sums)
    yield Case("sum_windows", "5 × 128 hidden", lambda m: m.sum_windows(*sum_up, add=False), N, WINDOWS)


def tree_cases(rng: np.random.Generator) -> Iterator[Case]:
    """A level of 100 phrases of 200 words, 50 features; and the shapes of 500 trees of 40 words."""
    P, H, trees, leaves = 100, 50, 500, 40
    n, size = 2 * P, f"level of {P} phrases, {H} features"
    made = [rng.normal(size=shape).astype(np.float32) for shape in plain_trees.TreeCells.shapes(n, P, H)]
    cells, bias, dH = plain_trees.TreeCells(*made), np.zeros(5 * H, np.float32), made[2].copy()
    children, parents = np.arange(n).reshape(P, 2), np.append(np.arange(n), np.full(P, n))
    sent, dZ = (np.zeros((n + 1, H), np.float32), np.zeros((n + 1, H), np.float32)), np.empty_like(cells.phrases)
    up = cells, bias, children, parents
    yield Case("cells_up", size, lambda m: m.cells_up(*up)(0, P), P, TREES)
    yield Case("leaf_cells_up", size, lambda m: m.leaf_cells_up(cells, bias[: 3 * H], parents), n, TREES)
    yield Case("cells_down", size, lambda m: m.cells_down(cells, *up[2:], dH, *sent, dZ)(0, P), P, TREES)
    yield Case("leaf_cells_down", size, lambda m: m.leaf_cells_down(cells, parents, dH, *sent), n, TREES)
    widths = np.tile(np.array([0] * leaves + [2] * (leaves - 1), np.uint8), trees)
    offsets = np.arange(trees + 1) * (2 * leaves - 1)
    yield Case("binary_shape", "trees of 79 nodes", lambda m: m.binary_shape(widths, offsets), len(widths), TREES)


def text_cases(rng: np.random.Generator, tokens: int) -> Iterator[Case]:
    """Lines of two sentences, words of 5 letters; benchmarks/tokenising.py measures real text."""
    words = ["".join(letters) for letters in rng.choice(list("abcdefgh"), (VOCABULARY, 5))]
    drawn = [words[i] for i in np.minimum(rng.zipf(1.3, tokens), VOCABULARY - 1)]
    sentences = [" ".join(drawn[first : first + SENTENCE]) + "." for first in range(0, tokens, SENTENCE)]
    text = "\n".join(map(" ".join, zip(sentences[::2], sentences[1::2], strict=False))).encode()
    documents, patterns, rules = lines_of(text), token_patterns(TokenRules()), sentence_patterns(SentenceRules())
    cache = ChunkCache(patterns)
    found = compiled_segmentation.tokenise_text(text, documents, patterns, cache)
    N = len(found.cells)
    cut = text, documents, patterns
    yield Case("tokenise_text", "words seen before", lambda m: m.tokenise_text(*cut, cache), N, TOKENS)
    yield Case("tokenise_text", "new words", lambda m: m.tokenise_text(*cut, ChunkCache(patterns)), N, TOKENS)
    split = text, documents, *found, rules
    yield Case("split_sentences", "15 tokens each", lambda m: m.split_sentences(*split), N, SENTENCES)


def word_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Words that a model meets for the first time; benchmarks/new_words.py measures those of real text."""
    words = ["".join(letters) for letters in rng.choice(list("ABCDabcdefgh-1"), (VOCABULARY, 7))]
    config = configured("fast", {})
    features = WordFeatures.build(WordFeatureConfig.of(config), [words[::2]])
    cells = word_cells(words)
    size = f"{len(features.columns)} features"
    yield Case("word_features", size, lambda m: m.word_features(*cells, features.rules), VOCABULARY, WORDS)


def quadratic_cases(rng: np.random.Generator) -> Iterator[Case]:
    """The tensor composition: levels of 1 and of 100 phrases, 50 features."""
    D, K = 50, 100
    V, W, b = (rng.normal(size=shape).astype(np.float32) for shape in ((K, D, K), (D, K), (D,)))
    U, modules = plain_trees.sums_of_pairs(V), (plain_trees, compiled_trees)
    yield Case("sums_of_pairs", f"{D} matrices {K} × {K}", lambda m: m.sums_of_pairs(V), 1, modules)
    for N in (1, 100):
        C, dZ = (rng.normal(size=(N, width)).astype(np.float32) for width in (K, D))
        size, Z, dC = f"{N} phrases, {D} features", np.empty_like(dZ), np.empty_like(C)
        forms, back, weights = (C, U, W, b, Z), (dZ, C, U, W, dC), (dZ, C)
        yield Case("quadratic_forms", size, lambda m, a=forms: m.quadratic_forms(*a), N, modules)
        yield Case("quadratic_forms_back", size, lambda m, a=back: m.quadratic_forms_back(*a), N, modules)
        yield Case("quadratic_weights", size, lambda m, a=weights: m.quadratic_weights(*a), N, modules)


def chain_cases(rng: np.random.Generator, L: int, tokens: int) -> Iterator[Case]:
    batch = chain(rng, L, tokens)
    one = chain(rng, L, SENTENCE, sentences=1)
    if L <= MOST_RANKED_LABELS:
        yield Case("ranked_paths", f"{L} labels, 5 best", lambda module: module.ranked_paths(*batch, 5), len(batch[0]))
    for name in ("viterbi", "chain_moments", "chain_messages"):
        yield Case(name, f"{L} labels", lambda module, name=name: getattr(module, name)(*batch), len(batch[0]))
        if L == 17:
            call = lambda module, name=name: [getattr(module, name)(*one) for _ in range(50)]  # noqa: E731
            yield Case(name, f"{L} labels, one sentence", call, 50 * SENTENCE)


def chain(rng: np.random.Generator, L: int, tokens: int, sentences: int | None = None) -> tuple[Array, ...]:
    """A batch of float32 scores as a network gives them, on a random chain."""
    cuts = np.sort(rng.integers(0, tokens, (sentences or max(1, tokens // SENTENCE)) - 1))
    offsets = offsets_from_lengths(np.diff(cuts, prepend=0, append=tokens))
    unary = rng.normal(size=(tokens, L)).astype(np.float32)
    return unary, offsets, rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L)


def measured(case: Case) -> dict[str, Any]:
    functions = {
        name: lambda module=module: case.call(module)
        for name, module in zip(("plain", "compiled"), case.modules, strict=True)
    }
    best = {name: min(seconds) / case.units * 1e9 for name, seconds in interleaved(functions, REPEATS).items()}
    return {
        "kernel": case.kernel,
        "size": case.size,
        "plain ns": best["plain"],
        "compiled ns": best["compiled"],
        "times as fast": best["plain"] / best["compiled"],
    }


if __name__ == "__main__":
    sys.exit(main())

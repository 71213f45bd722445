"""Tokeniser and sentence splitter beside the gold tokens of a CoNLL-U file, and their speed beside a bare expression.

    python benchmarks/tokenising.py en_ewt-ud-dev.conllu [--text FILE] [--ablate]
    python benchmarks/tokenising.py --text FILE [--equal]

The raw text is rebuilt from the file (SpaceAfter=No, a blank line before each ``# newpar`` and ``# newdoc``). As in the
CoNLL 2018 evaluation, a token is right when its span of characters is. The words of a multiword token count one by one
where they spell it (do + n't), else the whole token counts as one.
"""

import argparse
import importlib
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from postil import kernels
from postil.kernels import ChunkCache
from postil.kernels import plain_segmentation as plain
from postil.text import Segmenter, SentenceRules, TokenRules, Tokens, split_sentences, tokenise
from postil.text.splitting import rules as token_rules
from postil.text.splitting.rules import DEFAULT, sentence_patterns, token_patterns
from postil.text.splitting.segmenter import lines_of

TWINS = [plain]
if not kernels.IN_USE.startswith("plain"):
    TWINS.append(importlib.import_module("postil.kernels.compiled_segmentation"))

Span = tuple[int, int]


class Gold(NamedTuple):
    text: str
    tokens: list[Span]
    sentences: list[Span]


def read_gold(lines: Iterator[str]) -> Gold:
    """Rebuild the text of a CoNLL-U file and the spans of its tokens and sentences."""
    text, tokens, sentences, first = "", [], [], 0
    before = ""  # what stands between the token before and the next one
    for row in lines:
        if row.startswith(("# newpar", "# newdoc")):
            before = "\n\n" if text else ""
        elif not row.strip() and first < len(tokens):
            sentences.append((tokens[first][0], tokens[-1][1]))
            first = len(tokens)
        elif row[:1].isdigit():
            for form, after in surface_words(row.rstrip("\n").split("\t"), lines):
                text += before
                tokens.append((len(text), len(text) + len(form)))
                text += form
                before = after
    return Gold(text, tokens, sentences)


def surface_words(columns: list[str], lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The words of one row of the surface, each with the space after it; takes a multiword token's rows as well."""
    number, form, after = columns[0], columns[1], "" if "SpaceAfter=No" in columns[9] else " "
    if "." in number:  # an empty node is not in the text
        return
    words = [form]
    if "-" in number:
        low, high = map(int, number.split("-"))
        parts = [next(lines).split("\t")[1] for _ in range(low, high + 1)]
        words = parts if "".join(parts) == form else [form]
    for index, word in enumerate(words):
        yield word, after if index == len(words) - 1 else ""


def spans_of(tokens: Tokens) -> list[Span]:
    return list(zip(tokens.starts, tokens.ends, strict=True))


def sentence_spans(tokens: Tokens) -> list[Span]:
    return [(tokens.starts[first], tokens.ends[last - 1]) for first, last in split_sentences(tokens)]


def score(gold: list[Span], found: list[Span]) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent."""
    right = len(set(gold) & set(found))
    precision, recall = 100 * right / len(found), 100 * right / len(gold)
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def show_score(name: str, gold: list[Span], found: list[Span]) -> None:
    precision, recall, f1 = score(gold, found)
    print(f"{name:<10} precision {precision:6.2f}  recall {recall:6.2f}  F1 {f1:6.2f}  ({len(gold):,} gold)")


def commonest_errors(gold: Gold, found: list[Span], number: int) -> list[tuple[str, int]]:
    """Chunks between white space that are cut differently: "gold -> found"."""

    def cuts(spans: list[Span]) -> dict[int, list[str]]:
        table: dict[int, list[str]] = {}
        for start, end in spans:
            table.setdefault(chunk_of[start], []).append(gold.text[start:end])
        return table

    chunk_of = {
        position: match.start() for match in re.finditer(r"\S+", gold.text) for position in range(*match.span())
    }
    right, ours = cuts(gold.tokens), cuts(found)
    differ = (chunk for chunk in right if right[chunk] != ours[chunk])
    wrong = Counter(f"{' '.join(right[chunk])}  ->  {' '.join(ours[chunk])}" for chunk in differ)
    return wrong.most_common(number)


def best_time(action: Callable[[], object], repeats: int = 3) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def show_speed(name: str, text: str) -> None:
    """Characters a second; the first row is the limit: an expression that knows nothing and gives no offsets."""
    bare = re.compile(r"\w+|[^\w\s]")
    tokens, lines = tokenise(text), text.splitlines()
    rows: dict[str, Callable[[], object]] = {
        "bare re.findall": lambda: bare.findall(text),
        "tokenise": lambda: tokenise(text),
        "tokenise, line by line": lambda: [tokenise(line) for line in lines],
        "tokenise, first call": lambda: tokenise(text, fresh_rules()),
        "split_sentences": lambda: split_sentences(tokens),
    }
    print(f"\nspeed on {name}, {len(text):,} characters")
    limit = 0.0
    for label, action in rows.items():
        seconds = best_time(action)
        limit = limit or seconds
        print(f"  {label:<22} {len(text) / seconds / 1e6:7.2f} M characters/s  {limit / seconds:5.2f} of the limit")


PIECE = 1 << 20
LIMITS = {"copying the bytes": bytearray, "bytes.split": bytes.split}


def pieces_of(content: bytes, size: int = PIECE) -> Iterator[bytes]:
    """Parts of about so many bytes, up to the end of a line, as a file is read."""
    first = 0
    while first < len(content):
        end = content.find(b"\n", first + size) + 1 or len(content)
        yield content[first:end]
        first = end


def show_kernels(name: str, content: bytes) -> None:
    """MB of UTF-8 a second of CPU time, lines as documents: both twins beside what reads the bytes and no more.

    "new text": nothing is cached; the others have seen the text before.
    """
    segmenter, rules, documents = Segmenter(), sentence_patterns(SentenceRules()), lines_of(content)
    pieces = list(pieces_of(content))
    rows: dict[str, Callable[[], object]] = {
        **{label: partial(action, content) for label, action in LIMITS.items()},
        "tokens and sentences": lambda: segmenter.cells(content, lines=True),
        "… in pieces of 1 MB": lambda: [segmenter.cells(piece, lines=True) for piece in pieces],
    }
    patterns = token_patterns(DEFAULT)
    fresh = lambda module: module.tokenise_text(content, documents, patterns, ChunkCache(patterns))  # noqa: E731
    for module in TWINS:
        kind = module.__name__.rsplit(".", 1)[-1].partition("_")[0]
        cache = ChunkCache(patterns)
        found = module.tokenise_text(content, documents, patterns, cache)
        rows[f"{kind} tokenise_text"] = partial(module.tokenise_text, content, documents, patterns, cache)
        rows[f"{kind} …, new text"] = partial(fresh, module)
        rows[f"{kind} split_sentences"] = partial(module.split_sentences, content, documents, *found, rules)
    print(f"\nkernels in use: {kernels.IN_USE}; {name}, {len(content):,} bytes, best of 3")
    for label, action in rows.items():
        print(f"  {label:<24} {len(content) / best_time(action) / 1e6:8.1f} MB/s")


def show_equality(name: str, content: bytes) -> None:
    """Whether both twins find the same tokens and sentences everywhere; a line is a document, then the piece is one."""
    patterns, rules = token_patterns(DEFAULT), sentence_patterns(SentenceRules())
    caches = [ChunkCache(patterns) for _ in TWINS]
    tokens = sentences = 0
    for piece in pieces_of(content):
        for documents in (lines_of(piece), np.array([[0, len(piece)]])):
            answers = []
            for module, cache in zip(TWINS, caches, strict=True):
                found = module.tokenise_text(piece, documents, patterns, cache)
                answers.append((*found, module.split_sentences(piece, documents, *found, rules)))
            if not all(map(np.array_equal, *answers)):
                sys.exit(f"{name}: the twins differ near {piece[:200]!r}")
            tokens, sentences = tokens + len(answers[0][0]), sentences + len(answers[0][2]) - 1
    counts = f"{len(content):,} bytes, {tokens:,} tokens and {sentences:,} sentences in both ways"
    print(f"\n{name}: both twins the same; {counts}")


def fresh_rules(number: Iterator[int] = count()) -> TokenRules:  # noqa: B008 - one counter for the whole run
    """The default rules with a unit that no text holds: equal to no rules before, so nothing is known of any chunk."""
    return replace(DEFAULT, units=(*DEFAULT.units, f"nosuchunit{next(number)}"))


def show_ablation(gold: Gold) -> None:
    """What each alternative of the expression brings: token F1 without it, less the full F1."""
    full = score(gold.tokens, spans_of(tokenise(gold.text)))[2]
    alternatives = token_rules.token_alternatives
    print("\ntoken F1 lost without")
    for name in list(alternatives(DEFAULT))[1:-1]:  # the first is empty, the last must stay
        without = partial(leave_out, alternatives, name)
        with mock.patch.object(token_rules, "token_alternatives", without):
            found = spans_of(tokenise(gold.text, fresh_rules()))
        print(f"  {name:<20} {full - score(gold.tokens, found)[2]:6.3f}")


def leave_out(alternatives: Callable[[TokenRules], dict[str, str]], name: str, rules: TokenRules) -> dict[str, str]:
    return {**alternatives(rules), name: ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conllu", type=Path, nargs="?", help="gold tokens and sentences")
    texts = "plain texts to measure the speed on (the first 20 M characters)"
    parser.add_argument(
        "--text",
        type=Path,
        nargs="+",
        default=[],
        help=texts,
    )
    parser.add_argument("--equal", action="store_true", help="instead: whether both twins agree on all of --text")
    parser.add_argument("--errors", type=int, default=25, help="how many of the commonest errors to show")
    parser.add_argument("--ablate", action="store_true", help="also measure what each rule contributes")
    arguments = parser.parse_args()

    for path in arguments.text if arguments.equal else ():
        show_equality(path.name, path.read_bytes())
    if arguments.equal:
        return
    if arguments.conllu:
        show_accuracy(arguments)
    for path in arguments.text:
        with path.open(encoding="utf-8") as file:
            text = file.read(20_000_000)
        show_speed(path.name, text)
        show_kernels(path.name, text.encode())


def show_accuracy(arguments: argparse.Namespace) -> None:
    with arguments.conllu.open(encoding="utf-8") as lines:
        gold = read_gold(lines)
    tokens = tokenise(gold.text)
    show_score("tokens", gold.tokens, spans_of(tokens))
    show_score("sentences", gold.sentences, sentence_spans(tokens))
    print("\ncommonest errors, gold -> found")
    for error, times in commonest_errors(gold, spans_of(tokens), arguments.errors):
        print(f"  {times:4}  {error}")
    if arguments.ablate:
        show_ablation(gold)
    show_speed(arguments.conllu.name, gold.text)


if __name__ == "__main__":
    main()

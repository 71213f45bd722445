"""What must be true of every file, however broken: a clear error, or everything that stands in it is read.

The references here look at the bytes in the most obvious way, whole file at a time, and share no code with the readers.
"""

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

from postil.errors import PostilError
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write
from postil.text.trees.tree import Tree
from postil.text.trees.treebank import tree_of


def outcome(path: Path, format: str | None, check: Any) -> str:
    """ "right", "refused" or "recognised as …"; an AssertionError says what went wrong with the file."""
    try:
        with read(path, format, misaligned="snap", overlaps="longest") as reading:
            sentences = list(reading)
    except PostilError as error:
        message = str(error)
        assert message and "\n" not in message and error.where is not None, message
        assert str(path) in str(error.where), message
        return "refused"
    if format is None and reading.format != _FORMATS[check]:
        return f"recognised as {reading.format}"
    check(_text(path), sentences, reading)
    return "right"


def _text(path: Path) -> str:
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return re.sub("\r\n?", "\n", data.decode(encoding))


def _blocks(text: str) -> list[list[str]]:
    """Lines between blank ones."""
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip(" \t"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _written(sentences: list[Sentence], format: str, **options: Any) -> str:
    stream = io.BytesIO()
    write(sentences, stream, format, **options)
    return stream.getvalue().decode()


def check_conll(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """Every sentence is the block of lines it says it is; every other line is a comment or a mark."""
    lines = [*text.split("\n"), ""]
    first_row = lines[sentences[0].line - 1]
    for sentence in sentences:
        last = sentence.line - 1 + len(sentence)
        rows = [_cells(line, "\t" in first_row) for line in lines[sentence.line - 1 : last]]
        assert sentence.tokens == [row[0] for row in rows]
        is_bare = len(_cells(first_row, "\t" in first_row)) == 1  # one token a line, without labels
        assert sentence.labels == (None if is_bare else [row[-1].strip(" ") for row in rows])
        assert (sentence.columns or [()] * len(rows)) == [tuple(row[1:-1]) for row in rows]
        assert not lines[last].strip(" \t"), "the sentence goes on"
    report = reading.report
    others = report.notes["comments"] + report.documents + report.dropped["documents without a sentence"]
    assert sum(map(len, _blocks(text))) == report.tokens + others
    again = list(read(io.BytesIO(_written(sentences, "conll").encode()), "conll"))
    assert [_content(sentence) for sentence in again] == [_content(sentence) for sentence in sentences]


def _cells(line: str, tabs: bool) -> list[str]:
    return line.split("\t") if tabs else [cell for cell in re.split("[ \t]", line) if cell]


def _content(sentence: Sentence) -> tuple[object, ...]:
    return (sentence.tokens, sentence.labels, sentence.columns, sentence.document, sentence.comments)


def check_conllu(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """All lines come back; the words are the numbered lines, the labels their fourth column."""
    lines = [line for block in _blocks(text) for line in block]
    again = [line for block in _blocks(_written(sentences, "conllu")) for line in block]
    kept = len(lines) - reading.report.dropped["comments after the last sentence"]
    assert again == lines[:kept]
    words = [line.split("\t") for line in lines if re.match(r"[0-9]+\t", line)]
    assert [token for sentence in sentences for token in sentence.tokens] == [word[1] for word in words]
    assert [label for sentence in sentences for label in sentence.labels or ()] == [word[3] for word in words]


def check_jsonl(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """Every record comes back with its text and its spans, or what happened to them is counted."""
    records = [json.loads(line) for line in text.split("\n") if line.strip(" \t")]
    rejected = [record for record in records if record.get("answer") in ("reject", "ignore")]
    again = [json.loads(line) for line in _written(sentences, "jsonl").split("\n") if line]
    report = reading.report
    empty = report.dropped["records without tokens"]
    assert len(again) + len(rejected) + empty == len(records)
    if rejected or empty:
        return
    lost = report.dropped["spans that do not fit token boundaries"] + report.dropped["overlapping spans"]
    assert [record.get("text") for record in again] == [record.get("text") for record in records]
    spans = [len(record.get("spans") or ()) for record in records]
    if all("labels" not in record for record in [*records, *again]):
        assert sum(len(record.get("spans", ())) for record in again) == sum(spans) - lost
    if not lost and not report.changed and all("labels" not in record for record in [*records, *again]):
        key = lambda span: (span["start"], span["end"], span["label"])  # noqa: E731
        assert [sorted(map(key, record.get("spans") or ())) for record in again] == [
            sorted(map(key, record.get("spans") or ())) for record in records
        ]


def check_trees(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """Every bracket, label and word of the file is in a tree, in the same order; what is written is read again."""
    trees = [tree_of(sentence) for sentence in sentences]
    source = _nested(text)
    assert [_as_nested(tree) for tree in trees] == source
    again = read(io.BytesIO(_written(sentences, "trees").encode()), "trees")
    assert [tree_of(sentence) for sentence in again] == trees
    assert [token for sentence in sentences for token in sentence.tokens] == [
        token for tree in trees for token in tree.tokens
    ]


Nested = list[Any]
"""[label or None, word] or [label or None, child, …]."""


def _nested(text: str) -> list[Nested]:
    """Brackets to nested lists in the most obvious way."""
    trees: list[Nested] = []
    open_lists: list[Nested] = []
    for piece in re.findall(r"\([ \t\n]*|\)|[^ \t\n()]+", _without_comments(text)):
        if piece.startswith("("):
            open_lists.append([piece])
        elif piece != ")":
            open_lists[-1].append(piece)
        else:
            done = _node(open_lists.pop())
            (open_lists[-1] if open_lists else trees).append(done)
    assert not open_lists
    return [tree[1] if tree[0] is None and len(tree) == 2 and isinstance(tree[1], list) else tree for tree in trees]


def _node(items: Nested) -> Nested:
    bracket, *items = items
    assert items
    labelled = isinstance(items[0], str) and (len(items) > 1 or bracket == "(")
    label, items = (items[0], items[1:]) if labelled else (None, items)
    assert items
    if len(items) == 1 and isinstance(items[0], str):
        return [label, _word(items[0])]
    assert len({type(item) for item in items}) == 1, "words beside brackets"
    return [label, *([None, _word(item)] if isinstance(item, str) else item for item in items)]


_WORD_ESCAPES = re.compile(r"-([LR])([RSC])B-|\\([/*])")


def _word(text: str) -> str:
    brackets = {"LR": "(", "RR": ")", "LS": "[", "RS": "]", "LC": "{", "RC": "}"}
    return _WORD_ESCAPES.sub(lambda found: found[3] or brackets[found[1] + found[2]], text)


def _without_comments(text: str) -> str:
    kept, depth = [], 0
    for line in text.split("\n"):
        if depth or not line.strip(" \t").startswith("#"):
            depth += line.count("(") - line.count(")")
            kept.append(line)
    return "\n".join(kept)


def _as_nested(tree: Tree) -> Nested:
    nodes: list[Nested] = []
    for label, word, children in tree:
        nodes.append([label, word] if word is not None else [label, *[nodes[child] for child in children]])
    return nodes[-1]


_FORMATS = {check_conll: "conll", check_conllu: "conllu", check_jsonl: "jsonl", check_trees: "trees"}
CHECKS = {"conll": check_conll, "conllu": check_conllu, "jsonl": check_jsonl, "trees": check_trees}

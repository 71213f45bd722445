"""Read labelled files and write them again: nothing may be lost.

    python benchmarks/rereading.py PATH...        files, or folders to be searched for them

For each file: whether its own format gives back the same bytes, and whether tokens, labels and columns survive the way
through JSON Lines. Files that are not of a format of ours are listed with the error.
"""

import argparse
import io
import sys
from pathlib import Path

from postil.errors import PostilError
from postil.text.document import Sentence
from postil.text.formats import read, write


def content(sentences: list[Sentence]) -> list[tuple[object, ...]]:
    return [(s.tokens, s.labels, s.columns, s.document, s.comments) for s in sentences]


def through(sentences: list[Sentence], format: str) -> tuple[bytes, list[Sentence]]:
    stream = io.BytesIO()
    write(sentences, stream, format)
    return stream.getvalue(), list(read(io.BytesIO(stream.getvalue()), format))


def check(path: Path) -> tuple[str, bool]:
    """A line on a file, and whether all was well. Formats without labels have no writer and are only read."""
    reading = read(path)
    if reading.format in ("text", "tokens"):
        characters = sum(len(token) for sentence in reading for token in sentence.tokens)
        same = characters == sum(not character.isspace() for character in path.read_text(encoding="utf-8"))
        return f"{reading.format:6} {reading.report.tokens:9,} tokens  every character in a token: {same}", same
    sentences = list(reading)
    own, again = through(sentences, reading.format)
    same_bytes = own == path.read_bytes()
    same = content(again) == content(sentences)
    _, spans = through(sentences, "jsonl")
    survived = content(spans) == content(sentences)
    sizes = f"{reading.format:6} {reading.report.sentences:7,} sentences {reading.report.tokens:9,} tokens"
    return f"{sizes}  same bytes: {same_bytes}  same content: {same}  through JSON Lines: {survived}", same and survived


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    paths = parser.parse_args().paths
    files = [
        file for path in paths for file in (sorted(path.rglob("*.*")) if path.is_dir() else [path]) if file.is_file()
    ]
    well = True
    for file in files:
        try:
            line, good = check(file)
        except PostilError as error:
            line, good = f"refused: {error}", True
        well &= good
        print(f"{file.parent.name}/{file.name:28} {line}")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

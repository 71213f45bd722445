r"""List phrases that a native engineer would not write, in pages and sources, and count the words. It does not judge.

python docs/phrases.py                 counts by phrase, and the first places of each
python docs/phrases.py --all README.md every place in these files
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PHRASES = {
    "beside (compared with, next to)": r"\bbesides? (?!s\b)",
    "is worth, pays, brings (improves)": r"\b(?:is|are) worth\b|\bpays\b(?! off)|\bit pays\b",
    "a training (a training run)": r"\b[Aa] training (?!run|set|file|loop|step|se[nq]|report|token|corpus|part|data)",
    "by itself, of its own": r"\bby itself\b|\bof its own\b|\bof their own\b|\bby themselves\b",
    "is refused, is warned of, is taken": r"\b(?:is|are) (?:refused|warned of|taken)\b",
    "so many, as many as": r"\bso many\b|\bas many as\b",
    "trailing too": r", too[.;:)]",
    "what stands": r"\bwhat stands\b|\bstands? in the (?:data|text|file)\b",
    "is no (is not a)": r"(?<!there )\b(?:is|are) no (?!longer|more|less|better|worse|larger|faster|one|different)\w",
    "models that know, say, like": r"\bmodels? (?:that )?(?:knows?|says?|likes?|is told|are told)\b",
    "docstring begins with What": r'"""What\b',
    "busy or quiet machine, goals, aims": r"\b(?:busy|quiet) machine\b|\b(?:goal|aim)s? (?:is|are|of)\b",
}
KINDS = (".py", ".md", ".c", ".h", ".js")
PLACES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "src")


def files(names: list[str]) -> list[Path]:
    paths = [ROOT / name for name in names or PLACES]
    found = [path for place in paths for path in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return [path for path in found if path.suffix in KINDS and path != Path(__file__).resolve()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", help="files and folders (default: README, pages, sources)")
    parser.add_argument("--all", action="store_true", help="list every place")
    arguments = parser.parse_args()
    texts = [(path.relative_to(ROOT), path.read_text("utf-8")) for path in files(arguments.files)]
    for name, pattern in PHRASES.items():
        places = [
            f"  {path}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
            for path, text in texts
            for found in re.finditer(pattern, text)
        ]
        sys.stdout.write(f"{len(places):5}  {name}\n")
        shown = places if arguments.all else []
        sys.stdout.writelines(f"{place}\n" for place in shown)
    sys.stdout.write("{:,} words on the pages, {:,} on those written from the code\n".format(*words()))


def words() -> tuple[int, int]:
    """The words of the documentation, code included, as ``wc -w`` counts them."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    counts = {page: len(page.read_text("utf-8").split()) for page in pages}
    generated = sum(counts[ROOT / "docs" / "reference" / name] for name in ("commands.md", "settings.md"))
    return sum(counts.values()) - generated, generated


if __name__ == "__main__":
    main()

"""Writes ``characters.bin``, what Postil knows of every Unicode character, from the Python that runs it.

    python -m tools.freeze_characters

Run once, when Postil moves on to a newer version of Unicode. `characters.py` reads
the file and says what is in it.
"""

import unicodedata
from re import _casefix  # type: ignore[attr-defined]  # no public name has the pairs that `re` adds to lower case

import numpy as np

from postil.kernels.characters import BLOCK, FILE, LAST, observed


def extra_cases() -> list[tuple[int, int]]:
    """Lower-case characters that `re` takes for one another, each with the smallest of its group."""
    return [(code, min(code, *others)) for code, others in sorted(_casefix._EXTRA_CASES.items())]


def content() -> bytes:
    """What ``characters.bin`` holds if this Python writes it."""
    codes = np.arange(LAST + 1)
    flags, lower = observed(codes)
    records, numbers = np.unique(np.stack([flags, lower - codes], axis=1), axis=0, return_inverse=True)
    pages, index = np.unique(numbers.reshape(-1, BLOCK), axis=0, return_inverse=True)
    cases = np.array(extra_cases())
    version = [int(part) for part in unicodedata.unidata_version.split(".")]
    head = np.array([*version, len(records), len(cases), len(pages)])
    assert len(records) <= 256 and len(pages) <= 256, "numbers of records and pages are single bytes"
    parts = [*(part.astype("<i4") for part in (head, records, cases)), index.astype("u1"), pages.astype("u1")]
    return b"".join(part.tobytes() for part in parts)


if __name__ == "__main__":
    FILE.write_bytes(content())

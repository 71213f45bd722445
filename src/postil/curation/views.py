"""Records as they are shown to a person: words, what stands between and around them, and where they come from."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

CONTEXT = 240
"""Characters of the text around a sentence that are shown."""


def cut_out(text: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A sentence without the text around it."""
    left = starts[0]
    return text[left : ends[-1]], tuple((start - left, end - left) for start, end in zip(starts, ends, strict=True))


def view(text: str, starts: Sequence[int], ends: Sequence[int]) -> dict[str, Any]:
    """Words and gaps instead of offsets: a browser counts characters otherwise."""
    return {
        "words": [text[start:end] for start, end in zip(starts, ends, strict=True)],
        "gaps": [text[end:start] for end, start in zip(ends, islice(starts, 1, None), strict=False)],
        "before": text[max(0, starts[0] - CONTEXT) : starts[0]],
        "after": text[ends[-1] : ends[-1] + CONTEXT],
    }


def about(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What the pool says about a record: its place, and the doubts of a review."""
    doubts = fields.get("doubts")
    return {
        "where": str(fields.get("where") or where),
        "doubts": [
            {"data": str(doubt.get("in the data", "")), "models": str(doubt.get("models", ""))}
            for doubt in (doubts if isinstance(doubts, list) else ())
            if isinstance(doubt, dict)
        ],
    }

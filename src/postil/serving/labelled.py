"""The result of the fast path and of the general path."""

from dataclasses import dataclass
from typing import final

from postil.errors import PostilError

BLOCK_TOKENS = 20_000
"""Tokens that are labelled at once."""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A passage with labels."""

    content: bytes
    """The passage as it is written, up to the first mistake."""
    tokens: int
    long_sentences: list[int]
    """Lengths of the sentences that some models see only in pieces."""
    mistake: PostilError | None = None

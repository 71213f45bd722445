"""What both paths return."""

from typing import final

from postil.errors import PostilError
from postil.lazy import dataclass

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

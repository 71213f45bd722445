"""Patterns with programs that the package does not hold: any expressions, any tables of characters."""

from typing import TypeVar

from postil.kernels import SentencePatterns, TokenPatterns
from tools import patterns as compiler

Patterns = TypeVar("Patterns", TokenPatterns, SentencePatterns)


def with_program(patterns: Patterns) -> Patterns:
    """The same patterns, for the compiled kernel."""
    expressions = [patterns.token, patterns.depends] if isinstance(patterns, TokenPatterns) else patterns.sources
    patterns.program = compiler.compiled(expressions, patterns.characters)
    return patterns

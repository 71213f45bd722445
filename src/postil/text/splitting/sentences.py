"""Tokens -> sentences, as ranges of tokens.

Two signs end a sentence: a line break that the rules count, and a final mark (``. ! ? …``) with whatever closes after
it, unless what stands before (a title, an initial, the number of a list) or after it (a small letter, a comma) says no.
"""

from postil.kernels import plain_sentences
from postil.text.splitting.segmenter import sentence_patterns_of
from postil.text.splitting.sentence_rules import DEFAULT, SentenceRules
from postil.text.splitting.tokenise import Tokens


def split_sentences(tokens: Tokens, rules: SentenceRules = DEFAULT) -> list[tuple[int, int]]:
    """The sentences as consecutive ranges of tokens ``(first, last + 1)`` that cover every token."""
    patterns = sentence_patterns_of(rules)
    return plain_sentences.ranges(tokens.text, tokens.tokens, tokens.starts, tokens.ends, patterns)

"""Characters -> tokens, sentences, trees."""

from postil.text.offsets import utf8_offsets, utf16_offsets
from postil.text.sentences import SentenceRules, split_sentences
from postil.text.token_rules import Rules
from postil.text.tokenise import Tokens, tokenise

__all__ = ["Rules", "Tokens", "SentenceRules", "split_sentences", "tokenise", "utf8_offsets", "utf16_offsets"]

"""Writes ``programs.bin``: the default rules of the tokeniser and the sentence splitter, compiled.

    python -m postil.text.splitting.freeze_rules        (make rules)

Run after a change of those rules, of the compiler in ``kernels/patterns.py`` or of ``characters.bin``; never imported
by the package.
"""

from postil.kernels import programs
from postil.text.splitting import sentence_rules, token_rules


def expressions() -> list[list[str]]:
    """Those that the kernels ask for under the default rules."""
    tokens = token_rules.token_patterns(token_rules.DEFAULT)
    sentences = sentence_rules.sentence_patterns(sentence_rules.DEFAULT)
    return [[tokens.token, tokens.depends], list(sentences.sources)]


if __name__ == "__main__":
    programs.FILE.write_bytes(programs.content(expressions()))

"""``postil rules check``: what rules do on raw text."""

from argparse import Namespace
from pathlib import Path

from postil.commands.console import say
from postil.commands.fitting import Display, follow
from postil.commands.output import present
from postil.commands.parser import JSON, SEED, SETTINGS, option
from postil.commands.teaching import MOST_TOKENS, THREADS, raw_sentences, tokens_option
from postil.models.config import parsed_setting
from postil.models.tagger import Tagger
from postil.rules import check, read_rules
from postil.rules.learning import Learning

DESCRIPTION = """\
Check a file of rules on raw text. A small tagger is trained on the votes of the rules. For each rule, the report shows
how often it votes, how often it contradicts the others, its estimated precision, and where it is outvoted. It also
lists rules that never vote, and phrases that only the tagger labels, as candidates for new rules. docs/how-to/rules.md
explains the format of the file.

  postil rules check rules.toml raw.txt
  postil rules check rules.toml raw.txt --json
  postil train --rules rules.toml --unlabelled raw.txt -o ner.postil        train a model on the votes
"""
OPTIONS = {
    "": [
        option("check", "what to do", choices=["check"], dest="action"),
        option("RULES", "file of rules", type=Path),
        option("TEXT", "raw text (not needed for rules with mentions)", nargs="*", dest="unlabelled"),
        tokens_option(MOST_TOKENS),
        SETTINGS,
        SEED,
        THREADS,
        JSON,
    ],
    "reading": [option("--encoding NAME", "encoding of the text (default: UTF-8)")],
}


def run(arguments: Namespace) -> int:
    rules = read_rules(arguments.rules)
    settings = dict(map(parsed_setting, arguments.settings))
    tagger = Tagger(preset="fast", seed=arguments.seed, threads=arguments.threads, **settings)
    learning = Learning(raw_sentences(arguments) if arguments.unlabelled else [], rules)
    fitting = tagger.fitting(**learning.data())
    if code := follow(fitting, Display(fitting)):
        return code
    report = check(learning.learned(tagger), learning.sentences)
    return present(arguments, report.to_dict(), lambda: say(str(report)))

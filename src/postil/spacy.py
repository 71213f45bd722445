"""``postil.spacy``: another name of ``postil.integrations.spacy``, so that it can be imported from here."""

import sys

from postil.integrations import spacy
from postil.integrations.spacy import *  # noqa: F403 - for editors and type checkers, without a second list of names

sys.modules[__name__] = spacy  # one module under two names: its classes are the same ones

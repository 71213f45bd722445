"""``postil.crfsuite``: another name of ``postil.integrations.crfsuite``, so that it can be imported from here."""

import sys

from postil.integrations import crfsuite
from postil.integrations.crfsuite import *  # noqa: F403 - for editors and type checkers, without a second list of names

sys.modules[__name__] = crfsuite  # one module under two names: its classes are the same ones

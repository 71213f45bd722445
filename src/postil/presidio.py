"""``postil.presidio``: another name of ``postil.integrations.presidio``, so that it can be imported from here."""

import sys

from postil.integrations import presidio
from postil.integrations.presidio import *  # noqa: F403 - for editors and type checkers, without a second list of names

sys.modules[__name__] = presidio  # one module under two names: its classes are the same ones

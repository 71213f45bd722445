"""``postil.arrow``: another name of ``postil.integrations.arrow``, so that it can be imported from here."""

import sys

from postil.integrations import arrow
from postil.integrations.arrow import *  # noqa: F403 - for editors and type checkers, without a second list of names

sys.modules[__name__] = arrow  # one module under two names: its classes are the same ones

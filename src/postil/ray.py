"""``postil.ray``: another name of ``postil.integrations.ray``, so that it can be imported from here."""

import sys

from postil.integrations import ray
from postil.integrations.ray import *  # noqa: F403 - for editors and type checkers, without a second list of names

sys.modules[__name__] = ray  # one module under two names: its classes are the same ones

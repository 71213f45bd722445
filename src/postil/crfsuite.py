"""``postil.crfsuite``: another name of ``postil.integrations.crfsuite``, so that it can be imported from here."""

import sys

from postil.integrations import crfsuite

sys.modules[__name__] = crfsuite

"""The check for packages that only some users need, see ``postil.extras``."""

from postil.extras import needed

__all__ = ["needed"]

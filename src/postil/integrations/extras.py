"""Imports of optional packages, see ``postil.extras``."""

from postil.extras import needed

__all__ = ["needed"]

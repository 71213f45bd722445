"""The Portuguese model of Postil, as a file: ``postil.load("portuguese")`` finds it by this package's entry point."""

from pathlib import Path

MODEL = Path(__file__).with_name("portuguese.postil")

"""The Danish model of Postil, as a file: ``postil.load("danish")`` finds it by this package's entry point."""

from pathlib import Path

MODEL = Path(__file__).with_name("danish.postil")

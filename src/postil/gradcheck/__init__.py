"""Gradient checks by central differences (B4), and the list of what is checked in the mathematics."""

from postil.gradcheck.examination import TOLERANCE, Disagreement, Entry, GradientReport, Sampling, check, examine

__all__ = ["TOLERANCE", "Disagreement", "Entry", "GradientReport", "Sampling", "check", "examine"]

"""Differences between taggers, detectors, tree classifiers and multi-task models."""

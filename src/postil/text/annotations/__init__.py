"""Texts with labelled stretches: JSON Lines and the files of annotation tools."""

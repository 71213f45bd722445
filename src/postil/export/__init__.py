"""Fitted models in forms that run without Python, or without Postil."""

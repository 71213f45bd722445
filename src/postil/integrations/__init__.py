"""Postil from inside other tools, each as its own users expect it. Nothing is imported until it is used."""

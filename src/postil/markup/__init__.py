"""HTML and SVG: elements, drawings, sentences with marked spans, and the style that they share."""

from importlib import resources

from postil.markup.elements import Content, Markup, Value, element, escaped, joined

__all__ = ["Content", "Markup", "Value", "element", "escaped", "joined", "style"]


def style() -> Markup:
    """The content of a style sheet: colours of labels, marked spans."""
    return Markup("\n" + resources.files("postil.markup").joinpath("style.css").read_text(encoding="utf8"))

"""HTML and SVG: elements, drawings, marked texts, fragments for notebooks, and the style that they share."""

from postil.html.elements import Content, Markup, Value, element, escaped, joined
from postil.html.fragments import style

__all__ = ["Content", "Markup", "Value", "element", "escaped", "joined", "style"]

"""HTML and SVG: elements, drawings, marked texts, fragments for notebooks, and the style that they share."""

from postil.markup.elements import Content, Markup, Value, element, escaped, joined
from postil.markup.styles import style

__all__ = ["Content", "Markup", "Value", "element", "escaped", "joined", "style"]

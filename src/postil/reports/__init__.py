"""Figures to pages: one self-contained HTML file per report, composed of sections; networks to pictures."""

from postil.drawing import drawn_network
from postil.html import Markup, element
from postil.reports.scores import Answers, Drawn, detector_page, tagger_page, tree_page
from postil.reports.sections import Heading, Section, page

__all__ = ["Answers", "Heading", "tagger_page", "detector_page", "tree_page", "Drawn", "drawn_network"]
__all__ += ["Markup", "element", "Section", "page"]

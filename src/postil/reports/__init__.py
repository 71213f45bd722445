"""Figures to pages: one self-contained HTML file per report, composed of sections; networks to pictures."""

from postil.drawing import drawn_network
from postil.html import Markup, element
from postil.reports.answers import Answers, Heading
from postil.reports.detector import detector_page
from postil.reports.sections import Section, page
from postil.reports.tokens import tagger_page
from postil.reports.trees import Drawn, tree_page

__all__ = [
    "Answers",
    "Heading",
    "tagger_page",
    "detector_page",
    "tree_page",
    "Drawn",
    "drawn_network",
    "Markup",
    "element",
    "Section",
    "page",
]

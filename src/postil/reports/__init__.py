"""Figures to pages: one self-contained HTML file per report, composed of sections; networks to pictures."""

from postil.markup import Markup, element
from postil.reports.answers import Answers, Heading
from postil.reports.detector import detector_page
from postil.reports.network_drawing import drawn_network
from postil.reports.pages import Section, page
from postil.reports.tagger import tagger_page
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

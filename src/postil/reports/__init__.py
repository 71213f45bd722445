"""Figures to pages: one self-contained HTML file per report, composed of sections."""

from postil.markup import Markup, element
from postil.reports.answers import Answers, Heading
from postil.reports.detector import detector_page
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
    "Markup",
    "element",
    "Section",
    "page",
]

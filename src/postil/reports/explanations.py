"""The page of ``postil explain --report``: a section for each explanation."""

from collections.abc import Sequence

from postil.markup import Markup, element, joined
from postil.markup.fragments import note
from postil.reports.pages import Section, page

LONGEST_TITLE = 60


def explanation_page(model: str, explanations: Sequence[tuple[str, Markup]]) -> str:
    """The whole page, from titles and explanations that are drawn already."""
    sections = [
        Section(f"explanation-{number}", shortened_title(title), drawn)
        for number, (title, drawn) in enumerate(explanations, start=1)
    ]
    header = joined(
        [
            element("h1", "Explanations by ", element("bdi", model)),
            note("Contributions of words, phrases and features to an answer of the model.")
            if sections
            else note("Nothing was found that could be explained."),
        ]
    )
    return page(f"Explanations by {model}", header, sections)


def shortened_title(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"

"""The report in words, and carets under the right characters."""

import pytest

from postil.text.report import Report, counted, excerpt


def test_the_report_in_words() -> None:
    report = Report("conll", sentences=1, tokens=2345, documents=2)
    report.notes["comments"] = 3
    report.changed["spans snapped"] = 4
    report.dropped["empty nodes"] = 5
    report.dropped["nothing"] = 0
    assert report.lines() == [
        "1 sentence, 2,345 tokens, 2 document marks",
        "comments: 3",
        "changed: spans snapped: 4",
        "dropped: empty nodes: 5",
    ]


@pytest.mark.parametrize(
    ("text", "start", "end", "line", "carets"),
    [
        ("See Paris now", 4, 9, "See Paris now", "    ^^^^^"),
        ("日本 Oslo", 3, 7, "日本 Oslo", "     ^^^^"),
        ("in 日本", 3, 5, "in 日本", "   ^^^^"),
        ("e\u0301a b", 4, 5, "e\u0301a b", "   ^"),
        ("a\tb\nc\u2028d", 2, 3, "a b c d", "  ^"),
        ("x" * 50 + "Oslo" + "y" * 50, 50, 54, "…" + "x" * 40 + "Oslo" + "y" * 40 + "…", " " * 41 + "^^^^"),
        ("z" * 200, 0, 200, "z" * 80 + "…", "^" * 81),
    ],
)
def test_carets(text: str, start: int, end: int, line: str, carets: str) -> None:
    assert excerpt(text, start, end) == (line, carets)


def test_numbers_of_things():
    assert [counted(n, "tree") for n in (0, 1, 2000)] == ["0 trees", "1 tree", "2,000 trees"]

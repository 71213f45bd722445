"""The page's script, in a browser where there is one: filters of the address show the right mistakes."""

import shutil
import subprocess

import pytest

from oracles.pages import read_page
from postil.html import element
from postil.reports import Section, page
from postil.reports.sections import Mistake, mistake_browser
from postil.text import Span

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
)

TOKENS = [["Anna", "Berg"], ["in", "Oslo"], ["of", "Oslo"], ["<b>"]]
WRONG = [
    Mistake(0, "missed", Span("PER", 0, 2), None, 0.2),
    Mistake(1, "type", Span("PER", 0, 2), Span("LOC", 0, 2), None, 0.9),
    Mistake(2, "type", Span("LOC", 0, 2), Span("PER", 0, 2), None, 0.4),
    Mistake(3, "spurious", None, Span("A&B", 0, 1), None, 0.7),
]


@pytest.mark.extra(*BROWSERS)
@pytest.mark.parametrize(
    ("address", "lines"),
    [
        ("#kind=type&min=0.3&max=0.5", [3]),
        ("#label=PER&text=OSLO", [2, 3]),
        ("#predicted=A%26B&text=%3Cb", [4]),
        ("#mistakes", [2, 4, 3, 1]),
    ],
)
def test_the_address_sets_the_filters(tmp_path, address, lines):
    kinds = ("missed", "type", "spurious")
    body = mistake_browser(WRONG, TOKENS, lambda sentence, token: f"line {sentence + 1}", {}, kinds=kinds)
    path = tmp_path / "page.html"
    path.write_text(page("t", element("h1", "t"), [Section("mistakes", "Mistakes", body)]), encoding="utf8")
    command = [
        next(filter(None, map(shutil.which, BROWSERS))),
        *OPTIONS.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        path.as_uri() + address,
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    shown = read_page(done.stdout.decode()).one("ol", id="examples").children
    seen = [li.one("p", class_="facts").text[-6:] for li in shown if "hidden" not in li.attributes]
    assert seen == [f"line {line}" for line in lines]
    status = read_page(done.stdout.decode()).one("p", id="status").text
    assert status == ("4 examples" if len(lines) == 4 else f"{len(lines)} of 4 examples")

"""The page's script, in a browser where there is one: filters of the address show the right mistakes."""

import shutil
import subprocess
from collections import Counter

import pytest

from oracles.pages import read_page
from postil.html import element
from postil.reports import Section, page
from postil.reports.sections import Shown, ShownMistake, browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
)

EXAMPLES = [
    ShownMistake("missed", "PER", None, 0.2, "line 1", element("p", element("span", "Anna Berg", class_="t"))),
    ShownMistake("type", "PER", "LOC", 0.9, "line 2", element("p", element("span", "in Oslo", class_="t"))),
    ShownMistake("type", "LOC", "PER", 0.4, "line 3", element("p", element("span", "of Oslo", class_="t"))),
    ShownMistake("spurious", None, "A&B", 0.7, "line 4", element("p", element("span", "<b>", class_="t"))),
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
    counts = {"missed": Shown(1, 1), "type": Shown(2, 2), "spurious": Shown(1, 1)}
    body = browser(EXAMPLES, counts, Counter(PER=3), figure="probability")
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

"""A visitor of the server's pages: a real browser that notes errors and requests to other hosts."""

import time
from importlib.resources import files
from urllib.parse import quote

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
SIZES = {"wide": (1400, 900), "middle": (900, 800), "phone": (390, 740)}


class Visitor:
    """A page that notes errors and requests to other hosts."""

    def __init__(self, browser, address, size="wide", **options):
        width, height = SIZES[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page, self.address, self.problems = self.context.new_page(), address, []
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self._watch(request.url))
        self.page.set_default_timeout(30_000)

    def _note(self, kind, text):
        is_shown = any(f"status of {status}" in text for status in (413, 422))  # answers that the page shows
        if kind in ("error", "warning") and not is_shown:
            self.problems.append(f"{kind}: {text}")

    def _watch(self, url):
        if not url.startswith((self.address, "data:")):
            self.problems.append(f"request to {url}")

    def open(self, view, **values):
        query = "&".join(f"{name}={quote(str(value))}" for name, value in values.items())
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#/{view}?{query}")
        self.page.wait_for_selector("main h1, main p.error")
        return self.page


def until(page, condition):
    """Wait for a condition in the page; its policy forbids Playwright's own way, which evaluates a string there."""
    deadline = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def broken_rules(page, part="html"):
    """The rules of axe-core that a part of the page breaks, with the first elements; its policy must be off.

    All rules in light colours, then those of colours in dark ones: the others do not depend on them.
    """
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf8"))
    found = page.evaluate("part => axe.run(part)", part)["violations"]
    page.emulate_media(color_scheme="dark")
    found += page.evaluate("([part, rules]) => axe.run(part, { runOnly: rules })", [part, COLOUR_RULES])["violations"]
    page.emulate_media(color_scheme="light")
    return [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found]

"""A real notebook, run by a real kernel and opened in a real browser, in the light and in the dark theme."""

import importlib.util
import json
from pathlib import Path

import pytest

from oracles.pages import _Reader, table_rows

SCRIPT = Path(__file__).parent.parent / "docs" / "draw_notebook.py"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Asks the browser what it made of the results: colours as they are on the screen, and whether anything spills over.
QUESTIONS = """
<script>
addEventListener("load", () => {
  const told = document.createElement("p");
  const looks = (node) => { const s = getComputedStyle(node); return s.color + "|" + s.backgroundColor; };
  const results = [...document.querySelectorAll(".postil-result")];
  told.id = "told";
  told.textContent = JSON.stringify({
    box: looks(results[1]),
    chip: looks(results[1].querySelector(".chip")),
    wide: results.map((node) => node.scrollWidth > node.clientWidth + 1),
    prompt: getComputedStyle(document.querySelector(".jp-InputArea")).fontFamily,
    table: getComputedStyle(results[3].querySelector("tbody tr")).backgroundColor,
  });
  document.body.append(told);
});
</script>
"""


@pytest.fixture(scope="module")
def notebook():
    specification = importlib.util.spec_from_file_location("draw_notebook", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(notebook, tmp_path_factory):
    return notebook.converted(tmp_path_factory.mktemp("notebook"))


def opened(notebook, page, *options):
    """The page as the browser has it after its scripts: the results in it, and what they look like."""
    asking = page.with_name(f"asking-{page.name}")
    asking.write_text(page.read_text(encoding="utf8").replace("</body>", QUESTIONS + "</body>"), encoding="utf8")
    reader = _Lenient()
    reader.feed(notebook.browser(page.parent, *options, "--dump-dom", asking.as_uri()).decode())
    document = reader.open[0]
    return list(document.all("div", class_="postil-result")), json.loads(document.one("p", id="told").text)


class _Lenient(_Reader):
    """The notebook's own page has elements without an end."""

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, dict(attributes).items())

    def handle_endtag(self, tag):
        while len(self.open) > 1 and self.open.pop().tag != tag:
            pass


def brightness(colour):
    return sum(float(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]) / 3


@pytest.mark.extra("nbconvert")
@pytest.mark.extra("ipykernel")
@pytest.mark.extra(*BROWSERS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_in_a_browser(notebook, pages, theme):
    results, told = opened(notebook, pages[theme])
    estimator, document, explanation, evaluation, nodes, tree_explanation = results
    assert "250 sentences" in estimator.text and "B-LOC" in estimator.text
    chips = [chip.text.split() for chip in document.all("small")]
    assert [span.text for span in document.all("span", class_="predicted")][:2] == ["Florence", "Victoria Stone"]
    assert chips[0][0] == "LOC" and 0 < float(chips[0][1]) <= 1
    assert explanation.one("p", class_="answer").text.startswith("Florence as LOC: probability")
    assert "all" in [row[0] for row in table_rows(next(evaluation.all("table")))]
    assert len(list(nodes.all("rect"))) == len(list(tree_explanation.all("rect"))) == 5
    ink, ground = map(brightness, told["box"].split("|"))
    assert ground > 230 > 60 > ink if theme == "light" else ink > 200 > 60 > ground
    ink, ground = map(brightness, told["chip"].split("|"))
    assert abs(ink - ground) > 80
    assert told["wide"] == [False] * 6
    assert told["table"] == "rgba(0, 0, 0, 0)", "the notebook's stripes are not in our tables"


@pytest.mark.extra("nbconvert")
@pytest.mark.extra("ipykernel")
@pytest.mark.extra(*BROWSERS)
def test_the_reader_prefers_dark_and_the_notebook_is_light(notebook, pages):
    prefers_dark = "--blink-settings=preferredColorScheme=0"
    _, told = opened(notebook, pages["light"], prefers_dark)
    assert brightness(told["box"].split("|")[1]) > 230
    unknown = pages["light"].with_name("unknown.html")
    text = pages["light"].read_text(encoding="utf8")
    assert 'data-jp-theme-light="true"' in text
    unknown.write_text(text.replace('data-jp-theme-light="true"', "", 1), encoding="utf8")
    _, told = opened(notebook, unknown, prefers_dark)
    assert brightness(told["box"].split("|")[1]) < 60, "where the theme is not known, the preference counts"


@pytest.mark.extra("nbconvert")
@pytest.mark.extra("ipykernel")
def test_the_estimator_itself_has_a_short_line(notebook, pages):
    assert "Tagger(epochs=8)" in pages["light"].read_text(encoding="utf8")

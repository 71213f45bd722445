"""The essay of the site in a browser, from disk and from a file server: its figures show what Python computes."""

import functools
import http.server
import json
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles.visitors import BROWSERS, broken_rules
from postil import graph

pytestmark = [pytest.mark.extra(name) for name in ("mkdocs", "playwright")] + [pytest.mark.extra(*BROWSERS)]
ROOT = Path(__file__).parent.parent
WIDTHS = (390, 900, 1400)
SENTENCES = ["Paris Hilton in Paris", "Anna Smith 😀 visited Oslo. The United Nations met in Rio de Janeiro!", ""]


@pytest.fixture(scope="module")
def essay():
    """The module that makes the live parts of the page."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import essay
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return essay


@pytest.fixture(scope="module")
def addresses(site):
    """The page from disk, and from a server of plain files."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"disk": (site / "essay.html").as_uri(), "server": f"http://127.0.0.1:{server.server_port}/essay.html"}
        server.shutdown()


@pytest.fixture
def visit(browser, addresses):
    contexts, problems, asked = [], [], []

    def opened(place="disk", figure="", width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.set_default_timeout(30_000)
        page.goto(f"{addresses[place]}{figure}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []
    here = tuple(address.rpartition("/")[0] for address in addresses.values())
    assert [url for url in asked if not url.startswith((*here, "data:", "blob:"))] == []


def read(page, selector, what):
    """Something of every element, in JavaScript."""
    return page.locator(selector).evaluate_all(f"all => all.map((e) => {what})")


@pytest.mark.parametrize("place", ["disk", "server"])
def test_names_and_probabilities_are_those_of_python(visit, essay, place):
    page, tagger = visit(place), postil.load(essay.ENGLISH).by_task()["names"]
    for text in SENTENCES:
        page.fill("#sentence", text)
        found = read(page, "#names-figure mark", r"e.innerText.replace(/\s+/g, ' ')")
        wanted = [f"{one.text}{one.label} {shown(one.probability)}" for one in tagger.tag(text).entities]
        assert found == wanted
    page.fill("#sentence", SENTENCES[0])
    page.click("text='Open its lattice'")
    assert page.input_value("#lattice-figure textarea") == SENTENCES[0]


def shown(probability):
    return ">99.9 %" if 0.9995 < probability < 1 else f"{100 * probability:.1f} %"


def test_the_lattice_has_the_marginals_of_python_and_a_dragged_score_changes_the_path(visit, essay):
    page = visit("disk", "#lattice?text=Paris%20Hilton%20in%20Paris")
    page.wait_for_selector("#lattice-figure .cell")
    labels, (alphas, betas, log_z) = essay.names_tagger().model.codec.labels, essay.forward_backward(essay.lattice())
    marginals = np.exp(alphas + betas - log_z)
    said = read(page, "#lattice-figure .cell", "[e.dataset.cell, e.ariaLabel]")
    assert len(said) >= 4 * 10
    for place, text in said:
        t, j = map(int, place.split(","))
        assert float(re.search(r"probability ([\d.]+)", text)[1]) == pytest.approx(marginals[t, j], abs=1e-4), text
    path = "#lattice-figure ol li"
    assert "Paris/B-PER Hilton/E-PER Paris/S-LOC" in page.inner_text(path)
    cell = page.locator(f"[data-cell='0,{labels.index('B-LOC')}'] circle").first
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 30, steps=5)  # ten pixels are a point; the text says how many it takes
    page.mouse.up()
    assert float(essay.numbers()["flip"]) < 3
    assert "Paris/B-LOC Hilton/E-LOC" in page.inner_text(path)


def test_the_scores_of_the_figure_are_those_of_the_lattice(visit, essay):
    page, labels = visit(), essay.names_tagger().model.codec.labels
    for t in range(4):
        page.click(f"#scores-figure button >> nth={t}")
        found = read(page, "#scores-figure [data-score]", "e.textContent")
        numbers = [float(text.replace("−", "-")) for text in found]
        assert len(numbers) == len(labels)
        assert numbers == pytest.approx(essay.lattice().unary[t].tolist(), abs=2e-3)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_gradients_are_those_of_the_flow_graph_in_python(visit, activation):
    page = visit("disk", f"#gradient?activation={activation}")
    page.click("#gradient-figure button.first")  # reduced motion: all at once
    sizes = dict(read(page, "#gradient-figure [data-norm]", "[e.dataset.norm, e.textContent]"))
    ((exact, slope),) = read(page, "#checked", "[+e.dataset.exact, +e.dataset.slope]")
    assert exact == pytest.approx(slope, abs=1e-7) and exact != 0
    (lines,) = read(page, "#leaves", "e.textContent")
    leaves = dict(pair for line in lines.splitlines() for pair in json.loads(line).items())
    values = {name: graph.Parameter(np.array(rows), name=name) for name, rows in leaves.items()}
    nodes = {"x": graph.concatenate([values[word] for word in ("Paris", "Hilton", "in", "Paris")], axis=0)}
    below = nodes["x"]
    for k in range(1, 5):
        below = nodes[f"h{k}"] = getattr(graph, activation)(graph.matmul(values[f"W{k}"], below))
    nodes["q"] = graph.matmul(values["V"], below)
    loss = graph.log(graph.sum(graph.exp(nodes["q"]))) - nodes["q"][1, 0]
    slopes = graph.gradients(loss, [*nodes.values(), values["Paris"]])
    assert exact == pytest.approx(slopes[values["Paris"]][0, 0], rel=1e-9)
    for name, node in nodes.items():
        assert float(sizes[name]) == pytest.approx(np.linalg.norm(slopes[node]), rel=0.05), name
    assert (np.linalg.norm(slopes[nodes["x"]]) < 0.01) == (activation == "sigmoid"), "it vanishes under a sigmoid"


def test_phrases_have_the_labels_of_python_and_not_flips_them(visit, essay):
    page, names = visit(), essay.opinions().model.codec.labels
    for whole in ("good", "bad"):
        brackets = page.input_value("#brackets")
        found = read(page, "#tree-figure [data-label]", "[e.dataset.label, +e.dataset.probability]")
        (probabilities,) = essay.opinions().node_probabilities([essay.parse_tree(brackets)])
        assert [label for label, _ in found] == [names[row.argmax()] for row in probabilities]
        assert [p for _, p in found] == pytest.approx([row.max() for row in probabilities], abs=1e-4)
        assert found[-1][0] == whole and ("not" in brackets) == (whole == "good")
        page.click("#not")
    page.fill("#brackets", "(x (x not")
    assert "tree" in page.inner_text("#tree-figure [role=status]")


def test_a_tagger_is_trained_in_the_page(visit):
    page = visit()
    page.click("#train")
    page.wait_for_selector("#curve[data-last]")
    first, last = (float(page.get_attribute("#curve", f"data-{name}")) for name in ("first", "last"))
    assert last < 0.2 * first
    answer = read(page, "#training-figure mark", "e.innerText.split(' ')[0]")
    assert answer == ["ParisB-PER", "HiltonI-PER", "JordanB-PER", "ParisB-LOC"]
    page.fill("#lessons", "")
    page.click("#train")
    assert page.inner_text("#training-figure [role=status]") == "There is no sentence to learn from."


def test_a_figure_has_an_address_that_opens_it_again(visit):
    page = visit("server")
    page.fill("#sentence", "Oslo")
    assert page.evaluate("location.hash") == "#names?text=Oslo"
    again = visit("server", "#names?text=Oslo")
    assert again.input_value("#sentence") == "Oslo"
    for figure in ("names", "lattice", "scores", "gradient", "tree", "training"):
        assert again.locator(f"#{figure} a.headerlink").get_attribute("href") == f"#{figure}"
    page.click("#scores-figure button >> nth=2")
    assert page.evaluate("location.hash") == "#scores?word=3"
    page.fill("#tried", "Bo sings .")
    assert page.evaluate("location.hash") == "#training?text=Bo+sings+."
    chosen = read(visit("server", "#scores?word=3"), "#scores-figure button", "e.ariaPressed")
    assert chosen == ["false", "false", "true", "false"]
    assert visit("server", "#training?text=Bo+sings+.").input_value("#tried") == "Bo sings ."


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out(visit, width):
    page = visit("disk", width=width)
    page.fill("#sentence", "Anna " + "w" * 300)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.extra("axe_playwright_python")
@pytest.mark.parametrize("width", [390, 900, 1400])
def test_no_accessibility_rule_is_broken(visit, width):
    page = visit("server", width=width)
    page.click("#gradient-figure button.first")
    page.click("#train")
    page.wait_for_selector("#curve[data-last]")
    assert broken_rules(page, ".md-content") == []  # the rest is the theme's


def test_the_page_is_small_enough(site):
    made = [site / "essay.html", *(site / "javascripts").glob("essay*.js"), *(site / "stylesheets").glob("*.css")]
    assert sum(path.stat().st_size for path in made) < 20e6

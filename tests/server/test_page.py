"""The page in a real browser: each view used as a person would, wide and narrow, by mouse and by keyboard."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postil
from oracles import corpora
from oracles.visitors import BROWSERS, SIZES, Visitor, broken_rules, until
from postil.models.decoding.posteriors import Posteriors
from postil.objectives.crf import Posterior, k_best

pytestmark = [pytest.mark.extra("playwright"), pytest.mark.extra(*BROWSERS)]
TEXT = "Anna lives in Oslo."
VIEWS = ["tag", "why", "lattice", "tree", "gradients", "errors", "train", "card"]


@pytest.fixture
def visit(browser, address):
    visitors = []

    def opened(view, size="wide", options=None, **values):
        visitors.append(Visitor(browser, address, size, **(options or {})))
        return visitors[-1].open(view, **values)

    yield opened
    problems = [problem for visitor in visitors for problem in visitor.problems]
    for visitor in visitors:
        visitor.context.close()
    assert problems == []


def entities(page):
    return [
        re.sub(r"\s+", " ", text)
        for text in page.locator("#answer .entity").evaluate_all("all => all.map(e => e.innerText)")
    ]


def settled(page):
    """Wait until the answer to the last change is shown."""
    page.wait_for_timeout(250)
    until(page, "!document.querySelector('.busy')")


# ------------------------------------------------------------------------------------------------ Tag


@pytest.mark.parametrize("size", SIZES)
def test_entities_are_marked_as_one_types(visit, size):
    page = visit("tag", size, model="names")
    page.fill("#text", "")
    page.type("#text", TEXT)
    settled(page)
    page.wait_for_selector("#answer .entity")
    assert entities(page) == ["AnnaPER", "OsloLOC"]
    assert "text=Anna+lives+in+Oslo." in page.url, "the address can be shared"
    page.hover("#answer .entity >> nth=0 >> .token")
    assert page.inner_text("#tip").startswith("PER: probability 0.")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"


def test_the_address_opens_the_same_view_again(visit):
    page = visit("tag", model="names", text=TEXT, nbest=2, require="14:18=PER")
    page.wait_for_selector("#answer .entity.required")
    assert entities(page) == ["AnnaPER", "OsloPER"]
    assert page.input_value("#text") == TEXT and page.input_value("#nbest") == "2"


def test_a_threshold_drops_what_is_less_probable(visit):
    page = visit("tag", model="names", text="Museums of Lima are old.")
    page.wait_for_selector("#answer .entity")
    before = entities(page)
    page.fill("#threshold", "0.99")
    settled(page)
    assert len(entities(page)) < len(before) and "threshold=0.99" in page.url


def test_force_and_forbid_by_mouse(visit):
    page = visit("tag", model="names", text=TEXT)
    page.click("[data-place='3']")
    page.click("text='is PER'")
    page.wait_for_selector(".entity.required")
    assert entities(page)[-1] == "OsloPER"
    page.click("[data-place='0']")
    page.click("text='is not an entity'")
    until(page, "!document.querySelector('#answer').innerText.startsWith('AnnaPER')")
    page.click("text=remove >> nth=0")
    settled(page)
    assert "OsloLOC" in entities(page)
    page.hover("[data-place='0']")  # a span of several words
    page.mouse.down()
    page.hover("[data-place='1']")
    page.mouse.up()
    page.click("text='is LOC'")
    until(page, "document.querySelector('#answer').innerText.includes('Anna livesLOC')")


def test_force_by_keyboard_alone(visit):
    page = visit("tag", model="names", text=TEXT)
    page.wait_for_selector("#answer .entity")
    page.focus("#text")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.place") == "0"
    for key in ("ArrowRight", "Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "is LOC"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.place") == "2"
    for key in ("Enter", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".entity.required")
    assert "lives inPER" in entities(page)


def test_copies_are_exact(visit):
    page = visit("tag", options={"permissions": ["clipboard-read", "clipboard-write"]}, model="names", text=TEXT)
    page.wait_for_selector("#answer .entity")

    def copied(name):
        page.click(f"button:text-is('{name}')")
        until(page, "document.getElementById('status').textContent.endsWith('copied')")
        return page.evaluate("navigator.clipboard.readText()")

    assert [one["label"] for one in json.loads(copied("JSON"))["spans"]] == ["PER", "LOC"]
    page.wait_for_timeout(2600)
    assert copied("CoNLL") == "Anna\tB-PER\nlives\tO\nin\tO\nOslo\tB-LOC\n.\tO\n"
    page.wait_for_timeout(2600)
    assert copied("HTML") == '<p><mark title="PER">Anna</mark> lives in <mark title="LOC">Oslo</mark>.</p>'


def test_markup_in_texts_is_never_executed(visit):
    hostile = '<img src=x onerror=alert(1)> <script>alert(2)</script> Anna" onmouseover="alert(3)'
    for view in ("tag", "why", "lattice"):
        page = visit(view, model="names", text=hostile)
        page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        page.wait_for_timeout(500)
        assert page.locator("main img, main script").count() == 0


def test_markup_in_labels_and_names_of_models_is_never_executed(browser, start, tmp_path):

    hostile = "<img src=x onerror=alert(1)>"
    X, y = [["Anna", "lives"], ["Oslo", "is", "old"]] * 10, [[f"B-{hostile}", "O"], [f"B-{hostile}", "O", "O"]] * 10
    path = tmp_path / f"{hostile}.postil"
    postil.Tagger(preset="fast", epochs=12, seed=0).fit(X, y).save(path)
    visitor = Visitor(browser, start(path)[1])
    for view in ("tag", "why", "lattice", "gradients"):
        page = visitor.open(view, text="Anna lives", tour="model")
        page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        page.wait_for_timeout(500)
        assert page.locator("img").count() == 0
        assert hostile in page.inner_text("#model"), view
    until(visitor.open("tag", text="Anna lives"), "document.querySelector('#answer').innerText.includes('<img src=x')")
    visitor.context.close()
    assert visitor.problems == []


def test_a_model_of_several_tasks_is_shown_in_layers(browser, start):

    path = Path(__file__).parents[1] / "golden" / "multi-task-tagger-2.postil"
    tagger = postil.load(path)
    visitor = Visitor(browser, start(path)[1])
    page = visitor.open("tag", text=TEXT)
    page.wait_for_selector("#layers tbody tr")
    assert page.locator("#layers th").all_inner_texts() == ["Word", *tagger.tasks]
    assert page.locator("#model option").count() == len(tagger.tasks), "the whole is no choice of its own"
    labels = tagger.predict([["Anna", "lives", "in", "Oslo", "."]])
    for column, task in enumerate(tagger.tasks, 2):
        shown = page.locator(f"#layers td:nth-child({column})").all_inner_texts()
        has_spans = tagger[task].model.codec.has_spans
        expected = [label.partition("-")[2] if has_spans else label for label in labels[task][0]]
        assert shown == expected
    visitor.context.close()
    assert visitor.problems == []


@pytest.mark.parametrize("model", ["speech", "places"])
def test_other_kinds_of_models_are_shown_too(visit, model):
    page = visit("tag", model=model, text=TEXT)
    page.wait_for_selector("#answer .token")
    settled(page)
    shown = page.inner_text("#answer")
    assert ("NAME" in shown) if model == "speech" else ("Oslo" in shown)


def test_a_mistake_is_shown_and_the_page_goes_on(visit):
    page = visit("tag", model="names", text=TEXT, require="0:2=PER")  # half a word
    assert "does not fit the tokens" in page.inner_text("p.error")
    page.fill("#text", "Lima")
    page.wait_for_selector("#answer .token")
    assert page.locator("p.error").count() == 0


# ------------------------------------------------------------------------------------------------ Why


def effects_of(page):
    """The figures below words."""
    return [float(text.replace("−", "-")) for text in page.locator(".effect small").all_inner_texts()]


def that_matter(effects):
    """A word whose effect is below a tenth of the largest has no figure."""
    return [round(one, 2) for one in effects if abs(one) >= 0.1 * max(map(abs, effects))]


@pytest.mark.parametrize("size", SIZES)
def test_words_show_what_they_contributed(visit, size, names_model):

    page = visit("why", size, model="names", text=TEXT)
    page.wait_for_selector(".effect")
    expected = postil.load(names_model).explain(["Anna", "lives", "in", "Oslo", "."], 0, 1)
    assert effects_of(page) == that_matter([word.left_out for word in expected.words])
    page.click("text='Oslo as LOC'")
    page.click("label:has-text('gradient')")
    expected = postil.load(names_model).explain(["Anna", "lives", "in", "Oslo", "."], 3, 4)
    assert effects_of(page) == that_matter([word.gradient for word in expected.words])
    page.click(".effect >> nth=3")
    assert page.locator("h2:has-text('Features of “Oslo”')").count() == 1


def test_tag_leads_to_why(visit):
    page = visit("tag", model="names", text=TEXT)
    page.click("main td a:has-text('why') >> nth=1")
    page.wait_for_selector(".effect.explained")
    assert page.inner_text(".effect.explained").startswith("Oslo")


# ------------------------------------------------------------------------------------------------ Lattice


def test_the_scripts_forward_backward_is_python_s(visit, address, names_model):
    page = visit("lattice", model="names", text=TEXT)
    worked = page.evaluate(
        """async () => {
            const { forwardBackward, kBest, pairwise, scores } = await import("/page/crf.js");
            const body = JSON.stringify({ model: "names", text: "Anna lives in Oslo." });
            const headers = { "Content-Type": "application/json" };
            const answer = await (await fetch("/api/lattice", { method: "POST", headers, body })).json();
            const [data] = answer.sentences;
            const chain = Object.fromEntries(["unary", "transitions", "start", "end"].map((n) => [n, scores(data[n])]));
            const found = forwardBackward(chain);
            const pairs = pairwise(chain, found, 1).flat().reduce((a, b) => a + b, 0);
            return { data, found, pairs, paths: kBest(chain, 4, found.logZ) };
        }"""
    )
    data, found = worked["data"], worked["found"]
    tagger = postil.load(names_model)
    _, lattice = next(Posteriors(tagger.model).lattices([data["tokens"]]))
    posterior = Posterior.of(lattice)
    assert found["logZ"] == pytest.approx(posterior.log_partition[0], abs=1e-6)
    np.testing.assert_allclose(found["marginals"], posterior.marginals(), atol=1e-6)
    alphas, betas = (np.array(found[name], float) for name in ("alphas", "betas"))
    for t in range(len(alphas)):  # every position sums to Z
        assert np.logaddexp.reduce(alphas[t] + betas[t]) == pytest.approx(found["logZ"], abs=1e-6)
    assert worked["pairs"] == pytest.approx(1, abs=1e-9)
    (expected,) = k_best(lattice, 4)
    assert [path["labels"] for path in worked["paths"]] == [path.labels.tolist() for path in expected]
    probabilities = [float(path.probability) for path in expected]
    assert [path["probability"] for path in worked["paths"]] == pytest.approx(probabilities, abs=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_a_score_changed_by_drag_or_by_keys_changes_the_answer(visit, size):
    page = visit("lattice", size, model="names", text=TEXT)
    page.wait_for_selector(".cell.chosen")
    before = float(page.inner_text("#marginal"))
    assert before > 0.9 and page.inner_text("section[aria-label=Cell] h2") == "Anna as S-PER"
    page.focus(".cell.chosen")
    for _ in range(60):
        page.keyboard.press("-")
    assert float(page.inner_text("#marginal")) < 0.01
    assert page.locator(".cell.changed").count() == 1
    page.click("text='Undo changes'")
    assert float(page.inner_text("#marginal")) == before
    page.evaluate("document.querySelector('.cell.chosen').scrollIntoView({ block: 'center' })")
    box = page.locator(".cell.chosen circle >> nth=0").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + 255)
    page.mouse.up()
    assert float(page.inner_text("#marginal")) < 0.01
    page.keyboard.press("ArrowRight")
    assert page.inner_text("section[aria-label=Cell] h2") == "lives as S-PER"


def test_the_controls_of_a_lattice_without_a_sentence_do_nothing(visit):
    page = visit("lattice", model="names", text=TEXT)
    page.locator(".cell").first.wait_for()
    page.locator("textarea").fill("")
    page.get_by_text("Type a sentence above.").wait_for()
    page.locator("#paths").fill("3")
    page.get_by_label("all labels").check()
    assert page.get_by_role("button", name="Undo changes").is_disabled()
    page.locator("textarea").fill("Anna left .")
    page.locator(".cell").first.wait_for()


# ------------------------------------------------------------------------------------------------ Tree, Errors


@pytest.mark.parametrize("size", SIZES)
def test_every_phrase_has_its_label(visit, size, tree_model):

    page = visit("tree", size, model="opinions", text="not a bad zzz")
    page.wait_for_selector(".labels svg")
    nodes = postil.load(tree_model).predict_nodes([["not", "a", "bad", "zzz"]])[0]
    shown = page.locator(".labels svg g text").all_text_contents()
    assert sorted(shown) == sorted(node.label for node in nodes)
    assert "Unknown to the model: zzz." in page.inner_text(".labels")
    page.fill("#text", "(x (x not) (x bad))")
    until(page, "document.querySelectorAll('.labels svg g text').length === 3")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.fill("#text", "(x (x not")
    page.wait_for_selector("p.error")


def figures_of(page):
    """The figures of the report."""
    page.wait_for_selector("#report .card")
    return dict(
        page.locator("#report .card").evaluate_all("all => all.map(e => [...e.children].map(c => c.innerText))")
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_report_on_a_labelled_file_is_filtered_in_the_page(visit, size, tmp_path, names_model, capsys):
    from postil.commands.main import main

    X, y = corpora.named_entities(30)
    y = [["O"] * len(labels) if i < 5 else labels for i, labels in enumerate(y)]
    (tmp_path / "gold").write_text(corpora.as_conll(X, y))
    assert main(["evaluate", str(names_model), str(tmp_path / "gold"), "--json", "--mistakes"]) == 0
    told = json.loads(capsys.readouterr().out)["mistakes"]
    page = visit("errors", size, model="names")
    page.set_input_files("#file", tmp_path / "gold")
    page.wait_for_selector("#examples > li")
    assert page.locator("#examples > li").count() == len(told) > 5
    page.select_option("#filters [name=label]", "PER")
    expected = [
        one for one in told if "PER" in ((one["gold"] or {}).get("label"), (one["predicted"] or {}).get("label"))
    ]
    assert page.locator("#examples > li >> visible=true").count() == len(expected) > 0
    assert f"{len(expected)} of {len(told)}" in page.inner_text("#report [role=status]")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.click("#report .heat a >> nth=0")  # a mistake of the confusion matrix
    until(page, "location.hash.startsWith('#/errors')")
    assert page.inner_text("h1 >> nth=0") == "Errors"


def test_a_hostile_file_is_shown_as_text(visit, tmp_path):
    hostile = "<img/src=x/onerror=alert(1)>"
    (tmp_path / f"{'<b>'}gold").write_text(f"{hostile} B-{hostile}\nof O\n")
    page = visit("errors", model="names")
    page.set_input_files("#file", tmp_path / "<b>gold")
    page.wait_for_selector("#examples > li")
    assert page.locator("main img, main b >> text=gold").count() == 0 and hostile in page.inner_text("#examples")


def test_the_card_is_that_of_info(visit, names_model, capsys):
    from postil.commands.main import main

    assert main(["info", str(names_model), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    page = visit("card", model="names")
    page.wait_for_selector(".report td")
    cells = page.locator(".report td").all_inner_texts()
    shown = dict(zip(cells[::2], cells[1::2], strict=False))
    assert shown["kind"] == facts["kind"] and shown["parameters"] == f"{facts['parameters']:,}"


def test_a_long_text_is_explained_one_entity_at_a_time(visit, client):
    text = "Anna lives in Oslo. " * 1_000 + "Museums of Lima are old."
    assert client.post("/api/explain", json={"model": "names", "text": text}).json()["error"]["code"] == "cost"
    page = visit("why", model="names", text=text)
    page.wait_for_selector(".effect")
    assert page.inner_text("h2 q") == "Anna" and page.locator("button:has-text(' as ')").count() >= 2_000
    page.click("button:has-text('Oslo as LOC') >> nth=0")
    page.wait_for_selector("h2 q:text-is('Oslo')")
    assert page.locator(".effect").count() == 5, "its own sentence"


def test_left_out_says_what_explain_says(visit, tree_model, capsys):
    from postil.commands.main import main

    text = "not a bad film"
    assert main(["explain", str(tree_model), text, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["explanations"]
    alone = [one["effect"] for one in told["phrases"] if one["end"] == one["start"] + 1]
    assert max(abs(one["effect"] - by) for one, by in zip(told["words"], alone, strict=True)) > 0.002, "they differ"
    page = visit("tree", model="opinions", text=text)
    page.wait_for_selector(".why table")
    cells = page.locator(".why table >> nth=0 >> td.number").all_inner_texts()[::2]
    assert [float(cell.replace("\u2212", "-")) for cell in cells] == pytest.approx(alone, abs=5.1e-4)


EMOJI = "😀😀 Anna lives in 𝒪 Oslo. 👩‍👩‍👧 Zoé met Anna!"


@pytest.fixture(scope="module")
def modules(browser, address):
    """A page to call the functions of modules in."""
    visitor = Visitor(browser, address)
    yield visitor.open("errors")
    visitor.context.close()


@given(
    st.text(st.sampled_from("aé ́‍😀👧𝒪️中") | st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.tuples(st.integers(0, 35), st.integers(0, 35)), max_size=5),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_places_are_those_of_python(modules, text, places):
    places = sorted(sorted(pair) for pair in places)
    script = """async ([text, places]) => {
        const { characters } = await import("/page/tag.js");
        const one = characters(text);
        return [one.length, places.map(([start, end]) => one.slice(start, end)), one.slice(0)];
    }"""
    assert modules.evaluate(script, [text, places]) == [len(text), [text[a:b] for a, b in places], text]


def test_characters_beyond_the_basic_plane_are_shown_where_they_are(visit, client):
    told = client.post("/api/tag", json={"model": "names", "text": EMOJI}).json()["documents"][0]["spans"]
    assert [EMOJI[one["start"] : one["end"]] for one in told] == [one["text"] for one in told]
    page = visit("tag", options={"permissions": ["clipboard-read", "clipboard-write"]}, model="names", text=EMOJI)
    page.wait_for_selector("#answer .entity")
    assert entities(page) == [one["text"] + one["label"] for one in told]
    without_chips = """shown => {
        const copy = shown.cloneNode(true);
        copy.querySelectorAll(".chip").forEach((chip) => chip.remove());
        return copy.textContent;
    }"""
    assert page.locator("#answer").evaluate(without_chips) == EMOJI
    page.click("button:text-is('HTML')")
    until(page, "document.getElementById('status').textContent.endsWith('copied')")
    html = page.evaluate("navigator.clipboard.readText()")
    assert re.sub("<.*?>", "", html) == EMOJI
    assert re.findall('<mark title="(.*?)">(.*?)</mark>', html) == [(one["label"], one["text"]) for one in told]
    place = page.locator("#answer .token", has_text="Oslo")
    place.click()
    page.click("text='is PER'")
    page.wait_for_selector(".entity.required")
    assert "OsloPER" in entities(page) and page.inner_text("li.row q") == "Oslo"


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes"])
def test_scores_are_those_of_evaluate(visit, tmp_path, names_model, capsys, scheme):
    from postil.commands.main import main
    from postil.text.labels.schemes import convert

    X, y = corpora.named_entities(20)
    X = [["😀", *tokens, "👩‍👧"] for tokens in X]
    y = [convert(["O", *labels, "O"], "bio", scheme) for labels in y]
    (tmp_path / "gold").write_text(corpora.as_conll(X, y), encoding="utf8")
    assert main(["evaluate", str(names_model), str(tmp_path / "gold"), "--json", "--mistakes"]) == 0
    report = json.loads(capsys.readouterr().out)
    page = visit("errors", model="names")
    page.set_input_files("#file", tmp_path / "gold")
    shown = figures_of(page)
    assert shown["F1"] == f"{report['f1']:.2f}" and shown["precision"] == f"{report['precision']:.2f}"
    assert page.locator("#examples > li").count() == len(report["mistakes"])


def test_what_evaluate_refuses_is_refused(visit, tmp_path, names_model, capsys):
    from postil.commands.main import main

    page = visit("errors", model="names")
    files = {
        "a.png": (b"\x89PNG\r\n\x1a\n\x00\x00", "invalid UTF-8"),
        "prose.txt": (b"This is prose.\nIt has many words in a line.\n\nAnother one.\n", "no labels: expected a label"),
        "ragged.txt": (
            b"Anna B-PER\nlives O\nin\nOslo B-LOC\n",
            "line 3: the label is missing: expected 2 columns as on",
        ),
        "plain.txt": (b"Anna PER\nlives O\n", "got 'PER'"),
        "empty.txt": (b"", "the file is empty: expected sentences, got 0 characters"),
    }
    (tmp_path / "good").write_text("Anna B-PER\n")
    for name, (content, message) in files.items():
        page.set_input_files("#file", tmp_path / "good")
        page.wait_for_selector("#report .card")
        (tmp_path / name).write_bytes(content)
        page.set_input_files("#file", tmp_path / name)
        page.wait_for_selector(f'p.error:has-text("{name}")')
        assert message in page.inner_text("p.error")
        assert page.locator("#report .card").count() == 0, "the scores of another file do not stay"
        assert main(["evaluate", str(names_model), str(tmp_path / name)]) == 1
        assert message in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ the shell


def test_skipping_to_the_content_stays_in_the_view(visit):
    page = visit("why", model="names", text=TEXT)
    page.wait_for_selector(".effect")
    before = page.url
    page.focus("a.skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url == before and page.inner_text("h1") == "Why"


def test_a_model_of_another_kind_is_not_taken_silently(visit):
    page = visit("tag", model="opinions", text=TEXT)
    page.wait_for_selector("#answer .entity")
    assert "opinions is a tree-classifier" in page.inner_text("#status")


def test_a_server_that_is_gone_is_said_and_old_answers_are_grey(browser, start, names_model):
    process, address = start(names_model)
    visitor = Visitor(browser, address)
    page = visitor.open("tag", text=TEXT)
    page.wait_for_selector("#answer .entity")
    process.kill()
    process.wait()
    page.fill("#text", "Bo lives in Lima.")
    page.wait_for_selector("p.error:has-text('The server does not answer')")
    assert "belongs to an earlier request" in page.inner_text("p.error")
    assert float(page.locator(".grid").evaluate("e => getComputedStyle(e).opacity")) < 0.6
    page.click("nav >> text='Lattice'")
    page.wait_for_selector("h1:has-text('Lattice')")
    assert "cannot be loaded" in page.inner_text("main") and page.locator("#answer").count() == 0
    visitor.context.close()
    assert all("net::ERR" in one for one in visitor.problems)


def test_an_error_greys_the_answer_to_another_text(visit):
    page = visit("tag", model="names", text=TEXT)
    page.wait_for_selector("#answer .entity")
    page.evaluate("document.querySelector('#text').value = 'Anna '.repeat(300000)")
    page.evaluate("document.querySelector('#text').dispatchEvent(new Event('input'))")
    page.wait_for_selector("p.error:has-text('too large')")
    assert float(page.locator(".grid").evaluate("e => getComputedStyle(e).opacity")) < 0.6
    page.fill("#text", TEXT)
    until(page, "!document.querySelector('p.error')")
    assert float(page.locator(".grid").evaluate("e => getComputedStyle(e).opacity")) == 1


def test_a_server_that_returns_is_used_again(browser, address):
    visitor = Visitor(browser, address)
    page = visitor.open("tag", text=TEXT)
    page.wait_for_selector("#answer .entity")
    page.context.set_offline(True)
    page.fill("#text", "Bo lives in Lima.")
    page.wait_for_selector("p.error:has-text('It is asked again')")
    page.context.set_offline(False)
    page.wait_for_selector("#answer .token:has-text('Lima')")
    assert page.locator("p.error").count() == 0
    visitor.context.close()


def test_a_long_text_is_drawn_in_seconds_and_its_sentences_are_opened(visit):
    page = visit("tag", model="names", text=TEXT)
    page.wait_for_selector("#answer .entity")
    text = ("Anna lives in Oslo and has a friend who sees the museums of Lima. " * 1300)[:80_000]
    seconds = page.evaluate(
        """async (text) => {
            const [box, began] = [document.getElementById("text"), performance.now()];
            box.value = text;
            box.dispatchEvent(new Event("input"));
            const drawn = document.getElementById("answer").getElementsByClassName("entity");
            while (drawn.length < 2000) await new Promise((go) => setTimeout(go, 20));
            return (performance.now() - began) / 1000;
        }""",
        text,
    )
    assert seconds < 10, "2 on a machine that does nothing else"
    assert page.locator("#answer").evaluate("e => e.textContent.length") > len(text) and len(page.url) < 300
    page.click("[data-sentence='3']")
    page.wait_for_selector("#answer .sentence[role=listbox] .token")
    assert page.locator("#answer .token").first.get_attribute("data-place") == str(3 * 15)
    page.click("text='See the lattice'")
    page.wait_for_selector("p.error, .cell")


def test_probabilities_are_seen_and_alternatives_are_told(visit, client):
    page = visit("tag", model="names", text=TEXT)
    page.wait_for_selector("#answer .entity")
    options = {"marginals": True, "tokens": True}
    told = client.post("/api/tag", json={"model": "names", "text": TEXT, "options": options}).json()["documents"][0]
    figures = page.locator("#answer .chip").evaluate_all("all => all.map(e => e.dataset.figure.trim())")
    assert [float(one.strip(">< %")) for one in figures] == pytest.approx(
        [100 * one["probability"] for one in told["spans"]], abs=0.1
    )
    settled(page)
    page.wait_for_selector("text=Best labellings >> visible=true")
    page.hover("[data-place='3']")
    best = max(told["marginals"][3], key=told["marginals"][3].get)
    until(page, f"document.getElementById('tip').textContent.includes('{best} ')")


def test_focus_stays_after_a_choice_and_words_can_be_tapped(visit):
    page = visit("tag", options={"has_touch": True}, model="names", text=TEXT)
    page.tap("[data-place='3']")
    assert "Oslo" in page.inner_text(".menu .title")
    page.click(".menu >> text='is PER'")
    page.wait_for_selector(".entity.required")
    assert page.evaluate("document.activeElement.dataset.place") == "3"


# ------------------------------------------------------------------------------------------------ Train


@pytest.fixture(scope="module")
def trainer(start, names_model, tmp_path_factory):
    """Address, token and folder of a server that may train."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "train.txt").write_text(corpora.as_conll(*corpora.named_entities(200)))
    (folder / "dev.txt").write_text(corpora.as_conll(*corpora.named_entities(30, seed=1)))
    process, address = start(names_model, "--queue", 1000, "--allow-training", folder)
    return address, re.search(r"run=(\S+)", process.stderr.readline())[1], folder


@pytest.mark.parametrize("size", SIZES)
def test_a_model_is_trained_watched_stopped_and_kept(browser, trainer, size):
    address, run, folder = trainer
    visitor = Visitor(browser, address, size)
    page = visitor.open("train", run=run)
    page.wait_for_selector("#train option", state="attached")
    assert run not in page.url, "the token does not stay in the address"
    page.select_option("#train", "train.txt")
    page.select_option("#dev", "dev.txt")
    page.fill("#epochs", "3")
    page.click("text='Start'")
    page.wait_for_selector(".figures:has-text('finished')")
    assert page.locator("figure svg").count() == 2
    assert "3 of 3" in page.inner_text(".figures")
    page.fill("#name", f"mine-{size}")
    page.click("#keep")
    page.wait_for_selector(f"text=Kept and served as mine-{size}")
    assert (folder / f"mine-{size}.postil").is_file()
    until(page, f"[...document.querySelectorAll('#model option')].some(o => o.value === 'mine-{size}')")
    page.fill("#epochs", "1000")
    page.click("text='Start'")
    page.wait_for_selector("figure svg")
    page.click("text='Stop'")
    page.wait_for_selector(".figures:has-text('stopped')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.click("text='Tag' >> nth=0")
    page.wait_for_selector("#text")
    visitor.context.close()
    assert visitor.problems == []


def test_without_the_token_nothing_is_trained(browser, trainer):
    visitor = Visitor(browser, trainer[0])
    page = visitor.open("train")
    page.wait_for_selector("text=Token of this run")
    page.fill("#run", "wrong-token-of-a-run")
    page.click("text='Use it'")
    page.wait_for_selector("p.error:has-text('token of the run')")
    page.fill("#run", trainer[1])
    page.click("text='Use it'")
    page.wait_for_selector("#train option", state="attached")
    visitor.context.close()
    assert [one for one in visitor.problems if "403" not in one] == []


# ------------------------------------------------------------------------------------------------ Gradient lab

RUN_TOURS = """async () => {
    const { TOURS } = await import("/page/tours.js");
    return Object.fromEntries(Object.entries(TOURS).map(([id, tour]) => {
        const graph = tour.build({ words: tour.words, activation: tour.activation });
        graph.forward();
        graph.backward();
        const nodes = graph.nodes.map((node) => ({
            name: node.name, kind: node.kind, value: node.value, gradient: node.gradient,
            central: graph.slopes(node, 1e-5).central, parents: node.parents.map((one) => one.name),
        }));
        const missing = tour.steps.filter(([, name]) => !graph.nodes.some((node) => node.name === name));
        return [id, { nodes, missing }];
    }));
}"""


@pytest.fixture(scope="module")
def tours(browser, address):
    visitor = Visitor(browser, address)
    worked = visitor.open("gradients").evaluate(RUN_TOURS)
    visitor.context.close()
    return {
        name: {
            node["name"]: {k: np.array(v) if k in ("value", "gradient", "central") else v for k, v in node.items()}
            for node in tour["nodes"]
        }
        | {"missing": tour["missing"]}
        for name, tour in worked.items()
    }


def test_every_gradient_of_every_tour_agrees_with_central_differences(tours):
    assert len(tours) == 9
    for name, nodes in tours.items():
        assert nodes.pop("missing") == [], "every step points at a node"
        for node in nodes.values():
            if name != "kink":
                np.testing.assert_allclose(
                    node["gradient"], node["central"], atol=1e-8, err_msg=f"{name}: {node['name']}"
                )


def test_the_kink_shows_half_the_slope(tours):
    z = tours["kink"]["z"]
    np.testing.assert_allclose(z["gradient"].ravel(), [1, 1, 1, 0])
    np.testing.assert_allclose(z["central"].ravel(), [0.5, 0.5, 1, 0], atol=1e-6)


def test_the_window_score_and_its_margin_by_hand(tours):
    def score(nodes, words):
        x = np.concatenate([nodes[f"x “{word}”"]["value"] for word in words])
        return (nodes["u"]["value"].T @ np.tanh(nodes["W"]["value"] @ x + nodes["b"]["value"])).item(), x

    words = ["Museums", "in", "Paris", "are", "amazing"]
    window = tours["window"]
    s, x = score(window, words)
    assert window["s"]["value"].item() == pytest.approx(s, abs=1e-12)
    delta = window["u"]["value"] * (1 - np.tanh(window["z"]["value"]) ** 2)
    for name, expected in (("z", delta), ("b", delta), ("W", delta @ x.T), ("x", window["W"]["value"].T @ delta)):
        np.testing.assert_allclose(window[name]["gradient"], expected, atol=1e-12)
    margin = tours["margin"]
    corrupt, _ = score(margin, ["Museums", "in", "the", "are", "amazing"])
    assert margin["J"]["value"].item() == pytest.approx(max(0, 1 + corrupt - score(margin, words)[0]), abs=1e-12)


def test_three_words_are_those_of_the_library(tours):
    from postil.objectives.crf import ChainScores, Lattice, loss_and_gradient

    nodes = tours["chain"]
    names = ["u “Anna”", "u “visits”", "u “Oslo”"]
    unary = np.stack([nodes[name]["value"].ravel() for name in names])
    chain = ChainScores(transitions=nodes["A"]["value"], start=np.zeros(2), end=np.zeros(2))
    losses, gradient = loss_and_gradient(Lattice.over(unary, np.array([0, 3]), chain), np.array([0, 1, 0]))
    assert nodes["J"]["value"].item() == pytest.approx(losses[0], abs=1e-12)
    for t, name in enumerate(names):
        np.testing.assert_allclose(nodes[name]["gradient"].ravel(), gradient.unary[t], atol=1e-12)
    np.testing.assert_allclose(nodes["A"]["gradient"], gradient.transitions, atol=1e-12)


def test_structure_by_hand_and_vanishing_gradients(tours):
    nodes = tours["structure"]
    W, V = nodes["W_l"]["value"], nodes["W_sm"]["value"]
    x = [nodes[f"x “{word}”"]["value"] for word in ("not", "bad", "film")]
    top = np.tanh(W @ (np.tanh(W @ (x[0] + x[1])) + x[2]))
    q = (V @ top).ravel()
    assert nodes["J"]["value"].item() == pytest.approx(np.log(np.exp(q).sum()) - q[0], abs=1e-12)
    deep = tours["vanishing"]
    norms = [np.linalg.norm(deep[name]["gradient"]) for name in ("h5", "h3", "h1", "x")]
    assert norms == sorted(norms, reverse=True) and norms[-1] < norms[0] / 100


def hidden(nodes, words):
    x = np.concatenate([nodes[f"x “{word}”"]["value"] for word in words])
    return np.tanh(nodes["W"]["value"] @ x + nodes["b"]["value"]), x


def test_the_margin_by_hand(tours):
    nodes, words = tours["margin"], ["Museums", "in", "Paris", "are", "amazing"]
    corrupt = ["Museums", "in", "the", "are", "amazing"]
    (h, x), (h_c, x_c), u = hidden(nodes, words), hidden(nodes, corrupt), nodes["u"]["value"]
    assert nodes["J"]["value"].item() > 0
    delta, delta_c = -u * (1 - h**2), u * (1 - h_c**2)  # J = 1 + s_c - s
    np.testing.assert_allclose(nodes["u"]["gradient"], h_c - h, atol=1e-12)
    np.testing.assert_allclose(nodes["b"]["gradient"], delta + delta_c, atol=1e-12)
    np.testing.assert_allclose(nodes["W"]["gradient"], delta @ x.T + delta_c @ x_c.T, atol=1e-12)
    parts, parts_c = (nodes["W"]["value"].T @ one for one in (delta, delta_c))
    for word in ("Museums", "in", "Paris", "are", "amazing"):
        expected = sum(
            part[2 * i : 2 * i + 2]
            for part, window in ((parts, words), (parts_c, corrupt))
            for i, other in enumerate(window)
            if other == word
        )
        np.testing.assert_allclose(nodes[f"x “{word}”"]["gradient"], expected, atol=1e-12)


def test_delta_and_the_slopes_are_the_window_score(tours):
    for name in ("delta", "slopes"):
        for node, expected in tours["window"].items():
            if node != "missing":
                np.testing.assert_array_equal(tours[name][node]["value"], expected["value"])
                np.testing.assert_array_equal(tours[name][node]["gradient"], expected["gradient"])


def test_the_one_sided_slope_is_wrong_by_half_the_curvature(visit):
    page = visit("gradients", tour="slopes")
    page.wait_for_selector(".node.chosen")
    slopes = page.evaluate(
        """async () => {
            const { TOURS } = await import("/page/tours.js");
            const tour = TOURS.slopes;
            const graph = tour.build({ words: tour.words, activation: tour.activation });
            graph.forward();
            graph.backward();
            const of = (name) => graph.nodes.find((node) => node.name === name);
            const [z, u, b] = ["z", "u", "b"].map(of);
            return { ...graph.slopes(b, 1e-3), z: z.value, u: u.value, gradient: b.gradient };
        }"""
    )
    t, u = np.tanh(np.array(slopes["z"])), np.array(slopes["u"])
    curvature = u * -2 * t * (1 - t**2)  # of the score in each bias
    wrong = np.array(slopes["forward"]) - np.array(slopes["gradient"])
    np.testing.assert_allclose(wrong, 0.5e-3 * curvature, atol=1e-6)
    np.testing.assert_allclose(slopes["central"], slopes["gradient"], atol=1e-6)


def test_the_softmax_window_by_hand(tours):
    nodes, words = tours["softmax"], ["Museums", "in", "Paris", "are", "amazing"]
    (h, x), V = hidden(nodes, words), nodes["V"]["value"]
    q = V @ h + nodes["c"]["value"]
    probabilities = np.exp(q) / np.exp(q).sum()
    assert nodes["J"]["value"].item() == pytest.approx(-np.log(probabilities[1, 0]), abs=1e-12)
    error = probabilities - [[0], [1], [0]]
    delta = (1 - h**2) * (V.T @ error)
    for name, expected in (("q", error), ("c", error), ("V", error @ h.T), ("b", delta), ("W", delta @ x.T)):
        np.testing.assert_allclose(nodes[name]["gradient"], expected, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(nodes["x “Paris”"]["gradient"], (nodes["W"]["value"].T @ delta)[4:6], atol=1e-12)


def test_forward_sums_over_all_beginnings(tours):
    from itertools import pairwise, product

    nodes = tours["chain"]
    u = [nodes[f"u “{word}”"]["value"].ravel() for word in ("Anna", "visits", "Oslo")]
    A = nodes["A"]["value"]

    def score(y):
        return sum(u[t][j] for t, j in enumerate(y)) + sum(A[i, j] for i, j in pairwise(y))

    for name, length in (("α₂", 2), ("α₃", 3)):
        expected = [np.log(sum(np.exp(score((*y, j))) for y in product((0, 1), repeat=length - 1))) for j in (0, 1)]
        np.testing.assert_allclose(nodes[name]["value"].ravel(), expected, atol=1e-12)
    paths = {y: np.exp(score(y)) for y in product((0, 1), repeat=3)}
    Z = sum(paths.values())
    assert nodes["log Z"]["value"].item() == pytest.approx(np.log(Z), abs=1e-12)
    assert nodes["s(y)"]["value"].item() == pytest.approx(score((0, 1, 0)), abs=1e-12)
    last = [sum(p for y, p in paths.items() if y[2] == j) / Z for j in (0, 1)]
    np.testing.assert_allclose(nodes["α₃"]["gradient"].ravel(), last, atol=1e-12)


def test_backpropagation_through_structure_by_hand(tours):
    nodes = tours["structure"]
    W, V = nodes["W_l"]["value"], nodes["W_sm"]["value"]
    x = [nodes[f"x “{word}”"]["value"] for word in ("not", "bad", "film")]
    p1 = np.tanh(W @ (x[0] + x[1]))
    p2 = np.tanh(W @ (p1 + x[2]))
    error = np.exp(V @ p2) / np.exp(V @ p2).sum() - [[1], [0], [0]]
    d2 = (1 - p2**2) * (V.T @ error)
    d1 = (1 - p1**2) * (W.T @ d2)
    expected = {"W_sm": error @ p2.T, "W_l": d2 @ (p1 + x[2]).T + d1 @ (x[0] + x[1]).T, "p₁": W.T @ d2}
    expected |= {"x “not”": W.T @ d1, "x “bad”": W.T @ d1, "x “film”": W.T @ d2}
    for name, gradient in expected.items():
        np.testing.assert_allclose(nodes[name]["gradient"], gradient, atol=1e-12, err_msg=name)


def test_six_layers_by_hand(tours):
    nodes = tours["vanishing"]
    h, every = nodes["x"]["value"], []
    for layer in range(1, 7):
        every.append(h)
        h = 1 / (1 + np.exp(-nodes[f"W{layer}"]["value"] @ h))
    assert nodes["s"]["value"].item() == pytest.approx(h.sum(), abs=1e-12)
    gradient = np.ones((2, 1))
    for layer in range(6, 0, -1):
        W = nodes[f"W{layer}"]["value"]
        h = 1 / (1 + np.exp(-W @ every[layer - 1]))
        delta = h * (1 - h) * gradient
        np.testing.assert_allclose(nodes[f"W{layer}"]["gradient"], delta @ every[layer - 1].T, atol=1e-12)
        gradient = W.T @ delta
    np.testing.assert_allclose(nodes["x"]["gradient"], gradient, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_the_lab_is_walked_changed_checked_and_trained(visit, size):
    page = visit("gradients", size, tour="margin")
    page.wait_for_selector(".node.chosen")
    for _ in range(5):
        page.click("text='Next'")
    assert "step=5" in page.url and page.inner_text("section[aria-label=Node] h2").startswith("x “Museums”")
    page.click("text='Check numerically'")
    worst = float(page.locator("section[aria-label=Node] p").last.inner_text().rsplit(" ", 1)[1])
    assert worst < 1e-8
    before = page.inner_text("#loss")
    page.click("text='One step'")
    after = page.inner_text("#loss")
    assert float(after.split("= ")[1]) < float(before.split("= ")[1])
    page.click("text='Reset weights'")
    assert page.inner_text("#loss") == before
    page.click("text='Rewind'")
    page.click("text='Step forward'")
    assert page.inner_text("section[aria-label=Node] h2").startswith("x "), "words and parameters are given"
    page.click("text='Step forward'")
    assert page.locator(".node.done").count() == 2
    page.select_option("#activation", "relu")
    assert page.inner_text("#loss") != before and "activation=relu" in page.url
    page.fill("#words", "Museums in Oslo are amazing")
    page.wait_for_selector("text=x “Oslo”")
    page.focus(".node.chosen")
    page.keyboard.press("ArrowLeft")
    page.click("text='change the numbers'") if page.locator("text='change the numbers'").count() else None
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"


def test_lines_are_as_thick_as_the_gradient_on_one_scale(visit, tours):
    page = visit("gradients", tour="vanishing", step=2)
    page.wait_for_selector(".edge.flow", state="attached")
    lines = page.locator(".edge.flow").evaluate_all(
        "all => all.map((one) => [Number(one.dataset.sent), parseFloat(getComputedStyle(one).strokeWidth)])"
    )
    sent = np.array([pair[0] for pair in lines])
    largest = max(np.linalg.norm(node["gradient"]) for name, node in tours["vanishing"].items() if name == "h6")
    assert sent.max() == pytest.approx(largest, rel=1e-4) and sent.min() < 1e-3 * sent.max(), "it vanishes"
    np.testing.assert_allclose([pair[1] for pair in lines], np.maximum(0.6, 13 * sent / sent.max()), rtol=1e-3)
    shares = "document.querySelector('[aria-label=\"gradient of x\"] td').style.getPropertyValue('--share')"
    assert float(page.evaluate(shares)) < 0.01, "one scale for all gradients"
    page.select_option("#activation", "relu")
    page.click("text='Run'")
    assert float(page.locator(".edge.flow").first.get_attribute("data-sent")) > 0


@pytest.mark.parametrize("tour", ["window", "margin", "chain", "structure", "softmax", "vanishing"])
def test_rules_are_filled_in_with_the_numbers_of_every_node(visit, tour):
    """The numbers on the right of = are computed from those on the left."""
    page = visit("gradients", tour=tour, step=9)
    page.wait_for_selector(".node.chosen")
    page.click("text='Run'")
    for node in range(page.locator("[data-node]").count()):
        target = page.locator(f"[data-node='{node}']")
        if not target.count():
            break
        target.first.click()
        for text in page.locator(".spelling math").all_text_contents():
            _, *sides = text.split("=")
            space = {name: getattr(math, name) for name in ("exp", "log", "tanh")}
            space |= {"max": max, "sigmoid": lambda z: 1 / (1 + math.exp(-z))}
            values = [eval(one.replace("·", "*").replace("−", "-"), {"__builtins__": {}}, space) for one in sides]
            assert values == pytest.approx([values[0]] * len(values), abs=2e-3), text


def test_play_walks_forward_and_back_and_training_draws_a_curve(visit):
    page = visit("gradients", tour="kink")
    page.click("text='Rewind'")
    assert not page.is_visible("#activation") and not page.is_visible("#words"), "they would do nothing"
    page.click("text='Play'")
    page.wait_for_selector("[data-node='0'].back")
    page.wait_for_selector("button:has-text('Play')")
    page.click("text='20 steps'")
    assert "after step 20" in page.get_attribute("figure svg", "aria-label")


def test_formulas_lead_to_the_equations(visit, browser, address):
    page = visit("gradients", tour="window", step=1)
    page.wait_for_selector(".formula math")
    with page.context.expect_page() as opened:
        page.click("a:has-text('B3')")
    assert opened.value.url.endswith("/page/equations.html#b3")
    opened.value.wait_for_selector("#b3")


def test_the_served_model_is_walked_too(visit):
    page = visit("gradients", tour="model", model="names", text="Anna lives in Oslo")
    page.wait_for_selector(".node.chosen")
    assert page.input_value("#gold") == "B-PER O O B-LOC"
    before = page.text_content(".node.chosen text >> nth=1")
    page.fill("#gold", "O O O O")
    page.keyboard.press("Tab")
    until(page, f"document.querySelectorAll('.node.chosen text')[1]?.textContent !== {before!r}")
    page.click("text='Rewind'")
    page.click("text='Step forward'")
    page.click("text='Run'")
    page.click("[data-node='0']")
    assert "norm of the gradient" in page.inner_text("section[aria-label=Node]")
    page.select_option("#tour", "margin")
    page.wait_for_selector("text=x “Paris”")


@pytest.mark.parametrize("size", SIZES)
def test_the_served_model_is_changed_checked_and_trained(visit, size):
    page = visit("gradients", size, tour="model", model="names", text="Anna lives in Oslo", gold="O O O O")
    page.wait_for_selector(".node.chosen")

    def loss():
        return float(page.inner_text("#loss").split("=")[1].replace("−", "-"))

    first = loss()
    page.click("[aria-label^='relu']")
    page.click("text='Check numerically'")
    page.wait_for_selector("table[aria-label='Numerical check']")
    worst = float(page.inner_text("text=Largest difference").split(":")[1])
    assert worst < 1e-6
    page.click("text='change the numbers'")
    page.fill("input[aria-label='value of relu, row 1, column 1']", "9")
    page.keyboard.press("Tab")
    page.wait_for_selector("[aria-label^='changed']")
    assert page.input_value("input[aria-label='value of changed, row 1, column 1']") == "9"
    changed = loss()
    assert changed != first
    for optimiser in ("SGD", "AdaGrad", "Adam"):
        before = loss()
        page.select_option("#optimiser", optimiser)
        page.fill("#rate", "0.01")
        page.click("text='One step'")
        page.wait_for_selector(f"li:has-text('{optimiser.lower()}')")
        assert loss() < before
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.click("text='Reset weights'")
    until(page, "!document.querySelector('[aria-label^=changed]')")
    assert loss() == pytest.approx(first, abs=1e-5), "the served model is as it was"


def test_a_changed_number_changes_the_rest(visit):
    page = visit("gradients", tour="window", step=3)
    page.wait_for_selector(".node.chosen")
    before = page.inner_text("#loss")
    page.click("[data-node='2']")  # u
    page.click("text='change the numbers'")
    page.fill("input[aria-label='value of u, row 1, column 1']", "5")
    page.keyboard.press("Tab")
    assert page.inner_text("#loss") != before


# ------------------------------------------------------------------------------------------------ everything


@pytest.mark.extra("axe_playwright_python")
@pytest.mark.parametrize("view", VIEWS)
def test_no_accessibility_rule_is_broken(browser, address, view):
    for size in SIZES:
        visitor = Visitor(browser, address, size, bypass_csp=True)
        page = visitor.open(view)
        page.wait_for_timeout(800)
        found = broken_rules(page)
        visitor.context.close()
        assert found == []


@pytest.mark.parametrize("view", VIEWS)
def test_random_clicking_finds_no_error(visit, view):
    import random

    page = visit(view)
    rng = random.Random(view)
    page.on("dialog", lambda dialog: dialog.dismiss())
    for _ in range(40):
        targets = page.locator(
            "main button:visible:enabled, main .token, main .cell, main .node, main summary, main select"
        )
        count = targets.count()
        if not count:
            break
        element = targets.nth(rng.randrange(count))
        try:
            element.click(timeout=1_000, force=True)
        except Exception as error:  # it was gone before the click
            assert any(word in str(error) for word in ("Timeout", "detached", "outside", "not visible"))
        if rng.random() < 0.3:
            page.keyboard.press(rng.choice(["Tab", "Enter", "ArrowRight", "ArrowDown", "Escape", "+", "-", "Space"]))
        page.wait_for_timeout(20)

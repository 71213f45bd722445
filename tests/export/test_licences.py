"""An exported model carries the licences that apply to it, in every form."""

import html
import json
import re
import shutil

import pytest

from postil.commands.main import main
from postil.export.flat import licences, notice
from postil.models.storage import installed_path

CARD = {"title": "Names", "licence": "CC BY-SA 4.0, attributions in ATTRIBUTIONS.md", "tables": [], "weaknesses": []}
SOURCES = {"title": "Sources", "columns": ["source", "licence"], "rows": [["A corpus", "CC BY 4.0"]]}


@pytest.fixture
def model(names_model, tmp_path):
    """A model with a card and attributions beside it, which try to end what they stand in."""
    path = tmp_path / "names.postil"
    shutil.copy(names_model, path)
    (tmp_path / "names.card.json").write_text(json.dumps({**CARD, "tables": [SOURCES]}))
    (tmp_path / "ATTRIBUTIONS.md").write_text("By Zoë. */ </pre><script>alert(1)</script>")
    return path


def exported(model, target, to):
    assert main(["export", str(model), "--to", to, "-o", str(target)]) == 0
    if target.is_dir():
        return (target / "LICENSES.txt").read_text("utf-8")
    text = target.read_text("utf-8")
    if target.suffix == ".html":
        return html.unescape(re.search('<pre id="licences">(.*?)</pre>', text, re.DOTALL)[1])
    return re.search(r"/\* @license\n(.*?)\*/", text, re.DOTALL)[1].replace("* /", "*/")


FORMS = [("c", "c"), ("web", "folder"), ("web", "page.html"), ("web", "module.mjs")]


@pytest.mark.parametrize(("to", "name"), FORMS)
def test_the_licences_of_model_and_runtime_go_along(model, tmp_path, to, name):
    told = exported(model, tmp_path / name, to)
    assert "CC BY-SA 4.0" in told and "A corpus | CC BY 4.0" in told
    assert "By Zoë. */ </pre><script>alert(1)</script>" in told
    assert notice() in told
    for licence in ("Postil (MIT)", "UNICODE LICENSE V3", "musl as a whole is licensed", "Zope Public License"):
        assert licence in told


@pytest.mark.slow
@pytest.mark.parametrize(("to", "name"), FORMS)
def test_a_model_without_a_card_says_so(names_model, tmp_path, to, name):
    told = exported(names_model, tmp_path / name, to)
    assert "No model card states a licence" in told and notice() in told


def test_attributions_that_the_card_does_not_mention_are_not_taken(model, tmp_path):
    (tmp_path / "names.card.json").write_text(json.dumps({**CARD, "licence": "MIT"}))
    assert "Zoë" not in exported(model, tmp_path / "c", "c")


def test_the_english_model_brings_its_attributions():
    path = installed_path("english")
    if path is None:
        pytest.skip("postil-english is not installed")
    told = licences(path)
    assert "CC BY-SA 4.0" in told and "creativecommons.org/licenses/by-sa/4.0" in told and "Balasuriya" in told


def test_an_npm_package_names_its_licences(model, tmp_path):
    exported(model, tmp_path / "npm", "web")
    package = json.loads((tmp_path / "npm" / "package.json").read_text("utf-8"))
    assert package["license"] == "SEE LICENSE IN LICENSES.txt" and "LICENSES.txt" in package["files"]

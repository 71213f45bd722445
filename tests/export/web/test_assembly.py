"""Pages, modules and packages put together: nothing of a model becomes markup or code."""

import base64
import gzip
import hashlib
import html
import json
import re

import pytest

from postil.export.web import writing as assembly

HOSTILE = "</script><script>alert(1)</script><!-- ${x} $title ` \u2028 \\"
ABOUT = {"title": HOSTILE, "about": HOSTILE, "facts": [[HOSTILE, HOSTILE]], "tables": [], "weaknesses": [HOSTILE]}


def block(page, name):
    return re.search(rf'<script type="[^"]*" id="{name}">([^<]*)</script>', page)[1]


def test_a_page_holds_the_bytes_of_the_model():
    content = bytes(range(256)) * 50
    page = assembly.page(content, ABOUT, version="1", licences=HOSTILE)
    assert gzip.decompress(base64.b64decode(block(page, "model"))) == content
    assert page == assembly.page(content, ABOUT, version="1", licences=HOSTILE), "the same model makes the same page"


def test_strings_of_the_model_cannot_leave_their_place():
    page = assembly.page(b"", ABOUT, version=HOSTILE, licences=HOSTILE)
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == 5 and page.count("<script") == 5
    assert json.loads(block(page, "about")) == ABOUT
    assert html.unescape(re.search("<title>(.*?)</title>", page)[1]) == HOSTILE


def test_the_policy_allows_the_page_its_own_script_and_style_only():
    page = assembly.page(b"", ABOUT, version="1", licences=HOSTILE)
    policy = html.unescape(re.search('Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    script = re.search('<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == f"'{digest(script)}' 'wasm-unsafe-eval'"
    assert rules["style-src"] == f"'{digest(style)}'"
    assert not re.search(r"\s(?:src|href)=\"(?!data:|#)", page), "it names no other file"
    assert "http:" not in re.sub(r"http://www\.w3\.org/2000/svg", "", page) and "https:" not in page


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_bundle_has_one_scope():
    scripts = [
        'import { a } from "/b.js";\nimport {\n  c,\n} from "./d.mjs";\nexport function f() {}\n',
        "export const g = 1;\nexport async function h() {}\nexport class K {}\n",
    ]
    assert assembly.bundled(scripts) == "function f() {}\n\nconst g = 1;\nasync function h() {}\nclass K {}\n"


@pytest.mark.parametrize(
    ("title", "name"),
    [("ner", "postil-ner"), ("My NER: été!", "postil-my-ner-t"), ("東京", "postil-model"), ("../x", "postil-x")],
)
def test_names_of_packages_are_allowed_by_npm(title, name):
    assert assembly.npm_name(title) == name


def test_a_package_has_what_its_description_names():
    package = assembly.package(b"model", ABOUT, name="postil-x", version="1.0.0", licences=HOSTILE)
    described = json.loads(package["package.json"])
    assert described["name"] == "postil-x" and described["description"] == HOSTILE
    for path in (described["main"], described["types"]):
        assert path.removeprefix("./") in package
    assert package["model.bin"] == b"model"
    assert "<script" not in package["README.md"].decode()
    imported = re.findall(r'from "\./([^"]*)"|new URL\("\./([^"]*)"', package["index.mjs"].decode())
    assert {first or second for first, second in imported} <= set(package)

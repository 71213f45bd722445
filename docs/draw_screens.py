"""Take the pictures of pages by using them: train models, start the programs, drive a real browser, in light and dark.

    python docs/draw_screens.py              writes the pictures below into docs/images, NAME.png and NAME-dark.png
    python docs/draw_screens.py report       only this group

Needs the packages of the extras ``serve`` and ``browser``, and Chromium. The site shows the picture of its theme.
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from playwright.sync_api import Browser, sync_playwright

import postil
from postil.export import web
from postil.export.web.trainer import write_trainer
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.text import spans_from_labels

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 1100
TEXT = "Victoria Stone flew to Florence. Museums in Paris are amazing."
ANSWERS = range(120, 320)  # stop at the first of these at which the curve is as high as ever


def shoot(browser: Browser, name: str, address: str, use: Callable[[Any], None], height: int, *, again: bool) -> None:
    """Open an address, use the page, and take its picture; in the dark by another visit if it can be used ``again``."""
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    for scheme, ending in (("light", ""), ("dark", "-dark")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        if scheme == "light" or again:
            page.goto("about:blank")
            page.goto(address)
            page.wait_for_timeout(1500)
            use(page)
        page.wait_for_timeout(400)
        page.screenshot(path=IMAGES / f"{name}{ending}.png")
    page.close()


@contextlib.contextmanager
def started(*words: str) -> Iterator[tuple[str, Iterator[str]]]:
    """The address that a command of postil prints, and the lines that follow."""
    process = subprocess.Popen([sys.executable, "-m", "postil", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        lines = iter(process.stderr)
        yield next(filter(None, (re.search(r"http://\S+", line) for line in lines))).group(), lines
    finally:
        process.terminate()
        process.wait()


def trained(folder: Path) -> list[Path]:
    """A tagger of made-up sentences and a tree classifier, and the sentences as files below ``data``."""
    sentences = made_up_sentences(1200, np.random.default_rng(0))
    X, y = [list(one.tokens) for one in sentences], [list(one.labels) for one in sentences]
    postil.Tagger(seed=0, epochs=6).fit(X[:1000], y[:1000], dev=(X[1000:], y[1000:])).save(folder / "names.postil")
    (folder / "data").mkdir()
    for name, some in (("train.txt", sentences[:1000]), ("dev.txt", sentences[1000:])):
        lines = ["\n".join(map("\t".join, zip(one.tokens, one.labels, strict=True))) for one in some]
        (folder / "data" / name).write_text("\n\n".join(lines) + "\n")
    trees = made_up_trees(600, np.random.default_rng(0))
    postil.TreeClassifier(seed=0, epochs=6).fit(trees).save(folder / "opinions.postil")
    return [folder / "names.postil", folder / "opinions.postil"]


# ------------------------------------------------------------------------------------------------ postil serve


def use_tag(page: Any) -> None:
    page.click("[data-place='4']")
    page.wait_for_selector(".menu")


def use_lattice(page: Any) -> None:
    page.wait_for_selector(".cell.chosen")


def use_why(page: Any) -> None:
    page.wait_for_selector(".effect")


def use_served_lab(page: Any) -> None:
    page.wait_for_selector(".node.chosen")
    page.click("[aria-label^='relu']")
    page.click("text='Check numerically'")
    page.wait_for_selector("table[aria-label='Numerical check']")


def use_train(page: Any) -> None:
    page.wait_for_selector("#train option", state="attached")
    page.select_option("#train", "train.txt")
    page.select_option("#dev", "dev.txt")
    page.fill("#epochs", "6")
    page.click("text='Start'")
    page.wait_for_selector(".figures:has-text('finished')", timeout=300_000)


# Picture -> the address, what is done there, and the height of the window.
VIEWS: dict[str, tuple[str, Callable[[Any], None], int]] = {
    "page-tag": (f"tag?text={quote(TEXT)}", use_tag, 760),
    "page-why": (f"why?text={quote('Museums in Paris are amazing.')}", use_why, 900),
    "page-lattice": (f"lattice?text={quote('Victoria Stone flew to Paris .')}&paths=3", use_lattice, 960),
    "page-served-gradients": ("gradients?tour=model&text=Museums%20in%20Paris&gold=O%20O%20O", use_served_lab, 1000),
    "page-train": ("train?run={run}", use_train, 860),
}


def serve(browser: Browser, folder: Path) -> None:
    models = map(str, trained(folder))
    with started("serve", *models, "--port", "0", "--allow-training", str(folder / "data")) as (address, lines):
        run = next(filter(None, (re.search(r"run=(\S+)", line) for line in lines))).group(1)
        for name, (place, use, height) in VIEWS.items():
            shoot(browser, name, f"{address}/#/{place.replace('{run}', run)}", use, height, again=name != "page-train")


# ------------------------------------------------------------------------------------------------ postil annotate


def annotate(browser: Browser, folder: Path) -> None:
    """Answer records of a pool as its made-up labels say, then show the next record with something to see."""
    sentences = made_up_sentences(1500, np.random.default_rng(3))
    (folder / "pool.txt").write_text("".join(" ".join(one.tokens) + "\n" for one in sentences), encoding="utf8")
    gold = {
        " ".join(one.tokens): [span._asdict() for span in spans_from_labels(one.labels, "bio")] for one in sentences
    }
    words = [str(folder / "pool.txt"), "--labels", "PER,LOC,ORG", "--from", "tokens"]
    with started("annotate", *words, "-o", str(folder / "answers.jsonl"), "--port", "0") as (address, _):
        state = ask(address)
        for number in range(ANSWERS.stop):
            f1 = [point["f1"] for point in state["curve"]["points"]]
            if number in ANSWERS and f1[-1] == max(f1):
                break
            spans = gold[" ".join(state["record"]["words"])]
            ask(address, "/answer", {"key": state["record"]["key"], "spans": spans})
            while (state := ask(address))["learning"]["state"] == "running":
                time.sleep(0.1)
        shoot(browser, "annotate", address, use_annotate, 600, again=False)


RULES = """\
[[rule]]
name = "places"
label = "LOC"
list = ["Berlin", "Lima", "Oslo", "Tunis", "Quito", "Turin", "Paris"]

[[rule]]
name = "titles"
label = "PER"
pattern = "Mr|Mrs|Dr ( <capital>{1,2} )"

[[rule]]
name = "companies"
label = "ORG"
pattern = "<capital>{1,2} Foods|Steel|Electric|Foundation"
"""
ANOTHER = """
[[rule]]
name = "verbs"
label = "PER"
pattern = "( <capital>{1,2} ) visited|painted|lives|flew|moved|works"
"""


def rules(browser: Browser, folder: Path) -> None:
    """Add a rule to three, and retrain."""
    sentences = made_up_sentences(1500, np.random.default_rng(3))
    (folder / "pool.txt").write_text("".join(" ".join(one.tokens) + "\n" for one in sentences), encoding="utf8")
    (folder / "rules.toml").write_text(RULES)
    words = [str(folder / "pool.txt"), "--from", "tokens", "--rules", str(folder / "rules.toml")]
    with started("annotate", *words, "-o", str(folder / "answers.jsonl"), "--port", "0") as (address, _):
        shoot(browser, "annotate-rules", address, use_rules, 1000, again=False)


def use_rules(page: Any) -> None:
    page.wait_for_selector("#time:has-text('trained in')", timeout=120_000)
    page.fill("#rules", RULES + ANOTHER)
    page.click("#retrain")
    page.wait_for_selector("#changes li", timeout=120_000)
    page.wait_for_selector("#time:has-text('trained in')", timeout=120_000)


def ask(address: str, path: str = "", body: Any = None) -> dict[str, Any]:
    base, token = address.split("/#token=")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{base}/api/annotation{path}", data, headers)) as answer:
        state: dict[str, Any] = json.load(answer)
        return state


def use_annotate(page: Any) -> None:
    page.wait_for_selector("#sentence .word")
    page.evaluate("document.querySelectorAll('details[open]').forEach((one) => one.open = false)")
    while page.locator("#sentence .entity").count() < 3:
        page.keyboard.press("s")
        page.wait_for_timeout(200)
    page.wait_for_timeout(1200)
    page.keyboard.press("Enter")


# ------------------------------------------------------------------------------------------------ files


def report(browser: Browser, folder: Path) -> None:
    model = trained(folder)[0]
    words = ["evaluate", str(model.name), "data/dev.txt", "--report", "report.html"]
    subprocess.run([sys.executable, "-m", "postil", *words], cwd=folder, check=True, capture_output=True)
    shoot(browser, "report", (folder / "report.html").as_uri(), lambda page: None, 1400, again=True)


def exported(browser: Browser, folder: Path) -> None:
    web.write(trained(folder)[0], folder / "names.html")
    shoot(browser, "exported-page", (folder / "names.html").as_uri(), use_exported, 700, again=True)


def use_exported(page: Any) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")
    page.fill("#text", f"{TEXT[:-1]}, wrote Clara Frost of Riga.")
    page.hover("#answer .entity >> nth=4")


def trainer(browser: Browser, folder: Path) -> None:
    sentences = made_up_sentences(200, np.random.default_rng(0))
    texts = [" ".join(one.tokens).replace(" .", ".").replace(" ,", ",") for one in sentences]
    spans: list[list[dict[str, Any]]] = []
    for text, one in zip(texts, sentences, strict=True):
        spans.append([])
        place = 0
        for span in spans_from_labels(list(one.labels), "bio"):
            name = " ".join(one.tokens[span.start : span.end])
            place = text.index(name, place)
            spans[-1].append({"start": place, "end": place + len(name), "label": span.label})
            place += len(name)
    records = [{"text": text, "spans": of} for text, of in zip(texts, spans, strict=True)]
    lines = [json.dumps(record if i < 160 else {"text": record["text"]}) for i, record in enumerate(records)]
    (folder / "labels.jsonl").write_text("\n".join(lines))

    def use(page: Any) -> None:
        page.wait_for_selector("html[data-ready]", state="attached")
        if page.is_hidden("#sentences"):
            page.set_input_files("#file", folder / "labels.jsonl")
        page.click("#train button")
        page.wait_for_selector("#told strong")
        page.fill("#text", TEXT)
        page.click("#sentence .entity .word")
        page.wait_for_timeout(4000)  # the status line leaves

    write_trainer(folder / "trainer.html")
    shoot(browser, "trainer", (folder / "trainer.html").as_uri(), use, 1080, again=True)


GROUPS = {
    "serve": serve,
    "annotate": annotate,
    "rules": rules,
    "report": report,
    "exported": exported,
    "trainer": trainer,
}


def main() -> None:
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for name in sys.argv[1:] or GROUPS:
            with tempfile.TemporaryDirectory() as folder:
                GROUPS[name](browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()

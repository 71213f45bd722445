"""Take the pictures of the server's page by using it: train two models, serve them, drive a real browser.

    python docs/draw_page.py                 writes docs/images/page-*.png
    python docs/draw_page.py page-train      only this one

Needs the packages of the extras ``serve`` and ``browser``, and Chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH = 1100
TEXT = "Victoria Stone flew to Florence. Museums in Paris are amazing."


def trained(folder: Path) -> list[Path]:
    """A tagger of made-up sentences and a tree classifier."""
    import postil
    from postil.samples.corpora import made_up_sentences, made_up_trees

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
PICTURES: dict[str, tuple[str, Callable[[Any], None], int]] = {
    "page-tag": (f"tag?text={quote(TEXT)}", use_tag, 760),
    "page-why": (f"why?text={quote('Museums in Paris are amazing.')}", use_why, 900),
    "page-lattice": (f"lattice?text={quote('Victoria Stone flew to Paris .')}&paths=3", use_lattice, 960),
    "page-served-gradients": ("gradients?tour=model&text=Museums%20in%20Paris&gold=O%20O%20O", use_served_lab, 1000),
    "page-train": ("train?run={run}", use_train, 860),
}


def draw(address: str, run: str, names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name, (place, use, height) in PICTURES.items():
            if names and name not in names:
                continue
            page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
            page.goto(f"{address}/#/{place.replace('{run}', run)}")
            page.wait_for_timeout(1500)
            use(page)
            page.wait_for_timeout(300)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        models = trained(Path(folder))
        command = [sys.executable, "-m", "postil", "serve", *map(str, models), "--port", "0"]
        command += ["--allow-training", str(Path(folder) / "data")]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in server.stderr)))
            run = next(filter(None, (re.search(r"run=(\S+)", line) for line in server.stderr)))
            draw(found.group(), run.group(1), sys.argv[1:])
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()

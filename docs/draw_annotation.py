"""Take the picture of the page to annotate by using it: answer some records, wait for a model, drive a real browser.

    python docs/draw_annotation.py       writes docs/images/annotate.png

Needs the packages of the extras ``serve`` and ``browser``, and Chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1100, "height": 700}
ANSWERS = 150


def made_up(folder: Path) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """A pool of raw text, and what a person would say about each of its sentences."""
    from postil.samples.corpora import made_up_sentences
    from postil.text import spans_from_labels

    sentences = made_up_sentences(1500, np.random.default_rng(3))
    pool = folder / "pool.txt"
    pool.write_text("".join(" ".join(one.tokens) + "\n" for one in sentences), encoding="utf8")
    gold = {
        " ".join(one.tokens): [span._asdict() for span in spans_from_labels(one.labels, "bio")] for one in sentences
    }
    return pool, gold


class Server:
    """The API behind the page."""

    def __init__(self, address: str) -> None:
        self.base, self._token = address.split("/#token=")

    def ask(self, path: str = "", body: Any = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.base}/api/annotation{path}", data, headers)
        ) as answer:
            state: dict[str, Any] = json.load(answer)
            return state

    def learnt(self) -> dict[str, Any]:
        """The state, when no model is being learnt."""
        while (state := self.ask())["learning"]["state"] == "running":
            time.sleep(0.1)
        return state


def answer(server: Server, gold: dict[str, list[dict[str, Any]]]) -> None:
    state = server.ask()
    for _ in range(ANSWERS):
        key, words = state["record"]["key"], state["record"]["words"]
        server.ask("/answer", {"key": key, "spans": gold[" ".join(words)]})
        state = server.learnt()


def draw(address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address)
        page.wait_for_selector("#sentence .word")
        while page.locator("#sentence .entity").count() < 3:  # one with something to see
            page.keyboard.press("s")
            page.wait_for_timeout(200)
        page.wait_for_timeout(1200)
        page.keyboard.press("Enter")
        page.wait_for_timeout(300)
        page.screenshot(path=IMAGES / "annotate.png")
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pool, gold = made_up(Path(folder))
        words = [
            str(pool),
            "--labels",
            "PER,LOC,ORG",
            "--from",
            "tokens",
            "-o",
            f"{folder}/answers.jsonl",
            "--port",
            "0",
        ]
        command = [sys.executable, "-m", "postil", "annotate", *words]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))
            answer(Server(found.group()), gold)
            draw(found.group())
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()

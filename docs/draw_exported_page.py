"""Take the picture of an exported page: train a model, export it, open the file in a real browser without a network.

    python docs/draw_exported_page.py             writes docs/images/exported-page.png

Needs the packages of the extra ``browser``, and Chromium.
"""

import shutil
import tempfile
from pathlib import Path

from draw_page import BROWSERS, IMAGES, WIDTH, trained
from playwright.sync_api import sync_playwright

from postil.export import web

TEXT = "Victoria Stone flew to Florence. Museums in Paris are amazing, wrote Clara Frost of Riga."


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "names.html"
        web.write(trained(Path(folder))[0], page_file)
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": WIDTH, "height": 700}, offline=True).new_page()
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        page.fill("#text", TEXT)
        page.hover("#answer .entity >> nth=0")
        page.screenshot(path=IMAGES / "exported-page.png")
        browser.close()


if __name__ == "__main__":
    main()

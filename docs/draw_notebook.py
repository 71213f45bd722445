"""Run a notebook and take its picture for the page "In a notebook".

    python docs/draw_notebook.py                 writes docs/images/notebook.png
    python docs/draw_notebook.py --page FOLDER   only the notebook as HTML, in both themes

Needs the packages of the extra ``notebook`` (nbconvert, ipykernel) and, for the pictures, Chromium.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# No request leaves the machine: the notebook's own page would ask for scripts that nothing here needs.
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND"),
)
THEMES = ("light", "dark")
SIZE = (1000, 1800)

_CELLS = (
    """\
import numpy as np
import postil
from postil.samples.corpora import made_up_sentences

sentences = made_up_sentences(300, np.random.default_rng(0))
X, y = [list(s.tokens) for s in sentences], [list(s.labels) for s in sentences]
tagger = postil.Tagger(seed=0, epochs=8).fit(X[:250], y[:250])
tagger""",
    """tagger.tag("Museums in Florence are quiet. Victoria Stone moved from Lima to Oslo with Chad.")""",
    """tagger.explain("Museums in Florence are quiet .".split(), 2, 3)""",
    """tagger.evaluate(X[250:], y[250:])""",
    """\
def sayings(label, other, word):
    very = (label, (None, "very"), (label, word))
    return [(label, word), very, (other, (None, "not"), (label, word)), (other, (None, "not"), very)]

pairs = [("good", "bad"), ("fine", "poor"), ("great", "dull")]
trees = [tree for a, b in pairs for tree in [*sayings("pro", "contra", a), *sayings("contra", "pro", b)]]
classifier = postil.TreeClassifier(hidden=10, word_dim=10, epochs=60, rate=0.02, batch_trees=8).fit(trees)
classifier.predict_nodes([sayings("pro", "contra", "fine")[3]])""",
    """classifier.explain(["not", "very", "poor"])""",
)


def notebook(cells: tuple[str, ...] = _CELLS) -> str:
    """The content of an .ipynb file that was not run yet."""
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{number}",
                    "metadata": {},
                    "execution_count": None,
                    "outputs": [],
                    "source": source,
                }
                for number, source in enumerate(cells)
            ],
        }
    )


def converted(folder: Path, cells: tuple[str, ...] = _CELLS) -> dict[str, Path]:
    """Run the notebook once and write it as a page in each theme: theme -> path."""
    (folder / "results.ipynb").write_text(notebook(cells), encoding="utf8")
    own = {name: str(folder / "jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    environment = os.environ | own | {"JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "JUPYTER_PLATFORM_DIRS": "1"}
    execute = ["--to", "notebook", "--execute", "--inplace", "results.ipynb"]
    _convert(execute, folder, environment)
    for theme in THEMES:
        _convert(
            ["--to", "html", f"--HTMLExporter.theme={theme}", f"--output={theme}", "results.ipynb"], folder, environment
        )
    return {theme: folder / f"{theme}.html" for theme in THEMES}


def _convert(arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def browser(folder: Path, *arguments: str) -> bytes:
    """Return the output of Chromium, run with a new profile."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise RuntimeError(f"needs {' or '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as profile:
        command = [program, *OPTIONS, f"--user-data-dir={profile}", *arguments]
        done = subprocess.run(command, capture_output=True, timeout=300, check=True)
    return done.stdout


def screenshot(page: Path, target: Path, size: tuple[int, int] = SIZE) -> None:
    """A picture of a page."""
    browser(page.parent, f"--window-size={size[0]},{size[1]}", f"--screenshot={target}", page.as_uri())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", metavar="FOLDER", type=Path, help="write only the pages, into this folder")
    arguments = parser.parse_args()
    if arguments.page is not None:
        converted(arguments.page)
        return
    with tempfile.TemporaryDirectory() as folder:
        screenshot(converted(Path(folder))["light"], IMAGES / "notebook.png")


if __name__ == "__main__":
    main()

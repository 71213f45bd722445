"""The pages say what is true: their code runs and prints what stands below it, and the places they name exist."""

import ast
import contextlib
import inspect
import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from postil.models import TaggerConfig

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
FLOW_GRAPH = ROOT / "docs" / "how-the-flow-graph-works.md"
# The Python blocks of a page form one program, from top to bottom.
RUNNABLE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(page: Path) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """The page's names after all its Python blocks, and per block what it printed beside what the page says."""
    names: dict[str, object] = {}
    outputs = []
    found = [*blocks(page), ("", "")]
    for (language, text), (following, promised) in itertools.pairwise(found):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, page.name, "exec"), names)
            outputs.append((printed.getvalue(), promised if following == "text" else ""))
    return names, outputs


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a page may write files
    with np.printoptions():  # a page may set how arrays are printed
        for printed, promised in run(page)[1]:
            assert printed == promised


def test_the_drawings_of_the_flow_graph_are_those_of_its_code():
    with np.printoptions():
        names, _ = run(FLOW_GRAPH)
    draw = names["draw"]
    assert draw(names["s"]) in [text for language, text in blocks(FLOW_GRAPH) if language == "mermaid"]
    picture = draw(names["J"], "svg", values=True, gradients=names["slopes"])
    assert picture == (ROOT / "docs" / "pictures" / "museums-in-paris.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_table_of_equations_names_places_that_exist():
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`([a-z_/]+\.py)`", text))
    assert len(paths) > 30
    assert not [path for path in paths if not any((ROOT / top / path).exists() for top in ("src/postil", "tests"))]
    for path, name in re.findall(r"`([a-z_/]+\.py)` `(\w+)", text):
        assert re.search(rf"\b{name}\b", (ROOT / "src" / "postil" / path).read_text(encoding="utf-8")), (path, name)


def settings_table() -> str:
    """The fields of TaggerConfig as a table: name, default, and the text below the field."""
    source = ast.parse(inspect.getsource(TaggerConfig)).body[0]
    rows = ["| setting | default | |", "|---|---|---|"]
    for field, following in itertools.pairwise([*source.body, ast.Pass()]):
        if isinstance(field, ast.AnnAssign):
            told = following.value.value if isinstance(following, ast.Expr) else ""
            rows.append(f"| `{field.target.id}` | `{ast.unparse(field.value)}` | {' '.join(told.split())} |")
    return "\n".join(rows) + "\n"


def test_the_table_of_settings_is_that_of_the_code():
    page = (ROOT / "docs" / "taggers.md").read_text(encoding="utf-8")
    assert settings_table() in page, f"the table of settings should be:\n{settings_table()}"

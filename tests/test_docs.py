"""The pages say what is true: their code and commands print what they show, and the places they name exist."""

import importlib
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import postil

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINKING = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FLOW_GRAPH = DOCS / "machinery" / "flow-graph.md"


def script(name: str):
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # its dataclasses look themselves up there
    specification.loader.exec_module(module)
    return module


runner, diagrams = script("run_pages"), script("draw_diagrams")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ------------------------------------------------------------------------------------------------ what pages print


def runnable(page: Path):
    return pytest.param(page, marks=[pytest.mark.extra(name) for name in runner.needs(page)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of other packages that a page imports
@pytest.mark.parametrize("page", [runnable(page) for page in runner.pages()], ids=name_of)
def test_a_page_shows_what_its_code_and_commands_print(page):
    mismatches, _, names = runner.run_page(page)
    assert not mismatches, "\n\n".join(map(str, mismatches))
    if page == FLOW_GRAPH:
        check_drawings(names)


@pytest.fixture(scope="module")
def example_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    subprocess.run([sys.executable, DOCS / "programs" / "files.py"], cwd=folder, check=True)
    return folder


def with_commands():
    """Pages with blocks of commands, those that need an extra in order to run them marked."""
    for page in [ROOT / "README.md", *PAGES]:
        blocks = runner.shell_blocks(page)
        if blocks:
            is_run = any(block.is_run for block in blocks)
            yield runnable(page) if is_run else pytest.param(page)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize("page", list(with_commands()), ids=name_of)
def test_the_commands_of_a_page_run(page, example_files):
    failures = runner.failures(runner.shell_blocks(page), example_files)
    assert not failures, "\n\n".join(failures)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_command_that_fails_is_found(tmp_path):
    page, folder = tmp_path / "page.md", tmp_path / "folder"
    (folder / "here").mkdir(parents=True)
    page.write_text(
        "```sh\ncd here\nfalse   # a comment\npostil tag nowhere.postil\npostil serve --prot 1\n```\n\n"
        "<!-- not run: it would fail -->\n```sh\nfalse\npostil tag --colunm text\npostil tag nowhere.postil\n```\n"
    )
    failures = runner.failures(runner.shell_blocks(page), folder)
    assert [failure.splitlines()[0] for failure in failures] == [
        "$ false   # a comment",
        "$ postil tag nowhere.postil",
        "$ postil serve --prot 1: wrong options",
        "$ postil tag --colunm text: wrong options",
    ]


def test_the_examples_of_the_help_have_options_that_exist():
    parser = importlib.import_module("postil.commands.parser")
    for name in [name for group in parser.GROUPS.values() for name in group]:
        lines = re.findall(r"^  postil (.*)$", parser.command_module(name).DESCRIPTION, re.MULTILINE)
        for line in [re.split(r" {2,}| [|>] ", line)[0] for line in lines]:
            command, *words = shlex.split(line)
            parser.command_parser(command).parse_args(words)


def check_drawings(names):
    draw = names["draw"]
    for picture, node, options in [
        ("score.svg", "s", {}),
        ("museums-in-paris.svg", "J", {"values": True, "gradients": names["slopes"]}),
    ]:
        assert draw(names[node], "svg", **options) == (DOCS / "images" / picture).read_text(encoding="utf-8"), picture


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_a_diagram_is_what_its_function_draws(name):
    assert diagrams.DIAGRAMS[name]() == (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("F1 95.10\n", "F1 95.3\n", True),  # another processor rounds differently
        ("F1 95.10\n", "F1 85.3\n", False),
        ("F1 95.10\n", "F2 95.10\n", False),
        ("F1 95.10\n", "score 95.10\n", False),
        ("trained in 2 s\n", "trained in 91 s\n", True),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nb\n", False),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
        ("word  +8.73  ████\n", "word +8.70 ███\n", True),
    ],
)
def test_outputs_of_commands_are_compared_up_to_times_and_rounding(shown, printed, agree):
    assert runner._agree(shown, printed) is agree


def test_a_page_that_is_out_of_date_is_found_and_rewritten(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1 + 1)\n```\n```text\n3\n```\n\n```pycon\n>>> 2 * 3\n5\n```\n\n"
        "<!-- run: echo hidden > file -->\n```console\n$ cat file\nshown\n```\n"
    )
    mismatches, text, _ = runner.run_page(page)
    assert [mismatch.printed for mismatch in mismatches] == ["2\n", ">>> 2 * 3\n6\n", "hidden\n"]
    page.write_text(text)
    assert runner.run_page(page)[0] == []


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_commands_run_whatever_the_path_of_python_is(tmp_path, monkeypatch):
    folder = tmp_path / "Zoë's $HOME; `my` Python"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    page = tmp_path / "page.md"
    page.write_text('```console\n$ python -c "print(1)" | cat\n1\n```\n')
    assert runner.run_page(page)[0] == []


def test_formulas_become_well_formed_mathml():
    mathml = script("mathml").mathml
    page = (DOCS / "machinery" / "equations.md").read_text(encoding="utf-8")
    formulas = re.findall(r"^```math\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(formulas) > 35
    for formula in formulas:
        ElementTree.fromstring(mathml(formula, display=True))
    assert mathml("W^\\top x_t").count("<msub>") == 1
    with pytest.raises(ValueError, match="unknown command"):
        mathml("\\unheard")


# ------------------------------------------------------------------------------------------------ links and places


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, by the rules of Python-Markdown."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        given = re.search(r"\{ #([\w-]+) \}$", heading)
        words = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(given[1] if given else re.sub(r"[-\s]+", "-", words))
    return found | set(re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE))


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        place = page.parent / target if target else page
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), f"{target}#{anchor}"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]
    assert sorted(re.findall(r"[\w/-]+\.md", navigation)) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_every_picture_is_shown_somewhere():
    """A picture NAME-dark.png is shown with its NAME.png (site_hooks.py)."""
    shown = {name for page in LINKING for name in re.findall(r"images/([\w.-]+)", page.read_text(encoding="utf-8"))}
    pictures = {picture.name for picture in (DOCS / "images").iterdir()}
    assert shown <= pictures
    assert not [name for name in pictures - shown if name.replace("-dark.png", ".png") not in shown - {name}]


@pytest.mark.parametrize("page", [*LINKING, ROOT / "CHANGELOG.md"], ids=name_of)
def test_paths_of_the_sources_exist(page):
    """Paths in code spans, `models/tagger.py` or `src/postil/models/`, exist."""
    tops = [ROOT, ROOT / "src" / "postil", ROOT / "tests"]
    for path in re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|c|h))?)`", page.read_text(encoding="utf-8")):
        assert any((top / path).exists() for top in tops) or path.rstrip("/") in NOT_SOURCES, path


NOT_SOURCES = {
    "build/site",
    "benchmarks/results",
    "demo-output",
    "pretraining",
    "evaluation",
    "quality",
    "annotation",
    "integrations",
    "export",
    "serving",
}


def test_pages_that_the_sources_name_exist():
    benchmarks = [path for path in (ROOT / "benchmarks").rglob("*.py") if "results" not in path.parts]  # environments
    sources = [*(ROOT / "src").rglob("*.py"), *benchmarks]
    named = {page for path in sources for page in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))}
    assert named and not [page for page in named if not (ROOT / page).exists()]


def test_the_table_of_equations_names_places_that_exist():
    text = (DOCS / "machinery" / "equations.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`([a-z_/]+\.py)`", text))
    assert len(paths) > 30
    assert not [path for path in paths if not any((ROOT / top / path).exists() for top in ("src/postil", "tests"))]
    for path, name in re.findall(r"`([a-z_/]+\.py)` `(\w+)", text):
        assert re.search(rf"\b{name}\b", (ROOT / "src" / "postil" / path).read_text(encoding="utf-8")), (path, name)


def test_code_and_tests_name_the_equations_that_they_are_listed_under():
    text = (DOCS / "machinery" / "equations.md").read_text(encoding="utf-8")
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        number = section.split()[0]
        paths = re.findall(r"`([a-z_/]+\.py)`", section)
        for top in ("src/postil", "tests"):
            files = [ROOT / top / path for path in paths if (ROOT / top / path).exists()]
            named = [file for file in files if re.search(rf"\b{number}\b", file.read_text(encoding="utf-8"))]
            assert named or number == "E11", (number, top)  # which a benchmark measures


# ------------------------------------------------------------------------------------------------ tables and reference


@pytest.mark.parametrize("name", ["commands.md", "settings.md", "../../src/postil/server/page/equations.html"])
def test_generated_pages_are_what_the_code_says(name):
    pytest.importorskip("postil.commands.parser")
    expected = script("write_reference").PAGES[name]()
    shown = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert shown == expected, f"run docs/write_reference.py, which writes docs/reference/{name}"


def test_the_error_messages_of_the_page_on_formats_are_those_of_the_code():
    page = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\|[^|]*\|$", page.partition("## Error messages")[2], re.MULTILINE)
    messages = [message.removesuffix(" …") for row in rows for message in re.findall(r"`([^`]+)`", row)]
    sources = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "postil" / "text").rglob("*.py"))
    assert len(messages) > 5
    composed = {"invalid UTF-8 at byte"}  # with the name of an encoding
    assert not [message for message in messages if message not in sources and message not in composed]


REFERENCE = sorted((DOCS / "reference").glob("*.md"))


def public_names() -> list[str]:
    """Every public name of every public package: ``postil.text.read``."""
    names = []
    for package in [name for name in postil.__all__ if inspect.ismodule(getattr(postil, name))]:
        module = getattr(postil, package)
        listed = getattr(module, "__all__", None) or [
            name for name, thing in vars(module).items() if is_own(thing, module)
        ]
        names += [f"{module.__name__}.{name}" for name in listed]
    return names


def is_own(thing: object, module: object) -> bool:
    return getattr(thing, "__module__", None) == module.__name__ and not thing.__name__.startswith("_")


def entries(text: str) -> dict[str, str]:
    """The names of a reference page, each with the code of its example: the first session after it."""
    found, waiting = {}, []
    for name, code in re.findall(r"^::: ([\w.]+)$|^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if name:
            waiting.append(name)
        else:
            found |= dict.fromkeys(waiting, code)
            waiting = []
    return found | dict.fromkeys(waiting, "")


def test_every_public_name_is_in_the_reference_with_an_example():
    found = {name: code for page in REFERENCE for name, code in entries(page.read_text(encoding="utf-8")).items()}
    assert not [name for name in public_names() if not {name, name.replace(".integrations", "")} & found.keys()]
    used = {name: re.search(rf"\b{name.rpartition('.')[2]}\b", code) for name, code in found.items()}
    lacking = [name for name, code in found.items() if not code or not (used[name] or is_class(name))]
    assert not lacking, "their example does not use them"


def is_class(name: str) -> bool:
    """The type of a result has an example that shows the result; it need not name the type."""
    last = name.rpartition(".")[2]
    return last[0].isupper() and not last.isupper()


def test_an_entry_without_an_example_is_found():
    text = "::: a.f\n\n::: a.g\n\n```pycon\n>>> f(1)\n```\n\n::: a.h\n"
    assert entries(text) == {"a.f": ">>> f(1)\n", "a.g": ">>> f(1)\n", "a.h": ""}


@pytest.mark.parametrize("page", REFERENCE, ids=name_of)
def test_only_errors_of_postil_are_shown(page):
    shown = re.findall(r"^Traceback.*\n  \.\.\.\n(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(line.startswith("postil.errors.") for line in shown), shown


# ------------------------------------------------------------------------------------------------ the site


@pytest.mark.extra("mkdocs")
def test_the_site_builds_without_a_warning_and_asks_nothing_of_the_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe)[^>]*src="([^"]*)"|<link[^>]*href="([^"]*)"', text)
        remote = [a or b for a, b in fetched if (a or b).startswith(("http:", "https:", "//"))]
        assert not remote, (page.name, remote)


@pytest.mark.extra("mkdocs")
def test_the_search_index_opens_from_a_folder(site):
    assert (site / "search" / "search_index.js").exists()  # a script, because file:// may not be fetched
    assert "span_probabilities" in (site / "search" / "search_index.js").read_text(encoding="utf-8")


def test_the_map_of_the_package_names_what_is_there():
    page = (ROOT / "docs" / "internals" / "layout.md").read_text(encoding="utf8")
    steps = re.findall(r"^ {4}([A-Za-z_.]+)(?:, (\w+))? +([\w/]+\.(?:py|c))\b", page, re.MULTILINE)
    assert len(steps) > 15
    for name, other, path in steps:
        source = (ROOT / "src" / "postil" / path).read_text(encoding="utf8")
        for part in filter(None, [*name.split("."), other]):
            definition = rf"^\s*(class|def) {part}\b|^{part}\b.*( = |: )|^\w[\w *]*\b{part}\("
            assert re.search(definition, source, re.MULTILINE), (part, path)

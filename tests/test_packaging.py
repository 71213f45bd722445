"""The files of a release: what is in them, what they are called, and the recipes that publish them."""

import json
import os
import re
import runpy
import shutil
import struct
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import postil

ROOT = Path(postil.__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "packaging").exists(), reason="the sources are not here")
WORKFLOWS = [".github/workflows/test.yml", ".github/workflows/release.yml"]
RECIPE = "packaging/conda/recipe.yaml"


def project(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def parsed(name):
    import yaml

    return yaml.safe_load((ROOT / name).read_text())


def tools(name):
    return runpy.run_path(os.fspath(ROOT / "packaging" / f"{name}.py"))


def test_the_files_that_repeat_the_version_agree():
    version = project()["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'\n  version: "{version}"\n' in (ROOT / RECIPE).read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    major, minor, _ = version.split(".")
    assert any(need.startswith(f"postil>={major}.{minor}") for need in project("postil-english")["dependencies"])


@pytest.mark.extra("yaml")
def test_the_recipe_needs_what_the_package_needs():
    recipe = parsed(RECIPE)
    needs = {need.replace(" ", "") for need in recipe["requirements"]["run"]} - {
        "python" + project()["requires-python"]
    }
    assert needs == set(project()["dependencies"])
    assert recipe["about"]["license"] == project()["license"]
    assert recipe["about"]["summary"] == project()["description"]


@pytest.mark.extra("yaml")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_have_a_major_version_and_few_rights(name):
    workflow = parsed(name)
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", [])]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", action) for action in used)
    assert "secrets." not in (ROOT / name).read_text()


@pytest.mark.extra("yaml")
def test_publishing_is_trusted_and_follows_the_tests():
    jobs = parsed(WORKFLOWS[1])["jobs"]
    assert jobs["publish"]["permissions"]["id-token"] == "write" and jobs["publish"]["needs"] == "test"
    assert jobs["test"]["uses"].removeprefix("./") in WORKFLOWS
    pipeline = parsed(".gitlab-ci.yml")
    assert pipeline["publish"]["id_tokens"]["PYPI_ID_TOKEN"] == {"aud": "pypi"}
    assert {job["stage"] for job in pipeline.values() if isinstance(job, dict) and "stage" in job} == set(
        pipeline["stages"]
    )
    assert all(job["image"] for job in pipeline.values() if isinstance(job, dict) and "image" in job), "never empty"


def test_only_distributions_are_published():
    """An index refuses bills of materials, which lie beside the wheels."""
    workflow = (ROOT / WORKFLOWS[1]).read_text()
    assert 0 < workflow.index("rm dist/*.cdx.json") < workflow.index("gh-action-pypi-publish")
    assert "twine upload --skip-existing dist/*.whl dist/*.tar.gz\n" in (ROOT / ".gitlab-ci.yml").read_text()


def test_no_file_names_a_host_of_the_real_world():
    names = [*WORKFLOWS, ".gitlab-ci.yml", RECIPE, "CITATION.cff", "SECURITY.md", "RELEASING.md", "Dockerfile"]
    for name in names:
        assert set(re.findall(r"https?://([^/\s]+)", (ROOT / name).read_text())) <= {"example.org"}, name


@pytest.mark.extra("yaml")
def test_the_citation_names_the_developers():
    citation = parsed("CITATION.cff")
    assert citation["authors"] == [{"name": "The Postil developers"}]
    assert {"cff-version", "message", "title", "version", "license"} <= citation.keys()


# ------------------------------------------------------------------------------------------------ archives and wheels


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources: a build leaves files beside them."""
    folder = tmp_path_factory.mktemp("packaging") / "sources"
    ignored = shutil.ignore_patterns("libkernels*", "_declarations.py", "*.so", "__pycache__", "*.egg-info")
    for name in ("src", "packaging"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, folder)
    return folder


def built(sources, kind):
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}('dist'))"
    environment = {**os.environ, "POSTIL_PURE": "1", "PYTHONWARNINGS": "ignore"}
    (sources / "dist").mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=sources,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return sources / "dist" / ran.stdout.split()[-1]


@pytest.fixture(scope="module")
def pure(sources):
    pytest.importorskip("setuptools")
    return built(sources, "wheel")


@pytest.mark.slow
def test_a_wheel_has_everything_that_the_package_reads(pure, sources):
    assert pure.name == f"postil-{project()['version']}-py3-none-any.whl"
    with zipfile.ZipFile(pure) as wheel:
        names = set(wheel.namelist())
    package = sources / "src" / "postil"
    files = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    assert files - names == set()
    assert not [name for name in names if "libkernels" in name or name.endswith(".pyc")]


@pytest.mark.slow
def test_the_source_archive_has_what_a_build_needs(sources):
    pytest.importorskip("setuptools")
    with tarfile.open(built(sources, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kernels = {f"src/postil/kernels/{path.name}" for path in (ROOT / "src/postil/kernels").glob("*.[ch]")}
    kernels -= {"src/postil/kernels/prototypes.h"}  # the build makes it
    programs = {f"packaging/{path.name}" for path in (ROOT / "packaging").glob("*.*") if path.is_file()}
    programs |= {"packaging/kernels/build.py", "packaging/kernels/table.py"}
    assert kernels | programs | {"setup.py", "pyproject.toml", "LICENSE"} <= names
    assert not [name for name in names if "libkernels" in name or name.endswith(("_declarations.py", ".pyc"))]


def test_every_part_of_others_is_in_the_notice():
    """What a build puts into the package without a source here: name it in NOTICE.txt, with its licence."""
    listed = subprocess.run(["git", "ls-files", "src/postil"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone")
    binary = {name for name in listed.stdout.split() if name.endswith((".bin", ".wasm", ".woff2", ".ttf", ".png"))}
    notice = (ROOT / "src/postil/export/NOTICE.txt").read_text("utf-8")
    assert {Path(name).name for name in binary} == {
        *"characters.bin programs.bin postil.wasm postil-simd.wasm trainer.wasm".split()
    }
    assert all(Path(name).name in notice for name in binary)


@pytest.mark.slow
def test_licences_are_in_the_wheel_and_in_the_source_archive(pure, sources):
    notice = (ROOT / "src/postil/export/NOTICE.txt").read_bytes()
    with zipfile.ZipFile(pure) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/licenses/" in name]
        assert {wheel.read(name) for name in names} == {notice, (ROOT / "LICENSE").read_bytes()}
    with tarfile.open(built(sources, "sdist")) as archive:
        assert {"LICENSE", "src/postil/export/NOTICE.txt"} <= {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture
def epoch(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def test_a_bill_of_materials_names_what_is_needed_and_what_is_contained(epoch):
    bill = json.loads(tools("sbom")["sbom"](ROOT))
    parts = {part["name"]: part for part in bill["components"]}
    needs = {re.split("[<>=]", need)[0] for need in project()["dependencies"]}
    assert needs <= set(parts)
    licences = {name: part["licenses"][0]["license"]["id"] for name, part in parts.items() if name not in needs}
    assert licences["Unicode Character Database"] == "Unicode-3.0" and licences["wasi-libc"] == "MIT"
    assert {*licences.values(), "MIT"} == set(project()["license"].split(" AND "))
    english = json.loads(tools("sbom")["sbom"](ROOT / "postil-english"))
    assert {"postil", "WikiGold", "GloVe 6B 50d"} <= {part["name"] for part in english["components"]}


@pytest.mark.slow
def test_wheels_contain_the_bill_of_materials(pure, tmp_path, epoch):
    pytest.importorskip("cffi")
    wheel = Path(shutil.copy(pure, tmp_path))
    tools("build_wheels")["with_bill"](wheel, ROOT)
    assert tools("check_wheels")["wheel_problems"](wheel) == []
    stem = f"postil-{project()['version']}"
    bill = (tmp_path / f"{stem}.cdx.json").read_bytes()
    platform = tools("build_wheels")["PLATFORMS"][0]
    for path in (wheel, platform_wheel(wheel, platform, tmp_path)):
        with zipfile.ZipFile(path) as archive:
            assert archive.read(f"{stem}.dist-info/sboms/postil.cdx.json") == bill


@pytest.mark.extra("cyclonedx")
@pytest.mark.parametrize("folder", [".", "postil-english", "languages/postil-danish"])
def test_a_bill_of_materials_is_valid(epoch, folder):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    bill = tools("sbom")["sbom"](ROOT / folder).decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.replace('"library"', '"cake"')) is not None


def fake_library(system, machine):
    """The first bytes of a library of another platform, and the name of a function."""
    number = tools("check_wheels")["PROCESSORS"][system, machine]
    if system == "linux":
        start = b"\x7fELF" + bytes(14) + struct.pack("<H", number)
    elif system == "darwin":
        start = struct.pack("<II", 0xFEEDFACF, number)
    else:
        start = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", number)
    return start + b"\0instruction_set\0"


def platform_wheel(pure, platform, folder, machine=None):
    """A platform's wheel with libraries that are nothing but their first bytes."""
    build = runpy.run_path(os.fspath(ROOT / "packaging/kernels/build.py"))
    files = [folder / build["file_name"](level, platform.system) for level in build["levels"](platform.machine)]
    for path in files:
        path.write_bytes(fake_library(platform.system, machine or platform.machine))
    (folder / "_declarations.py").write_text("")
    return tools("build_wheels")["platform_wheel"](pure, platform.tag, [*files, folder / "_declarations.py"])


@pytest.mark.slow
def test_wheels_of_all_platforms_are_made_from_the_pure_one(pure, tmp_path, monkeypatch):
    pytest.importorskip("cffi")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    problems = tools("check_wheels")["wheel_problems"]
    assert problems(pure) == []
    platforms = tools("build_wheels")["PLATFORMS"]
    assert len({platform.tag for platform in platforms}) == 8
    for platform in platforms:
        wheel = platform_wheel(pure, platform, tmp_path)
        assert problems(wheel) == [], wheel.name
        first = wheel.read_bytes()
        assert platform_wheel(pure, platform, tmp_path).read_bytes() == first  # the same sources, the same bytes


def test_a_library_of_another_processor_is_found(pure, tmp_path, monkeypatch):
    pytest.importorskip("cffi")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    platform = tools("build_wheels")["PLATFORMS"][1]
    wheel = platform_wheel(pure, platform, tmp_path, machine="x86_64")
    found = tools("check_wheels")["wheel_problems"](wheel)
    assert found == ["postil/kernels/libkernels-baseline.so: another processor"]


def test_a_library_without_functions_is_found(pure, tmp_path, monkeypatch):
    pytest.importorskip("cffi")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    platform = tools("build_wheels")["PLATFORMS"][-1]
    monkeypatch.setitem(globals(), "fake_library", lambda *of, full=fake_library: full(*of).removesuffix(b"_set\0"))
    found = tools("check_wheels")["wheel_problems"](platform_wheel(pure, platform, tmp_path))
    assert found == ["postil/kernels/libkernels-baseline.dll: exports nothing"]


def test_a_changed_file_is_found(pure, tmp_path):
    pytest.importorskip("cffi")
    changed = tmp_path / pure.name
    with zipfile.ZipFile(pure) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + b"#" * name.endswith("/lazy.py"))
        new.writestr("postil/other.py", "")
    found = tools("check_wheels")["wheel_problems"](changed)
    assert sorted(found) == ["postil/lazy.py: wrong checksum", "postil/other.py: not in RECORD"]


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform == "win32", reason="no C compiler")
def test_the_conformance_program_accepts_the_library_and_nothing_else(tmp_path):
    folder = ROOT / "src/postil/kernels"
    library = next(folder.glob("libkernels-baseline.*"), None)
    if library is None:
        pytest.skip("the kernels were not compiled here")
    checksum = runpy.run_path(os.fspath(ROOT / "packaging/kernels/build.py"))["interface"]()
    for number, accepted in ((checksum, True), (checksum + 1, False)):
        flags = [
            "-std=gnu99",
            f"-I{folder}",
            f"-DPOSTIL_INTERFACE={number}",
            os.fspath(ROOT / "packaging/conformance.c"),
        ]
        subprocess.run(["cc", *flags, "-o", os.fspath(tmp_path / "conformance"), "-ldl"], check=True, timeout=120)
        ran = subprocess.run(
            [tmp_path / "conformance", library], capture_output=True, text=True, check=False, timeout=60
        )
        assert (ran.returncode == 0) == accepted, ran.stdout
        assert ran.stdout.endswith("ok\n" if accepted else "wrong\n")


def test_the_entry_point_is_the_command():
    assert json.dumps(project()["scripts"]) == '{"postil": "postil.commands.main:main"}'

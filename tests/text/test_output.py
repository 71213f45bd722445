"""Files are replaced as a whole or not at all."""

from pathlib import Path

import pytest

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.formats import write
from postil.text.output import write_text

SENTENCES = [Sentence(["Oslo", "is"], ["B-LOC", "O"]), Sentence(["far"], ["O"])]


def test_packed_files_repeat(tmp_path: Path) -> None:
    write(SENTENCES, tmp_path / "a.conll.gz")
    write(SENTENCES, tmp_path / "b.conll.gz")
    assert (tmp_path / "a.conll.gz").read_bytes() == (tmp_path / "b.conll.gz").read_bytes()


def test_a_failed_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("old")
    with pytest.raises(DataError):
        write([*SENTENCES, Sentence(["\n"], ["X"])], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "real.conll").touch()
    link = tmp_path / "link.conll"
    link.symlink_to(tmp_path / "real.conll")
    write(SENTENCES, link)
    assert link.is_symlink()
    assert (tmp_path / "real.conll").read_text().startswith("Oslo")
    write(SENTENCES, "/dev/null", "conll")
    assert Path("/dev/null").is_char_device()


def test_the_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_text(tmp_path / "missing" / "a.txt", ["a"])
    assert caught.value.filename == str(tmp_path / "missing" / "a.txt")


def test_an_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> object:
        yield "a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "a.txt.gz", pieces())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_many_pieces(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", ("é" * 1000 for _ in range(1000)))
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "é" * 1_000_000


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(0o640)
    write_text(path, ["a"])
    assert path.stat().st_mode & 0o777 == 0o640

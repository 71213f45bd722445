"""Files are written whole or not at all, whatever happens meanwhile, and errors name them."""

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from postil import files


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_there_when_the_block_has_ended(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with files.replaced(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and names_in(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(error), files.replaced(path) as stream:
        stream.write(b"new")
        raise error
    assert path.read_bytes() == b"old" and names_in(tmp_path) == ["a"]


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    for name in (".a.0123abcd.partial", ".b.0123abcd.partial", "a.partial", ".a.conll"):
        (tmp_path / name).touch()
    with files._partial_file(tmp_path / "a", tmp_path / "a") as (living, _):
        files.remove_abandoned(tmp_path / "a")
        assert names_in(tmp_path) == sorted([".b.0123abcd.partial", "a.partial", ".a.conll", living.name])


def test_a_link_stays_a_link_and_its_abandoned_files_are_removed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "a")
    (tmp_path / "folder" / ".a.0123abcd.partial").touch()
    with files.replaced(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink() and names_in(tmp_path / "folder") == ["a"]


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, files.replaced(tmp_path / "none" / "a"):
        pass
    assert caught.value.filename == str(tmp_path / "none" / "a")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as caught, files.replaced(tmp_path / "folder"):
        pass
    assert caught.value.filename == str(tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


def test_errors_of_the_block_keep_their_own_names(tmp_path):
    with pytest.raises(OSError, match="input") as caught, files.replaced(tmp_path / "a"):
        raise OSError(errno.EIO, "input/output error", "another")
    assert caught.value.filename == "another"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), files.replaced("/dev/full") as stream:
        stream.write(b"a")


LIMITED = """
import resource, sys
from postil import files
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    if sys.argv[1] == "replace":
        with files.replaced(sys.argv[2]) as stream:
            stream.write(bytes(100_000))
    else:
        for _ in range(1000):
            files.append_line(sys.argv[2], "a" * 99)
except OSError as error:
    print(error.filename, error.strerror)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of this kind")
@pytest.mark.parametrize("how", ["replace", "append"])
def test_a_file_that_becomes_too_large_is_named_and_leaves_nothing_half_done(tmp_path, how):
    path = tmp_path / "a"
    path.write_bytes(b"old\n")
    done = subprocess.run([sys.executable, "-c", LIMITED, how, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} File too large\n" and done.stderr == ""
    lines = path.read_text().split("\n")
    assert lines == (["old", ""] if how == "replace" else ["old", *["a" * 99] * 49, ""])
    assert names_in(tmp_path) == ["a"]


def test_a_line_is_added_after_an_unfinished_one(tmp_path):
    path = tmp_path / "log"
    for content, expected in ((None, b"x\n"), (b"", b"x\n"), (b"a\n", b"a\nx\n"), (b'{"ep', b'{"ep\nx\n')):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        files.append_line(path, "x")
        assert path.read_bytes() == expected


WRITE_FOR_EVER = """
import itertools, json, sys
from postil import files
for number in itertools.count():
    with files.replaced(sys.argv[1]) as stream:
        for _ in range(20):
            stream.write(json.dumps([number] * 5000).encode() + b"\\n")
    print(number, flush=True)
"""


def test_killed_while_writing(tmp_path):
    path = tmp_path / "a"
    for delay in (0.0, 0.004, 0.009, 0.021):
        command = [sys.executable, "-c", WRITE_FOR_EVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        numbers = set(itertools.chain.from_iterable(map(json.loads, path.read_text().splitlines())))
        assert len(numbers) == 1
    files.remove_abandoned(path)
    assert names_in(tmp_path) == ["a"]
    assert os.access(path, os.W_OK)


# ------------------------------------------------------------------------------------------------ held alone


def holding(path):
    """A process that holds a file until it is killed, or its standard input ends."""
    held = "with files.held_alone(sys.argv[1]): print('in', flush=True), sys.stdin.read()"
    script = f"import sys; from postil import files\n{held}"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "in\n"
    return process


@pytest.mark.parametrize("end", ["kill", "leave"])
def test_one_process_at_a_time_holds_a_file(tmp_path, end):
    path = tmp_path / "a"
    with holding(path) as process:
        with pytest.raises(BlockingIOError, match="another process uses this file") as error, files.held_alone(path):
            pass
        assert error.value.filename == str(path)
        link = tmp_path / "link"
        link.symlink_to(path)
        with pytest.raises(BlockingIOError), files.held_alone(link):
            pass
        process.kill() if end == "kill" else process.stdin.close()
        process.wait(30)
    with files.held_alone(path):
        pass
    assert names_in(tmp_path) == ["link"], "the lock leaves nothing behind"


def test_a_lock_that_was_removed_meanwhile_is_none(tmp_path, monkeypatch):
    path, lock = tmp_path / "a", files._lock
    removed = []

    def late(file, **how):
        if not removed:  # between opening and locking, the one who held it ends
            removed.append(True)
            (tmp_path / ".a.lock").unlink()
        return lock(file, **how)

    monkeypatch.setattr(files, "_lock", late)
    with files.held_alone(path):
        assert (tmp_path / ".a.lock").exists()
        with pytest.raises(BlockingIOError), files.held_alone(path):
            pass


def test_errors_inside_of_the_block_are_left_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError) as error, files.held_alone(tmp_path / "a"):
        (tmp_path / "other").open()
    assert error.value.filename == str(tmp_path / "other")


def test_an_appended_line_reaches_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((tmp_path / "a").read_bytes()))
    files.append_line(tmp_path / "a", "x")
    files.append_line(tmp_path / "a", "y", sync=True)
    assert synced == [b"x\ny\n"]

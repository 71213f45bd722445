"""A real Ray on this machine with two workers: every row once and as one process says, whatever is killed."""

import gc
import inspect
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.integrations import ray as integration

pytestmark = [
    pytest.mark.extra("ray"),
    pytest.mark.filterwarnings("default"),  # Ray and what it imports warn of each other
]
FILES, ROWS, GROUP = 4, 120, 30
PARTS = FILES * ROWS // GROUP
SOURCES = str(Path(postil.__file__).parent.parent)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = SOURCES  # the workers use these sources
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Cores are a promise to Ray's scheduler: a third one lets a checkpoint's filter run beside a reader and a worker.
    options = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    for attempt in range(4):
        try:
            ray.init(num_cpus=4, object_store_memory=200e6, **options)
            break
        except Exception as error:  # Ray waits half a minute for its own processes, which a loaded machine exceeds
            if attempt == 3 or "timed out during startup" not in str(error):
                raise
        ray.shutdown()
        with warnings.catch_warnings(action="ignore"):  # the processes of the attempt
            gc.collect()
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()
    os.environ.pop("PYTHONPATH")
    os.environ.update({} if before is None else {"PYTHONPATH": before})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of Parquet files with texts, a null and an empty one in each file."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("data")
    texts = [" ".join(tokens) + "." for tokens in named_entities(FILES * ROWS, seed=3)[0]]
    for i in range(FILES):
        rows = texts[i * ROWS : (i + 1) * ROWS]
        rows[5:7] = [None, ""]
        table = pa.table({"number": range(i * ROWS, (i + 1) * ROWS), "text": rows})
        parquet.write_table(table, folder / f"{i}.parquet", row_group_size=GROUP)
    return folder


def expected_rows(data, model):
    """What one process says about every row."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(data)
    return rounded(table.append_column("entities", postil.arrow.tag(table["text"], model)).to_pylist())


def rounded(rows):
    """Spans and labels as they are, probabilities to five digits: sums in batches of other sizes round differently."""
    for entity in (entity for row in rows for entity in row["entities"] or ()):
        entity["probability"] = pytest.approx(entity["probability"], abs=1e-5)
    return rows


def rows_of(folder):
    import pyarrow.parquet as parquet

    return sorted(parquet.read_table(folder).to_pylist(), key=lambda row: row["number"])


# ------------------------------------------------------------------------------------------------ datasets


def test_a_dataset_is_tagged_as_by_one_process(ray, data, names_model):
    """With a model from the object store; the other tests pass the path."""
    tagged = postil.ray.tag_dataset(ray.data.read_parquet(str(data)), postil.load(names_model), batch_size=50)
    rows = sorted(tagged.take_all(), key=lambda row: row["number"])
    expected = expected_rows(data, names_model)
    assert rows == expected
    assert rows[5]["entities"] is None and rows[6]["entities"] == []
    assert sum(len(row["entities"] or ()) for row in rows) > ROWS


def test_the_model_is_not_in_what_is_pickled(ray, names_model):
    size = names_model.stat().st_size
    for model, ship in ((names_model, False), (names_model, True), (postil.load(names_model), False)):
        travelling, job = integration._job(ray, model, ship, "text", None, None, "characters", None)
        assert len(ray.cloudpickle.dumps((travelling, job))) < 4000 < size
        assert (
            travelling.sha256
            == integration._job(ray, names_model, False, "text", None, None, "characters", None)[0].sha256
        )


def test_a_worker_refuses_another_model_file(ray, names_model, tmp_path):
    copy = tmp_path / "names.postil"
    copy.write_bytes(names_model.read_bytes())
    travelling, _ = integration._job(ray, copy, False, "text", None, None, "characters", None)
    travelling.opened()
    copy.write_bytes(names_model.read_bytes() + b" ")
    with pytest.raises(ModelFileError, match="another model file than the driver's"):
        travelling.opened()
    copy.unlink()
    with pytest.raises(ModelFileError, match="ship=True"):
        travelling.opened()


def test_the_checkpoint_of_ray_leaves_out_rows_that_are_written(ray, data, names_model, tmp_path):
    """`CheckpointConfig` with a unique column, of a job that ended after two of four files."""
    import pyarrow as pa
    import pyarrow.parquet as parquet
    from ray.data.checkpoint import CheckpointConfig

    (tmp_path / "checkpoint").mkdir()
    parquet.write_table(pa.table({"number": range(2 * ROWS)}), tmp_path / "checkpoint" / "done.parquet")
    context = ray.data.DataContext.get_current()
    context.checkpoint_config = CheckpointConfig("number", str(tmp_path / "checkpoint"))
    try:
        ds = postil.ray.tag_dataset(ray.data.read_parquet(str(data)), names_model, workers=1)
        ds.write_parquet(str(tmp_path / "out"))
    finally:
        context.checkpoint_config = None
    assert rows_of(tmp_path / "out") == expected_rows(data, names_model)[2 * ROWS :]


# ------------------------------------------------------------------------------------------------ folders of parts


def test_files_become_parts_in_order_and_are_not_done_twice(ray, data, names_model, tmp_path):
    out, seen = tmp_path / "out", []
    done = postil.ray.tag_files(
        data / "*.parquet", names_model, out, part_rows=50, workers=2, progress=lambda *counts: seen.append(counts)
    )
    assert (done.rows, done.parts, done.done_before) == (FILES * ROWS, 8, 0)
    assert seen == [(i, 8) for i in range(1, 9)]
    names = sorted(path.name for path in out.glob("*.parquet"))
    assert names[:3] == ["part-00000-00000.parquet", "part-00000-00002.parquet", "part-00001-00000.parquet"]
    import pyarrow.parquet as parquet

    assert [row for name in names for row in parquet.read_table(out / name).to_pylist()] == expected_rows(
        data, names_model
    )
    stamps = {name: (out / name).stat().st_mtime_ns for name in names}
    (out / names[3]).unlink()
    again = postil.ray.tag_files(data, names_model, out, part_rows=50, workers=2)
    assert (again.rows, again.parts, again.done_before) == (2 * GROUP, 1, 7)
    written = {name for name in names if (out / name).stat().st_mtime_ns != stamps[name]}
    assert written == {names[3]}
    assert rows_of(out) == expected_rows(data, names_model)


def test_mistakes_are_told_in_one_line(ray, data, names_model, tmp_path):
    tag = postil.ray.tag_files
    with pytest.raises(DataError, match=r"no such Parquet file \('.*nothing.*'\)"):
        tag(tmp_path / "nothing*.parquet", names_model, tmp_path / "a")
    with pytest.raises(ConfigurationError, match="workers must be at least 1"):
        tag(data, names_model, tmp_path / "b", workers=0)
    tag(data / "0.parquet", names_model, tmp_path / "c", workers=1)
    with pytest.raises(ConfigurationError, match=r"another job: expected a new folder, or threshold None, got 0\.5"):
        tag(data / "0.parquet", names_model, tmp_path / "c", threshold=0.5)


def test_a_part_that_cannot_be_read_is_an_error_of_one_line(ray, data, names_model, tmp_path):
    """The footer is right, the data are not: found by a worker."""
    whole = (data / "0.parquet").read_bytes()
    (tmp_path / "damaged.parquet").write_bytes(whole[:4] + b"\xff" * 600 + whole[604:])
    with pytest.raises(DataError, match=r"damaged\.parquet: cannot read the Parquet file"):
        postil.ray.tag_files(tmp_path / "damaged.parquet", names_model, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.parquet"))


class SlowWorker(integration._TagParts):
    """Half of the time in the middle of writing a part."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._tag_at_once, self._tagged = self._tagged, self._tag_slowly

    def _tag_slowly(self, table):
        time.sleep(0.3)
        return self._tag_at_once(table)


@pytest.fixture
def slow(ray, monkeypatch):
    module = sys.modules[SlowWorker.__module__]
    ray.cloudpickle.register_pickle_by_value(module)  # workers cannot import tests
    monkeypatch.setattr(integration, "_TagParts", SlowWorker)
    yield
    ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.extra("psutil")
def test_a_worker_killed_in_the_middle_changes_nothing(slow, data, names_model, tmp_path):
    import psutil

    killed = []

    def kill_one(done, number):
        """As the system does when memory is short."""
        if done == 3 and not killed:
            workers = [p for p in psutil.process_iter(["cmdline"]) if "SlowWorker" in " ".join(p.info["cmdline"] or ())]
            killed.extend(workers[:1])
            killed[0].send_signal(signal.SIGKILL)

    done = postil.ray.tag_files(data, names_model, tmp_path / "out", part_rows=1, workers=2, progress=kill_one)
    assert killed and (done.parts, done.rows) == (PARTS, FILES * ROWS)
    assert rows_of(tmp_path / "out") == expected_rows(data, names_model)
    assert not list((tmp_path / "out").glob(".*"))


DRIVER = """
import sys, ray, postil
from tests_of_ray import SlowWorker
from postil.integrations import ray as integration
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100e6, logging_level="ERROR", log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
integration._TagParts = SlowWorker
postil.ray.tag_files(sys.argv[1], sys.argv[2], sys.argv[3], part_rows=1)
"""


def test_a_killed_driver_is_continued(ray, data, names_model, tmp_path):
    out, module = tmp_path / "out", tmp_path / "tests_of_ray.py"
    imports = "import time\nfrom postil.integrations import ray as integration\n\n"
    module.write_text(imports + inspect.getsource(SlowWorker))
    command = [sys.executable, "-c", DRIVER, str(data), str(names_model), str(out)]
    environment = os.environ | {"PYTHONPATH": f"{SOURCES}{os.pathsep}{tmp_path}"}
    environment.pop("RAY_ADDRESS", None)
    with (tmp_path / "log").open("w") as log:
        driver = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    until = time.monotonic() + 100
    while len(list(out.glob("*.parquet"))) < 2:
        assert driver.poll() is None and time.monotonic() < until, (tmp_path / "log").read_text()
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    time.sleep(1)  # its workers see that it is gone
    there = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(there) < PARTS, "the driver was killed too late to show anything"
    done = postil.ray.tag_files(data, names_model, out, part_rows=1, workers=2)
    assert (done.parts, done.done_before) == (PARTS - len(there), len(there))
    assert all((out / name).stat().st_mtime_ns == stamp for name, stamp in there.items())
    assert rows_of(out) == expected_rows(data, names_model)
    assert not list(out.glob(".*"))


# ------------------------------------------------------------------------------------------------ searches


def test_a_search_runs_on_ray(ray):
    import joblib
    from ray.util.joblib import register_ray
    from sklearn.model_selection import GridSearchCV

    X, y = named_entities(40)
    search = GridSearchCV(postil.Tagger(epochs=2, hidden=8), {"rate": [0.0001, 0.02]}, cv=2, n_jobs=2)
    register_ray()
    with joblib.parallel_backend("ray"):
        search.fit(X, y)
    alone = GridSearchCV(postil.Tagger(epochs=2, hidden=8), {"rate": [0.0001, 0.02]}, cv=2).fit(X, y)
    assert search.best_params_ == alone.best_params_ == {"rate": 0.02}
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


# ------------------------------------------------------------------------------------------------ the page


def test_the_page_shows_what_its_code_prints(ray, tmp_path, monkeypatch, capsys):
    """Not by docs/run_pages.py, which runs without extras."""
    page = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "ray.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```py\n(.*?)^```\n```text\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == page.count("```py\n") == 3
    names = {"__name__": "page"}
    for code, shown in blocks[:2]:  # the third is what test_a_search_runs_on_ray runs
        exec(code, names)
        assert capsys.readouterr().out == shown


def test_folds_go_through_joblib_to_ray(ray):
    import joblib
    from ray.util.joblib import register_ray

    X, y = named_entities(40)
    tagger = postil.Tagger(hidden=8, epochs=2, rate=0.02)
    here = postil.crossval(tagger, X, y, folds=2)
    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert postil.crossval(tagger, X, y, folds=2, threads=2).predictions == here.predictions

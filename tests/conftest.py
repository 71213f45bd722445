"""Settings of all tests: one BLAS thread per process, isolation, profiles of Hypothesis, what needs an extra."""

import importlib.util
import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

import isolation

# Several processes test side by side: matrix products on all cores in each of them would only fight. NumPy reads these
# when it is first imported, which nothing above does.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_variable] = "1"

isolation.watch()

# A time limit per example, or for making examples, says something about the machine, not about the code.
settings.register_profile("postil", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run: what is red there is red because of the change.
settings.register_profile("ci", parent=settings.get_profile("postil"), derandomize=True)
# Before a release: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", parent=settings.get_profile("postil"), max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else "postil")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without what it needs a test marked ``extra`` is skipped; under ``make test-all`` it fails."""
    for marker in item.iter_markers("extra"):
        if not any(importlib.util.find_spec(name) or shutil.which(name) for name in marker.args):
            told = f"needs {' or '.join(marker.args)}; `make test-all` installs the Python packages"
            (pytest.fail if os.environ.get("POSTIL_EXTRAS") == "required" else pytest.skip)(told)

"""Everything differentiable, checked from one list."""

import pytest

from postil.gradients.checks import PRESET_EQUATIONS, gradient_checks
from postil.models.config import PRESETS, configured

CHECKS = gradient_checks()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_gradient(check):
    report = check.run()
    assert report.passed, report.failures
    assert report.checked > 0
    assert report.worst_error <= 1e-6


def test_every_preset_of_a_tagger_has_a_row():
    assert set(PRESET_EQUATIONS) == {name for name in PRESETS if configured(name, {}).objective != "margin"}


def test_names_are_distinct_and_equations_are_named():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.equations for check in CHECKS)

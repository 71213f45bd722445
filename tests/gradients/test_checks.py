"""Everything differentiable, checked from one list of which no row can go without being missed."""

from collections import Counter

import pytest

from postil.gradients.checks import gradient_checks
from postil.gradients.requirements import gaps, required

CHECKS = gradient_checks()
REQUIRED = required()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_gradient(check):
    report = check.run()
    assert report.passed, report.failures
    assert report.checked > 0
    assert report.worst_error <= 1e-6


def test_everything_differentiable_is_checked():
    assert not gaps(CHECKS)


def test_every_requirement_is_covered_by_one_row():
    rows = Counter(name for check in CHECKS for name in check.covers)
    assert rows == Counter(list(REQUIRED))
    assert all(check.covers for check in CHECKS)


def test_a_row_that_is_removed_leaves_exactly_its_gap():
    for i, check in enumerate(CHECKS):
        others = CHECKS[:i] + CHECKS[i + 1 :]
        assert gaps(others, REQUIRED) == [name for name in REQUIRED if name in check.covers], check.name


def test_names_are_distinct_and_equations_are_named():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.equations for check in CHECKS)

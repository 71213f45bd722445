"""Names of optimisers and schedules, which are written down apart from them."""

from postil.training import OPTIMISERS, SCHEDULES
from postil.training.names import OPTIMISER_NAMES, SCHEDULE_NAMES


def test_every_optimiser_and_schedule_is_named():
    assert tuple(OPTIMISERS) == OPTIMISER_NAMES
    assert tuple(SCHEDULES) == SCHEDULE_NAMES

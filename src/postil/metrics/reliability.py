"""How well the probabilities of a model agree with the truth, before and after calibration."""

from dataclasses import dataclass
from typing import Any, final

from postil.metrics.calibration import Calibration


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Reliability:
    """The calibration of the network's probabilities and of the calibrated ones; equal without calibration."""

    before: Calibration
    after: Calibration
    temperature: float
    shift: float

    @property
    def is_calibrated(self) -> bool:
        return self.temperature != 1 or bool(self.shift)

    def to_dict(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "shift": self.shift,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

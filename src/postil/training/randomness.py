"""The state of a random generator as plain text, so that a training can stop and go on with the same bits."""

import json

import numpy as np

from postil.errors import ConfigurationError


def generator_state(rng: np.random.Generator) -> str:
    """Everything the generator remembers, as JSON."""
    return json.dumps(
        rng.bit_generator.state, default=lambda value: {"array": value.tolist(), "dtype": str(value.dtype)}
    )


def restored_generator(state: str) -> np.random.Generator:
    """A generator that goes on exactly where ``generator_state`` was taken."""
    try:
        values = json.loads(state, object_hook=_with_arrays)
        kind = getattr(np.random, values["bit_generator"])
        bits = kind()
        bits.state = values
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            "state of a random generator", expected="what generator_state gave", got=error
        ) from None
    return np.random.Generator(bits)


def _with_arrays(values: dict[str, object]) -> object:
    return np.array(values["array"], str(values["dtype"])) if set(values) == {"array", "dtype"} else values

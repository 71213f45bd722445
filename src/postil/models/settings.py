"""What the configs of all kinds of models share: fields that check themselves, their descriptions, and their form on a
command line; and the value of a hyperparameter that is not set."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Final, get_args, get_type_hints

import numpy as np

from postil.errors import ConfigurationError, similar


class Unset(Enum):
    """The type of UNSET. A member of an enumeration stays itself when it is copied or pickled."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""The value of a hyperparameter that is not set: that of the preset is used. None means "adapt to the data"."""


@cache
def descriptions(config: type) -> Mapping[str, str]:
    """The text below each field of a config, by name. They stand in the source only, which is read on request."""
    import ast
    import inspect

    body = ast.parse(inspect.getsource(config)).body[0]
    texts: dict[str, str] = {}
    for statement, following in pairwise([*getattr(body, "body", ()), ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = following.value if isinstance(following, ast.Expr) else None
            text = value.value if isinstance(value, ast.Constant) else ""
            texts[statement.target.id] = " ".join(str(text).split())
    return texts


def check_fields(config: Any, choices: Mapping[str, Any], limits: Mapping[str, tuple[float, float]]) -> None:
    """Bring every field of a frozen dataclass to its plain type, and refuse what is not possible."""
    for name, hint in get_type_hints(type(config)).items():
        object.__setattr__(config, name, of_type(name, getattr(config, name), hint))
    for name, known in choices.items():
        one_of(name, getattr(config, name), known)
    for name, (smallest, largest) in limits.items():
        within(name, getattr(config, name), smallest, largest)


def check_positive(config: Any, *names: str) -> None:
    for name in names:
        if getattr(config, name) is not None and not 0 < getattr(config, name) < math.inf:
            raise ConfigurationError(name, expected="a positive number", got=getattr(config, name))


def check_known(config: type, settings: Mapping[str, Any]) -> None:
    """Refuse settings that are no fields of a config."""
    check_names(settings, [field.name for field in fields(config)])


def check_names(settings: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are not among the known ones, and suggest one that is close."""
    known = list(known)
    for name in settings:
        if name not in known:
            raise _unknown(name, known)


# What settings are called in scikit-learn, spaCy and PyTorch.
_ELSEWHERE = {
    "random_state": "seed",
    "n_jobs": "threads",
    "max_iter": "epochs",
    "n_epochs": "epochs",
    "max_epochs": "epochs",
    "num_epochs": "epochs",
    "learning_rate": "rate",
    "learning_rate_init": "rate",
    "lr": "rate",
    "batch_size": "batch_sentences",
    "hidden_size": "hidden",
    "hidden_layer_sizes": "hidden",
    "dropout": "hidden_dropout",
    "embedding_dim": "word_dim",
    "optimizer": "optimiser",
    "solver": "optimiser",
    "alpha": "l2",
    "weight_decay": "l2",
    "c2": "l2",
    "n_iter_no_change": "patience",
    "max_grad_norm": "clip",
}


def _unknown(name: str, known: Iterable[str]) -> ConfigurationError:
    if name == "verbose":
        return ConfigurationError("unknown setting 'verbose'", expected="verbose=True as an argument of fit")
    if (ours := _ELSEWHERE.get(name, "")) in known:
        return ConfigurationError(f"unknown setting {name!r}, it is called {ours!r} here")
    hint = similar(name, known)
    expected = None if hint else f"one of {', '.join(sorted(known))}"
    return ConfigurationError(f"unknown setting {name!r}{hint}", expected=expected)


def parsed(text: str, config: type) -> tuple[str, Any]:
    """``name=value`` of the command line, with the value in the type of that field of a config."""
    name, equals, value = text.partition("=")
    hints = get_type_hints(config)
    if not equals:
        raise ConfigurationError("setting", expected="NAME=VALUE", got=repr(text))
    if name not in hints:
        raise _unknown(name, hints)
    return name, _parsed(name, value, hints[name])


def _parsed(name: str, value: str, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    if value.lower() in ("none", "auto") and type(None) in kinds:
        return None
    try:
        if bool in kinds:
            return {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}[value.lower()]
        if Ellipsis in kinds:  # tuple[int, ...]
            return tuple(int(part) for part in value.split(",") if part)
        kind = next(kind for kind in kinds if kind is not type(None))
        return kind(value)
    except (KeyError, ValueError):
        expected = _PLAIN_NAMES[kinds[0]] if Ellipsis not in kinds else "whole numbers with commas between"
        raise ConfigurationError(f"setting {name}", expected=expected, got=repr(value)) from None


ADAPTIVE = (
    *("min_count", "input_dropout", "hidden_dropout", "batch_sentences", "epochs", "shards", "rate"),
    "batch_trees",
)
"""Settings whose None adapts to the training data; None of another one switches it off."""


def spelt(name: str, value: Any) -> str:
    """The value of a setting as ``parsed`` takes it: None is ``auto`` if it adapts to the data, else ``none``."""
    if value is None:
        return "auto" if name in ADAPTIVE else "none"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def one_of(name: str, value: Any, known: Any) -> None:
    if value not in known:
        raise ConfigurationError(name, expected=f"one of {', '.join(map(str, known))}", got=repr(value))


_OPEN = 10**9
"""A limit from which on a message does not name it: nobody reaches it by mistake."""


def within(name: str, value: float | None, smallest: float, largest: float) -> None:
    if value is not None and not smallest <= value <= largest:
        is_open = value < smallest and largest >= _OPEN
        expected = f"at least {smallest}" if is_open else f"{smallest} to {largest}"
        raise ConfigurationError(name, expected=expected, got=value)


def of_type(name: str, value: Any, hint: Any) -> Any:
    """The value in the field's own plain type: a NumPy number becomes a number, a list a tuple."""
    kinds = get_args(hint) or (hint,)
    if value is None and type(None) in kinds:
        return None
    kind = next(kind for kind in kinds if kind is not type(None))
    if Ellipsis in kinds and isinstance(value, list | tuple):
        return tuple(of_type(name, part, int) for part in value)
    accepted: dict[Any, Any] = {int: Integral, float: Real, bool: (bool, np.bool_), str: str}
    if Ellipsis in kinds or not isinstance(value, accepted[kind]) or (kind is not bool and isinstance(value, bool)):
        expected = "whole numbers" if Ellipsis in kinds else _PLAIN_NAMES[kind]
        raise ConfigurationError(f"setting {name}", expected=expected, got=repr(value))
    return kind(value)


_PLAIN_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}

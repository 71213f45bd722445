"""Settings, declared once: a config is a frozen dataclass whose fields are made by ``setting``.

A field carries its default, its description and the values it may have. Everything else is derived from it: checks, the
form of a setting on the command line (``--set``, ``info --presets``), and, for an estimator whose ``__init__`` is
decorated with ``takes``, the signature, ``get_params`` and the section Parameters of its docstring.
"""

import inspect
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar, get_args, get_type_hints

import numpy as np

from postil.errors import ConfigurationError, similar
from postil.features.vectors import VectorSources
from postil.text.splitting.segmenter import Segmenter

P = ParamSpec("P")
R = TypeVar("R")


class Unset(Enum):
    """The type of UNSET. A member of an enumeration stays itself when it is copied or pickled."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""The value of a hyperparameter that is not set: that of the preset is used. None means "adapt to the data"."""
_OPEN = 10**9
"""A limit from which on a message does not name it: nobody reaches it by mistake."""
WIDEST = 100_000
"""The largest width of a layer or a vector."""


class SettingRule(NamedTuple):
    """The description of a setting and the values that it may have."""

    text: str
    low: float | None = None
    high: float = _OPEN
    choices: Collection[Any] | None = None
    positive: bool = False
    adapts: bool = False  # None adapts to the training data, instead of switching something off
    kind: str | None = None  # the type in the words of the documentation, if the annotation does not say it well
    shapes: str = ""  # "encoder" or "output": which parameters it decides; a model that is continued keeps it
    in_loss: bool = True  # not: it decides how parameters begin, how trees are made, or what the training loop does


def rule(text: str, **values: Any) -> dict[str, Any]:
    """The metadata of a field without a default; ``values`` are fields of SettingRule."""
    return {"rule": SettingRule(text, **values)}


def setting(default: Any, text: str, **values: Any) -> Any:
    """A field of a config: its default, its description, and the values that it may have (fields of SettingRule)."""
    return field(default=default, metadata=rule(text, **values))


def width(default: int, text: str, low: int = 0) -> Any:
    """A field with the width of an encoder's layer or of vectors of features."""
    return setting(default, text, low=low, high=WIDEST, shapes="encoder")


@cache
def rules(config: type) -> Mapping[str, SettingRule]:
    """The declared rule of each field of a config, by name."""
    return {one.name: one.metadata["rule"] for one in fields(config)}


_hints = cache(get_type_hints)
_TYPES: dict[Any, tuple[Any, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: ((bool, np.bool_), "true or false"),
    str: (str, "a word"),
}
"""The type of a field -> what its values may be, and how a message names them."""


# --------------------------------------------------------------------------------------------------------------- checks


def check_fields(config: Any) -> None:
    """Convert every field of a frozen dataclass to its plain type, and raise if a value is not possible."""
    kind: type = type(config)
    for name in rules(kind):
        object.__setattr__(config, name, checked(kind, name, getattr(config, name)))


def checked(config: type, name: str, value: Any) -> Any:
    """The value of one field of a config in its plain type."""
    value, rule = _of_type(name, value, _hints(config)[name]), rules(config)[name]
    if rule.choices is not None:
        one_of(name, value, rule.choices)
    if value is None:
        return None
    if rule.low is not None and not rule.low <= value <= rule.high:
        is_open = value < rule.low and rule.high >= _OPEN
        expected = f"at least {rule.low}" if is_open else f"{rule.low} to {rule.high}"
        raise ConfigurationError(name, expected=expected, got=value)
    if rule.positive and not 0 < value < math.inf:
        raise ConfigurationError(name, expected="a positive number", got=value)
    return value


def one_of(name: str, value: Any, known: Collection[Any]) -> None:
    if value not in known:
        raise ConfigurationError(name, expected=f"one of {', '.join(map(str, known))}", got=repr(value))


def _of_type(name: str, value: Any, hint: Any) -> Any:
    """The value in the field's own plain type: a NumPy number becomes a number, a list a tuple."""
    kinds = get_args(hint) or (hint,)
    if value is None and type(None) in kinds:
        return None
    if Ellipsis in kinds and isinstance(value, list | tuple):
        return tuple(_of_type(name, part, int) for part in value)
    kind = next(kind for kind in kinds if kind is not type(None))
    accepted, in_words = _TYPES[kind] if Ellipsis not in kinds else ((), "whole numbers")
    if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
        raise ConfigurationError(f"setting {name}", expected=in_words, got=repr(value))
    return kind(value)


# The names of settings in scikit-learn, spaCy and PyTorch.
_ELSEWHERE = {
    "seed": "random_state",
    "threads": "n_jobs",
    "epochs": "max_iter n_epochs max_epochs num_epochs",
    "rate": "learning_rate learning_rate_init lr",
    "batch_sentences": "batch_size",
    "hidden": "hidden_size hidden_layer_sizes",
    "hidden_dropout": "dropout",
    "word_dim": "embedding_dim",
    "optimiser": "optimizer solver",
    "l2": "alpha weight_decay c2",
    "patience": "n_iter_no_change",
    "clip": "max_grad_norm",
}


def check_names(settings: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not among the known ones, and suggest one that is close."""
    for name in settings:
        if name in known:
            continue
        if name == "verbose":
            raise ConfigurationError("unknown setting 'verbose'", expected="verbose=True as an argument of fit")
        if ours := next((one for one in _ELSEWHERE if one in known and name in _ELSEWHERE[one].split()), None):
            raise ConfigurationError(f"unknown setting {name!r}, it is called {ours!r} here")
        hint = similar(name, known)
        expected = None if hint else f"one of {', '.join(sorted(known))}"
        raise ConfigurationError(f"unknown setting {name!r}{hint}", expected=expected)


def parsed(text: str, config: type) -> tuple[str, Any]:
    """``name=value`` of the command line, with the value in the type of that field of a config."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError("setting", expected="NAME=VALUE", got=repr(text))
    check_names([name], _hints(config))
    hint = _hints(config)[name]
    kinds = get_args(hint) or (hint,)
    if value.lower() in ("none", "auto") and type(None) in kinds:
        return name, None
    try:
        if bool in kinds:
            return name, {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}[value.lower()]
        if Ellipsis in kinds:  # tuple[int, ...]
            return name, tuple(int(part) for part in value.split(",") if part)
        return name, next(kind for kind in kinds if kind is not type(None))(value)
    except (KeyError, ValueError):
        expected = _TYPES[kinds[0]][1] if Ellipsis not in kinds else "whole numbers with commas between"
        raise ConfigurationError(f"setting {name}", expected=expected, got=repr(value)) from None


def spelt(config: type, name: str, value: Any) -> str:
    """The value of a setting as ``parsed`` takes it: None is ``auto`` if it adapts to the data, else ``none``."""
    if value is None:
        return "auto" if rules(config)[name].adapts else "none"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


# ----------------------------------------------------------------------------------------------------------- estimators


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CommonParameters:
    """The parameters that every estimator has in addition to its settings."""

    vectors: VectorSources | None = setting(
        None,
        "Pre-trained word vectors: a GloVe, word2vec or fastText file, or glove-50d. Those of several files stand side"
        " by side. None: all vectors are learned.",
        kind="str, path, sequence of these, or None",
    )
    segmenter: Segmenter | None = setting(
        None,
        "How raw text is cut into tokens and sentences; stored with the model. None: as the model that the training"
        " starts from; characters if the training data are single characters of a script without spaces; otherwise the"
        " default rules.",
        kind="postil.text.Segmenter or None",
    )
    seed: int = setting(
        0, "Seed of all randomness. The same seed and data produce the same bits.", low=0, high=math.inf
    )
    threads: int = setting(1, "Number of cores to train with. Does not change the result.", low=1)
    minutes: float | None = setting(
        None, "Time budget: the schedule is shortened so that it ends in time. None: no limit.", positive=True
    )


def takes(declared: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Give a method with ``**options`` the fields of a dataclass as its arguments.

    Type checkers and editors take them from the dataclass, ``help`` and scikit-learn from the signature. Those of an
    ``__init__`` are put in order by ``Declared``.
    """

    def of(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        method.__dict__["declared"] = declared
        if method.__name__ != "__init__":
            own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
            arguments = [one.replace(annotation=one.empty) for one in inspect.signature(declared).parameters.values()]
            method.__dict__["__signature__"] = inspect.Signature([own, *arguments])
        return method

    return of


def like(declared: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the arguments of another one, or of a class."""

    def of(function: Callable[..., R]) -> Callable[P, R]:
        function.__dict__["__signature__"] = inspect.signature(declared)
        return function

    return of


class Declared:
    """A class whose ``__init__`` is decorated with ``takes``: its signature, its parameters and its docstring.

    Parameters that are not settings come first; settings are UNSET by default, which stands for the value of the row
    of settings (preset, composition) that the parameter ``_ROW`` selects.
    """

    _CONFIG: ClassVar[type]  # the dataclass of its settings
    _ROW: ClassVar[str]  # the parameter that selects a row of settings: a preset, a composition

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        init = vars(cls).get("__init__")
        if init is None:
            return
        # Without the types: ``help`` shows it, and nobody can read fifty of them. They are in the docstring.
        settings, row = rules(cls._CONFIG), cls._ROW
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
        for one in sorted(
            fields(init.declared), key=lambda one: (one.default is not MISSING, one.name != row, one.name in settings)
        ):
            default = UNSET if one.name in settings and one.name != row else one.default
            default = inspect.Parameter.empty if default is MISSING else default
            parameters.append(inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default))
        init.__signature__ = inspect.Signature(parameters)
        cls.__doc__ = _Documentation(cls.__doc__)  # type: ignore[assignment]

    @classmethod
    def _rows(cls) -> Mapping[str, Any]:
        """Each preset (or composition) that a model of this kind can have -> its config."""
        raise NotImplementedError

    @classmethod
    def _parameters(cls) -> Mapping[str, inspect.Parameter]:
        return dict(list(inspect.signature(cls.__init__).parameters.items())[1:])

    def _store(self, given: Mapping[str, Any]) -> None:
        """Keep the arguments of the constructor, unchanged: they are checked by ``fit``, as scikit-learn wants it."""
        parameters = self._parameters()
        check_names(given, parameters)
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in given:
                raise TypeError(f"{type(self).__name__}() needs the argument {name!r}")
            setattr(self, name, given.get(name, parameter.default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name, as the constructor takes them; UNSET where the value of the preset is used."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters. Unknown names raise and change nothing; values are checked by ``fit``."""
        check_names(parameters, self._parameters())
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def _given(self) -> dict[str, Any]:
        """All parameters that are set."""
        return {name: value for name, value in self.get_params().items() if value is not UNSET}

    @property
    def settings(self) -> dict[str, Any]:
        """The hyperparameters that are set: they override the preset."""
        return {name: value for name, value in self._given().items() if self._parameters()[name].default is UNSET}

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        parameters = self._parameters()
        differing = [f"{k}={v!r}" for k, v in self.get_params().items() if repr(v) != repr(parameters[k].default)]
        return f"{type(self).__name__}({', '.join(differing)})"


class _Documentation:
    """The docstring of a Declared class with Parameters and Attributes, completed when somebody reads it."""

    def __init__(self, text: str | None) -> None:
        self._text = text  # None under python -OO

    def __get__(self, instance: object, kind: type[Declared]) -> str | None:
        if self._text is None:
            return None
        declared = vars(kind.__init__)["declared"]
        parameters, rows, hints = kind._parameters(), kind._rows(), _hints(declared)
        default_row, entries = rows[parameters[kind._ROW].default], ""
        for name, parameter in parameters.items():
            rule, default = rules(declared)[name], parameter.default
            text = rule.text
            if default is UNSET:
                default = getattr(default_row, name)
                others: dict[str, list[str]] = {}  # ``Other presets: 160 (accurate), 100 (…).``
                for other, config in rows.items():
                    if getattr(config, name) != default:
                        others.setdefault(repr(getattr(config, name)), []).append(other)
                values = ", ".join(f"{value} ({', '.join(names)})" for value, names in others.items())
                text += f" Other {kind._ROW}s: {values}." if values else ""
            heading = f"{name} : {rule.kind or type_text(hints[name], rule.choices)}"
            heading += "" if default is inspect.Parameter.empty else f", default={default!r}"
            text = textwrap.fill(text, 100, initial_indent=" " * 4, subsequent_indent=" " * 4, break_on_hyphens=False)
            entries += f"{heading}\n{text}\n"
        entries += "\nAttributes\n----------\n"
        for name in _ATTRIBUTES:
            if (found := getattr(kind, name, None)) is not None:
                hint = _hints(found.fget)["return"]
                entries += f"{name} : {type_text(kind._CONFIG if hint is Any else hint)}\n    {found.__doc__}\n"
        before, examples, after = inspect.cleandoc(self._text).partition("Examples\n--------\n")
        return f"{before}Parameters\n----------\n{entries}\n{examples}{after}"


_ATTRIBUTES = ("tasks", "groups_", "classes_", "history_", "config", "decoding", "threshold")


def type_text(hint: Any, choices: Collection[Any] | None = None) -> str:
    """A type as scikit-learn's documentation writes it: ``int or None``, ``{'a', 'b'}``, ``tuple of int``."""
    if choices is not None:
        return f"{{{', '.join(map(repr, choices))}}}"
    if isinstance(hint, UnionType):
        return " or ".join(type_text(part) for part in get_args(hint))
    if parts := get_args(hint):
        item = parts[0] if Ellipsis in parts else parts[-1]
        return f"{hint.__origin__.__name__}{'' if item is Any else f' of {type_text(item)}'}"
    return "None" if hint is type(None) else str(hint.__name__)

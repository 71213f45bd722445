"""The docstrings of estimators: the section Parameters is put together from the signature, the config and the presets.

So ``help(postil.Tagger)``, ``postil presets`` and the tables of the documentation show the same texts. They stand once,
below the fields of the configs.
"""

import inspect
import textwrap
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_type_hints

from postil.models.settings import UNSET, descriptions

# Parameters that are no settings of a config: type, and what they mean.
OWN_PARAMETERS: dict[str, tuple[str, str]] = {
    "label": ("str", "The label to detect. Labels of a scheme (B-LOC, I-LOC) count as their class (LOC)."),
    "preset": ("str", "The kind of model: a row of ``postil.models.PRESETS``, listed by ``postil presets``."),
    "vectors": (
        "str, path, sequence of these, or None",
        "Pre-trained word vectors: a GloVe, word2vec or fastText file, or glove-50d. Those of several files stand side"
        " by side. None: all vectors are learnt.",
    ),
    "clusters": (
        "str, path or None",
        "Clusters of words: a file with ``path<TAB>word`` or ``word<TAB>cluster`` on each line, or brown.",
    ),
    "gazetteers": (
        "sequence of str or path",
        "Files with names of a class, one per line, matched as phrases; or names, places, which are features of words.",
    ),
    "pretrained": (
        "str, path or None",
        "Vectors and clusters together: a file of ``postil pretrain --with-clusters``.",
    ),
    "seed": ("int", "Seed of all randomness. The same seed and data produce the same bits."),
    "threads": ("int", "Number of cores to train with. Does not change the result."),
    "minutes": ("float or None", "Time budget: the schedule is shortened so that it ends in time. None: no limit."),
}
_WIDTH = 100


class Documented(ABCMeta):
    # The metaclass of estimators. Docstrings are completed when somebody reads them, which most programs never do.

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if "__init__" in namespace:
            _hide_types(namespace["__init__"])

    @property
    def __doc__(cls) -> str | None:  # type: ignore[override]
        text = cls.__dict__.get("__doc__")  # None under python -OO
        return text if text is None or inspect.isabstract(cls) else _with_parameters(text, cls)


def _hide_types(function: Any) -> None:
    """Leave the types out of the signature that ``help`` shows: fifty of them cannot be read. They stand below it."""
    parameters = inspect.signature(function).parameters.values()
    function.__signature__ = inspect.Signature([one.replace(annotation=one.empty) for one in parameters])


def _with_parameters(text: str, estimator: Any) -> str:
    before, attributes, after = inspect.cleandoc(text).partition("Attributes\n----------\n")
    return f"{before}Parameters\n----------\n{''.join(_entries(estimator))}\n{attributes}{after}"


def _entries(estimator: Any) -> Iterator[str]:
    """One entry per parameter, in the order of the signature."""
    parameters = inspect.signature(estimator.__init__).parameters
    rows = estimator._rows()
    default_row = rows[parameters[estimator._ROW].default]
    texts, hints = descriptions(estimator._CONFIG), get_type_hints(estimator._CONFIG)
    for name, parameter in list(parameters.items())[1:]:
        if parameter.default is UNSET:
            kind, default = type_text(hints[name], estimator._CHOICES.get(name)), getattr(default_row, name)
            text = f"{texts[name]} {_others(name, rows, default, estimator._ROW)}".rstrip()
        else:
            kind, text = OWN_PARAMETERS.get(name) or (type_text(hints[name], estimator._CHOICES[name]), texts[name])
            default = parameter.default
        yield _entry(name, kind, default, text)


def _entry(name: str, kind: str, default: Any, text: str) -> str:
    heading = f"{name} : {kind}" + ("" if default is inspect.Parameter.empty else f", default={default!r}")
    lines = textwrap.wrap(text, _WIDTH - 4, break_on_hyphens=False)
    return f"{heading}\n" + "".join(f"    {line}\n" for line in lines)


def _others(name: str, rows: Mapping[str, Any], default: Any, row: str) -> str:
    """The values of the other presets that differ from the default: ``Other presets: 160 (accurate), 100 (…).``"""
    names: dict[str, list[str]] = {}
    for other, config in rows.items():
        if getattr(config, name) != default:
            names.setdefault(repr(getattr(config, name)), []).append(other)
    values = [f"{value} ({', '.join(others)})" for value, others in names.items()]
    return f"Other {row}s: {', '.join(values)}." if values else ""


def type_text(hint: Any, choices: Any = None) -> str:
    """A type as scikit-learn's documentation writes it: ``int or None``, ``{'a', 'b'}``, ``tuple of int``."""
    if choices is not None:
        return f"{{{', '.join(map(repr, choices))}}}"
    if isinstance(hint, UnionType):
        return " or ".join(type_text(part) for part in get_args(hint))
    if get_args(hint):
        return f"{hint.__origin__.__name__} of {type_text(get_args(hint)[0])}"
    return "None" if hint is type(None) else str(hint.__name__)

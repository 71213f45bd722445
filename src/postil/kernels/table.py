"""Kernels by name: their arguments in the order of C, with types and shapes. The build makes wrappers of them.

    windows(X: real[N, D], single, padding: real[D], offsets: offsets[B, N], N, B, D, size) -> Y: real[N, size*D]

An array with brackets is checked against its type and shape, copied if C could not read it, and passed as a pointer;
``?`` may be None, ``!`` is changed in place and never copied. ``real`` is float32 or float64, the same in all arrays of
a call; ``single`` tells C which. ``offsets[B, N]`` are those of B parts among N rows, ``scores[N, L]`` real scores of
labels, ``steps[L]`` the scores of transitions, start and end. A bare name is a size: that of an argument, or a number
that the caller passes, as are names with a type of C. What stands after the arrow is allocated and returned. After a
bar stands the code for which a wrapper returns None instead of raising an error.

Only the build imports this module; ``source`` is a part of _declarations.py.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CHAIN = "unary: scores[N, L], single, offsets: offsets[B, N], N, B, L, steps[L]"
_ATTRIBUTES = "ids: i32[M], values: f64[M]?, offsets: offsets[N, M]"
_OCCURRENCES = "starts: offsets[A, M], tokens: i32[M], values: f64[M]?, M"

TABLE = {
    # chain.c, forward_backward.c
    "viterbi": f"{_CHAIN} -> path: i64[N], score: f64[B]",
    "ranked_paths": f"{_CHAIN}, k -> paths: i64[N, k], score: f64[B, k]",
    "chain_moments": f"{_CHAIN} -> log_partition: f64[B], marginals: f64[N, L], counts: f64[L, L], exact: bool[B]",
    "chain_messages": f"{_CHAIN} -> factors: f64[N, L], moves: f64[L, L], prefix: f64[N, L], scale: f64[N, 1], "
    "following: f64[N, L], arriving: f64[N, L], weight: f64[N, 1], log_partition: f64[B], exact: bool[B]",
    # layers.c
    "windows": "X: real[N, D], single, padding: real[D], offsets: offsets[B, N], N, B, D, size -> Y: real[N, size*D]",
    "windows_back": "dY: real[N, size*D], single, offsets: offsets[B, N], N, B, D, size: int64_t "
    "-> dX: real[N, D], dpadding: real[D]",
    "first_maxima": "X: real[N, D], single, offsets: offsets[B, N], N, B, D "
    "-> Y: real[B, D], winners: i64[B, D] | NOT_FINITE",
    "normalise_rows": "X: real[N, D], single, gain: real[D], bias: real[D], epsilon: double, N, D "
    "-> Y: real[N, D], Z: real[N, D], deviation: real[N, 1]",
    "normalise_rows_back": "dY: real[N, D], single, Z: real[N, D], deviation: real[N, 1], gain: real[D], N, D "
    "-> dX: real[N, D], dgain: real[D], dbias: real[D]",
    "activate": "Z: real[N, D], single, bias: real[D]?, activation: int, key: uint64_t, dropped: uint32_t, N, D, "
    "out: real[N, D]! -> slopes: real[N, D]",
    "sums_of_occurrences": "ids: i64[n], n, values: real[n, D], single, D "
    "-> rows: i64[n], sums: real[n, D], found: i64[1]",
    # trees.c
    "binary_shape": "widths: u8[N], offsets: offsets[T, N], T, N -> back: i64[N, 2], heights: i32[N]",
    # quadratic.c
    "sums_of_pairs": "V: real[K, D, K], single, K, D -> U: real[K, D, K]",
    "quadratic_forms": "C: real[N, K], single, U: real[K, D, K], W: real[D, K], b: real[D], N, K, D, out: real[N, D]!",
    "quadratic_forms_back": "dZ: real[N, D], single, C: real[N, K], U: real[K, D, K], W: real[D, K], N, K, D, "
    "out: real[N, K]!",
    "bilinear_forms": "L: real[N, K], single, R: real[N, K], U: real[K, D, K], N, K, D, out: real[N, D]!",
    "chosen_products": "X: real[N, K], single, M: real[m, K, D], m, which: i64[N], N, K, D, out: real[N, D]!",
    "quadratic_weights": "dZ: real[N, D], single, C: real[N, K], N, K, D -> dV: real[K, D, K]",
    # sparse.c
    "attribute_scores": f"{_ATTRIBUTES}, N, M, firsts: offsets[A, K], targets: i32[K], weights: f64[K], A, K, L "
    "-> out: f64[N, L]",
    "attribute_sums": f"{_ATTRIBUTES}, N, M, table: f64[A, P], A, P, L -> out: f64[N, L]",
    "attribute_counts": f"{_OCCURRENCES}, first, end, firsts: offsets[A, K], targets: i32[K], K, marginals: f64[N, P], "
    "N, P, L, out: f64[K]!",
    "attribute_tokens": f"{_ATTRIBUTES}, N, M, A: int64_t, starts: i64[A+1]!, tokens: i32[M]!, ordered: f64[M]?!",
    "observed_features": f"{_OCCURRENCES}, labels: i64[N], N, A, L "
    "-> firsts: i64[A+1], targets: i32[M], totals: f64[M], row: f64[L], seen: u8[L]",
    # columns.c, characters.c
    "token_cells": "text: bytes[S], S, tabs: int, width, token, label, lines "
    "-> tokens: i64[lines, 2], offsets: i64[lines+1], heads: i64[lines, 3], found: i64[3] | NOT_PLAIN",
    "line_cells": "text: bytes[S], S, room -> tokens: i64[room, 2], offsets: i64[room+1], found: i64[2] | NOT_PLAIN",
    "number_words": "text: bytes[S], S, cells: i64[N, 2], N, key: u64[2], slots: u64[T]!, T, pool: u8[Q]!, Q, "
    "ends: i64[E+1]!, E, known: i64[1]! -> numbers: i64[N]",
    "write_rows": "text: bytes[S], S, cells: i64[N, 2], N, offsets: offsets[B, N], B, labels: i64[N], "
    "figures: f64[N]?, names: bytes[Q], Q, ends: i64[L+1], L, out: u8[R]!, R -> places: i64[B+1]",
    "character_offsets": "text: bytes[S], S, places: i64[n], n -> counted: i64[n]",
    # skipgram.c
    "merge_rows": "table: f32[V, P]!, V, P, rows: i64[n], n, changes: f32[n, P], scales: f32[n]",
}

# Type -> its name in NumPy, what it is in C. In arguments: `real` and what is like it.
_TYPES = {
    "real": ("kind", "void"),
    "scores": ("kind", "void"),
    "f32": ("float32", "float"),
    "f64": ("float64", "double"),
    "i32": ("int32", "int32_t"),
    "i64": ("int64", "int64_t"),
    "u64": ("uint64", "uint64_t"),
    "u8": ("uint8", "uint8_t"),
    "bool": ("bool", "uint8_t"),
    "bytes": ("", "uint8_t"),
    "offsets": ("int64", "int64_t"),
}
_ITEM = re.compile(r"(?:(\w+): )?(\w+)(?:\[([^\]]*)\])?(\??!?)(?:, |$)")


class Item(NamedTuple):
    """One argument or result."""

    name: str
    kind: str
    """A key of _TYPES; "" for sizes and numbers; a type of C for other numbers; or ``steps``."""
    shape: tuple[str, ...]
    may_be_none: bool
    is_changed: bool


def items(text: str) -> list[Item]:
    """The arguments, or the results, of a row of the table."""
    found = []
    for name, kind, shape, marks in _ITEM.findall(text):
        name, kind = (name, kind) if name else (kind, kind if kind == "steps" else "")
        found.append(Item(name, kind, tuple(shape.split(", ")) if shape else (), "?" in marks, "!" in marks))
    return found


def row(name: str) -> tuple[list[Item], list[Item], str]:
    """Arguments and results of a kernel, and the code for which there are no results."""
    signature, _, code = TABLE[name].partition(" | ")
    given, _, made = signature.partition(" -> ")
    return items(given), items(made), code


def types_in_c(name: str) -> list[str]:
    """The types of a kernel's arguments, as kernels.h must declare them."""
    given, made, _ = row(name)
    types = []
    for item in [*given, *made]:
        if item.kind == "steps":
            types += ["const double *"] * 3
        elif item.shape:
            const = "" if item.is_changed or item in made else "const "
            types.append(f"{const}{_TYPES[item.kind][1]} *")
        else:
            types.append("int" if item.name == "single" else item.kind or "int64_t")
    return types


def source() -> str:
    """A function that makes the wrappers of all kernels, from the library and what it needs besides."""
    helpers = "lib, at, empty, types, shape_of, floats, label_scores, contiguous, ready_offsets, steps, finish, wrong"
    lines = [f"def wrappers({helpers}):", *_kinds(), *(line for name in TABLE for line in _wrapper(name))]
    return "\n".join([*lines, f"    return {{{', '.join(f'{name!r}: {name}' for name in TABLE)}}}", ""])


def _kinds() -> Iterator[str]:
    for name, (numpy_name, c) in _TYPES.items():
        if numpy_name not in ("", "kind") and name != "offsets":
            yield f"    {name}, at_{name} = types[{numpy_name!r}], types['{c}[]']"
    yield "    NULL = types['NULL']"


def _wrapper(name: str) -> Iterator[str]:
    given, made, none_if = row(name)
    arrays = [item for item in given if item.shape and item.kind != "steps"]
    sizes = {size for item in arrays for part in item.shape for size in _names(part)}
    numbers = {i.name for i in given if not i.shape and i.name != "single" and (i.kind or i.name not in sizes)}
    parameters = []
    for item in given:
        if item.kind == "steps":
            parameters += ["transitions", "start", "end"]
        elif item.shape or item.name in numbers:
            parameters.append(item.name)
    yield f"    def {name}({', '.join(parameters)}):"
    known, kind_of, rows = numbers, "", "None, 0"
    while arrays:  # offsets after the array that has the rows
        item = next(i for i in arrays if i.kind != "offsets" or i.shape[1] in known)
        arrays.remove(item)
        decides = item.kind in ("real", "scores") and not kind_of
        yield from _checked(item, f"{item.name} of {name}", known, decides)
        kind_of = item.name if decides else kind_of
        if item.kind == "offsets" and rows == "None, 0":
            rows = f"{item.name}, {item.shape[1]}"
        known = known | {size for part in item.shape for size in _names(part)}
    for item in made:
        yield f"        {item.name} = empty(({', '.join(item.shape)},), {'kind' if item.kind == 'real' else item.kind})"
    yield f"        code = lib.{name}({', '.join(map(_argument, [*given, *made]))})"
    if none_if:
        yield f"        if code == lib.{none_if}: return None"
    yield f"        if code: finish(code, {name!r}, {rows})"
    if made:
        yield f"        return {', '.join(item.name for item in made)}"


def _checked(item: Item, where: str, known: set[str], decides: bool) -> Iterator[str]:
    """Statements that check an array and find out the sizes that are not known. ``decides``: also the type."""
    array, shape = item.name, f"({', '.join(item.shape)},)"
    if item.kind == "bytes":
        yield f"        {item.shape[0]} = len({array})"
        return
    if item.kind == "offsets":
        parts, total = item.shape
        yield f"        {array} = ready_offsets({array}, {total})"
        if parts in known:
            yield f"        if len({array}) != {parts} + 1: wrong({array}, ({parts} + 1,), {where!r})"
        else:
            yield f"        {parts} = len({array}) - 1"
        return
    if decides:
        check = f"label_scores({array})" if item.kind == "scores" else f"floats({array}, {len(item.shape)}, {where!r})"
        yield f"        {array} = {check}"
        yield f"        kind, shape = {array}.dtype, {array}.shape"
    elif not all(_names(part) <= known for part in item.shape):
        yield f"        shape = shape_of({array}, {len(item.shape)}, {where!r})"
    bound = set(known)
    for place, part in enumerate(item.shape):
        if not _names(part) <= bound:
            yield f"        {_bound(part, f'shape[{place}]')}"
            bound |= _names(part)
    if decides:
        if len(set(item.shape)) < len(item.shape) or any("*" in part or _names(part) <= known for part in item.shape):
            yield f"        if shape != {shape}: wrong({array}, {shape}, {where!r})"
        return
    kind = "kind" if item.kind == "real" else item.kind
    check = f"contiguous({array}, {kind}, {shape}, {where!r}{', changed=True' if item.is_changed else ''})"
    yield f"        {f'if {array} is not None: ' if item.may_be_none else ''}{array} = {check}"


def _argument(item: Item) -> str:
    """What is passed to C."""
    if item.kind == "steps":
        return "*steps(transitions, start, end, L)"
    if not item.shape:
        return "kind.itemsize == 4" if item.name == "single" else item.name
    kind = {"real": "u8", "scores": "u8", "bytes": "u8", "offsets": "i64"}.get(item.kind, item.kind)
    pointer = f"at(at_{kind}, {item.name})"
    if item.kind == "bytes":
        return f"{item.name} if type({item.name}) is bytes else {pointer}"
    return f"NULL if {item.name} is None else {pointer}" if item.may_be_none else pointer


def _names(part: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]\w*", part))


def _bound(part: str, value: str) -> str:
    """The statement that finds out a size from the length of an axis: ``D``, ``size*D`` or ``A+1``."""
    if "*" in part:
        factor, size = part.split("*")
        return f"{size} = {value} // {factor}"
    size, _, more = part.partition("+")
    return f"{size} = {value} - {more}" if more else f"{size} = {value}"

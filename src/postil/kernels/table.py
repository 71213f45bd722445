"""Kernels by name: their arguments in the order of C, with types and shapes. The build makes prototypes and wrappers.

    windows(X: real[N, D], single, padding: real[D], offsets: offsets[B, N], N, B, D, size) -> Y: real[N, size*D]

| notation                | meaning                                                                                  |
|-------------------------|------------------------------------------------------------------------------------------|
| ``X: real[N, D]``       | an array, checked against its type and shape, copied if C could not read it               |
| ``values: f64[M]?``     | may be None                                                                               |
| ``out: real[N, D]!``    | is changed in place and never copied                                                      |
| ``real``, ``single``    | float32 or float64, the same in all arrays of a call; ``single`` tells C which            |
| ``offsets[B, N]``       | those of B parts among N rows; ``scores[N, L]`` real scores of labels;                    |
|                         | ``steps[L]`` the scores of transitions, start and end                                     |
| ``N``                   | a size: that of an array, or a number that the caller passes                              |
| ``rate: double``        | a number of another type; ``rules: token_rules*`` a pointer that the caller has           |
| ``how: activation``     | the name of an activation, for C its number                                               |
| ``a(ids: …, values: …)``| one argument, a tuple of these arrays                                                     |
| ``; first, end``        | the wrapper checks what stands before and returns a function of these                     |
| ``-> Y: real[N, D]``    | results, allocated here                                                                   |
| ``-> Y: i64[n:R, D]``   | allocated with n rows, of which the first R are returned                                  |
| ``found: counts[R, S]`` | where C writes these sizes; not returned                                                  |
| ``| NOT_FINITE``        | the code for which the wrapper returns None; if there are no results, it returns True else |

Only the build imports this module; ``source`` is a part of _declarations.py, ``prototypes`` is prototypes.h. Kernels
with special structures (the training step, the engine) are declared in kernels.h.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CHAIN = "unary: scores[N, L], single, offsets: offsets[B, N], N, B, L, steps[L]"
_ATTRIBUTES = "attributes(ids: i32[M], values: f64[M]?, offsets: offsets[N, M])"
_OCCURRENCES = "occurrences(starts: offsets[A, M], tokens: i32[M], values: f64[M]?), M"
_CELLS = (
    "cells(words: real[n, 3, H]!, phrases: real[P, 5, H]!, c: real[n+P, H]!, tanh_c: real[n+P, H]!, h: real[n+P, H]!, "
    "parts: real[2*P+1, H]!), single"
)
_GRADIENT = "rows: int64_t*, g: void*, count, table, columns"
_SHARD = "ids: i32[N], offsets: offsets[B, N], N, B"
_CHANGES = "{0}_rows: i64[{1}]!, {0}_changes: f32[{1}, P]!, {0}_touches: i32[{1}]!"

TABLE = {
    # chain.c, forward_backward.c
    "viterbi": f"{_CHAIN} -> path: i64[N], score: f64[B]",
    "ranked_paths": f"{_CHAIN}, k -> paths: i64[N, k], score: f64[B, k]",
    "chain_moments": f"{_CHAIN} -> log_partition: f64[B], marginals: f64[N, L], counts: f64[L, L], exact: bool[B]",
    "chain_messages": f"{_CHAIN} -> factors: f64[N, L], moves: f64[L, L], prefix: f64[N, L], scale: f64[N, 1], "
    "following: f64[N, L], arriving: f64[N, L], weight: f64[N, 1], log_partition: f64[B], exact: bool[B]",
    # windows.c: row 0 stands for what is beyond the sentence
    "sum_windows": "rows: f32[V, size*H], V, size: int64_t, H, ids: i64[N], offsets: offsets[B, N], N, B, "
    "how: activation, add: int, out: f32[N, H]!",
    "spread_windows": "dY: f32[N, H], size: int64_t, H, ids: i64[N], offsets: offsets[B, N], N, B, V, "
    "out: f32[V, size*H]!",
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
    "activate": "Z: real[N, D], single, bias: real[D]?, how: activation, key: uint64_t, dropped: uint32_t, N, D, "
    "out: real[N, D]! -> slopes: real[N, D]",
    "sums_of_occurrences": "ids: i64[n], n, values: real[n, D], single, D "
    "-> rows: i64[n:R], sums: real[n:R, D], found: counts[R]",
    "adam_step": f"value: void*!, is_single: int, mean: void*!, square: void*!, touches: int64_t*!, {_GRADIENT}, "
    "rate: double, beta1: double, beta2: double, epsilon: double, scale: double, total: double*!, settled: int64_t*!, "
    "steps",
    "adagrad_step": f"value: void*!, is_single: int, square: void*!, {_GRADIENT}, rate: double, epsilon: double",
    "settle_rows": "total: double*!, settled: int64_t*!, value: void*, is_single: int, rows: int64_t*, count, table, "
    "columns, steps",
    # trees.c: `parents` of a row are 2 i + side, 2 P at roots
    "binary_shape": "widths: u8[N], offsets: offsets[T, N], T, N -> back: i64[N, 2], heights: i32[N]",
    "leaf_cells_up": f"{_CELLS}, bias: real[3*H], parents: i64[n+P], n, P, H",
    "cells_up": f"{_CELLS}, bias: real[5*H], children: i64[P, 2], parents: i64[n+P], n, P, H; first, end",
    "cells_down": f"{_CELLS}, children: i64[P, 2], parents: i64[n+P], dH: real[n+P, H], sent_h: real[2*P+1, H]!, "
    "sent_c: real[2*P+1, H]!, out: real[P, 5, H]!, n, P, H; first, end",
    "leaf_cells_down": f"{_CELLS}, parents: i64[n+P], dH: real[n+P, H], sent_h: real[2*P+1, H], "
    "sent_c: real[2*P+1, H], n, P, H -> dZ: real[n, 3, H]",
    # phrases.c
    "composed_phrases": "how: int, single, states: real[U, S], U, forms: i64[n], children: i64[P, 2], cuts: i64[C+1], "
    "C, n, P, H: int64_t, W: real[m, k], bias: real[m]?, X: real[n+P, H]!, memory: real[q, H]!",
    # quadratic.c
    "sums_of_pairs": "V: real[K, D, K], single, K, D -> U: real[K, D, K]",
    "quadratic_forms": "C: real[N, K], single, U: real[K, D, K], W: real[D, K], b: real[D], N, K, D, out: real[N, D]!",
    "quadratic_forms_back": "dZ: real[N, D], single, C: real[N, K], U: real[K, D, K], W: real[D, K], N, K, D, "
    "out: real[N, K]!",
    "bilinear_forms": "L: real[N, K], single, R: real[N, K], U: real[K, D, K], N, K, D, out: real[N, D]!",
    "chosen_products": "X: real[N, K], single, M: real[m, K, D], m, which: i64[N], N, K, D, out: real[N, D]!",
    "quadratic_weights": "dZ: real[N, D], single, C: real[N, K], N, K, D -> dV: real[K, D, K]",
    # sparse.c
    "attribute_scores": f"{_ATTRIBUTES}, N, M, pairs(firsts: offsets[A, K], targets: i32[K]), weights: f64[K], A, K, L "
    "-> out: f64[N, L]",
    "attribute_sums": f"{_ATTRIBUTES}, N, M, table: f64[A, P], A, P, L -> out: f64[N, L]",
    "attribute_counts": f"{_OCCURRENCES}, first, end, pairs(firsts: offsets[A, K], targets: i32[K]), K, "
    "marginals: f64[N, P], N, P, L, out: f64[K]!",
    "attribute_tokens": f"{_ATTRIBUTES}, N, M, A: int64_t, starts: i64[A+1]!, tokens: i32[M]!, ordered: f64[M]?!",
    "observed_features": f"{_OCCURRENCES}, labels: i64[N], N, A, L "
    "-> firsts: i64[A+1], targets: i32[M], totals: f64[M], row: f64[L], seen: u8[L]",
    # columns.c, characters.c
    "token_cells": "text: bytes[S], S, tabs: int, width, token, label, lines "
    "-> tokens: i64[lines:N, 2], offsets: i64[lines+1:B+1], heads: i64[lines:H, 3], found: counts[N, B, H] | NOT_PLAIN",
    "line_cells": "text: bytes[S], S, room "
    "-> tokens: i64[room:N, 2], offsets: i64[room+1:B+1], found: counts[N, B] | NOT_PLAIN",
    "number_words": "text: bytes[S], S, cells: i64[N, 2], N, key: u64[2], slots: u64[T]!, T, pool: u8[Q]!, Q, "
    "ends: i64[E+1]!, E, known: i64[1]! -> numbers: i64[N]",
    "write_rows": "text: bytes[S], S, cells: i64[N, 2], N, offsets: offsets[B, N], B, labels: i64[N], "
    "figures: f64[N]?, names: bytes[Q], Q, ends: i64[L+1], L, out: u8[R]!, R -> places: i64[B+1]",
    "character_offsets": "text: bytes[S], S, places: i64[n], n -> counted: i64[n]",
    # words.c, tokens.c, sentences.c: the structures are in kernels.h
    "word_features": "text: bytes[S], S, cells: i64[U, 2], U, rules: word_rules*, characters: character_tables*, "
    "ids: i32[U, F]! | NOT_UTF8",
    # skipgram.c, ranking.c, brown.c: `slots` are -1, and so again afterwards
    "skipgram_shard": f"inputs: f32[V, P], outputs: f32[V, P], V, P, {_SHARD}, reach: u8[N], negatives: i32[N, K], K, "
    f"rate: double, slots: i32[2, V]!, {_CHANGES.format('input', 'R')}, {_CHANGES.format('output', 'Q')}, "
    "found: i64[3]!, loss: f64[1]!",
    "merge_rows": "table: f32[V, P]!, V, P, rows: i64[n], n, changes: f32[n, P], scales: f32[n]",
    "ranking_shard": "table: f32[R, P], V, R, P, layers(W: f32[S, P, H]!, b: f32[H]!, u: f32[H]!), S, H, "
    f"{_SHARD}, corrupt: i32[N], rate: double, ratio: double, margin: double, slots: i32[R]!, "
    f"{_CHANGES.format('table', 'Q')}, found: i64[2]!, loss: f64[1]!",
    "brown_merges": "V, N: int64_t, starts: offsets[V, n], following: i32[n], counts: i64[n], "
    "back_starts: offsets[V, n], preceding: i32[n], back_counts: i64[n], begin: int64_t, end: int64_t, "
    "state: i64[2*V+5*N+5]!, losses: f64[N+1, N+1]!, tables: i64[2, N+1, N+1]!, merged: i64[V-1, 2]!",
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
    "counts": ("int64", "int64_t"),
}
_ITEM = re.compile(r"(\w+)\(|(\))|(?:(\w+): )?(\w+\*?)(?:\[([^\]]*)\])?([?!]*)")


class Item(NamedTuple):
    """One argument or result."""

    name: str
    kind: str
    """A key of _TYPES; "" for sizes and numbers; a type of C for other numbers and pointers; steps or activation."""
    shape: tuple[str, ...]
    may_be_none: bool
    is_changed: bool
    group: str
    """The tuple that the caller passes it in; "" for none."""


class Row(NamedTuple):
    """One row of the table: the arguments and results of a kernel."""

    given: list[Item]
    later: list[Item]
    """Arguments of the function that the wrapper returns."""
    results: list[Item]
    none_if: str
    """The code for which there are no results."""


def items(text: str) -> list[Item]:
    """The arguments, or the results, of a row of the table."""
    parsed, group = [], ""
    for opens, closes, name, kind, shape, marks in _ITEM.findall(text):
        if opens or closes:
            group = opens
            continue
        name, kind = (name, kind) if name else (kind, kind if kind == "steps" and shape else "")
        parsed.append(Item(name, kind, tuple(shape.split(", ")) if shape else (), "?" in marks, "!" in marks, group))
    return parsed


def row(name: str) -> Row:
    signature, _, code = TABLE[name].partition(" | ")
    arguments, _, results = signature.partition(" -> ")
    given, _, later = arguments.partition("; ")
    return Row(items(given), items(later), items(results), code)


# ------------------------------------------------------------------------------------------------ C


def prototypes() -> str:
    """The declarations of all kernels of the table."""
    return "".join(f"int {name}({', '.join(_types_in_c(row(name)))});\n" for name in TABLE)


def _types_in_c(kernel: Row) -> Iterator[str]:
    for item in [*kernel.given, *kernel.later, *kernel.results]:
        const = "" if item.is_changed or item in kernel.results else "const "
        if item.kind == "steps":
            yield from ["const double *"] * 3
        elif item.shape:
            yield f"{const}{_TYPES[item.kind][1]} *"
        elif item.kind.endswith("*"):
            yield f"{const}{item.kind[:-1]} *"
        else:
            yield "int" if item.name == "single" or item.kind == "activation" else item.kind or "int64_t"


# ------------------------------------------------------------------------------------------------ Python


def source() -> str:
    """A function that makes the wrappers of all kernels, from the library and its other arguments."""
    helpers = "lib, at, empty, types, shape_of, floats, label_scores, contiguous, ready_offsets, steps, activation, "
    lines = [f"def wrappers({helpers}finish, wrong):", *_kinds(), *(line for name in TABLE for line in _wrapper(name))]
    return "\n".join([*lines, f"    return {{{', '.join(f'{name!r}: {name}' for name in TABLE)}}}", ""])


def _kinds() -> Iterator[str]:
    for name, (numpy_name, c) in _TYPES.items():
        if numpy_name not in ("", "kind") and name not in ("offsets", "counts"):
            yield f"    {name}, at_{name} = types[{numpy_name!r}], types['{c}[]']"
    yield "    NULL = types['NULL']"


def _wrapper(name: str) -> Iterator[str]:
    kernel = row(name)
    given, results = kernel.given, kernel.results
    arrays = [item for item in given if item.shape and item.kind != "steps"]
    sizes = {size for item in arrays for part in item.shape for size in _names(part)}
    numbers = {i.name for i in given if not i.shape and i.name != "single" and (i.kind or i.name not in sizes)}
    parameters = []
    for item in given:
        if item.kind == "steps":
            parameters += ["transitions", "start", "end"]
        elif item.group or item.shape or item.name in numbers:
            parameters.append(item.group or item.name)
    yield f"    def {name}({', '.join(dict.fromkeys(parameters))}):"
    for group in dict.fromkeys(item.group for item in given if item.group):
        yield f"        {', '.join(item.name for item in given if item.group == group)} = {group}"
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
    for item in results:
        if item.kind == "counts":
            yield f"        {item.name} = empty(({len(item.shape)},), i64)"
        else:
            shape = ", ".join(part.partition(":")[0] for part in item.shape)
            yield f"        {item.name} = empty(({shape},), {'kind' if item.kind == 'real' else item.kind})"
    arguments = ", ".join(map(_argument, [*given, *results]))
    failed = f"if code: finish(code, {name!r}, {rows})"
    if kernel.later:
        names = ", ".join(item.name for item in kernel.later)
        yield f"        arguments = ({arguments})"
        yield f"        def run({names}):"
        yield f"            code = lib.{name}(*arguments, {names})"
        yield f"            {failed}"
        yield "        return run"
        return
    yield f"        code = lib.{name}({arguments})"
    if kernel.none_if:
        yield f"        if code == lib.{kernel.none_if}: return None"
    yield f"        {failed}"
    for item in results:
        if item.kind == "counts":
            yield f"        {', '.join(item.shape)}, = {item.name}.tolist()"
    if results:
        yield f"        return {', '.join(_returned(item) for item in results if item.kind != 'counts')}"
    elif kernel.none_if:
        yield "        return True"


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
        if item.is_changed:
            yield f"        kind, shape = {check}.dtype, {array}.shape"
        else:
            yield f"        {array} = {check}"
            yield f"        kind, shape = {array}.dtype, {array}.shape"
    elif not all(_names(part) <= known for part in item.shape):
        yield f"        shape = shape_of({array}, {len(item.shape)}, {where!r})"
    bound = set(known)
    for place, part in enumerate(item.shape):
        if not _names(part) <= bound:
            yield f"        {_bound(part, f'shape[{place}]')}"
            bound |= _names(part)
    if decides and not item.is_changed:
        if len(set(item.shape)) < len(item.shape) or any("*" in part or _names(part) <= known for part in item.shape):
            yield f"        if shape != {shape}: wrong({array}, {shape}, {where!r})"
        return
    kind = "kind" if item.kind == "real" else item.kind
    check = f"contiguous({array}, {kind}, {shape}, {where!r}{', changed=True' if item.is_changed else ''})"
    yield f"        {f'if {array} is not None: ' if item.may_be_none else ''}{array} = {check}"


def _argument(item: Item) -> str:
    """The expression that the wrapper passes to C."""
    if item.kind == "steps":
        return "*steps(transitions, start, end, L)"
    if item.kind == "activation":
        return f"activation({item.name})"
    if not item.shape:
        return "kind.itemsize == 4" if item.name == "single" else item.name
    kind = {"real": "u8", "scores": "u8", "bytes": "u8", "offsets": "i64", "counts": "i64"}.get(item.kind, item.kind)
    pointer = f"at(at_{kind}, {item.name})"
    if item.kind == "bytes":
        return f"{item.name} if type({item.name}) is bytes else {pointer}"
    return f"NULL if {item.name} is None else {pointer}" if item.may_be_none else pointer


def _returned(item: Item) -> str:
    _, _, count = item.shape[0].partition(":")
    return f"{item.name}[:{count}]" if count else item.name


def _names(part: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]\w*", part))


def _bound(part: str, value: str) -> str:
    """The statement that finds out a size from the length of an axis: ``D``, ``size*D`` or ``A+1``."""
    if "*" in part:
        factor, size = part.split("*")
        return f"{size} = {value} // {factor}"
    size, _, more = part.partition("+")
    return f"{size} = {value} - {more}" if more else f"{size} = {value}"

"""Kernels by name: their arguments in the order of C, with types and shapes. The build makes prototypes and wrappers.

    windows(X: real[N, D], single, padding: real[D], offsets: offsets[B, N], N, B, D, size, dilation: int64_t)
        -> Y: real[N, size*D]

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
| ``; first, end``        | the wrapper checks the arguments before it and returns a function of these                |
| ``-> Y: real[N, D]``    | results, allocated here                                                                   |
| ``-> Y: i64[n:R, D]``   | allocated with n rows, of which the first R are returned                                  |
| ``found: counts[R, S]`` | where C writes these sizes; not returned                                                  |
| ``| NOT_FINITE``        | the code for which the wrapper returns None; if there are no results, it returns True else |

Only the build imports this module; ``source`` is a part of _declarations.py, ``prototypes`` is prototypes.h. The
training step and the engine are declared in kernels.h, with the structures of all kernels.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CHAIN = "unary: scores[N, L], single, offsets: offsets[B, N], N, B, L, steps[L]"
_ATTRIBUTES = "attributes(ids: i32[M], values: f64[M]?, offsets: offsets[N, M])"
_LABELLED = (
    f"{_ATTRIBUTES}, N, M, pairs(firsts: offsets[A, K], targets: i32[K]), A, K, moves: i64[S], S, gold: i64[N], "
    "sentences: offsets[B, N], B, order: i64[n], n, L: int64_t"
)
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
    # answers.c
    "chain_answers": f"{_CHAIN}, question: chain_question*, of_labels: f64[N]?! -> path: i64[N], whole: f64[B], "
    "spans: i64[N:M, 4], probabilities: f64[N:M], found: counts[M], exact: bool[B]",
    # windows.c: row 0 stands for what is beyond the sentence
    "sum_windows": "rows: f32[V, size*H], V, size: int64_t, H, ids: i64[N], offsets: offsets[B, N], N, B, "
    "how: activation, add: int, out: f32[N, H]!",
    "spread_windows": "dY: f32[N, H], size: int64_t, H, ids: i64[N], offsets: offsets[B, N], N, B, V, "
    "out: f32[V, size*H]!",
    # layers.c
    "windows": "X: real[N, D], single, padding: real[D], offsets: offsets[B, N], N, B, D, size, dilation: int64_t "
    "-> Y: real[N, size*D]",
    "windows_back": "dY: real[N, size*D], single, offsets: offsets[B, N], N, B, D, size: int64_t, dilation: int64_t "
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
    "attribute_counts": "occurrences(starts: offsets[A, M], tokens: i32[M], values: f64[M]?), M, "
    "pairs(firsts: offsets[A, K], targets: i32[K]), A, K, marginals: f64[N, P], N, P, L, first, end, out: f64[K]!",
    # online.c
    "online_pass": f"{_LABELLED}, how: int, type: int, is_sensitive: int, c: double, seen: int64_t, w: f64[K+S]!, "
    "other: f64[K+S]! -> loss: f64[1]",
    "descent_pass": f"{_LABELLED}, t: double, penalty: double, w: f64[K+S]!, state: f64[2]! -> done: i64[1]",
    # columns.c, characters.c
    "token_cells": "text: bytes[S], S, tabs: int, width, token, label, lines "
    "-> tokens: i64[lines:N, 2], offsets: i64[lines+1:B+1], heads: i64[lines:H, 3], found: counts[N, B, H] | NOT_PLAIN",
    "line_cells": "text: bytes[S], S, room "
    "-> tokens: i64[room:N, 2], offsets: i64[room+1:B+1], found: counts[N, B] | NOT_PLAIN",
    "write_rows": "text: bytes[S], S, cells: i64[N, 2], N, offsets: offsets[B, N], B, labels: i64[N, K], K, "
    "figures: f64[N, K]?, names: bytes[Q], Q, ends: i64[L+1], L, out: u8[R]!, R -> places: i64[B+1]",
    "character_offsets": "text: bytes[S], S, places: i64[n], n -> counted: i64[n]",
    # records.c: spans of first token, end and class, or labels; names and fields are JSON, fields with a comma before;
    # `units` of offsets are a place in UNITS; `form` see there; `state` is the next text, sentence and span, and the
    # bytes written
    "write_records": "text: bytes[S], S, documents: i64[D, 2], tokens: offsets[D, N], D, cells: i64[N, 2], N, "
    "sentences: offsets[B, N], B, labels: i64[N]?, figures: f64[N]?, spans: i64[M, 3], probabilities: f64[M]?, M, "
    "whole: f64[B]?, names: bytes[Q], Q, name_ends: i64[C+1], C, fields: bytes[F], F, field_ends: i64[D+1], "
    "units: int64_t, form: int, out: u8[R]!, R, state: i64[4]! | NO_ROOM",
    # words.c, tokens.c, sentences.c
    "string_slots": "text: bytes[S], S, offsets: i32[V+1], V, crc: u32[256], longest, T -> slots: i32[T] | TOO_LONG",
    "word_features": "text: bytes[S], S, cells: i64[U, 2], U, rules: word_rules*, characters: character_tables*, "
    "ids: i32[U, F]! | NOT_UTF8",
    "tokenise_text": "text: uint8_t*, size, documents: int64_t*, D, rules: token_rules*, known: character_tables*, "
    "surrogates: int, slots: uint8_t*!, buckets, seed: uint64_t, room, cells: int64_t*!, edges: int64_t*!, "
    "state: int64_t*!",
    "split_sentences": "text: bytes[S], S, documents: i64[D, 2], tokens: offsets[D, N], D, cells: i64[N, 2], N, "
    "rules: sentence_rules*, known: character_tables* -> edges: i64[N+1:B+1], found: counts[B]",
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
    "u32": ("uint32", "uint32_t"),
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
    helpers = "lib, at, empty, types, shaped, reals, scores, contiguous, parts, steps, activation, finish, wrong"
    lines = [f"def wrappers({helpers}):"]
    for name, (numpy_name, c) in _TYPES.items():
        if numpy_name not in ("", "kind") and name not in ("offsets", "counts"):
            lines.append(f"    {name}, at_{name} = types[{numpy_name!r}], types['{c}[]']")
    lines += ["    NULL = types['NULL']", *(line for name in TABLE for line in _wrapper(name))]
    return "\n".join([*lines, f"    return {{{', '.join(f'{name!r}: {name}' for name in TABLE)}}}", ""])


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
    known, has_kind, rows = numbers, False, ""
    ready: list[tuple[str, str]] = []  # arrays and their checks that ask for nothing new, in one statement
    while arrays:  # offsets after the array that has the rows
        item = next(i for i in arrays if i.kind != "offsets" or i.shape[1] in known)
        arrays.remove(item)
        decides = item.kind in ("real", "scores") and not has_kind
        statements = list(_checked(item, f"{item.name} of {name}", known, decides))
        if " = contiguous(" in statements[0] and not item.may_be_none:
            ready.append((item.name, statements[0].partition(" = ")[2]))
            continue
        yield from _together(ready)
        yield from statements
        has_kind |= decides
        if item.kind == "offsets" and not rows:
            rows = f", {item.name}, {item.shape[1]}"
        known = known | {size for part in item.shape for size in _names(part)}
    yield from _together(ready)
    if results:
        shapes = [", ".join(part.partition(":")[0] for part in i.shape) for i in results]
        kinds = ["kind" if i.kind == "real" else i.kind for i in results]
        made = [f"empty({len(i.shape)}, i64)" if i.kind == "counts" else f"empty(({shape},), {kind})"
                for i, shape, kind in zip(results, shapes, kinds, strict=True)]  # fmt: skip
        yield f"        {', '.join(i.name for i in results)} = {', '.join(made)}"
    arguments = ", ".join(map(_argument, [*given, *results]))
    if kernel.later:
        names = ", ".join(item.name for item in kernel.later)
        yield f"        arguments = ({arguments})"
        yield f"        return lambda {names}: finish(lib.{name}(*arguments, {names}), {name!r}{rows})"
        return
    if kernel.none_if:
        yield f"        if (code := lib.{name}({arguments})) == lib.{kernel.none_if}: return None"
        yield f"        if code: finish(code, {name!r}{rows})"
    else:
        yield f"        if code := lib.{name}({arguments}): finish(code, {name!r}{rows})"
    for item in results:
        if item.kind == "counts":
            yield f"        {', '.join(item.shape)}, = {item.name}.tolist()"
    if results:
        yield f"        return {', '.join(_returned(item) for item in results if item.kind != 'counts')}"
    elif kernel.none_if:
        yield "        return True"


def _checked(item: Item, where: str, known: set[str], decides: bool) -> Iterator[str]:
    """Statements that check an array and find out the sizes that are not known. ``decides``: also the type."""
    array, shape, kind = item.name, f"({', '.join(item.shape)},)", "kind" if item.kind == "real" else item.kind
    if item.kind == "bytes":
        yield f"        {item.shape[0]} = len({array})"
        return
    if item.kind == "offsets":
        of_parts, total = item.shape
        if of_parts in known:
            yield f"        {array}, found_parts = parts({array}, {total})"
            yield f"        if found_parts != {of_parts}: wrong({array}, ({of_parts} + 1,), {where!r})"
        else:
            yield f"        {array}, {of_parts} = parts({array}, {total})"
        return
    is_known = all(_names(part) <= known for part in item.shape)
    changed = ", True" if item.is_changed else ""
    if not decides and (is_known or item.may_be_none):
        check = f"contiguous({array}, {kind}, {shape}, {where!r}{changed and ', changed=True'})"
        yield f"        {f'if {array} is not None: ' if item.may_be_none else ''}{array} = {check}"
        return
    axes: list[str] = []
    bound, sizes, checks = set(known), [], []
    for place, part in enumerate(item.shape):
        is_new = not _names(part) <= bound
        axes.append(part if is_new and part.isidentifier() else f"axis{place}")
        if is_new and not part.isidentifier():
            sizes.append(_bound(part, axes[-1]))
        if not is_new or "*" in part:
            checks.append(f"{axes[-1]} != {part}")
        bound |= _names(part)
    found = f"({', '.join(axes)},)"
    if item.kind == "scores":
        yield f"        {array}, kind, {found} = scores({array})"
    elif decides:
        yield f"        {array}, kind, {found} = reals({array}, {len(item.shape)}, {where!r}{changed})"
    else:
        yield f"        {array}, {found} = shaped({array}, {kind}, {len(item.shape)}, {where!r}{changed})"
    if sizes:
        yield f"        {', '.join(size for size, _ in sizes)} = {', '.join(value for _, value in sizes)}"
    if checks:
        yield f"        if {' or '.join(checks)}: wrong({array}, {shape}, {where!r})"


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


def _bound(part: str, value: str) -> tuple[str, str]:
    """A size, and the expression for it from the length of an axis: ``D``, ``size*D`` or ``A+1``."""
    if "*" in part:
        factor, size = part.split("*")
        return size, f"{value} // {factor}"
    size, _, more = part.partition("+")
    return size, f"{value} - {more}" if more else value


def _together(checks: list[tuple[str, str]]) -> Iterator[str]:
    if checks:
        yield f"        {', '.join(array for array, _ in checks)} = {', '.join(check for _, check in checks)}"
        checks.clear()

"""Regular expressions as programs for the matcher of matcher.h.

Python's own parser reads an expression, so there is one source for both twins: ``re`` runs it in Python, the matcher
runs what is made of it here. Characters that no part of an expression tells apart are one *class*; a text is matched
as a row of classes, and a set of characters is a set of bits, one for each class. Class 0 is the *edge*, what stands
before the first character and after the last: a look around needs no other test for the ends of a text.

Three steps: `_Reading` makes nodes of Python's parse tree, `_classes` finds the classes, `_Writing` writes the code.
Expressions that hold something else (back references, groups that may match nothing any number of times) raise
`Unsupported`.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from re import _constants, _parser  # type: ignore[attr-defined]  # the only way to the tree that `re` itself compiles
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.kernels.characters import BLOCK, LAST, Characters, Flag
from postil.kernels.plain_segmentation import Program


class Unsupported(Exception):
    """An expression holds something that the matcher does not support."""


EDGE = 1
"""The bit of class 0."""
MOST_CODE = 1 << 17
"""Instructions and operands. More than that, repeated copies above all, is not worth it."""
_MOST_CLASSES = 1 << 12
_DISPATCHED = 4  # branches, from which on the next character's class picks those to try
_MANY = 1 << 30  # no upper limit

# Instructions, and their operands; matcher.h says what they do. `set` is a place in Program.sets.
_OPERANDS = {
    "MATCH": 0,  # the expression has matched
    "FAIL": 0,
    "CHAR": 1,  # set
    "LOOK": 1,  # set
    "BEHIND": 1,  # set
    "RUN": 4,  # set, fewest, most, set of what may follow
    "RUN_LAZY": 4,  # the same
    "RUN_ALL": 3,  # set, fewest, most
    "JUMP": 1,  # target
    "TRY": 1,  # target, where to go on if what follows fails
    "TRY_IF": 2,  # set, target
    "GUARD": 2,  # set, target
    "DISPATCH": 0,  # a target for each class
    "HOLD": 1,  # target
    "COMMIT": 0,
    "AHEAD": 0,
    "AHEAD_END": 0,
    "NOT_END": 0,
    "BACK": 1,  # characters
}
OPCODES = {name: number for number, name in enumerate(_OPERANDS)}


# ------------------------------------------------------------------------------------------------ nodes


@final
@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of ranges and properties."""

    ranges: tuple[tuple[int, int], ...] = ()
    """First and last codes."""
    flags: tuple[tuple[Flag, bool], ...] = ()
    """Properties that hold, or do not."""
    negated: bool = False


@final
@dataclass(frozen=True, slots=True)
class Look:
    """The next character, or the one before, is one of these; negated: it is none of them, or there is none."""

    chars: Chars
    negated: bool = False
    behind: bool = False


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: "tuple[Node, ...]"


@final
@dataclass(frozen=True, slots=True)
class Branches:
    """The first that fits."""

    branches: "tuple[Node, ...]"


@final
@dataclass(frozen=True, slots=True)
class Repeat:
    low: int
    high: int
    kind: str
    """greedy, lazy or possessive"""
    body: "Node"


@final
@dataclass(frozen=True, slots=True)
class Around:
    """A look ahead, or ``back`` characters behind."""

    body: "Node"
    negated: bool
    back: int = 0


@final
@dataclass(frozen=True, slots=True)
class Atomic:
    body: "Node"


Node = Chars | Look | Row | Branches | Repeat | Around | Atomic

_ANYTHING = Chars(((0, LAST),))
_AT_EDGE = Look(_ANYTHING, negated=True)
_WORD = Chars(flags=((Flag.WORD, True),))
_CATEGORIES = {
    _constants.CATEGORY_DIGIT: (Flag.DECIMAL, True),
    _constants.CATEGORY_NOT_DIGIT: (Flag.DECIMAL, False),
    _constants.CATEGORY_SPACE: (Flag.SPACE, True),
    _constants.CATEGORY_NOT_SPACE: (Flag.SPACE, False),
    _constants.CATEGORY_WORD: (Flag.WORD, True),
    _constants.CATEGORY_NOT_WORD: (Flag.WORD, False),
}
_KINDS = {
    _constants.MAX_REPEAT: "greedy",
    _constants.MIN_REPEAT: "lazy",
    _constants.POSSESSIVE_REPEAT: "possessive",
}


def _boundary(inside: bool) -> Branches:
    """``\\b``, or ``\\B``: the characters before and after are words both, or neither, or not."""
    sides = [Row((Look(_WORD, one, behind=True), Look(_WORD, one != inside))) for one in (False, True)]
    return Branches(tuple(sides))


_PLACES: dict[Any, Node] = {
    _constants.AT_BEGINNING: Look(_ANYTHING, negated=True, behind=True),
    _constants.AT_BEGINNING_STRING: Look(_ANYTHING, negated=True, behind=True),
    _constants.AT_END: Branches((_AT_EDGE, Around(Row((Chars(((10, 10),)), _AT_EDGE)), negated=False))),
    _constants.AT_END_STRING: _AT_EDGE,
    _constants.AT_BOUNDARY: _boundary(True),
    _constants.AT_NON_BOUNDARY: _boundary(False),
}
_FLAGS = re.IGNORECASE | re.DOTALL | re.UNICODE | re.VERBOSE


@functools.cache
def case_variants(characters: Characters) -> dict[int, tuple[int, ...]]:
    """Code -> all codes that are the same where case is ignored, for those that have others."""
    same = dict(characters.cases.tolist())
    groups: dict[int, set[int]] = {}
    changed = np.flatnonzero(characters.lower != np.arange(LAST + 1))
    for code in {*changed.tolist(), *characters.lower[changed].tolist(), *same}:
        low = int(characters.lower[code])
        groups.setdefault(same.get(low, low), set()).add(code)
    return {code: tuple(sorted(group)) for group in groups.values() for code in group}


@final
class _Reading:
    """Python's parse tree -> nodes."""

    def __init__(self, characters: Characters) -> None:
        self._variants = case_variants(characters)
        self._rules: dict[Any, Callable[[Any, int], Node]] = {
            _constants.LITERAL: lambda code, flags: self._chars([(code, code)], flags),
            _constants.NOT_LITERAL: lambda code, flags: self._chars([(code, code)], flags, negated=True),
            _constants.ANY: lambda _, flags: _ANYTHING if flags & re.DOTALL else Chars(((10, 10),), negated=True),
            _constants.IN: self._set,
            _constants.BRANCH: lambda av, flags: Branches(tuple(self.sequence(branch, flags) for branch in av[1])),
            _constants.SUBPATTERN: self._group,
            _constants.ATOMIC_GROUP: lambda body, flags: Atomic(self.sequence(body, flags)),
            _constants.ASSERT: lambda av, flags: self._around(av, flags, negated=False),
            _constants.ASSERT_NOT: lambda av, flags: self._around(av, flags, negated=True),
            _constants.AT: lambda place, _: _PLACES[place],
            _constants.FAILURE: lambda *_: Look(Chars()),
        }

    def sequence(self, tree: Any, flags: int) -> Node:
        parts = [self._node(op, av, flags) for op, av in tree]
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _node(self, op: Any, av: Any, flags: int) -> Node:
        if op in _KINDS:
            low, high, body = av
            return Repeat(low, min(high, _MANY), _KINDS[op], self.sequence(body, flags))
        if op not in self._rules:
            raise Unsupported(str(op).lower().replace("_", " "))
        return self._rules[op](av, flags)

    def _chars(self, ranges: Sequence[tuple[int, int]], flags: int, negated: bool = False) -> Chars:
        return Chars(tuple(self._in_both_cases(ranges) if flags & re.IGNORECASE else ranges), (), negated)

    def _in_both_cases(self, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        for first, last in ranges:
            yield first, last
            for code in range(first, last + 1) if last - first < len(self._variants) else self._variants:
                if first <= code <= last:
                    yield from ((other, other) for other in self._variants.get(code, ()))

    def _set(self, items: Any, flags: int) -> Chars:
        ranges: list[tuple[int, int]] = []
        properties = []
        negated = False
        for op, av in items:
            if op is _constants.NEGATE:
                negated = True
            elif op is _constants.LITERAL:
                ranges.append((av, av))
            elif op is _constants.RANGE:
                ranges.append(av)
            else:
                properties.append(_CATEGORIES[av])
        return Chars(self._chars(ranges, flags).ranges, tuple(properties), negated)

    def _group(self, av: Any, flags: int) -> Node:
        number, added, removed, body = av
        if number is not None or (added | removed) & ~_FLAGS:
            raise Unsupported("capturing group" if number is not None else "flag of a group")
        return self.sequence(body, (flags | added) & ~removed)

    def _around(self, av: Any, flags: int, negated: bool) -> Node:
        direction, tree = av
        body, behind = self.sequence(tree, flags), direction < 0
        if isinstance(body, Chars):
            return Look(body, negated, behind)
        if body == Row(()):  # what always matches: (?!) never does
            return Look(Chars()) if negated else body
        return Around(body, negated, tree.getwidth()[1] if behind else 0)


def _chars_in(node: Node) -> Iterator[Chars]:
    if isinstance(node, Chars):
        yield node
    elif isinstance(node, Look):
        yield node.chars
    else:
        inner = node.parts if isinstance(node, Row) else node.branches if isinstance(node, Branches) else None
        for part in inner if inner is not None else (node.body,):  # type: ignore[union-attr]
            yield from _chars_in(part)


# ------------------------------------------------------------------------------------------------ classes


def _classes(sets: Sequence[Chars], characters: Characters) -> tuple[Array, list[int]]:
    """The class of every character, uint16 (0x110000,) from 1 on, and each set as bits of classes."""
    edges = {0, LAST + 1}
    for chars in sets:
        edges.update(code for first, last in chars.ranges for code in (first, last + 1))
    told_apart = sum({flag for chars in sets for flag, _ in chars.flags}, start=Flag(0))
    properties = characters.flags & int(told_apart)
    changes = np.flatnonzero(properties[1:] != properties[:-1]) + 1
    starts = np.unique(np.concatenate([np.fromiter(edges, np.int64), changes]))
    members = np.stack([_members(chars, starts[:-1], properties) for chars in sets])
    packed = np.ascontiguousarray(np.packbits(members, axis=0).T)
    kinds, first, numbers = np.unique(
        packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True
    )
    if len(kinds) >= _MOST_CLASSES:
        raise Unsupported(f"{len(kinds)} kinds of characters")
    bits = [sum(1 << int(place) + 1 for place in np.flatnonzero(row)) for row in members[:, first]]
    return np.repeat(numbers.astype(np.uint16) + 1, np.diff(starts)), bits


def _members(chars: Chars, starts: Array, properties: Array) -> Array:
    """Whether the characters from each start on, up to the next one, are in the set."""
    found = np.zeros(len(starts), np.bool_)
    for first, last in chars.ranges:
        found[np.searchsorted(starts, first) : np.searchsorted(starts, last + 1)] = True
    for flag, holds in chars.flags:
        found |= ((properties[starts] & int(flag)) != 0) == holds
    return np.not_equal(found, chars.negated)


def _two_stages(classes: Array) -> tuple[Array, Array]:
    """classes[code] == pages[index[code // BLOCK], code % BLOCK]"""
    known: dict[bytes, int] = {}
    rows = classes.reshape(-1, BLOCK)
    index = [known.setdefault(row.tobytes(), len(known)) for row in rows]
    pages = np.frombuffer(b"".join(known), np.uint16).reshape(-1, BLOCK)
    return np.array(index, np.uint16), pages


# ------------------------------------------------------------------------------------------------ code


def _consumes(node: Node) -> bool:
    """Whether a match is one character long at least."""
    if isinstance(node, Row):
        return any(map(_consumes, node.parts))
    if isinstance(node, Branches):
        return all(map(_consumes, node.branches))
    if isinstance(node, Repeat):
        return node.low > 0 and _consumes(node.body)
    return _consumes(node.body) if isinstance(node, Atomic) else isinstance(node, Chars)


@final
class _Writing:
    """Nodes -> code."""

    def __init__(self, bits: dict[Chars, int], classes: int) -> None:
        self._bits, self._classes = bits, classes
        self._all = (1 << classes) - 1
        self._words = (classes + 63) // 64
        self._places: dict[int, int] = {}
        self.code: list[int] = []

    def expression(self, node: Node) -> int:
        """Write one expression; where it begins."""
        entry = len(self.code)
        self._write(node, self._all)
        self._emit("MATCH")
        return entry

    def first(self, node: Node) -> int:
        """The classes of characters with which a match can begin, as bits."""
        return self._first(node, self._all)

    def sets(self) -> Array:
        """uint64, of each set so many words as bits of all classes need."""
        content = b"".join(bits.to_bytes(8 * self._words, "little") for bits in self._places)
        return np.frombuffer(content, "<u8").astype(np.uint64)

    def _set(self, bits: int) -> int:
        return self._places.setdefault(bits, len(self._places) * self._words)

    def _emit(self, name: str, *operands: int) -> int:
        """The place of the last operand, for a target that is not known yet."""
        assert len(operands) == _OPERANDS[name]
        self.code += (OPCODES[name], *operands)
        if len(self.code) > MOST_CODE:
            raise Unsupported("a long expression")
        return len(self.code) - 1

    def _land(self, places: Iterable[int]) -> None:
        """Targets that were not known: they are here."""
        for place in places:
            self.code[place] = len(self.code)

    # What the next character may be, as bits of classes.

    def _looked_at(self, node: Look) -> int:
        return self._all & ~self._bits[node.chars] if node.negated else self._bits[node.chars]

    def _first(self, node: Node, follow: int) -> int:
        """Without one of these, the node and what follows cannot match."""
        if isinstance(node, Chars):
            return self._bits[node]
        if isinstance(node, Look):
            return follow if node.behind else self._looked_at(node) & follow
        if isinstance(node, Row):
            return self._first_of(node.parts, follow)
        if isinstance(node, Branches):
            return self._union(self._first(branch, follow) for branch in node.branches)
        if isinstance(node, Repeat):
            first = self._first(node.body, self._all)
            return first if node.low else first | follow
        if isinstance(node, Around):
            return follow if node.negated or node.back else self._first(node.body, self._all) & follow
        return self._first(node.body, follow)

    def _first_of(self, parts: tuple[Node, ...], follow: int) -> int:
        if not parts:
            return follow
        rest = self._all if _consumes(parts[0]) else self._first_of(parts[1:], follow)
        return self._first(parts[0], rest)

    def _union(self, many: Iterable[int]) -> int:
        union = 0
        for bits in many:
            union |= bits
        return union

    # One method for each kind of node; `follow` is what the next character may be after it.

    def _write(self, node: Node, follow: int) -> None:
        if isinstance(node, Chars):
            self._emit("CHAR", self._set(self._bits[node]))
        elif isinstance(node, Look):
            self._emit("BEHIND" if node.behind else "LOOK", self._set(self._looked_at(node)))
        elif isinstance(node, Row):
            for place, part in enumerate(node.parts, 1):
                self._write(part, self._first_of(node.parts[place:], follow))
        elif isinstance(node, Branches):
            self._write_branches(node.branches, follow)
        elif isinstance(node, Repeat):
            self._write_repeat(node, follow)
        elif isinstance(node, Around):
            self._write_around(node)
        else:
            hold = self._emit("HOLD", 0)
            self._write(node.body, self._all)  # it gives nothing back, whatever follows
            jump = self._committed()
            self._land([hold])
            self._emit("FAIL")
            self._land([jump])

    def _committed(self) -> int:
        self._emit("COMMIT")
        return self._emit("JUMP", 0)

    def _write_around(self, node: Around) -> None:
        hold = self._emit("HOLD", 0) if node.negated else self._emit("AHEAD")
        if node.back:
            self._emit("BACK", node.back)
        self._write(node.body, self._all)
        self._emit("NOT_END" if node.negated else "AHEAD_END")
        if node.negated:
            self._land([hold])

    def _write_branches(self, branches: tuple[Node, ...], follow: int) -> None:
        firsts = [self._first(branch, follow) for branch in branches]
        if len(branches) >= _DISPATCHED:
            return self._write_dispatch(branches, firsts, follow)
        ends = []
        for place, (branch, first) in enumerate(zip(branches[:-1], firsts, strict=False), 1):
            other = self._choice(first, self._union(firsts[place:]))
            self._write(branch, follow)
            ends.append(self._emit("JUMP", 0))
            self._land([other])
        self._write(branches[-1], follow)
        self._land(ends)
        return None

    def _choice(self, first: int, other: int) -> int:
        """What follows, if the next character fits; where it can also go on elsewhere, that is tried after it."""
        return self._emit("TRY_IF" if first & other else "GUARD", self._set(first), 0)

    def _write_dispatch(self, branches: tuple[Node, ...], firsts: list[int], follow: int) -> None:
        self._emit("DISPATCH")
        table = len(self.code)
        self.code += [0] * self._classes
        starts, ends = [], []
        for branch in branches:
            starts.append(len(self.code))
            self._write(branch, follow)
            ends.append(self._emit("JUMP", 0))
        known: dict[tuple[int, ...], int] = {}
        for number in range(self._classes):
            fitting = tuple(start for start, first in zip(starts, firsts, strict=True) if first >> number & 1)
            if fitting not in known:
                known[fitting] = self._write_tries(fitting)
            self.code[table + number] = known[fitting]
        self._land(ends)

    def _write_tries(self, starts: tuple[int, ...]) -> int:
        """Code that tries branches one after the other; where it begins."""
        if len(starts) == 1:
            return starts[0]
        entry = len(self.code)
        for start in starts[:-1]:
            other = self._emit("TRY", 0)
            self._emit("JUMP", start)
            self._land([other])
        self._emit("JUMP", starts[-1]) if starts else self._emit("FAIL")
        return entry

    def _write_repeat(self, node: Repeat, follow: int) -> None:
        if isinstance(node.body, Chars):
            return self._write_run(node, self._bits[node.body], follow)
        if not _consumes(node.body):
            raise Unsupported("a repeated part that may be empty")
        atomic = node.kind == "possessive"
        again = self._first(node.body, self._all) | follow
        for _ in range(node.low):
            self._write(Atomic(node.body) if atomic else node.body, again)
        ends: list[int] = []
        start = len(self.code)
        for _ in range(1 if node.high >= _MANY else node.high - node.low):
            ends += self._write_round(node, again, follow)
        if node.high >= _MANY:
            self._emit("JUMP", start)
        self._land(ends)
        return None

    def _write_round(self, node: Repeat, again: int, follow: int) -> list[int]:
        """One more round, or none: targets of the end."""
        if node.kind == "lazy":
            round_ = self._emit("TRY", 0)
            end = self._emit("JUMP", 0)
            self._land([round_])
            self._write(node.body, again)
            return [end]
        first = self._first(node.body, self._all)
        if node.kind == "greedy":
            end = self._choice(first, follow)
            self._write(node.body, again)
            return [end]
        ends = [self._emit("GUARD", self._set(first), 0), self._emit("HOLD", 0)]
        self._write(node.body, self._all)
        self._emit("COMMIT")
        return ends

    def _write_run(self, node: Repeat, bits: int, follow: int) -> None:
        chars = self._set(bits)
        if node.low == node.high == 1:
            self._emit("CHAR", chars)
        elif node.kind == "lazy":
            self._emit("RUN_LAZY", chars, node.low, node.high, self._set(follow))
        elif node.kind == "possessive" or not bits & follow or node.low == node.high:
            self._emit("RUN_ALL", chars, node.low, node.high)  # nothing that could be given back would help
        else:
            self._emit("RUN", chars, node.low, node.high, self._set(follow))


def compiled(patterns: Sequence[str], characters: Characters) -> Program:
    """The program of some regular expressions, each of which is matched at a given place."""
    trees = [_parser.parse(pattern) for pattern in patterns]
    for tree in trees:
        if tree.state.flags & ~_FLAGS:
            raise Unsupported("flag of the whole expression")
    reading = _Reading(characters)
    nodes = [reading.sequence(tree, tree.state.flags) for tree in trees]
    sets = list(dict.fromkeys(chars for node in nodes for chars in _chars_in(node)))
    classes, bits = _classes(sets, characters)
    writing = _Writing(dict(zip(sets, bits, strict=True)), int(classes.max()) + 1)
    entries = tuple(writing.expression(node) for node in nodes)
    index, pages = _two_stages(classes)
    widths = tuple((int(low), min(int(high), _MANY)) for low, high in (tree.getwidth() for tree in trees))
    firsts = tuple(writing.first(node) for node in nodes)
    return Program(np.array(writing.code, np.int32), writing.sets(), index, pages, entries, widths, firsts)

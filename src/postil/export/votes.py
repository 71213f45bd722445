"""Rules that vote for entities as sections of an exported model: ``kernels/engine/votes.c`` matches them."""

import sys
from collections.abc import Iterable, Mapping

import numpy as np

from postil.arrays import Array
from postil.models.engine import Sections, refused
from postil.models.model import FittedModel
from postil.models.voting.reliability import Votes
from postil.models.voting.rule import KINDS, SPELLINGS, Choice, Element, ListRule, PatternRule, Rule, Vote

_LIST, _PATTERN = range(2)
_FOLDED = "folded"  # the map of words in patterns; those of lists are named by their flags
_Map = str | tuple[bool, bool]


class _Strings:
    """Strings one after the other, and which characters each map spells them with."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.alphabets: dict[_Map, set[str]] = {}

    def add(self, names: Iterable[str], spelling: _Map | None, in_order: bool = True) -> tuple[int, int]:
        """Place of the first one and their number."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        first = len(self.names)
        self.names += sorted(encoded) if in_order else encoded
        if spelling is not None:
            self.alphabets.setdefault(spelling, set()).update(*names)
        return first, len(encoded)

    def map(self, spelling: _Map) -> int:
        return list(self.alphabets).index(spelling)


def vote_sections(head: FittedModel) -> Sections:
    """The sections of a head's rules; none without rules. Rules that the runtime cannot match are an error."""
    if head.voters is None:
        return {}
    voters, codec, names = head.voters, head.codec, _Strings()
    rows: list[list[int]] = []
    elements: list[list[int]] = []
    lifts: list[Array] = []
    for rule in voters.rules:
        if isinstance(rule, ListRule):
            spelling = rule.ignore_case, rule.variants
            place, count = names.add(rule.keys, spelling)
            rows.append([_LIST, names.map(spelling), place, count, 0, 0])
        else:
            pattern, first, last = _compiled(rule)
            rows.append([_PATTERN, 0, len(elements), len(pattern), first, last])
            elements += [_element(choice, least, most, names) for choice, least, most in pattern]
        assert isinstance(rule, ListRule | PatternRule), "other rules cannot be exported"
        spans = [Vote(rule.name, 0, size, rule.label, rule.negated) for size in (1, 3)]  # only; first, middle, last
        lifts.append(Votes([[span] for span in spans], [1, 3], codec.labels, codec.inner).evidence(voters.reliability))
    maps, codes, spellings = _maps(names.alphabets)
    return {
        "rules": np.array(rows, np.int64),
        "rules/elements": np.array(elements, np.int64).reshape(-1, 8),
        "rules/lifts": np.concatenate(lifts),
        **_joined("rules/names", "rules/offsets", names.names),
        "rules/maps": maps,
        "rules/codes": codes,
        **_joined("rules/spellings", "rules/spelt", spellings),
    }


def _compiled(rule: Rule) -> tuple[list[Element], int, int]:
    if not isinstance(rule, PatternRule):
        raise refused(f"the rule {rule.name!r} (lists and patterns are supported)")
    if not all(element.choice.is_plain for element in rule.compiled[0]):
        raise refused(f"the rule {rule.name!r} (patterns of words and kinds are supported, not expressions and tags)")
    return rule.compiled


def _element(choice: Choice, least: int, most: int, names: _Strings) -> list[int]:
    spelling = _FOLDED if choice.folds else None
    words = names.add(choice.words, spelling)
    parts, _ = names.add([part for pair in choice.parts for part in pair], spelling, in_order=False)
    kind = 1 + list(KINDS).index(choice.kind) if choice.kind else 0
    map = names.map(_FOLDED) if choice.folds else -1
    return [kind, least, most, map, *words, parts, len(choice.parts)]


def _maps(alphabets: Mapping[_Map, set[str]]) -> tuple[Array, Array, list[bytes]]:
    """Of each map, the characters whose spelling has nothing but characters of its names: no other can match."""
    maps: list[tuple[int, int]] = []
    codes: list[int] = []
    spellings: list[bytes] = []
    for spelling, alphabet in alphabets.items():
        first = len(codes)
        for code in range(sys.maxunicode + 1):
            spelt = chr(code).casefold() if isinstance(spelling, str) else SPELLINGS[spelling][code]
            if alphabet.issuperset(spelt):
                codes.append(code)
                spellings.append(spelt.encode("utf-8", "surrogatepass"))
        maps.append((first, len(codes) - first))
    return np.array(maps, np.int64).reshape(-1, 2), np.array(codes, np.int32), spellings


def _joined(text: str, offsets: str, parts: list[bytes]) -> Sections:
    ends = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return {text: np.frombuffer(b"".join(parts), np.uint8), offsets: ends}

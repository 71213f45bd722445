"""Made-up labelled sentences and trees: nobody's data, small, and hard enough to need the context.

A grammar of a few dozen rules writes about people, places and organisations. Many names are all three ("Paris Hilton
flew to Paris", "Paris Electric"): what a word is depends on its neighbours, and now and then they do not tell. Every
third name is kept out of training data, so that a model must judge it by its shape and its place.

The trees are opinions, half of them turned around ("not bad at all", "hardly a good one"), or one against the other
("dull but the end is moving"). Every word is as often in good opinions as in bad ones, so no word alone tells anything.
A third of the pairs of a negation and a word are kept out of training data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from postil.text import Span, Tree, labels_from_spans

CLASSES = ("PER", "LOC", "ORG")

# Names that may be a person's first name, a place, or a part of an organisation's name.
_BOTH = """Paris Jordan Washington Chelsea Florence Austin Sydney Victoria Lincoln Chad Georgia Madison Charlotte
    Savannah Brooklyn Adelaide Carolina Dakota Geneva Kingston Milan Odessa Phoenix Troy Verona""".split()
_FIRST = """Anna Boris Clara Diego Edda Farid Greta Hugo Ines Jonas Kira Leif Mona Nadim Olga Pavel Rosa Sven Tara Umar
    Vera Wanda Yusuf Zoe""".split()
_PLACES = """Berlin Lima Oslo Tunis Quito Turin Bergen Malmo Porto Riga Dakar Hanoi Cairo Perth Leeds Bristol Zagreb
    Tampa Nairobi Seville Gdansk Ottawa Havana Kyoto""".split()
# Family names, some of which are places or makers of things as well.
_LAST = """Hilton London Moss Reed Stone Vale Banks Marsh Ford Lima Berlin Kent Frost Wells York Chester Hale Bosch
    Nokes Perez Okafor Tanaka Lindt Hart""".split()
# First names that are ordinary words too, and begin sentences as such.
_ORDINARY = """Hope Grace May Rose Summer Ivy Dawn Faith Joy""".split()
_MAKERS = """Acorn Nimbus Delphi Orbit Falcon Harbour Summit Pioneer Meridian Beacon Cobalt Juniper""".split()

# Words in capitals are symbols of the grammar below.
_SENTENCES = """\
# The words next to a name tell what it is.
THINGS in LOC are QUALITY .
THINGS in LOC are QUALITY .
the THINGS of LOC are QUALITY .
PER MOVED to LOC .
PER MOVED to LOC DAY .
PER MOVED from LOC to LOC with PER .
PER lives in LOC and VERB THINGS .
PER , AGE , VERB THINGS in LOC .
in LOC , PER VERB THINGS .
PER and PER VERB the THINGS of LOC .
PER of LOC VERB PER .
a friend of PER VERB LOC .
PER joined ORG in YEAR .
PER works for ORG in LOC .
ORG hired PER DAY .
PER left ORG for ORG .
ORG opened NUMBER shops in LOC .
ORG of LOC lost NUMBER million .
shares of ORG fell DAY .
ORG beat ORG NUMBER to NUMBER .
ORG lost to ORG in LOC .
ORG and ORG will merge in YEAR .
the ORG office in LOC is QUALITY .
NUMBER people from LOC work for ORG .
# One name or two?
the LOC ORG office is QUALITY .
ORG of LOC hired PER and PER .
DAY PER VERB THINGS .
PER and PER are QUALITY .
# An ordinary word or a name?
WORD is what PER wants .
WORD is QUALITY .
WORD was QUALITY in LOC .
WORD came late in YEAR .
WORD is not for sale .
# Nothing in these tells what the name is.
ANY won DAY .
ANY was QUALITY in YEAR .
nobody VERB ANY .
ANY VERB ANY .
more about ANY DAY .
ANY lost again .
what ANY wants is QUALITY .
THINGS for ANY and ANY .
ANY , ANY and ANY were QUALITY .
# The first word of a sentence has a capital anyway.
Museums in LOC are QUALITY .
Yesterday PER MOVED to LOC .
Shares of ORG rose .
Nobody VERB PER .
THINGS are QUALITY DAY .
NUMBER THINGS were QUALITY in YEAR .
"""

# Symbols are on the left, alternatives on the right; anything else is a word. An alternative that is written
# twice is drawn twice as often.
_GRAMMAR: Mapping[str, Sequence[str]] = {
    "PER": ["FIRST LAST", "FIRST LAST", "FIRST LAST", "FIRST", "FIRST", "TITLE LAST", "LAST", "FIRST INITIAL LAST"],
    "LOC": ["PLACE", "PLACE", "PLACE", "PLACE", "WHERE PLACE", "PLACE FEATURE"],
    "ORG": [
        *["PLACE BUSINESS", "LAST BUSINESS", "MAKER BUSINESS", "MAKER", "University of PLACE", "Bank of PLACE"],
        *["PLACE CLUB", "PLACE CLUB", "LAST & LAST", "FIRST LAST Foundation", "PLACE", "LAST"],
    ],
    "FIRST": ["GIVEN", "GIVEN", "EITHER", "EITHER", "WORD"],
    "PLACE": ["TOWN", "TOWN", "EITHER"],
    "GIVEN": _FIRST,
    "WORD": _ORDINARY,
    "EITHER": _BOTH,
    "TOWN": _PLACES,
    "LAST": _LAST,
    "MAKER": _MAKERS,
    "TITLE": ["Mr", "Ms", "Dr", "Professor", "Judge"],
    "INITIAL": ["A.", "B.", "J.", "M.", "T."],
    "WHERE": ["North", "South", "Port", "Mount", "New"],
    "FEATURE": ["Bay", "Valley", "Island", "Airport", "Street"],
    "BUSINESS": ["Electric", "Airlines", "Foods", "Motors", "Press", "Steel", "Insurance", "Holdings"],
    "CLUB": ["United", "Rovers", "City", "Athletic"],
    "S": [line for line in _SENTENCES.splitlines() if not line.startswith("#")],
    "ANY": ["PER", "LOC", "ORG"],
    "THINGS": "museums cafés bridges parks gardens markets streets theatres trains hotels".split(),
    "QUALITY": "amazing quiet crowded lovely famous dull expensive open closed".split(),
    "MOVED": "flew drove walked travelled returned moved sailed".split(),
    "VERB": "likes paints remembers describes studied praised visited met sold wants".split(),
    "DAY": ["today", "yesterday", "on Monday", "on Friday", "last week", "in May"],
    "YEAR": ["1987", "1999", "2004", "2016", "2023"],
    "AGE": ["27", "35", "48", "61"],
    "NUMBER": ["2", "3", "7", "12", "31", "48", "150", "900"],
}
_NAMES = ("GIVEN", "EITHER", "WORD", "TOWN", "LAST", "MAKER")
# What training data hold of each list of names.
_KNOWN_NAMES = {symbol: [word for i, word in enumerate(_GRAMMAR[symbol]) if i % 3 != 2] for symbol in _NAMES}


@dataclass(frozen=True)
class LabelledSentence:
    """Words and their labels in BIO."""

    tokens: tuple[str, ...]
    labels: tuple[str, ...]


def made_up_sentences(count: int, rng: np.random.Generator, *, new_names: bool = False) -> list[LabelledSentence]:
    """``count`` sentences drawn from the grammar; with ``new_names`` also from the names that training data lack."""
    grammar = _GRAMMAR if new_names else {**_GRAMMAR, **_KNOWN_NAMES}
    sentences = []
    for _ in range(count):
        tokens: list[str] = []
        spans: list[Span] = []
        _write("S", grammar, rng, tokens, spans)
        sentences.append(LabelledSentence(tuple(tokens), tuple(labels_from_spans(spans, len(tokens), "bio"))))
    return sentences


def _write(
    symbol: str, grammar: Mapping[str, Sequence[str]], rng: np.random.Generator, tokens: list[str], spans: list[Span]
) -> None:
    """Put the words of a symbol behind ``tokens``, and the span of an entity behind ``spans``."""
    if symbol not in grammar:
        tokens.append(symbol)
        return
    start = len(tokens)
    for part in grammar[symbol][int(rng.integers(len(grammar[symbol])))].split():
        _write(part, grammar, rng, tokens, spans)
    if symbol in CLASSES:
        spans.append(Span(symbol, start, len(tokens)))


GOOD, BAD, NEITHER = "good", "bad", "neither"
_OPPOSITE = {GOOD: BAD, BAD: GOOD}
_QUALITIES = {
    GOOD: "good funny moving clever charming fresh honest lively witty warm elegant gripping".split(),
    BAD: "bad dull boring silly clumsy stale false noisy tedious cold confused lazy".split(),
}
_NEGATIONS = ("not", "never", "hardly", "far from")
_DEGREES = ("very", "really", "rather", "quite")
_WHAT = "film plot end cast music story joke scene".split()

# Nested tuples, as Tree.of takes them: the label, then a word or two parts.
_Nested = tuple[object, ...]


def made_up_trees(count: int, rng: np.random.Generator, *, new_pairs: bool = False) -> list[Tree]:
    """``count`` opinions with a label at every node; with ``new_pairs`` also negations that training data lack."""
    trees = []
    for _ in range(count):
        label = _drawn((GOOD, BAD), rng)
        opinion = _statement(label, rng, new_pairs)
        if rng.random() >= 0.8:
            before = _statement(_OPPOSITE[label], rng, new_pairs)
            opinion = (label, before, (label, _plain("but"), opinion))
        trees.append(Tree.of(opinion))
    return trees


def _statement(label: str, rng: np.random.Generator, new_pairs: bool) -> _Nested:
    """The film is …; half of the statements say what they say by a negation."""
    subject = _plain(f"{_drawn(('the', 'this'), rng)} {_drawn(_WHAT, rng)}")
    predicate: _Nested
    if rng.random() < 0.5:
        said = _OPPOSITE[label]
        number = int(rng.integers(len(_QUALITIES[said])))
        allowed = [word for i, word in enumerate(_NEGATIONS) if new_pairs or (i + number) % 3 != 2]
        predicate = (said, _QUALITIES[said][number])
        ending = int(rng.integers(3))
        if ending == 1:
            predicate = (said, predicate, _plain("at all"))
        elif ending == 2:
            predicate = (said, _plain("a"), (said, predicate, _plain("one")))
        predicate = (label, _plain(_drawn(allowed, rng)), predicate)
    else:
        predicate = (label, _drawn(_QUALITIES[label], rng))
        form = int(rng.integers(3))
        if form == 1:
            predicate = (label, _plain(_drawn(_DEGREES, rng)), predicate)
        elif form == 2:
            predicate = (label, _plain("a"), (label, predicate, _plain("one")))
    return (label, subject, (label, _plain("is"), predicate))


def _plain(words: str) -> _Nested:
    """One word or two that say neither."""
    first, _, second = words.partition(" ")
    return (NEITHER, (NEITHER, first), (NEITHER, second)) if second else (NEITHER, first)


def _drawn(words: Sequence[str], rng: np.random.Generator) -> str:
    return words[int(rng.integers(len(words)))]

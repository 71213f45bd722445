"""The language and script of words, as far as they show it, and the rules that cut such text.

Only English has special rules. Whether words are English decides about the rules and the normalisation of a model
that is trained on them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from postil.text.splitting.rules import NEUTRAL, NEUTRAL_SENTENCES
from postil.text.splitting.segmenter import ENGLISH, Segmenter

_FUNCTION_WORDS = frozenset("the and that with from this are have which they".split())
"""Of English, and of few other languages."""
_ENOUGH, _FEW, _OTHER_LETTERS = 1000, 0.02, 0.01
_SAMPLE = 20_000
_HAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC")
_NAMES = dict(
    re.findall(
        r"(\w+) (\w+)",
        "af Afrikaans ar Arabic be Belarusian bg Bulgarian ca Catalan cs Czech cy Welsh da Danish de German el Greek "
        "en English es Spanish et Estonian eu Basque fa Persian fi Finnish fr French ga Irish gl Galician he Hebrew "
        "hi Hindi hr Croatian hu Hungarian hy Armenian id Indonesian is Icelandic it Italian ja Japanese ka Georgian "
        "kk Kazakh ko Korean la Latin lt Lithuanian lv Latvian nl Dutch no Norwegian pl Polish pt Portuguese "
        "ro Romanian ru Russian sk Slovak sl Slovenian sr Serbian sv Swedish ta Tamil te Telugu th Thai tl Tagalog "
        "tr Turkish ug Uyghur uk Ukrainian ur Urdu vi Vietnamese zh Chinese",
    )
)
_UD_FILE = re.compile(r"([a-z]{2,3})_[a-z0-9]+-ud-")
_WORD = re.compile(r"\w+")
_INNER_APOSTROPHE, _INNER_HYPHEN = re.compile(r"\w['’]\w"), re.compile(r"\w-\w")


def looks_english(words: Mapping[str, int]) -> bool:
    """Whether neither letters outside of ASCII nor many words without the commonest English ones speak against it."""
    total = sum(words.values())
    english = sum(times for word, times in words.items() if word.lower() in _FUNCTION_WORDS)
    if english > _FEW * total:
        return True
    letters = others = 0
    for word, times in words.items():
        letters += times * len(word)
        if not word.isascii():
            others += times * sum(one.isalpha() and not one.isascii() for one in word)
    return others <= _OTHER_LETTERS * letters and total < _ENOUGH


def rules_for(words: Mapping[str, int]) -> Segmenter:
    """Rules for raw text like the training words: those of English, or neutral ones that cut as those words are cut."""
    if looks_english(words):
        return ENGLISH
    counts: Counter[str] = Counter()
    for word, times in words.items():
        if word in ("-", "'", "’"):
            counts["hyphen" if word == "-" else "other"] += times
        elif len(word) > 1 and word[-1] in "'’" and word[-2].isalpha():
            counts["ends"] += times
        else:
            counts["apostrophe"] += times * bool(_INNER_APOSTROPHE.search(word))
            counts["hyphenated"] += times * bool(_INNER_HYPHEN.search(word))
    rules = replace(
        NEUTRAL,
        hyphens="split" if counts["hyphen"] > counts["hyphenated"] and not counts["hyphenated"] else "keep",
        apostrophes="end" if counts["ends"] > max(counts["apostrophe"], sum(words.values()) / 1000) else "keep",
    )
    return Segmenter(NEUTRAL if rules == NEUTRAL else rules, NEUTRAL_SENTENCES)


def rules_for_texts(texts: Iterable[str]) -> Segmenter:
    """Rules for raw texts: those of English, or neutral ones."""
    words = Counter(word for text in texts for word in _WORD.findall(text))
    return ENGLISH if looks_english(words) else Segmenter(NEUTRAL, NEUTRAL_SENTENCES)


def script_of(text: Iterable[str]) -> str | None:
    """The script of most letters of a text or of words, such as ``Latin`` or ``Han``; None if there are no letters."""
    counts: Counter[str] = Counter()
    for letter, times in Counter("".join(islice(text, _SAMPLE))[:_SAMPLE]).items():
        if letter.isalpha():
            name = unicodedata.name(letter, "OTHER").split(" ")[0].split("-")[0] if letter > "\x7f" else "LATIN"
            counts["HAN" if name in _HAN else name] += times
    return counts.most_common(1)[0][0].capitalize() if counts else None


def language_of_file(name: str) -> str | None:
    """The language of a file of Universal Dependencies by its name, such as ``da_ddt-ud-train.conllu``: Danish."""
    found = _UD_FILE.match(name)
    return _NAMES.get(found.group(1), found.group(1)) if found else None

"""Features for CRFsuite: those of its tutorials, and rich ones as a careful user writes them."""

import re


def tutorial_features(words: list[str]) -> list[list[str]]:
    """The word, its case and endings, and the case of two neighbours on each side; no parts of speech."""
    return [_tutorial_row(words, i) for i in range(len(words))]


def _tutorial_row(words: list[str], i: int) -> list[str]:
    word = words[i]
    row = [
        "bias",
        f"word.lower={word.lower()}",
        f"word[-3:]={word[-3:]}",
        f"word[-2:]={word[-2:]}",
        f"word.isupper={word.isupper()}",
        f"word.istitle={word.istitle()}",
        f"word.isdigit={word.isdigit()}",
    ]
    for place in (-2, -1, 1, 2):
        if 0 <= i + place < len(words):
            other = words[i + place]
            row += [
                f"{place}:word.lower={other.lower()}",
                f"{place}:word.istitle={other.istitle()}",
                f"{place}:word.isupper={other.isupper()}",
            ]
    row += ["BOS"] if i == 0 else []
    row += ["EOS"] if i == len(words) - 1 else []
    return row


def shape(word: str) -> str:
    return re.sub(r"\d", "0", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", word)))


def short_shape(word: str) -> str:
    return re.sub(r"(.)\1+", r"\1", shape(word))


def rich_features(words: list[str]) -> list[list[str]]:
    """The word, its case, shapes, prefixes and suffixes to four characters, two neighbours on each side, bigrams."""
    return [_rich_row(words, i) for i in range(len(words))]


def _rich_row(words: list[str], i: int) -> list[str]:
    row = _own(words[i])
    for place in (-2, -1, 1, 2):
        if 0 <= i + place < len(words):
            row += _beside(words[i + place], place)
    for place, first, second in ((-1, i - 1, i), (1, i, i + 1)):
        if first >= 0 and second < len(words):
            row.append(f"pair{place}={words[first].lower()}|{words[second].lower()}")
            row.append(f"shapes{place}={short_shape(words[first])}|{short_shape(words[second])}")
    row += ["first"] if i == 0 else []
    row += ["last"] if i == len(words) - 1 else []
    return row


def _own(word: str) -> list[str]:
    low = word.lower()
    affixes = [f"p{n}={word[:n]}" for n in range(1, 5)] + [f"s{n}={low[-n:]}" for n in range(1, 5)]
    case = [f"upper={word.isupper()}", f"title={word.istitle()}", f"digit={word.isdigit()}"]
    signs = [f"hyphen={'-' in word}", f"number={any(c.isdigit() for c in word)}"]
    spellings = [f"w={word}", f"low={low}", f"shape={shape(word)}", f"short={short_shape(word)}"]
    return ["bias", *spellings, *affixes, *case, *signs]


def _beside(word: str, place: int) -> list[str]:
    low = word.lower()
    values = (low, short_shape(word), low[-3:], low[:3], word.istitle(), word.isupper())
    return [f"{place}:{i}={value}" for i, value in enumerate(values)]


FEATURES = {"tutorial": tutorial_features, "rich": rich_features}

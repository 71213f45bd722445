"""The table of readable examples, and what must hold for any text."""

import re
import time
from dataclasses import fields, replace
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.kernels.plain_segmentation import ChunkCache, Cuts
from postil.text import TokenRules, tokenise
from postil.text.splitting.rules import DEFAULT, token_patterns

# Text -> its tokens, set apart by single spaces.
EXAMPLES = {
    "sentence": ("The cat sat.", "The cat sat ."),
    "comma and bracket": ("Yes, (he said) no;", "Yes , ( he said ) no ;"),
    # contractions
    "not": ("I don't, can't and won't", "I do n't , ca n't and wo n't"),
    "cannot": ("She cannot, CANNOT go", "She can not , CAN NOT go"),
    "pronouns": ("I'm you're he'll we've they'd it's", "I 'm you 're he 'll we 've they 'd it 's"),
    "typographic": ("don’t it’s O’Neill’s", "do n’t it ’s O’Neill ’s"),
    "full width": ("don＇t", "do n＇t"),
    "capitals": ("IT'S DON'T", "IT 'S DO N'T"),
    "twofold": ("I'd've couldn't've", "I 'd 've could n't 've"),
    "possessive": ("Ann's the soldiers' U.S.'s", "Ann 's the soldiers ' U.S. 's"),
    "no apostrophe": ("dont im thats havent", "do nt i m that s have nt"),
    "spoken": ("gonna wanna gotta dunno", "gon na wan na got ta du n no"),
    "tis": ("'tis 'Twas", "'t is 'T was"),
    "elided": ("rock 'n roll, get 'em in the '60s", "rock 'n roll , get 'em in the '60s"),
    "inner apostrophe": ("O'Brien o'clock d'état ma'am", "O'Brien o'clock d'état ma'am"),
    "tokenised before": ("do n't Ann 's", "do n't Ann 's"),
    # abbreviations
    "titles": ("Mr. and Mrs. Smith, Dr. No, St. Ives", "Mr. and Mrs. Smith , Dr. No , St. Ives"),
    "companies": ("Acme Inc., Foo Corp.", "Acme Inc. , Foo Corp."),
    "acronyms": ("the U.S. at 5 p.m., e.g. D.C.", "the U.S. at 5 p.m. , e.g. D.C."),
    "acronym without its last period": ("the U.S-led a.k.a", "the U.S - led a.k.a"),
    "initials": ("J. K. Rowling, George W. Bush, J.Smith", "J. K. Rowling , George W. Bush , J. Smith"),
    "a letter at the end": ("vitamin C.", "vitamin C ."),
    "a letter before a small one": ("plan B. then", "plan B . then"),
    "I is no initial": ("So do I. Then", "So do I . Then"),
    "before a number": ("No. 5, pp. 3 and vol.  7", "No. 5 , pp. 3 and vol. 7"),
    "the same words": ("No. Sat. The fig.", "No . Sat . The fig ."),
    "a word like one": ("He sat. The sun.", "He sat . The sun ."),
    "abbreviation and ellipsis": ("cats etc... Inc..", "cats etc ... Inc. ."),
    # numbers
    "decimals": ("3.5 1,000 1,234.56 .75", "3.5 1,000 1,234.56 .75"),
    "money": ("$5 £3.50 US$20 5€", "$ 5 £ 3.50 US$ 20 5 €"),
    "percent": ("50% 0.5%", "50 % 0.5 %"),
    "times and dates": ("10:30 12:05:59 08/16/2000 2005-03-09", "10:30 12:05:59 08/16/2000 2005-03-09"),
    "telephone": ("555-1234 303-555-0199 +44", "555-1234 303-555-0199 +44"),
    "ranges": ("13-17 1990-1995", "13 - 17 1990 - 1995"),
    "ordinals and decades": ("4th 22nd 1990s 70's", "4th 22nd 1990s 70's"),
    "units": ("5pm 375mm 24hrs 650k", "5 pm 375 mm 24 hrs 650 k"),
    "letters in numbers": ("R2D2 3G 4105SF", "R2D2 3G 4105SF"),
    "number at the end": ("in 1999. (7) 3,", "in 1999 . ( 7 ) 3 ,"),
    # the web
    "url": ("See http://a.org/b?c=d&e#f. OK", "See http://a.org/b?c=d&e#f . OK"),
    "url in brackets": ("(https://a.org/x)", "( https://a.org/x )"),
    "url with brackets": ("http://a.org/x_(y), z", "http://a.org/x_(y) , z"),
    "url in quotes": ('"www.a.org/b", <ftp://c.d>', '" www.a.org/b " , < ftp://c.d >'),
    "url and marks": ("http://a.org/b...", "http://a.org/b ..."),
    "domain": ("at example.com, irc.example.net.", "at example.com , irc.example.net ."),
    "file": ("my_letter.doc (a.PDF) .docx", "my_letter.doc ( a.PDF ) .docx"),
    "dotted name": ("alt.animals.cats os.path.join", "alt.animals.cats os.path.join"),
    "version": ("v1.2.3. pH7.5", "v1.2.3 . pH7.5"),
    "missing space": ("the end.The start", "the end . The start"),
    "email": ("<jo.doe+x@mail.example.org>, jo@corp.", "< jo.doe+x@mail.example.org > , jo@corp ."),
    "hashtag and mention": ("#nlp, @jo: #1", "#nlp , @jo : # 1"),
    "emoticons": ("Hi :) ok :-( ;D >:( <3 ^_^ :)))", "Hi :) ok :-( ;D >:( <3 ^_^ :)))"),
    "glued emoticon": ("thanks:) cool:-)", "thanks :) cool :-)"),
    "no emoticon": ("so:(a) 10:30 a:b x=3", "so : ( a ) 10:30 a : b x = 3"),
    # hyphens, dashes, slashes
    "compound": ("a well-known state-of-the-art", "a well - known state - of - the - art"),
    "number compound": ("15-year F-16", "15 - year F - 16"),
    "prefixes": ("e-mail non-human re-run Anti-American", "e-mail non-human re-run Anti-American"),
    "prefix in a chain": ("pro-same-sex", "pro-same - sex"),
    "prefix and contraction": ("co-author's", "co-author 's"),
    "dashes": ("yes--no a – b—c", "yes -- no a – b — c"),
    "slashes": ("and/or b/c w/o w/ me", "and / or b/c w/o w/ me"),
    "ampersand": ("AT&T R&D black&white A &amp; B", "AT&T R&D black & white A &amp; B"),
    # quotes and marks
    "double quotes": ('"Go," he said. "Now!"', '" Go , " he said . " Now ! "'),
    "typographic quotes": ("“Go,” ‘now’ «si»", "“ Go , ” ‘ now ’ « si »"),
    "single quotes": ("'proof' 'head", "' proof ' ' head"),
    "treebank quotes": ("``Go'' said", "`` Go '' said"),
    "ellipses": ("so... well…then .. [...]", "so ... well … then .. [ ... ]"),
    "shouting": ("What?! No!!! Eh??", "What ?! No !!! Eh ??"),
    "brackets": ("((a)) [b] {c}", "( ( a ) ) [ b ] { c }"),
    "rulers": ("===== *** ____ -----", "===== *** ____ -----"),
    "arrows and shifts": ("<< File >>", "<< File >>"),
    # beyond ASCII
    "accents": ("Déjà vu, cafe\u0301s", "Déjà vu , cafe\u0301s"),
    "Devanagari": ("हिन्दी में।", "हिन्दी में ।"),
    "soft hyphen": ("basic\u00adally", "basic\u00adally"),
    "emoji": ("ok😀😀 👍🏽! 👩‍👩‍👧 🇫🇷🇩🇪 ❤️", "ok 😀 😀 👍🏽 ! 👩‍👩‍👧 🇫🇷 🇩🇪 ❤️"),
    "no-break space": ("10\u00a0km\u3000x", "10 km x"),
}


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_example(text: str, expected: str) -> None:
    assert tokenise(text).tokens == expected.split(" ")


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0\u2028"])
def test_nothing_but_space_has_no_tokens(text: str) -> None:
    tokens = tokenise(text)
    assert (tokens.text, tokens.tokens, tokens.starts, tokens.ends) == (text, [], [], [])
    assert len(tokens) == 0


# Any code point, and pieces on which the rules meet one another.
MARKS = st.sampled_from(".,'’-$%#@()[]\"“”&/_*=:<…")
WORDS = st.sampled_from(
    ["a", "A", "I", "J.", "U.S.", "No.", "Mr.", "etc.", "n't", "'s", "cannot", "dunno", "re-", "pm", "k"]
)
STRANGE = st.sampled_from("\x00\ud800\udc00\u0301\u200d\ufe0f😀🏽🇫")
NUMBERS_AND_ADDRESSES = st.sampled_from(["5", "1,000", "3.5", "10:30", "http://", "www.", ".com", "a@b.c", ":-(", "<3"])
SPACES = st.sampled_from([" ", "  ", "\n", "\t", "\u00a0", "\x1c"])
PIECES = MARKS | WORDS | STRANGE | NUMBERS_AND_ADDRESSES | SPACES
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60) | st.lists(PIECES, max_size=25).map("".join)
ANY_RULES = st.sampled_from(
    [
        DEFAULT,
        TokenRules(hyphens="keep"),
        TokenRules(urls=False, emails=False, hashtags_and_mentions=False, emoticons=False),
        TokenRules(**{field.name: () for field in fields(TokenRules) if isinstance(field.default, tuple)}),
        TokenRules(extra_patterns=(r"\[\w+\]", "a+")),
    ]
)


@given(ANY_TEXT, ANY_RULES)
def test_every_character_that_is_not_space_is_in_exactly_one_token(text: str, rules: TokenRules) -> None:
    tokens = tokenise(text, rules)
    assert tokens.tokens == [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    covered = [
        position for start, end in zip(tokens.starts, tokens.ends, strict=True) for position in range(start, end)
    ]
    assert covered == [position for position, character in enumerate(text) if not character.isspace()]
    assert all(tokens.tokens)


@given(ANY_TEXT, ANY_RULES)
def test_kept_cuts_agree_with_scanning_every_chunk(text: str, rules: TokenRules) -> None:
    scan = re.compile(token_patterns(rules).token).finditer
    chunks = text.split()
    expected = []
    for chunk, following in zip_longest(chunks, chunks[1:], fillvalue=""):
        matches = scan(f"{chunk} {following[:1]}")
        expected += [match[0] for match in matches if match.end() <= len(chunk)]
    assert tokenise(text, rules).tokens == expected


@given(ANY_TEXT)
def test_offsets_in_other_units_cut_the_same_tokens(text: str) -> None:
    tokens = tokenise(text)
    as_bytes, as_units = text.encode("utf-8", "surrogatepass"), text.encode("utf-16-le", "surrogatepass")
    for token, start, end in zip(tokens.tokens, *tokens.utf8(), strict=True):
        assert as_bytes[start:end] == token.encode("utf-8", "surrogatepass")
    for token, start, end in zip(tokens.tokens, *tokens.utf16(), strict=True):
        assert as_units[2 * start : 2 * end] == token.encode("utf-16-le", "surrogatepass")


def test_cuts_survive_when_more_chunks_come_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cuts, "MOST_CHUNKS", 3)
    monkeypatch.setattr(ChunkCache, "BUCKETS", 1)
    rules = replace(DEFAULT, units=("few",))  # rules of its own: an empty table
    words = [f"{letter}{letter}n't" for letter in "abcdefg"]
    expected = [part for word in words for part in (word[:-3], "n't")]
    for _ in range(3):
        assert tokenise(" ".join(words), rules).tokens == expected


# One character of each kind, and pairs that make a rule begin again at every token.
REPEATED = [*"aA1.,'’\"-_/:@#&(<^$+=`é\u0301\u200d😀🇫\x00\ud800你"]
REPEATED += ["a.", "a-", "a'", "1.", "1-", "1/", "a@", ":(", "n't", "A.", "www.", "http://", "^_", "a&", "#1", "re-"]


@pytest.mark.parametrize("unit", REPEATED)
@pytest.mark.parametrize("last", ["", "1x"])  # "1x" makes a chain of numbers or names fail at its end
def test_time_grows_with_the_text_not_faster(unit: str, last: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit)) + last
        start = time.process_time()
        tokens = tokenise(text)
        assert "".join(tokens.tokens) == text
        return time.process_time() - start

    # Quadratic growth would take 400 times as long; 0.002 s forgives the clock of a busy machine.
    assert seconds(20_000) < 100 * (seconds(1_000) + 0.002)


# TokenRules


def test_rules_change_what_they_name() -> None:
    def cut(text: str, **changes: object) -> str:
        return " ".join(tokenise(text, replace(DEFAULT, **changes)).tokens)

    assert cut("well-known don't", hyphens="keep") == "well-known do n't"
    assert cut("the co-author's re-run-time's", hyphens="keep") == "the co-author 's re-run-time 's"
    assert cut("don't", contractions=()) == "don't"
    assert cut("cannot", fused=()) == "cannot"
    assert cut("y'all", fused=("y'|all",)) == "y' all"
    assert cut("12psi", units=("psi",)) == "12 psi"
    assert cut("Approx. ten", abbreviations=[]) == "Approx . ten"
    assert cut("ten Zzz. more", abbreviations={"zzz"}) == "ten Zzz. more"
    assert cut("non-human", hyphen_prefixes=()) == "non - human"
    assert cut("a.zzz", name_endings=("zzz",)) == "a.zzz"
    assert cut("get 'em", elisions=()) == "get ' em"
    assert cut("http://a.b", urls=False) == "http : / / a.b"
    assert cut("x@y", emails=False, hashtags_and_mentions=False) == "x @ y"
    assert cut("#x @y", hashtags_and_mentions=False) == "# x @ y"
    assert cut("hi :)", emoticons=False) == "hi : )"
    assert cut("see [[x]] C++.", extra_patterns=(r"\[\[\w+\]\]", r"C\+\+")) == "see [[x]] C++ ."

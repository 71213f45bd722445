"""Pieces of text on which the rules of tokeniser and splitter meet one another, and texts made of them."""

from hypothesis import strategies as st

# ruff: noqa: E501 - lists of pieces
# Name of an alternative of the tokeniser's expression -> pieces that it takes, or nearly takes.
FRAGMENTS = {
    "extra": ["[MASK]", "aaa", "C++"],
    "url": ["http://a.org/b_(c).", "https://x", "WWW.a.b,", "ftp://q?d=e&f#g...", "http://(", "www.”", "http://a.b/[c]'d"],
    "email": ["jo.doe+x@mail.example.org", "mailto:a@b", "a@", "@@", "x" * 70 + "@y", "%-@é.é"],
    "hashtag or mention": ["#nlp", "#1", "#1a", "@jo", "@a.b-c", "x#y", "#é", "#٣"],
    "emoticon": [":)", ":-(", ";D", ">:(", "<3", "^_^", ":)))", "=P", ":'(", "<:]", "1:)", ":))))))))))", "<34", "^__x"],
    "abbreviation": ["Mr.", "MR.", "etc.", "etc...", "e.g.", "U.S.", "a.k.a", "J.", "I.", "No.", "pp.3", "p.", "K.", "J.Smith"],
    "dotted name": ["example.com", "a.PDF", ".docx", "os.path.join", "v1.2.3", "pH7.5", "a.b", "x-y.org-", "K.io", "ſ.exe"],
    "number": ["1,000", "3.5", ".75", "+44", "10:30", "08/16/2000", "555-1234", "2005-03-09", "5pm", "24hrs", "70's", "٣", "5k", "5ſec"],
    "clitic": ["n't", "'s", "’ll", "'D", "'s ", "x's", "n＇t", "'ſ", ".'s"],
    "elision": ["'em", "'60s", "'n'", "'til", "'tilt", "’90s"],
    "fused": ["cannot", "CANNOT", "gonna", "dunno", "'tis", "dont", "im", "can’t", "dıd", "thatſ", "cannott"],
    "short with sign": ["AT&T", "&amp;", "b/c", "w/", "US$", "R&D&x", "a&b&cdef"],
    "word": ["word", "O'Brien", "d'état", "re-run", "Anti-x", "e-mail's", "basic\u00adally", "हिन्दी", "ab\u200dc", "x_y", "well-known"],
    "run of marks": ["...", "?!", "--", "=====", "<<", "''", "``", "’’", ",,", "$$", "…!", "~~", "|-+"],
    "one character": ["😀", "👍🏽", "👩‍👩‍👧", "🇫🇷🇩🇪", "❤️", "é\u0301", "\u0301", "!", "(", "。", "\x00", "你", "\U000e0061", "ª", "ǅ", "İ", "Σ"],
}
SENTENCE_PIECES = ["! ", ". ", "? ", "… ", ".) ", '." ', ".' ", "The ", "these ", "1. ", "(a) ", "- ", "• ", "12) ", "Inc. The ", "Yahoo! is ", "。", "！"]
SPACES = [" ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\x1c", "\x85", "\u2028", "\u2029", "\f", "\u1680", "\u205f", " \n \n"]
PIECES = st.sampled_from([piece for pieces in FRAGMENTS.values() for piece in pieces])
MADE = st.lists(PIECES | st.sampled_from(SPACES) | st.sampled_from(SENTENCE_PIECES), max_size=30).map("".join)
ANY_CHARACTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
TEXTS = MADE | ANY_CHARACTERS
HOSTILE = {
    **{f"one of {unit!r}": unit * 100_000 for unit in "a1.,'-(<^é你\u0301"},
    **{f"pairs of {unit!r}": unit * 30_000 for unit in ("a.", "a'", "1-", "(a", "()", "\"'", "a@", "www.", "^_", "a&", "1.", "’'")},
    "nested brackets": "(" * 20_000 + "a" + ")" * 20_000,
    "a url with brackets": "http://" + "(a)" * 20_000 + "((",
    "spaces": "a." + " " * 100_000 + "\n" * 1000 + "B",
    "line breaks": "a\n \t" * 20_000,
    "ends of sentences": "a.) " * 20_000,
    "one long emoticon": "x. :" + "-" * 50_000,
}

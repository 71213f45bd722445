"""Which format a file has, from its first lines.

Most lines must agree, not all of them: a broken file is still of its format, and its reader says what is wrong.
"""

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice

from postil.errors import DataError
from postil.text.annotations.tables import EXPECTED, columns_of, is_word_table, layout_of
from postil.text.columns.conll import DOCUMENT_MARK, is_numbered, looks_like_label, looks_like_tree, recognises_roles
from postil.text.columns.conllu import recognises
from postil.text.lines import shortened

_ENOUGH = 2000  # lines that are looked at
_MOST = 0.8
_FEW_ROWS = 3  # with fewer rows, equal numbers of words may be chance
_OBJECT = re.compile(r'\s*\{\s*"')
_CONLLU_COMMENT = re.compile(r"# (?:sent_id|newdoc|newpar|text)\b")
_SURE_LABEL = re.compile(r"O$|[BIES]-\S")
_TWO_BRACKETS = re.compile(r"\s*\(\s*(?:[^\s()]+\s*)?\(")
_LAST_BRACKET = re.compile(r"(?:\)|\([^()]*)\s*$")
# Lines of Chinese or Japanese, and of scripts with longer words such as Thai, are sentences without spaces.
_UNSPACED_LINE = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{8}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{20}"
)
# The elements of MUC, and those that Stanford's recogniser of names writes.
_MARKED_UP = re.compile(
    r"<(?:B_)?(?:ENAMEX|TIMEX|NUMEX) TYPE="
    r"|<(PERSON|LOCATION|ORGANIZATION|MISC|DATE|TIME|MONEY|PERCENT|PER|LOC|ORG|GPE|FAC)>[^<>]+</\1>"
)
_JSON_HEAD = 1 << 16
_TASK = re.compile(r'"data"\s*:\s*\{')
_TUPLE = re.compile(r'\s*\[\s*"(?:[^"\\]|\\.)*"\s*,\s*\{')
_ARRAY = re.compile(r'\s*\[\s*(?:\{\s*"|\[\s*")')
_FLAT_SPANS = re.compile(r'"labels"\s*:\s*\[\s*"')
_ATTACHED = re.compile(r"\w[.,!?;:](?=\s|$)")
_DETACHED = re.compile(r"(?<=\s)[.,!?;:](?=\s|$)")


def recognise_format(head: list[str], where: str) -> str:
    """The name of the format of a file that begins with the lines ``head``; DataError if it is not a known format."""
    lines = list(islice(filter(None, head), _ENOUGH))
    if not lines:
        raise DataError("no sentence", expected="sentences", got="nothing but blank lines", where=where)
    if lines[0].startswith("#FORMAT=WebAnno TSV"):
        expected = "the export of INCEpTION or WebAnno as CoNLL 2002 or CoNLL-U"
        raise DataError("WebAnno TSV is not read", expected=expected, where=where)
    if is_word_table(lines[0]):
        return "csv"
    layout = layout_of(columns_of(lines[0]))
    if layout is not None and (layout.spans is not None or layout.start):
        return "csv-spans"
    rows = [line for line in lines if not line.startswith(("#", DOCUMENT_MARK))]
    # Ten columns after a number; fewer will do if comments are those of CoNLL-U.
    if (rows and _most(rows, lambda row: recognises(row.split("\t")))) or (
        any(map(_CONLLU_COMMENT.match, lines))
        and all(row[:1].isdecimal() for row in rows)
        and not (rows and _most(rows, lambda row: is_numbered(row.split("\t"))))
    ):
        return "conllu"
    if recognises_roles(head):
        return "conll05"
    rows = rows or lines
    # Lines that are trees; or the beginning of one, and no line continues after its last closing bracket.
    begins = looks_like_tree(rows[0]) or _TWO_BRACKETS.match("\n".join(rows[:_FEW_ROWS]))
    if _most(rows, looks_like_tree) or (begins and _most(rows, _LAST_BRACKET.search)):
        return "trees"
    if _most(rows, lambda row: "\t" in row):
        return "conll"
    head_of_array = "\n".join(rows)[:_JSON_HEAD].lstrip()
    if head_of_array.startswith("["):
        if _TUPLE.match(head_of_array):
            return "jsonl"
        if _TASK.search(head_of_array):  # of Label Studio: objects with data, or flat ones with spans that have labels
            return "label-studio"
        if _FLAT_SPANS.search(head_of_array) and '"start"' in head_of_array:
            return "label-studio-min"
        if _ARRAY.match(head_of_array):
            return "json"
    if _OBJECT.match(rows[0]) or 2 * sum(_OBJECT.match(row) is not None for row in rows) >= len(rows):
        return "jsonl"
    if any(map(_MARKED_UP.search, rows)):
        expected = "an export as CoNLL columns or JSON Lines with spans"
        raise DataError("text with XML elements around the names", expected=expected, got="inline XML", where=where)
    if rows[0].strip() in ("{", "[", "[{", "{}", "[]"):
        raise DataError("JSON, but not JSON Lines", expected="one object a line", got=shortened(rows[0]), where=where)
    if where.removesuffix(".gz").endswith(".csv"):  # a table of texts, or of nothing that can be labelled
        if layout is not None:
            return "csv-spans"
        if _most(rows, lambda row: "," in row or ";" in row):
            what, got = "a CSV table without the columns that are needed", ", ".join(columns_of(lines[0]))
            raise DataError(what, expected=EXPECTED, got=f"columns {shortened(got)}", where=where)
    # One word a line: columns whose labels are missing.
    are_words = _most(rows, lambda row: " " not in row.strip() and _UNSPACED_LINE.search(row) is None)
    if (len(rows) >= _FEW_ROWS and are_words) or _has_columns(rows):
        return "conll"
    attached = sum(len(_ATTACHED.findall(row)) for row in rows)
    detached = sum(len(_DETACHED.findall(row)) for row in rows)  # punctuation that is separated from the words
    return "tokens" if detached > 4 * attached else "text"


def _most(rows: list[str], test: Callable[[str], object]) -> bool:
    return sum(bool(test(row)) for row in rows) >= _MOST * len(rows)


def _has_columns(rows: list[str]) -> bool:
    """Columns between spaces: lines end in O or B-PER, or most have the same number of words and a tag at the end."""
    fields = [row.split() for row in rows]
    if 2 * sum(len(words) > 1 and _SURE_LABEL.match(words[-1]) is not None for words in fields) >= len(rows):
        return True
    if 2 * sum(row.rstrip().endswith((".", "!", "?")) for row in rows) >= len(rows):
        return False  # sentences of the same length
    width, _ = Counter(map(len, fields)).most_common(1)[0]
    if width < 2 or not _most(rows, lambda row: len(row.split()) == width):
        return False
    return len(rows) >= _FEW_ROWS and _most(rows, lambda row: looks_like_label(row.split()[-1]))

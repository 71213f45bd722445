"""Files of rules: TOML with one table for each rule.

pos = "english:upos"                             # a tagger for <pos:TAG> in patterns, if any use it

[[rule]]
label = "LOC"
list = "countries.txt"                           # one name a line, next to this file; or ["Chad", "Togo"]
ignore_case = true                               # all three are false unless the file says otherwise
variants = true                                  # hyphens and full stops may be missing
inflected = true                                 # plural and possessive endings

[[rule]]
name = "titles"                                  # for reports; otherwise the class and a number
label = "PER"
pattern = "Mr|Mr.|Mrs|Mrs.|Dr|Dr. ( <capital>{1,3} )"

[[rule]]
not = "PER"                                      # what matches is not an entity of this class
list = ["May", "Will"]

[[rule]]
spacy = "patterns.jsonl"                         # patterns of spaCy's matcher, one a line, each with its label

[[rule]]
model = "english:names"                          # the predictions of a model
classes = {PER = "PERSON", LOC = "PLACE"}

[[rule]]
name = "colleague"
votes = "answers.conll"                          # a labelled file of any format; other sentences are unknown to it

[[rule]]
name = "language model"
mentions = "answers.jsonl"                       # {"text": …, "mentions": [{"text": "Bill", "label": "PERSON"}, …]}
"""

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from postil.errors import DataError
from postil.models.sentences import sentences_of
from postil.models.voting.rule import (
    KEYS,
    MOST_RULES,
    ColumnRule,
    ListRule,
    MentionRule,
    ModelRule,
    PatternRule,
    Rule,
    Rules,
    TextAnswer,
    kind_of_table,
    rule_of_table,
    text_of,
)
from postil.reading import MOST_JSON_BYTES, decoded_lines, parsed_json, read_text
from postil.text.labels.schemes import recognise, spans_from_labels

_KEYS = {**KEYS, "spacy": ("name",), "model": ("name", "classes"), "votes": ("name",), "mentions": ("name",)}


_STRING = re.compile(r""" "(?:[^"\\\n]|\\.)*+"? | '[^'\n]*+'? """, re.VERBOSE)
_DOTTED = re.compile(r"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){20}")

RuleSource = Rules | Iterable[Rule] | str | os.PathLike[str]  # rules, or a file of them


def rules_of(source: RuleSource) -> Rules:
    if isinstance(source, str | os.PathLike):
        return read_rules(source)
    return source if isinstance(source, Rules) else Rules(source)


def read_rules(path: str | os.PathLike[str], *, text: str | None = None) -> Rules:
    """Read a file of rules; paths in it are relative to the file. A mistake is a DataError that names the rule.

    ``text`` is read instead of the content of the file, if it is given.
    """
    path = Path(path)
    text = read_text(path, "the rules", MOST_JSON_BYTES) if text is None else text
    if len(re.findall(r"^[ \t]*\[\[", text, re.MULTILINE)) > MOST_RULES:
        raise DataError("a file of rules", expected=f"at most {MOST_RULES} [[rule]]", got="more", where=path)
    try:
        if _DOTTED.search(_STRING.sub("s", text)):  # tomllib would need minutes for thousands of dots
            raise RecursionError("a key with many dots")
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError("the rules cannot be read as TOML", got=str(error)[:200], where=path) from None
    if unknown := set(content) - {"rule", "pos"}:
        expected = "[[rule]] tables and pos"
        raise DataError("a file of rules", expected=expected, got=", ".join(sorted(unknown)), where=path)
    tables = content.get("rule")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError("a file of rules", expected="at least one [[rule]]", got="none", where=path)
    tagger = None if "pos" not in content else _model(text_of(content, "pos", path), path.parent, path)
    rules: list[Rule] = []
    for number, table in enumerate(tables, 1):
        rules += _rules(table, number, path, tagger)
    names = Counter(rule.name for rule in rules)
    if repeated := ", ".join(sorted(name for name, count in names.items() if count > 1)):
        raise DataError("names of rules", expected="all different", got=repeated[:80], where=path)
    return Rules(rules)


def _rules(table: Mapping[str, Any], number: int, path: Path, tagger: Any) -> Iterator[Rule]:
    where, folder = f"{path}, rule {number}", path.parent
    kind = kind_of_table(table, _KEYS, where)
    if kind in KEYS:
        if isinstance(table.get("list"), str):
            lines = [text.strip() for text, _ in decoded_lines(folder / table["list"], "the list")]
            table = {**table, "list": lines}
        yield rule_of_table(table, number, where, tagger)
        return
    name = text_of(table, "name", where) if "name" in table else f"{kind} {number}"
    if kind == "spacy":
        yield from _of_spacy(folder / text_of(table, "spacy", where), name, tagger)
    elif kind == "model":
        model = _model(text_of(table, "model", where), folder, where)
        classes = table.get("classes", {})
        if not isinstance(classes, dict) or not all(isinstance(other, str) for other in classes.values()):
            raise DataError("classes", expected='{CLASS = "OTHER"}', got=repr(classes)[:80], where=where)
        known = model.model.codec.classes
        if unknown := set(classes) - set(known):
            raise DataError("classes", expected=", ".join(known), got=", ".join(sorted(unknown)), where=where)
        yield ModelRule(name=name, model=model, classes=classes or {label: label for label in known})
    elif kind == "votes":
        yield _column(folder / text_of(table, "votes", where), name)
    else:
        yield _mentions(folder / text_of(table, "mentions", where), name)


def _model(name: str, folder: Path, where: object) -> Any:
    """A tagger: a model file next to the rules, an installed model, or NAME:TASK of a multi-task model."""
    from postil.models.storage import load  # only for rules that use a model

    path, colon, task = name.partition(":")
    model = load(str(folder / path) if (folder / path).exists() else path)
    if colon:
        model = model[task]
    if not hasattr(model, "marginals") or hasattr(model, "tasks"):
        raise DataError("model of a rule", expected="a tagger of one task (NAME:TASK)", got=name, where=where)
    return model


def _column(path: Path, name: str) -> ColumnRule:
    from postil.text import read  # the readers of all formats

    with read(str(path)) as reading:
        sentences = [sentence for sentence in reading if sentence.labels is not None]
    labels = [sentence.labels or [] for sentence in sentences]
    scheme = recognise(labels)
    if not sentences or scheme == "none":
        raise DataError("votes", expected="labels of spans", got="none", where=path)
    spans = {
        tuple(sentence.tokens): [(span.start, span.end, span.label) for span in spans_from_labels(row, scheme)]
        for sentence, row in zip(sentences, labels, strict=True)
    }
    return ColumnRule(name=name, spans=spans, labels=sorted({label for row in spans.values() for _, _, label in row}))


def _json_lines(path: Path, what: str) -> Iterator[tuple[dict[str, Any], str, object]]:
    """The objects of a file, empty for any other value, with their lines and the places of these."""
    for text, where in decoded_lines(path, f"the {what}"):
        try:
            entry = parsed_json(text)
        except ValueError as error:
            raise DataError(f"{what} must be JSON Lines", got=str(error)[:120], where=where) from None
        yield entry if isinstance(entry, dict) else {}, text, where


def _mentions(path: Path, name: str) -> MentionRule:
    """JSON Lines of texts with the names in them, without places."""
    answers = []
    for entry, text, where in _json_lines(path, "mentions"):
        expected, said = '{"text": …, "mentions": [{"text": …, "label": …}, …]}', entry.get("mentions")
        if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
            raise DataError("mentions", expected=expected, got=text[:80], where=where)
        pairs = [(text_of(one, "text", where), text_of(one, "label", where)) for one in said]
        answers.append(TextAnswer([s.tokens for s in sentences_of(text_of(entry, "text", where))], pairs))
    if not any(answer.mentions for answer in answers):
        raise DataError("mentions", expected="at least one", got="none", where=path)
    return MentionRule(name=name, texts=answers)


# ----------------------------------------------------------------------------------------- patterns of spaCy's matcher

_REPEATS = {"?": "{0,1}", "*": "{0,20}", "+": "{1,20}"}
_TESTS = {
    "IS_TITLE": "<title>",
    "IS_UPPER": "<upper>",
    "IS_LOWER": "<lower>",
    "IS_ALPHA": "<word>",
    "IS_DIGIT": "<number>",
    "LIKE_NUM": "<number>",
    "IS_PUNCT": "<punctuation>",
}


def _of_spacy(path: Path, name: str, tagger: Any) -> Iterator[Rule]:
    """One rule for each line: a phrase, or a list of tokens with attributes."""
    for number, (entry, text, where) in enumerate(_json_lines(path, "patterns"), 1):
        label, pattern = entry.get("label"), entry.get("pattern")
        if not isinstance(label, str) or not isinstance(pattern, str | list):
            raise DataError("a pattern of spaCy", expected="label and pattern", got=text[:80], where=where)
        of_line = f"{name} {number}"
        if isinstance(pattern, str):
            yield ListRule(name=of_line, label=label, phrases=[pattern])
        else:
            words = " ".join(_element(token, where) for token in pattern)
            yield PatternRule(name=of_line, label=label, pattern=words, where=str(where), tagger=tagger)


def _escaped(word: str) -> str:
    return "".join(f"\\{character}" if character in "\\|*{}()<>/~" else character for character in word)


def _element(token: Any, where: object) -> str:
    """The attributes of a token as an element of our patterns: at most one of them, and how often it may repeat."""
    token = token if isinstance(token, dict) else {"?": None}
    repeat = _REPEATS.get(str(token.get("OP", "")), "")
    attributes = [(key, value) for key, value in token.items() if key != "OP" or value not in _REPEATS]
    match attributes:
        case []:
            return "<any>" + repeat
        case [("LOWER" | "ORTH" | "TEXT" as key, str() as word)]:
            return ("~" if key == "LOWER" else "") + _escaped(word) + repeat
        case [("LOWER" | "ORTH" | "TEXT" as key, {"IN": list() as words})] if all(isinstance(w, str) for w in words):
            return ("~" if key == "LOWER" else "") + "|".join(map(_escaped, words)) + repeat
        case [("TEXT", {"REGEX": str() as expression})]:
            return "/" + expression.replace("/", "\\/") + "/" + repeat
        case [("POS" | "TAG", str() as tag)]:
            return f"<pos:{tag}>{repeat}"
        case [("POS" | "TAG", {"IN": list() as tags})] if all(isinstance(tag, str) for tag in tags):
            return f"<pos:{'|'.join(tags)}>{repeat}"
        case [(str() as test, True)] if test in _TESTS:
            return _TESTS[test] + repeat
    expected = "one of LOWER, TEXT, POS, TAG (also with IN), REGEX, " + ", ".join(_TESTS) + ", and OP ? * +"
    raise DataError("a token of a pattern of spaCy", expected=expected, got=str(token)[:80], where=where)

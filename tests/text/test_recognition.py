"""Formats by content: each kind, also damaged, and the relatives that are refused."""

import pytest

from postil.errors import DataError
from postil.text.recognition import recognise_format

CONLLU_ROW = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_"


@pytest.mark.parametrize(
    ("lines", "format"),
    [
        (["Oslo\tB-LOC", "", "is\tO"], "conll"),
        (["-DOCSTART- -X- O O", "", "EU NNP B-NP B-ORG"], "conll"),
        (["# a comment", "Go VB", "on RP", ". ."], "conll"),
        (["Go VB", "on RP", "now", "and CC", "again RB", ". ."], "conll"),
        (["Oslo O"], "conll"),
        (["Oslo B-LOC", "is O extra", "far O"], "conll"),
        (["Oslo", "is", "", "far"], "conll"),
        (["#hash\tO", "#tag\tO"], "conll"),
        (["{\tO", "[\tO", '"\tO'], "conll"),
        ([CONLLU_ROW], "conllu"),
        (["# sent_id = 1", "# text = Go", CONLLU_ROW, CONLLU_ROW, CONLLU_ROW, CONLLU_ROW, "5\tx"], "conllu"),
        (["# newdoc", "1\tGo\tgo"], "conllu"),
        (["# sent_id = 1"], "conllu"),
        (["# sent_id = 1", "Go\tVB", "on\tRP"], "conll"),
        (['{"text": "a"}'], "jsonl"),
        (['{ "text": "a', "b", "c"], "jsonl"),
        (["broken", '{"text": "a"}'], "jsonl"),
        (['[{"text": "a"},'], "json"),
        (["[", ' ["a", {"entities": []}],'], "json"),
        (['["a", {"entities": []}]'], "jsonl"),
        (["text,spans", 'a,"[]"'], "csv-spans"),
        (["id;text;start;end;label", "1;a;0;1;X"], "csv-spans"),
        (["text\tlabel", "Oslo\tB-LOC"], "conll"),
        (["text, spans and more", "So what?"], "text"),
        (["[[Oslo]] is far away, they said."], "text"),
        (["Oslo is far away, they said.", "So what?"], "text"),
        (["HELLO WORLD"], "text"),
        (["Hello"], "text"),
        (["(see above) All is well."], "text"),
        (["[1] All is well."], "text"),
        (["(3 (2 It) (4 works))", "(2 (2 So) (2 what))"], "trees"),
        (["# from nowhere", "", "(3 (2 It) (4 works)"], "trees"),
        (["(2 film)"], "trees"),
        (["( (S ", "    (NP-SBJ (PRP It) )", "    (VP (VBZ ends) )", "    (. .) ))"], "trees"),
        (["(S", "\t(NP", "\t\t(PRP It))", "\t(VP", "\t\t(VBZ ends)))"], "trees"),
        (["( (S (NP a b)", "stray text", "(3 (2 It) (4 works))", "(3 (2 It))", "(2 x)", "(2 y)"], "trees"),
        (["(see (above)) All is well."], "text"),
        (["((\tO", "so\tO", "far\tO"], "conll"),
        (["Oslo is far away , they said .", "So what ?"], "tokens"),
        (["Anna lives in Oslo ."] * 20, "tokens"),
    ],
)
def test_recognised(lines: list[str], format: str) -> None:
    assert recognise_format(lines, "x") == format


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["", ""], "x: no sentence: expected sentences, got nothing but blank lines"),
        (["{", ' "text": "a"', "}"], "x: JSON, but not JSON Lines: expected one object a line, got '{'"),
    ],
)
def test_refused(lines: list[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        recognise_format(lines, "x")
    assert str(caught.value) == message

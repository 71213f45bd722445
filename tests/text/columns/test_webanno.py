"""WebAnno TSV 3: numbers, stacking, escapes, UTF-16 offsets, other layers, mistakes."""

import io

import pytest

from oracles.annotated import written
from postil.errors import ConfigurationError, DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.columns.webanno import read_webanno
from postil.text.formats import read
from postil.text.lines import Lines
from postil.text.options import ReadOptions
from postil.text.report import Report

NAMES = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
HEAD = f"#FORMAT=WebAnno TSV 3.3\n#T_SP={NAMES}|identifier|value\n"
LAYERS = (
    "#FORMAT=WebAnno TSV 3.3\n"
    "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
    f"#T_SP={NAMES}|identifier|value\n"
    f"#T_RL=webanno.custom.Link|kind|BT_{NAMES}\n\n\n"
)


def texts(content: str, **options: object) -> tuple[list[AnnotatedText], Report]:
    report = Report("webanno")
    lines = Lines(io.BytesIO(content.encode()))
    return list(read_webanno(lines, ReadOptions(**options), report)), report  # type: ignore[arg-type]


def test_layers_stacks_parts_and_utf16() -> None:
    content = (
        LAYERS + "#Text=😀 Anna Berg left\n"
        "1-1\t0-2\t😀\tSYM\t_\t_\t_\t_\t\n"
        "1-2\t3-7\tAnna\tNNP\thttp://x[1]|*[2]\tPER[1]|A\\|B[2]\tof\t1-3[0_1]\t\n"
        "1-3\t8-12\tBerg\tNNP\thttp://x[1]\tPER[1]\t_\t_\t\n"
        "1-3.1\t8-10\tBe\t_\t*\tPART\t_\t_\t\n"
        "1-4\t13-17\tleft\tVBD\t*\t*\t_\t_\t\n"
        "\n#Text=tab\\there\n"
        "2-1\t18-26\ttab\\there\tX\t_\t_\t_\t_\t\n"
    )
    [first, second], report = texts(content)
    assert first.text == "😀 Anna Berg left"
    assert first.spans == [
        AnnotatedSpan(2, 11, "PER", {"identifier": "http://x"}),
        AnnotatedSpan(2, 6, "A|B"),
        AnnotatedSpan(7, 9, "PART"),
        AnnotatedSpan(12, 16, "NamedEntity"),
    ]
    assert (second.text, second.tokens) == ("tab\there", [(0, 8)])
    assert (first.document, first.continues, second.continues) == ("", False, True)
    assert +report.dropped == {"cells of the layer POS": 5, "relations": 2}
    assert report.changed["annotations without a value, labelled by their layer"] == 1


def test_another_layer_by_its_name() -> None:
    content = LAYERS + "#Text=a\n1-1\t0-1\ta\tNN\t_\t_\t_\t_\t\n"
    [text], _ = texts(content, label="PosValue")
    assert text.spans == [AnnotatedSpan(0, 1, "NN")]
    [text], _ = texts(content, label=None)
    assert text.spans is None
    with pytest.raises(ConfigurationError, match="no such column of labels: expected POS or PosValue"):
        texts(content, label="nothing")


def test_what_is_written() -> None:
    text = AnnotatedText(
        "😀 Anna[1] left. Bye",
        [AnnotatedSpan(2, 9, "P_R"), AnnotatedSpan(2, 6, "X"), AnnotatedSpan(2, 6, "Y")],
        [(0, 1), (2, 9), (10, 14), (14, 15), (16, 19)],
        [4, 1],
    )
    content, report = written("webanno", [text])
    assert content == (
        HEAD + "\n\n#Text=😀 Anna[1] left.\n"
        "1-1\t0-2\t😀\t_\t_\t\n"
        "1-2\t3-10\tAnna[1]\t*\tP\\_R\t\n"
        "1-2.1\t3-7\tAnna\t*[1]|*[2]\tX[1]|Y[2]\t\n"
        "1-3\t11-15\tleft\t_\t_\t\n"
        "1-4\t15-16\t.\t_\t_\t\n"
        "\n#Text=Bye\n"
        "2-1\t17-20\tBye\t_\t_\t\n"
    )
    assert not +report.dropped


def test_a_sentence_that_begins_with_white_space() -> None:
    [text], _ = texts(HEAD + "\n\n#Text=  Anna left\n1-1\t7-11\tAnna\t*\tPER\t\n1-2\t12-16\tleft\t_\t_\t\n")
    assert text.tokens == [(2, 6), (7, 11)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1-1\t0-4\tAnna\t*\n", "line 5: wrong number of columns: expected 5, got 4"),
        ("1-1\t0-4\tOslo\t_\t_\t\n", "line 4: the token 1-1 is not in its text"),
        ("1-1 0-4 Anna\n", "line 5: not a row of WebAnno TSV"),
        ("1-1\t0-4\tAnna\t*\tPER[\t\n", "line 4: not a cell of WebAnno TSV"),
        (f"1-1\t0-{'9' * 40}\tAnna\t_\t_\t\n", "line 5: not a row of WebAnno TSV"),
    ],
)
def test_mistakes_have_a_line(rows: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read(io.BytesIO((HEAD + f"\n#Text=Anna\n{rows}").encode())))
    assert message in str(caught.value)

"""Labels in another scheme: what breaks the scheme is counted or refused."""

import pytest

from postil.errors import ConfigurationError, DataError
from postil.text.document import Sentence
from postil.text.labels.relabelling import peek_scheme, relabel
from postil.text.report import Report

SENTENCES = [Sentence(["Oslo", "is"], ["B-LOC", "O"]), Sentence(["far"], ["O"])]


def test_relabelling_counts_what_breaks_the_scheme() -> None:
    report = Report()
    broken = Sentence(["a", "b", "c"], ["I-X", "I-Y", "O"], line=5)
    (found,) = relabel([broken], "bio", "iobes", report, name="f")
    assert found.labels == ["S-X", "S-Y", "O"]
    assert +report.changed == {"labels that violate the BIO scheme, read by conlleval's rules": 2}


def test_relabelling_strictly() -> None:
    broken = Sentence(["a", "b"], ["O", "I-Y"], line=5)
    with pytest.raises(DataError) as caught:
        list(relabel([broken], "bio", "bio", Report(), name="f", strict=True))
    assert (
        str(caught.value)
        == "f, line 5, token 2: a label violates the BIO scheme: expected a label that may follow, got I-Y after O"
    )


def test_labels_without_spans_cannot_be_relabelled() -> None:
    with pytest.raises(ConfigurationError) as caught:
        list(relabel([], "none", "bio", Report(), name="f"))
    assert str(caught.value) == (
        "f: cannot turn labels of scheme 'none' into 'bio': expected a span scheme such as BIO on both sides"
    )


def test_the_scheme_is_peeked_without_losing_a_sentence() -> None:
    scheme, sentences = peek_scheme(iter(SENTENCES))
    assert (scheme, list(sentences)) == ("bio", SENTENCES)
    assert peek_scheme([Sentence(["a"])])[0] == "none"

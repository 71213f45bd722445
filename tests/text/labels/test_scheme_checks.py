import pytest

from postil.errors import DataError
from postil.text.labels import scheme_checks

BROKEN = [["O", "O"], ["O", "I-PER", "I-LOC"], ["B-PER"], ["I-PER"]]


def test_breaks_are_counted_in_one_warning() -> None:
    with pytest.warns(scheme_checks.SchemeWarning) as caught:
        report = scheme_checks.check(BROKEN, "bio", where="gold.txt")
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "gold.txt: 3 labels in 2 sentences violate the BIO scheme, first in sentence 2, token 2: "
        "'I-PER' after 'O'; read by conlleval's rules"
    )
    assert report == ("bio", 3, 2, (1, 1), "'I-PER' after 'O'")


def test_strict_raises_instead() -> None:
    with pytest.raises(
        DataError, match=r"^gold.txt: 3 labels in 2 sentences violate the BIO scheme, first in .*BIO labels$"
    ):
        scheme_checks.check(BROKEN, "bio", strict=True, where="gold.txt")
    assert scheme_checks.check(BROKEN[:1], "bio", strict=True).broken == 0


@pytest.mark.parametrize(
    ("labels", "scheme", "words"),
    [
        ("I-PER", "bio", "'I-PER' after the start of the sentence"),
        ("O B-PER", "iobes", "'B-PER' at the end of the sentence"),
        ("O X-PER", "bio", "'X-PER' is not a label of this scheme"),
    ],
)
def test_the_first_break_in_words(labels: str, scheme: str, words: str) -> None:
    assert scheme_checks.inspect([labels.split()], scheme).example == words

"""Sentences as places of tokens among bytes, written as JSON Lines that list their tokens and as CoNLL-U.

The bytes are those of the writers of sentences. What depends on a word or a label alone is made once.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, repeat
from typing import NamedTuple, final

from postil.arrays import Array
from postil.kernels.plain_records import json_string
from postil.text.bulk.plain_rows import PlainRows
from postil.text.document import Sentence
from postil.text.offsets import offsets_in


class RowAnswers(NamedTuple):
    """What is answered about N tokens in B sentences: M spans, or a label for each token."""

    names: Sequence[str]  # of classes of spans, or of labels
    spans: Array | None = None  # (M, 3) first token, end, class, in the order of the text
    probabilities: Array | None = None  # (M,)
    labels: Array | None = None  # (N,) only without spans
    figures: Array | None = None  # (N,) probabilities of labels
    whole: Array | None = None  # (B,) probabilities of whole labellings


@final
class _Words(dict[bytes, tuple[str, int]]):
    """Word -> how it is written in a JSON string, and its length in ``units``."""

    def __init__(self, units: str) -> None:
        self._units = units

    def __missing__(self, word: bytes) -> tuple[str, int]:
        text = word.decode()
        found = self[word] = json_string(text)[1:-1], int(offsets_in(self._units, text, [len(text)])[0])
        return found


@final
class _Sentence:
    """The tokens of one sentence, with single spaces between them."""

    def __init__(self, found: list[tuple[str, int]]) -> None:
        self.words = [word for word, _ in found]
        edges = list(accumulate((length + 1 for _, length in found), initial=0))
        self.starts, self.ends = edges[:-1], [edge - 1 for edge in edges[1:]]

    def tokens(self, more: Sequence[str]) -> str:
        """``more``: what else is written of each token."""
        rows = zip(self.words, self.starts, self.ends, range(len(self.words)), more, strict=True)
        return ", ".join(
            [
                f'{{"text": "{word}", "start": {start}, "end": {end}, "id": {i}{rest}}}'
                for word, start, end, i, rest in rows
            ]
        )

    def span(self, first: int, last: int, name: str, probability: float | None) -> str:
        """The entity from one token to another."""
        places = f'"start": {self.starts[first]}, "end": {self.ends[last]}, "label": {name}'
        if probability is None:
            return f"{{{places}}}"
        text = " ".join(self.words[first : last + 1])
        return f'{{{places}, "text": "{text}", "probability": {round(probability, 6)}}}'


def write_token_records(rows: PlainRows, answers: RowAnswers, units: str = "characters") -> bytes:
    """A JSON object for each sentence: its tokens with single spaces between them are its text.

    Offsets count ``units``.
    """
    words, text, cells, lines = _Words(units), rows.text, rows.cells.tolist(), list[str]()
    names = [json_string(name) for name in answers.names]
    spans = deque(_spans(answers))
    heads = {int(rows.offsets[place]): _head_fields(sentence) for place, sentence in rows.heads}
    labels = None if answers.labels is None else [names[label] for label in answers.labels.tolist()]
    more = [""] * len(cells) if labels is None else _token_answers(labels, answers.figures)
    whole = [""] * (len(rows.offsets) - 1)
    if answers.whole is not None:
        whole = [f', "labelling_probabilities": [{round(p, 6)}]' for p in answers.whole.tolist()]
    for (low, high), last in zip(pairwise(rows.offsets.tolist()), whole, strict=True):
        sentence = _Sentence([words[text[first:end]] for first, end in cells[low:high]])
        if labels is None:
            found = list[str]()
            while spans and spans[0][0] < high:
                first, end, kind, probability = spans.popleft()
                found.append(sentence.span(first - low, end - 1 - low, names[kind], probability))
            answered = f'"spans": [{", ".join(found)}]'
        else:
            answered = f'"labels": [{", ".join(labels[low:high])}]'
        tokens, head = sentence.tokens(more[low:high]), heads.get(low, "")
        lines.append(f'{{"text": "{" ".join(sentence.words)}", "tokens": [{tokens}], {answered}{head}{last}}}\n')
    return "".join(lines).encode()


def _head_fields(sentence: Sentence) -> str:
    """The document mark and the comments of a sentence."""
    comments = ", ".join(map(json_string, sentence.comments))
    mark = "" if sentence.document is None else f', "newdoc": {json_string(sentence.document)}'
    return mark + (f', "comments": [{comments}]' if comments else "")


def _spans(answers: RowAnswers) -> Iterator[tuple[int, int, int, float | None]]:
    """First token, end, class and probability."""
    spans = [] if answers.spans is None else answers.spans.tolist()
    figures = repeat(None) if answers.probabilities is None else answers.probabilities.tolist()
    for (first, end, kind), figure in zip(spans, figures, strict=False):
        yield first, end, kind, figure


def _token_answers(labels: Sequence[str], figures: Array | None) -> list[str]:
    """What is written of each token's label."""
    if figures is None:
        return [f', "label": {label}' for label in labels]
    rows = zip(labels, figures.tolist(), strict=True)
    return [f', "label": {label}, "probability": {round(figure, 6)}' for label, figure in rows]


def write_conllu_rows(rows: PlainRows, labels: Array, ends: Sequence[tuple[bytes, bytes]], *, raw: bool) -> bytes:
    """Ten columns for each token.

    ``labels`` (N,) are places in ``ends``: the columns after the form, with a space after the token and without one.
    ``raw``: the text is raw text, which stands before each sentence, and says which tokens have a space after them.
    """
    text, cells, pieces = rows.text, rows.cells.tolist(), list[bytes]()
    numbers = labels.tolist()
    heads = _comments(rows) if rows.heads else {}
    for low, high in pairwise(rows.offsets.tolist()):
        if raw:
            content = text[cells[low][0] : cells[high - 1][1]].decode()
            pieces.append(f"# text = {' '.join(content.split())}\n".encode())
        pieces.append(heads.get(low, b""))
        for i in range(low, high):
            first, end = cells[i]
            glued = raw and i + 1 < high and cells[i + 1][0] == end
            pieces.append(b"%d\t%b\t%b\n" % (i + 1 - low, text[first:end], ends[numbers[i]][glued]))
        pieces.append(b"\n")
    return b"".join(pieces)


def _comments(rows: PlainRows) -> dict[int, bytes]:
    """The lines before some sentences, by their first tokens."""
    from postil.text.columns.conllu_writer import comment_lines  # few files of columns have comments

    return {int(rows.offsets[place]): comment_lines(sentence) for place, sentence in rows.heads}

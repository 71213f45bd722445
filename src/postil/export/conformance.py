"""What Python answers about some texts or trees, in the file that the exported conformance program reads.

The format is described in ``c_files/conformance.c``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.models.answers.posteriors import Posteriors
from postil.models.answers.tagged import tagged_content
from postil.models.parts import Parts, heads_of
from postil.models.tree_classifier import TreeClassifier
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.text.trees.bracketing import bracketed
from postil.text.trees.treebank import parse_tree

SENTENCES, TREES = 60, 40
"""Of a conformance file of our own."""
_HARD = (
    "",
    " \t\n ",
    "Dr. Smith didn't pay $3.50 (or €4) to A. B. Jones on 3/4/2024... did he?! :-)",
    "See https://example.org/a_(b)?c=d#e, mail someone@example.org or call 555-1234.\n\n- first\n- second\n\nThe end.",
    "ΟΔΥΣΣΕΥΣ in ΑΘΗΝΑ, İstanbul'da; naïve café — “Straße” … 東京は大きい。次の文！ ١٢٣ 👩‍🔬👍🏽",
    "She said: 'I'd've gone.' \"Really?\" Mr. O'Neil-McDonald of the U.S. (est. 1999) said no.",
    "pneumonoultramicroscopicsilicovolcanoconiosis " + "x" * 100 + " " + "ab-" * 30 + "c.",
)


def sample_texts() -> list[str]:
    """Texts of our own: made-up sentences, and what tokenisers stumble over."""
    made_up = made_up_sentences(SENTENCES, np.random.default_rng(7), new_names=True)
    lines = [" ".join(sentence.tokens) for sentence in made_up]
    return [*_HARD, *(" ".join(lines[i : i + 4]) for i in range(0, len(lines), 4))]


def conformance_file(model: Any, texts: Iterable[str] | None = None) -> bytes:
    """The file of a model: of these texts, or trees in brackets, or of samples."""
    if isinstance(model, TreeClassifier):
        return b"".join(_tree_records(model, texts))
    return b"".join(_record(model.fitted_parts(), text) for text in (sample_texts() if texts is None else texts))


def _record(parts: Parts[Any, Any], text: str) -> bytes:
    """One text: its tokens and sentences, and the answers of every task."""
    content = text.encode()
    documents, heads = np.array([[0, len(content)]]), heads_of(parts)
    layers, cells, offsets = [], np.zeros((0, 2), np.int64), np.zeros(1, np.int64)
    for head in heads.values():
        posteriors = Posteriors(head)
        tagged = tagged_content(content, documents, posteriors, label_probabilities=True)
        cells, offsets, answers = tagged.segments.cells, tagged.segments.offsets, tagged.answers
        labels = posteriors.labelling.texts_of_sentences(answers.numbers, offsets)
        assert answers.label_probabilities is not None, "asked for"
        lines = [f"L {len(answers.spans)}"]
        names = [label for of_sentence in labels for label in of_sentence]
        lines += [f"{p:.9g} {name}" for p, name in zip(answers.label_probabilities.tolist(), names, strict=True)]
        lines += _entity_lines(answers.spans, answers.span_probabilities, cells, offsets, posteriors.labelling.classes)
        layers.append("\n".join(lines) + "\n")
    head_line = f"T {len(content)} {len(cells)} {len(offsets) - 1} {len(heads)}\n"
    spans = "".join(f"{begin} {end}\n" for begin, end in cells.tolist())
    sizes = " ".join(map(str, np.diff(offsets).tolist())) + "\n"
    return head_line.encode() + content + b"\n" + (spans + sizes + "".join(layers)).encode()


def _entity_lines(
    spans: Array, probabilities: Array, cells: Array, offsets: Array, classes: Sequence[str]
) -> Iterator[str]:
    for (sentence, start, end, kind), p in zip(spans.tolist(), probabilities.tolist(), strict=True):
        first = int(offsets[sentence])
        yield f"{cells[first + start, 0]} {cells[first + end - 1, 1]} {p:.9g} {classes[kind]}"


def _tree_records(model: TreeClassifier, texts: Iterable[str] | None) -> Iterator[bytes]:
    """Trees of the user's, or made-up ones."""
    drawn = made_up_trees(TREES, np.random.default_rng(7), new_pairs=True)
    trees = [parse_tree(text) for text in texts] if texts is not None else drawn
    labels = len(model.fitted_parts().labelling.labels)
    for tree, P in zip(trees, model.node_probabilities(trees), strict=True):
        content = bracketed(tree).encode()
        rows = "".join(f"{row.argmax()} {' '.join(f'{p:.9g}' for p in row.tolist())}\n" for row in P)
        yield f"R {len(content)} {len(P)} {labels}\n".encode() + content + b"\n" + rows.encode()

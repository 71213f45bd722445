"""What Python answers about some texts or trees, in the file that the exported conformance program reads.

The format is described in ``c_files/conformance.c``.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from postil.models.answers.posteriors import Posteriors
from postil.models.answers.tagged import Tagged
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
    heads = {task: Posteriors(head) for task, head in heads_of(parts).items()}
    tagged = Tagged.of(content, np.array([[0, len(content)]]), heads, label_probabilities=True)
    cells, offsets = tagged.segments.cells, tagged.segments.offsets
    layers = []
    for task, answers in tagged.tasks.items():
        assert answers.label_probabilities is not None and answers.span_probabilities is not None, "asked for"
        names = [label for of_sentence in answers.texts() for label in of_sentence]
        lines = [f"{p:.9g} {name}" for p, name in zip(answers.label_probabilities.tolist(), names, strict=True)]
        places = tagged.entity_places(task).tolist()
        classes = [answers.labelling.classes[kind] for kind in answers.entities()[:, 2].tolist()]
        entities = zip(places, answers.span_probabilities.tolist(), classes, strict=True)
        lines += [f"{begin} {end} {p:.9g} {name}" for (begin, end), p, name in entities]
        layers.append("\n".join([f"L {len(places)}", *lines]) + "\n")
    head_line = f"T {len(content)} {len(cells)} {len(offsets) - 1} {len(heads)}\n"
    spans = "".join(f"{begin} {end}\n" for begin, end in cells.tolist())
    sizes = " ".join(map(str, np.diff(offsets).tolist())) + "\n"
    return head_line.encode() + content + b"\n" + (spans + sizes + "".join(layers)).encode()


def _tree_records(model: TreeClassifier, texts: Iterable[str] | None) -> Iterator[bytes]:
    """Trees of the user's, or made-up ones."""
    drawn = made_up_trees(TREES, np.random.default_rng(7), new_pairs=True)
    trees = [parse_tree(text) for text in texts] if texts is not None else drawn
    labels = len(model.fitted_parts().labelling.labels)
    for tree, P in zip(trees, model.node_probabilities(trees), strict=True):
        content = bracketed(tree).encode()
        rows = "".join(f"{row.argmax()} {' '.join(f'{p:.9g}' for p in row.tolist())}\n" for row in P)
        yield f"R {len(content)} {len(P)} {labels}\n".encode() + content + b"\n" + rows.encode()

"""Names found by the English model and by a spaCy model, on corpora that neither was trained on.

    python -m benchmarks.unseen ewt=en_ewt.iob2 conll=eng.testb [--column -1] [--spacy en_core_web_sm]

Each file has one token per line and a blank line between sentences; ``--column`` is that of the labels and ``--form``
that of the words. Only persons, places and organisations count, in gold labels and in answers: classes are mapped by
the table below and all others become O. Both tools get the tokens of the file. Conventions of annotation differ between
corpora and models (nationalities, titles, articles), so the differences between tools say more than the figures.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import postil
from postil.metrics import evaluate

CLASSES = {
    **dict.fromkeys(["PER", "PERSON", "person", "writer", "researcher", "politician", "musicalartist"], "PER"),
    **dict.fromkeys(["LOC", "GPE", "FAC", "location", "country"], "LOC"),
    **dict.fromkeys(["ORG", "organisation", "organization", "politicalparty", "university", "band"], "ORG"),
}
Sentences = Sequence[Sequence[str]]


def mapped(label: str) -> str:
    mark, _, kind = label.partition("-")
    return f"{mark}-{CLASSES[kind]}" if kind in CLASSES else "O"


def read(path: Path, form: int, column: int) -> tuple[list[list[str]], list[list[str]]]:
    """Words and labels; lines that begin with ``#`` or ``-DOCSTART-`` are left out."""
    words, labels = [], []
    for block in path.read_text(encoding="utf-8").replace("\r\n", "\n").split("\n\n"):
        rows = [line.split("\t" if "\t" in line else None) for line in block.split("\n") if line.strip()]
        rows = [row for row in rows if not row[0].startswith(("#", "-DOCSTART-"))]
        if rows:
            words.append([row[form] for row in rows])
            labels.append([mapped(row[column]) for row in rows])
    return words, labels


def of_postil(model: str) -> Callable[[Sentences], list[list[str]]]:
    tagger = postil.load(model)
    names = tagger["names"] if isinstance(tagger, postil.MultiTaskTagger) else tagger
    return lambda X: [[mapped(label) for label in labels] for labels in names.predict(X)]


def of_spacy(model: str) -> Callable[[Sentences], list[list[str]]]:
    import spacy
    from spacy.tokens import Doc

    pipeline = spacy.load(model)

    def predict(X: Sentences) -> list[list[str]]:
        docs = pipeline.pipe(Doc(pipeline.vocab, words=list(tokens)) for tokens in X)
        return [[mapped(f"{token.ent_iob_}-{token.ent_type_}") for token in doc] for doc in docs]

    return predict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--model", default="english", help="a model of Postil (default: the installed English model)")
    parser.add_argument("--spacy", metavar="MODEL", help="a model of spaCy to compare with")
    parser.add_argument("--form", type=int, default=0, help="column of the words (default: 0)")
    parser.add_argument("--column", type=int, default=-1, help="column of the labels (default: -1, the last)")
    arguments = parser.parse_args()
    tools = {f"Postil {arguments.model}": of_postil(arguments.model)}
    if arguments.spacy:
        tools[f"spaCy {arguments.spacy}"] = of_spacy(arguments.spacy)
    for corpus in arguments.corpora:
        name, _, path = corpus.rpartition("=")
        X, y = read(Path(path), arguments.form, arguments.column)
        for tool, predict in tools.items():
            spans = evaluate(y, predict(X), scheme="bio").spans
            assert spans is not None, "BIO labels have spans"
            overall = spans.overall
            print(f"{name or path:16} {tool:28} F1 {100 * overall.f1:5.1f}  ({len(X)} sentences)")


if __name__ == "__main__":
    main()

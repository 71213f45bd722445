"""Speed of `postil pretrain` beside gensim's word2vec: words per second of one core.

    python -m benchmarks.pretraining TEXT [--characters 12000000] [--repeats 3]

Both learn from the same tokens, with the same dimensions, window, negatives, subsampling and min-count, one epoch on
one thread. Reading, tokenising and counting are not measured. CPU time of the whole process, in turns, best of several.
gensim reads a file of sentences (`corpus_file`), which is its fastest way. Needs `pip install gensim`.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Outcome, interleaved, parser, report
from postil.pretraining import Corpus, CorpusConfig, Pretraining, PretrainingConfig, read_corpus
from postil.pretraining.corpus import SENTENCE_END, UNKNOWN_WORD


def write_sentences(corpus: Corpus, path: Path) -> None:
    """The tokens of a corpus as gensim reads them, a sentence on a line."""
    names = {SENTENCE_END: "\n", UNKNOWN_WORD: "<rare>"}
    with path.open("w", encoding="utf-8") as file:
        for block in corpus.blocks(1 << 20):
            file.write(" ".join(names.get(i) or corpus.words[i] for i in block.tolist()).replace(" \n ", "\n"))


def of_postil(corpus: Corpus, **settings: object) -> Callable[[], None]:
    def run() -> None:
        for _ in Pretraining(corpus, PretrainingConfig(epochs=1, **settings)):  # type: ignore[arg-type]
            pass

    return run


def of_gensim(path: Path, config: PretrainingConfig) -> Callable[[], None]:
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=config.dimensions,
        window=config.reach,
        negative=config.negatives,
        sample=config.sample,
        min_count=config.corpus.min_count,
        alpha=config.first_rate,
        sg=1,
        workers=1,
        seed=1,
    )
    model.build_vocab(corpus_file=str(path))

    def run() -> None:
        words, total = model.corpus_total_words, model.corpus_count
        model.train(corpus_file=str(path), total_words=words, total_examples=total, epochs=1)

    return run


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("text", type=Path)
    arguments.add_argument("--characters", type=int, default=12_000_000, help="of the text, from its beginning")
    arguments.add_argument("--dimensions", type=int, default=50)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    with given.text.open(encoding="utf-8") as file:
        text = file.read(given.characters)
    config = PretrainingConfig(dimensions=given.dimensions)
    with tempfile.TemporaryDirectory() as folder, read_corpus(text, CorpusConfig()) as corpus:
        sentences = Path(folder) / "sentences.txt"
        write_sentences(corpus, sentences)
        functions = {
            "postil, skip-gram": of_postil(corpus, dimensions=given.dimensions),
            "gensim, skip-gram": of_gensim(sentences, config),
            "postil, ranking": of_postil(corpus, dimensions=given.dimensions, method="ranking"),
        }
        seconds = {name: min(runs) for name, runs in interleaved(functions, given.repeats, warm_up=0).items()}
        tokens = corpus.tokens
    beside = seconds["gensim, skip-gram"]
    rows = [
        {"model": name, "words/s": round(tokens / took), "ratio to gensim": beside / took}
        for name, took in seconds.items()
    ]
    ratios = {row["model"]: row["ratio to gensim"] for row in rows}
    return report(
        Outcome(
            name="pretraining",
            compared=f"{tokens:,} tokens, {given.dimensions} dimensions, one epoch, one thread",
            rows=rows,
            goal="skip-gram at least as fast as gensim, ranking at least a fifth of that",
            passed=ratios["postil, skip-gram"] >= 1 and ratios["postil, ranking"] >= 0.2,
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())

"""Learned segmentation compared with our rules and with UDPipe trained on the same files: CoNLL-2018 F1 on raw text.

    python -m benchmarks.segmentation FOLDER … [--part test] [--sentences N] [--udpipe [--seconds S] [--epochs E]]

A folder has train, dev and test parts with their raw text: CoNLL-U, or columns with ``# text`` comments such as those
of Universal NER. The raw text of a part is its sentences with one space between them. UDPipe gets an environment of its
own and trains its tokeniser with its defaults (100 epochs) and chooses the epoch on dev; it takes minutes per language.
--sentences cuts the training part for both, and a tokeniser that needs more CPU time than --seconds has no row.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.environments import environment
from benchmarks.measuring import Outcome, parser, report
from postil.metrics.counts import Counts
from postil.metrics.raw_text import Word, agreement, aligned, words_of
from postil.models.segmentation import Text, learn_segmenter, texts_of
from postil.text import Segmenter, Sentence, read

UDPIPE = """
import json, resource, sys
from ufal.udpipe import InputFormat, Sentences, Sentence, ProcessingError, Trainer, Model
def sentences(path):
    reader, error, found = InputFormat.newConlluInputFormat(), ProcessingError(), Sentences()
    reader.setText(open(path, encoding="utf-8").read())
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        found.push_back(sentence)
        sentence = Sentence()
    return found
import time
train, dev, model, text, limit, settings = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
begin, error = time.process_time(), ProcessingError()
content = Trainer.train("morphodita_parsito", sentences(train), sentences(dev), settings, Trainer.NONE,
    Trainer.NONE, error)
assert not error.occurred(), error.message
open(model, "wb").write(content)
seconds = time.process_time() - begin
opened = Model.load(model)  # the tokeniser does not keep it alive
tokeniser = opened.newTokenizer("ranges")
begin, found = time.process_time(), []
for line in json.load(open(text, encoding="utf-8")):
    tokeniser.setText(line)
    sentence, cut = Sentence(), []
    while tokeniser.nextSentence(sentence, error):
        whole = {i: t for t in sentence.multiwordTokens for i in range(t.idFirst, t.idLast + 1)}
        words = [(whole.get(w.id, w), w) for w in list(sentence.words)[1:]]
        cut.append([(t.getTokenRangeStart(), t.getTokenRangeEnd(), w.form, t is not w) for t, w in words])
        sentence = Sentence()
    found.append(cut)
print(json.dumps({"train": seconds, "cut": time.process_time() - begin, "texts": found}))
"""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--part", default="dev", choices=["dev", "test"])
    options.add_argument("--sentences", type=int, help="of the training part (default: all)")
    options.add_argument("--udpipe", action="store_true", help="train UDPipe as well (minutes)")
    options.add_argument("--seconds", type=int, default=600, help="CPU time of UDPipe for a language")
    options.add_argument("--epochs", type=int, help="of UDPipe (default: its own, 100)")
    arguments = options.parse_args()
    settings = "" if arguments.epochs is None else f"epochs={arguments.epochs}"
    udpipe = (arguments.seconds, settings) if arguments.udpipe else None
    rows = [
        row for folder in arguments.folders for row in compared(folder, arguments.part, arguments.sentences, udpipe)
    ]
    by_folder = {
        folder.name: {row["tool"]: row for row in rows if row["corpus"] == folder.name} for folder in arguments.folders
    }
    ahead = all(
        tools["learned"][what] >= tools["UDPipe"][what] - 0.05
        for tools in by_folder.values()
        if "UDPipe" in tools
        for what in ("tokens", "sentences")
    )
    goal = "tokens and sentences not behind UDPipe trained on the same files"
    return report(Outcome(name="segmentation", compared=arguments.part, rows=rows, goal=goal, passed=ahead))


def compared(folder: Path, part: str, count: int | None, udpipe: tuple[int, str] | None) -> list[dict[str, object]]:
    """``udpipe``: its seconds and settings; None: without it."""
    parts = {name: _sentences(folder, name) for name in ("train", "dev", part)}
    parts["train"] = parts["train"][:count]
    gold = texts_of(parts[part], None)
    rows = []
    begin = time.process_time()
    learned = learn_segmenter(parts["train"])
    learning = time.process_time() - begin
    for tool, segmenter, trained in (("rules", Segmenter(), 0.0), ("learned", learned, learning)):
        contents = [text.text.encode() for text in gold]
        segmenter.cells(contents[0])  # expressions are compiled, the network is opened
        begin = time.process_time()
        for content in contents:
            segmenter.cells(content)
        seconds = time.process_time() - begin
        cut = [[_words(one) for one in segmenter.sentences(text.text)] for text in gold]
        rows.append(_row(folder.name, tool, gold, cut, trained, seconds))
    if udpipe is not None and (row := _udpipe(folder.name, parts["train"], parts["dev"], gold, *udpipe)) is not None:
        rows.append(row)
    return rows


def _words(sentence: Sentence) -> list[Word]:
    places = list(zip(sentence.starts or (), sentence.ends or (), strict=True))
    return words_of(places, sentence.tokens, sentence.joined or [False] * len(places))


def _sentences(folder: Path, part: str) -> list[Sentence]:
    path = next(path for path in sorted(folder.iterdir()) if path.name.startswith(f"{part}."))
    return list(read(path, features=()))


def _row(
    corpus: str, tool: str, gold: list[Text], cut: list[list[list[Word]]], train: float, tag: float
) -> dict[str, object]:
    tokens, words, sentences = Counts(), Counts(), Counts()
    for text, found in zip(gold, cut, strict=True):
        every = [word for one in found for word in one]
        tokens += agreement(text.tokens, list(dict.fromkeys(word[:2] for word in every)))
        right = aligned(words_of(text.words, text.forms, text.joined), every)
        words += Counts(len(right), len(every), len(text.forms))
        sentences += agreement(text.sentences, [(one[0].start, one[-1].end) for one in found if one])
    return {
        "corpus": corpus,
        "tool": tool,
        "tokens": round(100 * tokens.f1, 2),
        "words": round(100 * words.f1, 2),
        "sentences": round(100 * sentences.f1, 2),
        "training, CPU s": round(train, 1),
        "tokens/s": round(tokens.gold / max(tag, 1e-9)),
    }


def _udpipe(
    corpus: str, train: list[Sentence], dev: list[Sentence], gold: list[Text], limit: int, settings: str
) -> dict[str, object] | None:
    python = environment("udpipe", ["ufal.udpipe>=1.3"])
    with TemporaryDirectory() as name:
        folder = Path(name)
        for part, sentences in (("train", train), ("dev", dev)):
            (folder / part).write_text(_conllu(sentences), encoding="utf-8")
        (folder / "text").write_text(json.dumps([text.text for text in gold]), encoding="utf-8")
        paths = [str(folder / part) for part in ("train", "dev", "model", "text")]
        run = subprocess.run([python, "-c", UDPIPE, *paths, str(limit), settings], capture_output=True)
    if run.returncode == -signal.SIGKILL:
        print(f"{corpus}: UDPipe has not finished in {limit} CPU s", file=sys.stderr)
        return None
    run.check_returncode()
    answer = json.loads(run.stdout)
    cut = [[[Word(*word) for word in one] for one in text] for text in answer["texts"]]
    return _row(corpus, "UDPipe", gold, cut, answer["train"], answer["cut"])


def _conllu(sentences: list[Sentence]) -> str:
    """The words of sentences, their multiword tokens, and the spaces between them."""
    lines = []
    for text in texts_of(sentences, 0):
        lines.append(f"# text = {text.text}")
        words = words_of(text.words, text.forms, text.joined)
        for number, word in enumerate(words, 1):
            after = next((other.start for other in words[number:] if other.start >= word.end), None)
            misc = "SpaceAfter=No" if after == word.end else "_"
            if word.is_part and not text.joined[number - 1]:
                last = number + next(
                    (i for i, is_part in enumerate(text.joined[number:]) if not is_part), len(words) - number
                )
                lines.append(f"{number}-{last}\t{text.text[word.start : word.end]}" + "\t_" * 7 + f"\t{misc}")
            lines.append(f"{number}\t{word.form}\t_\tX\t_\t_\t0\troot\t_\t{'_' if word.is_part else misc}")
        lines.append("")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

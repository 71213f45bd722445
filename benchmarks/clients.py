"""Packages that use python-crfsuite, on CRFsuite and on Postil: every answer compared, and the ratio of CPU times.

    python -m benchmarks.clients [CLIENT …] [--inputs 500] [--turns 2]

Each package is installed by name into an environment of their own, and runs unchanged; ``postil.crfsuite.install()``
makes it use Postil. Training is part of a client's time where it trains. Both sides run in turn, in processes of their
own, and the least CPU time counts. A package that cannot be installed, or fails with CRFsuite too, is listed with the
reason. Exit code 1 if an answer differs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environments import ROOT, environment
from benchmarks.measuring import Outcome, parser, report

SCRIPT = Path(__file__).parent / "peers" / "crfsuite_clients.py"
# Postil itself is not installed: its sources are on the path, with their compiled kernels.
COMMON = ["python-crfsuite==0.9.12", "numpy>=2.0,<3", "cffi>=1.16", "threadpoolctl>=3.2", "scikit-learn>=1.6"]


class Client(NamedTuple):
    """What pip installs; and what is left out of a package's own requirements, with its replacement."""

    packages: list[str]
    without: str = ""


CLIENTS = {
    "usaddress": Client(["usaddress==0.5.16"]),
    "probablepeople": Client(["probablepeople==0.5.6"]),
    "parserator": Client(["parserator==0.6.9", "usaddress==0.5.16"]),
    "ingredient_parser": Client(["ingredient-parser-nlp==2.4.0", "nltk==3.9.2"], without="textblob-aptagger==0.2.0"),
    "pythainlp": Client(["pythainlp==5.4.0"]),
    "pyidaungsu": Client(["emoji", "fasttext-wheel"], without="pyidaungsu==0.1.4"),  # it wants to compile fasttext
    "pyvi": Client(["pyvi==0.1.1"]),
    "khmernltk": Client(["khmer-nltk==1.6", "sklearn-crfsuite==0.5.0"]),  # its models are pickles of sklearn-crfsuite
    "nltk": Client(["nltk==3.9.2"]),
    "hazm": Client(
        ["nltk==3.9.2", "flashtext", "gensim", "fasttext-wheel"], without="hazm==0.10.0"
    ),  # wants NumPy 1.24
    "sklearn_crfsuite": Client(["sklearn-crfsuite==0.5.0", "eli5>=0.13"]),
}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("clients", nargs="*", metavar="CLIENT", help=f"some of {', '.join(CLIENTS)}; default: all")
    options.add_argument("--inputs", type=int, default=500)
    options.add_argument("--turns", type=int, default=2)
    arguments = options.parse_args()
    unknown = [name for name in arguments.clients if name not in CLIENTS]
    if unknown:
        options.error(f"no such client: {unknown[0]}; expected some of {', '.join(CLIENTS)}")
    python = environment("clients", COMMON)
    rows = [row(python, name, arguments.inputs, arguments.turns) for name in arguments.clients or CLIENTS]
    return report(
        Outcome(
            name="clients",
            compared=f"{arguments.inputs} inputs each; CPU seconds, training included; ratio: Postil / CRFsuite",
            rows=rows,
            goal="no answer differs",
            passed=not any(row["differ"] for row in rows),
        )
    )


def row(python: Path, name: str, inputs: int, turns: int) -> dict[str, Any]:
    nothing = {"client": name, "answers": 0, "differ": 0, "CRFsuite": float("nan"), "Postil": float("nan")}
    reason = installed(python, CLIENTS[name])
    runs: dict[str, list[Any]] = {"crfsuite": [], "postil": []}
    for _ in range(turns):
        for library, found in runs.items():
            run = None if reason else asked(python, name, library, inputs)
            if isinstance(run, str) and library == "crfsuite":  # not a fault of ours
                reason = run
            elif run is not None:
                found.append(run)
    if reason:
        return {**nothing, "ratio": float("nan"), "note": reason}
    failed = next((run for run in runs["postil"] if isinstance(run, str)), "")
    if failed:
        return {**nothing, "differ": inputs, "ratio": float("nan"), "note": failed}
    seconds = {library: min(run["seconds"] for run in found) for library, found in runs.items()}
    pairs = zip(runs["crfsuite"][0]["answers"], runs["postil"][0]["answers"], strict=True)
    differ = sum(theirs != ours for theirs, ours in pairs)
    figures = {"CRFsuite": seconds["crfsuite"], "Postil": seconds["postil"]}
    ratio = seconds["postil"] / seconds["crfsuite"]
    counts = {"answers": len(runs["postil"][0]["answers"]), "differ": differ}
    return {"client": name, **counts, **figures, "ratio": ratio, "note": ""}


def installed(python: Path, client: Client) -> str:
    """Install what a client needs; returns why that failed, or nothing."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
    for more in (client.packages, ["--no-deps", client.without] if client.without else []):
        try:
            if more:
                subprocess.run([*pip, *more], check=True, capture_output=True, text=True, timeout=600)
        except subprocess.CalledProcessError as error:
            return f"not installed: {last_line(error.stderr)}"
        except subprocess.TimeoutExpired:
            return "not installed: after ten minutes pip was still busy"
    return ""


def asked(python: Path, name: str, library: str, inputs: int) -> dict[str, Any] | str:
    """The answers and seconds of one run, or the last line of its error."""
    paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [str(python), "-W", "ignore", str(SCRIPT), name, library, str(inputs)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    if done.returncode:
        return last_line(done.stderr)
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def last_line(text: str) -> str:
    """The line of an error that says most: that of a missing resource, else the last one."""
    plain = re.sub(r"\x1b\[\d+m", "", text)  # without colours
    lines = [line.strip() for line in plain.splitlines() if any(map(str.isalpha, line))] or ["no message"]
    return next((line for line in lines if line.endswith("not found.")), lines[-1])[:120]


if __name__ == "__main__":
    sys.exit(main())

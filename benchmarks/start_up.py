"""How soon Postil answers: importing it, ``postil --help``, loading a model of 400,000 words, labelling one sentence.

    python -m benchmarks.start_up [--words 400000]

Each figure is the best of several fresh processes and stands beside the import of NumPy alone, measured in the same
turns: the ratio says more than the milliseconds of one machine. Words are made up, the file is in the page cache.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Outcome, parser, report
from benchmarks.model_file import made_up_words
from postil.models.tagger import Tagger

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
LOAD = "import time, postil; postil.Tagger; t = time.perf_counter(); postil.load({!r}); print(time.perf_counter() - t)"
# Seconds: beyond NumPy's import, for the whole process, for loading alone.
MOST = {"import postil": 0.150, "postil --help": 0.4, "load a model": 0.050, "postil tag --text": 0.25}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--words", type=int, default=400_000)
    options.add_argument("--turns", type=int, default=7)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m.postil"
        Tagger(epochs=1, hidden=8, min_count=1).fit(*_corpus(arguments.words)).save(model)
        return report(outcome(model, arguments.turns))


def _corpus(words: int) -> tuple[list[list[str]], list[list[str]]]:
    """Every word once, in sentences of a thousand."""
    found = made_up_words(words)
    X = [found[i : i + 1000] for i in range(0, len(found), 1000)]
    return X, [["O"] * len(tokens) for tokens in X]


def outcome(model: Path, turns: int) -> Outcome:
    seconds: dict[str, float] = {}
    for _ in range(turns):
        _keep(seconds, "import numpy", _printed(IMPORT.format("numpy")))
        _keep(seconds, "import postil", _printed(IMPORT.format("numpy, postil")))
        _keep(seconds, "postil --help", _command("--help"))
        _keep(seconds, "load a model", _printed(LOAD.format(str(model))))
        _keep(seconds, "postil tag --text", _command("tag", str(model), "--text", "Anna lives in Oslo."))
    seconds["import postil"] = max(seconds["import postil"] - seconds["import numpy"], 0.0)
    rows = [
        {
            "what": name,
            "ms": round(1000 * value, 2),
            "beside import numpy": round(value / seconds["import numpy"], 3),
            "at most ms": 1000 * MOST[name] if name in MOST else "",
        }
        for name, value in seconds.items()
    ]
    return Outcome(
        name="start_up",
        compared=f"fresh processes, a model of {model.stat().st_size / 1e6:.0f} MB",
        rows=rows,
        goal="import within 150 ms of NumPy's, help within 0.4 s, a model of 400,000 words within 50 ms, a sentence "
        "labelled within 0.25 s",
        passed=all(seconds[name] <= most for name, most in MOST.items()),
    )


def _keep(seconds: dict[str, float], name: str, value: float) -> None:
    seconds[name] = min(value, seconds.get(name, value))


def _printed(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


def _command(*words: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "postil", *words], capture_output=True, check=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())

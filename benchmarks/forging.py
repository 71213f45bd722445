"""Forge model files: every field and every array replaced, all checksums repaired.

    python -m benchmarks.forging [MODEL...] [--crf] [--count 2000] [--seed 0]

Each forgery must be refused in one clear line, within a second and 200 MB, or make a model that answers. Without MODEL:
small models of every kind, encoder and composition, trained here. Prints how many were refused, answered, or failed to
answer in one clear line; then whatever went wrong. With --crf: the files of postil.crfsuite, CRFsuite's own too. Under
the sanitised library (make sanitise) a fault of the kernels ends the process, which is told too.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from oracles.forgeries import run
from oracles.golden import FOLDER, detector, multi_task_tagger, tagger, tree_classifier
from postil.models import storage

PRESETS = ("window-softmax", "average-softmax", "sentence-sll", "linear-crf", "neural-crf", "accurate")
COMPOSITIONS = ("sum", "concatenation", "tensor")


def makers(paths: Iterable[Path] = ()) -> dict[str, Callable[[], bytes]]:
    """Names of models, and what makes the bytes of their files."""
    found: dict[str, Callable[[], bytes]] = {}
    for path in [*paths] or sorted(FOLDER.glob("*.postil")):
        found[path.name] = path.read_bytes
    if paths:
        return found
    for preset in PRESETS:
        found[preset] = lambda preset=preset: storage.to_bytes(tagger(preset=preset))
    found["detector, sentence"] = lambda: storage.to_bytes(detector(preset="sentence-wll"))
    found["several tasks, accurate"] = lambda: storage.to_bytes(multi_task_tagger(preset="accurate"))
    for name in COMPOSITIONS:
        found[name] = lambda name=name: storage.to_bytes(tree_classifier(composition=name))
    return found


def crf_makers() -> dict[str, Callable[[], bytes]]:
    """CRFs in Postil's format, and in CRFsuite's if that is installed."""
    from oracles.forged_crfs import trained, trained_by_crfsuite

    theirs = {"CRFsuite": trained_by_crfsuite} if find_spec("pycrfsuite") is not None else {}
    return {"Postil's CRF": trained, **theirs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=Path)
    parser.add_argument("--count", type=int, help="forgeries of each model (default: every single one)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crf", action="store_true", help="forge the model files of postil.crfsuite")
    arguments = parser.parse_args()
    of = "oracles.forged_crfs" if arguments.crf else "oracles.forgeries"
    models = crf_makers() if arguments.crf else makers(arguments.models)
    total: Counter[str] = Counter()
    failures = 0
    for name, make in models.items():
        counts, wrong = run(make(), count=arguments.count, seed=arguments.seed, of=of)
        total += counts
        failures += len(wrong)
        print(f"{name}: " + ", ".join(f"{number:,} {what}" for what, number in counts.items()), flush=True)
        for line in wrong:
            print(f"  WRONG {line}")
    print(f"{total.total():,} forgeries, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

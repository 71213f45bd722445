"""Forge models exported to C: directories and numbers changed under the right checksum, beneath the sanitisers.

    python -m benchmarks.forged_exports [MODEL…] [--seconds 20] [--seed 0]

forged_exports.c changes an exported model again and again, opens it, and lets what was opened tag some texts, in a
workspace that grows and in one of fixed size. Each model must be refused, or answer within bounds. AddressSanitizer and
UndefinedBehaviorSanitizer watch; `cc` must have them. Without MODEL: small models of every kind, trained here.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postil
from benchmarks.measuring import Outcome, parser, report
from oracles.golden import multi_task_tagger, tagger, tree_classifier
from postil.export.amalgamation import amalgamation, header
from postil.export.flat import exported
from postil.models.tree_classifier import TreeClassifier

TEXTS = [
    "Anna's friend Dr. Smith went to New York (U.S.) on 3.5.2024... :-) didn't he? ΟΔΟΣ",
    "x" * 300 + " İstanbul'da\n\n- e-mail: a.b@example.org; https://example.org/a_(b)",
    "",
]
TREES = ["(2 (2 a) (3 (2 good) (2 film)))", "(0 a b c -LRB- \\/ ÉÉ 12)", "((", "(1 " * 60 + "(1 x)" + ")" * 60]
FLAGS = "-std=c99 -O2 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all".split()
CACHED = "-DPOSTIL_CACHED_BYTES=262144"  # small: the memory of every workspace is filled


def makers(paths: list[str]) -> dict[str, Callable[[], Any]]:
    """Names of models, and what makes them."""
    if paths:
        return {Path(path).name: lambda path=path: postil.load(path) for path in paths}
    presets = ("fast", "accurate", "window-softmax", "average-softmax", "linear-crf", "neural-crf")
    compositions = ("sum", "concatenation", "tensor", "tree-lstm")
    return {
        **{preset: lambda preset=preset: tagger(preset=preset) for preset in presets},
        "characters": lambda: tagger(character_dim=4),
        "several tasks": multi_task_tagger,
        **{name: lambda name=name: tree_classifier(composition=name) for name in compositions},
    }


def main() -> int:
    options = parser(__doc__)
    options.add_argument("models", metavar="MODEL", nargs="*")
    options.add_argument("--seconds", type=int, default=20, help="for each model")
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program = compiled(Path(name))
        rows = [
            {"model": of_model, **forged(program, make(), arguments.seconds, arguments.seed)}
            for of_model, make in makers(arguments.models).items()
        ]
    goal = "every forged model is refused or answers within bounds, and the sanitisers find nothing"
    passed = not any(row["found"] for row in rows)
    compared = f"Exported models with forged content, seed {arguments.seed}."
    return report(Outcome(name="forged_exports", compared=compared, rows=rows, goal=goal, passed=passed))


def compiled(folder: Path) -> Path:
    """forged_exports.c with the runtime."""
    (folder / "postil.c").write_text(amalgamation(), encoding="utf-8")
    (folder / "postil.h").write_text(header(), encoding="utf-8")
    source = os.fspath(Path(__file__).with_suffix(".c"))
    command = ["cc", *FLAGS, CACHED, f"-I{folder}", source, "postil.c", "-o", "forged", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "forged"


def forged(program: Path, model: Any, seconds: int, seed: int) -> dict[str, Any]:
    """What became of the forgeries of one model; ``found`` is what the program or a sanitiser said."""
    path = program.with_name("model.bin")
    path.write_bytes(exported(model))
    texts = TREES if isinstance(model, TreeClassifier) else TEXTS
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=2000"}
    ran = subprocess.run(
        [program, path, str(seconds), str(seed), *texts], capture_output=True, text=True, env=environment, check=False
    )
    if ran.returncode:
        return dict.fromkeys(("forged", "opened", "texts tagged", "damaged"), 0) | {"found": ran.stderr[-3000:]}
    counts = zip(("forged", "opened", "texts tagged", "damaged"), map(int, ran.stdout.split()), strict=True)
    return {**dict(counts), "found": ""}


if __name__ == "__main__":
    sys.exit(main())

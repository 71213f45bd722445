"""Do probabilities mean what they say, and does the recall dial keep its promise? Fitted on dev, judged on test.

    python -m benchmarks.answers TRAIN DEV TEST --preset fast
    python -m benchmarks.answers MODEL DEV TEST --recall 0.7 0.75      a model that is there already

Prints the expected calibration error of entity probabilities on dev and test before (T = 1) and after, beside the error
that perfect probabilities would show on so few entities by chance; F1 before and after; and for some recalls that the
model can reach the recall and precision expected from dev and those found on test.
"""

import argparse
import json
import sys

from benchmarks.accuracy import Part, load_part
from benchmarks.environments import RESULTS
from benchmarks.measuring import parser
from postil.errors import ConfigurationError
from postil.models import PRESETS, Decoding, Tagger, load
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tuning import entity_calibration

STEPS = (-0.04, -0.02, 0.0, 0.02)  # wanted recalls: that of the model itself on dev, and so much more


def main() -> int:
    arguments = _arguments()
    tagger, dev, test = _model(arguments), load_part(arguments.files[1]), load_part(arguments.files[2])
    rows = {"files": arguments.files, "calibration": _calibration(tagger, dev, test), "dial": []}
    recalls = arguments.recall or _reachable(tagger, dev)
    for recall in recalls:
        rows["dial"].append(_dialled(tagger, dev, test, recall))
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "answers.jsonl").open("a", encoding="utf8") as log:
        log.write(json.dumps(rows) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("files", nargs=3, metavar="FILE", help="train (or a model), dev and test")
    options.add_argument("--preset", choices=list(PRESETS), default="fast")
    options.add_argument("--vectors", help="as postil train --vectors")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--recall", nargs="+", type=float, help="recalls to ask for, 0 to 1")
    return options.parse_args()


def _model(arguments: argparse.Namespace) -> Tagger:
    if arguments.files[0].endswith(".postil"):
        tagger: Tagger = load(arguments.files[0])
        tagger.calibrate(*load_part(arguments.files[1]))
        return tagger
    tagger = Tagger(preset=arguments.preset, seed=arguments.seed, vectors=arguments.vectors)
    return tagger.fit(*load_part(arguments.files[0]), dev=load_part(arguments.files[1]))


def _calibration(tagger: Tagger, dev: Part, test: Part) -> list[dict[str, object]]:
    fitted = tagger.decoding
    print(f"temperature {fitted.temperature:.3f}, shift {fitted.shift:+.3f}")
    print(f"{'part':6}{'':8}{'entities':>10}{'ECE %':>8}{'chance %':>10}{'F1':>8}")
    rows: list[dict[str, object]] = []
    for name, part in (("dev", dev), ("test", test)):
        for when, decoding in (("before", Decoding()), ("after", fitted)):
            tagger.decoding = decoding
            found, f1 = entity_calibration(Posteriors(tagger.model), *part), tagger.score(*part)
            error, chance = 100 * found.expected_error, 100 * found.error_by_chance
            print(f"{name:6}{when:8}{found.counts.sum():10,}{error:8.2f}{chance:10.2f}{100 * f1:8.2f}", flush=True)
            rows.append({"part": name, "when": when, "ece": error, "chance": chance, "f1": 100 * f1})
    return rows


def _reachable(tagger: Tagger, dev: Part) -> list[float]:
    tuned = tagger.tune(*dev, recall=0.01)
    return [round(tuned.before.recall + step, 2) for step in STEPS]


def _dialled(tagger: Tagger, dev: Part, test: Part, recall: float) -> dict[str, float]:
    try:
        chosen = tagger.tune(*dev, recall=recall).chosen
    except ConfigurationError as error:
        print(f"recall {recall:.2f}: {error}")
        return {"recall": recall}
    found = tagger.evaluate(*test)
    assert found.spans is not None
    counts = found.spans.overall
    on_dev = f"on dev recall {chosen.recall:.3f} precision {chosen.precision:.3f}"
    on_test = f"on test recall {counts.recall:.3f} precision {counts.precision:.3f}"
    points = f"{100 * (counts.recall - recall):+.1f} points"
    print(f"recall {recall:.2f}: dial {chosen.position:+.2f}, {on_dev}, {on_test} ({points})", flush=True)
    return {
        "recall": recall,
        "dial": chosen.position,
        "test_recall": counts.recall,
        "test_precision": counts.precision,
    }


if __name__ == "__main__":
    sys.exit(main())

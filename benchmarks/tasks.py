"""Joint against separate training: names and parts of speech in one network, or in two.

    python -m benchmarks.tasks NAMES_TRAIN NAMES_DEV WORDS_TRAIN WORDS_DEV [--seeds 3] [--preset fast] [--vectors V]

Prints, for each seed, the dev scores of both tasks trained separately and jointly, and the CPU seconds; then the means
over the seeds, and the standard error of the gain.
"""

import argparse
import time
from statistics import mean, stdev
from typing import Any

import postil
from postil.text import read

TASKS = ("names", "words")


def load(path: str, label: int | str = "auto") -> tuple[list[list[str]], list[list[str]]]:
    sentences = [sentence for sentence in read(path, features=(), label=label) if sentence.tokens]
    return [sentence.tokens for sentence in sentences], [sentence.labels or [] for sentence in sentences]


def timed(model: Any, *arguments: Any, dev: Any) -> float:
    """CPU seconds of a training."""
    start = time.process_time()
    model.fit(*arguments, dev=dev)
    return time.process_time() - start


def compare(train: dict[str, Any], dev: dict[str, Any], settings: dict[str, Any]) -> dict[str, float]:
    """One seed: scores and seconds. Several tasks are one network, and so are the separate ones."""
    figures = {}
    for task in TASKS:
        model: Any = postil.Tagger(**settings)
        figures[f"separate {task}, s"] = timed(model, *train[task], dev=dev[task])
        figures[f"separate {task}"] = 100 * model.score(*dev[task])
    model = postil.MultiTaskTagger(**settings)
    X, y = ({task: data[part] for task, data in train.items()} for part in (0, 1))
    figures["joint, s"] = timed(model, X, y, dev=dev)
    for task in TASKS:
        figures[f"joint {task}"] = 100 * model[task].score(*dev[task])
    print(settings["seed"], "  ".join(f"{name} {value:.2f}" for name, value in figures.items()), flush=True)
    return figures


def summary(runs: list[dict[str, float]]) -> None:
    for task in TASKS:
        gains = [run[f"joint {task}"] - run[f"separate {task}"] for run in runs]
        error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
        separate, joint = (mean(run[f"{way} {task}"] for run in runs) for way in ("separate", "joint"))
        print(f"{task}: separate {separate:.2f}, joint {joint:.2f}, gain {mean(gains):+.2f} ± {error:.2f}")
    seconds = [
        mean(sum(run[f"separate {task}, s"] for task in TASKS) for run in runs),
        mean(r["joint, s"] for r in runs),
    ]
    print(f"CPU seconds: separate {seconds[0]:.1f}, joint {seconds[1]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("names_train", "names_dev", "words_train", "words_dev"):
        parser.add_argument(name)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--vectors", metavar="FILE|NAME")
    parser.add_argument("--column", type=int, default=-1, help="column of the labels of the words")
    arguments = parser.parse_args()
    train = {"names": load(arguments.names_train), "words": load(arguments.words_train, arguments.column)}
    dev = {"names": load(arguments.names_dev), "words": load(arguments.words_dev, arguments.column)}
    settings = {"preset": arguments.preset, "vectors": arguments.vectors, "ensemble": 1}
    summary([compare(train, dev, {**settings, "seed": seed}) for seed in range(arguments.seeds)])


if __name__ == "__main__":
    main()

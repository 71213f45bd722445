"""Joint against separate training: names and parts of speech in one network, or in two.

    python -m benchmarks.tasks NAMES_TRAIN NAMES_DEV WORDS_TRAIN WORDS_DEV [--seeds 3] [--preset fast]

Prints, for each seed, the dev scores of both tasks trained separately and jointly, and the CPU seconds.
"""

import argparse
import time
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


def compare(train: dict[str, Any], dev: dict[str, Any], settings: dict[str, Any]) -> None:
    """One seed. Several tasks are one network yet, and so are the separate ones."""
    for task in TASKS:
        model: Any = postil.Tagger(**settings)
        seconds = timed(model, *train[task], dev=dev[task])
        print(
            f"{settings['seed']}  separate  {task:<6} {100 * model.score(*dev[task]):6.2f}  {seconds:6.1f} s",
            flush=True,
        )
    model = postil.MultiTaskTagger(**settings)
    X, y = ({task: data[part] for task, data in train.items()} for part in (0, 1))
    seconds = timed(model, X, y, dev=dev)
    for task in TASKS:
        score = model[task].score(*dev[task])
        print(f"{settings['seed']}  joint     {task:<6} {100 * score:6.2f}  {seconds:6.1f} s (both)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("names_train", "names_dev", "words_train", "words_dev"):
        parser.add_argument(name)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--column", type=int, default=-1, help="column of the labels of the words")
    arguments = parser.parse_args()
    train = {"names": load(arguments.names_train), "words": load(arguments.words_train, arguments.column)}
    dev = {"names": load(arguments.names_dev), "words": load(arguments.words_dev, arguments.column)}
    for seed in range(arguments.seeds):
        compare(train, dev, {"preset": arguments.preset, "seed": seed, "ensemble": 1})


if __name__ == "__main__":
    main()

"""Tree networks beside PyTorch's, by level and node by node: trees a second; then how the cost grows.

    python -m benchmarks.trees_speed TRAIN [--turns 5] [--compositions sum tree-lstm]

TRAIN holds bracketed trees with labels. PyTorch (about 1 GB) is installed into an environment of its own, made on the
first call under benchmarks/results/. All run in one process, on one thread, in turn; the best of several turns counts.
Our training is the whole of it, with averaged parameters; PyTorch's is given our schedules, so that no time is lost on
preparing levels in Python. Exit code 1 where a goal is missed.
"""

import subprocess
import sys

from benchmarks.environments import ROOT, TORCH, environment


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    python = environment("torch", TORCH)
    return subprocess.run(
        [python, "-m", "benchmarks.peers.trees_speed", *sys.argv[1:]], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

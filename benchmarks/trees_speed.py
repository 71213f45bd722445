"""Tree networks beside PyTorch's, by level and node by node: trees a second; then how the cost grows.

    python -m benchmarks.trees_speed TRAIN [--turns 5] [--compositions sum tree-lstm]

TRAIN holds bracketed trees with labels at every node. All run in one process, on one thread, in turn; CPU time, the
best of several turns. Training, a step on 32 trees:

| | prepared before the clock starts | timed |
|---|---|---|
| ours | all trees as flat arrays, which fit() makes once | levels of the batch, network, Adam, clipping, averaging |
| by level | word -> number | levels of the batch in Python from its trees, network, Adam |
| tuned | all trees as our flat arrays | levels of the batch by our own code (NumPy), network, fused Adam |
| node by node | all words as numbers, children as lists | a recursive function, network, Adam |

"By level" is what a PyTorch user would write, and what the goals are about; "tuned" is the fastest PyTorch that we
could make of it, with our conversion of trees and our levels. Prediction begins with trees (Tree objects) on all sides and
ends with the roots' labels; "node by node" is given our conversion of trees there. PyTorch (about 1 GB) is installed
into an environment of its own, made on the first call under benchmarks/results/. Exit code 1 where a goal is missed.
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

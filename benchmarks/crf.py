"""The CRF beside pytorch-crf: loss with gradient, and Viterbi; then how the cost grows with labels and length.

    python -m benchmarks.crf

PyTorch (about 1 GB) is installed into an environment of its own, made on the first call under benchmarks/results/.
Both run in one process, on one thread, in turn, on the same float32 scores; the figures are in benchmarks/peers/crf.py.
Exit code 1 where a goal is missed.
"""

import subprocess
import sys

from benchmarks.environments import ROOT, TORCH, environment
from benchmarks.measuring import parser


def main() -> int:
    parser(__doc__).parse_args()
    python = environment("torch", TORCH)
    return subprocess.run([python, "-m", "benchmarks.peers.crf"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

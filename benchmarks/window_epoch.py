"""An epoch of the preset ``window-sll`` beside the same network in PyTorch with pytorch-crf.

    python -m benchmarks.window_epoch TRAIN [--turns 5]

Both train on one thread in one process, an epoch each in turn; CPU time, the median of the ratios. PyTorch's side is
the contestant of ``benchmarks.contest``. PyTorch (about 1 GB) is installed into an environment of its own, made on the
first call under benchmarks/results/. Exit code 1 where the goal is missed.
"""

import subprocess
import sys

from benchmarks.environments import ROOT, TORCH, environment


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    python = environment("torch", TORCH)
    command = [python, "-m", "benchmarks.peers.window_epoch", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

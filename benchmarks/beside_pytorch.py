"""Values and gradients of every operation, layer, objective and optimiser beside PyTorch's, in float64.

    python -m benchmarks.beside_pytorch

PyTorch (about 1 GB) is installed into an environment of its own, made on the first call under benchmarks/results/.
The cases, each with our expression beside PyTorch's, stand in benchmarks/peers/pytorch.py. The difference is
|ours - theirs| / max(1, |theirs|), the largest over all elements. Exit code 1 where one exceeds 1e-10.
"""

import subprocess
import sys

from benchmarks.environments import ROOT, TORCH, environment
from benchmarks.measuring import parser


def main() -> int:
    parser(__doc__).parse_args()
    python = environment("torch", TORCH)
    return subprocess.run([python, "-m", "benchmarks.peers.pytorch"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

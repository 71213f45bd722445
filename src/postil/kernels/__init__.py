"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. A new kernel is a prototype in kernels.h, its C beside it, its twin in
plain.py, its wrapper in compiled.py, and a line here.
"""

from postil.kernels import plain, plain_windows
from postil.kernels.choice import IN_USE
from postil.kernels.choice import chosen as _chosen

__all__ = [
    *["ACTIVATIONS", "IN_USE", "chain_messages", "chain_moments", "viterbi"],
    *["add_bias", "multiply_rows", "normalise_windows", "spread_windows", "sum_windows"],
]

ACTIVATIONS = plain_windows.ACTIVATIONS
chain_messages = _chosen(plain.chain_messages)
chain_moments = _chosen(plain.chain_moments)
viterbi = _chosen(plain.viterbi)
sum_windows = _chosen(plain_windows.sum_windows)
spread_windows = _chosen(plain_windows.spread_windows)
multiply_rows = _chosen(plain_windows.multiply_rows)
normalise_windows = _chosen(plain_windows.normalise_windows)
add_bias = _chosen(plain_windows.add_bias)

"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. A new kernel is a prototype in kernels.h, its C beside it, its twin in
plain.py, its wrapper in compiled.py, and a line here.
"""

from postil.kernels import plain
from postil.kernels.choice import IN_USE
from postil.kernels.choice import chosen as _chosen

__all__ = ["IN_USE", "chain_messages", "chain_moments", "viterbi"]

chain_messages = _chosen(plain.chain_messages)
chain_moments = _chosen(plain.chain_moments)
viterbi = _chosen(plain.viterbi)

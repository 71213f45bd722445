"""What a gradient costs: time of the backward pass over time of the forward pass (E11).

    python -m benchmarks.gradient_cost [--repeats 9]

Chains of 10 to 1,000 layers, each Y = tanh(X Wᵀ + b) with its own W and b, are built in three ways: layers applied to
nodes, all layers folded into one node, and the graph of single array operations. A fourth graph is wide, not deep: as
many uses of one lookup table and one linear layer, concatenated. "forward" makes the whole graph and the loss;
"backward" is ``graph.gradients(loss)``: the gradients of all parameters and of the input. float32, one thread.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measuring import Outcome, interleaved, parser, report
from postil.graph import Input, Node, Parameter, concatenate, gradients, tanh
from postil.network import Activation, Chain, Linear, LookupTable

DEPTHS = (10, 100, 1_000)
SIZES = ((1, 16), (32, 64), (256, 128))  # rows, width
LARGEST_RATIO = 3.0


def layers_on_nodes(depth: int, width: int, rng: np.random.Generator) -> Callable[[Node], Node]:
    layers = _layers(depth, width, rng)

    def score(x: Node) -> Node:
        for layer in layers:
            x = layer(x)
        return x.sum()

    return score


def one_node(depth: int, width: int, rng: np.random.Generator) -> Callable[[Node], Node]:
    chain = Chain(*_layers(depth, width, rng))
    return lambda x: chain(x).sum()


def array_operations(depth: int, width: int, rng: np.random.Generator) -> Callable[[Node], Node]:
    weights = [Parameter(_matrix(width, rng), f"W{i}") for i in range(depth)]
    biases = [Parameter(np.zeros(width, np.float32), f"b{i}") for i in range(depth)]

    def score(x: Node) -> Node:
        for W, b in zip(weights, biases, strict=True):
            x = tanh(x @ W + b)
        return x.sum()

    return score


def shared_layers(depth: int, width: int, rng: np.random.Generator) -> Callable[[Node], Node]:
    words, layer = LookupTable(5_000, width, rng=rng), Linear(width, width, rng=rng)

    def score(x: Node) -> Node:
        ids = rng.integers(0, 5_000, (depth, len(x.value)))
        return concatenate([tanh(layer(words(sentence)) + x) for sentence in ids]).sum()

    return score


def _layers(depth: int, width: int, rng: np.random.Generator) -> list[Any]:
    pairs = ((Linear(width, width, rng=rng), Activation("tanh")) for _ in range(depth))
    return [layer for pair in pairs for layer in pair]


def _matrix(width: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return rng.normal(scale=width**-0.5, size=(width, width)).astype(np.float32)


KINDS = {
    "layers on nodes": layers_on_nodes,
    "one node": one_node,
    "array operations": array_operations,
    "shared, wide": shared_layers,
}


def measured(kind: str, depth: int, rows: int, width: int, repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    score = KINDS[kind](depth, width, rng)
    x = Input(rng.normal(size=(rows, width)).astype(np.float32), "x")
    loss = score(x)
    passes = {"forward": lambda: score(x), "backward": lambda: gradients(loss)}
    times = interleaved(passes, max(repeats, 1_000 // depth))  # short chains are done in no time: measure more of them
    seconds = {name: min(values) for name, values in times.items()}
    return {
        "graph": kind,
        "size": f"{rows} × {width}",
        "layers": depth,
        "forward µs a layer": 1e6 * seconds["forward"] / depth,
        "backward µs a layer": 1e6 * seconds["backward"] / depth,
        "backward / forward": seconds["backward"] / seconds["forward"],
    }


def main() -> int:
    options = parser(__doc__)
    options.add_argument(
        "--repeats", type=int, default=9, help="runs of each pass, more for short chains; the best one counts"
    )
    repeats = options.parse_args().repeats
    with threadpool_limits(1):
        rows = [measured(kind, d, *size, repeats) for kind in KINDS for size in SIZES for d in DEPTHS]
    worst = max(row["backward / forward"] for row in rows)
    return report(
        Outcome(
            name="gradient_cost",
            compared=f"backward pass beside forward pass, best of at least {repeats} runs, CPU time, rows × width",
            rows=rows,
            goal=f"backward / forward at most {LARGEST_RATIO:g}, flat in depth and size; largest {worst:.2f}",
            passed=worst <= LARGEST_RATIO,
        )
    )


if __name__ == "__main__":
    sys.exit(main())

"""Recursive networks as one would write them down: a function that calls itself, on the flow graph, node by node."""

from postil import graph
from postil.graph import Node


def sigmoid(z: Node) -> Node:
    return 1.0 / (1.0 + graph.exp(-z))


def composed(kind: str, p: dict[str, Node], left: Node, right: Node, width: int) -> Node:
    """The vector of a phrase (tanh everywhere). For a Tree-LSTM left, right and the result are (h, c) side by side."""
    if kind == "sum":
        return graph.tanh(p["W"] @ (left + right))
    if kind == "tree-lstm":
        H = width
        z = p["U"] @ graph.concatenate([left[:H], right[:H]], 0) + p["d"]
        o, f_left, f_right, i = (sigmoid(z[k * H : (k + 1) * H]) for k in range(4))
        c = i * graph.tanh(z[4 * H :]) + f_left * left[H:] + f_right * right[H:]
        return graph.concatenate([o * graph.tanh(c), c], 0)
    both = graph.concatenate([left, right], 0)
    linear = p["W"] @ both + p["b"]
    if kind == "concatenation":
        return graph.tanh(linear)
    V = graph.transpose(p["V"], 1, 0, 2)  # one matrix a unit
    return graph.tanh((V @ both) @ both + linear)


def word(kind: str, p: dict[str, Node], x: Node, width: int) -> Node:
    if kind != "tree-lstm":
        return x
    H = width
    z = p["W"] @ x + p["b"]
    c = sigmoid(z[H : 2 * H]) * graph.tanh(z[2 * H :])
    return graph.concatenate([sigmoid(z[:H]) * graph.tanh(c), c], 0)


def vectors(kind: str, p: dict[str, Node], tree, table: Node, ids: list[int], width: int) -> list[Node]:
    """One node (H,) per node of the tree, in post-order. ``ids`` are the rows of the table at the leaves."""
    found: dict[int, Node] = {}
    rows = iter(ids)
    row_of = {node: next(rows) for node, children in enumerate(tree.children) if not children}

    def of(node: int) -> Node:
        children = tree.children[node]
        if children:
            left, right = (of(child) for child in children)
            found[node] = composed(kind, p, left, right, width)
        else:
            found[node] = word(kind, p, table[row_of[node]], width)
        return found[node]

    of(len(tree.children) - 1)
    return [found[node][:width] for node in range(len(tree.children))]

"""A recursive network over parse trees in plain NumPy (D1 to D4): up the tree with values, down with gradients.

    python docs/ladder/tree.py

A tree is a word, or a pair of trees. The vector of a pair is tanh(W (x_left + x_right)); a softmax on the vector of
the root selects the label.
"""

import numpy as np


def up(tree, p, words):
    """The vector of a tree, as (vector, what the way down needs)."""
    if isinstance(tree, str):
        return p["E"][words[tree]], words[tree]
    left, right = up(tree[0], p, words), up(tree[1], p, words)
    return np.tanh(p["W"] @ (left[0] + right[0])), (left, right)


def down(node, dx, p, gradients):
    """Add the gradients of a tree whose vector has the gradient dx: each node is visited once."""
    x, inside = node
    if not isinstance(inside, tuple):
        gradients["E"][inside] += dx  # every occurrence of a word adds up
        return
    left, right = inside
    delta = dx * (1 - x**2)  # through the tanh
    gradients["W"] += np.outer(delta, left[0] + right[0])
    both = p["W"].T @ delta  # the sum passes the same gradient to both children
    down(left, both, p, gradients)
    down(right, both, p, gradients)


def loss_and_gradients(p, words, tree, gold):
    """Cross-entropy of the label of the root (D2) and its gradient for every parameter (D3)."""
    root = up(tree, p, words)
    q = p["S"] @ root[0]
    probabilities = np.exp(q - q.max()) / np.exp(q - q.max()).sum()
    gradients = {name: np.zeros_like(values) for name, values in p.items()}
    dq = probabilities.copy()
    dq[gold] -= 1
    gradients["S"] += np.outer(dq, root[0])
    down(root, p["S"].T @ dq, p, gradients)
    return -np.log(probabilities[gold]), gradients


def predict(p, words, tree):
    return int((p["S"] @ up(tree, p, words)[0]).argmax())


def new_parameters(V, L, rng, D=8):
    return {
        "E": rng.normal(size=(V, D)) * 0.5,  # word vectors
        "W": rng.normal(size=(D, D)) / np.sqrt(D),  # composition
        "S": rng.normal(size=(L, D)) / np.sqrt(D),  # softmax
    }


TREES = [
    ("good", 1),
    ("bad", 0),
    (("very", "good"), 1),
    (("very", "bad"), 0),
    (("not", "good"), 0),
    (("not", "bad"), 1),
    (("not", ("very", "good")), 0),
]


def main():
    words = {word: place for place, word in enumerate(["good", "bad", "very", "not"])}
    p = new_parameters(len(words), 2, np.random.default_rng(0))
    for epoch in range(1, 301):
        total = 0.0
        for tree, gold in TREES:
            loss, gradients = loss_and_gradients(p, words, tree, gold)
            total += loss
            for name, gradient in gradients.items():
                p[name] -= 0.1 * gradient
        if epoch in (1, 300):
            print(f"epoch {epoch:3}: loss {total / len(TREES):.3f}")
    print("not very bad:", ["negative", "positive"][predict(p, words, ("not", ("very", "bad")))])


if __name__ == "__main__":
    main()

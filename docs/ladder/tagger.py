"""A neural tagger with a CRF in plain NumPy: read it from top to bottom, then run it.

    python docs/ladder/tagger.py

One sentence at a time, every gradient by hand. Each function returns its output and, with it, a function ``back``
that turns the gradient of the output into the gradients of the inputs. Numbers such as A3 refer to
docs/machinery/equations.md.
Shapes: T tokens, D numbers per word, K words in a window, H hidden units, L labels, V words in the vocabulary.
"""

import numpy as np

# ------------------------------------------------------------------------------------------------- layers


def lookup(E, ids):
    """A vector for each word (A2).  E (V, D), ids (T,): X (T, D)."""

    def back(dX):
        dE = np.zeros_like(E)
        np.add.at(dE, ids, dX)  # a word that occurs twice gets both gradients
        return dE

    return E[ids], back


def window(X, padding, K):
    """Each word next to its neighbours (A4).  X (T, D), padding (D,): Y (T, K·D)."""
    T, D = X.shape
    half = K // 2
    edge = np.tile(padding, (half, 1))
    padded = np.vstack([edge, X, edge])
    Y = np.hstack([padded[k : k + T] for k in range(K)])

    def back(dY):
        dpadded = np.zeros_like(padded)
        for k in range(K):
            dpadded[k : k + T] += dY[:, k * D : (k + 1) * D]
        dpadding = dpadded[:half].sum(axis=0) + dpadded[half + T :].sum(axis=0)
        return dpadded[half : half + T], dpadding

    return Y, back


def linear(X, W, b):
    """Y = X Wᵀ + b (A3).  X (T, D), W (H, D), b (H,): Y (T, H)."""

    def back(dY):
        return dY @ W, dY.T @ X, dY.sum(axis=0)

    return X @ W.T + b, back


def hardtanh(Z):
    """Z clipped to [-1, 1] (A6)."""

    def back(dY):
        return dY * (np.abs(Z) <= 1)

    return np.clip(Z, -1, 1), back


# ------------------------------------------------------------------------------------------------- the CRF


def log_sum_exp(x, axis):
    """log Σ exp(x), without overflow."""
    largest = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - largest).sum(axis=axis)) + largest.squeeze(axis)


def forward_backward(U, A, start, end):
    """Sums over all labellings (A8, C4).  U (T, L) scores of labels, A (L, L) of transitions: log α, log β, log Z."""
    T, L = U.shape
    alpha, beta = np.zeros((T, L)), np.zeros((T, L))
    alpha[0] = start + U[0]
    for t in range(1, T):  # α_t(j): all beginnings that end in label j at token t
        alpha[t] = U[t] + log_sum_exp(alpha[t - 1][:, None] + A, axis=0)
    beta[T - 1] = end
    for t in range(T - 2, -1, -1):  # β_t(i): all endings that continue from label i at token t
        beta[t] = log_sum_exp(A + U[t + 1] + beta[t + 1], axis=1)
    return alpha, beta, log_sum_exp(alpha[T - 1] + end, axis=0)


def crf_loss(U, A, start, end, gold):
    """-log p(gold) = log Z - s(gold) (C3), and its gradient: what the model expects minus what is true (C5)."""
    T = len(U)
    alpha, beta, log_Z = forward_backward(U, A, start, end)
    score = start[gold[0]] + U[np.arange(T), gold].sum() + A[gold[:-1], gold[1:]].sum() + end[gold[-1]]

    dU = np.exp(alpha + beta - log_Z)  # p(y_t = j)
    dU[np.arange(T), gold] -= 1
    dA = np.zeros_like(A)
    for t in range(1, T):
        dA += np.exp(alpha[t - 1][:, None] + A + U[t] + beta[t] - log_Z)  # p(y_t-1 = i, y_t = j)
        dA[gold[t - 1], gold[t]] -= 1
    return log_Z - score, dU, dA, dU[0].copy(), dU[T - 1].copy()


def viterbi(U, A, start, end):
    """The best labelling (A9): the recursion of α with a maximum in place of the sum, then back along the maxima."""
    T = len(U)
    best, came_from = start + U[0], []
    for t in range(1, T):
        candidates = best[:, None] + A
        came_from.append(candidates.argmax(axis=0))
        best = candidates.max(axis=0) + U[t]
    labels = [int((best + end).argmax())]
    for pointers in reversed(came_from):
        labels.append(int(pointers[labels[-1]]))
    return labels[::-1]


# ------------------------------------------------------------------------------------------------- the network


def new_parameters(V, L, rng, D=16, K=5, H=32):
    """Weights by Xavier's rule (B7), biases and transitions 0."""

    def xavier(rows, columns):
        return rng.uniform(-1, 1, (rows, columns)) * np.sqrt(6 / (rows + columns))

    return {
        "E": rng.normal(size=(V, D)) * 0.1,
        "padding": np.zeros(D),
        "W1": xavier(H, K * D),
        "b1": np.zeros(H),
        "W2": xavier(L, H),
        "b2": np.zeros(L),
        "A": np.zeros((L, L)),
        "start": np.zeros(L),
        "end": np.zeros(L),
    }


def scores(p, ids):
    """The score of each label for each word: lookup, window, linear, hardtanh, linear (A12).  ids (T,): U (T, L)."""
    K = p["W1"].shape[1] // p["E"].shape[1]
    X, lookup_back = lookup(p["E"], ids)
    windows, window_back = window(X, p["padding"], K)
    Z, linear1_back = linear(windows, p["W1"], p["b1"])
    Y, hardtanh_back = hardtanh(Z)
    U, linear2_back = linear(Y, p["W2"], p["b2"])

    def back(dU):  # the same steps in reverse order (A1)
        dY, dW2, db2 = linear2_back(dU)
        dZ = hardtanh_back(dY)
        dwindows, dW1, db1 = linear1_back(dZ)
        dX, dpadding = window_back(dwindows)
        return {"E": lookup_back(dX), "padding": dpadding, "W1": dW1, "b1": db1, "W2": dW2, "b2": db2}

    return U, back


def loss_and_gradients(p, ids, gold):
    """The loss of one sentence and its gradient for every parameter."""
    U, back = scores(p, ids)
    loss, dU, dA, dstart, dend = crf_loss(U, p["A"], p["start"], p["end"], gold)
    return loss, back(dU) | {"A": dA, "start": dstart, "end": dend}


def predict(p, ids):
    return viterbi(scores(p, ids)[0], p["A"], p["start"], p["end"])


# ------------------------------------------------------------------------------------------------- training


def sgd_step(p, gradients, rate):
    for name, gradient in gradients.items():
        p[name] -= rate * gradient


def gradient_error(p, ids, gold, epsilon=1e-5):
    """The largest difference between the gradient and central differences (B4), over all numbers of all parameters."""
    gradients = loss_and_gradients(p, ids, gold)[1]
    worst = 0.0
    for name, values in p.items():
        for place in np.ndindex(values.shape):
            kept = values[place]
            values[place] = kept + epsilon
            above = loss_and_gradients(p, ids, gold)[0]
            values[place] = kept - epsilon
            below = loss_and_gradients(p, ids, gold)[0]
            values[place] = kept
            worst = max(worst, abs((above - below) / (2 * epsilon) - gradients[name][place]))
    return worst


SENTENCES = [
    ("Anna lives in Oslo .", "B-PER O O B-LOC O"),
    ("Boris Berg left New York .", "B-PER I-PER O B-LOC I-LOC O"),
    ("the museums of Lima are old .", "O O O B-LOC O O O"),
    ("in New York Anna Berg sings .", "O B-LOC I-LOC B-PER I-PER O O"),
    ("old streets of Oslo", "O O O B-LOC"),
]


def main():
    words = sorted({word for text, _ in SENTENCES for word in text.split()})
    labels = sorted({label for _, tags in SENTENCES for label in tags.split()})
    data = [
        (np.array([words.index(w) for w in text.split()]), np.array([labels.index(t) for t in tags.split()]))
        for text, tags in SENTENCES
    ]
    rng = np.random.default_rng(0)
    p = new_parameters(len(words), len(labels), rng)
    print(f"gradient check: largest error {gradient_error(p, *data[1]):.0e}")
    for epoch in range(1, 31):
        total = 0.0
        for place in rng.permutation(len(data)):
            loss, gradients = loss_and_gradients(p, *data[place])
            sgd_step(p, gradients, rate=0.1)
            total += loss
        if epoch in (1, 10, 30):
            print(f"epoch {epoch:2}: loss {total / len(data):.3f}")
    text = "Boris lives in New York ."
    answers = predict(p, np.array([words.index(word) for word in text.split()]))
    print(*(f"{word}/{labels[answer]}" for word, answer in zip(text.split(), answers, strict=True)))


if __name__ == "__main__":
    main()

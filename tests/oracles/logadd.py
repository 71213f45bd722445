"""The gradient of the sentence-level log-likelihood as the seed document derives it (A8).

C = logadd over all paths of s(path) - s(gold) is *minimised*. Its first part is differentiated through the recursion
δ_n(u) = f_n(u) + logadd_t (δ_n-1(t) + A_tu), step by step from the last word to the first; its second part gives -1
where the document prints +1. Loops over words and labels, one sentence, nothing shared with the package.
"""

import numpy as np


def logadd(values):
    top = max(values)
    return top + np.log(sum(np.exp(v - top) for v in values))


def cost_and_gradients(f, A, initial, final, gold):
    """C of one sentence and its gradients by f, A, initial, final.  f (N, L), A (L, L), initial, final (L,), gold (N,).

    The document's [A]_{t0} are the initial scores. It has no final ones; they are added to the last δ.
    """
    N, L = f.shape
    delta = np.zeros((N, L))
    delta[0] = initial + f[0]
    for n in range(1, N):
        for u in range(L):
            delta[n, u] = f[n, u] + logadd([delta[n - 1, t] + A[t, u] for t in range(L)])
    last = delta[-1] + final
    total = logadd(list(last))
    own = initial[gold[0]] + f[0, gold[0]] + final[gold[-1]]
    own += sum(A[gold[n - 1], gold[n]] + f[n, gold[n]] for n in range(1, N))

    df, dA, dinitial, dfinal = np.zeros_like(f), np.zeros_like(A), np.zeros(L), np.zeros(L)
    # The second part, -s(gold): -1 each.
    for n in range(N):
        df[n, gold[n]] -= 1
        if n:
            dA[gold[n - 1], gold[n]] -= 1
    dinitial[gold[0]] -= 1
    dfinal[gold[-1]] -= 1
    # The first part: dC/dδ_N(t) = exp δ_N(t) / Σ_u exp δ_N(u), then back through the recursion.
    ddelta = np.exp(last - total)
    dfinal += ddelta
    for n in range(N - 1, -1, -1):
        df[n] += ddelta
        if n == 0:
            dinitial += ddelta
            break
        before = np.zeros(L)
        for u in range(L):
            sums = logadd([delta[n - 1, v] + A[v, u] for v in range(L)])
            for t in range(L):
                through = ddelta[u] * np.exp(delta[n - 1, t] + A[t, u] - sums)
                dA[t, u] += through
                before[t] += through
        ddelta = before
    return total - own, df, dA, dinitial, dfinal

"""The comparison with PyTorch; runs in PyTorch's environment, where Postil is installed too.

A case has inputs, our function of nodes and PyTorch's function of tensors. Both run on the same float64 arrays, and
both are pulled back from the same random gradient to every float input and parameter.

Where PyTorch defines a thing differently, the case says how the two are brought together. Left out are values at the
kinks (the gradient of hardtanh at ±1 is 1 in A6 and 0 in PyTorch), the noise of dropout (the mask is handed over), the
cut of clipped gradients (PyTorch adds 1e-6 to the norm: only the norm is compared) and sparse Adam (PyTorch corrects
the bias by the steps of all, Postil by those of the row).
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
import torchcrf
from torch.nn import functional as F

from benchmarks.measuring import Outcome, report
from postil import graph, objectives
from postil import optimisation as training
from postil.arrays import Ragged
from postil.graph import Input, Node, Parameter, dense, gradients
from postil.network import (
    ACTIVATIONS,
    Activation,
    Chain,
    Concatenation,
    Dropout,
    Layer,
    LayerNorm,
    Linear,
    LookupTable,
    LookupTables,
    MaxOverTime,
    ParametricReLU,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
    convolution,
)

LARGEST_DIFFERENCE = 1e-10
LENGTHS = (1, 4, 2, 7)  # words in the sentences of every ragged batch
OFFSETS = np.concatenate(([0], np.cumsum(LENGTHS)))
N = int(OFFSETS[-1])
rng = np.random.default_rng(2)


@dataclass(frozen=True, kw_only=True)
class Case:
    """``ours`` and ``theirs`` take the inputs; ``theirs`` takes the values of ``parameters`` behind them."""

    name: str
    inputs: tuple[Any, ...]
    ours: Callable[..., Node]
    theirs: Callable[..., torch.Tensor]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def compared(case: Case) -> dict[str, Any]:
    """The largest difference of the values and of the gradients."""
    nodes = [_node(value) for value in case.inputs]
    leaves = [node for node in nodes if isinstance(node, Node)] + list(case.parameters.values())
    y = case.ours(*nodes)
    seed = rng.normal(size=y.shape)
    ours = gradients(y, leaves, seed=seed)

    tensors = [_tensor(value) for value in case.inputs]
    tensors += [_tensor(parameter.value) for parameter in case.parameters.values()]
    expected = case.theirs(*tensors)
    expected.backward(torch.tensor(seed))
    theirs = [tensor.grad for tensor in tensors if tensor.requires_grad]
    pairs = [(dense(ours[leaf]), dleaf.numpy()) for leaf, dleaf in zip(leaves, theirs, strict=True)]
    return _row(case.name, (y.value, expected.detach().numpy()), pairs)


def _row(name: str, values: tuple[Any, Any], gradient_pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    value, worst = difference(*values), max((difference(*pair) for pair in gradient_pairs), default=0.0)
    agrees = bool(value <= LARGEST_DIFFERENCE and worst <= LARGEST_DIFFERENCE)
    return {"case": name, "value": value, "gradients": worst, "gradients compared": len(gradient_pairs), "": agrees}


def difference(ours: Any, theirs: Any) -> float:
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs)), initial=0.0))


def _node(value: Any) -> Any:
    if isinstance(value, Ragged) and value.data.dtype == np.float64:
        return Input(value.data, "X", value.offsets)
    return Input(value) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value


def _tensor(value: Any) -> torch.Tensor:
    array = value.data if isinstance(value, Ragged) else value
    return torch.tensor(array, requires_grad=array.dtype == np.float64)


def normal(*shape: int) -> Any:
    return rng.normal(size=shape)


def positive(*shape: int) -> Any:
    return rng.uniform(0.5, 2, shape)


# ------------------------------------------------------------------------------------------------ array operations


def operations() -> Iterator[Case]:
    def case(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], *inputs: Any) -> Case:
        return Case(name=name, inputs=inputs, ours=ours, theirs=theirs)

    rows = np.array([4, 0, 4])
    yield case("add", graph.add, torch.add, normal(3, 4), normal(4))
    yield case("subtract", graph.subtract, torch.sub, normal(3, 1), normal(1, 4))
    yield case("multiply", graph.multiply, torch.mul, normal(2, 3, 4), normal(3, 1))
    yield case("divide", graph.divide, torch.div, normal(3, 4), positive(4))
    yield case("power", graph.power, torch.pow, positive(3, 4), normal(4))
    yield case("power, constant exponent", lambda x: x**3, lambda x: x**3, normal(3, 4))
    yield case("negative", graph.negative, torch.neg, normal(3, 4))
    yield case("matmul of matrices", graph.matmul, torch.matmul, normal(3, 4), normal(4, 2))
    yield case("matmul, matrix and vector", graph.matmul, torch.matmul, normal(3, 4), normal(4))
    yield case("matmul of vectors", graph.matmul, torch.matmul, normal(4), normal(4))
    yield case("matmul of stacks", graph.matmul, torch.matmul, normal(2, 1, 3, 4), normal(5, 4, 2))
    yield case("exp", graph.exp, torch.exp, normal(3, 4))
    yield case("log", graph.log, torch.log, positive(3, 4))
    yield case("sqrt", graph.sqrt, torch.sqrt, positive(3, 4))
    yield case("tanh", graph.tanh, torch.tanh, normal(3, 4))
    yield case("sum", graph.sum, torch.sum, normal(3, 4))
    yield case("sum over axes", lambda x: x.sum((0, 2), keepdims=True), lambda x: x.sum((0, 2), True), normal(2, 3, 4))
    yield case("mean over an axis", lambda x: x.mean(-1), lambda x: x.mean(-1), normal(3, 4))
    yield case("max", graph.max, torch.max, normal(3, 4))
    yield case("max over an axis", lambda x: x.max(axis=1), lambda x: x.max(dim=1).values, normal(3, 4))
    yield case("reshape", lambda x: x.reshape(2, 6), lambda x: x.reshape(2, 6), normal(3, 4))
    yield case("transpose", lambda x: x.transpose(1, 2, 0), lambda x: x.permute(1, 2, 0), normal(2, 3, 4))
    yield case(
        "concatenate", lambda a, b: graph.concatenate([a, b], 1), lambda a, b: torch.cat([a, b], 1),
        normal(3, 2), normal(3, 4),
    )  # fmt: skip
    yield case("index", lambda x: x[[0, 0, 2], 1:], lambda x: x[[0, 0, 2], 1:], normal(3, 4))
    yield case("take rows", lambda W: graph.take_rows(W, rows), lambda W: W[torch.tensor(rows)], normal(5, 3))
    yield case(
        "uᵀ tanh(W x + b)", lambda u, W, x, b: u.T @ graph.tanh(W @ x + b),
        lambda u, W, x, b: u @ torch.tanh(W @ x + b), normal(8), normal(8, 20), normal(20), normal(8),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ layers


def layer_case(name: str, layer: Layer, X: Any, theirs: Callable[..., torch.Tensor]) -> Case:
    """``theirs`` takes X and the layer's parameters, in the order in which the layer declares them."""
    parameters = layer.parameters()
    for parameter in parameters.values():  # biases and paddings that begin with 0 would hide mistakes
        parameter.value = parameter.value + 0.1 * rng.normal(size=parameter.shape)
    return Case(name=name, inputs=(X,), ours=layer, theirs=theirs, parameters=parameters)


def per_sentence(function: Callable[[torch.Tensor], torch.Tensor], X: torch.Tensor) -> torch.Tensor:
    return torch.cat([function(sentence) for sentence in torch.split(X, LENGTHS)])


def padded(X: torch.Tensor, padding: torch.Tensor, size: int) -> torch.Tensor:
    """A sentence (T, D) with the padding vector before and after it."""
    beyond = padding.expand(size // 2, -1)
    return torch.cat([beyond, X, beyond])


def windows(X: torch.Tensor, padding: torch.Tensor, size: int) -> torch.Tensor:
    return per_sentence(lambda s: padded(s, padding, size).unfold(0, size, 1).transpose(1, 2).flatten(1), X)


def convolved(X: torch.Tensor, padding: torch.Tensor, W: torch.Tensor, b: torch.Tensor, size: int) -> torch.Tensor:
    """F.conv1d wants (channels, time) and W (H, D, K); ours is W (H, K·D)."""
    kernel = W.reshape(len(W), size, -1).transpose(1, 2)
    return per_sentence(lambda s: F.conv1d(padded(s, padding, size).T, kernel, b).T, X)


def sentence_approach(
    X: torch.Tensor, table: torch.Tensor, padding: torch.Tensor, W: torch.Tensor, b: torch.Tensor, longest: int
) -> torch.Tensor:
    """Target by target: distances beside the words, convolution of size 3, maximum over time."""
    kernel, rows = W.reshape(len(W), 3, -1).transpose(1, 2), []
    for sentence in torch.split(X, LENGTHS):
        for target in range(len(sentence)):
            distances = (torch.arange(len(sentence)) - target).clamp(-longest, longest) + longest
            Z = padded(torch.cat([sentence, F.embedding(distances, table)], 1), padding, 3)
            rows.append(F.conv1d(Z.T, kernel, b).max(1).values)
    return torch.stack(rows)


def averaged(X: torch.Tensor, size: int) -> torch.Tensor:
    pool = partial(F.avg_pool1d, kernel_size=size, stride=1, padding=size // 2, count_include_pad=False)
    return per_sentence(lambda s: pool(s.T[None])[0].T, X)


def layers() -> Iterator[Case]:
    f64: dict[str, Any] = {"rng": rng, "dtype": np.float64}
    sentences = Ragged(normal(N, 5), OFFSETS)
    ids, pairs = rng.integers(0, 6, N), np.stack([rng.integers(0, 6, N), rng.integers(0, 4, N)], axis=1)

    yield layer_case("lookup table", LookupTable(6, 3, **f64), ids, F.embedding)
    yield layer_case(
        "lookup tables",
        LookupTables([(6, 3), (4, 2)], **f64),
        pairs,
        lambda X, A, B: torch.cat([F.embedding(X[:, 0], A), F.embedding(X[:, 1], B)], 1),
    )
    yield layer_case("linear", Linear(5, 4, **f64), sentences, F.linear)
    for size in (1, 3, 5):
        yield layer_case(f"window of {size}", Window(5, size, **f64), sentences, partial(windows, size=size))
        yield layer_case(f"window average of {size}", WindowAverage(size), sentences, partial(averaged, size=size))
    yield layer_case("convolution", convolution(5, 4, 5, **f64), sentences, partial(convolved, size=5))
    yield layer_case(
        "max over time", MaxOverTime(), sentences, lambda X: per_sentence(lambda s: s.max(0, keepdim=True).values, X)
    )
    yield layer_case("layer normalisation", LayerNorm(5, **f64), sentences, lambda X, g, b: F.layer_norm(X, (5,), g, b))
    yield layer_case(
        "sentence convolution",
        SentenceConvolution(5, 4, 3, distance_dim=2, longest_distance=3, **f64),
        sentences,
        partial(sentence_approach, longest=3),
    )
    yield from activations()
    yield from dropouts(sentences)
    yield from compositions(sentences, f64)


def activations() -> Iterator[Case]:
    theirs = {
        "hardtanh": F.hardtanh,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "softsign": F.softsign,
        "relu": F.relu,
        "leaky-relu": F.leaky_relu,
    }
    for name in ACTIVATIONS:
        yield layer_case(f"activation {name}", Activation(name), 1.5 * normal(9, 5), theirs[name])
    yield layer_case("parametric ReLU", ParametricReLU(5, dtype=np.float64), normal(9, 5), F.prelu)


def dropouts(sentences: Ragged) -> Iterator[Case]:
    for rows in (False, True):
        layer = Dropout(0.4, rows=rows)
        mask = layer(np.ones((N, 5)), rng=np.random.default_rng(3)).value
        yield Case(
            name=f"dropout of {'rows' if rows else 'elements'}",
            inputs=(sentences,),
            ours=lambda X, layer=layer: layer(X, rng=np.random.default_rng(3)),
            theirs=lambda X, mask=mask: X * torch.tensor(mask),
        )


def compositions(sentences: Ragged, f64: dict[str, Any]) -> Iterator[Case]:
    shared = Linear(5, 5, **f64)
    yield layer_case(
        "chain that uses a layer twice",
        Chain(shared, Activation("tanh"), shared),
        sentences,
        lambda X, W, b: F.linear(torch.tanh(F.linear(X, W, b)), W, b),
    )
    yield layer_case(
        "concatenation of layers",
        Concatenation(Linear(5, 2, **f64), WindowAverage(3)),
        sentences,
        lambda X, W, b: torch.cat([F.linear(X, W, b), averaged(X, 3)], 1),
    )
    yield layer_case(
        "residual",
        Residual(Chain(convolution(5, 5, 3, **f64), Activation("tanh"))),
        sentences,
        lambda X, p, W, b: X + torch.tanh(convolved(X, p, W, b, size=3)),
    )


# ------------------------------------------------------------------------------------------------ objectives


def penalised(X: torch.Tensor, W: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.linear(X, W, b).sum() + 0.3 * (W * W).sum()


def crf_loss(scores: torch.Tensor, gold: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
    """pytorch-crf, sentence by sentence; it maximises, we minimise."""
    module = torchcrf.CRF(4, batch_first=True).double()
    named = dict(zip(("transitions", "start_transitions", "end_transitions"), parameters, strict=True))
    parts = zip(torch.split(scores, LENGTHS), torch.split(gold, LENGTHS), strict=True)
    losses = [
        -torch.func.functional_call(module, named, (part[None], labels[None], torch.ones(1, len(labels)).bool()))
        for part, labels in parts
    ]
    return torch.stack(losses).mean()


def crf_case() -> Case:
    crf = objectives.CRF(4, dtype=np.float64)
    parameters = {name: getattr(crf, name) for name in ("transitions", "start", "end")}
    for parameter in parameters.values():
        parameter.value = rng.normal(size=parameter.shape)
    inputs = (Ragged(normal(N, 4), OFFSETS), rng.integers(0, 4, N))
    return Case(name="CRF, mean over sentences", inputs=inputs, ours=crf.loss, theirs=crf_loss, parameters=parameters)


def objective_cases() -> Iterator[Case]:
    yield crf_case()
    gold = rng.integers(0, 4, 7)
    yield Case(name="softmax cross-entropy", inputs=(normal(7, 4), gold), ours=objectives.softmax_cross_entropy,
               theirs=F.cross_entropy)  # fmt: skip
    for normalise in ("mean", "sum"):
        yield Case(
            name=f"max-margin, {normalise}",
            inputs=(normal(8), normal(8, 3)),
            ours=partial(objectives.max_margin, margin=1.3, normalise=normalise),
            theirs=lambda s, s_c, reduction=normalise: F.margin_ranking_loss(
                s[:, None].expand_as(s_c), s_c, torch.ones_like(s_c), margin=1.3, reduction=reduction
            ),
        )
    layer = Linear(5, 4, rng=rng, dtype=np.float64)
    yield Case(
        name="L2 penalty",
        inputs=(normal(9, 5),),
        ours=lambda X: layer(X).sum() + objectives.l2(layer.parameters().values(), 0.3),
        theirs=penalised,
        parameters=layer.parameters(),
    )


# ------------------------------------------------------------------------------------------------ optimisers


def after_steps(make: Callable[[Any], Any], sparse: bool = False, steps: int = 20) -> np.ndarray[Any, Any]:
    """A table (6, 3) after steps of ours on given gradients."""
    start, drawn = _gradients_of_steps(steps)
    parameter = Parameter(start.copy(), "W", fan_in=3)
    optimiser = make({"W": parameter})
    for ids, dY in drawn:
        rows = graph.take_rows(parameter, ids)
        step = gradients(rows, [parameter], seed=dY)
        optimiser.step(step if sparse else {parameter: dense(step[parameter])}, rate=0.1)
    return optimiser.mean("W") if isinstance(optimiser, training.Averaged) else parameter.value


def after_their_steps(
    make: Callable[[Any], Any], sparse: bool = False, average: bool = False, steps: int = 20
) -> np.ndarray[Any, Any]:
    start, drawn = _gradients_of_steps(steps)
    table = torch.nn.Embedding.from_pretrained(torch.tensor(start), freeze=False, sparse=sparse)
    optimiser = make(table.parameters())
    mean = torch.optim.swa_utils.AveragedModel(table)
    for ids, dY in drawn:
        optimiser.zero_grad()
        table(torch.tensor(ids)).backward(torch.tensor(dY))
        optimiser.step()
        mean.update_parameters(table)
    return (mean.module if average else table).weight.detach().numpy()


def _gradients_of_steps(steps: int) -> tuple[Any, list[tuple[Any, Any]]]:
    draw = np.random.default_rng(5)
    return draw.normal(size=(6, 3)), [(draw.integers(0, 6, 4), draw.normal(size=(4, 3))) for _ in range(steps)]


def optimisers() -> Iterator[dict[str, Any]]:
    torch_sgd, torch_adam = partial(torch.optim.SGD, lr=0.1), partial(torch.optim.Adam, lr=0.1)
    # The 1e-8 of B9 stands inside the root: in PyTorch's words, the sum of squares begins with 1e-8 and eps is 0.
    torch_adagrad = partial(torch.optim.Adagrad, lr=0.1, initial_accumulator_value=1e-8, eps=0)

    def row(name: str, ours: Any, theirs: Any, **options: bool) -> dict[str, Any]:
        sparse = options.get("sparse", False)
        return _row(name, (after_steps(ours, sparse), after_their_steps(theirs, **options)), [])

    yield row("SGD, 20 steps", training.SGD, torch_sgd)
    yield row("SGD, rate / fan-in", partial(training.SGD, divide_by="fan-in"), partial(torch.optim.SGD, lr=0.1 / 3))
    yield row("SGD, sparse rows", training.SGD, torch_sgd, sparse=True)
    yield row("AdaGrad", training.AdaGrad, torch_adagrad)
    yield row("AdaGrad, sparse rows", training.AdaGrad, torch_adagrad, sparse=True)
    yield row("Adam", training.Adam, torch_adam)
    yield row(
        "averaged SGD, sparse rows", lambda p: training.Averaged(training.SGD(p)), torch_sgd, sparse=True, average=True
    )
    yield gradient_norm()


def gradient_norm() -> dict[str, Any]:
    arrays = [normal(3, 4), normal(5)]
    ours = training.gradient_norm({Input(array): array for array in arrays})
    theirs = torch.nn.utils.get_total_norm([torch.tensor(array) for array in arrays])
    return _row("norm of all gradients", (np.array(ours), theirs.numpy()), [])


def probabilities() -> Iterator[dict[str, Any]]:
    scores = 30 * normal(7, 4)
    for ours, theirs in ((objectives.softmax, torch.softmax), (objectives.log_softmax, torch.log_softmax)):
        yield _row(f"{ours.__name__} of arrays", (ours(scores), theirs(torch.tensor(scores), 1).numpy()), [])


def main() -> int:
    # PyTorch warns about its own sparse tensors unless it is told whether to check them.
    torch.sparse.check_sparse_tensor_invariants.enable()
    cases = [*operations(), *layers(), *objective_cases()]
    rows = [*map(compared, cases), *probabilities(), *optimisers()]
    worst = max(max(row["value"], row["gradients"]) for row in rows)
    return report(
        Outcome(
            name="beside_pytorch",
            compared=f"Postil beside PyTorch {torch.__version__} in float64: largest differences",
            rows=rows,
            goal=f"every difference at most {LARGEST_DIFFERENCE:g}; {len(rows)} cases, largest {worst:.1e}",
            passed=all(row[""] for row in rows),
        )
    )


if __name__ == "__main__":
    sys.exit(main())

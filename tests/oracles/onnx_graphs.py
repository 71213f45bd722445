"""Graphs of ONNX, checked and run."""

import itertools

import numpy as np


def run(g, **inputs):
    """The outputs of a graph, by name."""
    return run_model(g.model("test", {}), **inputs)


def run_model(model, **inputs):
    import onnx
    import onnxruntime

    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {k: np.asarray(v) for k, v in inputs.items()}), strict=True))


def padded(rows, offsets):
    """(N, …) of a ragged batch as (B, T, …), random after the end of each sentence."""
    lengths = np.diff(offsets)
    shape = (len(lengths), int(lengths.max(initial=0)), *rows.shape[1:])
    if rows.dtype.kind == "i":
        batch = np.zeros(shape, rows.dtype)
    else:
        batch = np.random.default_rng(7).normal(size=shape).astype(rows.dtype)
    for b, (first, end) in enumerate(itertools.pairwise(offsets)):
        batch[b, : end - first] = rows[first:end]
    return batch


def ragged(batch, offsets):
    """(B, T, …) without the padding, (N, …)."""
    return np.concatenate([row[:length] for row, length in zip(batch, np.diff(offsets), strict=True)])


def is_word(offsets):
    """(B, T) boolean."""
    lengths = np.diff(offsets)
    return np.arange(int(lengths.max(initial=0))) < lengths[:, None]

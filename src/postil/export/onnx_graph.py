"""Build ONNX graphs node by node: each call adds one node and returns the name of its output."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.extras import needed

OPSET = 18
IR_VERSION = 8
"""Those of 2023: readers of today know them, and many older ones."""
FORBIDDEN = -1e30
"""The score of what is impossible. Infinite scores would meet as ∞ - ∞; this one absorbs every other in float64."""
_LAST = np.iinfo(np.int64).max


@final
class Graph:
    """Nodes, constants, inputs and outputs of one graph, or of the body of a Scan."""

    def __init__(self, prefix: str = "") -> None:
        self.onnx: Any = needed("onnx", "onnx")
        self._prefix, self._count = prefix, 0
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._by_content: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    # -------------------------------------------------------------------------------------------- nodes

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """The output of one more node."""
        (output,) = self.several(operation, inputs, 1, **attributes)
        return output

    def several(self, operation: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> list[str]:
        """The outputs of one more node."""
        names = [self._name(operation.lower()) for _ in range(outputs)]
        self._nodes.append(self.onnx.helper.make_node(operation, list(inputs), names, name=names[0], **attributes))
        return names

    def constant(self, value: Any, dtype: Any = None) -> str:
        """An array that the graph holds. Equal ones are stored once."""
        array = np.ascontiguousarray(np.asarray(value, dtype))
        key = array.dtype.str, np.shape(value), array.tobytes() if array.nbytes < 4096 else b""
        if key[2] and key in self._by_content:
            return self._by_content[key]
        name = self._by_content[key] = self._name("constant")
        array = array.reshape(np.shape(value))  # ascontiguousarray makes a vector of a scalar
        self._constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{self._prefix}{stem}_{self._count}"

    # -------------------------------------------------------------------------------------------- in and out

    def input(self, name: str, dtype: Any, shape: Sequence[str | int] | None) -> str:
        self._inputs.append(self._information(name, dtype, shape))
        return name

    def output(self, value: str, name: str, dtype: Any, shape: Sequence[str | int] | None) -> None:
        """Make a value an output under this name."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name], name=f"{self._prefix}out_{name}"))
        self._outputs.append(self._information(name, dtype, shape))

    def _information(self, name: str, dtype: Any, shape: Sequence[str | int] | None) -> Any:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)

    def proto(self, name: str) -> Any:
        """The graph in ONNX's own form."""
        return self.onnx.helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)

    def model(self, name: str, metadata: Mapping[str, str]) -> Any:
        """A model of this graph."""
        helper = self.onnx.helper
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(self.proto(name), opset_imports=[opset], ir_version=IR_VERSION)
        model.producer_name = "postil"
        helper.set_model_props(model, dict(metadata))
        return model

    # -------------------------------------------------------------------------------------------- common steps

    def cast(self, value: str, dtype: Any) -> str:
        return self.add("Cast", value, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def slice(self, value: str, first: int, end: int | None, axis: int) -> str:
        """``value[first:end]`` along an axis; ``end`` may count from the end."""
        bounds = [self.constant([x], np.int64) for x in (first, _LAST if end is None else end, axis)]
        return self.add("Slice", value, *bounds)

    def unsqueeze(self, value: str, axis: int) -> str:
        return self.add("Unsqueeze", value, self.constant([axis], np.int64))

    def reduce(self, operation: str, value: str, axis: int, *, keep: bool = False) -> str:
        return self.add(operation, value, self.constant([axis], np.int64), keepdims=int(keep))

    def size(self, value: str, axis: int) -> str:
        """(1,) the length of one axis."""
        return self.add("Gather", self.add("Shape", value), self.constant([axis], np.int64))

    def sizes(self, *parts: str | int) -> str:
        """A shape: sizes of other values, and fixed ones."""
        values = [part if isinstance(part, str) else self.constant([part], np.int64) for part in parts]
        return self.add("Concat", *values, axis=0)

    def filled(self, value: Any, dtype: Any, shape: str) -> str:
        """One value, or one row, everywhere in an array of this shape."""
        return self.add("Expand", self.constant(value, dtype), shape)

    def scan(
        self,
        body: Callable[["Graph", list[str], list[str]], tuple[list[tuple[str, Any]], list[tuple[str, Any]]]],
        states: Sequence[tuple[str, Any]],
        items: Sequence[tuple[str, Any]],
        *,
        backwards: bool = False,
    ) -> list[str]:
        """A Scan over the first axis of ``items``: the last states, then what the steps emit, side by side.

        ``body(graph, states, items)`` adds the nodes of one step and returns the new states and what is emitted. Every
        value comes with its float type. The step may use values of this graph.
        """
        inner = Graph(prefix=f"{self._name('step')}_")
        inputs = [
            [inner.input(inner._name(kind), dtype, None) for _, dtype in values]
            for kind, values in (("state", states), ("item", items))
        ]
        new, emitted = body(inner, *inputs)
        for value, dtype in [*new, *emitted]:
            inner.output(value, inner._name("result"), dtype, None)
        directions: dict[str, Any] = {}
        if backwards:
            directions["scan_input_directions"] = [1] * len(items)
            directions["scan_output_directions"] = [1] * len(emitted)
        return self.several(
            "Scan",
            [name for name, _ in (*states, *items)],
            len(new) + len(emitted),
            body=inner.proto(f"{self._prefix}body"),
            num_scan_inputs=len(items),
            **directions,
        )


def fixed(scores: Array) -> Array:
    """Scores in float64, with a finite number for what is impossible."""
    return np.maximum(np.asarray(scores, np.float64), FORBIDDEN)

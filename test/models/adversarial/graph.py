# SPDX-License-Identifier: Apache-2.0
"""A tiny ONNX graph, node by node: `g.Op(inputs..., attribute=value)`; initializers are parameters, constants are nodes."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

S, E, V = 3, 4, 5  # sequence, features, classes
OPSET = 17


class Graph:
    def __init__(self):
        self.nodes, self.inputs, self.parameters = [], {}, []

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, outputs=1, **attributes: self.node(kind, inputs, outputs, attributes)

    def node(self, kind, inputs, outputs, attributes):
        name = f"/{kind}_{sum(n.op_type == kind for n in self.nodes)}"
        results = [f"{name}_output_{i}" for i in range(outputs)]
        values = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, values, results, name=name, **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, value):
        """Integers become int64, floats float32."""
        array = np.asarray(value)
        array = array if array.dtype == bool else array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
        return self.Constant(value=numpy_helper.from_array(array))

    def parameter(self, name, *shape):
        values = np.random.RandomState(len(self.parameters)).randn(*shape).astype(np.float32) * 0.5
        self.parameters.append(numpy_helper.from_array(values, name))
        return name

    def input(self, name, *shape, kind=TensorProto.FLOAT):
        self.inputs[name] = helper.make_tensor_value_info(name, kind, ["batch", *shape])
        return name

    def ids(self, name, *shape):
        return self.input(name, *shape, kind=TensorProto.INT64)

    # What most graphs begin and end with.

    def rows(self):
        """Activations [B, E]."""
        return self.MatMul(self.input("x", E), self.parameter("w", E, E))

    def tokens(self):
        """Activations [B, S, E]."""
        return self.MatMul(self.input("x", S, E), self.parameter("w", E, E))

    def image(self):
        """Activations [B, 2, S, E]."""
        return self.Mul(self.input("x", 2, S, E), self.parameter("w", 2, 1, 1))

    def logits(self):
        """Scores [B, V] and labels [B]."""
        return self.MatMul(self.input("x", E), self.parameter("w", E, V)), self.ids("labels")

    def batch(self, value="x"):
        """The batch size, a scalar."""
        return self.Gather(self.Shape(value), 0, axis=0)

    def iota(self, value="x"):
        return self.Range(0, self.batch(value), 1)

    def mean(self, value):
        """Mean of tanh(v) * v: nothing linear hides a mixture."""
        return self.ReduceMean(self.Mul(self.Tanh(value), value), keepdims=0)

    def sum(self, value):
        return self.ReduceSum(self.Mul(self.Tanh(value), value), keepdims=0)

    def per_sample(self, logits, labels):
        return self.SoftmaxCrossEntropyLoss(logits, labels, reduction="none")

    def model(self, loss, name):
        self.nodes.append(helper.make_node("Identity", [loss], ["loss"], name="/Identity"))
        output = helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])
        graph = helper.make_graph(self.nodes, name, list(self.inputs.values()), [output], self.parameters)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        return model

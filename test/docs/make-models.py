# SPDX-License-Identifier: Apache-2.0
"""Makes the small graphs of docs/errors that no export of test/models shows; needs the environment of test/models/make."""
import pathlib

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy

HERE = pathlib.Path(__file__).resolve().parent


def save(name, nodes, shape=("batch", 4), **tables):
    weight = numpy_helper.from_array(numpy.linspace(-1, 1, 12, dtype=numpy.float32).reshape(4, 3), "head.weight")
    axes = numpy_helper.from_array(numpy.array([0, 1]), "axes")
    numbers = [numpy_helper.from_array(numpy.array(value), name) for name, value in (("zero", 0), ("one", 1), *tables.items())]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "head.weight"], ["h"], "head"), *nodes,
         helper.make_node("ReduceMean", ["y", "axes"], ["loss"], "mean", keepdims=0)], name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [weight, axes, *numbers])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), HERE / f"{name}.onnx")


save("rare-operators",
     [helper.make_node("Hardmax", ["h"], ["a"], "hardmax_0", axis=-1),
      helper.make_node("Hardmax", ["a"], ["b"], "hardmax_1", axis=-1),
      helper.make_node("Shrink", ["b"], ["y"], "shrink", lambd=0.1)])
save("shape-from-data",
     [helper.make_node("ReduceMax", ["x", "axes"], ["largest"], "largest", keepdims=0),
      helper.make_node("Cast", ["largest"], ["length"], "length", to=TensorProto.INT64),
      helper.make_node("Range", ["zero", "length", "one"], ["range"], "range"),
      helper.make_node("Reshape", ["h", "range"], ["y"], "reshape")])
save("mean-over-padding", [helper.make_node("ReduceMean", ["h", "positions"], ["y"], "pooled", keepdims=0)],
     ("batch", "sequence", 4), positions=[1])

# SPDX-License-Identifier: Apache-2.0
"""Which initializers of an ONNX file hold which parameter, found by content."""
import numpy as np
import onnx


def copies(parameter, initializer):
    """How `initializer` holds `parameter`: as it is, plus one, transposed, or its first rows; None if it does not."""
    flat = initializer.reshape(initializer.shape[1:]) if initializer.shape[:1] == (1,) else initializer
    for form in (initializer, flat):
        if form.shape == parameter.shape and np.array_equal(form, parameter):
            return {"transposed": False}
    if parameter.ndim == 1 and flat.shape == parameter.shape and np.array_equal(flat, 1 + parameter):
        return {"transposed": False, "added": 1}
    if parameter.ndim != 2 or flat.ndim != 2:
        return None
    if flat.shape == parameter.T.shape and np.array_equal(flat, parameter.T):
        return {"transposed": True}
    if flat.shape[1] == parameter.shape[1] and np.array_equal(flat, parameter[:flat.shape[0]]):
        return {"transposed": False, "rows": flat.shape[0]}
    return None


def parameter_map(path, model):
    """Framework name -> [{onnx, shape, transposed, rows?, added?}]; empty where the exporter dropped the parameter."""
    graph = onnx.load(path).graph
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer if t.data_type == onnx.TensorProto.FLOAT}
    result = {}
    for name, parameter in model.named_parameters():
        values = parameter.detach().numpy()
        found = ((onnx_name, copies(values, tensor)) for onnx_name, tensor in tensors.items())
        result[name] = [{"onnx": onnx_name, "shape": list(tensors[onnx_name].shape), **how}
                        for onnx_name, how in found if how]
    return result


def signature(path):
    kinds = {onnx.TensorProto.INT64: "int64", onnx.TensorProto.FLOAT: "float32"}
    return [{"name": i.name, "dtype": kinds[i.type.tensor_type.elem_type],
             "shape": [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim]}
            for i in onnx.load(path).graph.input]

# SPDX-License-Identifier: Apache-2.0
"""Writes NN-name-accept.onnx or -reject.onnx for every graph, after checking the verdict with numbers.

A loss of per-sample terms divided by a global count adds up over micro-batches when each is weighted by its own count:
as a mean (weights n), a sum (weights 1), or with the count taken from the labels. A refused graph adds up in neither way.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime

import indices
import layouts
import reductions
from graph import Graph, S, V

HERE = pathlib.Path(__file__).parent
BATCH = 6
CUTS = [(1, 2, 3), (2, 2, 2), (4, 2), (3, 3)]
# Exact only with totals of the whole batch, or with a term that is counted once: not additive, accepted by rule.
TOTALS = {"08-scaled-by-batch", "08-unbiased-mean", "09-decay-as-bias", "10-over-counted",
          "11-fixed-class-weights", "13-table-added-to", "13-label-counts", "14-centred-inputs", "14-standardised-inputs",
          "14-weighted-by-rarity"}
# Refused although it adds up: nothing in it depends on the batch.
REFUSED = {"24-no-batch-at-all"}


def samples(graph):
    random = np.random.RandomState(7)
    result = {}
    for name, info in graph.inputs.items():
        shape = [BATCH] + [d.dim_value for d in info.type.tensor_type.shape.dim[1:]]
        if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            result[name] = random.randn(*shape).astype(np.float32)
        else:
            result[name] = random.randint(0, V, shape)
    if "labels" in result and result["labels"].ndim == 1:  # one label three times, two others once, one never
        result["labels"] = np.array([0, 3, 1, 0, 4, 0])
    if "ids" in result and result["ids"].ndim == 2:  # the position found: first, last, and between
        result["ids"] = np.eye(S, dtype=np.int64)[[0, 2, 1, 2, 0, 1]]
    return result


def losses(session, data, cut):
    ends = np.cumsum(cut)
    parts = [{k: v[end - size:end] for k, v in data.items()} for size, end in zip(cut, ends)]
    return np.array([float(session.run(None, part)[0]) for part in parts])


def adds_up(model, data):
    """As a mean or as a sum, for every cut; a graph that cannot run on another batch does not."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        whole = losses(session, data, (BATCH,))[0]
        parts = [(losses(session, data, cut), np.array(cut) / BATCH) for cut in CUTS]
    except Exception:
        return False
    close = lambda value: abs(value - whole) < 1e-5 * max(1, abs(whole))
    return all(close((part * weight).sum()) for part, weight in parts) or all(close(part.sum()) for part, _ in parts)


def main():
    for path in HERE.glob("*.onnx"):
        path.unlink()
    for name, verdict, build in layouts.GRAPHS + indices.GRAPHS + reductions.GRAPHS:
        graph = Graph()
        model = graph.model(build(graph), name)
        expected = (verdict == "accept" and name not in TOTALS) or name in REFUSED
        assert adds_up(model, samples(graph)) == expected, f"{name}: {verdict}"
        onnx.save(model, HERE / f"{name}-{verdict}.onnx")


if __name__ == "__main__":
    main()

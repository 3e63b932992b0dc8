# SPDX-License-Identifier: Apache-2.0
"""The weights that test/models/fill-weights drew, as NumPy arrays: all contestants start from the same ones."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import numpy

MODELS = pathlib.Path(__file__).resolve().parent.parent / "test" / "models"


def load(model):
    """name -> float32 array, mapped from the external data beside `model`."""
    sys.path.insert(0, str(MODELS))
    loader = importlib.machinery.SourceFileLoader("fill_weights", str(MODELS / "fill-weights"))
    fill_weights = importlib.util.module_from_spec(importlib.util.spec_from_loader("fill_weights", loader))
    loader.exec_module(fill_weights)
    folder = pathlib.Path(model).parent
    return {tensor.name: numpy.memmap(folder / tensor.at["location"], numpy.float32, "r", tensor.offset(),
                                      tuple(tensor.shape))
            for tensor in fill_weights.external_tensors(pathlib.Path(model))}

# SPDX-License-Identifier: Apache-2.0
"""The weights that test/models/fill-weights drew, as NumPy arrays: all contestants start from the same ones."""
import pathlib
import sys

import numpy
import scripts

MODELS = pathlib.Path(__file__).resolve().parent.parent / "test" / "models"


def load(model):
    """name -> float32 array, mapped from the external data beside `model`."""
    sys.path.insert(0, str(MODELS))
    fill_weights = scripts.load(MODELS / "fill-weights")
    folder = pathlib.Path(model).parent
    return {tensor.name: numpy.memmap(folder / tensor.at["location"], numpy.float32, "r", tensor.offset(),
                                      tuple(tensor.shape))
            for tensor in fill_weights.external_tensors(pathlib.Path(model))}

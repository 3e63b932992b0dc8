# SPDX-License-Identifier: Apache-2.0
"""Scripts without a suffix, as modules."""
import importlib.machinery
import importlib.util


def load(path):
    name = path.name.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module

# SPDX-License-Identifier: Apache-2.0
"""Makes gpt2-124m.onnx: the dynamo export of GPT-2 124M, batch and sequence symbolic, its weights left out.
The file names a sequence of 1024 for whoever gives none."""
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"

import onnx
import torch
import transformers

import export
import families

MODELS = pathlib.Path(__file__).resolve().parents[1]


def main():
    torch.manual_seed(0)
    path = MODELS / "gpt2-124m.onnx"
    model = families.fill(transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager"))).eval()
    model.config.use_cache = False
    ids = torch.randint(0, 50257, (3, 33))
    traced = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    shapes = {name: {0: "batch", 1: "sequence"} for name in traced}
    program = torch.onnx.export(model, args=(), kwargs=traced, dynamo=True, opset_version=20, dynamic_shapes=shapes,
                                output_names=["logits"], verbose=False)
    program.save(path, external_data=True)
    path.with_suffix(".onnx.data").unlink()
    graph = onnx.load(path, load_external_data=False)
    for node in graph.graph.node:  # the other metadata are four fifths of the file
        kept = [entry for entry in node.metadata_props if entry.key.endswith("name_scopes")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.helper.set_model_props(graph, {"accum.dim.sequence": "1024"})
    onnx.save(graph, path)


if __name__ == "__main__":
    main()

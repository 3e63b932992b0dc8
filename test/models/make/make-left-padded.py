# SPDX-License-Identifier: Apache-2.0
"""Makes FAMILY.left-padded.{data,reference}.safetensors for the causal families with a loss inside the graph."""
import make
import catalogue
import families
import reference
import samples

from safetensors.torch import save_file


def main():
    for family in ("gpt2", "llama"):
        arrays = samples.left_padded(family)
        values = reference.reference(families.build(family), reference.loss_of("causal-lm"), arrays)
        for kind, tensors in (("data", arrays), ("reference", values)):
            path = make.MODELS / f"{family}.left-padded.{kind}.safetensors"
            save_file(tensors, path)
            path.chmod(0o644)
        for name, entry in catalogue.entries().items():
            if entry.family == family and entry.loss and entry.mask and not entry.train and not entry.static:
                print(name)
                make.check_forward(entry, make.MODELS / f"{name}.onnx", arrays, float(values["loss"]))


if __name__ == "__main__":
    main()

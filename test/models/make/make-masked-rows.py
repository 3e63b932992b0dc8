# SPDX-License-Identifier: Apache-2.0
"""Makes the cases of fused attention whose boolean mask hides every key of some rows, as each exporter writes them."""
import json
import pathlib

import onnx
import torch
from safetensors.torch import save_file
from torch import nn

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"
BATCH, LENGTH, WIDTH, RATE = 4, 5, 4, 0.5
FORMS = {"dynamo": dict(optimize=True, opset_version=20), "unoptimized": dict(optimize=False, opset_version=20),
         "folded": dict(optimize=True, opset_version=20), "opset23": dict(optimize=True, opset_version=23), "torchscript": None}


class Attention(nn.Module):
    def __init__(self, isKnown):
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, size) for size in (WIDTH, WIDTH, WIDTH, 1))
        known = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        known[2] = False
        self.register_buffer("known", known if isKnown else None)

    def forward(self, x, seen):
        q, k, v = (layer(x).view(-1, LENGTH, 2, WIDTH // 2).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mask = self.known if self.known is not None else seen[:, None] > 0
        heads = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return ((self.o(heads.transpose(1, 2).reshape(-1, LENGTH, WIDTH)) + 1) ** 2 * (1 + seen[..., :1])).mean()


def samples():
    torch.manual_seed(3)
    seen = torch.ones(BATCH, LENGTH, LENGTH)
    seen[1] = 0
    seen[2, 0], seen[2, :, 3], seen[0, 3], seen[3, 0, 0], seen[3, :, 1] = 0, 0, 0, 0, 0
    return torch.randn(BATCH, LENGTH, WIDTH), seen


def losses(model, arrays):
    model, found = model.double(), []
    for _ in range(3):
        model.zero_grad()
        loss = model(*(array.double() for array in arrays))
        loss.backward()
        found.append(loss.item())
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= RATE * parameter.grad
    return found


def export(model, path, form):
    arrays, names = (torch.randn(3, LENGTH, WIDTH), torch.ones(3, LENGTH, LENGTH)), ["x", "seen"]
    if form is None:
        torch.onnx.export(model, arrays, path, dynamo=False, opset_version=17, input_names=names, output_names=["loss"],
                          dynamic_axes={name: {0: "batch"} for name in names})
    else:
        torch.onnx.export(model, arrays, path, dynamo=True, dynamic_shapes=({0: "batch"}, {0: "batch"}), input_names=names,
                          output_names=["loss"], verbose=False, external_data=False, **form)
    written = onnx.load(path)
    for node in written.graph.node:
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(written, path)


def main():
    for name, form in FORMS.items():
        folder, arrays = CASES / f"masked-rows-{name}", samples()
        folder.mkdir(exist_ok=True)
        model = Attention(name == "folded").eval()
        export(model, folder / "model.onnx", form)
        save_file(dict(zip(["x", "seen"], arrays)), folder / "data.safetensors")
        (folder / "case.json").write_text(json.dumps({"batch": BATCH, "lr": RATE, "losses": losses(model, arrays)}) + "\n")


if __name__ == "__main__":
    main()

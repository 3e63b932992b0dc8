# SPDX-License-Identifier: Apache-2.0
"""docs/models.md of the JSON lines that make-models-table.py wrote."""
import json

import zoo

EXPORTERS = "DNTH"
WORDS = {"attn_implementation": "eager", "experts_implementation": "batched_mm", "evaluation": "eval"}
INTRO = """# Models that were tried

Families of transformers 5.24, or 5.23 for some second heads, and the heads that were tried, exported as [exporting.md](exporting.md) says by torch 2.15 and onnxscript 0.7, compiled,
and trained for three steps of SGD. *Trains* means: for micro-batches of two and of one of seven samples, padded ones among them, the
losses are PyTorch's on the undivided batch in float64 (within 2e-6; the largest difference below is {worst:.1e}), and so is the gradient
norm of every parameter that counts. The exported batch has no padding, as in a tutorial. The models are tiny (hidden 32, two layers,
seeded weights, no dropout); their graphs are those of large ones. `test/models/make/make-models-table.py` tries what is not in its
`models-table.jsonl`, and makes this page.

**{trains} of {all} families** train with at least one head and exporter. An empty cell was not tried.

D: dynamo; N: dynamo with `optimize=False`; T: TorchScript with `training=TrainingMode.TRAINING, do_constant_folding=False`, opset 17;
H: `OnnxExporter` of transformers, which takes no labels: the loss is added (`--loss causal-lm:logits` or `--loss cross-entropy:logits`,
and `--dim NAME=SIZE` for each open dimension).

| cell | means |
|---|---|
| yes | trains as exported, with transformers' default attention |
| eager | trains with `from_pretrained(..., attn_implementation="eager")` |
| batched_mm | trains with `from_pretrained(..., experts_implementation="batched_mm")` |
| `--freeze` | trains with `--freeze NAME` for each parameter of `requires_grad=False`, which no file records |
| eval | trains without the two arguments of T: in evaluation mode, with constants folded |
| not exported | the exporter fails |
| no loss | of H: the loss of this head is none that accumc adds |
| `a-slug` | accumc refuses the file |
| another loss | the file lacks something that it cannot say |

"""
LOST = """
## Where a file cannot say enough
`padding_idx` keeps a row of an embedding from training, and a file of TorchScript (T) cannot say so. Mostly it does not matter, as
padding is masked. BART, mBART, Marian and Pegasus look the row up in place of labels that are ignored, and ConvBERT's convolutions
read padding: these files are refused. D and N record it.
"""


def cell(result):
    last = result["attempts"][-1]
    if last["kind"] == "same":
        return ", ".join([WORDS[name] for name in last["how"]] + ["`--freeze`"] * ("frozen" in last)) or "yes"
    if "takes no labels" in last.get("why", ""):
        return "no loss"
    told = telling(result)
    return {"export": "not exported", "refused": f"`{told.get('slug')}`", "part": "in part", "wrong": "**another loss**",
            "late": "not exported", "reference": ""}.get(told["kind"], "**failed**")


def telling(result):
    """The attempt that got farthest; of equals the plainest."""
    ranks = ("export", "late", "reference", "refused", "failed", "part", "wrong")
    return max(result["attempts"], key=lambda a: ranks.index(a["kind"]))


def table(results):
    lines = [f"| family | heads | {' | '.join(EXPORTERS)} |", "|---|---|" + "---|" * len(EXPORTERS)]
    for family in zoo.FAMILIES:
        rows = {}
        for head in family.heads:
            cells = tuple(cell(results[family.title, head, e]) if (family.title, head, e) in results else "" for e in EXPORTERS)
            rows.setdefault(cells, []).append(head)
        for number, (cells, heads) in enumerate(rows.items()):
            if any(cells):
                lines.append(f"| {family.title if number == 0 else ''} | {', '.join(heads)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def in_order(results):
    for family in zoo.FAMILIES:
        for head in family.heads:
            for exporter in EXPORTERS:
                if (family.title, head, exporter) in results:
                    yield family.title, head, exporter, results[family.title, head, exporter]


def reasons(results, kinds):
    """One line per family and sentence, with the heads and exporters that meet it."""
    found = {}
    for title, head, exporter, result in in_order(results):
        if result["attempts"][-1]["kind"] == "same" or cell(result) == "no loss":
            continue
        told = telling(result)
        if told["kind"] not in kinds:
            continue
        heads = found.setdefault((title, told["why"], tuple(told.get("way", ()))), {})
        heads.setdefault(head, []).append(exporter)
    lines = []
    for (title, sentence, way), heads in found.items():
        where = ", ".join(f"{head} ({', '.join(exporters)})" for head, exporters in heads.items())
        lines.append(f"- **{title}**, {where}: {sentence}" + "".join(f"; *{line}*" for line in way[:1]))
    return "\n".join(lines) + "\n"


def written(path):
    results = {(r["family"], r["head"], r["exporter"]): r for r in map(json.loads, path.read_text().splitlines())}
    same = [(key, r["attempts"][-1]) for key, r in results.items() if r["attempts"][-1]["kind"] == "same"]
    families = {key[0] for key in results}
    text = INTRO.format(worst=max(last["error"] for _, last in same), trains=len({key[0] for key, _ in same}), all=len(families))
    text += table(results) + LOST
    text += "\n## What accumc refuses\n" + reasons(results, ("refused", "failed"))
    text += "\n## What is not exported\n" + reasons(results, ("export", "late"))
    return text

# SPDX-License-Identifier: Apache-2.0
"""docs/models.md of the JSON lines that make-models-table.py wrote."""
import json

import zoo

EXPORTERS = "DNTH"
WORDS = {"attn_implementation": "eager", "experts_implementation": "batched_mm", "evaluation": "eval"}
INTRO = """# Models that were tried

This page lists families of transformers 5.24 (some second heads: 5.23) and the heads that were tried. Each was exported
as in [exporting.md](exporting.md), by torch 2.15 and onnxscript 0.7, compiled, and trained for three steps of SGD on
seven samples. *Trains* means that for micro-batches of two samples and of one, some of them padded, two things agree
with PyTorch on the undivided batch in float64: the losses (within 2e-6; the largest difference below is {worst:.1e})
and the gradient norm of every parameter (those below 1 % of the largest are not compared). The exported example has no
padding, as in a tutorial. The models are tiny (hidden size 32, two layers, seeded weights, no dropout), with the graphs
of large ones. `test/models/make/make-models-table.py` tries the cases that are not in its `models-table.jsonl`, and
writes this page.

**{trains} of {all} families** train with at least one head and exporter. An empty cell was not tried.

D: dynamo; N: dynamo with `optimize=False`; T: TorchScript with
`training=TrainingMode.TRAINING, do_constant_folding=False`, opset 17; H: `OnnxExporter` of transformers, which takes no
labels, so `--loss causal-lm:logits` or `--loss cross-entropy:logits` adds the loss, and `--dim NAME=SIZE` sizes each
dynamic dimension.

| cell | means |
|---|---|
| yes | trains as exported, with transformers' default attention |
| eager | trains with `from_pretrained(..., attn_implementation="eager")` |
| batched_mm | trains with `from_pretrained(..., experts_implementation="batched_mm")` |
| `--freeze` | trains with `--freeze NAME` for each parameter with `requires_grad=False`, which no file records |
| eval | trains if exported without the two arguments of T: in evaluation mode, with constants folded |
| not exported | the exporter fails |
| no loss | H only: accumc cannot add the loss of this head |
| `a-slug` | accumc refuses the file |
| another loss | the loss differs, because the file does not record what it would need |

"""
LOST = """
## What TorchScript files cannot record
`padding_idx` keeps a row of an embedding from training, and a TorchScript file (T) does not record it. Usually this
does not matter, since padding is masked. BART, mBART, Marian and Pegasus look the row up in place of ignored labels,
and ConvBERT's convolutions read padding: these files are refused. D and N record it.
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

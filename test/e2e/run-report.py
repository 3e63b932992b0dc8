# SPDX-License-Identifier: Apache-2.0
"""oracle: a run's page is whole, names no other place, and its curves are the log's numbers. run-report.py PAGE LOG"""
import html.parser
import json
import math
import pathlib
import re
import sys

page, log = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]).read_text()
OPEN = {"meta", "line", "circle", "polyline", "polygon"}


class Nesting(html.parser.HTMLParser):
    stack, figures = [], []

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href"} & {name for name, _ in attributes}, tag
        if tag == "figure":
            self.figures.append(dict(attributes)["data-curve"])
        if tag not in OPEN:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert tag in OPEN or self.stack.pop() == tag, tag


parser = Nesting()
parser.feed(page)
assert not parser.stack and "http" not in page, parser.stack
for points in re.findall(r"points='([^']*)'", page):
    for x, y in (map(float, point.split(",")) for point in points.split()):
        assert -0.01 <= x <= 1000.01 and -0.01 <= y <= 1000.01
data = json.loads(re.search(r"<script type='application/json' id='run'>(.*?)</script>", page)[1])
curves = data["curves"]
steps = [entry for entry in map(json.loads, log.splitlines()) if "loss" in entry]
evaluations = [entry for entry in map(json.loads, log.splitlines()) if entry.get("eval_loss") is not None]
values = {"loss": "loss", "norm": "gradient_norm", "lr": "lr", "speed": "tokens_per_s", "memory": "peak_bytes"}
for name, key in values.items():
    assert curves[name] == [[step["step"]] + [step[key]] * 3 for step in steps if step[key] is not None], name
    assert name in parser.figures
assert curves["eval_loss"] == [[entry["step"]] + [entry["eval_loss"]] * 3 for entry in evaluations]
assert curves["skips"] == [[step["step"], 1, 1, 1] for step in steps if step.get("skipped")]
assert page.count("class='skip'") == len(curves["skips"]) and page.count("class='eval'") == len(evaluations)
assert data["steps"] == len(steps) and data["arena_bytes"] == steps[-1]["arena_bytes"]
# One spike does not flatten the norms: equal factors are equally far apart.
norms = [point[2] for point in curves["norm"]]
drawn = re.search(r"data-curve='norm'.*?class='run' points='(.*?)'", page, re.S)[1].split()
heights, logs = [float(point.split(",")[1]) for point in drawn], [math.log(max(norm, 1e-30)) for norm in norms]
if min(norms) > 1e-8 * max(norms):
    for height, value in zip(heights, logs):
        assert abs((height - heights[0]) * (logs[-1] - logs[0]) - (heights[-1] - heights[0]) * (value - logs[0])) < 0.1 * max(
            1, abs(logs[-1] - logs[0]), abs(value - logs[0])), (norms, heights)
assert re.search(r"<span>step</span><b>[0-9.e+-]+ m?s</b><small>planned [0-9.e+-]+ m?s</small>", page)
best = re.findall(r"best evaluation</span><b>(.*?)</b>", page)
assert best == [f"{loss:.5g}" for loss in sorted(entry["eval_loss"] for entry in evaluations)[:1]], best
predicted = page.split("predicted by the plan")[1].split("versions")[0]
*parts, total = (int(bytes) for bytes in re.findall(r"(?m)^  .{24} +(\d+) ", predicted))
assert sum(parts) == total == data["planned_bytes"] > max(memory[3] for memory in curves["memory"]), (parts, total)
print(len(steps), "steps,", len(evaluations), "evaluations,", len(curves["skips"]), "skipped")

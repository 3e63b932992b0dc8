#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report-page.py PAGE PLAN: the page is well-formed and self-contained, and shows what plan.json holds."""
import itertools
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as tree


def check(good, message):
    if not good:
        sys.exit(f"report-page: {message}")


def words(element):
    return " ".join("".join(element.itertext()).split())


def figures(element):
    return [float(mark.get("value")) for mark in element.iter("data")]


def close(a, b):
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-12)


def rows(page, name):
    table = page.find(f".//table[@id='{name}']")
    check(table is not None, f"no table `{name}`")
    return [(words(row[0]), figures(row), row) for row in table.iter("tr") if row.find("td") is not None]


def check_tables(page, plan):
    lines = rows(page, "memory")
    shown = [(name, int(values[0])) for name, values, _ in lines]
    for line in plan["memory"]:
        start = line["name"] if len(line["name"]) < 96 else line["name"][:24]  # longer ones lack their middle
        check(any(name.startswith(start) and size == line["bytes"] for name, size in shown),
              f"memory line {line} is not on the page")
    taken = sum(line["bytes"] for line in plan["memory"] if line["kind"] == "context")
    check(len(shown) == len(plan["memory"]) + 2 + (taken > 0), "the memory table has other lines")
    if taken:
        check(shown.pop()[1] == shown[-1][1] + taken, "the total with the driver's memory differs")
    check(shown[-2][1] == plan["state"] + plan["scratch"], "the arena differs")
    counted = sum(line["bytes"] for line in plan["memory"] if line["kind"] != "context")
    check(shown[-1][1] == counted, "what comes out of the budget differs")

    times = [values[0] for _, values, _ in rows(page, "time")]
    seconds = [line["seconds"] for line in plan["time"]]
    check(all(map(close, times, seconds + [sum(seconds)])) and len(times) == len(seconds) + 1, "the times differ")

    candidates = [(int(words(row[1])), values) for _, values, row in rows(page, "candidates") if len(row) == 6]
    expected = [(c["micro_batch"], [c["arena"], c["seconds"]]) for c in plan["candidates"]]
    check(len(candidates) == len(expected) or len(candidates) == 60, "the number of candidates differs")
    for (m, values), (expected_m, expected_values) in zip(candidates, expected):
        check(m == expected_m and all(map(close, values, expected_values)), f"candidate m = {expected_m} differs")
    tiles = page.find(".//div[@class='tiles']")
    check(figures(tiles)[0] == plan["micro_batch"], "the micro-batch differs")


def check_budgets(page, plan):
    """More memory never makes a plan slower, and every plan takes what its budget has."""
    answers = [values for _, values, _ in rows(page, "budget-table")]
    fitting = [values for values in answers if len(values) == 3]
    check(len(answers) >= 4 and answers == sorted(answers, key=lambda values: values[0]), "budgets are not in order")
    check(all(takes <= budget for budget, takes, _ in fitting), "a plan takes more than its budget")
    times = [seconds for _, _, seconds in fitting]
    check(all(later <= earlier for earlier, later in itertools.pairwise(times)), "more memory made a plan slower")
    check(any(budget == plan["budget"] for budget, *_ in answers), "the budget itself is not among them")
    context = sum(line["bytes"] for line in plan["memory"] if line["kind"] == "context")
    said = figures(page.find(".//section[@id='budgets']/p"))[1:]
    check(said == ([context] if context else []), "what the driver takes beside the budgets is not said")


def check_arena(page, plan):
    """Every rectangle stays inside, none overlaps another, and they stand at offsets of the plan."""
    number = lambda rect, name: float(rect.get(name).rstrip("%"))
    rects = [[number(rect, name) for name in ("x", "y", "width", "height")]
             for rect in page.find(".//section[@id='arena']").iter("rect")]
    check(rects, "the arena is empty")
    offsets = {offset for offset in plan["slots"].values()}
    for x, y, width, height in rects:
        check(-1e-2 <= x and x + width <= 100.01 and -1e-2 <= y and y + height <= 100.01, "a rectangle is outside")
        offset = (100 - y - height) / 100 * plan["scratch"]
        check(min(abs(offset - known) for known in offsets) <= 3e-5 * plan["scratch"], "a rectangle has no slot")
    slack = 0.004
    for a, b in itertools.combinations(rects[:1500], 2):
        apart = any(a[i] + a[i + 2] <= b[i] + slack or b[i] + b[i + 2] <= a[i] + slack for i in (0, 1))
        check(apart, f"rectangles {a} and {b} overlap")


def check_self_contained(text):
    check(not re.search(r"\b(?:src|href)\s*=|@import|https?://", text), "the page refers to something outside")
    for target in re.findall(r"url\(([^)]*)\)", text):
        check(target.startswith("#"), f"the page refers to {target}")
    for name in set(re.findall(r"url\(#([^)]*)\)", text)):
        check(f"id='{name}'" in text, f"nothing has the id {name}")
    check(len(text) < 4e6, f"the page has {len(text)} bytes")


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    page = tree.fromstring(text)
    check_self_contained(text)
    if len(sys.argv) > 2:
        plan = json.loads(pathlib.Path(sys.argv[2]).read_text())
        check_tables(page, plan)
        check_budgets(page, plan)
        check_arena(page, plan)
    for section in page.iter("section"):
        print(section.get("id"), "|", words(section.find("h2")), "|", words(section)[:160])


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""damaged-fields.py profile|problem|table FOLDER: every field of a file for accum-plan, damaged in every way that
it can be. Each file is planned with finite figures, or refused by one sentence that says where, with the right exit
code; none crashes, hangs, or floods the terminal."""
import copy
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PROBLEM = HERE.parents[1] / "fuzz/corpus/planner/problem-all-features.txt"
PROFILE = HERE / "every-key.json"
# Written as they are, for JSON libraries do not write them.
TOKENS = {"@nan": "NaN", "@infinite": "1e999", "@deep": "[" * 100_000 + "]" * 100_000}
NUMBERS = [-1, 0, 0.5, 2**63, 2**64, -2**63, 1e300]
OTHERS = [None, True, "word", [], {}]
OPTIONAL = {"architecture", "per", "per_command", "needs", "half_at", "limit", "overlaps", "host_link", "machine", "tables", "misses",
            "costs", "operands", "threads", "reference_seconds", "vector_bytes", "capacity"}


def fail(message):
    sys.exit(f"damaged-fields: {message}")


def check_figures(value, what):
    """No figure of a result is infinite, and no size or time negative."""
    if isinstance(value, dict):
        for key, child in value.items():
            check_figures(child, f"{what}.{key}")
            if key.endswith(("bytes", "seconds")) and key != "change_bytes" and (child is None or child < 0):
                fail(f"{what}.{key} is {child}")
    elif isinstance(value, list):
        for child in value:
            check_figures(child, what)
    elif isinstance(value, float) and not math.isfinite(value):
        fail(f"{what} is {value}")


def run(what, arguments, codes, slugs, places):
    """Runs accum-plan; what it says has to fit one of the exit codes."""
    try:
        done = subprocess.run(["accum-plan", *map(str, arguments)], capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        fail(f"{what}: hangs")
    said = done.stderr.decode(errors="replace")
    if done.returncode not in codes:
        fail(f"{what}: exit {done.returncode}, expected one of {codes}: {said[:2000]}")
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if len(errors) != (done.returncode != 0) or len(said) > 3000 or not said.isprintable() and "\x1b" in said:
        fail(f"{what}: exit {done.returncode} with {len(errors)} errors: {said[:3000]}")
    if done.returncode in (0, 1):
        if "--json" in arguments:
            check_figures(json.loads(done.stdout), what)
    elif done.stdout or not errors[0].endswith(slugs) or not any(place in errors[0] for place in places):
        fail(f"{what}: {errors[0]}, expected it to end in {slugs} and to name one of {places}")
    return done.returncode


def places(value, path=()):
    """Every value of a document: its path."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def name_of(path):
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.lstrip(".")


def changed(document, path, change):
    """A copy with `change(container, key)` applied to the place."""
    document = copy.deepcopy(document)
    container = document
    for key in path[:-1]:
        container = container[key]
    change(container, path[-1])
    return document


def at(document, path):
    for key in path:
        document = document[key]
    return document


def is_other_kind(old, new):
    """Whether a reader must refuse a value for what it is."""
    number = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(old, list) or isinstance(old, dict):
        return type(new) is not type(old)
    return number(old) != number(new) or type(new) is not type(old) and not number(old) or number(new) and new < 0


def profile_damages(document):
    """(what, document or text, whether it has to be refused, words of which the sentence has one)"""
    for path in places(document):
        if not path:
            continue
        old, name = at(document, path), name_of(path)
        parent = name_of(path[:-1])
        if isinstance(path[-1], str):
            yield f"{name} missing", changed(document, path, lambda c, k: c.pop(k)), path[-1] not in OPTIONAL, [name]
        for new in NUMBERS + OTHERS:
            if new == old and type(new) is type(old):
                continue
            # Of a longer list it is the list that has another length.
            yield (f"{name} = {new!r}", changed(document, path, lambda c, k: c.__setitem__(k, new)),
                   is_other_kind(old, new), [name, parent or name, "out of range"])
        for mark, token in TOKENS.items():
            text = json.dumps(changed(document, path, lambda c, k: c.__setitem__(k, mark)))
            yield f"{name} = {mark}", text.replace(f'"{mark}"', token), True, ["JSON", name, parent or name]
        if isinstance(old, dict):
            yield f"{name} unknown", changed(document, (*path, "new"), lambda c, k: c.__setitem__(k, 1)), True, [f"{name}.new"]
            twice = json.dumps(changed(document, (*path, "@again"), lambda c, k: c.__setitem__(k, 1)))
            yield f"{name} twice", twice.replace("@again", next(iter(old))), True, ["twice"]
        if isinstance(old, list) and old and not isinstance(old[0], dict):
            yield f"{name} long", changed(document, path, lambda c, k: c.__setitem__(k, old * 50_000)), True, [name, parent]
        if isinstance(old, str):
            for word in ["", "x" * 1_000_000, "\x1b[31m\n", "\u202e<script>"]:
                yield f"{name} = {word[:9]!r}", changed(document, path, lambda c, k: c.__setitem__(k, word)), False, [name, parent or name]
    for version in [0, 2, 2**31]:
        yield f"version {version}", {**document, "version": version}, True, ["version"]
    yield "unknown key", {**document, "colour": 1}, True, ["colour"]
    text = json.dumps(document)
    for end in range(0, len(text), 97):
        yield f"cut at {end}", text[:end], True, ["JSON"]


def damage_profiles(folder):
    path = folder / "profile.json"
    arguments = [PROBLEM, "--batch", 6, "--memory", "1GiB", "--json", "--target", path]
    document = json.loads(PROFILE.read_text())
    run("the whole profile", [*arguments[:-1], PROFILE], [0], "", [])
    count = refused = 0
    for what, damaged, is_refused, names in profile_damages(document):
        path.write_text(damaged if isinstance(damaged, str) else json.dumps(damaged))
        code = run(what, arguments, [3] if is_refused else [0, 1, 3], "[malformed-profile]", names)
        count, refused = count + 1, refused + (code == 3)
    print(f"{count} profiles, {refused} refused")


def damage_lines(text, separators):
    """(what, text, the line): every word of every line gone, twice, or another; every line gone or twice."""
    lines = text.splitlines()
    words = ["", "-1", "0", "x", "nan", "1e9", str(2**63), str(2**63 - 1), "=", '"', "\x1b[1m", "9" * 5000]
    turn = 0  # each word of the text gets a few of these, all of them come up everywhere
    for index, line in enumerate(lines):
        for name, new in [("gone", []), ("twice", [line, line]), ("cut", [line[:len(line) // 2]]), ("with more", [line + separators[0] + "more"])]:
            yield f"line {index + 1} {name}", "\n".join([*lines[:index], *new, *lines[index + 1:], ""]), index + 1
        begin = 0
        for end in range(len(line) + 1):
            if end < len(line) and line[end] not in separators:
                continue
            turn += 5
            for word in [words[(turn + step) % len(words)] for step in range(5)]:
                damaged = line[:begin] + word + line[end:]
                yield f"line {index + 1}: `{line[begin:end]}` is `{word[:20]}`", "\n".join([*lines[:index], damaged, *lines[index + 1:], ""]), index + 1
            begin = end + 1


def damage_text(folder, name, text, separators, arguments, slugs):
    path = folder / name
    path.write_text(text)
    run(name, [path, *arguments], [0], "", [])
    count = refused = 0
    for what, damaged, line in damage_lines(text, separators):
        path.write_text(damaged)
        code = run(f"{name}, {what}", [path, *arguments], [0, 1, 3], slugs, [f"{name}:"])
        count, refused = count + 1, refused + (code == 3)
    print(f"{count} files {name}, {refused} refused")


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "profile":
        damage_profiles(folder)
    elif kind == "problem":
        damage_text(folder, "problem.txt", PROBLEM.read_text(), " =,@:+*", ["--batch", 6, "--target", "h100", "--json"], "[malformed-problem]")
    else:
        table = "id,lower,upper,size\na,0,4,8\nb,2,6,8\nc,5,9,16\n"
        damage_text(folder, "table.csv", table, ",", [], "[malformed-csv]")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What no compiler checks: RUN lines have oracles, slugs stand in tables, error pages exist. Prints one line a finding."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORACLE = re.compile(r"\bFileCheck\b|-verify-diagnostics|-accum-verify|(^|[\s|;&])(not|cmp|diff|accum-diff|grep|test|count)\s")
SLUG = r'"([a-z]+(?:-[a-z]+)*)"'
FAILURE = re.compile(r"\b(?:Error|Failure|Refusal)\s*\{|\b(?:noLoss|refuse|malformed|unsupported|usage)\(|failures\w*\.push_back\(\{")
LONGEST = 400  # lines


def run_lines(path):
    """(number, text) of each RUN line, continued ones joined."""
    joined = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r"^[/#;\s]*RUN:\s?(.*)$", line)
        if not match:
            continue
        start, text = joined or (number, "")
        text += match[1]
        joined = (start, text[:-1]) if text.endswith("\\") else None
        if not joined:
            yield start, text


def has_oracle(path, text):
    """Compares something itself, or calls a script of the tests that does."""
    scripts = (word.replace("%S", str(path.parent)).replace("%source", str(ROOT)) for word in text.split())
    return ORACLE.search(text) or any(
        ORACLE.search(script.read_text()) or "oracle:" in script.read_text()
        for script in map(pathlib.Path, scripts) if script.is_absolute() and script.suffix in ("", ".py", ".sh")
        and script.is_file())


def check_run_lines():
    """A RUN line compares something, or prepares %t for a later one that does."""
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix not in (".mlir", ".test"):
            continue
        prepared = None
        for number, text in run_lines(path):
            if has_oracle(path, text):
                prepared = None
            elif "%t" in text:
                prepared = prepared or number
            else:
                yield path, number, "a RUN line without an oracle (FileCheck, diff, accum-diff, not, ...)"
        if prepared:
            yield path, prepared, "no RUN line with an oracle follows"


def statements(text):
    for start in FAILURE.finditer(text):
        yield start.start(), text[start.start():text.find(";", start.start())]


def slugs(folder):
    """slug -> (path, line) of its first use in the C++ sources of a folder."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*.cpp")):
        text = path.read_text()
        uses = [(match.start(), match[1]) for match in re.finditer(r"\[([a-z]+(?:-[a-z]+)*)\](?:\\n)?\"", text)]
        for at, statement in statements(text):
            uses += [(at, match[1]) for match in re.finditer(r"[{(,]\s*" + SLUG + r"\s*(?=[,})])", statement)]
        for at, slug in uses:
            found.setdefault(slug, (path, text.count("\n", 0, at) + 1))
    return found


def defined_slugs():
    text = (ROOT / "compiler" / "Driver" / "Errors.def").read_text()
    return re.findall(r"^ACCUM_ERROR\(" + SLUG, text, re.M)


def check_slugs():
    """Every slug of the compiler has an exit code; every slug at all has a row in docs/errors/README.md."""
    defined = defined_slugs()
    table = (ROOT / "docs" / "errors" / "README.md").read_text()
    compiler = {slug: at for folder in ("compiler", "passes", "tools/accumc") for slug, at in slugs(folder).items()}
    runtime = {slug: at for folder in ("runtime", "tools/accum-run") for slug, at in slugs(folder).items()}
    for slug, (path, number) in compiler.items():
        if slug not in defined:
            yield path, number, f"[{slug}] has no exit code in compiler/Driver/Errors.def"
    for slug in [*defined, *runtime]:
        if f"`{slug}`" not in table:
            yield ROOT / "docs" / "errors" / "README.md", 1, f"`{slug}` has no row"
    for page in re.findall(r"\]\(([a-z-]+\.md)\)", table):
        if not (ROOT / "docs" / "errors" / page).exists():
            yield ROOT / "docs" / "errors" / "README.md", 1, f"{page} does not exist"


def check_sources():
    for top in ("base", "compiler", "dialects", "passes", "runtime", "tools", "test"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".td", ".py"):
                continue
            lines = path.read_text().splitlines()
            if len(lines) > LONGEST:
                yield path, len(lines), f"more than {LONGEST} lines: another noun wants its own file"
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
                yield path, 1, "no SPDX line"


def check_links():
    """Relative links of the documents lead somewhere."""
    for path in [ROOT / "README.md", *ROOT.glob("*/**/*.md")]:
        if any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                if not (path.parent / target).exists():
                    yield path, number, f"the link to {target} leads nowhere"


def check_tour():
    """The tour of the README can be typed: what its commands read is in examples/."""
    for number, line in enumerate((ROOT / "README.md").read_text().splitlines(), 1):
        if not line.startswith("    $ "):
            continue
        for word in line.split():
            if word.endswith((".onnx", ".safetensors")) and not (ROOT / "examples" / word).exists():
                yield ROOT / "README.md", number, f"examples/ has no {word}"


def rooms():
    """Folder of the runtime -> those that its library is linked with, in the order in which they are made."""
    found = {}
    folders = {}
    for name, folder, words in re.findall(r"^accum_room\((\w+) (\w+)([^)]*)\)", (ROOT / "runtime/CMakeLists.txt").read_text(), re.M):
        direct = [folders[word] for word in words.split() if word in folders]
        found[folder] = {folder, *direct}.union(*(found[each] for each in direct))
        folders[name] = folder
    return {folder: {*linked, "base"} for folder, linked in found.items()}


# Top folders that stand alone -> what they include of ours.
LEAVES = {"base": {"base"}, "compiler/Planner": {"base", "compiler/Planner", "runtime/host/CallTiles.h"}}


def check_leaves():
    """base includes nothing of ours, the planner base alone, and how the runtime tiles calls."""
    for folder, allowed in LEAVES.items():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                other = re.match(r'#include "((?:base|compiler|dialects|passes|runtime|tools)/.*)"', line)
                if other and not any(other[1] == each or other[1].startswith(each + "/") for each in allowed):
                    yield path, number, f"{folder} does not know {other[1]}"


def check_rooms():
    """A folder of the runtime includes those that its library is linked with: no arrow runs up."""
    linked = rooms()
    for path in sorted((ROOT / "runtime").glob("*/*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        own = linked.get(path.parent.name, set())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            other = re.match(r'#include "(?:runtime/(\w+)/|(base|compiler|dialects|passes|tools)/)', line)
            if other and (other[1] or other[2]) not in own:
                yield path, number, f"{path.parent.name} is not linked with {other[1] or other[2]} (runtime/CMakeLists.txt)"


def main():
    checks = (check_run_lines, check_slugs, check_sources, check_rooms, check_leaves, check_links, check_tour)
    findings = [finding for check in checks for finding in check()]
    for path, number, text in findings:
        print(f"{path.relative_to(ROOT)}:{number}: {text}")
    return len(findings)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)

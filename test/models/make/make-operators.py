# SPDX-License-Identifier: Apache-2.0
"""Writes compiler/Import/rules/Operators.def: what ONNX says of each operator that the importer has a rule for, version by version.

Usage: make-operators.py [--check] (oracle: the package's schemas). Needs the package onnx; the newer it is, the newer the
opsets that are known. A version with another meaning under the same attributes shows in the difference of the file alone: read
its specification before committing it.
"""
import argparse
import pathlib
import re
import sys

from onnx import defs, helper

RULES = pathlib.Path(__file__).resolve().parents[3] / "compiler" / "Import" / "rules"
MANY = 2**31 - 1  # how ONNX counts the inputs of a variadic operator
BESIDE_THE_TABLE = {"If"}

HEAD = """// SPDX-License-Identifier: Apache-2.0
// What ONNX says of the operators that have a rule, made by test/models/make/make-operators.py: the versions of each that
// take the same attributes (with their defaults; `!`: required), and how many inputs and outputs, -1 for any number.
#ifndef ACCUM_OPERATOR
#error "define ACCUM_OPERATOR(name, versions, leastInputs, mostInputs, leastOutputs, mostOutputs, attributes) first"
#endif
#ifdef ACCUM_NEWEST_OPSET
ACCUM_NEWEST_OPSET({newest})
#undef ACCUM_NEWEST_OPSET
#endif
"""


def known_operators():
    rules = "".join(path.read_text() for path in sorted(RULES.glob("*.cpp")))
    return sorted(BESIDE_THE_TABLE | set(re.findall(r'table\.add\("(\w+)"', rules)))


def word(attribute):
    value = attribute.default_value
    if attribute.required or not value.name:
        return attribute.name + "!" * attribute.required
    value = helper.get_attribute_value(value)
    # A default is a number of f32, which a short decimal names.
    text = value.decode() if isinstance(value, bytes) else f"{value:.8g}" if isinstance(value, float) else str(value)
    return f"{attribute.name}={text}"


def signature(schema):
    most = [-1 if count == MANY else count for count in (schema.max_input, schema.max_output)]
    attributes = " ".join(word(schema.attributes[name]) for name in sorted(schema.attributes))
    return f'{schema.min_input}, {most[0]}, {schema.min_output}, {most[1]}, "{attributes}"'


def table():
    operators = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            operators.setdefault(schema.name, {})[schema.since_version] = signature(schema)
    lines = [HEAD.replace("{newest}", str(defs.onnx_opset_version()))]
    for name in known_operators():
        groups = []
        for version, text in sorted(operators[name].items()):
            if groups and groups[-1][1] == text:
                groups[-1][0].append(version)
            else:
                groups.append(([version], text))
        lines += [f'ACCUM_OPERATOR("{name}", "{" ".join(map(str, versions))}", {text})\n' for versions, text in groups]
    return "".join(lines) + "#undef ACCUM_OPERATOR\n"


def check(known, text):
    """An older package than the one that the table was made with knows less."""
    newest = int(re.search(r"ACCUM_NEWEST_OPSET\((\d+)\)", known)[1])
    if defs.onnx_opset_version() < newest:
        print(f"not compared: the installed onnx ends with opset {defs.onnx_opset_version()}, the table with {newest}")
    elif known != text:
        sys.exit("Operators.def is not what the installed onnx says: make-operators.py makes it anew")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only")
    path, text = RULES / "Operators.def", table()
    if parser.parse_args().check:
        check(path.read_text(), text)
    else:
        path.write_text(text)


if __name__ == "__main__":
    main()

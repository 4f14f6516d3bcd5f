"""The constants of the browser's runner in TypeScript, from the data of format_constants.py."""

from __future__ import annotations

import json
from typing import Any

from format_data import (
    CHECKED_BEFORE,
    GLSL,
    HEADER,
    NONE,
    RULE,
    SCALARS,
    TASK_HEADER,
    WIDTH,
    Data,
    commented,
    listed,
    none_rules,
    number_literal,
    quoted,
    reachable_types,
)


def format_constants(data: Data) -> str:
    """Return the text of web/src/formatConstants.ts.

    Objects of graph.json have their own tables, because only tools read them.
    """
    lines = [f"/** {HEADER} */", "", 'import type { Type } from "./described.ts";', ""]
    return "\n".join(
        [*lines, *_constants(data), *_glsl_constants(data["glsl"]), *_type_tables(data), *_none_rules(), ""]
    )


def _constants(data: Data) -> list[str]:
    """Return the lines of the header, limits, ranges, words and patterns."""
    header_keys = ("format", "version", "profile", "cpu_profile")
    lines = [f"export const {key.upper()} = {json.dumps(data[key])};" for key in header_keys]
    lines += [
        "/** The byte of column x, row y and channel c of input i. */",
        f"export const PROBE_FORMULA = {json.dumps(data['formula'])};",
    ]
    for name, (value, about) in data["caps"].items():
        lines += commented(f"export const {name} = {number_literal(value)};", about, "//")
    lines += ["", "// Smallest and largest integers, and the rule that a larger one breaks."]
    for name, (low, high, about, *rule) in data["integers"].items():
        limits = ", ".join([str(low), str(high), *quoted(rule)])
        lines += commented(f"export const {name.upper()}_RANGE = [{limits}] as const;", about, "//")
    lines.append("")
    for name, values in data["words"].items():
        lines.append(listed(f"export const {name.upper()} = [", quoted(values), "] as const;", step="  "))
    lines.append("")
    for name, pattern in data["patterns"].items():
        lines.append(f"export const {name.upper()}_PATTERN = /^({pattern.replace('/', chr(92) + '/')})$/;")
    return lines


def _glsl_constants(glsl: Data) -> list[str]:
    """Return the lines of the words and limits of shaders."""
    lines = [listed(f"export const GLSL_{key.upper()} = [", quoted(glsl[key]), "];", step="  ") for key in GLSL]
    for name, (value, about) in glsl["limits"].items():
        lines += commented(f"export const GLSL_MOST_{name.upper()} = {value};", about, "//")
    return lines


def _type_tables(data: Data) -> list[str]:
    """Return the lines of the built-in types, and of the objects and types of manifest.json and of graph.json."""
    lines = ["", "/** The types that are built in. */"]
    lines += [f"export const {name.upper()} = {code};" for code, name in enumerate((*SCALARS, "any"), 1)]
    runner = reachable_types(data, "object manifest", {})
    graph = {name: spec for name, spec in reachable_types(data, "object graph", {}).items() if name not in runner}
    for prefix, about, entries in (("", "manifest.json", runner), ("GRAPH_", "graph.json, without those", graph)):
        objects = {name: _object_literal(data, spec) for name, spec in entries.items() if "keys" in spec}
        types = {name: _type_literal(data, spec) for name, spec in entries.items() if "keys" not in spec}
        lines += ["", f"/** The keys of the objects of {about}, and their types. */"]
        lines.append(f"export const {prefix}OBJECTS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {{")
        lines += [f"  {name}: {keys}," for name, keys in objects.items()]
        lines += ["};", "/** Types that have a description. */"]
        lines.append(f"export const {prefix}TYPES: Readonly<Record<string, Type>> = {{")
        lines += [f"  {name}: {field_type}," for name, field_type in types.items()]
        lines.append("};")
    sections = ", ".join(quoted(data["objects"]["manifest"]["sections"]))
    lines += ["/** Keys of the manifest whose contents break the rule of their own name. */"]
    return [*lines, f"export const SECTIONS = [{sections}] as const;", ""]


def _none_rules() -> list[str]:
    """Return the lines of the rules of "none of these"."""
    zero, rules = none_rules()
    lines = [
        "/** The logit of 'none of these' for the logits of a picture; runtime/none_of_these.py describes the rule. */",
        "export interface NoneRule {",
        *(f"  readonly {key}: number;" for key in RULE),
        "  readonly directions: readonly string[];",
        "}",
        "",
        "/** Code of the character for 0 in a direction of a rule. */",
        f"export const NONE_ZERO = {zero};",
        "",
        f"/** Rule of 'none of these' by the SHA-256 of manifest.json, from {NONE}. */",
        "export const NONE_RULES: Readonly<Record<string, NoneRule>> = {",
    ]
    for digest, rule in rules.items():
        lines += [f"  // {rule['model']}", f"  {json.dumps(digest)}: {{"]
        lines += [f"    {key}: {rule[key]}," for key in RULE]
        lines += ["    directions: [", *(f"      {json.dumps(row)}," for row in rule["directions"]), "    ],", "  },"]
    return [*lines, "};"]


def _object_literal(data: Data, spec: Data) -> str:
    """Return an object's keys and types; ``onlyIf`` is another key, with its values for which the key exists."""
    keys = {}
    for key, field_type in spec["keys"].items():
        keys[key] = _type_literal(data, field_type)
        for condition_key, values in spec.get("only", {}).get(key, {}).items():
            keys[key] = f"{{ onlyIf: [{', '.join(quoted([condition_key, *values]))}], thenType: {keys[key]} }}"
    line = ", ".join(f"{key}: {field_type}" for key, field_type in keys.items())
    inner = "".join(f"    {key}: {field_type},\n" for key, field_type in keys.items())
    return f"{{ {line} }}" if len(line) < WIDTH - 24 else f"{{\n{inner}  }}"


def _type_literal(data: Data, field_type: Any) -> str:
    """Return a type in the notation of the browser's interpreter."""
    if isinstance(field_type, dict):
        return _described_type(data, field_type)
    return _named_type(data, str(field_type))


def _described_type(data: Data, spec: Data) -> str:
    """Return the literal of a type with a description: a choice, tuple, list of words, range, default or collection."""
    if "choice" in spec:
        choices = (f"{name}: [{', '.join(quoted(keys))}]" for name, keys in spec["choice"].items())
        return f"{{ choiceOf: {{ {', '.join(choices)} }} }}"
    if "tuple" in spec:
        return f"{{ tupleOf: [{', '.join(_type_literal(data, item) for item in spec['tuple'])}] }}"
    if "words" in spec:
        return f"[{', '.join(quoted(spec['words']))}]"
    if "integer" in spec:
        return json.dumps(spec["integer"])
    if "number" in spec:
        return f"between({', '.join(map(str, spec['number']))})"
    if "default" in spec:
        default = "new Map()" if spec["default"] == {} else json.dumps(spec["default"])
        return f"optional({_type_literal(data, spec['type'])}, {default})"
    if spec.get("or_one"):
        return f"oneOrList({_type_literal(data, spec['list'])}, {spec.get('least', 0)})"
    names = {"list": "listOf", "map": "mapOf", "least": "atLeast", "most": "atMost", "cap": "capped"}
    # The runner checks that entries are unique in one place, with all names.
    keys = {names[key]: value for key, value in spec.items() if key != "unique"}
    return "{ " + ", ".join(f"{key}: {_type_literal(data, value)}" for key, value in keys.items()) + " }"


_CONSTANTS = {
    "boolean": "boolean",
    "reference": "NAME",
    "formula": "[PROBE_FORMULA]",
    **{name: name.upper() for name in SCALARS},
    **dict.fromkeys(CHECKED_BEFORE, "ANY"),
}
"""TypeScript's names of types that have one word in format.json."""


def _named_type(data: Data, text: str) -> str:
    """Return the literal of a type in words: a constant, a number, or the name of an object, a type or a cap."""
    type_name, _, name = text.partition(" ")
    constants = {"integer": f"{name.upper()}_RANGE", "word": name.upper(), "pattern": f"{name.upper()}_PATTERN"}
    if type_name in constants:
        return constants[type_name]
    if type_name in _CONSTANTS:
        return _CONSTANTS[type_name]
    is_name = type_name == "object" or type_name in data["types"] or type_name in data["tasks"]["types"]
    return json.dumps(name or type_name) if is_name else type_name


def task_types(data: Data) -> str:
    """Return the table of task files for the browser."""
    tasks = data["tasks"]
    lines = [f"/** {TASK_HEADER} */", "", 'import type { Type } from "../described.ts";']
    lines += ['import { NAME } from "../formatConstants.ts";']
    lines += ['import { between, boolean, oneOrList, optional } from "./types.ts";', ""]
    lines += ["export const TYPES: Readonly<Record<string, Type>> = {"]
    lines += [f"  {name}: {_type_literal(data, field_type)}," for name, field_type in tasks["types"].items()]
    lines += ["};", "", "export const OBJECTS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {"]
    for name, keys in tasks["objects"].items():
        lines.append(f"  {name}: {{")
        lines += [f"    {key}: {_type_literal(data, field_type)}," for key, field_type in keys.items()]
        lines.append("  },")
    return "\n".join([*lines, "};", ""])

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


def typescript(data: Data) -> str:
    """Return web/src/formatConstants.ts, with the objects that a runner reads, and separately those of graph.json."""
    lines = [f"/** {HEADER} */", "", 'import type { Type } from "./described.ts";', ""]
    plain = ("format", "version", "profile", "cpu_profile")
    lines += [f"export const {key.upper()} = {json.dumps(data[key])};" for key in plain]
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
    for name, words in data["words"].items():
        lines.append(listed(f"export const {name.upper()} = [", quoted(words), "] as const;", step="  "))
    lines.append("")
    for name, pattern in data["patterns"].items():
        lines.append(f"export const {name.upper()}_PATTERN = /^({pattern.replace('/', chr(92) + '/')})$/;")
    glsl = data["glsl"]
    for key in GLSL:
        lines.append(listed(f"export const GLSL_{key.upper()} = [", quoted(glsl[key]), "];", step="  "))
    for name, (value, about) in glsl["limits"].items():
        lines += commented(f"export const GLSL_MOST_{name.upper()} = {value};", about, "//")
    lines += ["", "/** The types that are built in. */"]
    lines += [f"export const {name.upper()} = {code};" for code, name in enumerate((*SCALARS, "any"), 1)]
    runner = reachable_types(data, "object manifest", {})
    graph = {name: spec for name, spec in reachable_types(data, "object graph", {}).items() if name not in runner}
    for prefix, about, entries in (("", "manifest.json", runner), ("GRAPH_", "graph.json, without those", graph)):
        objects = {name: _typescript_object(data, spec) for name, spec in entries.items() if "keys" in spec}
        types = {name: _typescript(data, spec) for name, spec in entries.items() if "keys" not in spec}
        lines += ["", f"/** The keys of the objects of {about}, and their types. */"]
        lines.append(f"export const {prefix}OBJECTS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {{")
        lines += [f"  {name}: {keys}," for name, keys in objects.items()]
        lines += ["};", "/** Types that have a description. */"]
        lines.append(f"export const {prefix}TYPES: Readonly<Record<string, Type>> = {{")
        lines += [f"  {name}: {field_type}," for name, field_type in types.items()]
        lines.append("};")
    sections = ", ".join(quoted(data["objects"]["manifest"]["sections"]))
    lines += ["/** Keys of the manifest whose contents break the rule of their own name. */"]
    lines += [f"export const SECTIONS = [{sections}] as const;", ""]
    zero, rules = none_rules()
    lines += [
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
    lines += ["};", ""]
    return "\n".join(lines)


def _typescript_object(data: Data, spec: Data) -> str:
    """Return an object's keys and types; ``onlyIf`` is another key, with its values for which the key exists."""
    keys = {}
    for key, field_type in spec["keys"].items():
        keys[key] = _typescript(data, field_type)
        for condition_key, words in spec.get("only", {}).get(key, {}).items():
            keys[key] = f"{{ onlyIf: [{', '.join(quoted([condition_key, *words]))}], thenType: {keys[key]} }}"
    line = ", ".join(f"{key}: {field_type}" for key, field_type in keys.items())
    inner = "".join(f"    {key}: {field_type},\n" for key, field_type in keys.items())
    return f"{{ {line} }}" if len(line) < WIDTH - 24 else f"{{\n{inner}  }}"


def _typescript(data: Data, field_type: Any) -> str:
    """Return a type in the notation of the browser's interpreter."""
    if isinstance(field_type, dict):
        if "choice" in field_type:
            choices = (f"{name}: [{', '.join(quoted(keys))}]" for name, keys in field_type["choice"].items())
            return f"{{ choiceOf: {{ {', '.join(choices)} }} }}"
        if "tuple" in field_type:
            return f"{{ tupleOf: [{', '.join(_typescript(data, item) for item in field_type['tuple'])}] }}"
        if "words" in field_type:
            return f"[{', '.join(quoted(field_type['words']))}]"
        if "integer" in field_type:
            return json.dumps(field_type["integer"])
        if "number" in field_type:
            return f"between({', '.join(map(str, field_type['number']))})"
        if "default" in field_type:
            default = "new Map()" if field_type["default"] == {} else json.dumps(field_type["default"])
            return f"optional({_typescript(data, field_type['type'])}, {default})"
        if field_type.get("or_one"):
            return f"oneOrList({_typescript(data, field_type['list'])}, {field_type.get('least', 0)})"
        names = {"list": "listOf", "map": "mapOf", "least": "atLeast", "most": "atMost", "cap": "capped"}
        keys = {names[key]: value for key, value in field_type.items() if key != "unique"}  # checked with all names
        return "{ " + ", ".join(f"{key}: {_typescript(data, value)}" for key, value in keys.items()) + " }"
    type_name, _, name = str(field_type).partition(" ")
    constants = {"integer": f"{name.upper()}_RANGE", "word": name.upper(), "pattern": f"{name.upper()}_PATTERN"}
    if type_name in constants:
        return constants[type_name]
    if type_name == "boolean":
        return type_name
    if type_name in SCALARS or type_name == "reference":
        return "NAME" if type_name == "reference" else type_name.upper()
    if type_name in CHECKED_BEFORE:
        return "ANY"
    if type_name == "formula":
        return "[PROBE_FORMULA]"
    named = type_name == "object" or type_name in data["types"] or type_name in data["tasks"]["types"]
    return json.dumps(name or type_name) if named else type_name  # a scalar, or the name of a cap


def typescript_tasks(data: Data) -> str:
    """Return the table of task files for the browser."""
    tasks = data["tasks"]
    lines = [f"/** {TASK_HEADER} */", "", 'import type { Type } from "../described.ts";']
    lines += ['import { NAME } from "../formatConstants.ts";']
    lines += ['import { between, boolean, oneOrList, optional } from "./types.ts";', ""]
    lines += ["export const TYPES: Readonly<Record<string, Type>> = {"]
    lines += [f"  {name}: {_typescript(data, field_type)}," for name, field_type in tasks["types"].items()]
    lines += ["};", "", "export const OBJECTS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {"]
    for name, keys in tasks["objects"].items():
        lines.append(f"  {name}: {{")
        lines += [f"    {key}: {_typescript(data, field_type)}," for key, field_type in keys.items()]
        lines.append("  },")
    return "\n".join([*lines, "};", ""])

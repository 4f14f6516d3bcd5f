"""FormatConstants.java and the tables of task files in Java, from the data of format_constants.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from format_data import (
    CHECKED_BEFORE,
    GLSL,
    HEADER,
    NONE,
    TASK_HEADER,
    WIDTH,
    Data,
    commented,
    listed,
    none_rules,
    number_literal,
    quoted,
    reachable_types,
    rule_numbers,
)


def java(data: Data) -> str:
    """Return FormatConstants.java of the Java runner. Its readers name the keys of objects; limits are a list."""

    def strings(name: str, words: Sequence[str]) -> str:
        return listed(f"static final String[] {name} = {{", quoted(words), "};", "    ")

    lines = ["package glslinfer.runner;", ""]
    lines += [f"import java.util.{name};" for name in ("Arrays", "HashMap", "List", "Map")]
    lines += ["", f"/** {HEADER} */", "final class FormatConstants {"]
    lines += [
        f"    static final String FORMAT = {json.dumps(data['format'])};",
        f"    static final int VERSION = {data['version']};",
        f"    static final String PROFILE = {json.dumps(data['profile'])};",
        f"    static final String CPU_PROFILE = {json.dumps(data['cpu_profile'])};",
        "",
        "    /** The byte of column x, row y and channel c of input i. */",
        f"    static final String PROBE_FORMULA = {json.dumps(data['formula'])};",
    ]
    for name, (value, about) in data["caps"].items():
        java_type = "int" if isinstance(value, int) else "double"
        lines += commented(f"    static final {java_type} {name} = {number_literal(value)};", about, "//")
    lines += ["", "    // Smallest and largest integers."]
    for name, (low, high, about, *_) in data["integers"].items():
        lines += commented(f"    static final int[] {name.upper()}_RANGE = {{{low}, {high}}};", about, "//")
    lines.append("")
    lines += [strings(name.upper(), words) for name, words in data["words"].items()]
    lines.append("")
    for name, pattern in data["patterns"].items():
        line = f"    static final String {name.upper()}_PATTERN = {json.dumps(pattern)};"
        lines.append(line if len(line) <= WIDTH else line.replace(" = ", " =\n            ", 1))
    glsl = data["glsl"]
    zero, rules = none_rules()
    lines += ["", *(strings(f"GLSL_{key.upper()}", glsl[key]) for key in GLSL)]
    for name, (value, about) in glsl["limits"].items():
        java_type = "int" if value < 1 << 31 else "double"
        literal = f"{value}{'' if java_type == 'int' else '.0'}"
        lines += commented(f"    static final {java_type} GLSL_MOST_{name.upper()} = {literal};", about, "//")
    lines += [
        "",
        f"    /** Rule of 'none of these' by the SHA-256 of manifest.json, from {NONE}. */",
        "    static final Map<String, NoneRule> NONE_RULES = new HashMap<String, NoneRule>();",
        "",
        f"    static final int NONE_ZERO = {zero}; // character for 0 in a direction of a rule",
        "",
        "    static {",
    ]
    for digest, rule in rules.items():
        directions = ",\n".join(f"                        {json.dumps(row)}" for row in rule["directions"])
        lines += [
            f"        // {rule['model']}",
            "        NONE_RULES.put(",
            f"                {json.dumps(digest)},",
            "                new NoneRule(",
            f"                        {', '.join(rule_numbers(rule))},",
            f"{directions}));",
        ]
    lines.append("    }")
    lines += ["", *_java_tables(data), "", "    private FormatConstants() {}", "}", ""]
    return "\n".join(lines)


def _java_tables(data: Data) -> list[str]:
    """Return the descriptions of all objects and types that a runner reads."""
    runner = reachable_types(data, "object manifest", {})
    sections = ", ".join(quoted(data["objects"]["manifest"]["sections"]))
    lines = [
        "    /** Keys of the manifest whose contents break the rule of their own name. */",
        f"    static final List<String> SECTIONS = Arrays.asList({sections});",
        "",
        "    /** The keys of the objects of manifest.json, each before its type. */",
        "    static final Map<String, Object[]> OBJECTS = new HashMap<String, Object[]>();",
        "",
        "    /** Types that have a description. */",
        "    static final Map<String, Object> TYPES = new HashMap<String, Object>();",
        "",
        "    static {",
    ]
    for name, spec in runner.items():
        if "keys" not in spec:
            lines.append(f"        TYPES.put({json.dumps(name)}, {_java(data, spec)});")
            continue
        lines.append(f"        OBJECTS.put({json.dumps(name)}, new Object[] {{")
        for key, field_type in spec["keys"].items():
            expression = _java(data, field_type)
            for condition_key, words in spec.get("only", {}).get(key, {}).items():
                joint = ",\n                " if len(expression) > 60 else ", "  # limit of 120 characters
                expression = _java_array(['"only"', expression, *quoted([condition_key, *words])], joint)
            lines.append(f"            {json.dumps(key)}, {expression},")
        lines.append("        });")
    return [*lines, "    }"]


def _java(data: Data, field_type: Any) -> str:
    """Return a type in the notation of the Java interpreter."""
    if isinstance(field_type, dict):
        if "choice" in field_type:
            choices = [
                f"new String[] {{{', '.join(quoted([name, *keys]))}}}" for name, keys in field_type["choice"].items()
            ]
            return _java_array(['"choice"', *choices], ",\n            ")
        if "tuple" in field_type:
            return _java_array(['"tuple"', *(_java(data, item) for item in field_type["tuple"])])
        if "map" in field_type:
            return _java_array(['"map"', _java(data, field_type["map"])])
        if "default" in field_type:
            return _java_array(
                ['"default"', _java(data, field_type["type"]), json.dumps(json.dumps(field_type["default"]))]
            )
        if "words" in field_type:
            return f"new String[] {{{', '.join(quoted(field_type['words']))}}}"
        if "integer" in field_type or "number" in field_type:
            name = "int" if "integer" in field_type else "double"
            return f"new {name}[] {{{', '.join(map(str, field_type.get('integer') or field_type['number']))}}}"
        if field_type.get("or_one"):
            return _java_array(['"one or list"', _java(data, field_type["list"]), str(field_type.get("least", 0))])
        limits = [
            str(field_type.get("least", 0)),
            *(str(field_type[key]) for key in ("most", "cap") if key in field_type),
        ]
        return _java_array(['"capped"' if "cap" in field_type else '"list"', _java(data, field_type["list"]), *limits])
    type_name, _, name = str(field_type).partition(" ")
    if type_name == "integer":
        rule = data["integers"][name][3:]
        return _java_array(['"range"', f"{name.upper()}_RANGE"]) if rule else f"{name.upper()}_RANGE"
    if type_name == "word":
        return name.upper()
    if type_name == "formula":
        return "new String[] {PROBE_FORMULA}"
    named = {"object": name, "pattern": name, "reference": "name"}
    return json.dumps(named.get(type_name, "any" if type_name in CHECKED_BEFORE else type_name))


def java_tasks(data: Data) -> str:
    """Return the table of task files for Java."""
    tasks = data["tasks"]
    lines = ["package glslinfer.tasks;", "", "import java.util.HashMap;", "import java.util.Map;", ""]
    lines += [f"/** {TASK_HEADER} */", "final class TaskFormat {"]
    lines += [
        "    static final Map<String, Object[]> OBJECTS = new HashMap<String, Object[]>();",
        "    static final Map<String, Object> TYPES = new HashMap<String, Object>();",
        "",
        "    static {",
    ]
    lines += [
        f"        TYPES.put({json.dumps(name)}, {_java(data, field_type)});"
        for name, field_type in tasks["types"].items()
    ]
    for name, keys in tasks["objects"].items():
        lines.append(f"        OBJECTS.put({json.dumps(name)}, new Object[] {{")
        lines += [f"            {json.dumps(key)}, {_java(data, field_type)}," for key, field_type in keys.items()]
        lines.append("        });")
    return "\n".join([*lines, "    }", "", "    private TaskFormat() {}", "}", ""])


def _java_array(items: Sequence[str], between: str = ", ") -> str:
    return f"new Object[] {{{between.join(items)}}}"

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


def format_constants(data: Data) -> str:
    """Return the text of FormatConstants.java of the Java runner. Objects of graph.json are left out."""
    lines = ["package glslinfer.runner;", ""]
    lines += [f"import java.util.{name};" for name in ("Arrays", "HashMap", "List", "Map")]
    lines += ["", f"/** {HEADER} */", "final class FormatConstants {"]
    lines += [*_constants(data), "", *_glsl_constants(data["glsl"]), "", *_none_rules(), "", *_type_tables(data)]
    return "\n".join([*lines, "", "    private FormatConstants() {}", "}", ""])


def _constants(data: Data) -> list[str]:
    """Return the lines of the header, limits, ranges, words and patterns."""
    lines = [
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
    lines += [_string_array(name.upper(), values) for name, values in data["words"].items()]
    lines.append("")
    for name, pattern in data["patterns"].items():
        line = f"    static final String {name.upper()}_PATTERN = {json.dumps(pattern)};"
        lines.append(line if len(line) <= WIDTH else line.replace(" = ", " =\n            ", 1))
    return lines


def _string_array(name: str, values: Sequence[str]) -> str:
    return listed(f"static final String[] {name} = {{", quoted(values), "};", "    ")


def _glsl_constants(glsl: Data) -> list[str]:
    """Return the lines of the words and limits of shaders."""
    lines = [_string_array(f"GLSL_{key.upper()}", glsl[key]) for key in GLSL]
    for name, (value, about) in glsl["limits"].items():
        java_type = "int" if value < 1 << 31 else "double"
        literal = f"{value}{'' if java_type == 'int' else '.0'}"
        lines += commented(f"    static final {java_type} GLSL_MOST_{name.upper()} = {literal};", about, "//")
    return lines


def _none_rules() -> list[str]:
    """Return the lines of the rules of "none of these"."""
    zero, rules = none_rules()
    lines = [
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
    return [*lines, "    }"]


def _type_tables(data: Data) -> list[str]:
    """Return the lines of the objects and types of manifest.json."""
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
            lines.append(f"        TYPES.put({json.dumps(name)}, {_type_literal(data, spec)});")
            continue
        lines.append(f"        OBJECTS.put({json.dumps(name)}, new Object[] {{")
        for key, field_type in spec["keys"].items():
            expression = _type_literal(data, field_type)
            for condition_key, values in spec.get("only", {}).get(key, {}).items():
                joint = ",\n                " if len(expression) > 60 else ", "  # limit of 120 characters
                expression = _object_array(['"only"', expression, *quoted([condition_key, *values])], joint)
            lines.append(f"            {json.dumps(key)}, {expression},")
        lines.append("        });")
    return [*lines, "    }"]


def _type_literal(data: Data, field_type: Any) -> str:
    """Return a type in the notation of the Java interpreter."""
    if isinstance(field_type, dict):
        return _described_type(data, field_type)
    return _named_type(data, str(field_type))


def _described_type(data: Data, spec: Data) -> str:
    """Return the literal of a type with a description: a choice, tuple, map, default, list of words, range or list."""
    if "choice" in spec:
        choices = [f"new String[] {{{', '.join(quoted([name, *keys]))}}}" for name, keys in spec["choice"].items()]
        return _object_array(['"choice"', *choices], ",\n            ")
    if "tuple" in spec:
        return _object_array(['"tuple"', *(_type_literal(data, item) for item in spec["tuple"])])
    if "map" in spec:
        return _object_array(['"map"', _type_literal(data, spec["map"])])
    if "default" in spec:
        return _object_array(['"default"', _type_literal(data, spec["type"]), json.dumps(json.dumps(spec["default"]))])
    if "words" in spec:
        return f"new String[] {{{', '.join(quoted(spec['words']))}}}"
    if "integer" in spec or "number" in spec:
        name = "int" if "integer" in spec else "double"
        return f"new {name}[] {{{', '.join(map(str, spec.get('integer') or spec['number']))}}}"
    if spec.get("or_one"):
        return _object_array(['"one or list"', _type_literal(data, spec["list"]), str(spec.get("least", 0))])
    limits = [
        str(spec.get("least", 0)),
        *(str(spec[key]) for key in ("most", "cap") if key in spec),
    ]
    return _object_array(['"capped"' if "cap" in spec else '"list"', _type_literal(data, spec["list"]), *limits])


def _named_type(data: Data, text: str) -> str:
    """Return the literal of a type in words: a constant, or the name of an object or type."""
    type_name, _, name = text.partition(" ")
    if type_name == "integer":
        rule = data["integers"][name][3:]
        return _object_array(['"range"', f"{name.upper()}_RANGE"]) if rule else f"{name.upper()}_RANGE"
    if type_name == "word":
        return name.upper()
    if type_name == "formula":
        return "new String[] {PROBE_FORMULA}"
    named = {"object": name, "pattern": name, "reference": "name"}
    return json.dumps(named.get(type_name, "any" if type_name in CHECKED_BEFORE else type_name))


def task_types(data: Data) -> str:
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
        f"        TYPES.put({json.dumps(name)}, {_type_literal(data, field_type)});"
        for name, field_type in tasks["types"].items()
    ]
    for name, keys in tasks["objects"].items():
        lines.append(f"        OBJECTS.put({json.dumps(name)}, new Object[] {{")
        lines += [
            f"            {json.dumps(key)}, {_type_literal(data, field_type)}," for key, field_type in keys.items()
        ]
        lines.append("        });")
    return "\n".join([*lines, "    }", "", "    private TaskFormat() {}", "}", ""])


def _object_array(items: Sequence[str], between: str = ", ") -> str:
    return f"new Object[] {{{between.join(items)}}}"

#!/usr/bin/env python3
"""Write the constants of the three readers, the JSON Schema and the tables of task files from data.

glsl_infer/bundle/format.json describes bundles, glsl_infer/tasks/format.json task files.

The constants of the Java and TypeScript runners include the table of glsl_infer/runtime/none_of_these.json.

    python scripts/build/format_constants.py [--check]

This one file defines caps, ranges of integers, words, and the keys of every object of manifest.json. Rules between
fields are written by hand in each reader. With ``--check`` nothing is written, and the exit status is 1 if a file is
out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import format_java
import format_typescript
from format_data import GLSL, HEADER, ROOT, WIDTH, Data, commented, listed, number_literal, quoted, read
from format_schema import schema


def _tuple(words: Sequence[str]) -> str:
    return f"({', '.join(quoted(words))}{',' if len(words) == 1 else ''})"


def _literal(value: Any, before: int = 0, indent: str = "") -> str:
    """Return data as Python, formatted as by ruff, if ``before`` characters precede it on its line."""
    line = _one_line(value)
    if not isinstance(value, (dict, list)) or before + len(line) < WIDTH:
        return line
    inner = indent + "    "
    if isinstance(value, list):
        return "(\n" + "".join(f"{inner}{_literal(item, len(inner), inner)},\n" for item in value) + f"{indent})"
    keys = {f"{inner}{json.dumps(key)}: ": item for key, item in value.items()}
    return "{\n" + "".join(f"{key}{_literal(item, len(key), inner)},\n" for key, item in keys.items()) + f"{indent}}}"


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_one_line(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "(" + ", ".join(map(_one_line, value)) + (",)" if len(value) == 1 else ")")
    return json.dumps(value)


def _resolved(data: Data, field_type: Any) -> Any:
    """Return a type with the values of caps in place of their names."""
    if isinstance(field_type, dict):
        return {
            key: data["caps"][value][0] if key in ("most", "cap") and isinstance(value, str) else _resolved(data, value)
            for key, value in field_type.items()
        }
    return field_type


def _conditions(data: Data) -> list[tuple[str, str, str, list[str]]]:
    """Return the conditional keys, present only for some words in another key: (object, key, other key, words)."""
    return [
        (name, key, condition_key, words)
        for name, spec in data["objects"].items()
        for key, condition in spec.get("only", {}).items()
        for condition_key, words in condition.items()
    ]


def python(data: Data) -> str:
    """Return glsl_infer/bundle/format_constants.py."""
    lines = [
        f'"""{HEADER}"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "from typing import Any",
        "",
        *(f"{key.upper()} = {json.dumps(data[key])}" for key in ("format", "version", "profile", "cpu_profile")),
        f"PROBE_FORMULA = {json.dumps(data['formula'])}",
        '"""The byte of column x, row y and channel c of input i."""',
        "",
    ]
    for name, (value, about) in data["caps"].items():
        lines += commented(f"{name} = {number_literal(value)}", about, "#")
    lines += ["", "RANGES: Mapping[str, tuple[int, int]] = {"]
    lines += [f'    "{name}": ({low}, {high}),  # {about}' for name, (low, high, about, *_) in data["integers"].items()]
    lines += ["}", '"""Smallest and largest integers."""', "RANGE_RULES: Mapping[str, str] = {"]
    lines += [f'    "{name}": "{rule[0]}",' for name, (_, _, _, *rule) in data["integers"].items() if rule]
    lines += ["}", '"""The rule that a larger integer breaks, if it is not that of its section."""', ""]
    for name, words in data["words"].items():
        lines.append(listed(f"{name.upper()} = (", quoted(words), ")"))
    lines.append("")
    for name, pattern in data["patterns"].items():
        lines.append(f'{name.upper()}_PATTERN = r"{pattern}"')
    glsl = data["glsl"]
    lines.append("")
    lines += [listed(f"GLSL_{key.upper()} = (", quoted(glsl[key]), ")") for key in GLSL]
    lines.append("GLSL_LIMITS: Mapping[str, int] = {")
    lines += [f'    "{name}": {value},  # {about}' for name, (value, about) in glsl["limits"].items()]
    lines += ["}", '"""Limits of a shader."""']
    objects = data["objects"]
    types = {name: _resolved(data, field_type) for name, field_type in data["types"].items()}
    keys = {name: _resolved(data, spec["keys"]) for name, spec in objects.items()}
    sections = {name: spec["sections"] for name, spec in objects.items() if "sections" in spec}
    lines += [
        "",
        f"TYPES: Mapping[str, Any] = {_literal(types, WIDTH)}",
        '"""Composite types by name."""',
        "",
        f"OBJECTS: Mapping[str, Mapping[str, Any]] = {_literal(keys, WIDTH)}",
        '"""The keys of every object, in the order in which they are written, and their types."""',
        "",
        f"SECTIONS: Mapping[str, tuple[str, ...]] = {_literal(sections, WIDTH)}",
        '"""Keys of objects whose contents break the rule of their own name."""',
        "",
    ]
    lines.append("ONLY: Mapping[tuple[str, str], tuple[str, tuple[str, ...]]] = {")
    lines += [
        f'    ("{name}", "{key}"): ("{condition_key}", {_tuple(words)}),'
        for name, key, condition_key, words in _conditions(data)
    ]
    lines += [
        "}",
        '"""Conditional keys: (object, key) -> (other key, values).',
        "",
        'The key is required for these values of the other key, and forbidden for the rest."""',
        "",
    ]
    return "\n".join(lines)


def schema_text(data: Data) -> str:
    """Return glsl_infer/bundle/bundle.schema.json."""
    return _json({"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": HEADER, **schema(data)}) + "\n"


_ONE_LINE = -(10**9)


def _json(value: Any, indent: str = "", reserved: int = 0) -> str:
    """Return JSON, on one line if it fits; ``reserved`` is the number of characters before it on its line."""
    line = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return number_literal(value)
    if isinstance(value, dict) and value:
        fields = (f"{json.dumps(key)}: {_json(item, reserved=_ONE_LINE)}" for key, item in value.items())
        line = f"{{ {', '.join(fields)} }}"
    if isinstance(value, list) and value:
        line = f"[{', '.join(_json(item, reserved=_ONE_LINE) for item in value)}]"
    if not isinstance(value, (dict, list)) or len(indent) + reserved + len(line) < WIDTH:
        return line
    inner = indent + "  "
    if isinstance(value, list):
        parts = [f"{inner}{_json(item, inner)}" for item in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    keys = {key: json.dumps(key) + ": " for key in value}
    parts = [f"{inner}{keys[key]}{_json(item, inner, len(keys[key]))}" for key, item in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


FILES: Mapping[str, Callable[[Data], str]] = {
    "glsl_infer/bundle/format_constants.py": python,
    "glsl_infer/bundle/bundle.schema.json": schema_text,
    "android/runner/src/main/java/glslinfer/runner/FormatConstants.java": format_java.format_constants,
    "web/src/formatConstants.ts": format_typescript.format_constants,
    "android/runner/src/main/java/glslinfer/tasks/TaskFormat.java": format_java.task_types,
    "web/src/tasks/format.ts": format_typescript.task_types,
}


def outdated() -> list[str]:
    """Return the out-of-date files, as paths relative to the project."""
    data = read()
    paths = {name: ROOT / name for name in FILES}
    return [
        name for name, make in FILES.items() if not paths[name].exists() or paths[name].read_text("utf-8") != make(data)
    ]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    check = parser.parse_args().check
    data = read()
    for name in outdated():
        if check:
            print(f"error: {name} is out of date; run python scripts/build/format_constants.py", file=sys.stderr)
        else:
            (ROOT / name).write_text(FILES[name](data), "utf-8")
            print(name)
    return 1 if check and outdated() else 0


if __name__ == "__main__":
    sys.exit(main())

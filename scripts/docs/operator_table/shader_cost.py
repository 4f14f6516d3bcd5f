"""Texture fetches of a fragment shader: its texture2D calls, with loops expanded, counted in the source.

The source is that of the driver: ``#define`` and ``#ifdef`` are applied, ``for`` loops with constant bounds are
multiplied, and functions of the shader are counted at each call. All branches of an ``if`` count, because a GPU runs
them one after the other if neighbouring pixels differ.
"""

from __future__ import annotations

import re

_FOR = re.compile(r"for\s*\(\s*int (\w+) = (\d+); \1 < (\d+); \1\+\+\s*\)\s*\{")
_FUNCTION = re.compile(r"\b(?:void|float|vec[234]) (\w+)\(([^()]*)\)\s*\{")
_MACRO = re.compile(r"#define (\w+)\(([^()]*)\)(.*)")
_DEFINED = re.compile(r"(!?)\s*defined\s*\(\s*(\w+)\s*\)")
_CALL = re.compile(r"\b(\w+)\(([^()]*)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"\bint\((\d+)\.0*\)")


def fetches(shader: str) -> int:
    """Return the number of texels fetched by one fragment of ``shader``.

    Raises:
        ValueError: an unsupported directive or loop.
    """
    text = _INTEGER.sub(r"\1", preprocessed(shader))
    functions = {}
    for match in _FUNCTION.finditer(text):
        functions[match[1]] = text[match.end() : _closing(text, match.end())]
    if "main" not in functions:
        raise ValueError("a shader without main()")
    return _count(functions["main"], functions)


def preprocessed(shader: str) -> str:
    """Return the text without comments and directives, with the macros of the shader replaced."""
    macros: dict[str, str] = {}
    with_parameters: dict[str, tuple[list[str], str]] = {}
    lines: list[str] = []
    active = [True]
    for line in re.sub(r"//[^\n]*", "", shader).splitlines():
        words = line.split(None, 2)
        if not words or not words[0].startswith("#"):
            if all(active):
                called = _CALL.sub(lambda call: _called(call, with_parameters), line)
                lines.append(_NAME.sub(lambda name: _expanded(name[0], macros), called))
        elif words[0] in ("#ifdef", "#ifndef"):
            active.append((words[1] in macros) == (words[0] == "#ifdef"))
        elif words[0] == "#if":
            terms = [term.strip() for term in line.split(None, 1)[1].split("&&")]
            active.append(all(_is_true(term, macros, line) for term in terms))
        elif words[0] == "#else":
            active[-1] = not active[-1]
        elif words[0] == "#endif":
            active.pop()
        elif words[0] == "#define" and "(" not in words[1]:
            if all(active):
                macros[words[1]] = words[2] if len(words) > 2 else ""
        elif words[0] == "#undef":
            if all(active):
                macros.pop(words[1], None)
        elif words[0] == "#define" and "texture2D" not in line and (match := _MACRO.match(line)):
            if all(active):
                with_parameters[match[1]] = (re.findall(r"\w+", match[2]), match[3].strip())
        elif words[0] != "#version":
            raise ValueError(f"a directive that is not understood: {line}")
    return "\n".join(lines)


def _is_true(term: str, macros: dict[str, str], line: str) -> bool:
    """Return whether ``defined(NAME)`` or ``!defined(NAME)`` is true.

    Raises:
        ValueError: another term.
    """
    match = _DEFINED.fullmatch(term)
    if match is None:
        raise ValueError(f"a directive that is not understood: {line}")
    return (match[2] in macros) != bool(match[1])


def _called(call: re.Match[str], macros: dict[str, tuple[list[str], str]]) -> str:
    """Return the expansion of a macro with parameters; other calls, and calls with nested calls, stay unchanged."""
    if call[1] not in macros:
        return call[0]
    parameters, body = macros[call[1]]
    values = dict(zip(parameters, (argument.strip() for argument in call[2].split(","))))
    return _NAME.sub(lambda name: values.get(name[0], name[0]), body)


def _expanded(name: str, macros: dict[str, str]) -> str:
    if name not in macros:
        return name
    remaining = {key: value for key, value in macros.items() if key != name}
    return _NAME.sub(lambda match: _expanded(match[0], remaining), macros[name])


def _count(text: str, functions: dict[str, str]) -> int:
    total, at = 0, 0
    for loop in _FOR.finditer(text):
        if loop.start() < at:
            continue  # inside the last loop, and counted with it
        total += _calls(text[at : loop.start()], functions)
        end = _closing(text, loop.end())
        total += (int(loop[3]) - int(loop[2])) * _count(text[loop.end() : end], functions)
        at = end
    return total + _calls(text[at:], functions)


def _calls(text: str, functions: dict[str, str]) -> int:
    if re.search(r"\b(for|while|do)\b", text):
        raise ValueError("a loop that does not run from a number to a number")
    total = 0
    for name in re.findall(r"([A-Za-z_]\w*)\s*\(", text):
        total += 1 if name == "texture2D" else _count(functions[name], functions) if name in functions else 0
    return total


def _closing(text: str, start: int) -> int:
    """Return the index of the closing brace for the one opened just before ``start``."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at
    raise ValueError("a brace that is not closed")

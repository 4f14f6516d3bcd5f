"""Print the completion script of a shell.

Add ``source <(glsl-infer completion bash)`` to ~/.bashrc, the same with zsh to ~/.zshrc, or
``glsl-infer completion fish | source`` to ~/.config/fish/config.fish.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Attributes:
        name: with its dashes.
        choices: the possible values; empty if any value is possible.
        takes: whether it has a value.
        help: a short description.
    """

    name: str
    choices: tuple[str, ...]
    takes: bool
    help: str


EXAMPLES = (
    "source <(glsl-infer completion bash)",
    "source <(glsl-infer completion zsh)",
    "glsl-infer completion fish | source",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="The shell.")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from glsl_infer.cli import COMMANDS, parser_of

    commands = {name: options_of(parser_of((name,)).commands[name]) for name in COMMANDS}
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands), end="")
    return 0


def options_of(parser: argparse.ArgumentParser) -> list[Option]:
    """Return the options of a command."""
    options = []
    for action in parser._actions:
        words = (
            (action.help or "").partition(";")[0].partition(":")[0].partition(" (")[0].partition(". ")[0].rstrip(".")
        )
        choices = tuple(map(str, action.choices or ()))
        options += [Option(name, choices, action.nargs != 0, words) for name in action.option_strings]
    return options


def bash(commands: Mapping[str, list[Option]]) -> str:
    """Return the script for bash."""
    lines = [
        "_glsl_infer() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        '    local first=2 words=""',
        '    if [ "${COMP_WORDS[0]##*/}" = classify ]; then command=classify first=1; fi',
        '    if [ "$COMP_CWORD" -lt "$first" ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(commands)}" -- "$word")); return',
        "    fi",
        '    case "$command $before" in',
    ]
    for command, options in commands.items():
        chosen = [option for option in options if option.choices]
        lines += [f'    "{command} {option.name}") words="{" ".join(option.choices)}";;' for option in chosen]
        takes = "|".join(f'"{command} {option.name}"' for option in options if option.takes and not option.choices)
        lines += [f'    {takes}) COMPREPLY=($(compgen -f -- "$word")); return;;'] if takes else []
    lines += ["    esac", '    if [ -z "$words" ]; then case "$command" in']
    names = {command: " ".join(option.name for option in options) for command, options in commands.items()}
    lines += [f'    {command}) words="{words}";;' for command, words in names.items()]
    lines += [
        "    esac; fi",
        '    case "$word" in',
        '    -*) COMPREPLY=($(compgen -W "$words" -- "$word"));;',
        '    *) case "$words" in -*) COMPREPLY=($(compgen -f -- "$word"));;',
        '       *) COMPREPLY=($(compgen -W "$words" -- "$word"));; esac;;',
        "    esac",
        "}",
        "complete -o filenames -F _glsl_infer glsl-infer classify",
        "",
    ]
    return "\n".join(lines)


def zsh(commands: Mapping[str, list[Option]]) -> str:
    """Return the script for zsh, based on that for bash."""
    return f"autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n{bash(commands)}"


def fish(commands: Mapping[str, list[Option]]) -> str:
    """Return the script for fish."""
    lines = [f"complete -c glsl-infer -n __fish_use_subcommand -f -a '{' '.join(commands)}'"]
    for command, options in commands.items():
        for option in options:
            name = option.name.lstrip("-")
            words = [f"-l {name}" if option.name.startswith("--") else f"-s {name}"]
            words += [f"-x -a '{' '.join(option.choices)}'"] if option.choices else ["-r"] if option.takes else []
            words += ["-d '" + option.help.replace("\\", "").replace("'", "\\'") + "'"]
            arguments = " ".join(words)
            lines.append(f"complete -c glsl-infer -n '__fish_seen_subcommand_from {command}' {arguments}")
            lines += [f"complete -c classify {arguments}"] if command == "classify" else []
    return "\n".join([*lines, ""])

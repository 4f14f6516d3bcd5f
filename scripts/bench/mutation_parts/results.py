"""Results of scripts/bench/mutate.py as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STATES = ("killed", "survived", "unfinished")
MOST_KILLERS = 6
"""Number of a mutant's killers kept in results; if a single function kills it, all are kept."""

Results = Mapping[str, Any]


def function(test: str) -> str:
    """Return a test's function, without its parameters."""
    return test.partition("[")[0]


def test_folder(test: str) -> str:
    """Return the folder of a test below tests/."""
    return "/".join(test.split("/")[:2])


def sample_killers(killers: Mapping[str, str]) -> dict[str, str]:
    """Return the killers to keep in results: one of each function."""
    first = {function(test): test for test in reversed(killers)}
    if len(first) <= 1:
        return dict(killers)
    return {test: killers[test] for test in [*first.values()][::-1][:MOST_KILLERS]}


def table(results: Sequence[Results]) -> str:
    """Return runs in Markdown: their mutants by package and kind, and the parts of the suite."""
    counted = [mutants for run in results for mutants in [_counted(run)]]
    lines = ["| run | tests | CPU s | mutants | " + " | ".join(STATES) + " |", "|---" * 7 + "|"]
    for run, mutants in zip(results, counted):
        costs = run["parts"].values()
        cells = [run["label"], sum(cost["tests"] for cost in costs), round(sum(cost["seconds"] for cost in costs))]
        lines.append(_row(*cells, len(mutants), *_states(mutants)))
    head = [name for run in results for name in (f"{run['label']}: killed", "survived")]
    lines += ["", _row("mutants", *head), "|---" * (1 + len(head)) + "|"]
    for key in (_package, _change):
        for name in sorted({key(mutant) for mutants in counted for mutant in mutants}):
            states = [_states([mutant for mutant in mutants if key(mutant) == name])[:2] for mutants in counted]
            lines.append(_row(name, *[count for pair in states for count in pair]))
    lines += ["", "| run | part | tests | CPU s | kills | no other part kills |", "|---" * 6 + "|"]
    for run, mutants in zip(results, counted):
        killers = [{test_folder(test) for test in mutant["killers"]} for mutant in mutants if mutant["killers"]]
        for name, cost in run["parts"].items():
            some, only = sum(name in parts for parts in killers), sum(parts == {name} for parts in killers)
            lines.append(_row(run["label"], f"`{name}`", cost["tests"], round(cost["seconds"]), some, only))
    return "\n".join(lines)


def _counted(run: Results) -> list[dict[str, Any]]:
    return [mutant for mutant in run["mutants"] if mutant["state"] != "unusable"]


def _states(mutants: Sequence[Mapping[str, Any]]) -> list[int]:
    return [sum(mutant["state"] == state for mutant in mutants) for state in STATES]


def _package(mutant: Mapping[str, Any]) -> str:
    return f"`{'/'.join(mutant['module'].split('.')[:2])}`"


def _change(mutant: Mapping[str, Any]) -> str:
    return str(mutant["kind"])


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"

"""Results of scripts/bench/mutate.py as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

STATES = ("killed", "survived", "unfinished")
MOST_KILLERS = 6
"""Number of a mutant's killers kept in results; if a single function kills it, all are kept."""

Results = Mapping[str, Any]


def function(test: str) -> str:
    """Return a test's function, without its parameters."""
    return test.partition("[")[0]


def folder_of(test: str) -> str:
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
    return "\n".join([*_rows_of_runs(results), "", *_rows_of_mutants(results), "", *_rows_of_parts(results)])


def _rows_of_runs(results: Sequence[Results]) -> Iterator[str]:
    yield "| run | tests | CPU s | mutants | " + " | ".join(STATES) + " |"
    yield "|---" * 7 + "|"
    for run in results:
        costs, mutants = run["parts"].values(), _counted(run)
        tests, seconds = sum(cost["tests"] for cost in costs), round(sum(cost["seconds"] for cost in costs))
        yield _row(run["label"], tests, seconds, len(mutants), *_states(mutants))


def _rows_of_mutants(results: Sequence[Results]) -> Iterator[str]:
    runs = [_counted(run) for run in results]
    head = [name for run in results for name in (f"{run['label']}: killed", "survived")]
    yield _row("mutants", *head)
    yield "|---" * (1 + len(head)) + "|"
    for key in (_package, _change):
        for name in sorted({key(mutant) for mutants in runs for mutant in mutants}):
            states = [_states([mutant for mutant in mutants if key(mutant) == name])[:2] for mutants in runs]
            yield _row(name, *[count for pair in states for count in pair])


def _rows_of_parts(results: Sequence[Results]) -> Iterator[str]:
    yield "| run | part | tests | CPU s | kills | no other part kills |"
    yield "|---" * 6 + "|"
    for run in results:
        killers = [{folder_of(test) for test in mutant["killers"]} for mutant in _counted(run) if mutant["killers"]]
        for name, cost in run["parts"].items():
            kills, alone = sum(name in parts for parts in killers), sum(parts == {name} for parts in killers)
            yield _row(run["label"], f"`{name}`", cost["tests"], round(cost["seconds"]), kills, alone)


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

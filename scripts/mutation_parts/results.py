"""Results of scripts/mutate.py as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

STATES = ("killed", "survived", "unfinished")


def function(test: str) -> str:
    """Return a test's function, without its parameters."""
    return test.partition("[")[0]


def part(test: str) -> str:
    """Return the folder of a test below tests/."""
    return "/".join(test.split("/")[:2])


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return results in Markdown: the mutants by room and kind, and the parts of the suite.

    Args:
        results: the files of one run's shards.
    """
    mutants = [one for result in results for one in result["mutants"] if one["state"] != "unusable"]
    unusable = sum(len(result["mutants"]) for result in results) - len(mutants)
    lines = [f"{len(mutants)} mutants of {results[0]['candidates']}; {unusable} more cannot be imported.", ""]
    lines += ["| mutants | " + " | ".join(STATES) + " |", "|---" * (len(STATES) + 1) + "|"]
    for label, key in (("room", lambda one: one["module"].split(".")[1]), ("kind", lambda one: one["kind"])):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for one in mutants:
            counts[key(one)][one["state"]] += 1
        lines += [
            f"| {label}: {name} | " + " | ".join(str(found[state]) for state in STATES) + " |"
            for name, found in sorted(counts.items())
        ]
    lines += ["", "| part | tests | CPU s | tests left out | kills | kills alone |", "|---|---|---|---|---|---|"]
    for name, cost in results[0]["parts"].items():
        killed = [{part(test) for test in one["killers"]} for one in mutants if one["killers"]]
        some, alone = sum(name in parts for parts in killed), sum(parts == {name} for parts in killed)
        lines.append(f"| {name} | {cost['tests']} | {cost['seconds']:.0f} | {cost['left out']} | {some} | {alone} |")
    return "\n".join(lines)


def alone(mutants: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the mutants that a single function kills, by that function; only of mutants that got all their tests."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in mutants:
        functions = {function(test) for test in one["killers"]}
        if len(functions) == 1 and one["complete"]:
            found[functions.pop()].append(one["key"])
    return found


def cover(mutants: Sequence[dict[str, Any]], seconds: dict[str, float]) -> list[tuple[str, float, int]]:
    """Return functions that together kill every killed mutant, chosen by kills a second: (function, seconds, kills)."""
    cost: Counter[str] = Counter()
    for test, spent in seconds.items():
        cost[function(test)] += spent
    left = {one["key"]: {function(test) for test in one["killers"]} for one in mutants if one["killers"]}
    chosen = []
    while left:
        kills = Counter(name for functions in left.values() for name in functions)
        best = max(kills, key=lambda name: (kills[name] / (cost[name] + 0.05), name))
        chosen.append((best, cost[best], kills[best]))
        left = {key: functions for key, functions in left.items() if best not in functions}
    return chosen

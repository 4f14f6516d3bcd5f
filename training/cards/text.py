"""Markdown text of a model card, from its hand-written parts and the collected data of runs and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.cards.sources import CardFiles, CardText, Evaluation, best_engine, main_evaluation
from training.logits import NAMES

WORST, CONFUSIONS = 5, 10
"""Number of listed classes with the lowest accuracy, and of listed kinds of mistakes."""

KINDS = {
    "val_accuracy": "the weights without averaging",
    "val_accuracy_average": "the moving average of the weights",
    "val_accuracy_best": "the average of the best checkpoints",
}
"""Validation accuracies in a history, with the weights measured."""


def card(files: CardFiles, text: CardText, collected: dict[str, Any]) -> str:
    """Return the card of a model, with the sha256 of its current files."""
    evaluations, runs = collected["evaluations"], collected["runs"]
    main = main_evaluation(evaluations)
    parts = [
        f"# {files.name}: {text.title}",
        text.description,
        _table([("network", text.network), ("classes", str(len(main["labels"]))), ("trained on", text.machine)]),
        "## What it reaches",
        "\n".join(_results(evaluations)),
        "\n".join(_agreement(evaluations)),
        "\n".join(_measured_on(evaluations)),
        f"### Mistakes on the {main['split']} split",
        "\n".join(_mistakes(main)),
        f"![confusion matrix, {NAMES[best_engine(main)]}, {main['split']} split]({files.name}/confusion.png)",
        "## Intended use",
        text.intended_use,
        "**Limits**",
        "\n".join(f"- {limit}" for limit in text.limits),
        "## Data and licence",
        text.data,
        text.licence,
        "## Training",
        "\n\n".join(_run(run, index, len(runs)) for index, run in enumerate(runs)),
        f"![loss and accuracy over the epochs]({files.name}/curves.png)",
        *([text.notes] if text.notes else []),
        "## How to make and to check it again",
        "\n".join(f"    {line}" for line in _commands(files, text, evaluations)),
        "## Files",
        _table([(Path(path).name, f"`{digest}`") for path, digest in _files(files)], ("file", "sha256")),
        f"<!-- Written by training/model_card.py from cards/{files.text.name} and cards/{files.collected.name}. -->",
    ]
    return "\n\n".join(parts) + "\n"


def most_confused(evaluation: Evaluation, engine: str) -> list[tuple[int, str, str]]:
    """Return (images, true label, first label) of all kinds of mistakes, by falling count, then by label."""
    confusion = evaluation["results"][engine]["confusion"]
    mistakes = [(n, label, first) for label, row in confusion.items() for first, n in row.items() if first != label]
    return sorted(mistakes, key=lambda mistake: (-mistake[0], mistake[1], mistake[2]))


def _results(evaluations: dict[str, Evaluation]) -> Iterator[str]:
    yield "| split | images | computed by | top-1 | top-5 | coarse top-1 | right |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for split, evaluation in evaluations.items():
        for engine, result in evaluation["results"].items():
            shares = " | ".join(_percent(result[key]) for key in ("top1", "top5", "coarse_top1"))
            yield f"| {split} | {evaluation['pictures']:,} | {NAMES[engine]} | {shares} | {result['right']:,} |"


def _agreement(evaluations: dict[str, Evaluation]) -> Iterator[str]:
    rows = [(split, *pair) for split, evaluation in evaluations.items() for pair in evaluation["comparisons"].items()]
    if not rows:
        return
    yield "| split | compared | same first label | lost | gained | net loss | logits' mean / largest difference |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for split, pair, agreement in rows:
        names = " with ".join(NAMES[name] for name in pair.split(" to "))
        yield (
            f"| {split} | {names} | {_percent(agreement['agreement'])} | {agreement['lost']} | {agreement['gained']} "
            f"| {agreement['net_loss_points']:.2f} points, {agreement['net_loss_pictures']} images "
            f"| {agreement['mean_logit_error']:.3f} / {agreement['largest_logit_error']:.2f} |"
        )


def _measured_on(evaluations: dict[str, Evaluation]) -> Iterator[str]:
    machines: dict[str, list[str]] = {}
    for split, evaluation in evaluations.items():
        words = "; ".join(f"{NAMES[engine]}: {words}" for engine, words in evaluation["machine"].items())
        machines.setdefault(words, []).append(split)
    for words, splits in machines.items():
        yield f"Measured on {' and '.join(splits)} with {words}."
    for split, evaluation in evaluations.items():
        if evaluation["skipped"]:
            yield f"{len(evaluation['skipped'])} images of {split} could not be read and were left out."
    coarse = main_evaluation(evaluations)["coarse_labels"]
    if coarse:
        yield f"*Coarse*: the first label lies in the right one of the data set's {len(set(coarse))} coarse classes."


def _mistakes(evaluation: Evaluation) -> Iterator[str]:
    engine = best_engine(evaluation)
    rows = sorted(
        evaluation["results"][engine]["per_class"].items(),
        key=lambda item: (item[1]["right"] / item[1]["pictures"], -item[1]["pictures"], item[0]),
    )
    yield f"The {min(WORST, len(rows))} classes that the {NAMES[engine]} recognises least:"
    yield ""
    yield "| class | top-1 | right |"
    yield "| --- | --- | --- |"
    for label, row in rows[:WORST]:
        yield f"| {label} | {_percent(row['right'] / row['pictures'])} | {row['right']} of {row['pictures']} |"
    absent = [label for label in evaluation["labels"] if label not in evaluation["results"][engine]["per_class"]]
    if absent:
        yield ""
        yield f"Not in this split: {', '.join(absent)}."
    mistakes = most_confused(evaluation, engine)[:CONFUSIONS]
    if mistakes:
        yield ""
        yield "Its most frequent mistakes:"
        yield ""
        yield "| class of the image | first label | images |"
        yield "| --- | --- | --- |"
        yield from (f"| {label} | {first} | {count} |" for count, label, first in mistakes)


def _run(run: dict[str, Any], index: int, of: int) -> str:
    """Return the paragraphs of a run: its epochs and time, arguments and recipe."""
    history = run["history"]
    seconds = sum(row.get("seconds", 0) + row.get("seconds_val", 0) for row in history)
    lines = [f"**Run {index + 1} of {of}, `{run['name']}`.** " if of > 1 else f"**Run `{run['name']}`.** "]
    lines[0] += f"{history[-1]['epoch']} epochs in {_duration(seconds)}."
    accuracies = [
        (row[key], row["epoch"], weights) for row in history for key, weights in KINDS.items() if row.get(key)
    ]
    if accuracies:
        best, epoch, weights = max(accuracies, key=lambda accuracy: accuracy[0])
        lines[0] += f" Best while training: {_percent(best)} on val, epoch {epoch}, {weights}."
    if run["arguments"]:
        arguments = ", ".join(f"{key} {_plain(value)}" for key, value in run["arguments"].items())
        lines.append(f"Arguments: {arguments}.")
    if run["recipe"]:
        lines.append(f"Recipe:\n\n```yaml\n{run['recipe'].strip()}\n```")
    return "\n\n".join(lines)


def _commands(files: CardFiles, text: CardText, evaluations: dict[str, Evaluation]) -> Iterator[str]:
    models = files.models.name
    keras, bundle = (f"{models}/{path.name}" for path in (files.keras, files.bundle))
    data = next(iter(evaluations.values()))["data"]
    yield from text.train
    yield text.export or f"glsl-infer export {keras} -o {bundle} --labels {Path(data).parent / 'labels.txt'}"
    for evaluation in evaluations.values():
        options = {"exact": " --reference", "gpu": " --gpu"}
        options_text = "".join(options.get(engine, "") for engine in evaluation["results"])
        yield f"python training/evaluate.py {keras} --bundle {bundle} --data {evaluation['data']}{options_text}"
    yield f"python training/model_card.py {files.name} --check"


def _files(files: CardFiles) -> list[tuple[Path, str]]:
    digests = files.sha256()
    return [(files.bundle, digests["bundle"]), (files.keras, digests["model"])]


def _table(rows: Sequence[tuple[str, str]], head: tuple[str, str] = ("", "")) -> str:
    return "\n".join(f"| {name} | {value} |" for name, value in (head, ("---", "---"), *rows))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _plain(value: Any) -> str:
    return "`" + str(value) + "`"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"

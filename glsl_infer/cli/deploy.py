"""Make a folder for a Raspberry Pi from one YAML file: models, service, install script."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, execution, progress
from glsl_infer.cli.terminal_text import print_result
from glsl_infer.errors import InputError

if TYPE_CHECKING:
    from glsl_infer.tools.deploy.description import Deployment

_MOST_SECONDS = 86_400


EXAMPLES = (
    "glsl-infer deploy doorbell.yml --check",
    "glsl-infer deploy doorbell.yml",
    "glsl-infer deploy doorbell.yml -o folder",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("deployment", type=Path, metavar="DEPLOYMENT.yml", help="The description of the deployment.")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="The folder to write. An older deployment in it is replaced (default: the file's name without suffix).",
    )
    parser.add_argument(
        "--check", action="store_true", help="Only check the file itself, without reading or writing others."
    )
    advanced = arguments.group(parser, arguments.ADVANCED)
    advanced.add_argument(
        "--timeout",
        type=arguments.number(
            float, f"more than 0 and at most {_MOST_SECONDS} seconds", lambda seconds: 0 < seconds <= _MOST_SECONDS
        ),
        default=900,
        metavar="SECONDS",
        help="The longest time of a download (default: 900).",
    )
    execution.add_signature(parser)
    advanced.add_argument(
        "--allow-root", action="store_true", help="Let the service run as root if the file names this user."
    )
    advanced.add_argument(
        "--allow-outside",
        action="store_true",
        help="Let the file use files outside its own folder. Read the file first.",
    )
    arguments.add_json(parser, "Print a summary as JSON.")


def run(args: argparse.Namespace) -> int:
    """Check the file, fetch and export its models, and write the folder."""
    from glsl_infer.tools.deploy import description, folder

    deployment = description.read(args.deployment)
    if deployment.service.user == "root" and not args.allow_root:
        raise InputError(
            f"{args.deployment}: service.user is root, which gives the service all rights; name a user in the groups "
            "video and render, or give --allow-root"
        )
    task = deployment.service.task
    if args.check:
        names = [model.name for model in deployment.models]
        contents = ", ".join([*names, *([f"task {task}"] if task else [])])
        data = {"models": names, "task": task}
        print_result(args, data, [f"{args.deployment}: no problems found ({contents})"])
        return 0
    out = args.deployment.with_suffix("") if args.out is None else args.out
    with progress.status("deploy") as report:
        result = folder.make(
            deployment,
            args.deployment.parent,
            out,
            report,
            seconds=args.timeout,
            key=args.require_signature,
            outside=args.allow_outside,
        )
    lines = [f"{out}:", *map(_model_line, result["models"]), *([f"  task {task}"] if task else [])]
    if deployment.target == "raspberry-pi":
        lines += _board_lines(deployment, args.deployment, out)
    print_result(args, {"folder": str(out), **result}, lines)
    return 0


def _model_line(model: dict[str, Any]) -> str:
    return (
        f"  {model['file']}: {model['bytes'] / 1e6:.2f} MB, {model['input_size']}x{model['input_size']}, "
        f"{model['labels']} labels, {model['passes']:,} passes"
    )


def _board_lines(deployment: Deployment, file: Path, out: Path) -> list[str]:
    """Return the programs of a deployment for a Raspberry Pi, and the commands that install it.

    Args:
        deployment: the deployment.
        file: the file that describes it.
        out: the written folder.
    """
    from glsl_infer.tools.deploy import raspberry_pi

    board = "USER@raspberrypi.local"
    return [
        *(f"  {raspberry_pi.PROGRAMS}/{path.name}" for path in raspberry_pi.programs(deployment, file.parent)),
        *(
            f"  {program}: not copied, because it is not in the folder of {file.name}; the board must have it"
            for program in raspberry_pi.programs_of_board(deployment, file.parent)
        ),
        "",
        "copy it to the board and install it:",
        f"  scp -r {out} {board}:",
        f"  ssh -t {board} sudo ./{out.name}/install.sh",
    ]

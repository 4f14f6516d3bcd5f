"""Make a folder to copy to a Raspberry Pi of one YAML file: models, service, install script."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from glsl_infer.cli import execution, progress
from glsl_infer.errors import InputError

_MOST_SECONDS = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "deployment", type=Path, metavar="DEPLOYMENT.yml", help="what to deploy; see docs/guide/raspberry-pi.md"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder to make, in place of an older deployment (default: the file's name without suffix)",
    )
    parser.add_argument(
        "--timeout", type=float, default=900, metavar="SECONDS", help="most that a download may take (default: 900)"
    )
    execution.add_signature(parser)
    parser.add_argument("--allow-root", action="store_true", help="let the service run as root, if the file says so")
    parser.add_argument(
        "--allow-outside", action="store_true", help="let the file name files outside its own folder; read it first"
    )
    parser.add_argument("--check", action="store_true", help="only check the file itself; nothing is read or written")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Check the file, fetch and export its models, and write the folder."""
    from glsl_infer.tools.deploy import description, folder

    if not 0 < args.timeout <= _MOST_SECONDS:
        raise InputError(f"--timeout {args.timeout:g}; more than 0 and at most {_MOST_SECONDS} seconds are possible")
    deployment = description.read(args.deployment)
    if deployment.service.user == "root" and not args.allow_root:
        raise InputError(
            f"{args.deployment}: service.user is root, who may do anything; name a user who is in the groups video and "
            "render, or give --allow-root"
        )
    task = deployment.service.task
    names = [*(model.name for model in deployment.models), *([f"task {task}"] if task else [])]
    if args.check:
        print(json.dumps({"models": names}) if args.json else f"{args.deployment}: right ({', '.join(names)})")
        return 0
    out = args.deployment.with_suffix("") if args.out is None else args.out
    with progress.status("deploy") as say:
        made = folder.make(
            deployment,
            args.deployment.parent,
            out,
            say,
            seconds=args.timeout,
            key=args.require_signature,
            outside=args.allow_outside,
        )
    if args.json:
        print(json.dumps({"folder": str(out), **made}, indent=1))
        return 0
    print(f"{out}:")
    for model in made["models"]:
        print(
            f"  {model['file']}: {model['bytes'] / 1e6:.2f} MB, {model['input_size']}x{model['input_size']}, "
            f"{model['labels']} labels, {model['passes']:,} passes"
        )
    if task:
        print(f"  task {task}")
    if deployment.target == "raspberry-pi":
        print(f"\ncopy it and install it:\n  scp -r {out} PI:\n  ssh PI sudo ./{out.name}/install.sh")
    return 0

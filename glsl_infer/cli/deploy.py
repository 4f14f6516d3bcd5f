"""Make a folder to copy to a Raspberry Pi of one YAML file: models, service, install script."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from glsl_infer.cli import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("deployment", type=Path, metavar="DEPLOYMENT.yml", help="what to deploy; see docs/tools.md")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="the folder to make, in place of an older deployment (default: the file's name without suffix)",
    )
    parser.add_argument("--check", action="store_true", help="only check the file itself; nothing is read or written")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Check the file, fetch and export its models, and write the folder."""
    from glsl_infer.tools.deploy import description, folder
    from glsl_infer.tools.deploy.raspberry_pi import MAKE_WHEEL

    deployment = description.read(args.deployment)
    names = [model.name for model in deployment.models]
    if args.check:
        print(json.dumps({"models": names}) if args.json else f"{args.deployment}: right ({', '.join(names)})")
        return 0
    out = args.deployment.with_suffix("") if args.out is None else args.out
    with progress.status("deploy") as say:
        made = folder.make(deployment, args.deployment.parent, out, say)
    if args.json:
        print(json.dumps({"folder": str(out), **made}, indent=1))
        return 0
    print(f"{out}:")
    for model in made["models"]:
        print(
            f"  {model['file']}: {model['bytes'] / 1e6:.2f} MB, {model['input_size']}x{model['input_size']}, "
            f"{model['labels']} labels, {model['passes']:,} passes"
        )
    if deployment.target == "raspberry-pi":
        if not made["wheel"]:
            print(f"note: no wheel can be made of a glsl-infer that is not installed; make one, {MAKE_WHEEL}")
        print(f"\ncopy it and install it:\n  scp -r {out} PI:\n  ssh PI sudo ./{out.name}/install.sh")
    return 0

"""Text files for a Raspberry Pi: a systemd unit and a script that installs everything."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.tools.deploy import tasks
from glsl_infer.tools.deploy.description import Deployment

UNIT = "glsl-infer.service"
INSTALL = "install.sh"
SUMS = "SHA256SUMS"
PROGRAMS = "programs"
STATE = "/var/lib/glsl-infer"
"""Folder writable by the service."""

INSTALLER = "@USER@"
"""Placeholder in the unit for the user who runs install.sh."""

SECRETS = "/etc/glsl-infer.env"
"""File with secrets, which exists only on the board: the password of a broker."""


_UNIT_TEXT = """[Unit]
Description=glsl-infer: <served> on <source>
After=multi-user.target

[Service]
ExecStart=<command>
User=<user>
SupplementaryGroups=<groups>
CacheDirectory=glsl-infer
StateDirectory=glsl-infer
WorkingDirectory=<state>
Environment=<variables>
<secrets># A camera that was unplugged ends it with 1, a model that cannot be used with 2, which no start would change.
Restart=on-failure
RestartPreventExitStatus=2
RestartSec=5
KillSignal=SIGTERM
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
"""
"""Unit of systemd, with placeholders such as ``<user>``."""

_INSTALL_TEXT = """#!/bin/sh
# Installs the models of this folder and a service on a Raspberry Pi (Raspberry Pi OS Bookworm or Trixie).
#   sudo ./install.sh               everything
#   ./install.sh --files-only DIR   only check the files and copy the models to DIR/models
set -eu
umask 022  # the service's user reads what root puts there
cd "$(dirname "$0")"

fail() { echo "error: $1" >&2; exit "$2"; }
sha256sum --check --strict --quiet <sums> >&2 || fail "a file is missing or damaged; copy the folder again" 1

prefix=/opt/glsl-infer
if [ "${1:-}" = --files-only ]; then
    [ $# -eq 2 ] || fail "--files-only needs a folder" 2
    prefix=$2
else
    [ "$(id -u)" -eq 0 ] || fail "run it with sudo" 2
    user=<user>
    [ "$user" != root ] || <root>
    id "$user" >/dev/null || fail "no user $user on this board; leave 'user:' out of the deployment file to use yours" 2
fi
mkdir -p "$prefix/models"
for file in models/*.glslnn tasks/* programs/*; do
    [ -e "$file" ] || continue
    mkdir -p "$prefix/$(dirname "$file")"
    cp "$file" "$prefix/$file.new"
    case $file in programs/*) chmod 755 "$prefix/$file.new" ;; esac
    mv "$prefix/$file.new" "$prefix/$file"  # a service that is running goes on with the old file
done
[ "${1:-}" != --files-only ] || exit 0

# What Debian has compiled need not be compiled here, and what is there already needs no network.
packages="python3-venv python3-numpy python3-pil python3-opengl libegl1 libgles2 libgl1-mesa-dri <camera>"
for package in $packages; do
    case $(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *)
            apt-get update --quiet  # a new board has no lists of packages yet
            apt-get install --yes --no-install-recommends $packages
            break
            ;;
    esac
done
[ -x "$prefix/venv/bin/python" ] || python3 -I -m venv --system-site-packages "$prefix/venv"
"$prefix/venv/bin/pip" install --quiet --no-index --no-deps --force-reinstall ./<wheel>
for model in "$prefix"/models/*.glslnn "$prefix"/tasks/*.glslnn; do
    [ -e "$model" ] || continue
    "$prefix/venv/bin/glsl-infer" selfcheck "$model" >/dev/null
done
sed "s/^User=<installer>$/User=$user/" <unit> >/etc/systemd/system/<unit>
systemctl daemon-reload
systemctl enable <unit>
systemctl restart <unit>
echo "the service is running; to see its output: journalctl --unit <unit> --follow"
"""
"""Script for a POSIX shell, with placeholders such as ``<user>``."""


def _filled(text: str, **values: str) -> str:
    """Return a text with values in place of its placeholders. Placeholders inside a value stay."""
    return re.sub(r"<([a-z]+)>", lambda placeholder: values[placeholder[1]], text)


def unit(deployment: Deployment, prefix: str = "/opt/glsl-infer", *, base: Path = Path()) -> str:
    """Return the unit: the camera through one of the models or a task, JSON lines in the journal.

    Args:
        deployment: the deployment.
        prefix: folder of the installation.
        base: the folder of the deployment file and its programs.
    """
    service = deployment.service
    command = " ".join(map(_quoted, _camera_command(deployment, prefix, base)))
    groups = "video render gpio" if service.gpio else "video render"
    variables = f"GLSL_INFER_CACHE=/var/cache/glsl-infer GLSL_INFER_MODELS={prefix}/models PYTHONUNBUFFERED=1"
    secrets = f"EnvironmentFile=-{SECRETS}\n" if service.mqtt else ""
    return _filled(
        _UNIT_TEXT,
        served=deployment.served,
        source=service.source,
        command=command,
        user=service.user or INSTALLER,
        groups=groups,
        state=STATE,
        variables=variables,
        secrets=secrets,
    )


def _camera_command(deployment: Deployment, prefix: str, base: Path) -> list[str]:
    """Return the words of the command that the service runs; arguments as for ``unit``."""
    service = deployment.service
    words = [f"{prefix}/venv/bin/glsl-infer", "camera", "--source", service.source, "--every", str(service.every)]
    if service.task:
        words += ["--task", tasks.on_board(service.task, prefix)]
    else:
        words += ["--model", f"{prefix}/models/{deployment.served}.glslnn", "--top", str(service.top)]
        words += ["--threshold", f"{service.threshold:g}"] if service.threshold else []
    for reaction in service.on:
        words += ["--on", reaction.label, _on_board(reaction.command, base, prefix)]
    words += ["--on-appear", _on_board(service.on_appear, base, prefix)] if service.on_appear else []
    words += ["--snapshot", f"{STATE}/snapshots"] if service.snapshots else []
    words += ["--mqtt", service.mqtt] if service.mqtt else []
    words += ["--gpio", service.gpio] if service.gpio else []
    return [*words, "--headless", "--json"]


def commands(deployment: Deployment) -> list[list[str]]:
    """Return the words of each command that the service starts."""
    service = deployment.service
    texts = (service.on_appear, *(reaction.command for reaction in service.on))
    return [words for words in map(shlex.split, texts) if words]


def programs(deployment: Deployment, base: Path) -> list[Path]:
    """Return the distinct programs of commands in the deployment file's folder.

    Raises:
        InputError: two of them have the same name.
    """
    programs: dict[str, Path] = {}
    for words in commands(deployment):
        path = program_of(words, base)
        if path is not None and programs.setdefault(path.name, path).resolve() != path.resolve():
            raise InputError(f"{path}: another program is called {path.name} as well; rename one")
    return list(programs.values())


def _on_board(command: str, base: Path, prefix: str) -> str:
    """Return a command with the path of its program on the board."""
    words = shlex.split(command)
    path = program_of(words, base)
    return shlex.join(words if path is None else [f"{prefix}/{PROGRAMS}/{path.name}", *words[1:]])


def program_of(words: list[str], base: Path) -> Path | None:
    """Return the path of a command's program if it is in the deployment file's folder, else None."""
    path = base / words[0] if words and not Path(words[0]).is_absolute() else None
    return path if path is not None and path.is_file() else None


def programs_of_board(deployment: Deployment, base: Path) -> list[str]:
    """Return the distinct programs of commands that are not copied, so that the board must have them."""
    missing = [words[0] for words in commands(deployment) if program_of(words, base) is None]
    return list(dict.fromkeys(missing))


def _quoted(word: str) -> str:
    """Return a word quoted for ``ExecStart`` (systemd.service(5))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if re.search(r"[^\w@%+=:,./-]", word) else escaped


def install(deployment: Deployment, wheel: str) -> str:
    """Return the script, for a POSIX shell.

    It installs packages from Debian and the wheel of the folder, and uses no index of Python packages: a package of the
    same name there could come from anyone.

    Args:
        deployment: the deployment.
        wheel: file name of this glsl-infer's wheel, whose hash is among the checksums.
    """
    service = deployment.service
    camera = "python3-picamera2" if service.source == "picamera2" else "python3-av"
    camera += " python3-paho-mqtt" if service.mqtt else ""
    camera += " python3-gpiozero python3-lgpio" if service.gpio else ""
    advice = "log in as the user of the service and use sudo, or set 'user:' in the deployment file"
    root = "true" if service.user == "root" else f'fail "the service would run as root; {advice}" 2'
    return _filled(
        _INSTALL_TEXT,
        sums=SUMS,
        user=service.user or "${SUDO_USER:-root}",
        root=root,
        camera=camera,
        wheel=wheel,
        installer=INSTALLER,
        unit=UNIT,
    )

"""The texts that a Raspberry Pi gets beside its models: a systemd unit and a script that installs everything."""

from __future__ import annotations

from glsl_infer.tools.deploy.description import Deployment

UNIT = "glsl-infer.service"
INSTALL = "install.sh"
SUMS = "SHA256SUMS"


def unit(deployment: Deployment, prefix: str = "/opt/glsl-infer") -> str:
    """Return the unit: the camera through one of the models, JSON lines in the journal."""
    service = deployment.service
    command = (
        f"{prefix}/venv/bin/glsl-infer camera --source {service.source} "
        f"--model {prefix}/models/{deployment.served}.glslnn "
        f"--every {service.every} --top {service.top} --headless --json"
    )
    return f"""[Unit]
Description=glsl-infer: {deployment.served} on {service.source}
After=multi-user.target

[Service]
ExecStart={command}
User={service.user}
SupplementaryGroups=video render
CacheDirectory=glsl-infer
Environment=GLSL_INFER_CACHE=/var/cache/glsl-infer PYTHONUNBUFFERED=1
# A camera that was unplugged ends it with 1, a model that cannot be used with 2, which no new start would change.
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


def install(deployment: Deployment, wheel: str) -> str:
    """Return the script, for a POSIX shell.

    It asks no index of Python packages for anything, ours least of all: by its name anybody might have put one there.

    Args:
        deployment: what is installed.
        wheel: name of the file of this glsl-infer, whose hash is among the sums.
    """
    camera = "python3-picamera2" if deployment.service.source == "picamera2" else "python3-av"
    return f"""#!/bin/sh
# Installs the models of this folder and a service on a Raspberry Pi (Raspberry Pi OS Bookworm or later).
#   sudo ./install.sh               everything
#   ./install.sh --files-only DIR   only check the files and copy the models to DIR/models
set -eu
umask 022  # the service's user reads what root puts there
cd "$(dirname "$0")"

fail() {{ echo "error: $1" >&2; exit "$2"; }}
sha256sum --check --strict --quiet {SUMS} >&2 || fail "a file is missing or damaged; copy the folder again" 1

prefix=/opt/glsl-infer
if [ "${{1:-}}" = --files-only ]; then
    [ $# -eq 2 ] || fail "--files-only needs a folder" 2
    prefix=$2
fi
mkdir -p "$prefix/models"
for model in models/*.glslnn; do
    cp "$model" "$prefix/$model.new"
    mv "$prefix/$model.new" "$prefix/$model"  # a service that is running goes on with the old file
done
[ "${{1:-}}" != --files-only ] || exit 0

[ "$(id -u)" -eq 0 ] || fail "run it with sudo" 2
id {deployment.service.user} >/dev/null || fail "no user {deployment.service.user}" 2
# What Debian has compiled need not be compiled here, and what is there already needs no network.
packages="python3-venv python3-numpy python3-pil python3-opengl libegl1 libgles2 libgl1-mesa-dri {camera}"
for package in $packages; do
    case $(dpkg-query --show --showformat='${{Status}}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) apt-get install --yes --no-install-recommends $packages; break ;;
    esac
done
[ -x "$prefix/venv/bin/python" ] || python3 -I -m venv --system-site-packages "$prefix/venv"
"$prefix/venv/bin/pip" install --quiet --no-index --no-deps --force-reinstall ./{wheel}
for model in "$prefix"/models/*.glslnn; do
    "$prefix/venv/bin/glsl-infer" selfcheck "$model" >/dev/null
done
cp {UNIT} /etc/systemd/system/{UNIT}
systemctl daemon-reload
systemctl enable {UNIT}
systemctl restart {UNIT}
echo "running; its lines: journalctl --unit {UNIT} --follow"
"""

"""The texts that a Raspberry Pi gets beside its models: a systemd unit and a script that installs everything."""

from __future__ import annotations

from glsl_infer.tools.deploy.description import Deployment

UNIT = "glsl-infer.service"
INSTALL = "install.sh"
SUMS = "SHA256SUMS"
MAKE_WHEEL = "in a checkout of glsl-infer: pip wheel --no-deps --wheel-dir FOLDER ."
"""How a person gets a wheel into a folder; nothing of ours is installed by name, which anybody may own on an index."""


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


def install(deployment: Deployment) -> str:
    """Return the script, for a POSIX shell."""
    camera = " python3-picamera2" if deployment.service.source == "picamera2" else ""
    extra = "" if deployment.service.source == "picamera2" else "[camera]"
    return f"""#!/bin/sh
# Installs the models of this folder and a service on a Raspberry Pi (Raspberry Pi OS Bookworm or later).
#   sudo ./install.sh               everything
#   ./install.sh --files-only DIR   only check the files and copy the models to DIR/models
set -eu
umask 022  # the service's user reads what root puts there
cd "$(dirname "$0")"

sha256sum --check --strict --quiet {SUMS} || {{ echo "error: a file is damaged; copy the folder again" >&2; exit 1; }}

prefix=/opt/glsl-infer
if [ "${{1:-}}" = --files-only ]; then
    [ $# -eq 2 ] || {{ echo "error: --files-only needs a folder" >&2; exit 2; }}
    prefix=$2
else
    wheel=
    for file in ./glsl_infer-*.whl; do [ ! -e "$file" ] || wheel=$file; done
    [ -n "$wheel" ] || {{ echo "error: no wheel of glsl-infer in $PWD; make one there, {MAKE_WHEEL}" >&2; exit 2; }}
fi
mkdir -p "$prefix/models"
for model in models/*.glslnn; do
    cp "$model" "$prefix/$model.new"
    mv "$prefix/$model.new" "$prefix/$model"  # a service that is running goes on with the old file
done
[ "${{1:-}}" != --files-only ] || exit 0

[ "$(id -u)" -eq 0 ] || {{ echo "error: run it with sudo" >&2; exit 2; }}
id {deployment.service.user} >/dev/null || {{ echo "error: no user {deployment.service.user}" >&2; exit 2; }}
# What Debian has compiled need not be compiled here.
apt-get install --yes --no-install-recommends python3-venv python3-numpy python3-pil python3-opengl \\
    libegl1 libgles2 libgl1-mesa-dri{camera}
[ -x "$prefix/venv/bin/python" ] || python3 -I -m venv --system-site-packages "$prefix/venv"
"$prefix/venv/bin/pip" install --quiet --no-deps --force-reinstall "$wheel"  # also over the same version
"$prefix/venv/bin/pip" install --quiet "$wheel{extra}"                       # and what it needs
for model in "$prefix"/models/*.glslnn; do
    "$prefix/venv/bin/glsl-infer" selfcheck "$model" >/dev/null
done
cp {UNIT} /etc/systemd/system/{UNIT}
systemctl daemon-reload
systemctl enable {UNIT}
systemctl restart {UNIT}
echo "running; its lines: journalctl --unit {UNIT} --follow"
"""

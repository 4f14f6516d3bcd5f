"""A Raspberry Pi without the board: the commands of raspberry-pi.md and of install.sh, run by a user with sudo."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from system_root import Root, StepError

HERE = Path(__file__).resolve().parent
PAGE = "docs/guide/raspberry-pi.md"
USER = "alice"
HOME = f"/home/{USER}"
CHECKOUT = f"{HOME}/glsl-infer"
KEPT = (".venv",)
MODEL = "models/trashnet-x22-129.glslnn"
PICTURE = "docs/images/example.jpg"
SCENE = "/usr/lib/python3/dist-packages/picamera2.png"
"""The picture of the placeholder camera."""

CAMERA = """\
Package: python3-picamera2
Version: 0.0
Architecture: all
Maintainer: root <root@localhost>
Description: stand-in for the camera library of Raspberry Pi OS
"""
"""Debian lacks this package; Raspberry Pi OS has it. All other packages are Debian's."""

DEPLOYMENT = f"""\
models:
  - name: trash
    source: glsl-infer/{MODEL}
service:
  source: picamera2
  top: 1
"""


def key(project: Path) -> bytes:
    """Return the packages and placeholders of a prepared board, as bytes to hash."""
    packages = [line for line in page_commands((project / PAGE).read_text("utf-8")) if line.startswith("sudo apt")]
    files = [project / "tests/fake_picamera.py", project / PICTURE, HERE / "picamera2.py", HERE / "systemctl"]
    return b"\0".join(["\n".join(packages).encode(), *(path.read_bytes() for path in files)])


def page_commands(text: str) -> list[str]:
    """Return the commands of the page for a new board: packages for everything, then Install and Check."""
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", text, re.MULTILINE))
    lines = {name: re.findall(r"^ {4}(\S[^#\n]*)", section, re.MULTILINE) for name, section in sections.items()}
    every = [line.strip() for section in lines.values() for line in section]
    packages = [line for line in every if re.match(r"sudo apt(-get)? (update|install)\b", line)]
    later = [line for line in lines["Install"] + lines["Check"] if re.match(r"cd |python3 |\.venv/bin/", line)]
    return packages + [line.strip() for line in later]


def prepare(root: Root, project: Path) -> None:
    """Add the user, the placeholders and the packages named in the page."""
    root.run(f"useradd --create-home --shell /bin/sh --groups sudo,video {USER}")
    (root.path / "etc/sudoers.d").mkdir(exist_ok=True)
    (root.path / "etc/sudoers.d/user").write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    shutil.copyfile(HERE / "systemctl", root.path / "usr/local/bin/systemctl")
    (root.path / "usr/local/bin/systemctl").chmod(0o755)
    package = root.path / "root/camera"
    modules = package / "usr/lib/python3/dist-packages"
    modules.mkdir(parents=True)
    (package / "DEBIAN").mkdir()
    (package / "DEBIAN/control").write_text(CAMERA)
    shutil.copyfile(HERE / "picamera2.py", modules / "picamera2.py")
    shutil.copyfile(project / "tests/fake_picamera.py", modules / "fake_picamera.py")
    shutil.copyfile(project / PICTURE, modules / "picamera2.jpg")
    shutil.copyfile(project / PICTURE, root.path / "root/picture.jpg")
    root.run("dpkg-deb --root-owner-group --build /root/camera /root/camera.deb\ndpkg --install /root/camera.deb")
    user = Root(root.path, work=HOME, user=USER)
    lines = page_commands((project / PAGE).read_text("utf-8"))
    user.run("\n".join(line for line in lines if line.startswith("sudo apt")))
    resize = "from PIL import Image; Image.open('/root/picture.jpg').resize((640, 480)).convert('RGB').save"
    root.run(f"python3 -c \"{resize}('{SCENE}')\"")


def install(root: Root) -> None:
    """Run the page's commands; then check a model, and decode a film with Debian's PyAV."""
    user = Root(root.path, work=HOME, user=USER)
    root.run(f"rm -rf {HOME}/.cache/glsl-infer")
    lines = page_commands((root.path / CHECKOUT.lstrip("/") / PAGE).read_text("utf-8"))
    if not any(line.endswith(" doctor") for line in lines) or not any("/classify " in line for line in lines):
        raise StepError(f"{PAGE}: no doctor or classify among its commands: {lines}")
    user.run("\n".join(lines))
    film = Root(root.path, work=CHECKOUT, user=USER)
    film.run(f"""
        .venv/bin/python - <<'end'
import av, numpy, OpenGL, PIL, PIL.Image
print(*(f"{{one.__name__}} {{one.__version__}} from {{one.__file__}}" for one in (av, numpy, OpenGL, PIL)), sep="\\n")
assert all(one.__file__.startswith("/usr/lib/python3/dist-packages/") for one in (av, numpy, OpenGL, PIL))
picture = PIL.Image.open("{PICTURE}").convert("RGB").resize((320, 240))
with av.open("{HOME}/film.avi", "w") as film:
    stream = film.add_stream("mjpeg", rate=10)
    stream.width, stream.height, stream.pix_fmt = 320, 240, "yuvj420p"
    for _ in range(3):
        film.mux(stream.encode(av.VideoFrame.from_image(picture)))
    film.mux(stream.encode())
end
        .venv/bin/glsl-infer selfcheck {MODEL}
        .venv/bin/glsl-infer camera --source {HOME}/film.avi --model {MODEL} --top 1 --json
""")


def deploy(root: Root) -> None:
    """Deploy a model, install the folder with sudo, and compare the first frame of the service with classify."""
    user = Root(root.path, work=HOME, user=USER)
    (root.path / HOME.lstrip("/") / "deployment.yml").write_text(DEPLOYMENT)
    # This root is also the sending machine, but for its environment.
    user.run("""
        sudo rm -rf deployment /opt/glsl-infer /var/*/glsl-infer /etc/systemd/system/glsl-infer.service
        [ -d sender ] || python3 -m venv --system-site-packages sender
        sender/bin/pip install --quiet pyyaml
        sender/bin/pip install --quiet --no-deps --force-reinstall ./glsl-infer
        sender/bin/glsl-infer deploy deployment.yml
        sudo ./deployment/install.sh
    """)
    served = json.loads(user.run("cat /var/log/glsl-infer.service.jsonl", capture=True).splitlines()[0])
    line = f"/opt/glsl-infer/venv/bin/classify --model /opt/glsl-infer/models/trash.glslnn --top 1 --json {SCENE}"
    (expected,) = json.loads(user.run(line, capture=True))
    label, expected_label = (answer["predictions"][0] for answer in (served, expected))
    owner = user.run("stat --format %U /var/lib/glsl-infer", capture=True).strip()
    print(
        f"served: {json.dumps(served)}\nclassified: {json.dumps(expected_label)}\nthe service runs as {owner}",
        flush=True,
    )
    if label["label"] != expected_label["label"] or abs(label["probability"] - expected_label["probability"]) > 0.02:
        raise StepError(f"the service finds {label}, classify {expected_label}")
    if owner != USER:
        raise StepError(f"the service runs as {owner} and not as {USER}, who installed it")

"""The commands of five typical first tasks, each with the page it comes from."""

from __future__ import annotations

from dataclasses import dataclass

PORT = 8437
README, FIRST, CLASSES, NETWORK, BROWSER, ANDROID, PI = (
    "README.md", "docs/guide/first-steps.md", "docs/guide/your-classes.md", "docs/guide/your-network.md",
    "docs/guide/browser.md", "docs/guide/android.md", "docs/guide/raspberry-pi.md",
)  # fmt: skip
SERVED = "served"


@dataclass(frozen=True)
class Step:
    """A command of a new user.

    Attributes:
        page: page with the command.
        written: the command as written there.
        typed: the command with the user's own file names; empty if unchanged.
        until: ``served``: the command runs until the page that it serves answers.
    """

    page: str
    written: str
    typed: str = ""
    until: str = ""


@dataclass(frozen=True)
class Newcomer:
    """A new user: the task, files to provide first (from, to), and the commands."""

    name: str
    wants: str
    files: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]


FACE = "glsl_infer/tools/get/person.jpg"


NEWCOMERS = (
    Newcomer(
        "curious",
        "labels, a larger picture, a face's mesh",
        ((FACE, "photo.jpg"),),
        (
            Step(README, "make classify IMAGE=docs/images/example.jpg"),
            Step(FIRST, "glsl-infer run models/superres-x2-96.glslnn photo.jpg --whole -o large.png"),
            Step(FIRST, "glsl-infer get face-mesh"),
            Step(FIRST, "glsl-infer landmarks photo.jpg -o mesh.jpg"),
        ),
    ),
    Newcomer(
        "keras",
        "a Keras model, exported and compared with the original",
        (("models/superres-x2-96.keras", "mine.keras"), ("docs/images/*.jpg", "photos/"), (FACE, "photo.jpg")),
        (
            Step(README, "make classify IMAGE=docs/images/example.jpg"),
            Step(NETWORK, "pip install tensorflow"),
            Step(NETWORK, "glsl-infer inspect mine.keras"),
            Step(README, "glsl-infer export mine.keras -o mine.glslnn --images photos/"),
            Step(NETWORK, "glsl-infer validate mine.keras mine.glslnn --images photos/"),
            Step(NETWORK, "glsl-infer run mine.glslnn photo.jpg --whole -o large.png"),
        ),
    ),
    Newcomer(
        "owner",
        "two classes of 30 photographs: trained, tried, watched for, in a folder for a Pi",
        (("DATA/Banana/*.jpg 0 30", "photos/cat/"), ("DATA/Carrots/*.jpg 0 30", "photos/fox/"),
         ("DATA/Banana/*.jpg 30 34", "new/")),
        (
            Step(README, "make classify IMAGE=docs/images/example.jpg"),
            Step(CLASSES, "glsl-infer train photos/ -o door.glslnn"),
            Step(CLASSES, "glsl-infer classify door.glslnn new/*.jpg"),
            Step(CLASSES, 'glsl-infer camera door.glslnn --source picamera2 --on cat "./open-flap.sh"',
                 'glsl-infer camera door.glslnn --source new/ --on cat "echo a cat"'),
            Step(PI, "pip install pyyaml"),
            Step(PI, "glsl-infer deploy deployment.yml"),
        ),
    ),
    Newcomer(
        "page",
        "the demo page, served",
        (),
        (Step(BROWSER, "make web", f"make web PORT={PORT}", SERVED),),
    ),
    Newcomer("phone", "the camera app, as an APK", (), (Step(ANDROID, "make apk"),)),
)  # fmt: skip

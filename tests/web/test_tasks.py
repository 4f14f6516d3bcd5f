"""Tasks in the browser give the same results as in Python, and work in the page, on images and on a film."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import film
import numpy as np
import pytest
from chromium import Browser, Page, PageError
from demo_page import drop, opened, status
from PIL import Image
from red_squares import DETECTOR, folder_of_tasks, picture
from task_cases import CHANGES, PICTURES, WRONG_TASKS, same_boxes, same_points
from web_site import ROOT, SHOTS, WEB, Site

from glsl_infer.gl.context import Context
from glsl_infer.tasks import Cut, Detector, Landmarker, Segmenter, cuts, models, open_task

PERSON = ROOT / "glsl_infer/tools/get/person.jpg"

LOAD = "import('/glsl-infer-tasks.js').then((lib) => { globalThis.tasks = lib; })"

RUN_TASK = """async (task, png) => {
    globalThis.opened ??= {};
    opened[task] ??= await tasks.openTask(task, {locate: (name) => `/published/${name}.glslnn`});
    const picture = await (await fetch(`data:image/png;base64,${png}`)).blob();
    const {kind, size, things, mask, labels} = await opened[task].run(picture);
    if (kind === "segmentation") return {size, alpha: Array.from(mask.alpha())};
    return {size, things, labels};
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tasks(tmp_path_factory.mktemp("squares"))


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    with Context() as context:
        yield context


@pytest.fixture(scope="module")
def offered(dist: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page built with a user's own networks: --models FOLDER."""
    page_with_tasks = tmp_path_factory.mktemp("page") / "dist"
    shutil.copytree(dist, page_with_tasks, ignore=shutil.ignore_patterns("tfjs", "*.map"))
    subprocess.run(["node", "tasks.mjs", page_with_tasks, folder], cwd=WEB, check=True, stdin=subprocess.DEVNULL)
    return page_with_tasks


@pytest.fixture(scope="module")
def served(offered: Path, folder: Path) -> Iterator[Site]:
    folders = {"": offered, "squares": folder, "data": ROOT / "glsl_infer/tasks/data", "published": models.folder()}
    with Site(folders) as running:
        yield running


@pytest.fixture
def blank(browser: Browser, served: Site) -> Iterator[Page]:
    """A page with only the library of tasks."""
    page = browser.page(f"{served.address}/blank.html")
    page.evaluate(LOAD)
    yield page
    errors = page.errors
    page.close()
    assert errors == []


def png_of(pixels: np.ndarray | Path) -> str:
    data = io.BytesIO()
    if isinstance(pixels, Path):
        with Image.open(pixels) as image:
            image.convert("RGB").save(data, "PNG")
    else:
        Image.fromarray(pixels).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def noise(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3)).astype(np.uint8) * np.uint8([1, 0, 0])


def test_detections_equal_those_of_python(blank: Page, folder: Path, context: Context) -> None:
    with Detector(folder / "squares.json", context=context) as detector:
        for pixels, tolerance in PICTURES:
            result = blank.evaluate(RUN_TASK, "/squares/squares.json", png_of(pixels))
            assert result["size"] == {"width": pixels.shape[1], "height": pixels.shape[0]}
            same_boxes(result["things"], list(detector(pixels)), tolerance)


def test_every_rule_gives_the_detections_of_python(
    blank: Page, served: Site, folder: Path, context: Context, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
        served.files[f"/changed/{path.name}"] = path.read_bytes()
    pixels = picture(32, 32, (5, 5, 10), (22, 18, 14))
    for index, change in enumerate(CHANGES):
        text = json.dumps({**DETECTOR, **change})
        (tmp_path / "squares.json").write_text(text, "utf-8")
        served.files[f"/changed/{index}.json"] = text.encode()
        result = blank.evaluate(RUN_TASK, f"/changed/{index}.json", png_of(pixels))
        with Detector(tmp_path / "squares.json", context=context) as detector:
            expected = detector(pixels)
        assert len(expected) >= 1
        same_boxes(result["things"], list(expected), 0.1)


def test_landmarks_are_those_of_python(blank: Page, folder: Path, context: Context) -> None:
    with Landmarker(folder / "sides.json", context=context) as sides:
        for squares in [((24, 24, 16), (88, 104, 16)), ((40, 72, 24),), ()]:
            pixels = picture(128, 128, *squares)
            scores, expected = blank.evaluate(RUN_TASK, "/squares/sides.json", png_of(pixels))["things"], sides(pixels)
            assert len(scores) == len(expected) == len(squares)
            for score, other in zip(sorted(scores, key=first_x), sorted(expected, key=lambda item: item.points[0, 0])):
                same_points(score, other, 0.5)


def first_x(item: dict[str, Any]) -> float:
    return float(item["points"][0][0])


def test_objects_are_followed_as_in_python(blank: Page, folder: Path, context: Context) -> None:
    frames = [picture(128, 128, (24 + 2 * step, 24 + 3 * step, 16)) for step in range(6)] + [picture(128, 128)]
    with Landmarker(folder / "sides.json", context=context) as sides:
        expected = [sides.follow(frame) for frame in frames]
    result = blank.evaluate(
        """async (pngs) => {
            const task = await tasks.openTask("/squares/sides.json");
            const results = [];
            const offscreen = OffscreenCanvasRenderingContext2D.prototype;
            for (const type of [CanvasRenderingContext2D.prototype, offscreen]) {
                type.getImageData = () => { throw new Error("a frame visits the CPU"); };
            }
            for (const png of pngs) {
                const blob = await (await fetch(`data:image/png;base64,${png}`)).blob();
                results.push((await task.follow(blob)).things);
            }
            return results;
        }""",
        [png_of(frame) for frame in frames],
    )
    assert [len(items) for items in result] == [len(items) for items in expected] == [1] * 6 + [0]
    for items, expected_items in zip(result[:-1], expected[:-1]):
        same_points(items[0], expected_items[0], 0.5)


def test_a_mask_is_pythons(blank: Page, folder: Path, context: Context) -> None:
    for pixels in (picture(96, 64, (30, 30, 36)), picture(20, 25, (10, 10, 12))):
        result = blank.evaluate(RUN_TASK, "/squares/mask.json", png_of(pixels))
        alpha = np.array(result["alpha"]).reshape(pixels.shape[:2])
        with Segmenter(folder / "mask.json", context=context) as segmenter:
            expected = segmenter(pixels).alpha.astype(int)
        # The edge is steep: a step of one byte before it is up to five after it.
        assert np.abs(alpha - expected).max() <= 12
        assert np.abs(alpha - expected).mean() <= 0.5


CUTS = [
    Cut(50, 40, 32, 32),
    Cut(50.3, 40.7, 31, 57, 0.7),
    Cut(10, 5, 90, 90, -2.0),
    Cut(60, 50, 290, 280, 0.1),
    Cut(3, 97, 5, 5, 1.0),
]


def test_a_cut_has_pythons_bytes(blank: Page) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (100, 120, 3)).astype(np.uint8)
    for cut in CUTS:
        result = blank.evaluate(
            """async (png, numbers) => {
                const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
                const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
                canvas.drawImage(bitmap, 0, 0);
                const picture = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
                return Array.from(tasks.pixelsOf(picture, new tasks.Cut(...numbers), 24, 17));
            }""",
            png_of(pixels),
            [cut.x, cut.y, cut.width, cut.height, cut.angle],
        )
        assert np.array_equal(np.array(result).reshape(17, 24, 4)[..., :3], cuts.pixels_of(pixels, cut, 17, 24)), cut


def test_a_cut_on_the_gpu_is_pythons(blank: Page) -> None:
    smooth = Image.fromarray(np.random.default_rng(1).integers(0, 256, (10, 12, 3)).astype(np.uint8))
    pixels = np.asarray(smooth.resize((120, 100), Image.Resampling.BICUBIC))
    for cut in (*CUTS[:2], CUTS[4], Cut(60, 50, 72, 51, 0.1)):
        result = blank.evaluate(
            """async (png, numbers) => {
                const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
                const studio = tasks.Studio.open();
                if (!studio.take(bitmap)) throw new Error("it takes no picture");
                const canvas = studio.cut(new tasks.Cut(...numbers), 24, 17);
                const copy = new OffscreenCanvas(24, 17).getContext("2d");
                copy.drawImage(canvas, 0, 0);
                studio.close();
                return [Array.from(copy.getImageData(0, 0, 24, 17).data), studio.take(bitmap)];
            }""",
            png_of(pixels),
            [cut.x, cut.y, cut.width, cut.height, cut.angle],
        )
        error = np.abs(
            np.array(result[0]).reshape(17, 24, 4)[..., :3] - cuts.pixels_of(pixels, cut, 17, 24).astype(int)
        )
        # If a crop shrinks, Python averages squares of pixels, and shaders average points at most a texel apart.
        shrinks = cut.width > 32 or cut.height > 32
        assert error.mean() < (2.5 if shrinks else 0.6), cut
        assert error.max() <= (40 if shrinks else 2), cut
        assert result[1] is False  # a closed Studio takes no image


def test_the_packages_tasks_are_read(blank: Page) -> None:
    for path in (ROOT / "glsl_infer/tasks/data").glob("*.json"):
        read = blank.evaluate("async (name) => tasks.fetchTask(`/data/${name}`)", path.name)
        entries = {**read["rules"], "what": read["what"], "model": read["model"]}
        only_python = {"cut", "follow", "boxes", "scores", "turned"}
        expected = {key: value for key, value in json.loads(path.read_text("utf-8")).items() if key not in only_python}
        assert {key: entries[key] for key in expected} == expected


def test_invalid_task_entries_are_named(blank: Page, served: Site, folder: Path) -> None:
    for path in folder.iterdir():
        served.files[f"/wrong/{path.name}"] = path.read_bytes()
    for index, (task, change, message) in enumerate(WRONG_TASKS):
        served.files[f"/wrong/mine{index}.json"] = json.dumps({**task, **change}).encode()
        with pytest.raises(PageError) as caught:
            blank.evaluate(f"tasks.openTask('/wrong/mine{index}.json')")
        assert message in str(caught.value)


# In the page ---------------------------------------------------------------------------------------


def choose_task(page: Page, name: str) -> None:
    """Choose a task in the page's list."""
    page.evaluate(
        """(name) => {
            const task = document.getElementById("task");
            task.value = name;
            task.dispatchEvent(new Event("change"));
        }""",
        name,
    )


ROWS = "[...document.querySelectorAll('#labels li')].map((one) => one.innerText.split('\\n'))"


def test_the_page_has_the_command_for_missing_models(browser: Browser, site: Site) -> None:
    with opened(browser, site, height=900) as page:
        options = page.evaluate("[...document.getElementById('task').options].map((one) => one.text)")
        assert options[0] == "Labels" and "Face mesh (not here yet)" in options
        choose_task(page, "face-mesh")
        assert "glsl-infer get face-mesh face-detection" in status(page)
        assert "make web MODELS=" in status(page)
        assert page.evaluate("document.getElementById('status').className") == "wrong"
        assert page.evaluate("document.getElementById('task').value") == ""


def test_an_image_with_its_detections(browser: Browser, served: Site) -> None:
    pixels = picture(128, 96, (24, 24, 16), (88, 56, 16))
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    served.files["/squares.png"] = data.getvalue()
    with opened(browser, served, height=900) as page:
        drop(page, "/squares.png")
        choose_task(page, "squares")
        page.wait_for("document.querySelector('#labels li span')?.textContent === 'No. 1, 2 points'")
        assert len(page.evaluate(ROWS)) == 2
        label = page.evaluate("document.getElementById('picture').getAttribute('aria-label')")
        assert label.endswith("squares; 2 found")
        colours = page.evaluate("""(() => {
            const {width, height} = document.getElementById("picture");
            const {data} = document.getElementById("picture").getContext("2d").getImageData(0, 0, width, height);
            const all = new Set();
            for (let i = 0; i < data.length; i += 4) all.add(data.slice(i, i + 3).join());
            return [width, height, ...all];
        })()""")
        assert colours[:2] == [640, 480]
        assert {"255,0,0", "255,196,0", "0,200,255"} <= set(colours)  # the squares, and a colour for each
        assert page.evaluate("document.getElementById('model-choice').hidden")
        page.evaluate("document.getElementById('check').click()")
        assert status(page).startswith("This GPU computes all 2 layers correctly.")
        page.screenshot(SHOTS / "task-squares.png")

        choose_task(page, "mask")
        page.wait_for("document.querySelector('#labels li span')?.textContent === 'Share of the image'")
        (row,) = page.evaluate(ROWS)
        assert float(row[1].rstrip(" %")) == pytest.approx(100 * 2 * 16**2 / (128 * 96), abs=1.5)
        for style in ("cut", "blur"):
            page.evaluate(
                """(value) => {
                    const look = document.getElementById("look");
                    look.value = value;
                    look.dispatchEvent(new Event("change"));
                }""",
                style,
            )
            page.wait_for(f"+document.getElementById('frames').value === {2 + (style == 'blur')}")
            corner = page.evaluate("""[...document.getElementById("picture").getContext("2d")
                .getImageData(2, 470, 1, 1).data]""")
            assert corner[:3] == ([236] * 3 if style == "cut" else [0, 0, 0])
            outside = page.evaluate("""[...document.getElementById("picture").getContext("2d")
                .getImageData(440, 268, 1, 1).data]""")  # just above a square
            if style == "blur":
                assert outside[0] > 10 > outside[1]  # some of its red
            page.screenshot(SHOTS / f"task-{style}.png")

        choose_task(page, "")
        page.wait_for("document.getElementById('about').textContent.startsWith('grocery-x22-257')")
        assert not page.evaluate("document.getElementById('model-choice').hidden")


def test_a_film_is_followed(browser: Browser, served: Site, tmp_path: Path) -> None:
    # The detector's cells are 20 pixels wide, and the square fills one of them at any start of the film.
    squares = [(50 + 20 * (k // 10), 50, 20) for k in range(30)]
    pictures = [Image.fromarray(picture(160, 120, square)).resize((640, 480)) for square in squares]
    film.write(pictures, tmp_path / "film.mjpeg")
    flags = (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={tmp_path}/film.mjpeg",
    )
    with Browser(flags) as filmed, opened(filmed, served, height=800) as page:
        choose_task(page, "sides")
        page.wait_for("document.getElementById('about').textContent.startsWith('sides')")
        page.evaluate("document.getElementById('camera').click()")
        page.wait_for("+document.getElementById('frames').value > 10")
        page.wait_for("document.querySelector('#labels li span')?.textContent === 'No. 1, 2 points'")
        assert page.evaluate("document.getElementById('video').hidden")
        assert not page.evaluate("document.getElementById('picture').hidden")
        page.screenshot(SHOTS / "task-film.png")
        choose_task(page, "")
        page.wait_for("!document.getElementById('video').hidden && document.getElementById('picture').hidden")
        page.evaluate("document.getElementById('camera').click()")
        page.wait_for("!document.getElementById('hint').hidden")


@pytest.mark.parametrize(("task", "text"), [("face-mesh", "No. 1, 468 points"), ("selfie", "Share of the image")])
def test_a_person_in_a_film(dist: Path, tmp_path: Path, task: str, text: str) -> None:
    """Published networks follow a face, and blur the background of a portrait; screenshots are kept for review."""
    needed = ["face-detection", "face-mesh"] if task == "face-mesh" else ["selfie-segmentation"]
    if not all((models.folder() / f"{name}.glslnn").is_file() for name in needed):
        pytest.skip(f"not fetched: glsl-infer get {task}")
    page_folder, page_with_model = tmp_path / "dist", tmp_path / "mine"
    page_with_model.mkdir()
    for name in needed:
        shutil.copy(models.folder() / f"{name}.glslnn", page_with_model)
    shutil.copytree(dist, page_folder, ignore=shutil.ignore_patterns("tfjs", "*.map"))
    subprocess.run(["node", "tasks.mjs", page_folder, page_with_model], cwd=WEB, check=True, stdin=subprocess.DEVNULL)
    with Image.open(PERSON) as image:
        person = image.convert("RGB")
    frames = [Image.new("RGB", (640, 480), (90, 110, 130)) for _ in range(12)]
    for index, frame in enumerate(frames):
        frame.paste(person, (60 + 6 * index, 48))
    film.write(frames, tmp_path / "film.mjpeg")
    flags = (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={tmp_path}/film.mjpeg",
    )
    with Site({"": page_folder}) as running, Browser(flags) as filmed, opened(filmed, running, height=800) as page:
        choose_task(page, task)
        about = "document.getElementById('about').textContent"
        page.wait_for(f"{about} && !{about}.startsWith('grocery') && !document.getElementById('camera').disabled")
        page.evaluate("""(() => {
            const look = document.getElementById("look");
            look.value = "blur";
            look.dispatchEvent(new Event("change"));
            document.getElementById("camera").click();
        })()""")
        page.wait_for(f"document.querySelector('#labels li span')?.textContent === '{text}'")
        page.wait_for("+document.getElementById('frames').value > 2")
        page.screenshot(SHOTS / f"task-film-{task}.png")
        page.evaluate("document.getElementById('camera').click()")
        page.wait_for("!document.getElementById('hint').hidden")


# With published networks, if they were downloaded ----------------------------------------------------


@pytest.mark.parametrize(
    ("task", "tolerance"), [("faces", 1.0), ("face-mesh", 1.0), ("selfie", 0.0)], ids=["faces", "face-mesh", "selfie"]
)
def test_published_networks_find_the_same(blank: Page, context: Context, task: str, tolerance: float) -> None:
    needed = {
        "faces": ["face-detection"],
        "face-mesh": ["face-detection", "face-mesh"],
        "selfie": ["selfie-segmentation"],
    }
    for name in needed[task]:
        if not (models.folder() / f"{name}.glslnn").is_file():
            pytest.skip(f"not fetched: glsl-infer get {name}")
    result = blank.evaluate(RUN_TASK, f"/data/{task}.json", png_of(PERSON))
    with open_task(task, context=context) as opened:
        expected = opened(PERSON)
    if task == "selfie":
        alpha = np.array(result["alpha"]).reshape(expected.alpha.shape)
        assert np.abs(alpha - expected.alpha).mean() < 1.0
    elif task == "faces":
        same_boxes(result["things"], list(expected), tolerance)
    else:
        assert len(result["things"]) == len(expected) == 1
        same_points(result["things"][0], expected[0], tolerance)

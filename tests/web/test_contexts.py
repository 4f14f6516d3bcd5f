"""Contexts of the browser: lost and restored, shared by two models, one per model, and in a worker."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from chromium import Browser, Page, PageError
from web_site import Site

LOGITS = (
    "const bytes = (model) => new Uint8Array(4 * model.session.picture.value.width ** 2)"
    ".map((_, i) => i % 4 === 3 ? 255 : i % 251);"
)


def test_a_model_survives_the_loss_of_its_context(blank: Page) -> None:
    result = blank.evaluate(f"""(async () => {{
        {LOGITS}
        const canvas = document.createElement("canvas");
        const model = await lib.GlslInfer.load("/models/trashnet-x22-129.glslnn", canvas);
        const before = await model.classify(bytes(model));
        const loss = canvas.getContext("webgl").getExtension("WEBGL_lose_context");
        loss.loseContext();
        let refused = "";
        try {{ model.session.run(bytes(model)); }} catch (error) {{ refused = error.name; }}
        const waiting = model.classify(bytes(model));
        setTimeout(() => loss.restoreContext(), 300);
        const after = await waiting;
        const errors = model.session.selfcheck();
        return {{refused, before: [...before.logits], after: [...after.logits], checked: errors.length}};
    }})()""")
    assert result["refused"] == "ContextLostError"
    assert result["after"] == result["before"]
    assert result["checked"] > 30


def test_a_context_that_stays_lost_is_an_error(blank: Page) -> None:
    blank.evaluate("""(async () => {
        const canvas = document.createElement("canvas");
        globalThis.model = await lib.GlslInfer.load("/models/superres-x2-96.glslnn", canvas);
        canvas.getContext("webgl").getExtension("WEBGL_lose_context").loseContext();
    })()""")
    with pytest.raises(PageError, match="ContextLostError: the browser has taken the graphics context away"):
        blank.evaluate("model.run(new Uint8Array(4 * 96 * 96))")


def test_a_frame_of_a_crashed_gpu_process_is_an_error(site: Site) -> None:
    """A frame of a GPU process that has just crashed is an error, not a result.

    The browser reports the loss in a later task. Until then, a read returns zeros without an error.
    """
    with Browser() as browser:
        page = browser.page(f"{site.address}/blank.html")
        page.evaluate("import('/glsl-infer.js').then((lib) => { globalThis.lib = lib; })")
        page.evaluate(f"""(async () => {{
            {LOGITS}
            globalThis.model = await lib.GlslInfer.load("/models/trashnet-x22-129.glslnn");
            globalThis.pixels = bytes(model);
            globalThis.right = String(model.session.run(pixels).data);
        }})()""")
        crash = threading.Timer(0.5, browser.call, ["Browser.crashGpuProcess"])
        crash.start()
        result = page.evaluate("""(() => {
            try {
                while (String(model.session.run(pixels).data) === right);
                return "another result";
            } catch (error) {
                return error.name;
            }
        })()""")
        crash.join()
    assert result == "ContextLostError"


@pytest.mark.parametrize("canvas", ["undefined", "document.createElement('canvas')", "new OffscreenCanvas(4, 4)"])
def test_two_models_on_one_page_do_not_disturb_each_other(blank: Page, canvas: str) -> None:
    result: dict[str, Any] = blank.evaluate(f"""(async () => {{
        {LOGITS}
        const canvas = {canvas};
        const [one, other] = await Promise.all(["trashnet-x22-129", "superres-x2-96"].map(
            (name) => lib.GlslInfer.load(`/models/${{name}}.glslnn`, canvas)));
        const said = [];
        for (let i = 0; i < 3; i++) {{
            said.push([...(await one.run(bytes(one))).data]);
            said.push([...(await other.run(bytes(other))).data.subarray(0, 999)]);
        }}
        const shared = one.session.context === other.session.context;
        other.close();
        said.push([...(await one.run(bytes(one))).data]);
        return {{said, shared}};
    }})()""")
    texts = result["said"]
    assert texts[0] == texts[2] == texts[4] == texts[6]
    assert texts[1] == texts[3] == texts[5]
    assert result["shared"] == (canvas != "undefined")


def test_layers_end_in_the_outputs_of_a_frame(blank: Page) -> None:
    """Reading layers ends in the same outputs as a frame, even if another model on the canvas draws in between.

    A context that is lost in between is an error.
    """
    result: dict[str, Any] = blank.evaluate(f"""(async () => {{
        {LOGITS}
        const canvas = document.createElement("canvas");
        const [one, other] = await Promise.all(["trashnet-x22-129", "superres-x2-96"].map(
            (name) => lib.GlslInfer.load(`/models/${{name}}.glslnn`, canvas)));
        const right = String(one.session.run(bytes(one)).data);
        const drawn = one.session.layers(bytes(one));
        let next;
        while (!(next = drawn.next()).done) other.session.run(bytes(other));
        const [same] = Object.values(next.value).map(({{data}}) => String(data) === right);
        const lost = one.session.layers(bytes(one));
        lost.next();
        const loss = canvas.getContext("webgl").getExtension("WEBGL_lose_context");
        loss.loseContext();
        await new Promise((resolve) => setTimeout(resolve, 100));
        loss.restoreContext();
        await one.session.whenUsable();
        let refused = "";
        try {{ lost.next(); }} catch (error) {{ refused = error.name; }}
        return {{same, refused}};
    }})()""")
    assert result == {"same": True, "refused": "ContextLostError"}


def test_a_model_runs_in_a_worker(blank: Page, site: Site) -> None:
    site.files["/worker.js"] = b"""
        import { GlslInfer } from "/glsl-infer.js";
        onmessage = async ({data}) => {
            const model = await GlslInfer.load("/models/trashnet-x22-129.glslnn", data.canvas);
            const {labels} = await model.classify(data.picture);
            postMessage(labels.map(({label}) => label));
        };
    """
    labels = blank.evaluate(
        """async (canvases) => {
        const picture = await createImageBitmap(await (await fetch("/images/cardboard18.jpg")).blob());
        const said = [];
        for (const given of canvases) {
            const worker = new Worker("/worker.js", {type: "module"});
            const canvas = given ? new OffscreenCanvas(1, 1) : undefined;
            worker.postMessage({canvas, picture}, canvas ? [canvas] : []);
            said.push(await new Promise((resolve) => { worker.onmessage = ({data}) => resolve(data); }));
            worker.terminate();
        }
        return said;
    }""",
        [True, False],
    )
    assert [label[0] for label in labels] == ["cardboard", "cardboard"]


def test_a_canvas_with_another_context_is_refused(blank: Page) -> None:
    with pytest.raises(PageError, match="ContextError: this browser gives no WebGL 1 context"):
        blank.evaluate("""(async () => {
            const canvas = document.createElement("canvas");
            canvas.getContext("2d");
            await lib.GlslInfer.load("/models/superres-x2-96.glslnn", canvas);
        })()""")


def test_a_closed_model_is_refused(blank: Page) -> None:
    with pytest.raises(PageError, match="RunError: the session is closed"):
        blank.evaluate("""(async () => {
            const model = await lib.GlslInfer.load("/models/superres-x2-96.glslnn");
            model.close();
            model.close();
            await model.run(new Uint8Array(4 * 96 * 96));
        })()""")


def test_clamped_bytes_are_bytes(blank: Page) -> None:
    same = blank.evaluate("""(async () => {
        const model = await lib.GlslInfer.load("/models/superres-x2-96.glslnn");
        const bytes = Uint8Array.from({length: 4 * 96 * 96}, (_, i) => i % 4 === 3 ? 255 : i % 251);
        const [one, other] = [await model.run(bytes), await model.run(Uint8ClampedArray.from(bytes))];
        return one.data.every((number, i) => number === other.data[i]) && one.data.some((number) => number > 0);
    })()""")
    assert same is True


def test_bad_arguments_are_refused(blank: Page) -> None:
    blank.evaluate("""(async () => {
        globalThis.one = await lib.GlslInfer.load("/models/trashnet-x22-129.glslnn");
        globalThis.other = await lib.GlslInfer.load("/models/superres-x2-96.glslnn");
    })()""")
    for call, message in {
        "one.run(new Uint8Array(5))": "ImageError: 5 bytes were given; the model reads 66564",
        "one.classify(document.createElement('video'))": "ImageError: the image has no pixels",
        "one.classify(new Image())": "ImageError: the browser cannot read this as an image",
        "one.classify(new Blob(['x']))": "ImageError: the browser cannot read this as an image",
        "one.session.readTexture('none', 0, 0, 1, 1)": "InputError: no texture 'none' is rendered into",
        "one.classify(new Uint8Array(66564), 0)": "InputError: top=0",
        "other.classify(new Uint8Array(36864))": "InputError: the model has no labels",
    }.items():
        with pytest.raises(PageError, match=f"^{message}".replace("(", r"\(")):
            blank.evaluate(call)

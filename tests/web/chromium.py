"""Headless Chromium, controlled by its DevTools protocol over two pipes, with only the standard library."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

TIMEOUT = 300.0
"""Seconds after which an unfinished step counts as failed. Only a hang takes so long, even on a busy machine."""

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--remote-debugging-pipe",
)
HEADLESS_SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
"""The program itself: /usr/bin has a shell script that starts it and would outlive it."""


class PageError(Exception):
    """An exception in a page, or a step without an answer."""


class Browser:
    """A running Chromium with its own profile; use it as a context manager.

    Args:
        flags: additional command-line flags.
        patience: seconds after which a step without an answer counts as failed.
    """

    def __init__(self, flags: Iterable[str] = (), patience: float = TIMEOUT) -> None:
        self.patience = patience
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        commands, self._send = os.pipe()
        self._receive, events = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, events)]  # other numbers than 3 and 4

        def hand_over() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        arguments = [*executable(), *FLAGS, f"--user-data-dir={self._profile}", *flags, "about:blank"]
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=hand_over,  # noqa: PLW1509 -- nothing but dup2 runs there
            start_new_session=True,
        )
        for end in (commands, events, *ends):
            os.close(end)
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def page(self, url: str = "about:blank") -> Page:
        """Open a page and wait until it is loaded; requests and errors of its workers count as the page's."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target)
        self._listeners[session] = page.heard
        for domain in ("Page", "Runtime", "Network"):
            page.call(f"{domain}.enable")
        page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        if url != "about:blank":
            page.go(url)
        return page

    def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        message_id = next(self._numbers)
        answer = self._answers[message_id] = queue.Queue()
        self._write(message_id, method, params or {}, session)
        try:
            reply = answer.get(timeout=self.patience)
        except queue.Empty:
            raise PageError(f"{method}: no answer within {self.patience:.0f} s") from None
        finally:
            del self._answers[message_id]
        if "error" in reply:
            raise PageError(f"{method}: {reply['error']['message']}")
        return dict(reply["result"])

    def follow(self, worker: str, page: Page) -> None:
        """Subscribe a page to its worker's events, and let the worker run.

        It does not wait for the answers, because the calling thread is the one that reads them.
        """
        self._listeners[worker] = page.heard
        for method in ("Runtime.enable", "Network.enable", "Runtime.runIfWaitingForDebugger"):
            self._write(next(self._numbers), method, {}, worker)

    def _write(self, message_id: int, method: str, params: dict[str, Any], session: str | None) -> None:
        message: dict[str, Any] = {"id": message_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        with self._writing:
            while data:
                data = data[os.write(self._send, data) :]

    def close(self) -> None:
        """End the browser and all of its processes."""
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._send)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _listen(self) -> None:
        with os.fdopen(self._receive, "rb") as pipe:
            unread = b""
            while chunk := pipe.read1(1 << 16):
                *messages, unread = (unread + chunk).split(b"\0")
                for message in map(json.loads, messages):
                    if "id" in message:
                        answer = self._answers.get(message["id"])
                        if answer is not None:
                            answer.put(message)
                    elif message.get("sessionId") in self._listeners:
                        self._listeners[message["sessionId"]](message["method"], message["params"])


class Page:
    """One tab: its address, its JavaScript and its screen.

    Attributes:
        requests: requested addresses, in order.
        errors: uncaught exceptions, and messages that the page logged as errors.
    """

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self._loaded = threading.Event()
        self.requests: list[str] = []
        self.errors: list[str] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol on this page."""
        return self._browser.call(method, params, self._session)

    def heard(self, method: str, params: dict[str, Any]) -> None:
        """Record an event of the page or of its workers."""
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Target.attachedToTarget":
            self._browser.follow(params["sessionId"], self)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(
                " ".join(str(argument.get("value", argument.get("description"))) for argument in params["args"])
            )

    def go(self, url: str) -> None:
        """Load an address and wait for the load event."""
        self._loaded.clear()
        self.call("Page.navigate", url=url)
        if not self._loaded.wait(self._browser.patience):
            raise PageError(f"{url}: not loaded within {self._browser.patience:.0f} s")

    def evaluate(self, expression: str, *arguments: Any) -> Any:
        """Return the value of a JavaScript expression, awaited; with arguments, call it as a function.

        Raises:
            PageError: the expression throws.
        """
        if arguments:
            expression = f"({expression})({', '.join(json.dumps(argument) for argument in arguments)})"
        reply = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return reply["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Return the first truthy value of an expression, which is evaluated repeatedly."""
        return self.evaluate(
            f"""(async () => {{
                const end = performance.now() + {1000 * (self._browser.patience - 5)};
                for (;;) {{
                    const value = await ({expression});
                    if (value) return value;
                    if (performance.now() > end) throw new Error("in vain: " + {json.dumps(expression)});
                    await new Promise((resolve) => setTimeout(resolve, 30));
                }}
            }})()"""
        )

    def press(self, key: str) -> None:
        """Press and release a key, such as ``Tab``, ``Enter`` or ``ArrowDown``."""
        codes = {"Tab": 9, "Enter": 13, "Space": 32, "ArrowUp": 38, "ArrowDown": 40}
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        name = " " if key == "Space" else key
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=key, windowsVirtualKeyCode=codes[key], **extra
            )

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the size of the page's screen in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def screenshot(self, path: Path) -> None:
        """Write the visible part of the page as a PNG file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """Close the tab."""
        self._browser.call("Target.closeTarget", {"targetId": self._target})


def executable() -> list[str]:
    """Return the command that starts Chromium: $CHROMIUM, Debian's headless shell, or the full one, headless."""
    program = os.environ.get("CHROMIUM")
    if program:
        return [program]
    if HEADLESS_SHELL.exists():
        return [str(HEADLESS_SHELL)]
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return [path, "--headless=new"]
    raise FileNotFoundError("Chromium is missing; type: scripts/system-packages --test, or name it in $CHROMIUM")

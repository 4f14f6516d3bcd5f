"""A web server for tests: folders at given paths, and generated files."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
DEFAULT_MODEL = ROOT / "models" / "grocery-x22-257.glslnn"
"""The model that the page starts with (test_page.py)."""

SHOTS = WEB / "shots"
"""Folder of the tests' screenshots, for manual review."""


class Site:
    """A server of folders on a free port of this machine; use it as a context manager.

    Attributes:
        files: bytes by path, such as ``/broken.glslnn``. They take precedence over folders. ``/blank.html`` is a blank
            page.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.files: dict[str, bytes] = {"/blank.html": b"<!doctype html><meta charset=utf-8><title>test</title>"}
        handler = partial(_Handler, folders, self.files)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """The server's address, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, folders: Mapping[str, Path], files: Mapping[str, bytes], *args: object) -> None:
        self._folders, self._files = folders, files
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:  # the name that http.server looks up
        data = self._files.get(unquote(urlsplit(self.path).path))
        if data is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(self.path))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def translate_path(self, path: str) -> str:
        parts = unquote(urlsplit(path).path).lstrip("/").split("/")
        folder = self._folders.get(parts[0])
        if folder is not None:
            parts = parts[1:]
        safe = [part for part in parts if part not in ("", ".", "..")]
        return str(Path(folder or self._folders[""], *safe))

    def log_message(self, *_: object) -> None:
        pass

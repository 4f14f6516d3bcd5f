"""Shows frames in a browser on this machine: a page, and the frames as MJPEG, over HTTP."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.support.closing import Closing

HOST = "127.0.0.1"
"""Nobody else sees the camera: who wants it elsewhere forwards the port, by SSH for one."""

_STREAM = "/frames.mjpeg"
_PAGE = f'<!doctype html><title>glsl-infer</title><body style="margin:0;background:#181818"><img src="{_STREAM}">'
_BOUNDARY = "frame"
_MOST = 8
"""Readers at a time; each costs a thread."""

_NAMES = (HOST, "localhost", "[::1]")
"""Hosts that a browser may ask for. A page elsewhere whose own name leads here would see the camera otherwise."""

_SITES = ("same-origin", "none")
"""Where a browser says that a question comes from: this page, or a person. Others' pages neither show the frames nor
take the places of readers; an old browser does not say."""

_CONNECTIONS = 32
"""Connections at a time. One more takes the place of the one that has been asking for longest, or is hung up on."""

_MOMENT = 1.0
"""Seconds to wait for the place of a connection that was hung up on."""

_PATIENCE = 10.0
"""Seconds after which a reader that takes nothing is given up, in which a stream without frames ends, and in which
somebody has to have asked."""


class FrameServer(Closing):
    """Serves the newest frame to whoever asks on this machine. Use it as a context manager, or ``close`` it.

    Args:
        port: 0 for any that is free.

    Attributes:
        port: that it listens at.

    Raises:
        InputError: the port cannot be used.
    """

    def __init__(self, port: int) -> None:
        self._changed = threading.Condition()
        self._frame, self._number, self._over = b"", 0, False
        self.readers = threading.BoundedSemaphore(_MOST)
        try:
            self._server = _Server((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--serve {port}: cannot be listened at ({reason}); give another port") from None
        self._server.frames = self
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="frames", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.port}/"

    def show(self, image: Image.Image) -> None:
        """Make an RGB picture the newest frame."""
        data = io.BytesIO()
        image.save(data, "JPEG", quality=80)
        with self._changed:
            self._frame, self._number = data.getvalue(), self._number + 1
            self._changed.notify_all()

    def after(self, seen: int) -> tuple[bytes, int] | None:
        """Wait for another frame than number ``seen``; return it and its number, or None where no more come."""
        with self._changed:
            changed = self._changed.wait_for(lambda: self._over or self._number != seen, _PATIENCE)
            return None if self._over or not changed else (self._frame, self._number)

    def close(self) -> None:
        """Let all readers go, and the port; further calls do nothing."""
        with self._changed:
            if self._over:
                return
            self._over = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _host_of(name: str) -> str:
    """Return the host of a header, without its port."""
    return re.sub(r":[0-9]*$", "", name.strip().lower())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    frames: FrameServer

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.BoundedSemaphore(_CONNECTIONS)
        self._asking: dict[Any, float] = {}
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread. Where there are too many, that which has been asking for longest goes, or this one."""
        if self._free.acquire(blocking=False) or (self._hang_up() and self._free.acquire(timeout=_MOMENT)):
            self._asking[request] = time.monotonic()
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and let another in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.asked(request)
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who have gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def _hang_up(self) -> bool:
        """Hang up on the connection that has been asking for longest; return whether there was one."""
        oldest = min(list(self._asking.items()), key=lambda entry: entry[1], default=None)
        if oldest is None:
            return False
        self.asked(oldest[0])
        with contextlib.suppress(OSError):
            oldest[0].shutdown(socket.SHUT_RDWR)
        return True

    def asked(self, request: Any) -> None:
        """Note that a connection has said what it wants."""
        self._asking.pop(request, None)

    def service_actions(self) -> None:
        """Hang up on those who have been asking for too long: a byte now and then would hold a place for ever."""
        late = time.monotonic() - _PATIENCE
        for request, began in list(self._asking.items()):
            if began < late:
                self.asked(request)
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE

    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.asked(self.connection)
        if _host_of(self.headers.get("Host", HOST)) not in _NAMES:
            self._send(403, f"this is http://{HOST}; ask for it by that name")
        elif self.headers.get("Sec-Fetch-Site", "none") not in _SITES or self._is_foreign():
            self._send(403, "no page elsewhere may show this camera")
        elif self.path == "/":
            self._send(200, _PAGE)
        elif self.path != _STREAM:
            self._send(404, "there is / and nothing else")
        else:
            self._stream()

    def _is_foreign(self) -> bool:
        """Return whether a page of another origin asks, as browsers without Sec-Fetch-Site say, too."""
        own = self.headers.get("Host", "").strip().lower()
        pages = [page for name in ("Origin", "Referer") for page in self.headers.get_all(name, [])]
        return any(not re.match(rf"https?://{re.escape(own)}(?:[/?#]|$)", page.strip().lower()) for page in pages)

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard error is the command's."""

    def end_headers(self) -> None:
        """Let no page elsewhere have the answer in its process, nor frame it."""
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header(
            "Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        )
        super().end_headers()

    def _send(self, code: int, text: str) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self) -> None:
        assert isinstance(self.server, _Server)
        frames = self.server.frames
        if not frames.readers.acquire(blocking=False):
            self._send(503, "too many readers")
            return
        seen = 0
        try:
            self.send_response(200)
            self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            while True:
                following = frames.after(seen)
                if following is None:
                    return
                data, seen = following
                head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                self.wfile.write(head.encode())
                self.wfile.write(data + b"\r\n")
        except OSError:  # the reader has gone
            self.close_connection = True
        finally:
            frames.readers.release()

"""camera --mqtt with a real broker, and --gpio with gpiozero's mock pins."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gpiozero
import pytest
from broker import PASSWORD, USER, broker, free_port
from command_line import Capture, refused
from gpiozero.pins.mock import MockFactory
from paho.mqtt import client as paho
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.errors import InputError, RunError
from glsl_infer.support.child_process import ROOT
from glsl_infer.tools.camera import mqtt
from glsl_infer.tools.camera.pins import Pins


class Heard:
    """A second client of the broker, with all messages and the last one of each topic."""

    def __init__(self, port: int) -> None:
        self.all: list[tuple[str, str]] = []
        self.last: dict[str, str] = {}
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        subscribed = threading.Event()
        self._client.on_message = self._take
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.connect("127.0.0.1", port)
        self._client.subscribe("#", qos=1)
        self._client.loop_start()
        assert subscribed.wait(60)

    def _take(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        self.all.append((message.topic, message.payload.decode()))
        self.last[message.topic] = message.payload.decode()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockFactory]:
    factory = MockFactory()
    monkeypatch.setattr(gpiozero.Device, "pin_factory", factory)
    yield factory
    factory.close()


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Six frames of bananas, six of carrots, six of bananas."""
    folder = tmp_path / "film"
    folder.mkdir()
    for index in range(18):
        photograph = "carrots014.jpg" if 6 <= index < 12 else "banana006.jpg"
        shutil.copy(ROOT / "docs/images" / photograph, folder / f"{index:02}.jpg")
    return folder


@pytest.mark.exhaustive
def test_a_camera_publishes_to_a_broker_and_switches_a_pin(
    film: Path, tmp_path: Path, pins: MockFactory, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["camera", "--source", str(film), "--json", "--appear-after", "2", "--leave-after", "4"]
    assert "--frames 0" in refused(capsys, [*words, "--mqtt", "mqtt://none.invalid/cam", "--frames", "0"])
    with broker(tmp_path, port := free_port()):
        heard = Heard(port)
        capsys.readouterr()
        assert main([*words, "--mqtt", f"mqtt://127.0.0.1:{port}/other"]) == 0
        best = [json.loads(line)["predictions"][0]["label"] for line in capsys.readouterr().out.splitlines()]
        first, second = best[0], best[6]
        assert best == [first] * 6 + [second] * 6 + [first] * 6 and first != second
        switched: list[tuple[int, bool]] = []
        monkeypatch.setattr(
            "glsl_infer.tools.camera.pins.Pins.changed",
            lambda self, name, present, real=Pins.changed: (
                real(self, name, present),
                switched.append((17, bool(pins.pin(17).state))),
            ),
        )
        gpio = ["--gpio", f"{first}=17", "--gpio", f"{second}=17", "--gpio", f"{second}=4"]
        assert "has a pin already" in refused(capsys, [*words, *gpio])
        assert main([*words, "--mqtt", f"mqtt://127.0.0.1:{port}/home/cam/", *gpio[:4]]) == 0
        wait_for(lambda: heard.last.get("home/cam/status") == "offline")
        heard.close()
    topic = "home/cam/{}".format
    assert [message for message in heard.all if message[0] in (topic(first), topic(second))] == [
        (topic(first), "ON"),
        (topic(second), "ON"),
        (topic(first), "OFF"),
        (topic(first), "ON"),
        (topic(second), "OFF"),
    ]
    assert [payload for name, payload in heard.all if name == topic("status")] == ["online", "offline"]
    assert switched == [(17, True)] * 5, "one of both is always there"
    assert not pins.pin(17).state, "in the end it is off"


def test_a_broker_that_restarts_gets_the_last_messages(tmp_path: Path, capfd: Capture) -> None:
    port = free_port()
    with broker(tmp_path, port):
        client = mqtt.Broker(f"mqtt://127.0.0.1:{port}/cam")
        client.changed("a/b#c+", True)
    with client:
        wait_for(lambda: "connecting again" in capfd.readouterr().err)
        client.changed("dog", True)
        client.changed("a/b#c+", False)
        with broker(tmp_path, port):
            heard = Heard(port)
            wait_for(lambda: heard.last == {"cam/status": "online", "cam/a_b_c_": "OFF", "cam/dog": "ON"})
            heard.close()
        wait_for(lambda: not client._client.is_connected())


def test_the_broker_publishes_the_will_of_a_lost_camera(tmp_path: Path) -> None:
    with broker(tmp_path, port := free_port()):
        heard = Heard(port)
        client = mqtt.Broker(f"mqtt://127.0.0.1:{port}/cam")
        wait_for(lambda: heard.last.get("cam/status") == "online")
        client._client.loop_stop()
        client._client.socket().close()
        wait_for(lambda: heard.last["cam/status"] == "offline")
        heard.close()


def test_a_wrong_password_is_refused_without_being_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with broker(tmp_path, port := free_port(), users=True):
        for url in (f"mqtt://127.0.0.1:{port}/cam", f"mqtt://{USER}:wrong@127.0.0.1:{port}/cam"):
            with pytest.raises(
                RunError, match=r"the broker refuses \(.*password in the variable GLSL_INFER_MQTT_PASSWORD"
            ) as caught:
                mqtt.Broker(url)
            assert "wrong" not in str(caught.value)
        monkeypatch.setenv(mqtt.PASSWORD, PASSWORD)
        with mqtt.Broker(f"mqtt://{USER}@127.0.0.1:{port}/cam") as client:
            client.changed("cat", True)
    with pytest.raises(RunError, match="cannot be reached"):
        mqtt.Broker(f"mqtt://127.0.0.1:{free_port()}/cam")


@pytest.mark.parametrize(
    "url",
    [
        "host/topic",
        "http://host/topic",
        "mqtt://host",
        "mqtt://host/",
        "mqtt://h:x/t",
        "mqtt://u:s3cret@/t",
        "u:s3cret@host/topic",
        "mqtt://u:12#s3cret@host/topic",
        "mqtt://u:12?s3cret@host/topic",
        "mqtt://h/a/%23",
    ],
)
def test_invalid_mqtt_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"mqtt://\[USER@\]HOST\[:PORT\]/TOPIC") as caught:
        mqtt.address_of(url)
    assert "s3cret" not in str(caught.value)
    assert "--mqtt ://" not in str(caught.value)


def test_invalid_gpio_pins_are_refused(film: Path, tmp_path: Path, pins: MockFactory, capsys: Capture) -> None:
    camera = ["camera", "--model", write_tiny(tmp_path), "--source", film]
    assert "from 0 to 27" in refused(capsys, [*camera, "--gpio", "cat=28"])
    assert "give --gpio LABEL=17" in refused(capsys, [*camera, "--gpio", "17"])
    assert "a task has no labels; give --gpio 17" in refused(capsys, [*camera, "--task", "faces", "--gpio", "cat=17"])
    assert "--gpio cow=17: " in refused(capsys, [*camera, "--gpio", "cow=17"])
    gpiozero.Device.pin_factory = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPIOZERO_PIN_FACTORY", "rpigpio")
        assert "--gpio first=17: no such pin" in refused(capsys, [*camera, "--gpio", "first=17"])
        assert "--gpio cow=17: " in refused(capsys, [*camera, "--gpio", "cow=17"])  # the label is checked first
    gpiozero.Device.pin_factory = pins

"""minisign signatures of model files: only files signed by the required key are used."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Capture, refused
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.errors import InputError
from glsl_infer.support import signatures

# The documented example of minisign, made by minisign itself.
KEY = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
SIGNATURE = """untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==
"""


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    (tmp_path / "test").write_bytes(b"test")
    (tmp_path / "test.minisig").write_text(SIGNATURE)
    return tmp_path / "test"


def test_signatures_of_minisign_are_accepted(signed: Path) -> None:
    signatures.require(signed, KEY)
    (signed.parent / "key.pub").write_text(f"untrusted comment: minisign public key E7620F1842B4E81F\n{KEY}\n")
    signatures.require(signed, str(signed.parent / "key.pub"))


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "another file": (lambda path: path.write_bytes(b"tesT"), "test: is not the file that was signed in test.minisig"),
    "huge": (lambda path: os.truncate(path, 2 << 30), "test: cannot be read .it is larger than 1 GiB"),
    "another comment": (
        lambda path: beside(path, SIGNATURE.replace("1555", "1556")),
        "is not the file that was signed",
    ),
    "none": (lambda path: (path.parent / "test.minisig").unlink(), "no such file; a signature is required"),
    "empty": (lambda path: beside(path, ""), "not a signature of minisign"),
    "cut": (lambda path: beside(path, SIGNATURE[:150]), "not a signature of minisign"),
    "long": (lambda path: beside(path, SIGNATURE + "x" * 9000), "not a signature of minisign"),
    "no base64": (lambda path: beside(path, SIGNATURE.replace("RWQf", "RW!f")), "not a signature of minisign"),
    "another kind": (lambda path: beside(path, SIGNATURE.replace("RWQf", "RXQf")), "not a signature of minisign"),
}


def beside(path: Path, text: str) -> None:
    (path.parent / "test.minisig").write_text(text)


@pytest.mark.parametrize("how", SPOILT)
def test_invalid_signatures_are_refused(signed: Path, how: str) -> None:
    spoil, expected = SPOILT[how]
    spoil(signed)
    with pytest.raises(InputError, match=expected):
        signatures.require(signed, KEY)


@pytest.mark.parametrize("key", ["RWQx", "no-such-file.pub", "", KEY.replace("RWQ", "SWQ")])
def test_invalid_keys_are_refused(signed: Path, key: str) -> None:
    with pytest.raises(InputError, match="--require-signature"):
        signatures.require(signed, key)


def signer(kind: bytes) -> tuple[str, Callable[[Path], None]]:
    """Return a key's public text and a function that signs a file, in the older format (Ed) or the newer (ED)."""
    secret, key_id = Ed25519PrivateKey.generate(), b"12345678"

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode("ascii")

    def sign(path: Path) -> None:
        data, message = path.read_bytes(), b"by me"
        signature = secret.sign(hashlib.blake2b(data).digest() if kind == b"ED" else data)
        lines = [
            "untrusted comment: x",
            text(kind + key_id + signature),
            "trusted comment: by me",
            text(secret.sign(signature + message)),
        ]
        path.with_name(f"{path.name}.minisig").write_text("\n".join(lines) + "\n")

    return text(b"Ed" + key_id + secret.public_key().public_bytes_raw()), sign


@pytest.mark.parametrize("kind", [b"Ed", b"ED"])
def test_deploy_and_classify_require_signatures(tmp_path: Path, capsys: Capture, kind: bytes) -> None:
    key, sign = signer(kind)
    other, _ = signer(kind)
    model = write_tiny(tmp_path)
    (tmp_path / "deployment.yml").write_text("target: files\nmodels:\n  - {name: tiny, source: tiny.glslnn}\n")
    deploy = ["deploy", tmp_path / "deployment.yml", "--require-signature"]
    classify = ["classify", tmp_path / "none.jpg", "--model", model, "--require-signature"]
    assert "a signature is required" in refused(capsys, [*deploy, key])
    for command in ("classify", "run", "camera"):
        argv = {"classify": classify[1:-1], "run": [model, "none.jpg"], "camera": ["--model", model]}[command]
        assert "a signature is required" in refused(capsys, [command, *argv, "--require-signature", key])
    sign(model)
    assert "none.jpg: no such file" in refused(capsys, [*classify, key])
    assert "is not the file that was signed" in refused(capsys, [*classify, other])
    assert main([*map(str, deploy), key]) == 0
    assert (tmp_path / "deployment/models/tiny.glslnn").read_bytes() == model.read_bytes()
    capsys.readouterr()
    task = ["camera", "--source", tmp_path, "--task", "faces", "--require-signature", key]
    assert "leave --task out" in refused(capsys, task)
    assert "give --model as well" in refused(capsys, ["classify", "a.jpg", "--require-signature", key])

"""README.md for a package's page, without links or pictures relative to a checkout.

hatchling loads ``PackagePage`` (``[tool.hatch.metadata.hooks.custom]`` of pyproject.toml). ``GLSL_INFER_REPOSITORY``,
the address of the repository of a release, makes links absolute and is the package's project URL. Without it, links
become plain text and pictures are removed. A source distribution already has its page in PKG-INFO.
"""

from __future__ import annotations

import email
import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "GLSL_INFER_REPOSITORY"

_PICTURE = re.compile(r'!\[(?P<alt>[^\]]*)\]\((?P<path>[^)\s]+)\)|<img src="(?P<src>[^"]+)"(?P<rest>[^>]*)>')
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s]+)\)")


def page(text: str, repository: str, version: str) -> str:
    """Return a Markdown page whose links work anywhere.

    Args:
        text: page with links relative to the repository's root.
        repository: address of the repository, https://HOST/OWNER/NAME, or "" if it has none.
        version: version of the release; its tag has the prefix v.
    """
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        lines.append(line if fenced or line.startswith("    ") else _line(line, repository, f"v{version}"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _line(line: str, repository: str, tag: str) -> str:
    def picture(match: re.Match[str]) -> str:
        path = match["path"] or match["src"]
        if _absolute(path):
            return match[0]
        if not repository:
            return ""
        address = f"{repository}/raw/{tag}/{path}"
        return f'<img src="{address}"{match["rest"]}>' if match["src"] else f"![{match['alt']}]({address})"

    def link(match: re.Match[str]) -> str:
        if _absolute(match["path"]):
            return match[0]
        return f"[{match['text']}]({repository}/blob/{tag}/{match['path']})" if repository else match["text"]

    return _LINK.sub(link, _PICTURE.sub(picture, line)).rstrip()


def _absolute(path: str) -> bool:
    return "://" in path or path.startswith(("#", "mailto:"))


def repository() -> str:
    """Return the address of the repository from the environment, or "".

    Raises:
        ValueError: the value is not the address of a repository.
    """
    address = os.environ.get(REPOSITORY, "").rstrip("/").removesuffix(".git")
    if address and not re.fullmatch(r"https://[^/\s]+/\S+", address):
        raise ValueError(f"{REPOSITORY}={address!r}: give the repository's address, https://HOST/OWNER/NAME")
    return address


class PackagePage(MetadataHookInterface):
    """Set the dynamic fields of pyproject.toml: the page, and the project's URLs."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add ``readme`` and ``urls`` to a project's metadata."""
        root = Path(self.root)
        page_path = root / "PKG-INFO"
        if page_path.exists():  # a source distribution
            message = email.message_from_bytes(page_path.read_bytes())
            text = message.get_payload(decode=True).decode("utf-8")  # type: ignore[union-attr]
            urls = dict(url_line.split(", ", 1) for url_line in message.get_all("Project-URL", []))
        else:
            version = re.search(r'^__version__ = "(.+)"$', (root / "glsl_infer/__init__.py").read_text("utf-8"), re.M)
            assert version
            address = repository()
            text = page((root / "README.md").read_text("utf-8"), address, version[1])
            urls = _urls(address, f"v{version[1]}") if address else {}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls


def _urls(address: str, tag: str) -> dict[str, str]:
    return {
        "Source": address,
        "Documentation": f"{address}/blob/{tag}/README.md",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }

"""A real node's recorded answers, asked again: what they are, and how ours compare."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from chain.blocks import SlotRecord
from upstream.archives.json_dumps import json_block

FOLDER = "agave-4.4.0"
# What is of the moment in a node's texts, and nothing that a caller could rely on.
_OF_THE_MOMENT = (
    (re.compile(r"First available block: \d+"), "First available block: N"),
    (re.compile(r"is too large; max \d+"), "is too large; max N"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a node, and what the node answered: bodies as JSON values, or as text where they
    are not JSON.
    """

    method: str
    what: str
    request: Any
    answer: Any

    @property
    def body(self) -> bytes:
        """The request as it was sent."""
        if isinstance(self.request, str):
            # Recorded byte by byte.
            return self.request.encode("latin-1")
        return json.dumps(self.request).encode()

    @property
    def name(self) -> str:
        return f"{self.method} {self.what}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The node's answers, and the names of its chain that occur in the requests."""

    asked: list[Asked]
    facts: Mapping[str, Any]


def load(fixtures: Path, name: str) -> Any:
    """A recorded JSON file; the test is skipped where it is not."""
    path = fixtures / FOLDER / f"{name}.json.zst"
    if not path.is_file():
        pytest.skip(f"the recorded answers are not here: {path}")
    with path.open("rb") as file:
        return json.loads(zstandard.ZstdDecompressor().stream_reader(file).read())


def recorded(fixtures: Path) -> Recorded:
    """The answers to every kind of params."""
    found = load(fixtures, "answers")
    asked = [
        Asked(each["method"], each["what"], each["request"], each["answer"])
        for each in found["answers"]
    ]
    return Recorded(asked, found)


def difference(theirs: Any, ours: Any) -> str:
    """What a caller would see; empty if the codes, texts and shapes are equal. Ours may say more in
    an error's data.
    """
    if isinstance(theirs, list) and isinstance(ours, list):
        found = [difference(*each) for each in zip(theirs, ours, strict=False)]
        return next(filter(None, found), "" if len(theirs) == len(ours) else "another count")
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return "" if theirs == ours else f"{theirs!r:.150} is {ours!r:.150}"
    if "error" in theirs and "error" in ours:
        wanted, got = _said(theirs["error"]), _said(ours["error"])
        return "" if wanted == got else f"{wanted} is {got}"
    if "error" in theirs or "error" in ours or theirs.keys() != ours.keys():
        return f"{json.dumps(theirs)[:150]} is {json.dumps(ours)[:150]}"
    if theirs["id"] != ours["id"]:
        return "another id"
    return _shape(theirs["result"], ours["result"], "result")


def _said(error: Mapping[str, Any]) -> tuple[int, str]:
    text = error["message"]
    for pattern, name in _OF_THE_MOMENT:
        text = pattern.sub(name, text)
    return error["code"], text


def _shape(theirs: Any, ours: Any, at: str) -> str:
    """The first place whose kind of value differs; null fits any, and a list's first entry stands
    for all of them.
    """
    if theirs is None or ours is None:
        return ""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if at.endswith(".status") or any(len(name) > 40 for name in theirs):
            return ""  # its names are the chain's: Ok or Err, and keys
        if theirs.keys() != ours.keys():
            return f"{at}: {sorted(theirs)} is {sorted(ours)}"
        found = (_shape(theirs[name], ours[name], f"{at}.{name}") for name in theirs)
        return next(filter(None, found), "")
    if isinstance(theirs, list) and isinstance(ours, list):
        return _shape(theirs[0], ours[0], f"{at}[0]") if theirs and ours else ""
    if type(theirs) is type(ours):
        return ""
    return f"{at}: {theirs!r:.80} is {ours!r:.80}"


def blocks(fixtures: Path) -> list[SlotRecord]:
    """The recorded chain, from slot 0 on."""
    found = load(fixtures, "blocks")
    return [
        json_block(json.dumps(block).encode(), given=int(slot), name=FOLDER)[0]
        for slot, block in found.items()
    ]

"""What the supervisor prints, where every line is to be one JSON object."""

import json
from datetime import UTC, datetime
from io import TextIOBase
from typing import TextIO

from honcho.printer import Message

from config.json_lines import time_of


class JsonPrinter:
    """The supervisor's printer: objects pass as they are, any other line becomes one."""

    def __init__(self, output: TextIO | TextIOBase) -> None:
        self.output = output

    def write(self, message: Message) -> None:
        if message.type != "line":
            return
        text = message.data if isinstance(message.data, str) else message.data.decode()
        if not _is_object(text):
            text = line(text, process=message.name)
        self.output.write(f"{text}\n")
        self.output.flush()


def line(text: str, *, process: str | None, level: str = "INFO") -> str:
    """A text as an object of the same members."""
    members = {
        "time": time_of(datetime.now(UTC)),
        "level": level,
        "logger": "",
        "process": process or "run",
        "message": text,
    }
    return json.dumps(members, ensure_ascii=False)


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False

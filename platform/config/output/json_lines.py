"""Logs for machines: each line one JSON object, whichever process wrote it."""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pythonjsonlogger.json import JsonFormatter

# The supervisor names each process by it.
PROCESS = "TIDEMARK_PROCESS"
# Of Django's own records: objects whose text holds addresses with keys in them.
_LEFT_OUT = ("request", "server_time", "taskName")


class JsonLines(JsonFormatter):
    """time, level, logger, process, message; a traceback as one field; what a record has beside."""

    def __init__(self) -> None:
        super().__init__(
            "%(levelname)s %(name)s %(message)s",
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
        )
        self._process = os.environ.get(PROCESS) or _command()

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        log_data["time"] = time_of(datetime.fromtimestamp(record.created, UTC))
        log_data["process"] = self._process
        super().add_fields(log_data, record, message_dict)
        for name in _LEFT_OUT:
            log_data.pop(name, None)


def _command() -> str:
    """What was started by hand: `follow` of `manage.py follow`."""
    name, *words = sys.argv or [""]
    is_django = Path(name).name == "manage.py" and bool(words)
    return words[0] if is_django else Path(name).name


def time_of(moment: datetime) -> str:
    """2026-01-31T14:05:09.123Z"""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""What is logged, and in which form."""

import logging
import re
from typing import Any

from config.repeated_lines import RepeatedLines

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS = ("line", "json")

_STDERR = "stderr"
# Anyone with such an address can choose that user's password.
_LINKS = re.compile(
    r"(/portal/(?:invitation|password|alert-address)/|/admin/password/[^/\s]+/)[^/\s]+"
)


# Control characters but the line break and the tab, what turns the direction of a line, and halves
# of pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffd]"
)
_LONGEST, _LONGEST_TRACEBACK = 4_000, 40_000


class Lines(logging.Formatter):
    """Lines for people. Bytes that a peer or a server put into a text are escaped, so that they
    cannot steer a terminal, and a long text is cut.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escaped(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        return escaped(super().formatException(ei), longest=_LONGEST_TRACEBACK)


def escaped(text: str, *, longest: int = _LONGEST) -> str:
    """With every character that is not shown as \\xNN, and without what is above the longest."""
    found = _HIDDEN.sub(lambda each: each[0].encode("unicode_escape").decode(), text[:longest])
    more = len(text) - longest
    return f"{found}… ({more} more characters)" if more > 0 else found


class WithoutLinks(logging.Filter):
    """Takes the tokens out of addresses that Django logs with what it refused or failed at."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _LINKS.sub(r"\1…", each) if isinstance(each, str) else each for each in record.args
            )
        return True


def logging_of(level: str, form: str) -> dict[str, Any]:
    """Django's LOGGING."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            # Without a time: the reader of standard error (our supervisor, systemd, a container)
            # adds it.
            "line": {
                "()": "config.logs.Lines",
                "format": "%(levelname)s %(name)s: %(message)s",
            },
            "json": {"()": "config.json_lines.JsonLines"},
        },
        "filters": {
            "without_links": {"()": WithoutLinks},
            "repeated_lines": {"()": RepeatedLines},
        },
        "handlers": {
            _STDERR: {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["without_links", "repeated_lines"],
            }
        },
        "root": {"handlers": [_STDERR], "level": level},
        "loggers": {
            # A client's 4xx is not our event; 5xx come as ERROR with their traceback.
            "django.request": {"level": "ERROR"},
            "django.server": {"level": "WARNING"},
            "django": {"handlers": [], "propagate": True, "level": "INFO"},
            # Three lines for each task that a clock starts, also when there was nothing to do: the
            # tasks say themselves what they did. Three for each QUIC connection, too.
            **{
                name: {"level": "DEBUG" if level == "DEBUG" else "WARNING"}
                for name in ("celery.beat", "celery.worker.strategy", "celery.app.trace", "quic")
            },
            # After a pause of a worker, a line for each tick that a clock made meanwhile.
            "celery.worker.request": {"level": "WARNING"},
        },
    }

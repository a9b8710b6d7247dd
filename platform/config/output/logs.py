"""What is logged, and in which form."""

import logging
import re
from typing import Any

from chain.shown_text import escaped
from config.output.repeated_lines import RepeatedLines

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS = ("line", "json")

_STDERR = "stderr"
# Anyone with such an address can choose that user's password.
_LINKS = re.compile(
    r"(/portal/(?:invitation|password|alert-address)/|/admin/password/[^/\s]+/)[^/\s]+"
)


_LONGEST_TRACEBACK = 40_000


class Lines(logging.Formatter):
    """Lines for people. Bytes that a peer or a server put into a text are escaped, so that they
    cannot steer a terminal, and a long text is cut.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escaped(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        return escaped(super().formatException(ei), longest=_LONGEST_TRACEBACK)


class WithoutLinks(logging.Filter):
    """Takes the tokens out of addresses that Django logs with what it refused or failed at."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _LINKS.sub(r"\1…", each) if isinstance(each, str) else each for each in record.args
            )
        return True


class OutagesOnce(logging.Filter):
    """Drops Django's line for a response 503: outages and full queues are logged where they are
    found, not with each call that they refuse.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) != 503


def logging_of(level: str, form: str) -> dict[str, Any]:
    """Django's LOGGING."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            # Without a time: the reader of standard error (our supervisor, systemd, a container)
            # adds it.
            "line": {
                "()": "config.output.logs.Lines",
                "format": "%(levelname)s %(name)s: %(message)s",
            },
            "json": {"()": "config.output.json_lines.JsonLines"},
        },
        "filters": {
            "without_links": {"()": WithoutLinks},
            "outages_once": {"()": OutagesOnce},
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
            "django.request": {"level": "ERROR", "filters": ["outages_once"]},
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

"""Readings of a service that is well, and how a test makes it unwell."""

from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from operations.readings.present import Readings, read
from operations.readings.processes import DUTIES, ProcessReading


def well(now: datetime) -> Readings:
    """As the tables are, with every process alive and a node that is followed."""
    found = read(now)
    return changed(
        found,
        sampled_at=now - timedelta(seconds=15),
        processes=[ProcessReading(kind, 1, now) for kind in DUTIES],
        chain=changed(found.chain, stream="following", source="a node", silent_seconds=0, behind=0),
        tips=changed(found.tips, classes=[]),
    )


S = TypeVar("S", bound=msgspec.Struct)


def changed(struct: S, **values: Any) -> S:
    return msgspec.structs.replace(struct, **values)

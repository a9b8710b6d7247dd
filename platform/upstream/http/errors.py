"""How an exchange fails. Connections fail with OSError, and with TimeoutError at the deadline."""


class BadAnswer(Exception):
    """What came is not a whole HTTP response; the text says why."""


class AnswerTooLarge(BadAnswer):
    """The response is above the bound, as it came or decompressed."""


class BadAddress(ValueError):
    """Not an address that requests can be sent to."""


class NotConnected(OSError):
    """No connection came about in time."""


class Busy(Exception):
    """Every connection is in use, and none became free in time."""


FAILURES = (OSError, BadAnswer, BadAddress)
# Of a call that shares its connections with others.
CALL_FAILURES = (*FAILURES, Busy)

"""Why a transaction did not reach a leader's TPU port, as texts for operators."""

import errno

from aioquic.quic.events import ConnectionTerminated


class TpuError(Exception):
    """The leader is not known to have the transaction; `kind` is a stable word to count by."""

    kind = "failed"


class TooLarge(TpuError):
    """No leader takes a transaction of this size: nothing was sent."""

    kind = "too_large"


class Resting(TpuError):
    """We do not connect just now: it failed a moment ago, or was done too often this minute."""

    kind = "resting"


class Unreachable(TpuError):
    """No answer at the address."""

    kind = "unreachable"


class HandshakeFailed(TpuError):
    """There was an answer, but no connection."""

    kind = "handshake_failed"


class Backlogged(TpuError):
    """Too many transactions wait for the leader already: this one was not queued."""

    kind = "backlogged"


class NoCredit(TpuError):
    """The leader opened no stream for it in time: it was not sent."""

    kind = "no_credit"


class Unacknowledged(TpuError):
    """It was written, but the leader did not acknowledge it in time: it may have it or not."""

    kind = "unacknowledged"


class StreamRefused(TpuError):
    """The leader stopped reading this transaction."""

    kind = "stream_refused"


class Dropped(TpuError):
    """The leader dropped the connection, often to make room for a peer with more stake."""

    kind = "dropped"


class Disallowed(TpuError):
    """The leader does not take us: it serves staked peers only, or has no place left."""

    kind = "disallowed"


class TooManyConnections(TpuError):
    """The leader counts more connections of our identity or address than it allows."""

    kind = "too_many"


class StreamInvalid(TpuError):
    """The leader closed the connection since a stream was larger than it takes."""

    kind = "invalid_stream"


class ConnectionLost(TpuError):
    """The connection ended for another reason."""

    kind = "connection_lost"


class ClientClosed(TpuError):
    """We are shutting down."""

    kind = "client_closed"


# A leader's own close codes, which give the reason.
_BY_CODE: dict[int, tuple[type[TpuError], str]] = {
    1: (Dropped, "the leader dropped the connection"),
    2: (Disallowed, "the leader does not allow the connection"),
    4: (TooManyConnections, "the leader has too many connections of ours"),
    5: (StreamInvalid, "the leader calls a stream of ours invalid"),
}
_CONNECTION_REFUSED = 0x2
_APPLICATION_ERROR = 0xC
_TLS_ALERTS = range(0x100, 0x200)
_NO_APPLICATION_PROTOCOL = 0x178


def closed_by_peer(event: ConnectionTerminated, *, is_connected: bool) -> TpuError:
    """The error for whatever the leader closed the connection with."""
    if event.frame_type is None:
        return closed_by_leader(event.error_code, event.reason_phrase)
    return closed_by_transport(event.error_code, event.reason_phrase, is_connected=is_connected)


def closed_by_leader(code: int, reason: str) -> TpuError:
    """The error for an application's close code."""
    kind, words = _BY_CODE.get(code, (ConnectionLost, "the leader closed the connection"))
    return kind(f"{words} (code {code}{_quoted(reason)})")


def closed_by_transport(code: int, reason: str, *, is_connected: bool) -> TpuError:
    """The error for a close code of QUIC itself."""
    detail = _quoted(reason)
    if is_connected:
        return ConnectionLost(f"the connection ended (QUIC code {code:#x}{detail})")
    if code == _NO_APPLICATION_PROTOCOL:
        return HandshakeFailed("the server there is no leader: it does not speak solana-tpu")
    if code in _TLS_ALERTS:
        return HandshakeFailed(f"the TLS handshake failed (alert {code - 0x100}{detail})")
    if code in (_CONNECTION_REFUSED, _APPLICATION_ERROR):
        # So a leader turns away whom it has seen too often this minute, or has no room for.
        return Disallowed(f"the leader refused the connection (QUIC code {code:#x}{detail})")
    return HandshakeFailed(f"the handshake failed (QUIC code {code:#x}{detail})")


def cut_by_system(error: OSError, *, is_connected: bool) -> TpuError:
    """The error for what the system says about the way to the leader."""
    if error.errno == errno.ECONNREFUSED:
        detail = "nothing listens at the address"
    else:
        detail = f"no route to the address: {error.strerror or error}"
    return ConnectionLost(detail) if is_connected else Unreachable(detail)


def _quoted(reason: str) -> str:
    """The peer's own words, as few of them as a log line bears."""
    plain = "".join(character for character in reason if character.isprintable())[:100]
    return f": {plain}" if plain else ""

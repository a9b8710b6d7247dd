"""The extensions behind a Token-2022 mint or account that say one thing each."""

from collections.abc import Callable
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError

_ACCOUNT_STATES = ("uninitialized", "initialized", "frozen")


def _state_of_accounts(cursor: Cursor) -> dict[str, Any]:
    state = cursor.u8()
    if state >= len(_ACCOUNT_STATES):
        raise UnreadableError
    return {"accountState": _ACCOUNT_STATES[state]}


# By the number of their type; what is missing here makes an account unreadable as a whole.
_EXTENSIONS: dict[int, tuple[str, Callable[[Cursor], dict[str, Any]] | None]] = {
    2: ("transferFeeAmount", lambda cursor: {"withheldAmount": cursor.u64()}),
    3: ("mintCloseAuthority", lambda cursor: {"closeAuthority": cursor.nullable_pubkey()}),
    6: ("defaultAccountState", _state_of_accounts),
    7: ("immutableOwner", None),
    8: ("memoTransfer", lambda cursor: {"requireIncomingTransferMemos": cursor.flag()}),
    9: ("nonTransferable", None),
    11: ("cpiGuard", lambda cursor: {"lockCpi": cursor.flag()}),
    12: ("permanentDelegate", lambda cursor: {"delegate": cursor.nullable_pubkey()}),
    13: ("nonTransferableAccount", None),
    15: ("transferHookAccount", lambda cursor: {"transferring": cursor.flag()}),
    18: (
        "metadataPointer",
        lambda cursor: {
            "authority": cursor.nullable_pubkey(),
            "metadataAddress": cursor.nullable_pubkey(),
        },
    ),
    27: ("pausableAccount", None),
}


def parse_extensions(cursor: Cursor) -> list[dict[str, Any]]:
    """`[{"extension": name, "state": {…}}]` in the order of their entries."""
    found = []
    while len(cursor.data) - cursor.at >= 2:
        kind = cursor.u16()
        if kind == 0:  # the room behind the last entry
            break
        body = Cursor(cursor.take(cursor.u16()))
        known = _EXTENSIONS.get(kind)
        if known is None:
            raise UnreadableError
        name, read = known
        entry: dict[str, Any] = {"extension": name}
        if read is not None:
            entry["state"] = read(body)
        found.append(entry)
    return found

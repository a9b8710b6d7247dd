"""The memos of a transaction, as the standard node's lists show them."""

from chain.addresses import MEMO_1, MEMO_2, MEMO_3
from chain.transactions import Wire

_PROGRAMS = {bytes(each) for each in (MEMO_1, MEMO_2, MEMO_3)}


def memo_of(wire: Wire) -> str | None:
    """Those of the top-level instructions."""
    keys = wire.account_keys
    memos = []
    for program, _, data in wire.instructions:
        if program < len(keys) and keys[program] in _PROGRAMS:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = "(unparseable)"
            memos.append(f"[{len(data)}] {text}")
    return "; ".join(memos) if memos else None

"""What is known to fail before it is sent: version 1 transactions that ask for too little."""

from collections.abc import Sequence

from chain.transaction_settings import BadSettings, settings_of_wire
from chain.transactions import Wire

WILL_FAIL = "will_fail"


def why_it_fails(wire: Wire) -> str:
    """Why the transaction fails whatever the accounts are, as a sentence; empty unless it does. A
    version 1 transaction gets no size of loaded accounts and no compute units unless it asks for
    them (SIMD-0385).
    """
    if wire.version != 1:
        return ""
    try:
        err = settings_of_wire(wire).will_fail
    except BadSettings:
        return ""
    if err == "MaxLoadedAccountsDataSizeExceeded":
        return (
            "it asks for no loadedAccountsDataSizeLimit, and version 1 has no default: it fails at"
            " loading with MaxLoadedAccountsDataSizeExceeded, and pays the fee"
        )
    if err is None:
        return ""
    return (
        "it asks for no computeUnitLimit, and version 1 has no default: it fails at its first"
        f" instruction with {err}, and pays the fee"
    )


def advice(wires: Sequence[Wire]) -> str:
    """The header `X-Advice` of what was accepted and will fail; empty for all else."""
    many = len(wires) > 1
    found = []
    for index, wire in enumerate(wires):
        why = why_it_fails(wire)
        if why:
            found.append(f"transaction {index}: {why}" if many else why)
    return f"{WILL_FAIL}: {'; '.join(found)}" if found else ""

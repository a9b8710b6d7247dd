"""`context.completeness`: how far a response is proved, the same for all archive methods."""

from typing import Annotated, Literal

from solders.pubkey import Pubkey

from jsonrpc.wire import As, Result


class CompletenessCause(Result, frozen=True, kw_only=True):
    """Why an answer may differ from what the whole history would give.

    cause: `gap`: these slots are missing, and something that the answer uses may have been
        written in them; `last_writes_only`: of slots in this range the archive has each account's
        last write alone, and earlier ones may be missing; `not_recorded`: the
        state of the accounts is not known; `filtered`: the archive does not, or did not, follow
        the accounts
    from_slot: the first slot; null if the cause is not one of slots
    to_slot: the last slot; null if the cause is not one of slots
    accounts: the accounts that it concerns
    """

    cause: Literal["gap", "last_writes_only", "not_recorded", "filtered"]
    from_slot: int | None
    to_slot: int | None
    accounts: Annotated[list[str], As(list[Pubkey])]


class Completeness(Result, frozen=True, kw_only=True):
    """Whether the answer is what the whole history would give.

    status: `whole`: nothing that the answer uses can have been written unseen; `incomplete`: it may
        have been, and `causes` says why
    causes: why it is incomplete, each kind once: of several gaps the newest; empty when it is whole
    """

    status: Literal["whole", "incomplete"]
    causes: list[CompletenessCause]


WHOLE = Completeness(status="whole", causes=[])

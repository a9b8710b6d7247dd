"""The filters of getTransactionsForAddress: pure comparisons of what a caller asked for.

An unknown member is refused: a filter that is dropped for a typing error gives wrong data.
"""

import msgspec

from historical.transactions.outcomes import Outcome, outcome_of
from jsonrpc.params import U64, Config


class SlotFilter(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Slots.

    gte: this one and those above
    gt: those above this one
    lte: this one and those below
    lt: those below this one
    """

    gte: U64 | None = None
    gt: U64 | None = None
    lte: U64 | None = None
    lt: U64 | None = None


class TimeFilter(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Block times in Unix seconds. A transaction without a block time matches none.

    gte: then and later
    gt: later
    lte: then and earlier
    lt: earlier
    eq: just then
    """

    gte: int | None = None
    gt: int | None = None
    lte: int | None = None
    lt: int | None = None
    eq: int | None = None


class SignatureFilter(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Compares base58 strings, not places in time.

    gte: this one and those that sort after it
    gt: those that sort after it
    lte: this one and those that sort before it
    lt: those that sort before it
    """

    gte: str | None = None
    gt: str | None = None
    lte: str | None = None
    lt: str | None = None


class Filters(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a transaction must be: all members must hold.

    slot: the slots that it is in
    block_time: when its block was made
    signature: its signature as text
    status: whether it succeeded; `unknown` are those that the source had no status of, which match
        neither `success` nor `failed`
    token_accounts: only `none` is supported: transactions of the address itself
    """

    slot: SlotFilter | None = None
    block_time: TimeFilter | None = None
    signature: SignatureFilter | None = None
    status: Outcome | None = None
    token_accounts: str | None = None


def slot_range(wanted: SlotFilter | None) -> tuple[int, int | None]:
    """Lowest and highest slot that can match, both inclusive; None is no upper end."""
    if wanted is None:
        return 0, None
    low = max(wanted.gte or 0, 0 if wanted.gt is None else wanted.gt + 1)
    ends = [wanted.lte, None if wanted.lt is None else wanted.lt - 1]
    given = [end for end in ends if end is not None]
    return low, min(given) if given else None


def time_range(wanted: TimeFilter) -> tuple[int | None, int | None]:
    """Earliest and latest time that can match, both inclusive; None is no end."""
    above = None if wanted.gt is None else wanted.gt + 1
    below = None if wanted.lt is None else wanted.lt - 1
    firsts = [bound for bound in (wanted.gte, above, wanted.eq) if bound is not None]
    lasts = [bound for bound in (wanted.lte, below, wanted.eq) if bound is not None]
    return max(firsts, default=None), min(lasts, default=None)


def time_matches(wanted: TimeFilter | None, time: int | None) -> bool:
    """A transaction without a block time matches no time filter."""
    return wanted is None or (time is not None and _within(wanted, time))


def signature_matches(wanted: SignatureFilter | None, signature: str) -> bool:
    return wanted is None or _within(wanted, signature)


def status_matches(wanted: Outcome | None, err: str | None) -> bool:
    return wanted is None or wanted == outcome_of(err)


def _within(wanted: msgspec.Struct, value: int | str) -> bool:
    bounds = msgspec.structs.asdict(wanted)
    tests = {
        "gte": value.__ge__, "gt": value.__gt__, "lte": value.__le__, "lt": value.__lt__,
        "eq": value.__eq__,
    }  # fmt: skip
    return all(tests[name](bound) for name, bound in bounds.items() if bound is not None)

"""Queries on stake accounts, and on the counts of them at epochs' turns."""

from collections.abc import Collection

from columns.queries import execute
from columns.raw_queries import fetch_all
from rewind.baselines.models import StakeTurn

Outcome = StakeTurn.Outcome
# Of those that ended, the newest: older epochs are over.
_NEWEST = 2


def keep_accounts(pubkeys: Collection[bytes]) -> None:
    """They are stake accounts, or were."""
    if not pubkeys:
        return
    execute(
        "INSERT INTO rewind_stakeaccount (pubkey) SELECT unnest(%s::bytea[])"
        " ON CONFLICT DO NOTHING",
        [sorted(pubkeys)],
    )


def accounts_after(pubkey: bytes, count: int) -> list[bytes]:
    """The next ones, ascending."""
    rows = fetch_all(
        "SELECT pubkey FROM rewind_stakeaccount WHERE pubkey > $1 ORDER BY pubkey LIMIT $2",
        pubkey,
        count,
    )
    return [found for (found,) in rows]


def begin(epoch: int, state_slot: int, first_slot: int, refused: str = "") -> None:
    """The epoch's count is there; `refused` says why it will not be made."""
    outcome = Outcome.REFUSED if refused else Outcome.RUNNING
    StakeTurn.objects.get_or_create(
        epoch=epoch,
        defaults={
            "state_slot": state_slot,
            "first_slot": first_slot,
            "outcome": outcome,
            "reason": refused,
        },
    )


def claim() -> StakeTurn | None:
    """The count that is under way, for this transaction alone."""
    running = StakeTurn.objects.select_for_update(skip_locked=True).filter(outcome=Outcome.RUNNING)
    return running.order_by("epoch").first()


def is_running() -> bool:
    return StakeTurn.objects.filter(outcome=Outcome.RUNNING).exists()


def advance(turn: StakeTurn, *, after: bytes, sums: bytes, accounts: int) -> None:
    """Accounts up to `after` are in the sums, `accounts` of them in this step."""
    turn.after, turn.sums, turn.accounts = after, sums, turn.accounts + accounts
    turn.save(update_fields=["after", "sums", "accounts"])


def end(turn: StakeTurn, outcome: Outcome, reason: str = "") -> None:
    turn.outcome, turn.reason, turn.sums = outcome, reason, b""
    turn.save(update_fields=["outcome", "reason", "sums"])


def epochs_from(epoch: int) -> set[int]:
    """Those with a count, at or above the epoch."""
    found = StakeTurn.objects.filter(epoch__gte=epoch)
    return set(found.values_list("epoch", flat=True))


def overrule(epoch: int, source: str) -> None:
    """What follows from the count for the epoch's stakes no longer matters."""
    StakeTurn.objects.filter(epoch=max(0, epoch - 1), outcome=Outcome.DIFFERS).update(
        outcome=Outcome.REFUSED, reason=f"the stakes of {source} were taken"
    )


def newest_difference() -> StakeTurn | None:
    """The newest count from which other stakes follow than a snapshot's, if it is a recent one."""
    newest = StakeTurn.objects.exclude(outcome=Outcome.RUNNING).order_by("-epoch")[:_NEWEST]
    return next((each for each in newest if each.outcome == Outcome.DIFFERS), None)

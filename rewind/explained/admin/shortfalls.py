"""How much an account was short of, and which balance would have sufficed, in sentences."""

from collections.abc import Iterator

from django.utils.html import format_html
from django.utils.safestring import SafeString

from chain.explained.funding import Payment, RentShortfall, Shortfall
from staff.formatting import shortened, sol

# One by one; more are summed up.
_NAMED_PAYMENTS = 3


def shortfall_text(
    found: Shortfall | RentShortfall | None, *, tip_address: str | None
) -> SafeString | str:
    """Empty for None. The account is shown as the table of balances shows it."""
    if found is None:
        return ""
    if isinstance(found, RentShortfall):
        return _of_rent(found)
    before = f"had {sol(found.before)} before the transaction"
    taken = list(_taken(found, tip_address))
    if taken:
        then = f"{before}, and {sol(found.had)} at this transfer, after {_listed(taken)}"
    else:
        then = f"{before}, and at this transfer"
    later = [_payment(each, tip_address) for each in found.later]
    parts = [f"the transfer of {sol(found.need)}", *taken, *_few(later, found.later)]
    # What other programs moved is not a price that can be listed.
    why = f" for {_listed(parts)}" if found.other == 0 else ""
    more = "" if found.is_whole else " Programs that were not reached may need more."
    return format_html(
        "{} {} {}. It was {} short. A balance of {} before the transaction would have sufficed{},"
        " and left nothing; an account that is not left empty must keep at least {}"
        " (rent-exempt minimum), which makes {}.{}",
        _account(found),
        shortened(found.pubkey),
        then,
        sol(found.missing),
        sol(found.sufficient),
        why,
        sol(found.sufficient_to_stay - found.sufficient),
        sol(found.sufficient_to_stay),
        more,
    )


def _of_rent(found: RentShortfall) -> SafeString:
    if found.is_new:
        enough = f"Send a new account at least {sol(found.minimum)}"
    else:
        enough = (
            f"It had {sol(found.before)} before the transaction; {sol(found.sufficient)} would"
            " have sufficed"
        )
    return format_html(
        "{} {} would be left with {}, {} below the rent-exempt minimum of {}. {}.",
        _account(found),
        shortened(found.pubkey),
        sol(found.left),
        sol(found.missing),
        sol(found.minimum),
        enough,
    )


def _account(found: Shortfall | RentShortfall) -> str:
    return "The fee payer" if found.is_fee_payer else "The account"


def _taken(found: Shortfall, tip_address: str | None) -> Iterator[str]:
    """What the balance at the transfer is less than the one before the transaction by."""
    if found.fee:
        yield f"the fee of {sol(found.fee)}"
    yield from _few([_payment(each, tip_address) for each in found.earlier], found.earlier)
    if found.other > 0:
        yield f"{sol(found.other)} that other calls took"
    elif found.other < 0:
        yield f"{sol(-found.other)} that other calls added"


def _payment(each: Payment, tip_address: str | None) -> str:
    if each.to == tip_address:
        return f"the tip of {sol(each.lamports)}"
    return f"another transfer of {sol(each.lamports)}"


def _few(texts: list[str], payments: tuple[Payment, ...]) -> list[str]:
    if len(texts) <= _NAMED_PAYMENTS:
        return texts
    total = sum(each.lamports for each in payments)
    return [f"{len(texts)} other transfers, {sol(total)} in all"]


def _listed(texts: list[str]) -> str:
    return " and ".join([*([", ".join(texts[:-1])] if texts[:-1] else []), *texts[-1:]])

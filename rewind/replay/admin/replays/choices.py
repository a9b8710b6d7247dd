"""What the form of a replay offers: the accounts of its transactions, and builds of programs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from solders.pubkey import Pubkey

from chain import addresses
from chain.explained.funding import RentShortfall, Shortfall
from chain.explained.instructions import program_name, sol
from chain.explained.transactions import explain
from chain.transaction_json import all_keys
from rewind.replay.services import comparing
from rewind.replay.services.replays.requests import ProgramEdit
from rewind.replay.services.replays.running import Subject
from rewind.replay.store import replays as store
from staff.formatting import size_of, utc

# A form has four fields for each; Django reads a thousand.
_MOST_ROWS = 200
_NATIVE = addresses.BUILTINS | {addresses.INSTRUCTIONS}


@dataclass(frozen=True, slots=True)
class AccountRow:
    """An account that the transactions load. `before` are its lamports before the first of them
    that does, None where they are not recorded. `sufficient` are those with which it would not have
    had too few, None where it had enough or that is not known.
    """

    pubkey: str
    before: int | None
    roles: tuple[str, ...]
    is_program: bool
    sufficient: int | None = None

    @property
    def sufficient_text(self) -> str:
        return "" if self.sufficient is None else f"{sol(self.sufficient)} SOL"

    @property
    def before_text(self) -> str:
        return "not recorded" if self.before is None else f"{sol(self.before)} SOL"


@dataclass(frozen=True, slots=True)
class BuildChoice:
    """A build of the operator's shelf, or an uploaded one; `program` is empty where it may be that
    of any.
    """

    label: str
    name: str
    size: int
    digest: str
    program: str = ""
    shelf_id: int | None = None
    upload_id: int | None = None

    @property
    def value(self) -> str:
        return f"shelf-{self.shelf_id}" if self.shelf_id is not None else f"own-{self.upload_id}"

    @staticmethod
    def value_of(edit: ProgramEdit) -> str:
        return f"shelf-{edit.shelf_id}" if edit.shelf_id is not None else f"own-{edit.upload_id}"


def account_rows(subjects: Sequence[Subject]) -> list[AccountRow]:
    """Each account once, in the order in which the transactions name them; without those that the
    engine takes no notice of.
    """
    found: dict[str, AccountRow] = {}
    for number, subject in enumerate(subjects, 1):
        for row in _rows_of(subject, number if len(subjects) > 1 else 0):
            known = found.get(row.pubkey)
            if known is None:
                found[row.pubkey] = row
                continue
            roles = tuple(dict.fromkeys((*known.roles, *row.roles)))
            is_program = known.is_program or row.is_program
            found[row.pubkey] = replace(known, roles=roles, is_program=is_program)
    return list(found.values())[:_MOST_ROWS]


def build_choices(customer_id: int | None, subjects: Sequence[Subject]) -> list[BuildChoice]:
    """The shelf's builds of programs that the transactions call, and the customer's uploads."""
    called = {
        key
        for each in subjects
        for key in comparing.called_programs(each.recorded.transaction, each.recorded.meta or {})
    }
    return [*_shelf(called), *_uploads(customer_id)]


def _shelf(programs: set[Pubkey]) -> Iterator[BuildChoice]:
    for row in store.shelf_builds(programs):
        last = "now" if row.to_slot is None else row.to_slot
        yield BuildChoice(
            label=f"{str(row.program)[:8]}…, slots {row.from_slot} to {last}: {row.source},"
            f" {size_of(row.size)}",
            name=row.source,
            size=row.size,
            digest=bytes(row.digest).hex(),
            program=str(row.program),
            shelf_id=row.pk,
        )


def _uploads(customer_id: int | None) -> Iterator[BuildChoice]:
    for row in store.builds_of(customer_id):
        digest = bytes(row.digest).hex()
        yield BuildChoice(
            label=f"{row.name}, {size_of(row.size)}, uploaded {utc(row.uploaded_at)}"
            f" by {row.uploaded_by} ({digest[:8]}…)",
            name=row.name,
            size=row.size,
            digest=digest,
            upload_id=row.pk,
        )


def _rows_of(subject: Subject, number: int) -> Iterator[AccountRow]:
    entry = subject.entry
    message = entry["transaction"]["message"]
    header, keys = message["header"], all_keys(entry)
    static, signers = len(message["accountKeys"]), header["numRequiredSignatures"]
    meta = entry["meta"] or {}
    balances = meta.get("preBalances") or []
    called = comparing.called_programs(subject.recorded.transaction, subject.recorded.meta or {})
    short = explain(entry).short
    looked_up = len((meta.get("loadedAddresses") or {}).get("writable") or ())
    for index, key in enumerate(keys):
        pubkey = Pubkey.from_string(key)
        if pubkey in _NATIVE:
            continue
        if index < signers:
            writable = index < signers - header["numReadonlySignedAccounts"]
        elif index < static:
            writable = index < static - header["numReadonlyUnsignedAccounts"]
        else:
            writable = index < static + looked_up
        is_program = pubkey in called
        roles = [
            f"pays transaction {number}" if number and index == 0 else "fee payer" * (index == 0),
            "signs" if 0 < index < signers else "",
            program_name(key) if is_program else "",
            "" if writable or is_program else "read-only",
        ]
        yield AccountRow(
            pubkey=key,
            before=balances[index] if index < len(balances) else None,
            roles=tuple(each for each in roles if each),
            is_program=is_program,
            sufficient=_sufficient(short) if short is not None and short.pubkey == key else None,
        )


def _sufficient(short: Shortfall | RentShortfall) -> int:
    """The balance before the transaction that lets it succeed, and the account stay."""
    return short.sufficient if isinstance(short, RentShortfall) else short.sufficient_to_stay

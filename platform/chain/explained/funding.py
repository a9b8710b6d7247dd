"""Why an account had too few lamports, from a transaction's calls, fee and balances."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from chain.encodings import b58decode
from chain.explained import programs
from chain.explained.calls import FailedCall
from chain.explained.errors import TOO_FEW_LAMPORTS
from chain.parsed.instructions import parse_instruction
from chain.rent import rent_exempt

Entry = dict[str, Any]
_HARMLESS = frozenset({programs.SYSTEM, programs.COMPUTE_BUDGET, *programs.MEMOS}) | (
    programs.PRECOMPILES
)
_MOVES = frozenset({"transfer", "transferWithSeed", "advanceNonce"})
# The least balance of a wallet that is not empty: it has no data.
WALLET_MINIMUM = rent_exempt(0)


@dataclass(frozen=True, slots=True)
class Payment:
    """Lamports that a call of the system program moves."""

    source: str
    to: str
    lamports: int


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A transfer of more than its source had. `before` is the source's balance in front of the
    transaction, `had` the one that the transfer found; between them lie the `fee` that the source
    paid (0 where another account did), the `earlier` payments, and `other` lamports that it paid
    (negative: received) some other way. `later` are its payments that would have come after it;
    `is_whole` is False where programs that were not reached may take more.
    """

    pubkey: str
    is_fee_payer: bool
    before: int
    had: int
    need: int
    fee: int
    earlier: tuple[Payment, ...]
    later: tuple[Payment, ...]
    is_whole: bool

    @property
    def missing(self) -> int:
        return self.need - self.had

    @property
    def other(self) -> int:
        return self.before - self.fee - self.had - sum(each.lamports for each in self.earlier)

    @property
    def sufficient(self) -> int:
        """The balance before the transaction that pays for all of it and leaves nothing."""
        return self.before + self.missing + sum(each.lamports for each in self.later)

    @property
    def sufficient_to_stay(self) -> int:
        """The same, with what a wallet must keep that is not left empty."""
        return self.sufficient + WALLET_MINIMUM


@dataclass(frozen=True, slots=True)
class RentShortfall:
    """An account without data that would be left with lamports below the rent-exempt minimum."""

    pubkey: str
    is_fee_payer: bool
    before: int
    left: int
    minimum: int

    @property
    def missing(self) -> int:
        return self.minimum - self.left

    @property
    def is_new(self) -> bool:
        return self.before == 0

    @property
    def sufficient(self) -> int:
        """The balance before the transaction that leaves the minimum."""
        return self.before + self.missing


def shortfall(
    call: FailedCall, instructions: list[Entry], keys: list[str], meta: Entry
) -> Shortfall | None:
    """None where the call did not fail for want of lamports, or balances are not recorded."""
    found = next(filter(None, map(TOO_FEW_LAMPORTS.match, reversed(call.own_logs))), None)
    if call.program_id != programs.SYSTEM or found is None:
        return None
    balances, source = meta.get("preBalances") or [], _source(_parsed(call.accounts, call.data))
    had, need = int(found["had"]), int(found["need"])
    if source not in keys[: len(balances)] or had >= need:
        return None
    index = keys.index(source)
    before_it, after_it = _around(call, instructions, meta)
    # The rest of a program that called the system program cannot be known.
    unknown = call.inner is not None or any(
        keys[each["programIdIndex"]] not in _HARMLESS
        for each in after_it
        if each["programIdIndex"] < len(keys)
    )
    return Shortfall(
        pubkey=source,
        is_fee_payer=index == 0,
        before=balances[index],
        had=had,
        need=need,
        fee=(meta.get("fee") or 0) if index == 0 else 0,
        earlier=tuple(_from(source, before_it, keys)),
        later=tuple(_from(source, after_it, keys)),
        is_whole=not unknown,
    )


def rent_shortfall(
    index: int, instructions: list[Entry], keys: list[str], meta: Entry
) -> RentShortfall | None:
    """For the error InsufficientFundsForRent of the account at `index`; None where the transaction
    does more than to move lamports, or the account may have data.
    """
    balances = meta.get("preBalances") or []
    if index >= min(len(keys), len(balances)) or not _only_moves(instructions, keys):
        return None
    key, before = keys[index], balances[index]
    payments = list(_payments(instructions, keys))
    if before and not any(each.source == key for each in payments):
        return None  # the system program moves lamports only from accounts without data
    left = (
        before
        - (meta.get("fee") or 0) * (index == 0)
        + sum(each.lamports for each in payments if each.to == key)
        - sum(each.lamports for each in payments if each.source == key)
    )
    if not 0 < left < WALLET_MINIMUM:
        return None
    return RentShortfall(key, index == 0, before, left, WALLET_MINIMUM)


def _around(
    call: FailedCall, instructions: list[Entry], meta: Entry
) -> tuple[list[Entry], list[Entry]]:
    """The calls that ran before the failed one, and the instructions that come after its own."""
    inner = {each["index"]: each["instructions"] for each in meta.get("innerInstructions") or []}
    before: list[Entry] = []
    for number, instruction in enumerate(instructions[: call.index]):
        before += [instruction, *inner.get(number, ())]
    if call.inner is not None:
        before += [instructions[call.index], *inner.get(call.index, ())[: call.inner - 1]]
    return before, instructions[call.index + 1 :]


def _from(source: str, calls: Sequence[Entry], keys: list[str]) -> Iterator[Payment]:
    for each in _payments(calls, keys):
        if each.source == source and each.to != source:
            yield each


def _only_moves(instructions: list[Entry], keys: list[str]) -> bool:
    for each in instructions:
        at = each["programIdIndex"]
        if at >= len(keys) or keys[at] not in _HARMLESS:
            return False
        if keys[at] == programs.SYSTEM:
            accounts = [keys[index] for index in each["accounts"] if index < len(keys)]
            if _parsed(accounts, each["data"]).get("type") not in _MOVES:
                return False
    return True


def _payments(calls: Sequence[Entry], keys: list[str]) -> Iterator[Payment]:
    """What calls of the system program move."""
    for each in calls:
        at = each["programIdIndex"]
        if at >= len(keys) or keys[at] != programs.SYSTEM:
            continue
        accounts = [keys[index] for index in each["accounts"] if index < len(keys)]
        body = _parsed(accounts, each["data"])
        info = body.get("info") or {}
        source, to = _source(body), info.get("destination") or info.get("newAccount")
        if source and to and "lamports" in info:
            yield Payment(source, to, info["lamports"])


def _source(body: Entry) -> str:
    info = body.get("info") or {}
    return str(info.get("source") or info.get("nonceAccount") or "")


def _parsed(accounts: Sequence[str], data: str) -> Entry:
    """Type and info of a call of the system program; empty where it cannot be read."""
    found = parse_instruction(programs.SYSTEM, list(accounts), b58decode(data))
    return {} if found is None else dict(found["parsed"])

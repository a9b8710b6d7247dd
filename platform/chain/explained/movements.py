"""What a transaction's calls move, SOL and tokens, and what it pays: fees and tips."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

from chain.encodings import b58decode
from chain.explained import programs
from chain.explained.instructions import Call, units
from chain.transaction_settings import Settings

Entry = dict[str, Any]
_SOL_DECIMALS = 9
# Of each signature, and each that a precompile checks; on mainnet since 2020.
_LAMPORTS_PER_SIGNATURE = 5_000
_SOURCES = ("source", "nonceAccount", "stakeAccount", "voteAccount")
_DESTINATIONS = ("destination", "newAccount", "newSplitAccount")
# Type → where the tokens come from and go to; a mint's own have one side only.
_TOKENS = {
    "transfer": ("source", "destination"),
    "transferChecked": ("source", "destination"),
    "transferCheckedWithFee": ("source", "destination"),
    "mintTo": (None, "account"),
    "mintToChecked": (None, "account"),
    "burn": ("account", None),
    "burnChecked": ("account", None),
}
TipReceiver: TypeAlias = Literal["service", "jito"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one call moved: lamports (no mint) or tokens, in the smallest unit. Tokens that are
    minted have no source, burnt ones no destination. Owners and decimals are None where the
    transaction's record does not have them.
    """

    instruction: str
    kind: str
    source: str | None
    destination: str | None
    source_owner: str | None
    destination_owner: str | None
    mint: str | None
    amount: str
    decimals: int | None
    ui_amount: str | None


@dataclass(frozen=True, slots=True)
class Fees:
    """In lamports; the parts are None where it cannot be known what was asked for."""

    payer: str
    total: int | None
    base: int | None
    priority: int | None


@dataclass(frozen=True, slots=True)
class Tip:
    """Lamports for a tip address: of this service, or a block engine of Jito's."""

    instruction: str
    address: str
    lamports: int
    receiver: TipReceiver


@dataclass(frozen=True, slots=True)
class _TokenAccount:
    mint: str
    decimals: int | None
    owner: str | None


def transfers_of(calls: Iterable[Call], keys: list[str], meta: Entry) -> Iterator[Transfer]:
    """By the programs' own instructions, in the order of `calls`. A program may also move lamports
    between its accounts without one: balances show that.
    """
    calls = list(calls)
    known = _token_accounts(calls, keys, meta)
    decimals = {each.mint: each.decimals for each in known.values() if each.decimals is not None}
    decimals[programs.WRAPPED_SOL] = _SOL_DECIMALS
    for call in calls:
        for kind, info in _token_parts(call):
            if kind in _TOKENS:
                yield _tokens(call, kind, info, known, decimals)
        info = call.decoded.info or {}
        if call.decoded.by == "program" and isinstance(info.get("lamports"), int):
            source, destination = _first(info, _SOURCES), _first(info, _DESTINATIONS)
            if source and destination:
                yield _sol(call, source, destination, info["lamports"])


def fees_of(entry: Entry, keys: list[str], settings: Settings | None) -> Fees:
    """Who asks for no price pays the base fee alone, which older clusters set themselves."""
    meta = entry.get("meta") or {}
    total = meta.get("fee")
    payer = keys[0] if keys else ""
    if total is None or settings is None:
        return Fees(payer, total, None, None)
    base = total
    if settings.priority_fee:
        message = entry["transaction"]["message"]
        signatures = message["header"]["numRequiredSignatures"] + sum(
            b58decode(each["data"])[0]
            for each in message["instructions"]
            if each["programIdIndex"] < len(keys)
            and keys[each["programIdIndex"]] in programs.PRECOMPILES
            and each["data"]
        )
        base = min(total, _LAMPORTS_PER_SIGNATURE * signatures)
    return Fees(payer, total, base, total - base)


def tips_of(transfers: Iterable[Transfer], own: Collection[str]) -> Iterator[Tip]:
    """Of the lamports that went to tip addresses; `own` are those of this service."""
    for each in transfers:
        if each.mint is not None or each.destination is None:
            continue
        if each.destination in own:
            yield Tip(each.instruction, each.destination, int(each.amount), "service")
        elif each.destination in programs.JITO_TIP_ACCOUNTS:
            yield Tip(each.instruction, each.destination, int(each.amount), "jito")


def _sol(call: Call, source: str, destination: str, lamports: int) -> Transfer:
    return Transfer(
        instruction=call.number,
        kind=call.decoded.kind,
        source=source,
        destination=destination,
        source_owner=None,
        destination_owner=None,
        mint=None,
        amount=str(lamports),
        decimals=_SOL_DECIMALS,
        ui_amount=units(lamports, _SOL_DECIMALS),
    )


def _token_parts(call: Call) -> Iterator[tuple[str, Any]]:
    """Type and info of an instruction of a token program, or of each one in a batch of them."""
    decoded = call.decoded
    if call.program_id not in (programs.TOKEN, programs.TOKEN_2022) or decoded.by != "program":
        return
    info = decoded.info or {}
    if decoded.kind == "batch":
        for each in info["instructions"]:
            yield each["type"], each["info"]
    else:
        yield decoded.kind, info


def _tokens(
    call: Call, kind: str, info: Any, known: dict[str, _TokenAccount], decimals: dict[str, int]
) -> Transfer:
    sides = [None if name is None else info.get(name) for name in _TOKENS[kind]]
    accounts = [None if side is None else known.get(side) for side in sides]
    mint = info.get("mint") or next((each.mint for each in accounts if each is not None), None)
    checked = info.get("tokenAmount") or {}
    amount = str(checked.get("amount", info.get("amount", "")))
    digits = checked.get("decimals", decimals.get(mint or ""))
    owners = [None if each is None else each.owner for each in accounts]
    return Transfer(
        instruction=call.number,
        kind=kind,
        source=sides[0],
        destination=sides[1],
        source_owner=owners[0],
        destination_owner=owners[1],
        mint=mint,
        amount=amount,
        decimals=digits,
        ui_amount=checked.get("uiAmountString")
        or (None if digits is None or not amount.isdecimal() else units(int(amount), digits)),
    )


def _token_accounts(calls: list[Call], keys: list[str], meta: Entry) -> dict[str, _TokenAccount]:
    """Those that had a balance before or after, and those that were made in between."""
    found = {}
    for kind, info in chain.from_iterable(map(_token_parts, calls)):
        if kind.startswith("initializeAccount") and "account" in info:
            found[info["account"]] = _TokenAccount(info.get("mint", ""), None, info.get("owner"))
    for name in ("preTokenBalances", "postTokenBalances"):
        for each in meta.get(name) or ():
            if each["accountIndex"] < len(keys):
                found[keys[each["accountIndex"]]] = _TokenAccount(
                    each["mint"], each["uiTokenAmount"].get("decimals"), each.get("owner")
                )
    return found


def _first(info: Any, names: Iterable[str]) -> str | None:
    return next((info[name] for name in names if isinstance(info.get(name), str)), None)

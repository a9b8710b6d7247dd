"""Files of stakes and voters, as readers give them to the check of a proof.

One epoch's is `{"epoch": 5, "firstSlot": 160, "lastSlot": 191, "stakes": {VOTE_ACCOUNT:
{"lamports": 7, "authorizedVoter": PUBKEY}}}`; a file may be a list of them. A response of
getVoteAccounts, or an object of lamports by vote account, has stakes only.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from solders.pubkey import Pubkey

from chain.slot_proof import MalformedProof
from chain.units import U64_MAX

_MOST_EPOCHS = 10_000

U64 = Annotated[int, Meta(ge=0)]  # the upper bound is checked apart: msgspec's is i64


class Electorate(NamedTuple):
    """Lamports by vote account in an epoch, and who may sign the accounts' votes in it; None if the
    file names no voters. The epoch, and its first and last slot, are None if it does not say.
    """

    stakes: dict[bytes, int]
    voters: dict[bytes, bytes] | None = None
    epoch: int | None = None
    slots: tuple[int, int] | None = None


class _Voter(Struct, rename="camel"):
    lamports: U64
    authorized_voter: str | None = None


class _Epoch(Struct, rename="camel", forbid_unknown_fields=True):
    epoch: U64
    stakes: dict[str, U64 | _Voter]
    first_slot: U64 | None = None
    last_slot: U64 | None = None


def read_electorates(text: bytes) -> list[Electorate]:
    """Of each epoch that the file has. Raises MalformedProof."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise MalformedProof("$", f"no JSON: {fault}") from None
    if not isinstance(value, list):
        return [_electorate(value, "$")]
    if not 0 < len(value) <= _MOST_EPOCHS:
        raise MalformedProof("$", f"the stakes of {len(value)} epochs")
    found = [_electorate(each, f"$[{number}]") for number, each in enumerate(value)]
    if len({each.epoch for each in found}) < len(found):
        raise MalformedProof("$", "an epoch is in it twice")
    return found


def read_vote_accounts(value: Any) -> dict[bytes, int]:
    """Lamports by vote account, of a result of getVoteAccounts. Raises MalformedProof."""
    if not isinstance(value, dict) or "current" not in value:
        raise MalformedProof("$", "a result of getVoteAccounts is expected")
    accounts = [*_list(value, "current"), *_list(value, "delinquent")]
    return _by_account([_pair(each, number) for number, each in enumerate(accounts)])


def write_electorates(electorates: Sequence[Electorate]) -> bytes:
    """Such a file."""
    made = []
    for each in electorates:
        stakes = {
            str(Pubkey(account)): {"lamports": lamports, "authorizedVoter": _name(each, account)}
            for account, lamports in sorted(each.stakes.items())
        }
        first, last = each.slots or (None, None)
        made.append({"epoch": each.epoch, "firstSlot": first, "lastSlot": last, "stakes": stakes})
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _name(electorate: Electorate, account: bytes) -> str | None:
    voter = (electorate.voters or {}).get(account)
    return None if voter is None else str(Pubkey(voter))


def _electorate(value: Any, place: str) -> Electorate:
    if isinstance(value, dict) and "jsonrpc" in value:
        value, place = value.get("result"), f"{place}.result"
    if not isinstance(value, dict):
        raise MalformedProof(place, "stakes by vote account are expected")
    if "current" in value:
        return Electorate(_with_stake(read_vote_accounts(value)))
    if "stakes" in value or "epoch" in value:
        return _epoch(value, place)
    return Electorate(_with_stake(_by_account(list(value.items()))))


def _epoch(value: dict[str, Any], place: str) -> Electorate:
    try:
        found = msgspec.convert(value, _Epoch)
    except msgspec.ValidationError as fault:
        reason, _, where = str(fault).partition(" - at `$")
        raise MalformedProof(place + where.rstrip("`"), reason) from None
    entries = {
        name: each if isinstance(each, _Voter) else _Voter(each)
        for name, each in found.stakes.items()
    }
    stakes = _with_stake(_by_account([(name, each.lamports) for name, each in entries.items()]))
    voters = {
        _account(name): _account(each.authorized_voter)
        for name, each in entries.items()
        if each.authorized_voter is not None
    }
    first, last = found.first_slot, found.last_slot
    if (first is None) is not (last is None) or (first or 0) > (last or 0):
        raise MalformedProof(place, "firstSlot and lastSlot are given together, in this order")
    slots = None if first is None or last is None else (first, last)
    return Electorate(stakes, voters or None, found.epoch, slots)


def _by_account(pairs: Sequence[tuple[object, object]]) -> dict[bytes, int]:
    found = {_account(key): _lamports(key, number) for key, number in pairs}
    if len(found) < len(pairs):
        raise MalformedProof("$", "a vote account is in it twice")
    return found


def _with_stake(stakes: dict[bytes, int]) -> dict[bytes, int]:
    total = sum(stakes.values())
    if not 0 < total <= U64_MAX:
        raise MalformedProof("$", f"the stakes sum to {total} lamports")
    return stakes


def _list(value: dict[str, object], name: str) -> list[object]:
    found = value.get(name, [])
    if not isinstance(found, list):
        raise MalformedProof(f"$.{name}", "a list is expected")
    return found


def _pair(entry: object, number: int) -> tuple[object, object]:
    if not isinstance(entry, dict):
        raise MalformedProof(f"$[{number}]", "a vote account is expected")
    return entry.get("votePubkey"), entry.get("activatedStake")


def _account(text: object) -> bytes:
    try:
        return bytes(Pubkey.from_string(text))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise MalformedProof(f"$.{text}", "no pubkey in base58") from None


def _lamports(key: object, number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= U64_MAX:
        raise MalformedProof(f"$.{key}", "no u64")
    return number

"""The document that proves a slot: what its bank's hash is made of, and the votes for that hash.

getSlotProof gives one, or with `chain` one that has those of the slots above it; a JSON list of
them, oldest first, is a chain. It can be checked without database or network
(chain/proof_check.py); docs/proof.md has the fields.
"""

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from solders.signature import Signature

from chain.encodings import b58decode, b64decode
from chain.lattice import LATTICE_BYTES
from chain.transactions import BadTransaction, Wire, decode_wire, sanitize
from chain.units import U64_MAX

# Of a chain; some kB each.
MOST_SLOTS = 1_000_000
# 32 bytes in base58.
MOST_DIGITS = 44
# Mainnet has some thousand vote accounts.
MOST_VOTES = 1 << 18


class MalformedProof(ValueError):
    """No proof document: `place` is where (`$[2].votes[0].stake`), `reason` why."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class VoteDocument(Struct, rename="camel"):
    """As the JSON has it."""

    vote_pubkey: str
    signature: str
    slot: int
    transaction: str
    stake: int | None = None
    authorized_voter: str | None = None


class SlotProofDocument(Struct, rename="camel"):
    """As the JSON has it; other fields are passed over."""

    slot: int
    bank_hash: str
    parent_slot: int
    parent_bank_hash: str
    signature_count: int
    blockhash: str
    accounts_lattice_hash: str
    accounts_lattice_checksum: str
    hard_fork_data: str | None = None
    epoch: int | None = None
    total_stake: int | None = None
    voted_through: int | None = None
    votes: Annotated[list[VoteDocument], Meta(max_length=MOST_VOTES)] = []


class Vote(NamedTuple):
    """A vote transaction that landed in the block of `slot`; its vote account's stake in lamports
    and who may sign for it, as the document has them; None where it does not.
    """

    vote_account: bytes
    signature: bytes
    slot: int
    data: bytes
    wire: Wire
    stake: int | None
    voter: bytes | None


class SlotProof(NamedTuple):
    """A document whose fields have the right sizes; nothing of it is checked. Hashes are 32 bytes,
    `lattice` 2,048, `total_stake` lamports; `voted_through` is the slot whose votes are said to
    settle it.
    """

    slot: int
    bank_hash: bytes
    parent_slot: int
    parent_bank_hash: bytes
    signature_count: int
    blockhash: bytes
    lattice: bytes
    checksum: bytes
    hard_fork: bytes | None
    epoch: int | None
    total_stake: int | None
    votes: tuple[Vote, ...]
    voted_through: int | None = None


def read_proofs(text: bytes) -> list[SlotProof]:
    """Of a document, of a list of them, or of JSON-RPC responses with either. Raises
    MalformedProof.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise MalformedProof("$", f"no JSON: {fault}") from None
    except RecursionError:
        raise MalformedProof("$", "no JSON that can be read: it nests too deep") from None
    place, value = _unwrapped("$", value)
    listed = enumerate(value) if isinstance(value, list) else None
    places = (
        [(place, value)] if listed is None else [(f"{place}[{at}]", each) for at, each in listed]
    )
    found = [part for each in places for part in _with_chain(*_unwrapped(*each))]
    if not 0 < len(found) <= MOST_SLOTS:
        raise MalformedProof(place, f"a chain of {len(found)} slots")
    return [_proof(each, where) for where, each in found]


def _unwrapped(place: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, dict) and "jsonrpc" in value:
        if "result" not in value:
            raise MalformedProof(place, "a JSON-RPC response without a result")
        place, value = f"{place}.result", value["result"]
    if isinstance(value, dict) and "value" in value and "context" in value:
        place, value = f"{place}.value", value["value"]
    return place, value


def _with_chain(place: str, value: Any) -> list[tuple[str, Any]]:
    """A document, and those of the slots above that are in it; each with its place."""
    above = value.get("chain") if isinstance(value, dict) else None
    if above is None:
        return [(place, value)]
    if not isinstance(above, list):
        raise MalformedProof(f"{place}.chain", "a list is expected")
    return [(place, value), *((f"{place}.chain[{at}]", each) for at, each in enumerate(above))]


def _proof(value: Any, place: str) -> SlotProof:
    try:
        found = msgspec.convert(value, SlotProofDocument)
    except msgspec.ValidationError as fault:
        reason, _, where = str(fault).partition(" - at `$")
        raise MalformedProof(place + where.rstrip("`"), reason) from None
    lattice = _base64(found.accounts_lattice_hash, f"{place}.accountsLatticeHash")
    if len(lattice) != LATTICE_BYTES:
        reason = f"{len(lattice)} bytes instead of {LATTICE_BYTES}"
        raise MalformedProof(f"{place}.accountsLatticeHash", reason)
    slot = _u64(found.slot, f"{place}.slot")
    parent_slot = _u64(found.parent_slot, f"{place}.parentSlot")
    # The first block has no parent: it names itself.
    if parent_slot >= slot > 0 or parent_slot > slot:
        raise MalformedProof(f"{place}.parentSlot", f"{parent_slot} is not below slot {slot}")
    fork = found.hard_fork_data
    return SlotProof(
        slot=slot,
        bank_hash=_hash(found.bank_hash, f"{place}.bankHash"),
        parent_slot=parent_slot,
        parent_bank_hash=_hash(found.parent_bank_hash, f"{place}.parentBankHash"),
        signature_count=_u64(found.signature_count, f"{place}.signatureCount"),
        blockhash=_hash(found.blockhash, f"{place}.blockhash"),
        lattice=lattice,
        checksum=_hash(found.accounts_lattice_checksum, f"{place}.accountsLatticeChecksum"),
        hard_fork=None if fork is None else _fork(fork, f"{place}.hardForkData"),
        epoch=_number(found.epoch, f"{place}.epoch"),
        total_stake=_number(found.total_stake, f"{place}.totalStake"),
        votes=tuple(
            _vote(each, f"{place}.votes[{number}]") for number, each in enumerate(found.votes)
        ),
        voted_through=_number(found.voted_through, f"{place}.votedThrough"),
    )


def _vote(vote: VoteDocument, place: str) -> Vote:
    data = _base64(vote.transaction, f"{place}.transaction")
    try:
        wire = decode_wire(data)
        sanitize(wire)
    except BadTransaction as fault:
        raise MalformedProof(f"{place}.transaction", str(fault)) from None
    try:
        signature = bytes(Signature.from_string(vote.signature))
    except ValueError:
        raise MalformedProof(f"{place}.signature", "no signature in base58") from None
    voter = vote.authorized_voter
    return Vote(
        vote_account=_pubkey(vote.vote_pubkey, f"{place}.votePubkey"),
        signature=signature,
        slot=_u64(vote.slot, f"{place}.slot"),
        data=data,
        wire=wire,
        stake=_number(vote.stake, f"{place}.stake"),
        voter=None if voter is None else _pubkey(voter, f"{place}.authorizedVoter"),
    )


def _fork(text: str, place: str) -> bytes:
    data = _base64(text, place)
    if len(data) != 8:
        raise MalformedProof(place, f"{len(data)} bytes instead of 8")
    return data


def _number(number: int | None, place: str) -> int | None:
    return None if number is None else _u64(number, place)


def _u64(number: int, place: str) -> int:
    if not 0 <= number <= U64_MAX:
        raise MalformedProof(place, "no u64")
    return number


def _hash(text: str, place: str) -> bytes:
    return _key(text, place, "no hash in base58")


def _pubkey(text: str, place: str) -> bytes:
    return _key(text, place, "no pubkey in base58")


def _key(text: str, place: str, reason: str) -> bytes:
    try:
        # Refused for its length first: to decode long text is slow.
        key = b58decode(text) if len(text) <= MOST_DIGITS else b""
    except ValueError:
        key = b""
    if len(key) != 32:
        raise MalformedProof(place, reason)
    return key


def _base64(text: str, place: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError:
        raise MalformedProof(place, "no base64") from None

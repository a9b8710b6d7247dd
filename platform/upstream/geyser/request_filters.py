"""Filters of a SubscribeRequest, for servers: validated, and compiled for matching."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.accounts import AccountWrite
from chain.commitment import Commitment
from chain.encodings import b58decode, b64decode
from upstream.geyser.cuckoo import BadCuckooFilter, CuckooFilter
from upstream.protobuf import geyser_pb2 as schema

_LONGEST_NAME = 128
_MOST_STATE_FILTERS = 4
_LONGEST_MEMCMP = 128
_LONGEST_MEMCMP_BASE58 = 175
_LONGEST_MEMCMP_BASE64 = 172
_MOST_SLICES = 5
_COMMITMENTS = (Commitment.PROCESSED, Commitment.CONFIRMED, Commitment.FINALIZED)
_STATUS_OF = {
    Commitment.PROCESSED: schema.SlotStatus.SLOT_PROCESSED,
    Commitment.CONFIRMED: schema.SlotStatus.SLOT_CONFIRMED,
    Commitment.FINALIZED: schema.SlotStatus.SLOT_FINALIZED,
}
# SPL Token: an account's length, and where its state stands; Token-2022 marks the longer ones of
# its accounts by a byte after that length, and no account is as long as a multisig.
_TOKEN_ACCOUNT = 165
_TOKEN_STATE = 108
_TOKEN_2022_TYPE_ACCOUNT = 2
_MULTISIG = 355

Slices: TypeAlias = tuple[tuple[int, int], ...]
"""(offset, length) parts of an account's data; none for the whole."""
State = Callable[[AccountWrite], bool]
T = TypeVar("T")


class Transaction(Protocol):
    """What filters look at: the keys of every account, loaded ones too, and the owners of its token
    accounts, of all and of those whose amount it changed.
    """

    @property
    def signature(self) -> bytes: ...
    @property
    def is_vote(self) -> bool: ...
    @property
    def has_failed(self) -> bool | None: ...
    @property
    def account_keys(self) -> frozenset[bytes]: ...
    @property
    def token_owners(self) -> frozenset[bytes]: ...
    @property
    def changed_token_owners(self) -> frozenset[bytes]: ...


class BadFilter(ValueError):
    """The request asks for what cannot be served; the text says what and why."""


class AccountFilter(NamedTuple):
    """Writes of these accounts, or of those `within`, and of these owners' accounts, in these
    states.
    """

    accounts: frozenset[bytes]
    owners: frozenset[bytes]
    states: tuple[State, ...]
    nonempty_txn_signature: bool | None
    # What of the states a source can select by: the data's length, or an offset and what is there,
    # or none of these for a token account.
    selections: tuple[tuple[int | None, int, bytes | None], ...] = ()
    within: CuckooFilter | None = None

    def matches(self, write: AccountWrite) -> bool:
        return self.names(write.pubkey) and self.fits(write)

    def names(self, pubkey: bytes) -> bool:
        if pubkey in self.accounts:
            return True
        return not self.accounts if self.within is None else pubkey in self.within

    def fits(self, write: AccountWrite) -> bool:
        """Whether it matches, if it is of an account that the filter names."""
        return (
            (not self.owners or write.owner in self.owners)
            and self.nonempty_txn_signature in (None, write.signature is not None)
            and all(state(write) for state in self.states)
        )


class SlotFilter(NamedTuple):
    """Slot statuses: of the subscriber's own commitment alone, those between them too."""

    filter_by_commitment: bool
    interslot_updates: bool

    def matches(self, status: int, commitment: Commitment) -> bool:
        """Whether it wants this status, a number of schema.SlotStatus."""
        return (not self.filter_by_commitment or status == _STATUS_OF[commitment]) and (
            self.interslot_updates or status <= schema.SlotStatus.SLOT_FINALIZED
        )


class TransactionFilter(NamedTuple):
    """Transactions by sort, outcome, signature and the accounts that they name. `within` includes
    accounts as `include` does.
    """

    vote: bool | None
    failed: bool | None
    signature: bytes | None
    include: frozenset[bytes]
    exclude: frozenset[bytes]
    required: frozenset[bytes]
    token_accounts: int | None
    within: CuckooFilter | None = None

    def matches(self, message: Transaction, among: Collection[bytes] | None = None) -> bool:
        """`among` are the keys that are `within`, at least those of the message; looked for unless
        they are given.
        """
        if self.vote is not None and self.vote != message.is_vote:
            return False
        if self.failed is not None and self.failed != message.has_failed:
            return False
        if self.signature is not None and self.signature != message.signature:
            return False
        if not (self.include or self.exclude or self.required or self.within is not None):
            return True
        keys = self.keys_of(message)
        if not (self.required <= keys and self.exclude.isdisjoint(keys)):
            return False
        return _includes(self.include, self.within, keys, among)

    def keys_of(self, message: Transaction) -> frozenset[bytes]:
        """What the message names, for this filter."""
        if self.token_accounts is None:
            return message.account_keys
        if self.token_accounts == schema.TokenAccountExpansionControlFlag.ALL:
            return message.account_keys | message.token_owners
        return message.account_keys | message.changed_token_owners


class BlockFilter(NamedTuple):
    """Blocks with these of their parts; `within` includes accounts as `include` does."""

    include: frozenset[bytes]
    transactions: bool
    accounts: bool
    entries: bool
    within: CuckooFilter | None = None

    def includes(self, keys: Iterable[bytes], among: Collection[bytes] | None = None) -> bool:
        """Whether a transaction with these keys is included, or an account with this one; `among`
        as for a TransactionFilter.
        """
        return _includes(self.include, self.within, keys, among)


class Filters:
    """All that one SubscribeRequest asks for. BadFilter where it cannot be served."""

    def __init__(self, request: Any) -> None:
        self.commitment = _commitment(request)
        self.slices = _slices(request.accounts_data_slice)
        self.accounts = _each("accounts", request.accounts, _account_filter)
        self.slots = _each("slots", request.slots, _slot_filter)
        self.transactions = _each("transactions", request.transactions, _transaction_filter)
        self.statuses = _each(
            "transactions_status", request.transactions_status, _transaction_filter
        )
        self.blocks = _each("blocks", request.blocks, _block_filter)
        self.blocks_meta = _each("blocks_meta", request.blocks_meta, lambda _: None)
        # With these entries, or footers, also what else may come with them.
        self.entries = _each("entry", request.entry, lambda each: each.include_update_parent)
        self.footers = _each(
            "block_footer", request.block_footer, lambda each: each.include_certificates
        )


def _includes(
    include: frozenset[bytes],
    within: CuckooFilter | None,
    keys: Iterable[bytes],
    among: Collection[bytes] | None,
) -> bool:
    if within is None:
        return not include or not include.isdisjoint(keys)
    found = within if among is None else among
    return any(key in include or key in found for key in keys)


@lru_cache(maxsize=4096)
def named(*names: str) -> bytes:
    """The names of the filters that matched, as they begin an update."""
    return bytes(schema.SubscribeUpdate(filters=names).SerializeToString())


def _each(
    field: str, asked: Mapping[str, Any], read: Callable[[Any], T]
) -> tuple[tuple[str, T], ...]:
    """The named filters of one sort; the name of a bad one stands before what is wrong."""
    found = []
    for name in asked:
        if len(name.encode()) > _LONGEST_NAME:
            raise BadFilter(f"{field}: a name of more than {_LONGEST_NAME} bytes")
        try:
            found.append((name, read(asked[name])))
        except BadFilter as error:
            raise BadFilter(f"{field}.{name}: {error}") from None
    return tuple(found)


def _commitment(request: Any) -> Commitment:
    if not 0 <= request.commitment < len(_COMMITMENTS):
        raise BadFilter(f"no commitment has the number {request.commitment}")
    return _COMMITMENTS[request.commitment]


def _slices(asked: Iterable[Any]) -> Slices:
    slices = tuple((each.offset, each.length) for each in asked)
    if len(slices) > _MOST_SLICES:
        raise BadFilter(f"accounts_data_slice: at most {_MOST_SLICES} are served")
    end = 0
    for offset, length in slices:
        if offset < end:
            raise BadFilter("accounts_data_slice: slices out of order or overlapping")
        end = offset + length
    return slices


def _account_filter(asked: Any) -> AccountFilter:
    if len(asked.filters) > _MOST_STATE_FILTERS:
        raise BadFilter(f"at most {_MOST_STATE_FILTERS} filters are served")
    sizes = sum(each.WhichOneof("filter") == "datasize" for each in asked.filters)
    if sizes > 1:
        raise BadFilter("datasize used more than once")
    return AccountFilter(
        accounts=_keys("account", asked.account),
        owners=_keys("owner", asked.owner),
        states=tuple(_state(each) for each in asked.filters),
        nonempty_txn_signature=_or_none(asked, "nonempty_txn_signature"),
        selections=tuple(_selections(asked.filters)),
        within=_cuckoo(asked, "cuckoo_accounts_filter"),
    )


def _selections(asked: Iterable[Any]) -> Iterator[tuple[int | None, int, bytes | None]]:
    for each in asked:
        sort = each.WhichOneof("filter")
        if sort == "memcmp":
            yield None, each.memcmp.offset, _memcmp_data(each.memcmp)
        elif sort == "datasize":
            yield each.datasize, 0, None
        elif sort == "token_account_state":
            yield None, 0, None


def _state(asked: Any) -> State:
    sort = asked.WhichOneof("filter")
    if sort == "memcmp":
        offset, wanted = asked.memcmp.offset, _memcmp_data(asked.memcmp)
        return lambda write: write.data[offset : offset + len(wanted)] == wanted
    if sort == "datasize":
        size = asked.datasize
        return lambda write: len(write.data) == size
    if sort == "token_account_state":
        if not asked.token_account_state:
            raise BadFilter("token_account_state can only be true")
        return _is_token_account
    if sort == "lamports":
        return _lamports(asked.lamports)
    raise BadFilter("a filter without memcmp, datasize, token_account_state or lamports")


def _memcmp_data(memcmp: Any) -> bytes:
    sort = memcmp.WhichOneof("data")
    data: Any = getattr(memcmp, sort) if sort else b""
    try:
        if sort == "base58":
            data = b58decode(data) if len(data) <= _LONGEST_MEMCMP_BASE58 else None
        elif sort == "base64":
            data = b64decode(data) if len(data) <= _LONGEST_MEMCMP_BASE64 else None
    except ValueError:
        raise BadFilter(f"memcmp: invalid {sort}") from None
    if sort is None:
        raise BadFilter("memcmp: neither bytes nor base58 nor base64")
    if data is None or len(data) > _LONGEST_MEMCMP:
        raise BadFilter(f"memcmp: at most {_LONGEST_MEMCMP} bytes are compared")
    return bytes(data)


def _lamports(asked: Any) -> State:
    sort = asked.WhichOneof("cmp")
    value = getattr(asked, sort) if sort else 0
    match sort:
        case "eq":
            return lambda write: write.lamports == value
        case "ne":
            return lambda write: write.lamports != value
        case "lt":
            return lambda write: write.lamports < value
        case "gt":
            return lambda write: write.lamports > value
    raise BadFilter("lamports: neither eq, ne, lt nor gt")


def _is_token_account(write: AccountWrite) -> bool:
    data = write.data
    if len(data) == _TOKEN_ACCOUNT:
        return data[_TOKEN_STATE] != 0
    return (
        len(data) > _TOKEN_ACCOUNT
        and len(data) != _MULTISIG
        and data[_TOKEN_ACCOUNT] == _TOKEN_2022_TYPE_ACCOUNT
        and data[_TOKEN_STATE] != 0
    )


def _slot_filter(asked: Any) -> SlotFilter:
    return SlotFilter(asked.filter_by_commitment, asked.interslot_updates)


def _transaction_filter(asked: Any) -> TransactionFilter:
    mode = _or_none(asked, "token_accounts")
    if mode is not None and mode not in schema.TokenAccountExpansionControlFlag.values():
        raise BadFilter(f"no token_accounts mode has the number {mode}")
    signature = None
    if asked.HasField("signature"):
        try:
            signature = bytes(Signature.from_string(asked.signature))
        except ValueError:
            raise BadFilter(f"{asked.signature!r} is no signature") from None
    return TransactionFilter(
        vote=_or_none(asked, "vote"),
        failed=_or_none(asked, "failed"),
        signature=signature,
        include=_keys("account_include", asked.account_include),
        exclude=_keys("account_exclude", asked.account_exclude),
        required=_keys("account_required", asked.account_required),
        token_accounts=mode,
        within=_cuckoo(asked, "cuckoo_account_include"),
    )


def _block_filter(asked: Any) -> BlockFilter:
    return BlockFilter(
        include=_keys("account_include", asked.account_include),
        # The only part that comes unasked.
        transactions=_or_none(asked, "include_transactions") is not False,
        accounts=asked.include_accounts,
        entries=asked.include_entries,
        within=_cuckoo(asked, "cuckoo_account_include"),
    )


def _cuckoo(asked: Any, field: str) -> CuckooFilter | None:
    if not asked.HasField(field):
        return None
    try:
        return CuckooFilter.read(getattr(asked, field))
    except BadCuckooFilter as error:
        raise BadFilter(f"{field}: {error}") from None


def _keys(field: str, texts: Iterable[str]) -> frozenset[bytes]:
    return frozenset(_key(field, text) for text in texts)


def _key(field: str, text: str) -> bytes:
    try:
        return bytes(Pubkey.from_string(text))
    except ValueError:
        raise BadFilter(f"{field}: {text!r} is no pubkey") from None


def _or_none(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None

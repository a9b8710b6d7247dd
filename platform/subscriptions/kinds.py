"""Subscriptions: what each kind wants of the chain, and its notifications of a slot's content."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.account_json import AccountEncoding, DataTooLong, account_json
from chain.addresses import CLOCK, TOKEN_PROGRAMS
from chain.commitment import TransactionDetails, TransactionEncoding
from chain.record_json import UnsupportedVersion, block_text
from chain.shown_votes import vote_of
from livefeed.filters import AccountFilter, allowed
from livefeed.messages import Kind, Level, Missed, Want
from subscriptions.content import Content, Ran, Written

if TYPE_CHECKING:
    import asyncio

    from subscriptions.connection import Connection
    from subscriptions.hub import Hub
    from subscriptions.past import Memory

encode = msgspec.json.Encoder().encode

# A result as JSON, and the index in the block of the transaction that it is of.
Result = tuple[bytes, int | None]
# An account that is needed to show another, a mint above all.
Load = Callable[[Pubkey], Account | None]


@dataclass(eq=False, slots=True, kw_only=True)
class Subscription:
    """One subscription of one connection. `number` is what its notifications name."""

    name: ClassVar[str] = ""
    # It needs the whole block, which takes long to write.
    is_expensive: ClassVar[bool] = False
    # It notifies of slots as such, not of what transactions did in them.
    is_of_slots: ClassVar[bool] = False

    level: Level = Level.PROCESSED
    number: int = 0
    # It is to get notifications; it is in the hub's index, since what was then the newest slot; no
    # more than one comes, and has come.
    is_wanted: bool = False
    is_open: bool = False
    began_at: int = 0
    is_done: bool = False
    memory: "Memory | None" = None
    # What sends its notifications where the hub does not.
    task: "asyncio.Task[None] | None" = None
    send: Callable[["Subscription", bytes, int, int | None], None] = field(
        default=lambda _subscription, _result, _slot, _index: None, repr=False
    )

    def is_interrupted(self, missed: Missed) -> bool:
        """Whether its client may have missed something of it, and cannot read it."""
        is_plain = self.is_open and self.memory is None and missed.slot > self.began_at
        return is_plain and (missed.is_break or self.has_missed(missed.accounts))

    def has_missed(self, accounts: Collection[bytes]) -> bool:
        """Whether the missing writes of these accounts may concern it."""
        return False

    @property
    def is_placed(self) -> bool:
        """Whether its messages have slot and transaction index."""
        return self.memory is not None

    def wants(self) -> list[Want]:
        raise NotImplementedError

    def needs(self) -> list[Want]:
        """What is wanted beside them to show what they give."""
        return []

    def results(self, content: Content, load: Load) -> Iterable[Result]:
        """The notifications of a slot that reached the subscription's level."""
        return ()

    def part_of(self, content: Content) -> int:
        """Which of several parts of the slot's notifications the content's are."""
        return 0

    def mints(self, content: Content) -> Iterable[Pubkey]:
        """Accounts that `load` should have for the content."""
        return ()

    def reading(self, hub: "Hub", connection: "Connection") -> "Coroutine[None, None, None] | None":
        """What sends its notifications until it is cancelled; None where the hub does."""
        return None


@dataclass(eq=False, slots=True, kw_only=True)
class AccountSubscription(Subscription):
    name: ClassVar[str] = "account"

    pubkey: Pubkey
    encoding: AccountEncoding
    part: tuple[int, int] | None

    def wants(self) -> list[Want]:
        return [Want(Kind.ACCOUNT, self.level, bytes(self.pubkey))]

    def needs(self) -> list[Want]:
        return _to_parse(self.level) if self.encoding is AccountEncoding.JSON_PARSED else []

    def has_missed(self, accounts: Collection[bytes]) -> bool:
        return bytes(self.pubkey) in accounts

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        key = bytes(self.pubkey)
        for written in content.accounts:
            if written.pubkey == key:
                yield _of_account(content, written, self.encoding, self.part, load), written.place

    def mints(self, content: Content) -> Iterator[Pubkey]:
        key = bytes(self.pubkey)
        return _mints(self.encoding, (each for each in content.accounts if each.pubkey == key))


@dataclass(eq=False, slots=True, kw_only=True)
class ProgramSubscription(Subscription):
    name: ClassVar[str] = "program"

    program: Pubkey
    filters: tuple[AccountFilter, ...]
    encoding: AccountEncoding
    part: tuple[int, int] | None

    def wants(self) -> list[Want]:
        return [Want(Kind.PROGRAM, self.level, bytes(self.program), self.filters)]

    def needs(self) -> list[Want]:
        is_parsed = self.encoding is AccountEncoding.JSON_PARSED
        return _to_parse(self.level) if is_parsed and self.program in TOKEN_PROGRAMS else []

    def has_missed(self, accounts: Collection[bytes]) -> bool:
        return bool(accounts)  # whose they are, only their writes say

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        for written in self._found(content):
            text = _account_text(content, written, self.encoding, self.part, load)
            value = b'{"pubkey":"%b","account":%b}' % (str(Pubkey(written.pubkey)).encode(), text)
            yield in_context(content.slot, value), written.place

    def mints(self, content: Content) -> Iterator[Pubkey]:
        return _mints(self.encoding, self._found(content))

    def _found(self, content: Content) -> Iterator[Written]:
        for written in content.accounts:
            account = written.account
            is_of_it = account.owner == self.program and account.lamports
            if is_of_it and allowed(self.filters, account.data):
                yield written


@dataclass(eq=False, slots=True, kw_only=True)
class LogsSubscription(Subscription):
    """`mention` is an address that transactions name; None is all, votes only with `votes`."""

    name: ClassVar[str] = "logs"

    mention: bytes | None = None
    votes: bool = False

    def wants(self) -> list[Want]:
        if self.mention is not None:
            return [Want(Kind.MENTIONS, self.level, self.mention)]
        return [Want(Kind.LOGS_WITH_VOTES if self.votes else Kind.LOGS, self.level)]

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        for ran in content.transactions:
            if ran.logs is None:
                continue
            if self.mention is None:
                if ran.is_vote and not self.votes:
                    continue
            elif self.mention not in ran.keys:
                continue
            key = "logs", ran.index
            text = content.texts.get(key)
            if text is None:
                signature = str(Signature(ran.signature))
                value = {"signature": signature, "err": ran.error, "logs": ran.logs}
                text = content.texts[key] = in_context(content.slot, encode(value))
            yield text, ran.index


@dataclass(eq=False, slots=True, kw_only=True)
class BlockSubscription(Subscription):
    name: ClassVar[str] = "block"
    is_expensive: ClassVar[bool] = True
    is_of_slots: ClassVar[bool] = True

    mention: bytes | None
    encoding: TransactionEncoding
    details: TransactionDetails
    rewards: bool
    max_version: int | None

    def wants(self) -> list[Want]:
        if self.mention is None:
            return [Want(Kind.BLOCK, self.level)]
        return [Want(Kind.BLOCK_MENTIONS, self.level, self.mention)]

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        if content.header is None:
            return
        found: list[Ran] = content.transactions
        if self.mention is not None:
            found = [ran for ran in found if self.mention in ran.keys]
            if not found:
                return
        key = self.mention, self.encoding, self.details, self.rewards, self.max_version
        text = content.texts.get(key)
        if text is None:
            text = content.texts[key] = self._text(content, found)
        yield text, None

    def _text(self, content: Content, found: list[Ran]) -> bytes:
        assert content.header is not None
        record = replace(content.header, transactions=[ran.record for ran in found])
        head = b'{"context":{"slot":%d},"value":{"slot":%d,' % (content.slot, content.slot)
        try:
            block = block_text(
                record,
                encoding=self.encoding,
                details=self.details,
                rewards=self.rewards,
                max_version=self.max_version,
            )
        except UnsupportedVersion as error:
            wrong = encode({"UnsupportedTransactionVersion": error.version})
            return head + b'"block":null,"err":' + wrong + b"}}"
        return head + b'"block":' + block + b',"err":null}}'


@dataclass(eq=False, slots=True, kw_only=True)
class VoteSubscription(Subscription):
    """Votes that are in blocks, as soon as these are processed."""

    name: ClassVar[str] = "vote"

    def wants(self) -> list[Want]:
        return [Want(Kind.VOTES)]

    def results(self, content: Content, load: Load) -> Iterator[Result]:
        for ran in content.transactions:
            if not ran.is_vote:
                continue
            key = "vote", ran.index
            text = content.texts.get(key)
            if text is None:
                vote = vote_of(ran.record.decoded)
                text = content.texts[key] = b"" if vote is None else encode(vote)
            if text:
                yield text, ran.index


def in_context(slot: int, value: bytes) -> bytes:
    return b'{"context":{"slot":%d},"value":%b}' % (slot, value)


def _of_account(
    content: Content,
    written: Written,
    encoding: AccountEncoding,
    part: tuple[int, int] | None,
    load: Load,
) -> bytes:
    return in_context(content.slot, _account_text(content, written, encoding, part, load))


def _account_text(
    content: Content,
    written: Written,
    encoding: AccountEncoding,
    part: tuple[int, int] | None,
    load: Load,
) -> bytes:
    key = written.pubkey, encoding, part
    text = content.texts.get(key)
    if text is None:
        text = content.texts[key] = encode(_shown(written, encoding, part, load))
    return text


def _shown(
    written: Written, encoding: AccountEncoding, part: tuple[int, int] | None, load: Load
) -> dict[str, Any]:
    account = written.account
    try:
        return account_json(account, encoding, load=load, pubkey=Pubkey(written.pubkey), part=part)
    except DataTooLong:
        # The standard node says it in the data's place.
        shown = account_json(account, AccountEncoding.BASE64, load=load, part=(0, 0))
        text = "error: data too large for bs58 encoding"
        is_pair = encoding is AccountEncoding.BASE58
        return {**shown, "data": [text, "base58"] if is_pair else text}


_MINT_BYTES = 82
# Those with extensions say what they are behind as many bytes as a token account has.
_MINT_FILTERS = AccountFilter(size=_MINT_BYTES), AccountFilter(offset=165, part=b"\x01")
# The mints of both programs as soon as they are written: the archive has them when they are final.
_MINTS = [
    Want(Kind.PROGRAM, Level.PROCESSED, bytes(program), (each,))
    for program in sorted(TOKEN_PROGRAMS, key=bytes)
    for each in _MINT_FILTERS
]


def _to_parse(level: Level) -> list[Want]:
    """Mints, and the clock of the very slot: some mints' tokens bear interest."""
    return [*_MINTS, Want(Kind.ACCOUNT, level, bytes(CLOCK))]


def is_mint(account: Account) -> bool:
    """Whether _MINTS want it."""
    return account.owner in TOKEN_PROGRAMS and any(
        each.allows(account.data) for each in _MINT_FILTERS
    )


def _mints(encoding: AccountEncoding, accounts: Iterable[Written]) -> Iterator[Pubkey]:
    """The mints of token accounts that are shown parsed: the first 32 bytes of their data."""
    if encoding is AccountEncoding.JSON_PARSED:
        for written in accounts:
            account = written.account
            if account.owner in TOKEN_PROGRAMS and len(account.data) >= 165:
                yield Pubkey(account.data[:32])

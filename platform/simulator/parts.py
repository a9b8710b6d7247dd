"""A transaction's parts, for the checks and the engine."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import Message, MessageHeader, MessageV0, MessageV1
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.transactions import Version

AnyMessage: TypeAlias = Message | MessageV0 | MessageV1


class Called(NamedTuple):
    """A top-level instruction: indexes into the keys, and the data."""

    program_index: int
    accounts: bytes
    data: bytes


class TableLookup(NamedTuple):
    """Keys to load from a lookup table, by their indexes in it."""

    table: Pubkey
    writable: bytes
    readonly: bytes


@dataclass(slots=True)
class Parts:
    """`keys` are the static ones until `load_keys` adds those of the lookup tables."""

    transaction: VersionedTransaction
    message: AnyMessage
    version: Version
    header: MessageHeader
    required: int
    readonly_signed: int
    readonly_unsigned: int
    keys: list[Pubkey]
    static_count: int
    compiled: list[CompiledInstruction]
    instructions: list[Called]
    lookups: list[TableLookup]
    loaded_writable: list[Pubkey]
    loaded_readonly: list[Pubkey]

    @property
    def blockhash(self) -> Hash:
        return self.message.recent_blockhash

    def is_writable(self, index: int) -> bool:
        """Whether the message asks for a write lock on the key."""
        static = self.static_count
        if index >= static:
            return index < static + len(self.loaded_writable)
        if index < self.required:
            return index < self.required - self.readonly_signed
        return index < static - self.readonly_unsigned

    def load_keys(self, writable: list[Pubkey], readonly: list[Pubkey]) -> None:
        self.loaded_writable, self.loaded_readonly = writable, readonly
        self.keys = [*self.keys, *writable, *readonly]


def take_apart(transaction: VersionedTransaction) -> Parts:
    """The transaction's parts."""
    message = transaction.message
    lookups = []
    version: Version = "legacy"
    if isinstance(message, MessageV0):
        version = 0
        lookups = [
            TableLookup(each.account_key, each.writable_indexes, each.readonly_indexes)
            for each in message.address_table_lookups
        ]
    elif isinstance(message, MessageV1):
        version = 1
    header = message.header
    keys = message.account_keys
    compiled = message.instructions
    return Parts(
        transaction=transaction,
        message=message,
        version=version,
        header=header,
        required=header.num_required_signatures,
        readonly_signed=header.num_readonly_signed_accounts,
        readonly_unsigned=header.num_readonly_unsigned_accounts,
        keys=keys,
        static_count=len(keys),
        compiled=compiled,
        instructions=[Called(i.program_id_index, i.accounts, i.data) for i in compiled],
        lookups=lookups,
        loaded_writable=[],
        loaded_readonly=[],
    )

"""Params of the ledger's methods: the standard node's, with what the ledger adds."""

from typing import Literal

from solders.signature import Signature

from chain.commitment import BlockForm, Commitment, TransactionDetails, TransactionEncoding
from jsonrpc.params import U8, U64, USIZE, Config


class ContextConfig(Config, frozen=True, kw_only=True):
    """What every method takes.

    commitment: everything in the ledger is finalized; `confirmed` and `finalized` are served alike
    min_context_slot: refuse to answer unless the ledger reaches this slot
    """

    node_struct = "RpcContextConfig"
    # A node takes the default for a commitment that does not exist.
    node_insists = frozenset({"commitment", "form"})

    commitment: Commitment | None = None
    min_context_slot: U64 | None = None


class ListConfig(ContextConfig, frozen=True, kw_only=True):
    """What every method takes, and what to do if slots of the range are missing.

    gaps: `error` refuses a range with slots that are known to be missing. By default the list is
        returned, and the header `X-Ledger-Gaps` names these slots. The standard node does not have
        this option
    """

    gaps: Literal["error"] | None = None


class TransactionConfig(ContextConfig, frozen=True, kw_only=True):
    """How a transaction is written.

    encoding: `json` by default; `jsonParsed` reads what known programs were asked. `base64` and
        `base58` are the transaction's own bytes, and `binary` is base58 as bare text
    max_supported_transaction_version: the newest version that you can read: 1 today. Without it
        only legacy transactions are answered. With 1 and more, base58 is refused
    form: `current` (the default) writes a transaction of any age as a node of today does; `source`
        as the source that it was recorded from did, without the fields that it did not know. No
        option of the standard node
    """

    node_struct = "RpcTransactionConfig"

    encoding: TransactionEncoding | None = None
    max_supported_transaction_version: U8 | None = None
    form: BlockForm | None = None


class BlockConfig(TransactionConfig, frozen=True, kw_only=True):
    """How much of a block is written.

    transaction_details: `full` by default; `accounts` leaves out what was done,
        `signatures` all but the names, `none` all
    rewards: whether to list what accounts were given outside transactions; true by default
        otherwise
    """

    node_struct = "RpcBlockConfig"

    transaction_details: TransactionDetails | None = None
    rewards: bool | None = None


class StatusesConfig(ContextConfig, frozen=True, kw_only=True):
    """How to look.

    search_transaction_history: always true in effect: the ledger is all history
    """

    node_struct = "RpcSignatureStatusConfig"

    search_transaction_history: bool = False


class AddressConfig(ListConfig, frozen=True, kw_only=True):
    """Which part of the list.

    before: begin behind this transaction, that is, with the next older one
    until: end before this transaction: it is not in the answer
    limit: how many, from 1 to 1,000, which is the default
    """

    node_struct = "RpcSignaturesForAddressConfig"

    before: Signature | None = None
    until: Signature | None = None
    limit: USIZE | None = None

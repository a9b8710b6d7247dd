"""Parts of results in the standard node's form, for the reference: they are never instantiated.

What they say of their fields is compared with real answers by the tests.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UnsetType
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from jsonrpc.wire import As, Result

# What a failed transaction failed by, in the chain's own words; null for one that succeeded.
TransactionError: TypeAlias = Annotated[Any, As(str | dict[str, Any] | None)]
# Bytes as text, and how they are written.
EncodedBytes: TypeAlias = tuple[str, Literal["base64", "base64+zstd", "base58"]]


class ParsedData(Result, frozen=True, kw_only=True):
    """An account's data, read by the rules of its program.

    program: the program's name, as in `spl-token`
    parsed: what the data says: `type`, and `info` with the fields of that type
    space: length of the data in bytes
    """

    program: str
    parsed: Annotated[Any, As(dict[str, Any])]
    space: int


class ReturnData(Result, frozen=True, kw_only=True):
    """What a program returned last.

    program_id: the program
    data: the bytes in base64, and that word
    """

    program_id: Pubkey
    data: tuple[str, Literal["base64"]]


class TokenAmount(Result, frozen=True, kw_only=True):
    """An amount of tokens.

    amount: in the smallest unit, as text: it may not fit a float
    decimals: the number of digits behind the point
    ui_amount: the amount with its point, as a float that may be rounded; null if it is unknown
    ui_amount_string: the same as text, exact
    """

    amount: str
    decimals: int
    ui_amount: float | None
    ui_amount_string: str


class TokenBalance(Result, frozen=True, kw_only=True):
    """What a token account held.

    account_index: the account's place among the transaction's accounts
    mint: the token
    owner: who the tokens belong to
    program_id: the token program that the account belongs to
    ui_token_amount: how many tokens
    """

    account_index: int
    mint: Pubkey
    owner: Pubkey | UnsetType
    program_id: Pubkey | UnsetType
    ui_token_amount: TokenAmount


class CompiledInstruction(Result, frozen=True, kw_only=True):
    """An instruction as the message has it.

    program_id_index: the program's place among the transaction's accounts
    accounts: the places of the accounts that it is given
    data: its bytes in base58
    stack_height: how deep in calls of programs it ran, 1 for the message's own; null if unknown
    """

    program_id_index: int
    accounts: list[int]
    data: str
    stack_height: int | UnsetType | None


class ParsedInstruction(Result, frozen=True, kw_only=True):
    """An instruction of a known program, read.

    program: the program's name, as in `system`
    program_id: the program
    parsed: what it does: `type` and `info`, or a memo's text
    stack_height: how deep in calls of programs it ran, 1 for the message's own; null if unknown
    """

    program: str
    program_id: Pubkey
    parsed: Annotated[Any, As(dict[str, Any] | str)]
    stack_height: int | UnsetType | None


class UnparsedInstruction(Result, frozen=True, kw_only=True):
    """An instruction of a program that is not known.

    program_id: the program
    accounts: the accounts that it is given
    data: its bytes in base58
    stack_height: how deep in calls of programs it ran, 1 for the message's own; null if unknown
    """

    program_id: Pubkey
    accounts: list[Pubkey]
    data: str
    stack_height: int | UnsetType | None


class InnerInstructions(Result, frozen=True, kw_only=True):
    """The calls of programs that one instruction led to.

    index: the place of that instruction in the message
    instructions: the calls, in the order in which they ran
    """

    index: int
    instructions: list[CompiledInstruction | ParsedInstruction | UnparsedInstruction]


class LoadedAddresses(Result, frozen=True, kw_only=True):
    """Accounts that are in lookup tables, not in the message itself.

    writable: those that may be written
    readonly: those that may only be read
    """

    writable: list[Pubkey]
    readonly: list[Pubkey]


class Reward(Result, frozen=True, kw_only=True):
    """Lamports that an account was given, or had taken, outside transactions.

    pubkey: the account
    lamports: how much; below 0 if it was taken
    post_balance: what the account had then
    reward_type: `fee`, `rent`, `staking` or `voting`; null if unknown
    commission: the vote account's share in per cent; null but for staking and voting
    """

    pubkey: Pubkey
    lamports: int
    post_balance: int
    reward_type: str | None
    commission: int | UnsetType | None


class TransactionMeta(Result, frozen=True, kw_only=True):
    """What a transaction did. Balances are in the order of its accounts: the message's own, then
    the looked-up writable, then the looked-up read-only ones.

    err: what it failed by; null when it succeeded
    status: the same as `{"Ok": null}` or `{"Err": …}`, for old clients
    fee: what was paid for it, in lamports
    pre_balances: lamports of each account before it
    post_balances: lamports of each account after it
    pre_token_balances: token accounts before it
    post_token_balances: token accounts after it
    inner_instructions: calls of programs; null if they were not recorded
    log_messages: the programs' log; null if it was not recorded
    rewards: only old transactions have them; null unless requested
    loaded_addresses: accounts from lookup tables
    return_data: omitted if no program returned anything
    compute_units_consumed: compute units that it took
    cost_units: what it took of the block's room; omitted if the source had none
    """

    err: TransactionError
    status: Annotated[Any, As(dict[str, Any])]
    fee: int
    pre_balances: list[int]
    post_balances: list[int]
    pre_token_balances: list[TokenBalance] | UnsetType | None
    post_token_balances: list[TokenBalance] | UnsetType | None
    inner_instructions: list[InnerInstructions] | UnsetType | None
    log_messages: list[str] | UnsetType | None
    rewards: list[Reward] | UnsetType | None
    loaded_addresses: LoadedAddresses | UnsetType
    return_data: ReturnData | UnsetType
    compute_units_consumed: int | UnsetType
    cost_units: int | UnsetType


class MessageHeader(Result, frozen=True, kw_only=True):
    """How the message's own accounts are ordered: those that sign first, of these and of the others
    the writable ones first.

    num_required_signatures: how many sign
    num_readonly_signed_accounts: how many of these may only be read
    num_readonly_unsigned_accounts: how many of the others may only be read
    """

    num_required_signatures: int
    num_readonly_signed_accounts: int
    num_readonly_unsigned_accounts: int


class AddressTableLookup(Result, frozen=True, kw_only=True):
    """Accounts that the message takes from a lookup table.

    account_key: the table
    writable_indexes: the places in it of those that may be written
    readonly_indexes: the places in it of those that may only be read
    """

    account_key: Pubkey
    writable_indexes: list[int]
    readonly_indexes: list[int]


class MessageAccount(Result, frozen=True, kw_only=True):
    """An account of a transaction.

    pubkey: the account
    signer: whether it signed
    writable: whether it may be written
    source: `transaction`, or `lookupTable`
    """

    pubkey: Pubkey
    signer: bool
    writable: bool
    source: str | UnsetType


class Message(Result, frozen=True, kw_only=True):
    """What was signed.

    account_keys: the message's own accounts, the fee payer first; with `jsonParsed` an object each,
        looked-up ones too
    header: which of them sign and which may be written; omitted with `jsonParsed`
    recent_blockhash: the blockhash that it was made with, or a nonce
    instructions: the instructions of the message
    address_table_lookups: accounts taken from lookup tables; omitted for legacy transactions
    """

    account_keys: list[Pubkey | MessageAccount]
    header: MessageHeader | UnsetType
    recent_blockhash: Hash
    instructions: list[CompiledInstruction | ParsedInstruction | UnparsedInstruction]
    address_table_lookups: list[AddressTableLookup] | UnsetType | None


class TransactionJson(Result, frozen=True, kw_only=True):
    """A transaction in the encodings `json` and `jsonParsed`.

    signatures: the signatures, its own name first
    message: what was signed
    """

    signatures: list[Signature]
    message: Message


class TransactionAccounts(Result, frozen=True, kw_only=True):
    """A transaction with `transactionDetails` `accounts`.

    signatures: the signatures, its own name first
    account_keys: its accounts, looked-up ones too
    """

    signatures: list[Signature]
    account_keys: list[MessageAccount]


TransactionForm: TypeAlias = (
    TransactionJson | TransactionAccounts | tuple[str, Literal["base64", "base58"]] | str
)
# As the chain counts versions; those before there were any are `legacy`.
TransactionVersion: TypeAlias = Literal["legacy"] | int

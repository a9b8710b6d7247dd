"""The result of `explainTransaction`, field for field."""

from typing import Annotated, Any, Literal

import msgspec
from solders.signature import Signature

from gateway.node_json import TransactionError, TransactionVersion
from jsonrpc.wire import As, Result


class ExplainedAccount(Result, frozen=True, kw_only=True):
    """An account that the transaction names.

    pubkey: the account
    name: what it is, if it is a known program, sysvar, mint or tip account, or a program with an
        uploaded IDL; else null
    signer: whether it signed
    writable: whether the transaction could change it
    source: `transaction`, or `lookupTable` if it was looked up
    """

    pubkey: str
    name: str | None
    signer: bool
    writable: bool
    source: Literal["transaction", "lookupTable"]


class InstructionAccount(Result, frozen=True, kw_only=True):
    """An account of an instruction.

    pubkey: the account
    name: what the program's IDL calls it there; null without one
    """

    pubkey: str
    name: str | None


class ExplainedInstruction(Result, frozen=True, kw_only=True):
    """An instruction, or a call that a program made.

    number: `2` is the transaction's second instruction, `2.1` the first call that ran in it
    depth: how deep in calls of programs it ran, from 1
    program_id: the program
    program: its name; null if it is not known. An IDL on chain does not name its program
    decoded_by: what reads it: `program` for programs that this service knows, `idl`, or null
    type: what the instruction is called; null if it is not known
    event: whether the program called itself to log an event
    info: its arguments by name, with accounts for programs that this service knows; integers of an
        IDL above 32 bits are decimal text, bytes base64. Null if they could not be read
    accounts: the accounts that it is given, in order
    data: its bytes in base58
    ran: whether it ran: none does after one that failed; null where `outcome` is `unknown`
    failed: whether the transaction failed here first
    inner: the calls that it made itself, in order
    """

    number: str
    depth: int
    program_id: str
    program: str | None
    decoded_by: Literal["program", "idl"] | None
    type: str | None
    event: bool
    info: dict[str, Any] | None
    accounts: list[InstructionAccount]
    data: str
    ran: bool | None
    failed: bool
    inner: list["ExplainedInstruction"]


class ExplainedTransfer(Result, frozen=True, kw_only=True):
    """SOL or tokens that one instruction moved.

    instruction: the number of the instruction
    kind: its type, such as `transferChecked`, `createAccount`, `mintTo`, `burn`
    source: the sender; null for tokens that are minted
    destination: the receiver; null for tokens that are burnt
    source_owner: who owns the source, a token account; null if it is not recorded
    destination_owner: the same of the destination
    mint: the token; null for SOL
    amount: lamports, or the token's smallest unit, as text
    decimals: the number of digits behind the point; null if it is not recorded
    ui_amount: the amount with its point, as text; null without decimals
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


class BalanceChange(Result, frozen=True, kw_only=True):
    """Lamports of an account.

    pubkey: the account
    before: before the transaction
    after: after it
    change: the difference
    """

    pubkey: str
    before: int
    after: int
    change: int


class TokenBalanceChange(Result, frozen=True, kw_only=True):
    """Tokens of a token account. Amounts are text with the point of the mint's decimals.

    pubkey: the token account
    owner: who owns it; null if it is not recorded
    mint: the token
    decimals: the most digits behind the point; null if it is not recorded
    before: before the transaction, `0` if the account did not exist
    after: after it
    change: the difference; null if an amount is not a number
    """

    pubkey: str
    owner: str | None
    mint: str
    decimals: int | None
    before: str
    after: str
    change: str | None


class ExplainedFees(Result, frozen=True, kw_only=True):
    """What the transaction paid to be processed, in lamports. Null if it is not recorded.

    payer: the account that paid
    total: all of it
    base: for signatures
    priority: for the compute unit price, or the priority fee of version 1
    """

    payer: str
    total: int | None
    base: int | None
    priority: int | None


class ExplainedTip(Result, frozen=True, kw_only=True):
    """A transfer to a tip address. Of a failed transaction it was rolled back.

    instruction: the number of the instruction
    address: the tip address
    lamports: the tip
    receiver: `service` for this service, `jito` for block engines of Jito
    """

    instruction: str
    address: str
    lamports: int
    receiver: Literal["service", "jito"]


class ComputeUse(Result, frozen=True, kw_only=True):
    """Compute units, and what else was asked for. Null if it was not requested, or is not recorded.

    used: units that were used
    limit: units that were asked for
    unit_price: micro-lamports for each unit
    heap_size: bytes
    loaded_accounts_data_size_limit: bytes
    """

    used: int | None
    limit: int | None
    unit_price: int | None
    heap_size: int | None
    loaded_accounts_data_size_limit: int | None


class ErrorName(Result, frozen=True, kw_only=True):
    """A program's own error, as its log or its IDL calls it.

    code: its number
    name: its name
    message: what it means; may be empty
    account: the account that it is about, by its name in the instruction; null if unknown
    """

    code: int
    name: str
    message: str
    account: str | None


class Failure(Result, frozen=True, kw_only=True):
    """Why the transaction failed.

    sentence: in words
    technical: the node's words, which count instructions from 0
    instruction: the number of the instruction that failed first; null if all succeeded
    program_id: its program
    error: the program's own error by name; null if it is another error, or unknown
    """

    sentence: str
    technical: str
    instruction: str | None
    program_id: str | None
    error: ErrorName | None


class UsedIdl(Result, frozen=True, kw_only=True):
    """An IDL that programs of the transaction were read by.

    program_id: the program
    name: what the IDL calls it
    version: the IDL's version; may be empty
    source: `uploaded` to this service, or from the chain: `anchor` or `programMetadata`. What is on
        chain is the word of the account's authority
    from_slot: the first slot that an uploaded one holds in; else null
    """

    program_id: str
    name: str
    version: str
    source: Literal["uploaded", "anchor", "programMetadata"]
    from_slot: int | None


class IdlData(Result, frozen=True, kw_only=True):
    """What an IDL says of an account's data.

    type: what the IDL calls accounts of this type
    info: its members by name; integers above 32 bits are decimal text, bytes base64. Null if they
        could not be read
    idl: the IDL
    """

    type: str
    info: dict[str, Any] | None
    idl: UsedIdl


class ExplainedTransaction(Result, frozen=True, kw_only=True):
    """A transaction in words and figures.

    signature: its first signature
    slot: its slot
    transaction_index: its place in the block, from 0
    block_time: when its block was made, in Unix seconds; null if that was not recorded
    version: its version
    outcome: whether it succeeded; `unknown` if the source of its block had no status of it
    err: what it failed by; null when it succeeded, or if that is not known
    failure: the same in words; null if `err` is
    instructions: its instructions, decoded, with the calls that they made
    accounts: the accounts that it names and looks up, in their order
    transfers: what its instructions moved, in the order in which they ran, up to a failure, which
        rolls all of it back; none if the outcome is not known
    balances: SOL of each account, in lamports, in the order of `accounts`
    token_balances: tokens of each token account
    fees: what it paid to be processed
    tips: what it paid to tip addresses
    compute: what it used and asked for
    idls: the IDLs that it was read by
    """

    signature: Annotated[str, As(Signature)]
    slot: int
    transaction_index: int
    block_time: int | None
    version: TransactionVersion
    outcome: Literal["success", "failed", "unknown"]
    err: TransactionError
    failure: Failure | None
    instructions: list[ExplainedInstruction]
    accounts: list[ExplainedAccount]
    transfers: list[ExplainedTransfer]
    balances: list[BalanceChange]
    token_balances: list[TokenBalanceChange]
    fees: ExplainedFees
    tips: list[ExplainedTip]
    compute: ComputeUse
    idls: list[UsedIdl]


def same_fields(values: Any, kind: Any) -> Any:
    """Values as the type of a result that has fields of the same names."""
    return msgspec.convert(values, kind, from_attributes=True)

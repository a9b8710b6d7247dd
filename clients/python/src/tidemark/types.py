"""Generated types."""

from typing import Any, Literal, Optional

from pydantic import ConfigDict

from tidemark.values import Record


class AccountChange(Record):
    """One write: the account as it left it."""

    data: tuple[str, Literal["base64", "base64+zstd", "base58"] | str] | None = None
    """a pair of text and encoding; absent unless `includeData` is true"""
    data_changed: bool
    """whether the state before had other data"""
    data_hash: str
    """SHA-256 of the whole data, in hex"""
    executable: bool
    """whether it was a program"""
    lamports: int
    """the balance afterwards"""
    owner: str
    """the program that it belonged to"""
    rent_epoch: int
    """the epoch in which it owed rent; 18446744073709551615 means never"""
    slot: int
    """the slot of the write"""
    space: int
    """the length of its whole data in bytes"""
    transaction_index: int | None
    """the place of that transaction in its block; null for writes outside them"""
    txn_signature: str | None
    """the transaction that wrote it; null for writes outside transactions"""


class AccountsConfig(Record):
    """Accounts to be shown as the transaction left them, or as they were there if it does not load them."""

    addresses: list[str]
    """the accounts, at most as many as the transaction has"""
    encoding: Literal["binary", "base58", "base64", "jsonParsed", "base64+zstd"] | None = None
    """how their data is written: `base64` by default; `base58` and `binary` are refused"""


class AddressConfig(Record):
    """Which part of the list."""

    before: str | None = None
    """begin behind this transaction, that is, with the next older one"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    gaps: Literal["error"] | None = None
    """`error` refuses a range with slots that are known to be missing. By default the list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node does not have this option"""
    limit: int | None = None
    """how many, from 1 to 1,000, which is the default"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""
    until: str | None = None
    """end before this transaction: it is not in the answer"""


class AddressSignature(Record):
    """One transaction of an address's list."""

    block_time: int | None
    """when its block was made, in Unix seconds; null if that was not recorded"""
    confirmation_status: Literal["finalized"] | str
    """always `finalized`"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded, and where `outcome` is there"""
    memo: str | None
    """the text of its memo, with its length before it; null without one"""
    outcome: Literal["unknown"] | str | None = None
    """`unknown` if the source of its block had no status of it, so that `err` says nothing; absent otherwise. No field of the standard node"""
    signature: str
    """its signature"""
    slot: int
    """its slot"""
    transaction_index: int
    """its place in the block, from 0"""


class AddressTableLookup(Record):
    """Accounts that the message takes from a lookup table."""

    account_key: str
    """the table"""
    readonly_indexes: list[int]
    """the places in it of those that may only be read"""
    writable_indexes: list[int]
    """the places in it of those that may be written"""


class Addresses(Record):
    """The response to a fetch with parameters."""

    addresses: list[str]
    """addresses that are issued to you only; fewer than requested if no more are left"""
    expires_at: int
    """when all of them expire, in Unix seconds"""
    issued_by: str
    """the name of this edge; the addresses are valid at every edge"""
    min_lamports: int
    """the smallest tip to an address; the chain refuses smaller transfers"""
    requested_ttl_seconds: int
    """the requested `ttl`"""
    ttl_seconds: int
    """their class"""


class Alive(Record):
    """This process answers."""

    status: Literal["ok"] | str
    """always the same word"""
    version: str
    """of the service"""


class Anchor(Record):
    """A transaction, by its signature, or by its slot and index; the state before or after it."""

    position: Literal["before", "after"] | None = None
    """`before` (the default) or `after` it"""
    signature: str | None = None
    """the transaction's signature"""
    slot: int | None = None
    """its slot, with `transactionIndex` in place of a signature"""
    transaction_index: int | None = None
    """its place in the block, from 0"""


class BalanceChange(Record):
    """Lamports of an account."""

    after: int
    """after it"""
    before: int
    """before the transaction"""
    change: int
    """the difference"""
    pubkey: str
    """the account"""


class BaselineEntry(Record):
    """A snapshot that was imported: what every account was at the end of its slot."""

    bank_hash: str | None = None
    """the hash of the slot's bank; absent without one in the file"""
    base_slot: int | None = None
    """the slot of the full snapshot that it builds on; absent for a full one"""
    proven: bool
    """whether its accounts make the lattice hash that it declares, and with it the bank's hash"""
    slot: int
    """the slot at whose end this was the state"""
    why_unproven: str | None = None
    """why that is not known; absent for a proven one"""


class BlockConfig(Record):
    """How much of a block is written."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None
    """`json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text"""
    form: Literal["current", "source"] | None = None
    """`current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node"""
    max_supported_transaction_version: int | None = None
    """the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""
    rewards: bool | None = None
    """whether to list what accounts were given outside transactions; true by default otherwise"""
    transaction_details: Literal["full", "accounts", "signatures", "none"] | None = None
    """`full` by default; `accounts` leaves out what was done, `signatures` all but the names, `none` all"""


class Bucket(Record):
    """A limit of a rate, as a bucket of tokens. Null means unlimited."""

    burst: int | None
    """how many it holds"""
    per_second: float | None
    """how many tokens come into it a second"""
    remaining: int | None
    """how many are in it, or somewhat fewer, since processes prefetch some; null also while that is unknown"""
    reset_seconds: int | None
    """until it is full again"""


class BundleFailure(Record):
    """
    The first failure of a bundle, by names that different clients read.

    txSignature: the same once more
    """

    error: dict[str, Any]
    """`TransactionFailure` with the signature and the error as text"""
    tx_signature: str
    """a transaction's signature: 64 bytes in base58"""
    tx_signature_1: str
    """the transaction that failed"""


class CheckAnswer(Record):
    """The result of one check. Some have more members, such as the newest slot."""

    model_config = ConfigDict(
        extra="allow",
    )
    cause: str | None = None
    """the outage, if that is why: the reason with which calls are refused; or what is wrong with the stream of the chain: `stream_silent`, `stream_not_connected`, `follower_ended`"""
    milliseconds: float
    """how long it took"""
    ok: bool
    """whether it passed"""
    remedy: str | None = None
    """what an operator can do about it"""
    why: str | None = None
    """what is wrong, if it did not pass"""


class CompiledInstruction(Record):
    """An instruction as the message has it."""

    accounts: list[int]
    """the places of the accounts that it is given"""
    data: str
    """its bytes in base58"""
    program_id_index: int
    """the program's place among the transaction's accounts"""
    stack_height: int | None = None
    """how deep in calls of programs it ran, 1 for the message's own; null if unknown"""


class CompletenessCause(Record):
    """Why an answer may differ from what the whole history would give."""

    accounts: list[str]
    """the accounts that it concerns"""
    cause: Literal["gap", "last_writes_only", "not_recorded", "filtered"] | str
    """`gap`: these slots are missing, and something that the answer uses may have been written in them; `last_writes_only`: of slots in this range the archive has each account's last write alone, and earlier ones may be missing; `not_recorded`: the state of the accounts is not known; `filtered`: the archive does not, or did not, follow the accounts"""
    from_slot: int | None
    """the first slot; null if the cause is not one of slots"""
    to_slot: int | None
    """the last slot; null if the cause is not one of slots"""


class Completeness(Record):
    """Whether the answer is what the whole history would give."""

    causes: list[CompletenessCause]
    """why it is incomplete, each kind once: of several gaps the newest; empty when it is whole"""
    status: Literal["whole", "incomplete"] | str
    """`whole`: nothing that the answer uses can have been written unseen; `incomplete`: it may have been, and `causes` says why"""


class ComputeUse(Record):
    """Compute units, and what else was asked for. Null if it was not requested, or is not recorded."""

    heap_size: int | None
    """bytes"""
    limit: int | None
    """units that were asked for"""
    loaded_accounts_data_size_limit: int | None
    """bytes"""
    unit_price: int | None
    """micro-lamports for each unit"""
    used: int | None
    """units that were used"""


class Context(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the standard node whose words the ledger speaks"""
    slot: int
    """the newest slot of the ledger"""


class ContextConfig(Record):
    """What every method takes."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""


class Costs(Record):
    """What is taken from each limit."""

    bundles_per_bundle: int
    """from `bundles` by every sendBundle"""
    monthly_per_answered_call: int
    """from the month by a call that was answered"""
    monthly_per_refused_call: int
    """from the month by a call that was refused, or failed by our fault"""
    requests_per_call: int
    """from `requests` by every call, and by each call of a batch"""
    tip_fetches_per_fetch: int
    """from `tipFetches` by every fetch, whatever its count"""


class CoverageConfig(Record):
    """Which window, and how much of its gaps."""

    from_slot: int | None = None
    """the window's first slot; the first stored one by default"""
    include_gaps: bool | None = None
    """whether to list them; true by default"""
    max_gaps: int | None = None
    """how many gaps to list: 1,000 by default, at most 10,000"""
    to_slot: int | None = None
    """the window's last slot; the last stored one by default"""


class DataSlice(Record):
    """A part of an account's data."""

    length: int
    """how many bytes"""
    offset: int
    """its first byte"""


class AccountConfig(Record):
    """Where in the past, and how the account is written."""

    anchor: Anchor | None = None
    """right before or after a transaction"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """taken and without effect: all that is archived is finalized"""
    data_slice: DataSlice | None = None
    """only a part of the data"""
    encoding: Literal["base64", "base64+zstd", "base58", "jsonParsed"] | None = None
    """`base64` by default; `jsonParsed` reads what known programs keep"""
    idl: bool | None = None
    """whether `context.idl` says what an IDL of the account's owner reads in its data"""
    proof: bool | None = None
    """whether `context.proof` says if the cluster voted for what the archive has"""
    slot: int | None = None
    """the end of this slot"""
    tolerate_gaps: bool | None = None
    """answer with what is known, even if slots in between are missing"""
    transaction_index: int | None = None
    """not the end of the slot, but right after its transaction of this index"""


class ChangesConfig(Record):
    """Which writes, and what of them."""

    anchor: Anchor | None = None
    """begin at this transaction in place of the range's end"""
    before: str | None = None
    """`next` of the page before"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """taken and without effect: all that is archived is finalized"""
    data_slice: DataSlice | None = None
    """only a part of the data"""
    encoding: Literal["base64", "base64+zstd", "base58"] | None = None
    """how data is written; required with `includeData`"""
    from_slot: int
    """the lowest slot, included"""
    include_data: bool | None = None
    """whether each write carries the account's data"""
    limit: int | None = None
    """how many a page: 100 by default, at most 1,000, or 50 with data"""
    proof: bool | None = None
    """whether `context.proof` says if the cluster voted for what the archive has"""
    to_slot: int
    """the highest slot, included"""


class Diff(Record):
    """What differs from A to B. Deltas are B minus A."""

    data_changed: bool
    """whether the data differs"""
    data_len_a: int
    """the length of A's data in bytes"""
    data_len_b: int
    """the length of B's data in bytes"""
    executable_changed: bool
    """whether it became a program, or stopped being one"""
    lamports_delta: int
    """by how much the balance differs"""
    owner_changed: bool
    """whether it belongs to another program"""
    rent_epoch_delta: int
    """by how much the rent epoch differs"""


class DiffConfig(Record):
    """Two positions, A and B, each a slot or an anchor, and how the account is written."""

    anchor_a: Anchor | None = None
    """A: right before or after a transaction"""
    anchor_b: Anchor | None = None
    """B: right before or after a transaction"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """taken and without effect: all that is archived is finalized"""
    data_slice: DataSlice | None = None
    """only a part of the data"""
    encoding: Literal["base64", "base64+zstd", "base58", "jsonParsed"] | None = None
    """`base64` by default; `jsonParsed` reads what known programs keep"""
    proof: bool | None = None
    """whether `context.proof` says if the cluster voted for what the archive has"""
    slot_a: int | None = None
    """A: the end of this slot"""
    slot_b: int | None = None
    """B: the end of this slot"""
    tolerate_gaps: bool | None = None
    """answer with what is known, even if slots in between are missing"""
    transaction_index_a: int | None = None
    """A: not the end of the slot, but right after its transaction of this index"""
    transaction_index_b: int | None = None
    """B: not the end of the slot, but right after its transaction of this index"""


class DiffReason(Record):
    """What there is to say of each side: a word as getAccountInfo has it, or null."""

    a: str | None
    """of the first position"""
    b: str | None
    """of the second position"""


class EncodingConfig(Record):
    """How a transaction is written."""

    encoding: Literal["base58", "base64"] | None = None
    """`base58` or `base64`"""


class Error(Record):
    """Why the request failed. Further members say what was required and found."""

    error: str
    """the reason, a stable identifier"""
    message: str | None = None
    """the reason as a sentence"""


class ErrorName(Record):
    """A program's own error, as its log or its IDL calls it."""

    account: str | None
    """the account that it is about, by its name in the instruction; null if unknown"""
    code: int
    """its number"""
    message: str
    """what it means; may be empty"""
    name: str
    """its name"""


class ExplainedAccount(Record):
    """An account that the transaction names."""

    name: str | None
    """what it is, if it is a known program, sysvar, mint or tip account, or a program with an uploaded IDL; else null"""
    pubkey: str
    """the account"""
    signer: bool
    """whether it signed"""
    source: Literal["transaction", "lookupTable"] | str
    """`transaction`, or `lookupTable` if it was looked up"""
    writable: bool
    """whether the transaction could change it"""


class ExplainedFees(Record):
    """What the transaction paid to be processed, in lamports. Null if it is not recorded."""

    base: int | None
    """for signatures"""
    payer: str
    """the account that paid"""
    priority: int | None
    """for the compute unit price, or the priority fee of version 1"""
    total: int | None
    """all of it"""


class ExplainedTip(Record):
    """A transfer to a tip address. Of a failed transaction it was rolled back."""

    address: str
    """the tip address"""
    instruction: str
    """the number of the instruction"""
    lamports: int
    """the tip"""
    receiver: Literal["service", "jito"] | str
    """`service` for this service, `jito` for block engines of Jito"""


class ExplainedTransfer(Record):
    """SOL or tokens that one instruction moved."""

    amount: str
    """lamports, or the token's smallest unit, as text"""
    decimals: int | None
    """the number of digits behind the point; null if it is not recorded"""
    destination: str | None
    """the receiver; null for tokens that are burnt"""
    destination_owner: str | None
    """the same of the destination"""
    instruction: str
    """the number of the instruction"""
    kind: str
    """its type, such as `transferChecked`, `createAccount`, `mintTo`, `burn`"""
    mint: str | None
    """the token; null for SOL"""
    source: str | None
    """the sender; null for tokens that are minted"""
    source_owner: str | None
    """who owns the source, a token account; null if it is not recorded"""
    ui_amount: str | None
    """the amount with its point, as text; null without decimals"""


class FailedBundle(Record):
    """The `summary` of a failed simulation."""

    failed: BundleFailure
    """the first failure"""


class Failure(Record):
    """Why the transaction failed."""

    error: ErrorName | None
    """the program's own error by name; null if it is another error, or unknown"""
    instruction: str | None
    """the number of the instruction that failed first; null if all succeeded"""
    program_id: str | None
    """its program"""
    sentence: str
    """in words"""
    technical: str
    """the node's words, which count instructions from 0"""


class FateAttempt(Record):
    """One attempt to send a submission."""

    answer: str
    """the upstream's answer"""
    latency_microseconds: int
    """how long it took"""
    number: int
    """the how-manieth time it went this way"""
    outcome: str
    """`sent`, `refused` or `failed`"""
    started_at: float
    """when, in Unix seconds with their fractions"""
    target: str
    """where to: an address, or a leader's identity"""
    upstream: str
    """the upstream's name"""


class FateEvent(Record):
    """A change of a submission's fate, as an event of the stream."""

    at: float
    """when it changed, in Unix seconds with their fractions"""
    bundle_id: str | None
    """the bundle in which you sent it; null if it came alone"""
    commitment: str | None
    """how deep in the chain its block is; null before it landed"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it did not"""
    final: bool
    """whether it stays so"""
    queue_milliseconds: int | None
    """how long it waited to be sent; null before it went out"""
    reason: str | None
    """why it never landed; null unless that is known"""
    sending: Literal["active", "stopped"] | str | None
    """`active` while the service sends it until it lands; `stopped` when it no longer does although it can still land, as on a durable nonce; null in a block, and once it is final"""
    sending_stopped: str | None
    """why it is `stopped`; null otherwise"""
    signature: str
    """the transaction's signature"""
    slot: int | None
    """the slot of its block; null before it landed"""
    state: Literal["received", "sent", "landed", "failed", "expired", "refused"] | str
    """how far it has come"""
    transaction_index: int | None
    """its place in the block; null before it landed"""


class FetchQuota(Record):
    """The fetch limits of your key, or of callers without a key."""

    fetch_burst: int
    """fetches at once after a pause"""
    fetch_daily_cap: int | None
    """fetches a UTC day; null if unlimited"""
    fetch_rate_per_second: float
    """fetches a second"""


class FlatReturnData(Record):
    """What a program returned last."""

    data: str
    """the bytes in base64"""
    program_id: str
    """the program"""


class GapEntry(Record):
    """A run of slots that are not stored, both ends included."""

    from_slot: int
    """the first of them"""
    state: Literal["cannot_be_had"] | str | None = None
    """`cannot_be_had` if they were given up: no source has them any more; omitted while attempts to fetch them go on"""
    status: Literal["missing", "unknown"] | str
    """`missing`, or `unknown` while it is not known if the leaders made blocks"""
    to_slot: int
    """the last of them"""


class ChangesPage(Record):
    """A page of writes."""

    changes: list[AccountChange]
    """the writes, newest first"""
    gaps: list[GapEntry]
    """runs of missing slots in the whole range, lowest first"""
    next: str | None
    """give it as `before` for the next page; null on the last one"""
    truncated_by_bytes: bool
    """whether the page is shorter than asked for because it was full"""


class DiffGap(Record):
    """The gap of each side, as getAccountInfo has it, or null."""

    a: GapEntry | None
    """of the first position"""
    b: GapEntry | None
    """of the second position"""


class InCommitment(Record):
    """A commitment as Rust's clients write one."""

    commitment: Literal["processed", "confirmed", "finalized"]
    """`processed`, `confirmed` or `finalized`"""


class Bank(Record):
    """What to simulate on: one of the two."""

    commitment: Literal["processed", "confirmed", "finalized"] | InCommitment | None = None
    """the newest state of this commitment"""
    slot: int | None = None
    """the end of this slot in the past"""


class InflightBundle(Record):
    """How far a bundle has come, in the block engine's own names and states."""

    bundle_id: str
    """its id"""
    landed_slot: int | None
    """the slot of its block; null unless it landed"""
    status: Literal["Pending", "Landed", "Failed", "Invalid"] | str
    """`Pending`, `Landed`, `Failed`, or `Invalid` for one that you did not submit"""


class InstructionAccount(Record):
    """An account of an instruction."""

    name: str | None
    """what the program's IDL calls it there; null without one"""
    pubkey: str
    """the account"""


class ExplainedInstruction(Record):
    """An instruction, or a call that a program made."""

    accounts: list[InstructionAccount]
    """the accounts that it is given, in order"""
    data: str
    """its bytes in base58"""
    decoded_by: Literal["program", "idl"] | str | None
    """what reads it: `program` for programs that this service knows, `idl`, or null"""
    depth: int
    """how deep in calls of programs it ran, from 1"""
    event: bool
    """whether the program called itself to log an event"""
    failed: bool
    """whether the transaction failed here first"""
    info: dict[str, Any] | None
    """its arguments by name, with accounts for programs that this service knows; integers of an IDL above 32 bits are decimal text, bytes base64. Null if they could not be read"""
    inner: list["ExplainedInstruction"]
    """the calls that it made itself, in order"""
    number: str
    """`2` is the transaction's second instruction, `2.1` the first call that ran in it"""
    program: str | None
    """its name; null if it is not known. An IDL on chain does not name its program"""
    program_id: str
    """the program"""
    ran: bool | None
    """whether it ran: none does after one that failed; null where `outcome` is `unknown`"""
    type: str | None
    """what the instruction is called; null if it is not known"""


class Job(Record):
    """How far a job is. Times are Unix seconds."""

    client_reference: str | None
    """your own name for it; null without one"""
    done: int
    """how many of them have an answer"""
    expires_at: int | None
    """when its results are deleted; null before it ends"""
    failed: int
    """how many of these answers are errors"""
    failure: str | None
    """why it failed; null unless it did"""
    finished_at: int | None
    """when it ended; null before that"""
    job_id: str
    """its id"""
    started_at: int | None
    """when it began; null before that"""
    state: Literal["queued", "running", "done", "cancelled", "failed"] | str
    """`queued`, `running`, `done`, `cancelled` or `failed`"""
    submitted_at: int
    """when it was handed in"""
    total: int
    """how many simulations it comes to"""


class JobError(Record):
    """Why one simulation has no value: the error that a single call would get."""

    code: int
    """the error's code"""
    data: dict[str, Any]
    """its reason, and what goes with it"""
    message: str
    """the error's text"""


class JobPosition(Record):
    """A position in the past: `slot`, or `anchor`, and not both."""

    anchor: Anchor | None = None
    """right before or after a transaction"""
    pre_state_slot: int | None = None
    """run on accounts as they were at this earlier slot"""
    slot: int | None = None
    """the end of this slot"""
    transaction_index: int | None = None
    """not the end of the slot, but right after its transaction of this index"""


class KeyShown(Record):
    """The key as its holder may see it. Times are Unix seconds."""

    created_at: int
    """when it was issued"""
    customer: str
    """whose it is"""
    environment: str
    """what it is for, as it was named when it was issued"""
    expires_at: int | None
    """when it stops working; null: never"""
    last_four: str
    """how its text ends"""
    name: str
    """its name"""
    networks: list[str]
    """the addresses that it may be used from; empty allows any"""
    origins: list[str]
    """only pages of these web origins may use it; empty allows any page, and programs"""
    prefix: str
    """how its text begins"""


class LandedBundle(Record):
    """A bundle that landed, in the block engine's own names."""

    bundle_id: str
    """its id"""
    confirmation_status: str
    """how deep in the chain that is: `processed`, `confirmed`, `finalized`"""
    err: dict[str, None]
    """always `{"Ok": null}`: a bundle with a failure does not land"""
    slot: int
    """the slot of its block"""
    transactions: list[str]
    """the signatures, in their order"""


class ListConfig(Record):
    """What every method takes, and what to do if slots of the range are missing."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    gaps: Literal["error"] | None = None
    """`error` refuses a range with slots that are known to be missing. By default the list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node does not have this option"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""


class LoadedAddresses(Record):
    """Accounts that are in lookup tables, not in the message itself."""

    readonly: list[str]
    """those that may only be read"""
    writable: list[str]
    """those that may be written"""


class MessageAccount(Record):
    """An account of a transaction."""

    pubkey: str
    """the account"""
    signer: bool
    """whether it signed"""
    source: str | None = None
    """`transaction`, or `lookupTable`"""
    writable: bool
    """whether it may be written"""


class MessageHeader(Record):
    """How the message's own accounts are ordered: those that sign first, of these and of the others the writable ones first."""

    num_readonly_signed_accounts: int
    """how many of these may only be read"""
    num_readonly_unsigned_accounts: int
    """how many of the others may only be read"""
    num_required_signatures: int
    """how many sign"""


class MissingRuleEntry(Record):
    """A rule of the chain that the engine does not have: a run may end otherwise than on the chain."""

    address: str
    """the feature's, the program's or the sysvar's"""
    kind: Literal["feature", "program", "sysvar"] | str
    """`feature`: it is active in that slot; `program`: a transaction names it, a builtin or a precompile; `sysvar`: a transaction names it"""
    name: str | None
    """what Agave calls the feature; null if this build does not know it, and for others"""


class BundleContext(Record):
    """What the bundle ran on."""

    api_version: str
    """the version of the node that its state came from, or of the archive's interface"""
    completeness: Completeness | None = None
    """in the past: whether the whole history would give the same answer; absent for the newest state of a node"""
    missing_rules: list[MissingRuleEntry] | None = None
    """rules of the chain that the engine does not support; absent without any"""
    slot: int
    """the slot of that state"""


class MonthOfCalls(Record):
    """The key's own calls of this calendar month (UTC), up to the last minute but one, by kind."""

    counted: int
    """those that a method answered, with a result or an error: they take from the quota"""
    failed: int
    """those that failed because of the service itself"""
    pushed: int
    """notifications of subscriptions, which are not calls"""
    refused: int
    """those that a right, a limit or the form of the request turned away"""


class Monthly(Record):
    """Calls of this calendar month (UTC) that count, up to the last minute but one: of the key with those that it was rotated from or into."""

    limit: int | None
    """how many there may be; null if unlimited"""
    remaining: int | None
    """how many are left; null if unlimited"""
    resets_at: int
    """when the next month begins, in Unix seconds"""
    used: int
    """how many there were"""


class NotValid(Record):
    """An address that was never issued, or has expired."""

    address: str
    """the requested address"""
    valid: bool
    """always false"""


class OneAddress(Record):
    """The response to a fetch without parameters, for old clients."""

    address: str
    """an address that is issued to you only"""
    expires_at: int
    """when it expires, in Unix seconds"""
    validity_duration_seconds: int
    """its class"""


class OverrideConfig(Record):
    """The state of an account to use instead; omitted members stay as they were. An account as getAccountInfo returns it may be passed as it is."""

    data: str | tuple[str, Literal["base64", "base58", "base64+zstd"]] | None = None
    """its data in base64, or a pair of text and encoding: `base64`, `base58` or `base64+zstd`"""
    executable: bool | None = None
    """whether it is a program; it has no effect without an owner that runs code"""
    lamports: int | None = None
    """its balance"""
    owner: str | None = None
    """the program that it belongs to"""
    rent_epoch: int | None = None
    """taken and without effect"""
    rewind_slot: int | None = None
    """taken and without effect"""
    space: int | None = None
    """taken and without effect"""


class OwnPlace(Record):
    """What a replay in the transaction's own place, without overrides, comes to."""

    fidelity: Literal["verified", "diverged", "unverified"] | str
    """whether all of it matches the chain (`verified`), does not (`diverged`), or cannot be compared (`unverified`)"""
    fidelity_fields: list[str]
    """the fields that differ, if it diverged"""
    fidelity_reason: str | None
    """a word for why it is unverified; else null"""


class PaidTip(Record):
    """The tip that a submission was accepted with."""

    address: str
    """where it goes"""
    instruction_index: int | None
    """which instruction of the transaction pays it; null if that is not known"""
    lamports: int
    """how much it is"""


class Fate(Record):
    """What became of one submission. Times are Unix seconds with their fractions."""

    accepted_at: float
    """when it was accepted"""
    accepted_slot: int | None
    """the chain's slot then; null if that was not known"""
    attempts: list[FateAttempt] | None = None
    """each of them, the oldest first; absent if many fates are asked for"""
    bundle_id: str | None
    """the bundle in which you sent it; null if it came alone"""
    commitment: str | None
    """how deep in the chain its block is; null before it landed"""
    durable_nonce: bool
    """whether it uses a durable nonce, and has no such end"""
    edge: str | None
    """the service's name of itself"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it did not"""
    final: bool
    """whether it stays so"""
    last_valid_block_height: int | None
    """above this block height it can never land; null if that is not known"""
    max_retries: int | None
    """how often to send it again; null means until it lands or never can"""
    nonce_account: str | None
    """the nonce account that it uses; null without one, and before it is stored"""
    only_upstreams: list[str]
    """the only upstreams to send it to; empty means all"""
    queue_milliseconds: int | None
    """how long it waited for that from its acceptance; null before it went out"""
    reason: str | None
    """why it never landed; null unless that is known"""
    seen_at: float | None
    """when it was first seen in a block; null before that"""
    sending: Literal["active", "stopped"] | str | None
    """`active` while the service sends it until it lands; `stopped` when it no longer does although it can still land, as on a durable nonce; null in a block, and once it is final"""
    sending_stopped: str | None
    """why it is `stopped`; null otherwise"""
    sent_at: float | None
    """when it first went out; null before that"""
    settled_at: float | None
    """when it became final; null before that"""
    signature: str
    """the transaction's signature"""
    slot: int | None
    """the slot of its block; null before it landed"""
    slots_after_acceptance: int | None
    """how many slots after its acceptance it landed"""
    state: Literal["received", "sent", "landed", "failed", "expired", "refused"] | str
    """`received` (accepted), `sent`, `landed`, `failed` (in a block, with an error), `expired` (in no block, and it can never be), or `refused` (the same, and no upstream ever took it)"""
    tier: str | None
    """the tier that it was sent for"""
    tip: PaidTip | None
    """the tip that it was accepted with; null if another transaction of its bundle tips"""
    transaction_index: int | None
    """its place in the block; null before it landed"""
    tries: int
    """how many attempts there were"""
    will_fail: str | None
    """why it was known to fail when it was accepted: a version 1 transaction that asks for no size or no units; null for all others, and before it is stored"""


class BundleFate(Record):
    """What became of a bundle. Times are Unix seconds with their fractions."""

    accepted_at: float
    """when it was accepted"""
    bundle_id: str
    """its id: SHA-256 of its signatures, in hex"""
    engine_ids: dict[str, str]
    """the ids that block engines gave it, by their names as upstreams"""
    final: bool
    """whether it stays so"""
    reason: str | None
    """why it never landed; null unless that is known"""
    settled_at: float | None
    """when it became final; null before that"""
    slot: int | None
    """the slot of its block; null before it landed"""
    state: Literal["received", "sent", "landed", "failed", "expired", "refused"] | str
    """as a transaction's: `received`, `sent`, `landed`, `failed`, `expired`, `refused`"""
    transactions: list[Fate]
    """the fates of its transactions, in their order"""


class ParsedData(Record):
    """An account's data, read by the rules of its program."""

    parsed: dict[str, Any]
    """what the data says: `type`, and `info` with the fields of that type"""
    program: str
    """the program's name, as in `spl-token`"""
    space: int
    """length of the data in bytes"""


class AccountAfter(Record):
    """An account as the transaction left it, or as it was there if the transaction did not load it."""

    data: tuple[str, Literal["base64", "base64+zstd", "base58"] | str] | ParsedData
    """a pair of text and encoding; an object if it was parsed"""
    executable: bool
    """whether it is a program"""
    lamports: int
    """its balance"""
    owner: str
    """the program that it belongs to"""
    rent_epoch: int
    """the epoch in which it owes rent; 18446744073709551615 means never"""
    space: int
    """the length of its data in bytes"""


class AccountSnapshot(Record):
    """An account as it was."""

    data: tuple[str, Literal["base64", "base64+zstd", "base58"] | str] | ParsedData
    """a pair of text and encoding; an object if it was parsed"""
    executable: bool
    """whether it is a program"""
    lamports: int
    """its balance"""
    owner: str
    """the program that it belongs to"""
    rent_epoch: int
    """the epoch in which it owes rent; 18446744073709551615 means never"""
    rewind_slot: int
    """the slot in which it came to be so"""
    space: int
    """the length of its whole data in bytes"""


class AccountPair(Record):
    """The account at both positions."""

    a: AccountSnapshot | None
    """at the first position; null without a state there"""
    b: AccountSnapshot | None
    """at the second position; null without a state there"""
    diff: Diff | None
    """what differs; null when a side is"""


class FlatAccount(Record):
    """An account as simulateBundle shows it."""

    data: str | ParsedData
    """its data as text in the requested encoding; an object if it was parsed"""
    data_omitted: int | None = None
    """how many bytes of data it has, where `data` is empty because the account was not asked for and the answer has no room for it; else absent"""
    executable: bool
    """whether it is a program"""
    lamports: int
    """its balance"""
    owner: str
    """the program that it belongs to"""
    rent_epoch: int
    """the epoch in which it owes rent; 18446744073709551615 means never"""


class ParsedInstruction(Record):
    """An instruction of a known program, read."""

    parsed: dict[str, Any] | str
    """what it does: `type` and `info`, or a memo's text"""
    program: str
    """the program's name, as in `system`"""
    program_id: str
    """the program"""
    stack_height: int | None = None
    """how deep in calls of programs it ran, 1 for the message's own; null if unknown"""


class Place(Record):
    """The place of a transaction in the ledger."""

    slot: int
    """its slot"""
    transaction_index: int
    """its place in the block"""


class Pong(Record):
    """The response, always the same."""

    result: Literal["pong"] | str
    """always `pong`"""


class ProofRange(Record):
    """A run of slots in the same state."""

    from_slot: int
    """the first of them"""
    reason: str | None = None
    """why they are `unproven` or `refuted`; absent if they are neither"""
    rests_on: (
        Literal["snapshot", "operator", "node", "stream", "accounts", "unchecked"] | str | None
    ) = None
    """where stakes and voters are from: `snapshot`, `operator` (a bank hash in the settings), `node`, `stream` (vote accounts as the stream began with them), `accounts` (a number of vote accounts, whatever their stake) or `unchecked` (settled by an older version, which did not check signatures); absent if they are neither `proven` nor `consistent`"""
    rests_on_slot: int | None = None
    """the slot of that snapshot or bank; absent without one"""
    state: Literal["proven", "consistent", "refuted", "unproven"] | str
    """`proven`: more than two thirds of the stake signed what the archive has, by stakes and voters that the operator gave, or that follow from it; `consistent`: the same by stakes or voters that no one vouches for; `refuted`: they signed something else; `unproven`: none of it, or not yet"""
    to_slot: int
    """the last of them"""


class ProofVote(Record):
    """A vote for the slot's bank."""

    authorized_voter: str | None
    """who may sign for it in that epoch; null if it is not known"""
    signature: str
    """of the transaction that carries it"""
    slot: int
    """of the block in which that landed"""
    stake: int | None
    """of the account in the slot's epoch, in lamports; null if it is not known"""
    transaction: str
    """that transaction, base64"""
    vote_pubkey: str
    """the vote account"""


class ProvenSlot(Record):
    """All that shows what the cluster voted for: `manage.py verify_proof` checks it without us."""

    accounts_lattice_checksum: str
    """of the sum of all accounts at its end; a snapshot of that slot has it in its name"""
    accounts_lattice_hash: Optional[str] = None
    """that sum, 2,048 bytes in base64; absent unless requested"""
    bank_hash: str
    """its bank's hash, as it follows from the archive"""
    blockhash: str
    """the block's"""
    chain: Optional[list["ProvenSlot"]] = None
    """the slots with a block above it up to `votedThrough`, oldest first, at most 128; only the last of them has votes; absent unless requested"""
    epoch: int
    """the slot's"""
    parent_bank_hash: str
    """of that block's bank"""
    parent_slot: int
    """of the block before it"""
    reason: str | None
    """why it is `unproven` or `refuted`; null if it is neither"""
    rests_on: (
        Literal["snapshot", "operator", "node", "stream", "accounts", "unchecked"] | str | None
    )
    """where stakes and voters are from, as in getRewindCoverage; null if it is neither `proven` nor `consistent`"""
    rests_on_slot: int | None
    """the slot of that snapshot or bank; null without one"""
    signature_count: int
    """signatures of the block's transactions, votes too"""
    slot: int
    """the slot"""
    state: Literal["proven", "consistent", "refuted", "unproven"] | str
    """`proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage"""
    total_stake: int | None
    """of the epoch, in lamports; null if it is not known"""
    voted_bank_hash: str | None
    """what these votes are for, if the slot is refuted; else null"""
    voted_through: int | None
    """the slot whose votes settled it, its own or one above; null while none did"""
    votes: list[ProofVote]
    """those that the ledger has for the bank of this slot, one for each vote account"""


class Readiness(Record):
    """
    Whether the service can answer calls.

    operator (both HTTP 200), else `unavailable` (HTTP 503)
    """

    checks: dict[str, CheckAnswer]
    """the result of each check, by its name"""
    status: Literal["ok", "degraded", "unavailable"] | str
    """`ok` when every check passes, `degraded` when calls are answered and something needs an"""


class RemoteHistory(Record):
    """The blocks that are not stored here and read from an archive when they are asked for. A response that they have a part in has the header `X-History-Source`."""

    first_slot: int
    """the first slot of its first epoch"""
    last_slot: int | None
    """the last slot below the first stored block; null while none is stored"""
    network: str
    """the network whose blocks it has"""
    signature_epochs: list[int]
    """the epochs in which getTransaction looks for a signature"""
    source: Literal["old-faithful"] | str
    """the kind of archive: `old-faithful`"""


class ReplacementBlockhash(Record):
    """The blockhash that stood for the transaction's own."""

    blockhash: str
    """the blockhash"""
    last_valid_block_height: int
    """up to which block height it is good"""


class ResultsConfig(Record):
    """Which results."""

    cursor: str | None = None
    """`next` of the page before"""
    limit: int | None = None
    """how many a page: 100 by default, at most 1,000"""


class ReturnData(Record):
    """What a program returned last."""

    data: tuple[str, Literal["base64"] | str]
    """the bytes in base64, and that word"""
    program_id: str
    """the program"""


class Reward(Record):
    """Lamports that an account was given, or had taken, outside transactions."""

    commission: int | None = None
    """the vote account's share in per cent; null but for staking and voting"""
    lamports: int
    """how much; below 0 if it was taken"""
    post_balance: int
    """what the account had then"""
    pubkey: str
    """the account"""
    reward_type: str | None
    """`fee`, `rent`, `staking` or `voting`; null if unknown"""


class RewindStorageBand(Record):
    """A run of slots that are stored in one way. Reads are the same."""

    band: Literal["hot", "sealed", "cold"] | str
    """`hot`, as it was written, `sealed`, packed, or `cold`, packed in the object store"""
    from_slot: int
    """the first of them"""
    to_slot: int
    """the last of them"""


class RewindCoverage(Record):
    """What the archive holds of a window of slots."""

    baselines: list[BaselineEntry]
    """the snapshots of the window's slots, newest first, at most 100"""
    cannot_be_had_slot_count: int
    """how many of the missing ones were given up because no source has them any more"""
    consistent_through: int | None
    """the highest slot of the window that is proven or consistent: if it is only consistent, no one vouches for its stakes or voters; null without such a slot"""
    earliest_slot: int | None
    """the archive's lowest slot; null while nothing is archived"""
    filtered_owners: list[str]
    """programs whose accounts the archive deliberately does not follow"""
    filtered_pubkeys: list[str]
    """accounts that the archive deliberately does not follow"""
    gap_percent: float | None
    """the share of missing ones among those that are not skipped, in per cent; null if there are none of either"""
    gaps: list[GapEntry] | None
    """the runs of missing slots, lowest first; null unless requested"""
    last_writes_only_slot_count: int
    """how many of them are archived with each account's last write, but perhaps not every write"""
    latest_slot: int | None
    """the archive's highest slot; null while nothing is archived"""
    missing_slot_count: int
    """how many of them are not archived, and are not known to be skipped"""
    note: str
    """what the counts mean, in a sentence"""
    proof: list[ProofRange]
    """runs of the window's slots by state, lowest first, at most 1,000; slots that are in none are not computed yet"""
    proven_through: int | None
    """the highest slot of the window that is proven: more than two thirds of the stake signed what the archive has, by stakes and voters that the operator gave, or that follow from it; null without such a slot"""
    skipped_slot_count: int
    """how many of them are known to hold no block"""
    slot_range: int | None
    """how many slots the window has; null while nothing is archived"""
    storage: list[RewindStorageBand]
    """how the window's slots are stored, lowest first"""
    truncated: bool
    """whether there are more gaps than were listed"""
    whole_slot_count: int
    """how many of them are archived with every write"""


class SendConfig(Record):
    """How to send."""

    encoding: Literal["base58", "base64"] | None = None
    """how the transaction is written: `base58` by default"""
    max_retries: int | None = None
    """how often to send it again; 0 sends it once. By default until it lands or never can"""
    min_context_slot: int | None = None
    """taken and without effect"""
    only_upstreams: list[str] | str | None = None
    """send to only these upstreams: names, or one text with commas. `bundle` means all block engines"""
    preflight_commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """taken and without effect"""
    skip_preflight: bool | None = None
    """must be true: nothing is simulated before it is sent"""


class ShownAccount(Record):
    """An account as a block engine shows it; one that is not there has no lamports."""

    data: tuple[str, Literal["base64", "base64+zstd", "base58"] | str] | ParsedData
    """a pair of text and encoding; an object if it was parsed"""
    data_omitted: int | None = None
    """how many bytes of data it has, where `data` is empty because the account was not asked for and the answer has no room for it; else absent"""
    executable: bool
    """whether it is a program"""
    lamports: int
    """its balance"""
    owner: str
    """the program that it belongs to"""
    rent_epoch: int
    """the epoch in which it owes rent; 18446744073709551615 means never"""
    space: int
    """the length of its data in bytes"""


class SignatureFilter(Record):
    """Compares base58 strings, not places in time."""

    gt: str | None = None
    """those that sort after it"""
    gte: str | None = None
    """this one and those that sort after it"""
    lt: str | None = None
    """those that sort before it"""
    lte: str | None = None
    """this one and those that sort before it"""


class SignatureStatus(Record):
    """What became of a transaction."""

    confirmation_status: Literal["finalized"] | str
    """always `finalized`"""
    confirmations: None
    """always null, because everything in the ledger is finalized"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded"""
    slot: int
    """its slot"""
    status: dict[str, Any]
    """the same as `{"Ok": null}` or `{"Err": …}`, for old clients"""


class SignatureStatuses(Record):
    """The statuses, and what they are based on."""

    context: Context
    """what the answer is based on"""
    value: list[SignatureStatus | None]
    """a status for each signature, in their order; null for one that the ledger does not have, or whose status the source of its block did not have"""


class SimulatedBundle(Record):
    """A bundle as one."""

    context: BundleContext
    """what it ran on"""
    err: str | dict[str, Any] | None
    """what the first failing transaction failed by; null when all succeeded"""
    logs: list[str]
    """the programs' logs, in the order of the transactions"""
    post_execution_accounts: list[FlatAccount | None]
    """accounts after each transaction, likewise"""
    pre_execution_accounts: list[FlatAccount | None]
    """accounts before each transaction, in their order; null for one that was not there. By default those that the transactions may write"""
    return_data: FlatReturnData | None
    """what a program returned last; null without such data"""
    units_consumed: int
    """compute units of all transactions together"""


class SimulationConfig(Record):
    """Where in the past, on which accounts, and what is to be shown. Neither signatures nor the blockhash are checked on past state."""

    accounts: AccountsConfig | None = None
    """accounts to be shown as the transaction left them, as simulateTransaction shows them"""
    anchor: Anchor | None = None
    """right before or after a transaction"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """taken and without effect: all that is archived is finalized"""
    encoding: Literal["base58", "base64"] | None = None
    """how the transaction is written; `base64` by default"""
    inner_instructions: bool | None = None
    """whether to return the calls of programs"""
    override_loads: dict[str, int] | None = None
    """accounts that are to be taken from another slot, by their pubkeys"""
    overrides: dict[str, OverrideConfig] | None = None
    """accounts that are to be otherwise, by their pubkeys"""
    pre_state_slot: int | None = None
    """run on accounts as they were at this earlier slot"""
    proof: bool | None = None
    """whether `context.proof` says if the cluster voted for what the archive has"""
    replace_recent_blockhash: bool | None = None
    """taken and without effect"""
    sig_verify: bool | None = None
    """taken and without effect"""
    slot: int | None = None
    """the end of this slot"""
    tolerate_gaps: bool | None = None
    """answer with what is known, even if slots in between are missing"""
    transaction_index: int | None = None
    """not the end of the slot, but right after its transaction of this index"""


class SimulationJobs(Record):
    """Batches of simulations."""

    open: int
    """how many jobs may be open at once"""
    simulations_per_job: int
    """how many simulations one may ask for"""


class SlotContext(Record):
    """What the answer is based on."""

    slot: int
    """the newest slot"""


class InflightBundles(Record):
    """How far bundles have come."""

    context: SlotContext
    """what the answer is based on"""
    value: list[InflightBundle]
    """each bundle in the order of the request"""


class LandedBundles(Record):
    """Where bundles landed."""

    context: SlotContext
    """what the answer is based on"""
    value: list[LandedBundle | None]
    """each bundle in the order of the request; null for one that has not landed, or is not yours"""


class SlotFilter(Record):
    """Slots."""

    gt: int | None = None
    """those above this one"""
    gte: int | None = None
    """this one and those above"""
    lt: int | None = None
    """those below this one"""
    lte: int | None = None
    """this one and those below"""


class SlotProofConfig(Record):
    """How much of the proof."""

    chain: bool | None = None
    """whether the proofs of the slots above it are, up to the one whose votes settle it; false by default"""
    include_lattice: bool | None = None
    """whether the 2,048 bytes of the sum of all accounts are in it; true by default"""
    include_votes: bool | None = None
    """whether the votes are; true by default"""


class SlotRange(Record):
    """The ends of these slots."""

    from_slot: int
    """the first slot, included"""
    step: int | None = None
    """every so many slots; 1 by default"""
    to_slot: int
    """the last slot, included"""


class JobSpec(Record):
    """Transactions by their texts, or by signatures of the ledger, each at each of the positions; signatures without positions each right before itself."""

    client_reference: str | None = None
    """your own name for the job: handed in again under it, it is not run again"""
    config: SimulationConfig | None = None
    """how to simulate: what simulateHistoricalTransaction takes, but for the position"""
    encoding: Literal["base58", "base64"] | None = None
    """how the transactions are written; `base64` by default"""
    positions: list[JobPosition] | None = None
    """where in the past, or else `slotRange`"""
    signatures: list[str] | None = None
    """transactions of the ledger, by their signatures"""
    slot_range: SlotRange | None = None
    """the ends of a range of slots"""
    transactions: list[str] | None = None
    """the transactions as text, or else `signatures`"""


class Snapshots(Record):
    """Accounts to be shown of one transaction."""

    addresses: list[str]
    """the accounts"""
    encoding: Literal["base64", "base64+zstd", "jsonParsed"] | None = None
    """how their data is written: `base64` by default"""


class BundleConfig(Record):
    """How to simulate: on the newest state, or with `slot` or `anchor` in the past."""

    anchor: Anchor | None = None
    """right before or after a transaction in the past"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """the newest state of this commitment"""
    post_execution_accounts_configs: list[Snapshots | None] | None = None
    """accounts to be shown after each transaction, one entry for each; null for none"""
    pre_execution_accounts_configs: list[Snapshots | None] | None = None
    """accounts to be shown before each transaction, one entry for each; null for none"""
    replace_recent_blockhash: bool | None = None
    """let any blockhash pass"""
    simulation_bank: Literal["tip", "processed", "confirmed", "finalized"] | int | Bank | None = (
        None
    )
    """what to run on, in a block engine's words: `tip` means the newest state"""
    skip_sig_verify: bool | None = None
    """do not check the signatures"""
    slot: int | None = None
    """the end of this slot in the past"""
    tolerate_gaps: bool | None = None
    """in the past: answer with what is known, even if the archive misses slots"""
    transaction_encoding: Literal["base58", "base64"] | None = None
    """how the transactions are written: `base64` by default"""
    transaction_index: int | None = None
    """not the end of the slot, but right after its transaction of this index"""


class FlatBundle(Record):
    """The transactions, and in the flat form how to simulate them."""

    anchor: Anchor | None = None
    """right before or after a transaction in the past"""
    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """the newest state of this commitment"""
    encoded_transactions: list[str]
    """one to four transactions as text, in their order"""
    post_execution_accounts_configs: list[Snapshots | None] | None = None
    """accounts to be shown after each transaction, one entry for each; null for none"""
    pre_execution_accounts_configs: list[Snapshots | None] | None = None
    """accounts to be shown before each transaction, one entry for each; null for none"""
    replace_recent_blockhash: bool | None = None
    """let any blockhash pass"""
    simulation_bank: Literal["tip", "processed", "confirmed", "finalized"] | int | Bank | None = (
        None
    )
    """what to run on, in a block engine's words: `tip` means the newest state"""
    skip_sig_verify: bool | None = None
    """do not check the signatures"""
    slot: int | None = None
    """the end of this slot in the past"""
    tolerate_gaps: bool | None = None
    """in the past: answer with what is known, even if the archive misses slots"""
    transaction_encoding: Literal["base58", "base64"] | None = None
    """how the transactions are written: `base64` by default"""
    transaction_index: int | None = None
    """not the end of the slot, but right after its transaction of this index"""


class Standing(Record):
    """Whether the cluster voted for what the archive has at the end of the position's slot."""

    bank_hash: str | None = None
    """that bank's hash, as the archive computes it; absent until it does"""
    reason: str | None = None
    """why it is `unproven` or `refuted`; absent if it is neither"""
    rests_on: (
        Literal["snapshot", "operator", "node", "stream", "accounts", "unchecked"] | str | None
    ) = None
    """where stakes and voters are from, as in getRewindCoverage; absent if it is neither `proven` nor `consistent`"""
    rests_on_slot: int | None = None
    """the slot of that snapshot or bank; absent without one"""
    share: float | None = None
    """which part of all stake the checked votes have, 0 to 1: no more are checked than are needed; absent if stakes are not known"""
    slot: int | None = None
    """the slot with a block at or below the position, whose bank it is; absent until it is computed"""
    state: Literal["proven", "consistent", "refuted", "unproven"] | str
    """`proven`, `consistent`, `refuted` or `unproven`, as in getRewindCoverage"""
    voted_through: int | None = None
    """the slot whose votes settled it, its own or one above; absent until votes did"""
    voters: int | None = None
    """how many vote accounts these votes are of; absent without any"""


class DiffProof(Record):
    """Whether the cluster voted for what the archive has at the end of each position's slot."""

    a: Standing
    """of the first position"""
    b: Standing
    """of the second position"""


class DiffContext(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the archive's interface"""
    completeness: Completeness
    """whether the whole history would give the same answer"""
    gap: DiffGap | None = None
    """runs of missing slots; absent without any"""
    proof: DiffProof | None = None
    """whether the cluster voted for what the archive has; absent unless requested"""
    reason: DiffReason | None = None
    """why a side is null, or a note on it; absent without either"""


class AccountDiff(Record):
    """The difference, and what the answer is based on."""

    context: DiffContext
    """what the answer is based on"""
    value: AccountPair
    """the account at both positions, and what differs"""


class RewindContext(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the archive's interface"""
    completeness: Completeness
    """whether the whole history would give the same answer"""
    gap: GapEntry | None = None
    """the newest run of missing slots between the state and the position: the account may have been written there; absent without such a run"""
    proof: Standing | None = None
    """whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested"""
    reason: str | None = None
    """why the value is null (`closed`, `never_existed`, `before_first_record`, `filtered`), or `filtered` if the archive does not, or did not, follow the account; else absent"""
    slot: int
    """the position's slot"""


class AccountChanges(Record):
    """The writes, and what the answer is based on."""

    context: RewindContext
    """what the answer is based on; `reason` reports writes that were not archived"""
    value: ChangesPage
    """the page"""


class SimulationContext(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the archive's interface"""
    completeness: Completeness
    """whether the whole history would give the same answer"""
    gap: GapEntry | None = None
    """the newest run of missing slots between the state and the position: an account may have been written there; absent without such a run"""
    missing_rules: list[MissingRuleEntry] | None = None
    """rules of the chain that the engine does not support; absent without any"""
    proof: Standing | None = None
    """whether the cluster voted for what the archive has at the end of the slot of the accounts; absent unless requested"""
    slot: int
    """the slot that it ran in"""


class StatusesConfig(Record):
    """How to look."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""
    search_transaction_history: bool | None = None
    """always true in effect: the ledger is all history"""


class StorageBand(Record):
    """A run of slots that are stored in one way."""

    band: Literal["hot", "sealed"] | str
    """`hot`, as it was written, or `sealed`, packed. Reads are the same"""
    first_slot: int
    """the first of them"""
    last_slot: int
    """the last of them"""


class Coverage(Record):
    """What is served."""

    first_slot: int | None
    """the lowest stored slot; null while none is stored"""
    gaps: list[GapEntry] | None
    """the runs of missing slots, lowest first; null unless requested"""
    last_slot: int | None
    """the highest stored slot"""
    missing_slot_count: int
    """how many slots of the window, as far as it lies between these, are not stored, and are not known to be skipped"""
    remote: RemoteHistory | None
    """the history below it; null without one"""
    storage: list[StorageBand]
    """how the window's other slots are stored, lowest first; if truncated, up to the last gap that may be listed"""
    truncated: bool
    """whether there are more gaps than may be listed"""


class LedgerCoverage(Record):
    """The coverage, and what it is based on."""

    context: Context
    """what the answer is based on"""
    value: Coverage
    """what is served"""


class Submitted(Record):
    """A job that was taken."""

    job_id: str
    """its id"""
    state: Literal["queued", "running", "done", "cancelled", "failed"] | str
    """`queued`, or its state if the same job was submitted before"""
    submitted_at: int
    """when it was handed in, in Unix seconds"""
    total: int
    """how many simulations it comes to"""


class TimeFilter(Record):
    """Block times in Unix seconds. A transaction without a block time matches none."""

    eq: int | None = None
    """just then"""
    gt: int | None = None
    """later"""
    gte: int | None = None
    """then and later"""
    lt: int | None = None
    """earlier"""
    lte: int | None = None
    """then and earlier"""


class Filters(Record):
    """What a transaction must be: all members must hold."""

    block_time: TimeFilter | None = None
    """when its block was made"""
    signature: SignatureFilter | None = None
    """its signature as text"""
    slot: SlotFilter | None = None
    """the slots that it is in"""
    status: Literal["success", "failed", "unknown"] | None = None
    """whether it succeeded; `unknown` are those that the source had no status of, which match neither `success` nor `failed`"""
    token_accounts: str | None = None
    """only `none` is supported: transactions of the address itself"""


class AddressTransactionsConfig(Record):
    """Which transactions, in which order, and how they are written."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None
    """`json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text"""
    filters: Filters | None = None
    """what a transaction must be"""
    form: Literal["current", "source"] | None = None
    """`current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node"""
    gaps: Literal["error"] | None = None
    """`error` refuses a page whose range has slots that are known to be missing. By default it is returned, and the header `X-Ledger-Gaps` names these slots"""
    limit: int | None = None
    """how many a page: up to 1,000 signatures, up to 100 full ones; the most is the default"""
    max_supported_transaction_version: int | None = None
    """the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""
    pagination_token: str | None = None
    """from the page before; order and filters must stay the same"""
    sort_order: Literal["desc", "asc"] | None = None
    """by slot and place: `desc` (the default) is newest first"""
    transaction_details: Literal["full", "accounts", "signatures", "none"] | None = None
    """`signatures` (the default) or `full`; no others are served here"""


class TipFetches(Record):
    """A bucket under a cap of the UTC day."""

    burst: int | None
    """how many it holds"""
    daily_cap: int | None
    """how many fetches a UTC day; null if unlimited"""
    per_second: float | None
    """how many tokens come into it a second"""
    remaining: int | None
    """how many are in it, or somewhat fewer, since processes prefetch some; null also while that is unknown"""
    remaining_today: int | None
    """how many of them are left; null if unlimited"""
    reset_seconds: int | None
    """until it is full again"""


class Limits(Record):
    """The limits of calls; those of subscriptions are the tier's. Callers without a key share the buckets of bundles and tip fetches among them."""

    bundles: Bucket
    """bundles that are sent"""
    monthly: Monthly | None
    """calls of a calendar month; null without a key"""
    requests: Bucket
    """calls of any kind; without a key those of one address"""
    simulation_jobs: SimulationJobs
    """batches of simulations"""
    tip_fetches: TipFetches
    """fetches of tip addresses"""


class TipFloor(Record):
    """Percentiles of the tips that landed, in SOL as clients of like services read them, and in lamports. Without a landed tip the former are 0 and the latter null."""

    count: int
    """how many tips landed in them"""
    ema_landed_tips_50th_percentile: float
    """the median, smoothed over time, in SOL"""
    lamports_25th_percentile: int | None
    """a quarter of them were at most this"""
    lamports_50th_percentile: int | None
    """half of them were at most this"""
    lamports_75th_percentile: int | None
    """three quarters of them were at most this"""
    lamports_95th_percentile: int | None
    """95 % of them were at most this"""
    lamports_99th_percentile: int | None
    """99 % of them were at most this"""
    lamports_ema_50th_percentile: int | None
    """the median, smoothed over time"""
    landed_tips_25th_percentile: float
    """a quarter of them were at most this, in SOL"""
    landed_tips_50th_percentile: float
    """half of them were at most this, in SOL"""
    landed_tips_75th_percentile: float
    """three quarters of them were at most this, in SOL"""
    landed_tips_95th_percentile: float
    """95 % of them were at most this, in SOL"""
    landed_tips_99th_percentile: float
    """99 % of them were at most this, in SOL"""
    time: str
    """when this was computed, in UTC"""
    window_seconds: int
    """over how many seconds"""


class TokenAmount(Record):
    """An amount of tokens."""

    amount: str
    """in the smallest unit, as text: it may not fit a float"""
    decimals: int
    """the number of digits behind the point"""
    ui_amount: float | None
    """the amount with its point, as a float that may be rounded; null if it is unknown"""
    ui_amount_string: str
    """the same as text, exact"""


class TokenBalance(Record):
    """What a token account held."""

    account_index: int
    """the account's place among the transaction's accounts"""
    mint: str
    """the token"""
    owner: str | None = None
    """who the tokens belong to"""
    program_id: str | None = None
    """the token program that the account belongs to"""
    ui_token_amount: TokenAmount
    """how many tokens"""


class BundleTransaction(Record):
    """One transaction of a bundle, as the block engine's client reads it. Balances are in the order of its accounts: the message's own, then the looked-up writable, then the read-only ones."""

    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded"""
    fee: int | None
    """what it would cost in lamports; null if no block would include it"""
    loaded_accounts_data_size: int
    """bytes of the accounts that it loads"""
    loaded_addresses: LoadedAddresses
    """accounts from lookup tables"""
    logs: list[str]
    """the programs' log"""
    post_balances: list[int]
    """lamports of each account after it"""
    post_execution_accounts: list[ShownAccount]
    """the accounts asked for, after it"""
    post_token_balances: list[TokenBalance]
    """token accounts after it"""
    pre_balances: list[int]
    """lamports of each account before it"""
    pre_execution_accounts: list[ShownAccount]
    """the accounts asked for, before it"""
    pre_token_balances: list[TokenBalance]
    """token accounts before it"""
    replacement_blockhash: ReplacementBlockhash | None
    """the blockhash that replaced its own; null if its own was used"""
    return_data: ReturnData | None
    """what a program returned last; null without such data"""
    units_consumed: int
    """compute units that it took"""


class BundleValue(Record):
    """The result of the bundle."""

    summary: Literal["succeeded"] | str | FailedBundle
    """`succeeded`, or an object with the first failure"""
    transaction_results: list[BundleTransaction]
    """the transactions that ran, up to the first failure"""


class SimulatedTransactions(Record):
    """A bundle in its parts."""

    context: BundleContext
    """what it ran on"""
    value: BundleValue
    """the result"""


class TokenBalanceChange(Record):
    """Tokens of a token account. Amounts are text with the point of the mint's decimals."""

    after: str
    """after it"""
    before: str
    """before the transaction, `0` if the account did not exist"""
    change: str | None
    """the difference; null if an amount is not a number"""
    decimals: int | None
    """the most digits behind the point; null if it is not recorded"""
    mint: str
    """the token"""
    owner: str | None
    """who owns it; null if it is not recorded"""
    pubkey: str
    """the token account"""


class TransactionAccounts(Record):
    """A transaction with `transactionDetails` `accounts`."""

    account_keys: list[MessageAccount]
    """its accounts, looked-up ones too"""
    signatures: list[str]
    """the signatures, its own name first"""


class TransactionConfig(Record):
    """How a transaction is written."""

    commitment: Literal["processed", "confirmed", "finalized"] | None = None
    """everything in the ledger is finalized; `confirmed` and `finalized` are served alike"""
    encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None
    """`json` by default; `jsonParsed` reads what known programs were asked. `base64` and `base58` are the transaction's own bytes, and `binary` is base58 as bare text"""
    form: Literal["current", "source"] | None = None
    """`current` (the default) writes a transaction of any age as a node of today does; `source` as the source that it was recorded from did, without the fields that it did not know. No option of the standard node"""
    max_supported_transaction_version: int | None = None
    """the newest version that you can read: 1 today. Without it only legacy transactions are answered. With 1 and more, base58 is refused"""
    min_context_slot: int | None = None
    """refuse to answer unless the ledger reaches this slot"""


class TtlClass(Record):
    """A class of tip addresses: how long they live."""

    available: bool
    """whether a fetch of it would succeed now"""
    expires_at_if_fetched_now: int | None
    """when an address fetched now would expire, in Unix seconds; null if the class is not available"""
    ttl_seconds: int
    """the least time that an address of it is valid"""


class TipInfo(Record):
    """The classes of tip addresses that can be fetched here, and the limits."""

    default_ttl_seconds: int
    """the class of a fetch without `ttl`"""
    max_count: int
    """the maximum of `count`"""
    max_ttl_seconds: int
    """the maximum of `ttl`"""
    min_lamports: int
    """the smallest tip to an address; the chain refuses smaller transfers"""
    quota: FetchQuota
    """your limits"""
    served_by: str
    """the name of this edge"""
    ttl_classes: list[TtlClass]
    """the classes, the shortest first"""


class UnparsedInstruction(Record):
    """An instruction of a program that is not known."""

    accounts: list[str]
    """the accounts that it is given"""
    data: str
    """its bytes in base58"""
    program_id: str
    """the program"""
    stack_height: int | None = None
    """how deep in calls of programs it ran, 1 for the message's own; null if unknown"""


class InnerInstructions(Record):
    """The calls of programs that one instruction led to."""

    index: int
    """the place of that instruction in the message"""
    instructions: list[CompiledInstruction | ParsedInstruction | UnparsedInstruction]
    """the calls, in the order in which they ran"""


class Message(Record):
    """What was signed."""

    account_keys: list[str | MessageAccount]
    """the message's own accounts, the fee payer first; with `jsonParsed` an object each, looked-up ones too"""
    address_table_lookups: list[AddressTableLookup] | None = None
    """accounts taken from lookup tables; omitted for legacy transactions"""
    header: MessageHeader | None = None
    """which of them sign and which may be written; omitted with `jsonParsed`"""
    instructions: list[CompiledInstruction | ParsedInstruction | UnparsedInstruction]
    """the instructions of the message"""
    recent_blockhash: str
    """the blockhash that it was made with, or a nonce"""


class SimulatedTransaction(Record):
    """What the transaction did, or would have done."""

    accounts: list[AccountAfter | None] | None
    """the accounts that were asked for, as it left them; one that it loads and that is empty has 0 lamports, one that does not exist is null; null for each if it failed; null instead of the list unless requested"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded"""
    fidelity: Literal["verified", "diverged", "unverified", "not_applicable"] | str
    """of a transaction of the ledger that ran in its own place on its own state: whether all of it matches the chain (`verified`), does not (`diverged`), or cannot be compared (`unverified`, also if the ledger does not have the transaction); `not_applicable` for another position, or with overrides"""
    fidelity_at: Place | None
    """the transaction's own place; null if the ledger does not have it"""
    fidelity_fields: list[str]
    """the fields that differ, if it diverged"""
    fidelity_reason: str | None
    """a word for why it is unverified or, if known, why it diverged, such as `program_build_unknown`, or `engine_missing_rules` if `context.missingRules` names rules of the chain that the engine does not support; `another_position` or `overrides` if it is not applicable; else null"""
    inner_instructions: list[InnerInstructions] | None
    """calls of programs; null unless requested"""
    logs: list[str]
    """the programs' log"""
    own_place: OwnPlace | None
    """if `fidelity` is not applicable, what it is in the transaction's own place; null if the ledger does not have it"""
    return_data: ReturnData | None
    """what a program returned last; null without such data"""
    rewind_load_slot: int
    """the slot of the accounts that it found"""
    rewind_overridden_accounts: list[str]
    """the accounts that were overridden"""
    rewind_override_loads: dict[str, int]
    """the accounts that were taken from another slot, and from which"""
    rewind_slot: int
    """the slot that it ran in"""
    units_consumed: int
    """compute units that it took"""


class JobResult(Record):
    """One simulation of a job: it has a `value` with its `context`, or an `error`."""

    context: SimulationContext | None = None
    """what the value is based on"""
    error: JobError | None = None
    """why there is no value"""
    number: int
    """its place in the job, from 0"""
    position: dict[str, Any]
    """the position, as simulateHistoricalTransaction takes one"""
    signature: str
    """the transaction's signature"""
    transaction: int
    """the place of its transaction in the job, from 0"""
    value: SimulatedTransaction | None = None
    """what the transaction did"""


class ResultPage(Record):
    """Results of a job."""

    complete: bool
    """whether the job is over, so that no more results come than there are"""
    next: str | None
    """give it as `cursor` for those that follow; null if there will be no more"""
    results: list[JobResult]
    """in the order of the job"""
    truncated_by_bytes: bool
    """whether the page is shorter than asked for because it was full"""


class Simulation(Record):
    """What the transaction did, and what the answer is based on."""

    context: SimulationContext
    """what the answer is based on"""
    value: SimulatedTransaction
    """what the transaction did"""


class TransactionJson(Record):
    """A transaction in the encodings `json` and `jsonParsed`."""

    message: Message
    """what was signed"""
    signatures: list[str]
    """the signatures, its own name first"""


class TransactionMeta(Record):
    """What a transaction did. Balances are in the order of its accounts: the message's own, then the looked-up writable, then the looked-up read-only ones."""

    compute_units_consumed: int | None = None
    """compute units that it took"""
    cost_units: int | None = None
    """what it took of the block's room; omitted if the source had none"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded"""
    fee: int
    """what was paid for it, in lamports"""
    inner_instructions: list[InnerInstructions] | None = None
    """calls of programs; null if they were not recorded"""
    loaded_addresses: LoadedAddresses | None = None
    """accounts from lookup tables"""
    log_messages: list[str] | None = None
    """the programs' log; null if it was not recorded"""
    post_balances: list[int]
    """lamports of each account after it"""
    post_token_balances: list[TokenBalance] | None = None
    """token accounts after it"""
    pre_balances: list[int]
    """lamports of each account before it"""
    pre_token_balances: list[TokenBalance] | None = None
    """token accounts before it"""
    return_data: ReturnData | None = None
    """omitted if no program returned anything"""
    rewards: list[Reward] | None = None
    """only old transactions have them; null unless requested"""
    status: dict[str, Any]
    """the same as `{"Ok": null}` or `{"Err": …}`, for old clients"""


class BlockTransaction(Record):
    """A transaction of a block."""

    meta: TransactionMeta | None
    """what it did; null without one in the source"""
    transaction: (
        TransactionJson | TransactionAccounts | tuple[str, Literal["base64", "base58"] | str] | str
    )
    """the transaction itself, an object, or a pair of text and encoding"""
    version: Literal["legacy"] | str | int | None = None
    """its version; absent unless `maxSupportedTransactionVersion` is given, and if `meta` is null"""


class Block(Record):
    """A block."""

    block_height: int | None
    """how many blocks there are below it; null if that was not recorded"""
    block_time: int | None
    """when it was made, in Unix seconds; null if that was not recorded"""
    blockhash: str
    """its hash"""
    num_reward_partitions: int | None = None
    """into how many parts the epoch's rewards are split, in its first block"""
    parent_slot: int
    """the slot of the block before it"""
    previous_blockhash: str
    """the hash of the block before it"""
    rewards: list[Reward] | None = None
    """what accounts were given outside transactions; absent if `rewards` is false"""
    signatures: list[str] | None = None
    """with `transactionDetails` `signatures`, in their order"""
    transactions: list[BlockTransaction] | None = None
    """with `transactionDetails` `full` or `accounts`, in their order"""


class TransactionEntry(Record):
    """A transaction of the ledger."""

    block_time: int | None
    """when its block was made, in Unix seconds; null if that was not recorded"""
    meta: TransactionMeta | None
    """what it did; null without one in the source"""
    slot: int
    """its slot"""
    transaction: (
        TransactionJson | TransactionAccounts | tuple[str, Literal["base64", "base58"] | str] | str
    )
    """the transaction itself, an object, or a pair of text and encoding"""
    transaction_index: int
    """its place in the block, from 0"""
    version: Literal["legacy"] | str | int | None = None
    """its version; absent unless `maxSupportedTransactionVersion` is given, and if `meta` is null"""


class AddressTransactions(Record):
    """A page of an address's transactions."""

    data: list[AddressSignature | TransactionEntry]
    """with `transactionDetails` `signatures` one short entry each, with `full` what getTransaction answers"""
    pagination_token: str | None
    """leads to the next page; null on the last one"""


class UsedIdl(Record):
    """An IDL that programs of the transaction were read by."""

    from_slot: int | None
    """the first slot that an uploaded one holds in; else null"""
    name: str
    """what the IDL calls it"""
    program_id: str
    """the program"""
    source: Literal["uploaded", "anchor", "programMetadata"] | str
    """`uploaded` to this service, or from the chain: `anchor` or `programMetadata`. What is on chain is the word of the account's authority"""
    version: str
    """the IDL's version; may be empty"""


class ExplainedTransaction(Record):
    """A transaction in words and figures."""

    accounts: list[ExplainedAccount]
    """the accounts that it names and looks up, in their order"""
    balances: list[BalanceChange]
    """SOL of each account, in lamports, in the order of `accounts`"""
    block_time: int | None
    """when its block was made, in Unix seconds; null if that was not recorded"""
    compute: ComputeUse
    """what it used and asked for"""
    err: str | dict[str, Any] | None
    """what it failed by; null when it succeeded, or if that is not known"""
    failure: Failure | None
    """the same in words; null if `err` is"""
    fees: ExplainedFees
    """what it paid to be processed"""
    idls: list[UsedIdl]
    """the IDLs that it was read by"""
    instructions: list[ExplainedInstruction]
    """its instructions, decoded, with the calls that they made"""
    outcome: Literal["success", "failed", "unknown"] | str
    """whether it succeeded; `unknown` if the source of its block had no status of it"""
    signature: str
    """its first signature"""
    slot: int
    """its slot"""
    tips: list[ExplainedTip]
    """what it paid to tip addresses"""
    token_balances: list[TokenBalanceChange]
    """tokens of each token account"""
    transaction_index: int
    """its place in the block, from 0"""
    transfers: list[ExplainedTransfer]
    """what its instructions moved, in the order in which they ran, up to a failure, which rolls all of it back; none if the outcome is not known"""
    version: Literal["legacy"] | str | int
    """its version"""


class IdlData(Record):
    """What an IDL says of an account's data."""

    idl: UsedIdl
    """the IDL"""
    info: dict[str, Any] | None
    """its members by name; integers above 32 bits are decimal text, bytes base64. Null if they could not be read"""
    type: str
    """what the IDL calls accounts of this type"""


class AccountContext(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the archive's interface"""
    completeness: Completeness
    """whether the whole history would give the same answer"""
    gap: GapEntry | None = None
    """the newest run of missing slots between the state and the position: the account may have been written there; absent without such a run"""
    idl: IdlData | None = None
    """what an IDL of the account's owner says of its data; null if none reads it; absent unless requested"""
    proof: Standing | None = None
    """whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested"""
    reason: str | None = None
    """why the value is null (`closed`, `never_existed`, `before_first_record`, `filtered`), or `filtered` if the archive does not, or did not, follow the account; else absent"""
    slot: int
    """the position's slot"""


class AccountInfo(Record):
    """The account, and what the answer is based on."""

    context: AccountContext
    """what the answer is based on"""
    value: AccountSnapshot | None
    """the account; null without a state there, and `context.reason` says why"""


class SeveralContext(Record):
    """What the answer is based on."""

    api_version: str
    """the version of the archive's interface"""
    completeness: Completeness
    """whether the whole history would give the same answer"""
    gap: GapEntry | None = None
    """the newest run of missing slots below the position: it concerns the values that are older than it; absent without such a run"""
    idl: list[IdlData | None] | None = None
    """for each value what an IDL of the account's owner says of its data; null if none reads it; absent unless requested"""
    proof: Standing | None = None
    """whether the cluster voted for what the archive has at the end of the position's slot; absent unless requested"""
    reason: list[str | None]
    """for each value why it is null (`closed`, `never_existed`, `before_first_record`, `filtered`, `truncated`); null if there is nothing to say"""
    slot: int
    """the position's slot"""


class MultipleAccounts(Record):
    """The accounts, and what the answer is based on."""

    context: SeveralContext
    """what the answer is based on"""
    truncated_by_bytes: bool
    """whether the answer was full before its end: from some entry on all are null for that, with the reason `truncated`"""
    value: list[AccountSnapshot | None]
    """the accounts in the order of the request; null for one that was not there"""


class Valid(Record):
    """An address that may be tipped."""

    address: str
    """the requested address"""
    expires_at: int | None
    """when it expires, in Unix seconds; null for a static one"""
    is_static: bool
    """whether it never expires"""
    valid: bool
    """always true"""


class WhoAmI(Record):
    """Who calls, with which rights and limits."""

    address: str
    """where the call came from, as the service sees it"""
    costs: Costs
    """what is taken from the limits"""
    host: str
    """the host of the request"""
    hosts: list[str]
    """the tier hosts that the key may use"""
    key: KeyShown | None
    """the key; null without one"""
    limits: Limits
    """what may be asked for, and what is left"""
    methods: list[str] | None
    """the only methods that it may call; null: all that its scopes have"""
    scopes: list[str]
    """the rights of the key"""
    server_time: int
    """the service's clock, in Unix seconds"""
    tier: str
    """the class of service"""
    usage: MonthOfCalls | None
    """calls of this month; null without a key"""


ExplainedInstruction.model_rebuild()
ProvenSlot.model_rebuild()

"""Protobuf messages and enums of the Geyser stream. These tables are the only source: there is no
.proto file and no generated code.
"""

from typing import Any

from upstream.archives import schema as stored
from upstream.protobuf import define

SERVICE = "geyser.Geyser"

_CLOCK = "google.protobuf"
define(_CLOCK, "Timestamp: 1 seconds: int64; 2 nanos: int32")
# `number name: type`, as published with Yellowstone gRPC. bank_id stands in servers since Agave 4.3
# only; where it is not sent nothing is lost.
_CLASSES = define(
    "geyser",
    """
enum CommitmentLevel: PROCESSED=0, CONFIRMED=1, FINALIZED=2
enum SlotStatus: SLOT_PROCESSED=0, SLOT_CONFIRMED=1, SLOT_FINALIZED=2,
  SLOT_FIRST_SHRED_RECEIVED=3, SLOT_COMPLETED=4, SLOT_CREATED_BANK=5, SLOT_DEAD=6
enum CuckooHashAlgorithm: SIP_HASH=0
enum TokenAccountExpansionControlFlag: ALL=0, BALANCE_CHANGED=1
SubscribeRequest: 1 accounts: map<string,SubscribeRequestFilterAccounts>;
  2 slots: map<string,SubscribeRequestFilterSlots>;
  3 transactions: map<string,SubscribeRequestFilterTransactions>;
  4 blocks: map<string,SubscribeRequestFilterBlocks>;
  5 blocks_meta: map<string,SubscribeRequestFilterBlocksMeta>;
  6 commitment: optional CommitmentLevel;
  7 accounts_data_slice: repeated SubscribeRequestAccountsDataSlice;
  8 entry: map<string,SubscribeRequestFilterEntry>; 9 ping: optional SubscribeRequestPing;
  10 transactions_status: map<string,SubscribeRequestFilterTransactions>;
  11 from_slot: optional uint64
CuckooFilter: 1 data: bytes; 2 bucket_count: uint32; 3 entries_per_bucket: uint32;
  4 fingerprint_bits: uint32; 5 hash_seed: uint64; 6 hash_algorithm: CuckooHashAlgorithm
SubscribeRequestFilterAccounts: 2 account: repeated string; 3 owner: repeated string;
  4 filters: repeated SubscribeRequestFilterAccountsFilter;
  5 nonempty_txn_signature: optional bool; 6 cuckoo_accounts_filter: optional CuckooFilter
SubscribeRequestFilterAccountsFilter:
  1 memcmp: SubscribeRequestFilterAccountsFilterMemcmp [oneof filter];
  2 datasize: uint64 [oneof filter]; 3 token_account_state: bool [oneof filter];
  4 lamports: SubscribeRequestFilterAccountsFilterLamports [oneof filter]
SubscribeRequestFilterAccountsFilterMemcmp: 1 offset: uint64; 2 bytes: bytes [oneof data];
  3 base58: string [oneof data]; 4 base64: string [oneof data]
SubscribeRequestFilterAccountsFilterLamports: 1 eq: uint64 [oneof cmp]; 2 ne: uint64 [oneof cmp];
  3 lt: uint64 [oneof cmp]; 4 gt: uint64 [oneof cmp]
SubscribeRequestFilterSlots: 1 filter_by_commitment: optional bool;
  2 interslot_updates: optional bool
SubscribeRequestFilterTransactions: 1 vote: optional bool; 2 failed: optional bool;
  3 account_include: repeated string; 4 account_exclude: repeated string;
  5 signature: optional string; 6 account_required: repeated string;
  7 cuckoo_account_include: optional CuckooFilter;
  30 token_accounts: optional TokenAccountExpansionControlFlag
SubscribeRequestFilterBlocks: 1 account_include: repeated string;
  2 include_transactions: optional bool; 3 include_accounts: optional bool;
  4 include_entries: optional bool; 5 cuckoo_account_include: optional CuckooFilter
SubscribeRequestFilterBlocksMeta:
SubscribeRequestFilterEntry:
SubscribeRequestFilterDeshredTransactions: 1 vote: optional bool;
  2 account_include: repeated string; 3 account_exclude: repeated string;
  4 account_required: repeated string
SubscribeRequestAccountsDataSlice: 1 offset: uint64; 2 length: uint64
SubscribeRequestPing: 1 id: int32
SubscribeDeshredRequest:
  1 deshred_transactions: map<string,SubscribeRequestFilterDeshredTransactions>;
  2 ping: optional SubscribeRequestPing; 3 slots: map<string,SubscribeRequestFilterSlots>
SubscribeUpdate: 1 filters: repeated string; 2 account: SubscribeUpdateAccount [oneof update_oneof];
  3 slot: SubscribeUpdateSlot [oneof update_oneof];
  4 transaction: SubscribeUpdateTransaction [oneof update_oneof];
  5 block: SubscribeUpdateBlock [oneof update_oneof];
  6 ping: SubscribeUpdatePing [oneof update_oneof];
  7 block_meta: SubscribeUpdateBlockMeta [oneof update_oneof];
  8 entry: SubscribeUpdateEntry [oneof update_oneof];
  9 pong: SubscribeUpdatePong [oneof update_oneof];
  10 transaction_status: SubscribeUpdateTransactionStatus [oneof update_oneof];
  11 created_at: google.protobuf.Timestamp
SubscribeUpdateAccount: 1 account: SubscribeUpdateAccountInfo; 2 slot: uint64; 3 is_startup: bool;
  4 bank_id: optional uint64
SubscribeUpdateAccountInfo: 1 pubkey: bytes; 2 lamports: uint64; 3 owner: bytes;
  4 executable: bool; 5 rent_epoch: uint64; 6 data: bytes; 7 write_version: uint64;
  8 txn_signature: optional bytes
SubscribeUpdateSlot: 1 slot: uint64; 2 parent: optional uint64; 3 status: SlotStatus;
  4 dead_error: optional string; 5 bank_id: optional uint64
SubscribeUpdateTransaction: 1 transaction: SubscribeUpdateTransactionInfo; 2 slot: uint64;
  3 bank_id: uint64
SubscribeUpdateTransactionInfo: 1 signature: bytes; 2 is_vote: bool;
  3 transaction: solana.storage.ConfirmedBlock.Transaction;
  4 meta: solana.storage.ConfirmedBlock.TransactionStatusMeta; 5 index: uint64
SubscribeUpdateTransactionStatus: 1 slot: uint64; 2 signature: bytes; 3 is_vote: bool;
  4 index: uint64; 5 err: solana.storage.ConfirmedBlock.TransactionError
SubscribeUpdateBlock: 1 slot: uint64; 2 blockhash: string;
  3 rewards: solana.storage.ConfirmedBlock.Rewards;
  4 block_time: solana.storage.ConfirmedBlock.UnixTimestamp;
  5 block_height: solana.storage.ConfirmedBlock.BlockHeight;
  6 transactions: repeated SubscribeUpdateTransactionInfo; 7 parent_slot: uint64;
  8 parent_blockhash: string; 9 executed_transaction_count: uint64;
  10 updated_account_count: uint64; 11 accounts: repeated SubscribeUpdateAccountInfo;
  12 entries_count: uint64; 13 entries: repeated SubscribeUpdateEntry
SubscribeUpdateBlockMeta: 1 slot: uint64; 2 blockhash: string;
  3 rewards: solana.storage.ConfirmedBlock.Rewards;
  4 block_time: solana.storage.ConfirmedBlock.UnixTimestamp;
  5 block_height: solana.storage.ConfirmedBlock.BlockHeight; 6 parent_slot: uint64;
  7 parent_blockhash: string; 8 executed_transaction_count: uint64; 9 entries_count: uint64;
  10 bank_id: uint64
SubscribeUpdateEntry: 1 slot: uint64; 2 index: uint64; 3 num_hashes: uint64; 4 hash: bytes;
  5 executed_transaction_count: uint64; 6 starting_transaction_index: uint64; 7 bank_id: uint64
SubscribeUpdateDeshredTransaction: 1 transaction: SubscribeUpdateDeshredTransactionInfo;
  2 slot: uint64
SubscribeUpdateDeshredTransactionInfo: 1 signature: bytes; 2 is_vote: bool;
  3 transaction: solana.storage.ConfirmedBlock.Transaction;
  4 loaded_writable_addresses: repeated bytes; 5 loaded_readonly_addresses: repeated bytes;
  6 completed_data_set_starting_shred_index: uint32;
  7 completed_data_set_ending_shred_index_exclusive: uint32
SubscribeUpdatePing:
SubscribeUpdatePong: 1 id: int32
SubscribeUpdateDeshred: 1 filters: repeated string;
  2 deshred_transaction: SubscribeUpdateDeshredTransaction [oneof update_oneof];
  3 ping: SubscribeUpdatePing [oneof update_oneof];
  4 pong: SubscribeUpdatePong [oneof update_oneof]; 5 created_at: google.protobuf.Timestamp;
  6 slot: SubscribeUpdateSlot [oneof update_oneof]
SubscribeReplayInfoRequest:
SubscribeReplayInfoResponse: 1 first_available: optional uint64
PingRequest: 1 count: int32
PongResponse: 1 count: int32
GetLatestBlockhashRequest: 1 commitment: optional CommitmentLevel
GetLatestBlockhashResponse: 1 slot: uint64; 2 blockhash: string; 3 last_valid_block_height: uint64
GetBlockHeightRequest: 1 commitment: optional CommitmentLevel
GetBlockHeightResponse: 1 block_height: uint64
GetSlotRequest: 1 commitment: optional CommitmentLevel
GetSlotResponse: 1 slot: uint64
GetVersionRequest:
GetVersionResponse: 1 version: string
IsBlockhashValidRequest: 1 blockhash: string; 2 commitment: optional CommitmentLevel
IsBlockhashValidResponse: 1 slot: uint64; 2 valid: bool
""",
    imports=[stored.PACKAGE, _CLOCK],
)
CommitmentLevel: Any = _CLASSES["CommitmentLevel"]
SlotStatus: Any = _CLASSES["SlotStatus"]
TokenAccountExpansionControlFlag: Any = _CLASSES["TokenAccountExpansionControlFlag"]
SubscribeRequest: Any = _CLASSES["SubscribeRequest"]
SubscribeUpdate: Any = _CLASSES["SubscribeUpdate"]
SubscribeUpdateAccount: Any = _CLASSES["SubscribeUpdateAccount"]
SubscribeUpdateAccountInfo: Any = _CLASSES["SubscribeUpdateAccountInfo"]
SubscribeUpdateSlot: Any = _CLASSES["SubscribeUpdateSlot"]
SubscribeUpdateTransaction: Any = _CLASSES["SubscribeUpdateTransaction"]
SubscribeUpdateTransactionInfo: Any = _CLASSES["SubscribeUpdateTransactionInfo"]
SubscribeUpdateTransactionStatus: Any = _CLASSES["SubscribeUpdateTransactionStatus"]
SubscribeUpdateBlock: Any = _CLASSES["SubscribeUpdateBlock"]
SubscribeUpdateBlockMeta: Any = _CLASSES["SubscribeUpdateBlockMeta"]
SubscribeUpdateEntry: Any = _CLASSES["SubscribeUpdateEntry"]
SubscribeUpdateDeshred: Any = _CLASSES["SubscribeUpdateDeshred"]
SubscribeDeshredRequest: Any = _CLASSES["SubscribeDeshredRequest"]
SubscribeReplayInfoRequest: Any = _CLASSES["SubscribeReplayInfoRequest"]
SubscribeReplayInfoResponse: Any = _CLASSES["SubscribeReplayInfoResponse"]
PingRequest: Any = _CLASSES["PingRequest"]
PongResponse: Any = _CLASSES["PongResponse"]
GetLatestBlockhashRequest: Any = _CLASSES["GetLatestBlockhashRequest"]
GetLatestBlockhashResponse: Any = _CLASSES["GetLatestBlockhashResponse"]
GetBlockHeightRequest: Any = _CLASSES["GetBlockHeightRequest"]
GetBlockHeightResponse: Any = _CLASSES["GetBlockHeightResponse"]
GetSlotRequest: Any = _CLASSES["GetSlotRequest"]
GetSlotResponse: Any = _CLASSES["GetSlotResponse"]
GetVersionRequest: Any = _CLASSES["GetVersionRequest"]
GetVersionResponse: Any = _CLASSES["GetVersionResponse"]
IsBlockhashValidRequest: Any = _CLASSES["IsBlockhashValidRequest"]
IsBlockhashValidResponse: Any = _CLASSES["IsBlockhashValidResponse"]

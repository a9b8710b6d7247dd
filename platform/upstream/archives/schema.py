"""Protobuf messages of a validator's stored blocks, built from their field tables."""

from typing import Any

from upstream.protobuf import define

PACKAGE = "solana.storage.ConfirmedBlock"
# `number name: type`, as published with the validator; 20 slot is the dbin container's own.
_CLASSES = define(
    PACKAGE,
    """
ConfirmedBlock: 1 previous_blockhash: string; 2 blockhash: string; 3 parent_slot: uint64;
  4 transactions: repeated ConfirmedTransaction; 5 rewards: repeated Reward;
  6 block_time: UnixTimestamp; 7 block_height: BlockHeight; 8 num_partitions: NumPartitions;
  20 slot: optional uint64
ConfirmedTransaction: 1 transaction: Transaction; 2 meta: TransactionStatusMeta
Transaction: 1 signatures: repeated bytes; 2 message: Message
Message: 1 header: MessageHeader; 2 account_keys: repeated bytes; 3 recent_blockhash: bytes;
  4 instructions: repeated CompiledInstruction; 5 versioned: bool;
  6 address_table_lookups: repeated MessageAddressTableLookup; 7 config: TransactionConfig
TransactionConfig: 1 priority_fee: optional uint64; 2 compute_unit_limit: optional uint32;
  3 loaded_accounts_data_size_limit: optional uint32; 4 heap_size: optional uint32
MessageHeader: 1 num_required_signatures: uint32; 2 num_readonly_signed_accounts: uint32;
  3 num_readonly_unsigned_accounts: uint32
MessageAddressTableLookup: 1 account_key: bytes; 2 writable_indexes: bytes;
  3 readonly_indexes: bytes
TransactionStatusMeta: 1 err: TransactionError; 2 fee: uint64; 3 pre_balances: repeated uint64;
  4 post_balances: repeated uint64; 5 inner_instructions: repeated InnerInstructions;
  6 log_messages: repeated string; 7 pre_token_balances: repeated TokenBalance;
  8 post_token_balances: repeated TokenBalance; 9 rewards: repeated Reward;
  10 inner_instructions_none: bool; 11 log_messages_none: bool;
  12 loaded_writable_addresses: repeated bytes; 13 loaded_readonly_addresses: repeated bytes;
  14 return_data: ReturnData; 15 return_data_none: bool;
  16 compute_units_consumed: optional uint64; 17 cost_units: optional uint64
TransactionError: 1 err: bytes
InnerInstructions: 1 index: uint32; 2 instructions: repeated InnerInstruction
InnerInstruction: 1 program_id_index: uint32; 2 accounts: bytes; 3 data: bytes;
  4 stack_height: optional uint32
CompiledInstruction: 1 program_id_index: uint32; 2 accounts: bytes; 3 data: bytes
TokenBalance: 1 account_index: uint32; 2 mint: string; 3 ui_token_amount: UiTokenAmount;
  4 owner: string; 5 program_id: string
UiTokenAmount: 1 ui_amount: double; 2 decimals: uint32; 3 amount: string;
  4 ui_amount_string: string
ReturnData: 1 program_id: bytes; 2 data: bytes
Reward: 1 pubkey: string; 2 lamports: int64; 3 post_balance: uint64; 4 reward_type: int32;
  5 commission: string; 6 commission_bps: string
Rewards: 1 rewards: repeated Reward; 2 num_partitions: NumPartitions
UnixTimestamp: 1 timestamp: int64
BlockHeight: 1 block_height: uint64
NumPartitions: 1 num_partitions: uint64
ContainedBlock: 1 number: uint64; 2 id: string; 3 previous_id: string; 6 payload_kind: int32;
  8 payload: bytes; 10 previous_number: optional uint64; 11 typed_payload: TypedPayload
TypedPayload: 1 type_url: string; 2 value: bytes
""",
)
ConfirmedBlock: Any = _CLASSES["ConfirmedBlock"]
ContainedBlock: Any = _CLASSES["ContainedBlock"]
Reward: Any = _CLASSES["Reward"]
Rewards: Any = _CLASSES["Rewards"]
Transaction: Any = _CLASSES["Transaction"]
TransactionError: Any = _CLASSES["TransactionError"]
TransactionStatusMeta: Any = _CLASSES["TransactionStatusMeta"]

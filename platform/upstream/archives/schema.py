"""Protobuf messages of a validator's stored blocks, built from their field tables."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "solana.storage.ConfirmedBlock"
# `number name: type`, as published with the validator; 20 slot is the dbin container's own.
_TABLES = """
ConfirmedBlock: 1 previous_blockhash: string; 2 blockhash: string; 3 parent_slot: uint64; \
4 transactions: repeated ConfirmedTransaction; 5 rewards: repeated Reward; \
6 block_time: UnixTimestamp; 7 block_height: BlockHeight; 8 num_partitions: NumPartitions; \
20 slot: optional uint64
ConfirmedTransaction: 1 transaction: Transaction; 2 meta: TransactionStatusMeta
Transaction: 1 signatures: repeated bytes; 2 message: Message
Message: 1 header: MessageHeader; 2 account_keys: repeated bytes; 3 recent_blockhash: bytes; \
4 instructions: repeated CompiledInstruction; 5 versioned: bool; \
6 address_table_lookups: repeated MessageAddressTableLookup; 7 config: TransactionConfig
TransactionConfig: 1 priority_fee: optional uint64; 2 compute_unit_limit: optional uint32; \
3 loaded_accounts_data_size_limit: optional uint32; 4 heap_size: optional uint32
MessageHeader: 1 num_required_signatures: uint32; 2 num_readonly_signed_accounts: uint32; \
3 num_readonly_unsigned_accounts: uint32
MessageAddressTableLookup: 1 account_key: bytes; 2 writable_indexes: bytes; \
3 readonly_indexes: bytes
TransactionStatusMeta: 1 err: TransactionError; 2 fee: uint64; 3 pre_balances: repeated uint64; \
4 post_balances: repeated uint64; 5 inner_instructions: repeated InnerInstructions; \
6 log_messages: repeated string; 7 pre_token_balances: repeated TokenBalance; \
8 post_token_balances: repeated TokenBalance; 9 rewards: repeated Reward; \
10 inner_instructions_none: bool; 11 log_messages_none: bool; \
12 loaded_writable_addresses: repeated bytes; 13 loaded_readonly_addresses: repeated bytes; \
14 return_data: ReturnData; 15 return_data_none: bool; \
16 compute_units_consumed: optional uint64; 17 cost_units: optional uint64
TransactionError: 1 err: bytes
InnerInstructions: 1 index: uint32; 2 instructions: repeated InnerInstruction
InnerInstruction: 1 program_id_index: uint32; 2 accounts: bytes; 3 data: bytes; \
4 stack_height: optional uint32
CompiledInstruction: 1 program_id_index: uint32; 2 accounts: bytes; 3 data: bytes
TokenBalance: 1 account_index: uint32; 2 mint: string; 3 ui_token_amount: UiTokenAmount; \
4 owner: string; 5 program_id: string
UiTokenAmount: 1 ui_amount: double; 2 decimals: uint32; 3 amount: string; \
4 ui_amount_string: string
ReturnData: 1 program_id: bytes; 2 data: bytes
Reward: 1 pubkey: string; 2 lamports: int64; 3 post_balance: uint64; 4 reward_type: int32; \
5 commission: string; 6 commission_bps: string
UnixTimestamp: 1 timestamp: int64
BlockHeight: 1 block_height: uint64
NumPartitions: 1 num_partitions: uint64
ContainedBlock: 1 number: uint64; 2 id: string; 3 previous_id: string; 6 payload_kind: int32; \
8 payload: bytes
"""


def _classes() -> dict[str, Any]:
    field_type = descriptor_pb2.FieldDescriptorProto
    scalars = {
        "string": field_type.TYPE_STRING,
        "bytes": field_type.TYPE_BYTES,
        "bool": field_type.TYPE_BOOL,
        "double": field_type.TYPE_DOUBLE,
        "int32": field_type.TYPE_INT32,
        "int64": field_type.TYPE_INT64,
        "uint32": field_type.TYPE_UINT32,
        "uint64": field_type.TYPE_UINT64,
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="confirmed_block.proto", package=_PACKAGE, syntax="proto3"
    )
    for table in _TABLES.strip().splitlines():
        name, _, fields = table.partition(": ")
        message = file.message_type.add(name=name)
        for entry in fields.split("; "):
            label, _, words = entry.partition(": ")
            number, field_name = label.split()
            *marks, kind = words.split()
            field = message.field.add(name=field_name, number=int(number))
            field.label = field_type.LABEL_OPTIONAL
            if kind in scalars:
                field.type = scalars[kind]
            else:
                field.type = field_type.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
            if "repeated" in marks:
                field.label = field_type.LABEL_REPEATED
            if "optional" in marks:
                # proto3 keeps the presence of a scalar in a oneof of its own.
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field_name}")
    # A pool of our own: another library may bring the same package under the same names.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name.removeprefix(f"{_PACKAGE}."): kind
        for name, kind in message_factory.GetMessageClassesForFiles([file.name], pool).items()
    }


_CLASSES = _classes()
ConfirmedBlock: Any = _CLASSES["ConfirmedBlock"]
ContainedBlock: Any = _CLASSES["ContainedBlock"]
TransactionStatusMeta: Any = _CLASSES["TransactionStatusMeta"]

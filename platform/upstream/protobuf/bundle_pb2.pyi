import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from upstream.protobuf import packet_pb2 as _packet_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DroppedReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BlockhashExpired: _ClassVar[DroppedReason]
    PartiallyProcessed: _ClassVar[DroppedReason]
    NotFinalized: _ClassVar[DroppedReason]
BlockhashExpired: DroppedReason
PartiallyProcessed: DroppedReason
NotFinalized: DroppedReason

class Header(_message.Message):
    __slots__ = ("ts",)
    TS_FIELD_NUMBER: _ClassVar[int]
    ts: _timestamp_pb2.Timestamp
    def __init__(self, ts: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Bundle(_message.Message):
    __slots__ = ("header", "packets")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PACKETS_FIELD_NUMBER: _ClassVar[int]
    header: Header
    packets: _containers.RepeatedCompositeFieldContainer[_packet_pb2.Packet]
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., packets: _Optional[_Iterable[_Union[_packet_pb2.Packet, _Mapping]]] = ...) -> None: ...

class Accepted(_message.Message):
    __slots__ = ("slot", "validator_identity")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    VALIDATOR_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    slot: int
    validator_identity: str
    def __init__(self, slot: _Optional[int] = ..., validator_identity: _Optional[str] = ...) -> None: ...

class AuctionBidRejected(_message.Message):
    __slots__ = ("auction_id", "simulated_bid_lamports", "msg")
    AUCTION_ID_FIELD_NUMBER: _ClassVar[int]
    SIMULATED_BID_LAMPORTS_FIELD_NUMBER: _ClassVar[int]
    MSG_FIELD_NUMBER: _ClassVar[int]
    auction_id: str
    simulated_bid_lamports: int
    msg: str
    def __init__(self, auction_id: _Optional[str] = ..., simulated_bid_lamports: _Optional[int] = ..., msg: _Optional[str] = ...) -> None: ...

class SimulationFailure(_message.Message):
    __slots__ = ("tx_signature", "msg")
    TX_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    MSG_FIELD_NUMBER: _ClassVar[int]
    tx_signature: str
    msg: str
    def __init__(self, tx_signature: _Optional[str] = ..., msg: _Optional[str] = ...) -> None: ...

class InternalError(_message.Message):
    __slots__ = ("msg",)
    MSG_FIELD_NUMBER: _ClassVar[int]
    msg: str
    def __init__(self, msg: _Optional[str] = ...) -> None: ...

class DroppedBundle(_message.Message):
    __slots__ = ("msg",)
    MSG_FIELD_NUMBER: _ClassVar[int]
    msg: str
    def __init__(self, msg: _Optional[str] = ...) -> None: ...

class Rejected(_message.Message):
    __slots__ = ("state_auction_bid_rejected", "winning_batch_bid_rejected", "simulation_failure", "internal_error", "dropped_bundle")
    STATE_AUCTION_BID_REJECTED_FIELD_NUMBER: _ClassVar[int]
    WINNING_BATCH_BID_REJECTED_FIELD_NUMBER: _ClassVar[int]
    SIMULATION_FAILURE_FIELD_NUMBER: _ClassVar[int]
    INTERNAL_ERROR_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BUNDLE_FIELD_NUMBER: _ClassVar[int]
    state_auction_bid_rejected: AuctionBidRejected
    winning_batch_bid_rejected: AuctionBidRejected
    simulation_failure: SimulationFailure
    internal_error: InternalError
    dropped_bundle: DroppedBundle
    def __init__(self, state_auction_bid_rejected: _Optional[_Union[AuctionBidRejected, _Mapping]] = ..., winning_batch_bid_rejected: _Optional[_Union[AuctionBidRejected, _Mapping]] = ..., simulation_failure: _Optional[_Union[SimulationFailure, _Mapping]] = ..., internal_error: _Optional[_Union[InternalError, _Mapping]] = ..., dropped_bundle: _Optional[_Union[DroppedBundle, _Mapping]] = ...) -> None: ...

class Finalized(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Processed(_message.Message):
    __slots__ = ("validator_identity", "slot", "bundle_index")
    VALIDATOR_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    validator_identity: str
    slot: int
    bundle_index: int
    def __init__(self, validator_identity: _Optional[str] = ..., slot: _Optional[int] = ..., bundle_index: _Optional[int] = ...) -> None: ...

class Dropped(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: DroppedReason
    def __init__(self, reason: _Optional[_Union[DroppedReason, str]] = ...) -> None: ...

class BundleResult(_message.Message):
    __slots__ = ("bundle_id", "accepted", "rejected", "finalized", "processed", "dropped")
    BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    FINALIZED_FIELD_NUMBER: _ClassVar[int]
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    bundle_id: str
    accepted: Accepted
    rejected: Rejected
    finalized: Finalized
    processed: Processed
    dropped: Dropped
    def __init__(self, bundle_id: _Optional[str] = ..., accepted: _Optional[_Union[Accepted, _Mapping]] = ..., rejected: _Optional[_Union[Rejected, _Mapping]] = ..., finalized: _Optional[_Union[Finalized, _Mapping]] = ..., processed: _Optional[_Union[Processed, _Mapping]] = ..., dropped: _Optional[_Union[Dropped, _Mapping]] = ...) -> None: ...

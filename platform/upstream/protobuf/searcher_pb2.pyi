from upstream.protobuf import bundle_pb2 as _bundle_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SlotList(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, slots: _Optional[_Iterable[int]] = ...) -> None: ...

class SendBundleRequest(_message.Message):
    __slots__ = ("bundle",)
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    bundle: _bundle_pb2.Bundle
    def __init__(self, bundle: _Optional[_Union[_bundle_pb2.Bundle, _Mapping]] = ...) -> None: ...

class SendBundleResponse(_message.Message):
    __slots__ = ("uuid",)
    UUID_FIELD_NUMBER: _ClassVar[int]
    uuid: str
    def __init__(self, uuid: _Optional[str] = ...) -> None: ...

class SubscribeBundleResultsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NextScheduledLeaderRequest(_message.Message):
    __slots__ = ("regions",)
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    regions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, regions: _Optional[_Iterable[str]] = ...) -> None: ...

class NextScheduledLeaderResponse(_message.Message):
    __slots__ = ("current_slot", "next_leader_slot", "next_leader_identity", "next_leader_region")
    CURRENT_SLOT_FIELD_NUMBER: _ClassVar[int]
    NEXT_LEADER_SLOT_FIELD_NUMBER: _ClassVar[int]
    NEXT_LEADER_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    NEXT_LEADER_REGION_FIELD_NUMBER: _ClassVar[int]
    current_slot: int
    next_leader_slot: int
    next_leader_identity: str
    next_leader_region: str
    def __init__(self, current_slot: _Optional[int] = ..., next_leader_slot: _Optional[int] = ..., next_leader_identity: _Optional[str] = ..., next_leader_region: _Optional[str] = ...) -> None: ...

class ConnectedLeadersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConnectedLeadersResponse(_message.Message):
    __slots__ = ("connected_validators",)
    class ConnectedValidatorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: SlotList
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[SlotList, _Mapping]] = ...) -> None: ...
    CONNECTED_VALIDATORS_FIELD_NUMBER: _ClassVar[int]
    connected_validators: _containers.MessageMap[str, SlotList]
    def __init__(self, connected_validators: _Optional[_Mapping[str, SlotList]] = ...) -> None: ...

class ConnectedLeadersRegionedRequest(_message.Message):
    __slots__ = ("regions",)
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    regions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, regions: _Optional[_Iterable[str]] = ...) -> None: ...

class ConnectedLeadersRegionedResponse(_message.Message):
    __slots__ = ("connected_validators",)
    class ConnectedValidatorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: ConnectedLeadersResponse
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[ConnectedLeadersResponse, _Mapping]] = ...) -> None: ...
    CONNECTED_VALIDATORS_FIELD_NUMBER: _ClassVar[int]
    connected_validators: _containers.MessageMap[str, ConnectedLeadersResponse]
    def __init__(self, connected_validators: _Optional[_Mapping[str, ConnectedLeadersResponse]] = ...) -> None: ...

class GetTipAccountsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTipAccountsResponse(_message.Message):
    __slots__ = ("accounts",)
    ACCOUNTS_FIELD_NUMBER: _ClassVar[int]
    accounts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, accounts: _Optional[_Iterable[str]] = ...) -> None: ...

class GetRegionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRegionsResponse(_message.Message):
    __slots__ = ("current_region", "available_regions")
    CURRENT_REGION_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_REGIONS_FIELD_NUMBER: _ClassVar[int]
    current_region: str
    available_regions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, current_region: _Optional[str] = ..., available_regions: _Optional[_Iterable[str]] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELAYER: _ClassVar[Role]
    SEARCHER: _ClassVar[Role]
    VALIDATOR: _ClassVar[Role]
    SHREDSTREAM_SUBSCRIBER: _ClassVar[Role]
RELAYER: Role
SEARCHER: Role
VALIDATOR: Role
SHREDSTREAM_SUBSCRIBER: Role

class GenerateAuthChallengeRequest(_message.Message):
    __slots__ = ("role", "pubkey")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PUBKEY_FIELD_NUMBER: _ClassVar[int]
    role: Role
    pubkey: bytes
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., pubkey: _Optional[bytes] = ...) -> None: ...

class GenerateAuthChallengeResponse(_message.Message):
    __slots__ = ("challenge",)
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    challenge: str
    def __init__(self, challenge: _Optional[str] = ...) -> None: ...

class GenerateAuthTokensRequest(_message.Message):
    __slots__ = ("challenge", "client_pubkey", "signed_challenge")
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    CLIENT_PUBKEY_FIELD_NUMBER: _ClassVar[int]
    SIGNED_CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    challenge: str
    client_pubkey: bytes
    signed_challenge: bytes
    def __init__(self, challenge: _Optional[str] = ..., client_pubkey: _Optional[bytes] = ..., signed_challenge: _Optional[bytes] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("value", "expires_at_utc")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_UTC_FIELD_NUMBER: _ClassVar[int]
    value: str
    expires_at_utc: _timestamp_pb2.Timestamp
    def __init__(self, value: _Optional[str] = ..., expires_at_utc: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GenerateAuthTokensResponse(_message.Message):
    __slots__ = ("access_token", "refresh_token")
    ACCESS_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REFRESH_TOKEN_FIELD_NUMBER: _ClassVar[int]
    access_token: Token
    refresh_token: Token
    def __init__(self, access_token: _Optional[_Union[Token, _Mapping]] = ..., refresh_token: _Optional[_Union[Token, _Mapping]] = ...) -> None: ...

class RefreshAccessTokenRequest(_message.Message):
    __slots__ = ("refresh_token",)
    REFRESH_TOKEN_FIELD_NUMBER: _ClassVar[int]
    refresh_token: str
    def __init__(self, refresh_token: _Optional[str] = ...) -> None: ...

class RefreshAccessTokenResponse(_message.Message):
    __slots__ = ("access_token",)
    ACCESS_TOKEN_FIELD_NUMBER: _ClassVar[int]
    access_token: Token
    def __init__(self, access_token: _Optional[_Union[Token, _Mapping]] = ...) -> None: ...

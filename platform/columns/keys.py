"""Columns of fixed-size keys: solders' types in code, plain bytes in the table."""

from typing import Any, ClassVar

from django.db import models
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature


class _KeyColumn(models.BinaryField):  # type: ignore[type-arg]
    key_type: ClassVar[Any]

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else self.key_type.from_bytes(bytes(value))

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.key_type.from_string(value)
        if isinstance(value, bytes | memoryview):
            return self.key_type.from_bytes(bytes(value))
        return value

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        raw = value if value is None or isinstance(value, bytes) else bytes(value)
        return super().get_db_prep_value(raw, connection, prepared)


class PubkeyColumn(_KeyColumn):
    """32 bytes, `solders.pubkey.Pubkey`."""

    key_type = Pubkey


class HashColumn(_KeyColumn):
    """32 bytes, `solders.hash.Hash`: a blockhash."""

    key_type = Hash


class SignatureColumn(_KeyColumn):
    """64 bytes, `solders.signature.Signature`."""

    key_type = Signature

"""Cursor: reading the little-endian packings that Solana's programs put in instruction data."""

from struct import Struct

from solders.pubkey import Pubkey

from chain.units import U64_MAX

_U16 = Struct("<H")
_U32 = Struct("<I")
_U64 = Struct("<Q")
_I8 = Struct("<b")
_I16 = Struct("<h")
_I64 = Struct("<q")
_F64 = Struct("<d")

_NO_PUBKEY = bytes(32)


class UnreadableError(Exception):
    """The data or the accounts are not those of the instruction: the node does not parse it."""


class Cursor:
    """Reads values in order; UnreadableError if the data ends or is invalid."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        start = self.at
        end = start + size
        if end > len(self.data):
            raise UnreadableError
        self.at = end
        return self.data[start:end]

    def rest(self) -> bytes:
        """All the bytes that are left."""
        start = self.at
        self.at = len(self.data)
        return self.data[start:]

    def end(self) -> None:
        """Refuses bytes left over."""
        if self.at != len(self.data):
            raise UnreadableError

    def u8(self) -> int:
        return self.take(1)[0]

    def u16(self) -> int:
        return self._number(_U16)

    def u32(self) -> int:
        return self._number(_U32)

    def u64(self) -> int:
        return self._number(_U64)

    def i8(self) -> int:
        return self._number(_I8)

    def i16(self) -> int:
        return self._number(_I16)

    def i64(self) -> int:
        return self._number(_I64)

    def f64(self) -> float:
        number: float = _F64.unpack(self.take(8))[0]
        return number

    def u64_text(self) -> str:
        """A u64 as decimal text, the way token amounts are shown."""
        return str(self._number(_U64))

    def pubkey(self) -> str:
        """32 bytes as base58: a pubkey or a hash."""
        return str(Pubkey(self.take(32)))

    def nullable_pubkey(self) -> str | None:
        """A pubkey whose 32 zero bytes mean none."""
        key = self.take(32)
        return None if key == _NO_PUBKEY else str(Pubkey(key))

    def flag(self) -> bool:
        """One byte that must be 0 or 1: a bool, or the tag of an option."""
        byte = self.take(1)[0]
        if byte > 1:
            raise UnreadableError
        return byte == 1

    def optional_pubkey(self) -> str | None:
        return self.pubkey() if self.flag() else None

    def optional_u64(self) -> int | None:
        return self.u64() if self.flag() else None

    def optional_i64(self) -> int | None:
        return self.i64() if self.flag() else None

    def bincode_bytes(self) -> bytes:
        """Bytes after their length as a u64."""
        return self.take(self.u64())

    def bincode_text(self) -> str:
        """UTF-8 after its length as a u64."""
        return utf8(self.take(self.u64()))

    def borsh_text(self) -> str:
        """UTF-8 after its length as a u32."""
        return utf8(self.take(self.u32()))

    def short_length(self) -> int:
        """Solana's compact u16: at most three bytes, seven bits each, in its shortest form only."""
        length = 0
        for index in range(3):
            byte = self.u8()
            if byte == 0 and index:
                raise UnreadableError
            length |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                if length > 0xFFFF:
                    raise UnreadableError
                return length
        raise UnreadableError

    def varint(self) -> int:
        """A u64 of seven bits a byte, in its shortest form only."""
        number = 0
        for shift in range(0, 64, 7):
            byte = self.u8()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                if number > U64_MAX or (byte == 0 and shift):
                    raise UnreadableError
                return number
        raise UnreadableError

    def _number(self, form: Struct) -> int:
        start = self.at
        end = start + form.size
        if end > len(self.data):
            raise UnreadableError
        self.at = end
        number: int = form.unpack_from(self.data, start)[0]
        return number


def utf8(data: bytes) -> str:
    """The text of valid UTF-8; UnreadableError for other bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError from None

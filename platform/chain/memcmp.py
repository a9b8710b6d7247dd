"""The bytes of a `memcmp` filter, refused as the standard node refuses them (RpcFilterType)."""

from chain.encodings import b58decode, b64decode

MOST_BYTES = 128
_LONGEST_BASE58 = 175
_LONGEST_BASE64 = 172
_TOO_LARGE = "Invalid param: DataTooLarge"


def memcmp_bytes(given: str | list[int], encoding: str | None) -> bytes:
    """The bytes that must be there; `given` is base58 unless the encoding is base64, or numbers.
    ValueError with the node's text.
    """
    if isinstance(given, list):
        wanted = bytes(given)
    elif encoding == "base64":
        wanted = _decoded(given, is_base64=True)
    else:
        wanted = _decoded(given, is_base64=False)
    if len(wanted) > MOST_BYTES:
        raise ValueError(_TOO_LARGE)
    return wanted


def _decoded(text: str, *, is_base64: bool) -> bytes:
    if len(text) > (_LONGEST_BASE64 if is_base64 else _LONGEST_BASE58):
        raise ValueError(_TOO_LARGE)
    name, read = ("Base64DecodeError", b64decode) if is_base64 else ("Base58DecodeError", b58decode)
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"Invalid param: {name}({error})") from None

"""The token group and token metadata interfaces, which Token-2022 implements itself."""

from hashlib import sha256

from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Layout, Parser

DISCRIMINATOR_BYTES = 8

_FIELDS = ("name", "symbol", "uri")


def _discriminator(name: str) -> bytes:
    return sha256(name.encode()).digest()[:DISCRIMINATOR_BYTES]


def _field(cursor: Cursor) -> str:
    """One of the fields every metadata has, or a key of the holder's own."""
    tag = cursor.u8()
    if tag > len(_FIELDS):
        raise UnreadableError
    return _FIELDS[tag] if tag < len(_FIELDS) else cursor.borsh_text()


_METADATA = ("metadata", "updateAuthority")
_GROUP = ("group", "updateAuthority")
_NEW_AUTHORITY = (("newAuthority", Cursor.nullable_pubkey),)

_BY_NAME: dict[str, Parser] = {
    "spl_token_group_interface:initialize_token_group": Layout(
        "initializeTokenGroup",
        ("group", "mint", "mintAuthority"),
        (("updateAuthority", Cursor.nullable_pubkey), ("maxSize", Cursor.u64)),
        exact=True,
    ),
    "spl_token_group_interface:update_group_max_size": Layout(
        "updateTokenGroupMaxSize", _GROUP, (("maxSize", Cursor.u64),), exact=True
    ),
    "spl_token_group_interface:update_authority": Layout(
        "updateTokenGroupAuthority", _GROUP, _NEW_AUTHORITY, exact=True
    ),
    "spl_token_group_interface:initialize_member": Layout(
        "initializeTokenGroupMember",
        ("member", "memberMint", "memberMintAuthority", "group", "groupUpdateAuthority"),
        exact=True,
    ),
    "spl_token_metadata_interface:initialize_account": Layout(
        "initializeTokenMetadata",
        (*_METADATA, "mint", "mintAuthority"),
        (
            ("name", Cursor.borsh_text),
            ("symbol", Cursor.borsh_text),
            ("uri", Cursor.borsh_text),
        ),
        exact=True,
    ),
    "spl_token_metadata_interface:updating_field": Layout(
        "updateTokenMetadataField",
        _METADATA,
        (("field", _field), ("value", Cursor.borsh_text)),
        exact=True,
    ),
    "spl_token_metadata_interface:remove_key_ix": Layout(
        "removeTokenMetadataKey",
        _METADATA,
        (("idempotent", Cursor.flag), ("key", Cursor.borsh_text)),
        exact=True,
    ),
    "spl_token_metadata_interface:update_the_authority": Layout(
        "updateTokenMetadataAuthority", _METADATA, _NEW_AUTHORITY, exact=True
    ),
    "spl_token_metadata_interface:emitter": Layout(
        "emitTokenMetadata",
        ("metadata",),
        (("start", Cursor.optional_u64), ("end", Cursor.optional_u64)),
        exact=True,
        omitted=("start", "end"),
    ),
}

# None of them starts with a byte that is an instruction of the token program.
INTERFACES = {_discriminator(name): parser for name, parser in _BY_NAME.items()}

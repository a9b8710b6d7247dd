"""What an account's data says, by this service's decoders or by an IDL of its owner."""

from chain.explained.instructions import Decoded
from chain.idl.reading import Idl
from chain.parsed_accounts.accounts import parse_account
from chain.parsed_accounts.raw import AmountsOf


def decode_account(
    pubkey: str, owner: str, data: bytes, amounts_of: AmountsOf, idl: Idl | None = None
) -> Decoded:
    """The type of the account and its members. As for instructions, this service's own decoders
    come before the IDL. Never raises for data that the archive has.
    """
    parsed = parse_account(pubkey, owner, data, amounts_of)
    if parsed is not None:
        kind, info = parsed["parsed"]["type"], parsed["parsed"].get("info") or {}
        # Some sysvars are lists.
        return Decoded(kind, info if isinstance(info, dict) else {kind: info}, by="program")
    return Decoded() if idl is None else by_idl(data, idl)


def by_idl(data: bytes, idl: Idl) -> Decoded:
    """What the IDL of the owner says; of data that it cannot read, the type alone."""
    found = idl.account(data)
    if found is None:
        return Decoded()
    return Decoded(found.name, found.members if found.is_whole else None, by="idl")

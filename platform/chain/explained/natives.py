"""Instructions of the node's own programs that jsonParsed does not show, in its form."""

from chain.encodings import b58encode, b64encode
from chain.explained import programs
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Info, Layout, Parser, Typed, at_least, variants

# Of a signature in Ed25519 and Secp256r1, this index means the data of the instruction itself.
_OWN_DATA = 0xFFFF
_ED25519_KEY, _SECP256R1_KEY = 32, 33


def parse_native(program_id: str, accounts: list[str], data: bytes) -> Typed | None:
    """Type and info; None for other programs and for data that the program would not read."""
    parse = _PROGRAMS.get(program_id)
    try:
        return None if parse is None else parse(accounts, Cursor(data))
    except UnreadableError:
        return None


def _base64(cursor: Cursor) -> str:
    return b64encode(cursor.bincode_bytes())


def _store(accounts: list[str], cursor: Cursor) -> Typed:
    """Of the config program: it has this instruction alone, without a number."""
    at_least(accounts, 1)
    keys = [
        {"pubkey": cursor.pubkey(), "signer": cursor.flag()} for _ in range(cursor.short_length())
    ]
    return "store", {"account": accounts[0], "keys": keys, "data": b64encode(cursor.rest())}


def _proof(name: str) -> Parser:
    """The proof is in the data, or in the first account at an offset; the proven values may be kept
    in an account.
    """

    def parse(accounts: list[str], cursor: Cursor) -> Typed:
        info: Info = {}
        if len(cursor.data) == 5:
            at_least(accounts, 1)
            info = {"proofAccount": accounts[0], "offset": cursor.u32()}
            accounts = accounts[1:]
        else:
            info = {"proofBytes": len(cursor.rest())}
        if len(accounts) > 1:
            info |= {"contextStateAccount": accounts[0], "contextStateOwner": accounts[1]}
        return f"verify{name}", info

    return parse


def _signatures(key_bytes: int) -> Parser:
    """What is signed, by whom: where it is in this instruction's own data."""

    def parse(accounts: list[str], cursor: Cursor) -> Typed:
        count, found = cursor.take(2)[0], []
        for _ in range(count):
            _, _, key_at, key_in, message_at, size, message_in = (cursor.u16() for _ in range(7))
            each: Info = {"messageBytes": size}
            if key_in == _OWN_DATA:
                key = _part(cursor, key_at, key_bytes)
                each["publicKey"] = b58encode(key)
            if message_in == _OWN_DATA:
                each["message"] = b64encode(_part(cursor, message_at, size))
            else:
                each["messageInstruction"] = message_in + 1
            found.append(dict(sorted(each.items())))
        return "verify", {"signatures": found}

    return parse


def _secp256k1(accounts: list[str], cursor: Cursor) -> Typed:
    """Its data name every part by the number of an instruction, mostly its own."""
    found = []
    for _ in range(cursor.u8()):
        cursor.take(2 + 1 + 2 + 1 + 2)
        size, instruction = cursor.u16(), cursor.u8()
        found.append({"messageBytes": size, "messageInstruction": instruction + 1})
    return "verify", {"signatures": found}


def _part(cursor: Cursor, at: int, size: int) -> bytes:
    return Cursor(cursor.data, at).take(size)


_BYTES = (("bytes", Cursor.u32),)
_BUDGET: dict[int, Parser] = {
    0: Layout("requestUnits", (), (("units", Cursor.u32), ("additionalFee", Cursor.u32))),
    1: Layout("requestHeapFrame", (), _BYTES),
    2: Layout("setComputeUnitLimit", (), (("units", Cursor.u32),)),
    3: Layout("setComputeUnitPrice", (), (("microLamports", Cursor.u64),)),
    4: Layout("setLoadedAccountsDataSizeLimit", (), _BYTES),
}

_PROGRAM = ("program", "authority")
_LOADER_V4: dict[int, Parser] = {
    0: Layout("write", _PROGRAM, (("offset", Cursor.u32), ("bytes", _base64))),
    1: Layout(
        "copy",
        (*_PROGRAM, "source"),
        (
            ("destinationOffset", Cursor.u32),
            ("sourceOffset", Cursor.u32),
            ("length", Cursor.u32),
        ),
    ),
    2: Layout("setProgramLength", _PROGRAM, (("newSize", Cursor.u32),)),
    3: Layout("deploy", _PROGRAM),
    4: Layout("retract", _PROGRAM),
    5: Layout("transferAuthority", (*_PROGRAM, "newAuthority")),
    6: Layout("finalize", (*_PROGRAM, "nextVersion")),
}
# Of nodes that are newer or older than the one whose jsonParsed is followed.
_UPGRADEABLE: dict[int, Parser] = {
    8: Layout("migrate", ("programDataAccount", "programAccount", "authority")),
    9: Layout(
        "extendProgramChecked",
        ("programDataAccount", "programAccount", "authority"),
        (("additionalBytes", Cursor.u32),),
    ),
}
_PROOFS = (
    *("ZeroCiphertext", "CiphertextCiphertextEquality", "CiphertextCommitmentEquality"),
    *("PubkeyValidity", "PercentageWithCap", "BatchedRangeProofU64", "BatchedRangeProofU128"),
    *("BatchedRangeProofU256", "GroupedCiphertext2HandlesValidity"),
    *("BatchedGroupedCiphertext2HandlesValidity", "GroupedCiphertext3HandlesValidity"),
    "BatchedGroupedCiphertext3HandlesValidity",
)
_ZK_PROOFS: dict[int, Parser] = {
    0: Layout("closeContextState", ("contextStateAccount", "destination", "contextStateOwner")),
    **{number: _proof(name) for number, name in enumerate(_PROOFS, 1)},
}

# It takes no accounts, and jsonParsed shows nothing without one.
_STAKE: dict[int, Parser] = {13: Layout("getMinimumDelegation", ())}

_PROGRAMS: dict[str, Parser] = {
    programs.STAKE: variants(_STAKE),
    programs.COMPUTE_BUDGET: variants(_BUDGET, Cursor.u8),
    programs.CONFIG: _store,
    programs.LOADER_V4: variants(_LOADER_V4),
    programs.UPGRADEABLE_LOADER: variants(_UPGRADEABLE),
    programs.ZK_PROOFS: variants(_ZK_PROOFS, Cursor.u8),
    programs.ED25519: _signatures(_ED25519_KEY),
    programs.SECP256R1: _signatures(_SECP256R1_KEY),
    programs.SECP256K1: _secp256k1,
}
NATIVE_PROGRAMS = frozenset(_PROGRAMS)

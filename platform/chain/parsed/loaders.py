"""The instructions of the BPF loader and of the upgradeable BPF loader."""

from dataclasses import dataclass

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Layout, Parser, Typed, at_least, variant


def parse_bpf_loader(accounts: list[str], data: bytes) -> Typed:
    """Type and info of an instruction of the loader that cannot upgrade; bytes are base64."""
    cursor = Cursor(data)
    return variant(_LOADER, cursor.u32())(accounts, cursor)


def parse_bpf_upgradeable_loader(accounts: list[str], data: bytes) -> Typed:
    """Type and info of an upgradeable loader instruction; bytes are base64."""
    cursor = Cursor(data)
    return variant(_UPGRADEABLE, cursor.u32())(accounts, cursor)


def _base64(cursor: Cursor) -> str:
    return b64encode(cursor.bincode_bytes())


_WRITTEN = (("offset", Cursor.u32), ("bytes", _base64))
_ADDITIONAL = (("additionalBytes", Cursor.u32),)


def _finalize(accounts: list[str], cursor: Cursor) -> Typed:
    # The rent sysvar is required as the second account, and not shown.
    at_least(accounts, 2)
    return "finalize", {"account": accounts[0]}


def _initialize_buffer(accounts: list[str], cursor: Cursor) -> Typed:
    info = {"account": accounts[0]}
    if len(accounts) > 1:
        info["authority"] = accounts[1]
    return "initializeBuffer", info


@dataclass(frozen=True, slots=True)
class _WithOptional:
    """A layout whose last accounts may be missing and are null then."""

    layout: Layout
    optional: tuple[str, ...]

    def __call__(self, accounts: list[str], cursor: Cursor) -> Typed:
        name, info = self.layout(accounts, cursor)
        assert info is not None
        for at, optional in enumerate(self.optional, start=len(self.layout.accounts)):
            info[optional] = accounts[at] if at < len(accounts) else None
        return name, info


_LOADER: dict[int, Parser] = {
    0: Layout("write", ("account",), _WRITTEN),
    1: _finalize,
}

_UPGRADEABLE: dict[int, Parser] = {
    0: _initialize_buffer,
    1: Layout("write", ("account", "authority"), _WRITTEN),
    2: Layout(
        "deployWithMaxDataLen",
        (
            "payerAccount",
            "programDataAccount",
            "programAccount",
            "bufferAccount",
            "rentSysvar",
            "clockSysvar",
            "systemProgram",
            "authority",
        ),
        (("maxDataLen", Cursor.u64),),
    ),
    3: Layout(
        "upgrade",
        (
            "programDataAccount",
            "programAccount",
            "bufferAccount",
            "spillAccount",
            "rentSysvar",
            "clockSysvar",
            "authority",
        ),
    ),
    4: _WithOptional(Layout("setAuthority", ("account", "authority")), ("newAuthority",)),
    5: _WithOptional(Layout("close", ("account", "recipient", "authority")), ("programAccount",)),
    6: _WithOptional(
        Layout("extendProgram", ("programDataAccount", "programAccount"), _ADDITIONAL),
        ("systemProgram", "payerAccount"),
    ),
    7: Layout("setAuthorityChecked", ("account", "authority", "newAuthority")),
}

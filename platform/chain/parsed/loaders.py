"""The instructions of the BPF loader and of the upgradeable BPF loader."""

from dataclasses import dataclass

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor
from chain.parsed.layouts import Layout, Parser, Typed, at_least, variants


def _base64(cursor: Cursor) -> str:
    return b64encode(cursor.bincode_bytes())


_WRITTEN = (("offset", Cursor.u32), ("bytes", _base64))
_ADDITIONAL = (("additionalBytes", Cursor.u32),)


def _finalize(accounts: list[str], cursor: Cursor) -> Typed:
    # The rent sysvar is required as the second account, and not shown.
    at_least(accounts, 2)
    return "finalize", {"account": accounts[0]}


@dataclass(frozen=True, slots=True)
class _WithOptional:
    """A layout whose last accounts may be missing and are null then."""

    layout: Layout
    optional: tuple[str, ...]

    def __call__(self, accounts: list[str], cursor: Cursor) -> Typed:
        name, info = self.layout(accounts, cursor)
        for at, optional in enumerate(self.optional, start=len(self.layout.accounts)):
            info[optional] = accounts[at] if at < len(accounts) else None
        return name, info


_LOADER: dict[int, Parser] = {
    0: Layout("write", ("account",), _WRITTEN),
    1: _finalize,
}
# Of the loader that cannot upgrade; bytes are base64.
parse_bpf_loader = variants(_LOADER)

_UPGRADEABLE: dict[int, Parser] = {
    0: Layout("initializeBuffer", ("account",), optional=("authority",)),
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
parse_bpf_upgradeable_loader = variants(_UPGRADEABLE)

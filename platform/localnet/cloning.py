"""Cloning: accounts of another chain, read from its node when localnet starts."""

import binascii
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.encodings import b64decode
from localnet.program_files import is_upgradeable, programdata_of
from upstream.node import Node, NodeError

# Short names of the public clusters, as the validator's tools know them.
_CLUSTERS = {
    ("m", "mainnet-beta"): "https://api.mainnet-beta.solana.com",
    ("t", "testnet"): "https://api.testnet.solana.com",
    ("d", "devnet"): "https://api.devnet.solana.com",
    ("l", "localhost"): "http://localhost:8899",
}
_URLS = {name: url for names, url in _CLUSTERS.items() for name in names}
# What a node returns by one getMultipleAccounts.
_MOST = 100


class CloneFailed(ValueError):
    """An account that cannot be cloned; the text names it, or the node, and says why."""


class _Shown(msgspec.Struct, rename="camel"):
    lamports: int
    data: tuple[str, str]
    owner: str
    executable: bool
    rent_epoch: int


class _Answer(msgspec.Struct):
    value: list[_Shown | None]


def cluster_url(name: str) -> str:
    """A node's URL: as it is, or that of a public cluster by its name or first letter.
    CloneFailed where it is neither.
    """
    url = _URLS.get(name, name)
    if not url.startswith(("http://", "https://")):
        raise CloneFailed(f"--url {name}: expected an http or https URL, or one of m, t, d, l")
    return url


def clone(addresses: Iterable[str], url: str) -> dict[Pubkey, Account]:
    """The accounts at these addresses, and the code of those that are upgradeable programs.
    CloneFailed.
    """
    node, keys = Node(cluster_url(url)), [_key(each) for each in addresses]
    found = dict(_fetched(node, keys))
    programs = [key for key, account in found.items() if is_upgradeable(account)]
    # The code first: a program without it would be a closed one.
    return {**dict(_fetched(node, [programdata_of(key) for key in programs])), **found}


def _fetched(node: Node, keys: Sequence[Pubkey]) -> Iterator[tuple[Pubkey, Account]]:
    for start in range(0, len(keys), _MOST):
        part = keys[start : start + _MOST]
        config = {"encoding": "base64", "commitment": "confirmed"}
        try:
            answer = node.call("getMultipleAccounts", [str(key) for key in part], config)
            shown = msgspec.convert(answer, _Answer).value
            if len(shown) != len(part):
                raise CloneFailed(f"{node.name}: {len(shown)} accounts instead of {len(part)}")
            for key, each in zip(part, shown, strict=True):
                if each is None:
                    raise CloneFailed(f"{key}: no such account at {node.name}")
                if each.owner == str(addresses.SYSVAR_OWNER):
                    raise CloneFailed(f"{key}: a sysvar: localnet keeps its own")
                owner, data = Pubkey.from_string(each.owner), b64decode(each.data[0])
                yield key, Account(each.lamports, data, owner, each.executable, each.rent_epoch)
        except NodeError as error:
            raise CloneFailed(str(error)) from None
        except (msgspec.ValidationError, binascii.Error, OverflowError) as error:
            raise CloneFailed(f"{node.name}: not an account: {error}") from None


def _key(text: str) -> Pubkey:
    try:
        return Pubkey.from_string(text)
    except ValueError:
        raise CloneFailed(f"--clone {text}: not an address") from None

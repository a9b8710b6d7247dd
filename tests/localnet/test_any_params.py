"""Any params to any method: an answer or a refusal, and never a fault of localnet's own."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from solders.signature import Signature

import localnet.servers.rpc  # noqa: F401  (registers the methods)
from localnet.identities import FAUCET, VALIDATORS
from localnet.methods.table import methods
from tests.examples import examples
from tests.localnet_process import Localnet

# These would change the localnet of the other tests.
CHANGING = {"setFaults", "setClock", "warpToSlot", "warpToEpoch"}
NAMES = sorted({method.name for method in methods} - CHANGING)
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"

texts = st.sampled_from(
    [
        str(Pubkey.default()),
        str(FAUCET.pubkey()),
        str(VALIDATORS[0].vote),
        str(Signature.default()),
        TOKEN,
        "SysvarS1otHistory11111111111111111111111111",
        "base58", "base64", "base64+zstd", "jsonParsed", "json", "binary",
        "processed", "confirmed", "finalized", "full", "none", "accounts", "",
        "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
    ]
)  # fmt: skip
numbers = st.one_of(
    st.integers(0, 40), st.sampled_from([2**31, 2**53, 2**63, 2**64 - 1, 2**64, -1])
)
names = st.sampled_from(
    [
        "commitment", "encoding", "minContextSlot", "dataSlice", "offset", "length", "filters",
        "memcmp", "dataSize", "bytes", "mint", "programId", "limit", "before", "until", "identity",
        "transactionDetails", "rewards", "maxSupportedTransactionVersion", "accounts", "addresses",
        "sigVerify", "replaceRecentBlockhash", "innerInstructions", "skipPreflight", "epoch",
        "searchTransactionHistory", "withContext",
    ]
)  # fmt: skip
scalars = st.one_of(
    texts, numbers, st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
calls = st.tuples(st.sampled_from(NAMES), st.lists(values, max_size=3))


@settings(max_examples=examples(60))
@given(st.lists(calls, min_size=1, max_size=30))
def test_no_params_make_it_fail(localnet: Localnet, batch: list[tuple[str, list[Any]]]) -> None:
    answers = localnet.post(
        [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(batch)
        ]
    )
    for (method, params), answer in zip(batch, answers, strict=True):
        code = answer.get("error", {}).get("code")
        assert code != -32603, (method, params, localnet.output[-3_000:])

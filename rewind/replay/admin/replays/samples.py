"""Code with which a sender signs their transactions again and sends them."""

import json
from collections.abc import Sequence

from chain.encodings import b64decode

_PYTHON = '''\
import base64
import json
import os
import urllib.request

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, VersionedMessage
from solders.transaction import VersionedTransaction

URL = os.environ.get("URL", {url})
HEADERS = {{"Authorization": os.environ["KEY"], "Content-Type": "application/json"}}
SIGNERS = [Keypair.from_json(open(path).read()) for path in os.environ["KEYPAIRS"].split(",")]
SENT = {wires}


def call(path: str, method: str, *params: object) -> dict:
    body = json.dumps({{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}}).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, body, HEADERS)) as response:
        answer = json.load(response)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


def renewed(message: VersionedMessage, blockhash: Hash) -> VersionedMessage:
    """The same message on another blockhash."""
    if isinstance(message, MessageV1):
        return MessageV1(
            message.header, message.config, blockhash, message.account_keys, message.instructions
        )
    if isinstance(message, MessageV0):
        return MessageV0(
            message.header,
            message.account_keys,
            blockhash,
            message.instructions,
            message.address_table_lookups,
        )
    header = message.header
    return Message.new_with_compiled_instructions(
        header.num_required_signatures,
        header.num_readonly_signed_accounts,
        header.num_readonly_unsigned_accounts,
        message.account_keys,
        blockhash,
        message.instructions,
    )


latest = Hash.from_string(call("/", "getLatestBlockhash")["value"]["blockhash"])
by_key = {{each.pubkey(): each for each in SIGNERS}}
again = []
for text in SENT:
    message = renewed(VersionedTransaction.from_bytes(base64.b64decode(text)).message, latest)
    count = message.header.num_required_signatures
    signers = [by_key[key] for key in message.account_keys[:count]]
    again.append(base64.b64encode(bytes(VersionedTransaction(message, signers))).decode())
{send}
'''
_SEND_ONE = """options = {"encoding": "base64", "skipPreflight": True}
print(call("/priority", "sendTransaction", again[0], options))"""
_SEND_ALL = """print(call("/priority", "sendBundle", again, {"encoding": "base64"}))"""
_TYPESCRIPT = """\
import {{ {classes}, VersionedTransaction }} from "@solana/web3.js";
import {{ readFileSync }} from "node:fs";{imports}

const url = process.env.URL ?? {url};
const headers = {{ Authorization: process.env.KEY, "Content-Type": "application/json" }};
const signers = process.env.KEYPAIRS.split(",").map((path) =>
  Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(path, "utf8")))));
const sent = {wires};

const chain = new Connection(`${{url}}/`, {{ httpHeaders: headers }});
const {{ blockhash }} = await chain.getLatestBlockhash();
{version_1}const again = sent.map((text) => {{
{is_version_1}  const transaction = VersionedTransaction.deserialize(Buffer.from(text, "base64"));
  transaction.message.recentBlockhash = blockhash;
  transaction.sign(signers);
  return Buffer.from(transaction.serialize()).toString("base64");
}});
const body = JSON.stringify({{ jsonrpc: "2.0", id: 1, {call} }});
console.log(await (await fetch(`${{url}}/priority`, {{ method: "POST", headers, body }})).json());
"""
# web3.js does not read version 1.
_IMPORTS_OF_V1 = """
import { createPrivateKey, sign } from "node:crypto";"""
_V1_TS = """\
// Version 1 (SIMD-0385): the blockhash at byte 8, keys from byte 42 on, signatures at the end.
function signedAgain(bytes) {
  const count = bytes[1], end = bytes.length - 64 * count;
  bytes.set(new PublicKey(blockhash).toBytes(), 8);
  for (let at = 0; at < count; at++) {
    const key = new PublicKey(bytes.subarray(42 + 32 * at, 74 + 32 * at));
    const seed = signers.find((each) => each.publicKey.equals(key)).secretKey.slice(0, 32);
    const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
    const der = Buffer.concat([prefix, seed]);
    const secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    bytes.set(sign(null, bytes.subarray(0, end), secret), end + 64 * at);
  }
  return bytes.toString("base64");
}
"""
_IS_V1_TS = """\
  const bytes = Buffer.from(text, "base64");
  if (bytes[0] === 0x81) return signedAgain(bytes);
"""
_ONE_TS = (
    'method: "sendTransaction", params: [again[0], { encoding: "base64", skipPreflight: true }]'
)
_ALL_TS = 'method: "sendBundle", params: [again, { encoding: "base64" }]'


def samples_of(wires: Sequence[str], *, base: str) -> list[dict[str, str]]:
    """Each language's code. The transactions are base64; keys stay with who runs it."""
    url, many = json.dumps(base), len(wires) > 1
    python = _PYTHON.format(
        url=url, wires=json.dumps(list(wires), indent=4), send=_SEND_ALL if many else _SEND_ONE
    )
    has_version_1 = any(b64decode(wire)[:1] == b"\x81" for wire in wires)
    typescript = _TYPESCRIPT.format(
        classes="Connection, Keypair, PublicKey" if has_version_1 else "Connection, Keypair",
        imports=_IMPORTS_OF_V1 if has_version_1 else "",
        version_1=_V1_TS if has_version_1 else "",
        is_version_1=_IS_V1_TS if has_version_1 else "",
        url=url,
        wires=json.dumps(list(wires), indent=2),
        call=_ALL_TS if many else _ONE_TS,
    )
    return [
        {"id": "python", "title": "Python", "text": python},
        {"id": "typescript", "title": "TypeScript", "text": typescript},
    ]

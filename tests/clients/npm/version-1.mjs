// With @solana/kit: a version 1 transaction of 4,096 bytes, built, sent at `/priority`, and read from
// the ledger. kit's own words, unchanged.
import * as kit from "@solana/kit";

const given = JSON.parse(process.argv[2]);
const headers = { Authorization: given.key };
const at = (path) =>
  kit.createSolanaRpcFromTransport(kit.createDefaultRpcTransport({ url: given.url + path, headers }));
const get = async (path) => (await fetch(given.url + path, { headers })).json();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const [chain, landing, ledger] = [at("/"), at("/priority"), at("/historical")];

const payer = await kit.generateKeyPairSigner();
await chain.requestAirdrop(payer.address, kit.lamports(10_000_000_000n)).send();
const confirmed = { commitment: "confirmed" };
while ((await chain.getBalance(payer.address, confirmed).send()).value === 0n) await sleep(100);

const transfer = (to, lamports) => ({
  programAddress: kit.address("11111111111111111111111111111111"),
  accounts: [
    { address: payer.address, role: kit.AccountRole.WRITABLE_SIGNER, signer: payer },
    { address: to, role: kit.AccountRole.WRITABLE },
  ],
  data: new Uint8Array([2, 0, 0, 0, ...kit.getU64Encoder().encode(lamports)]),
});
const tip = kit.address((await get("/priority/fetchtipaddress")).address);
const receivers = await Promise.all(Array.from({ length: 38 }, () => kit.generateKeyPairSigner()));
const pays = [
  transfer(tip, 1_000_000n),
  ...receivers.map((each) => transfer(each.address, 10_000_000n)),
];
const { value: blockhash } = await chain.getLatestBlockhash(confirmed).send();

async function signed(noteLength) {
  const memo = {
    programAddress: kit.address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
    data: new Uint8Array(noteLength).fill(120),
  };
  const message = kit.pipe(
    kit.createTransactionMessage({ version: 1 }),
    (each) => kit.setTransactionMessageFeePayerSigner(payer, each),
    (each) => kit.setTransactionMessageLifetimeUsingBlockhash(blockhash, each),
    (each) => kit.setTransactionMessageComputeUnitLimit(1_400_000, each),
    (each) => kit.setTransactionMessageLoadedAccountsDataSizeLimit(1 << 26, each),
    (each) => kit.setTransactionMessagePriorityFeeLamports(7n, each),
    (each) => kit.appendTransactionMessageInstructions([...pays, memo], each),
  );
  return kit.signTransactionMessageWithSigners(message);
}

const bytesOf = (transaction) => kit.getTransactionEncoder().encode(transaction);
const transaction = await signed(4_096 - bytesOf(await signed(0)).length);
const wire = kit.getBase64EncodedWireTransaction(transaction);
const config = { encoding: "base64", skipPreflight: true };
const signature = await landing.sendTransaction(wire, config).send();
let fate;
do {
  await sleep(100);
  fate = await get(`/priority/fate/${signature}`);
} while (!fate.final);
while ((await ledger.getSlot().send()) < BigInt(fate.slot)) await sleep(100);
const options = { encoding: "base64", maxSupportedTransactionVersion: 1 };
const stored = await ledger.getTransaction(signature, options).send();
const answer = {
  size: bytesOf(transaction).length,
  fate: { state: fate.state, err: fate.err },
  isUnchanged: stored.transaction[0] === wire,
  version: stored.version,
  fee: String(stored.meta.fee),
};
console.log(JSON.stringify(answer));

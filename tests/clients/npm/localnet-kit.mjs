// With @solana/kit: airdrop, transfer, confirm at `/`, then the same transaction from the ledger.
import {
  AccountRole,
  address,
  airdropFactory,
  appendTransactionMessageInstruction,
  assertIsTransactionWithBlockhashLifetime,
  createDefaultRpcTransport,
  createSolanaRpcFromTransport,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  getSignatureFromTransaction,
  lamports,
  pipe,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from "@solana/kit";

const given = JSON.parse(process.argv[2]);
const headers = { Authorization: given.key };
const at = (url) => createSolanaRpcFromTransport(createDefaultRpcTransport({ url, headers }));
const rpc = at(given.rpcUrl);
const ledger = at(given.ledgerUrl);
const rpcSubscriptions = createSolanaRpcSubscriptions(given.websocketUrl);

const payer = await generateKeyPairSigner();
const payee = await generateKeyPairSigner();
await airdropFactory({ rpc, rpcSubscriptions })({
  commitment: "confirmed",
  lamports: lamports(2_000_000_000n),
  recipientAddress: payer.address,
});

const data = new Uint8Array(12);
const view = new DataView(data.buffer);
view.setUint32(0, 2, true); // the system program's Transfer
view.setBigUint64(4, 1_000_000n, true);
const instruction = {
  programAddress: address("11111111111111111111111111111111"),
  accounts: [
    { address: payer.address, role: AccountRole.WRITABLE_SIGNER, signer: payer },
    { address: payee.address, role: AccountRole.WRITABLE },
  ],
  data,
};
const { value: blockhash } = await rpc.getLatestBlockhash().send();
const message = pipe(
  createTransactionMessage({ version: 0 }),
  (each) => setTransactionMessageFeePayerSigner(payer, each),
  (each) => setTransactionMessageLifetimeUsingBlockhash(blockhash, each),
  (each) => appendTransactionMessageInstruction(instruction, each),
);
const transaction = await signTransactionMessageWithSigners(message);
assertIsTransactionWithBlockhashLifetime(transaction);
await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(transaction, {
  commitment: "finalized",
});

const signature = getSignatureFromTransaction(transaction);
const versions = { maxSupportedTransactionVersion: 0, encoding: "json" };
const own = await rpc.getTransaction(signature, versions).send();
let stored = null;
let finalized;
const deadline = Date.now() + 30_000;
while (stored === null && Date.now() < deadline) {
  finalized = await rpc.getSlot({ commitment: "finalized" }).send();
  stored = await ledger.getTransaction(signature, versions).send();
}
const { value: balance } = await rpc.getBalance(payer.address, { commitment: "confirmed" }).send();
const mark = (_, value) => (typeof value === "bigint" ? Number(value) : value);
// open subscriptions would keep it waiting, and an
// exit cuts off what the pipe has not taken yet.
process.stdout.write(JSON.stringify({ own, stored, finalized, balance }, mark), () => process.exit(0));

// With @solana/web3.js 1.x: airdrop, transfer, confirm at `/`, then the same from the ledger.
import {
  Connection,
  Keypair,
  SystemProgram,
  Transaction,
  sendAndConfirmTransaction,
} from "@solana/web3.js";

const given = JSON.parse(process.argv[2]);
const httpHeaders = { Authorization: given.key };
const options = { httpHeaders, wsEndpoint: given.websocketUrl, commitment: "confirmed" };
const chain = new Connection(given.rpcUrl, options);
const ledger = new Connection(given.ledgerUrl, { httpHeaders, commitment: "finalized" });

const payer = Keypair.generate();
const payee = Keypair.generate();
const airdrop = await chain.requestAirdrop(payer.publicKey, 2_000_000_000);
const latest = await chain.getLatestBlockhash();
await chain.confirmTransaction({ signature: airdrop, ...latest }, "confirmed");

const transfer = SystemProgram.transfer({
  fromPubkey: payer.publicKey,
  toPubkey: payee.publicKey,
  lamports: 1_000_000,
});
const signature = await sendAndConfirmTransaction(chain, new Transaction().add(transfer), [payer], {
  preflightCommitment: "confirmed",
  commitment: "finalized",
});

const versions = { maxSupportedTransactionVersion: 0, commitment: "finalized" };
const own = await chain.getTransaction(signature, versions);
let stored = null;
let finalized;
const deadline = Date.now() + 30_000;
while (stored === null && Date.now() < deadline) {
  finalized = await chain.getSlot("finalized");
  stored = await ledger.getTransaction(signature, versions);
}
const balance = await chain.getBalance(payer.publicKey, "confirmed");
// the open WebSocket would keep it waiting, and an
// exit cuts off what the pipe has not taken yet.
process.stdout.write(JSON.stringify({ own, stored, finalized, balance }), () => process.exit(0));

// With jito-js-rpc: a bundle through /bundle, and its status until it has landed.
import { Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { Connection } from "@solana/web3.js";
import jito from "jito-js-rpc";

const given = JSON.parse(process.argv[2]);
const client = new jito.JitoJsonRpcClient(`${given.baseUrl}/bundle`, given.key);
const chain = new Connection(`${given.baseUrl}/`, {
  commitment: "confirmed",
  httpHeaders: { Authorization: given.key },
  wsEndpoint: given.websocketUrl,
});

const payer = Keypair.generate();
await chain.confirmTransaction(await chain.requestAirdrop(payer.publicKey, 1_000_000_000));
const tip = await client.getRandomTipAccount();
const { blockhash } = await chain.getLatestBlockhash();

function signed(...moves) {
  const instructions = moves.map(([to, lamports]) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: new PublicKey(to), lamports }),
  );
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: blockhash,
    instructions,
  }).compileToV0Message();
  const transaction = new VersionedTransaction(message);
  transaction.sign([payer]);
  return Buffer.from(transaction.serialize()).toString("base64");
}

const payee = Keypair.generate().publicKey;
const transactions = [signed([payee, 2_000_000]), signed([payee, 3_000_000], [tip, 1_000_000])];
const sent = await client.sendBundle([transactions, { encoding: "base64" }]);
const status = await client.confirmInflightBundle(sent.result, 30_000);
console.log(JSON.stringify({ sent: sent.result, status, payee: payee.toBase58() }));

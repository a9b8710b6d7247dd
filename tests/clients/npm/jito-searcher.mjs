// With jito-ts' searcher client: a bundle by the block engine's gRPC, and its results.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { searcherClient } = require("jito-ts/dist/sdk/block-engine/searcher.js");
const { Bundle } = require("jito-ts/dist/sdk/block-engine/types.js");
// The version that jito-ts itself depends on.
const web3 = require(
  require.resolve("@solana/web3.js", { paths: [require.resolve("jito-ts/package.json")] }),
);
const { Connection, Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } =
  web3;

const given = JSON.parse(process.argv[2]);
const keypair = given.secret ? Keypair.fromSecretKey(Uint8Array.from(given.secret)) : undefined;
const client = searcherClient(given.engine, keypair);
const chain = new Connection(given.rpcUrl, "confirmed");

const value = (found) => {
  // Newer releases answer {ok, value}, older ones the value.
  if (found && typeof found === "object" && "ok" in found) {
    if (!found.ok) throw found.error;
    return found.value;
  }
  return found;
};

const payer = Keypair.generate();
const airdrop = await chain.requestAirdrop(payer.publicKey, 2_000_000_000);
const latest = await chain.getLatestBlockhash("confirmed");
await chain.confirmTransaction({ signature: airdrop, ...latest }, "confirmed");

const accounts = value(await client.getTipAccounts());
const leader = value(await client.getNextScheduledLeader());
const leaders = value(await client.getConnectedLeaders());

const { blockhash } = await chain.getLatestBlockhash("confirmed");
const message = new TransactionMessage({
  payerKey: payer.publicKey,
  recentBlockhash: blockhash,
  instructions: [
    SystemProgram.transfer({
      fromPubkey: payer.publicKey,
      toPubkey: Keypair.generate().publicKey,
      lamports: 5_000_000,
    }),
  ],
}).compileToV0Message();
const transaction = new VersionedTransaction(message);
transaction.sign([payer]);
const bundle = new Bundle([transaction], 5);
bundle.addTipTx(payer, 10_000, new PublicKey(accounts[0]), blockhash);

const steps = [];
let uuid = "";
const done = new Promise((resolve, reject) => {
  client.onBundleResult((result) => {
    steps.push(result);
    if (result.finalized || result.rejected || result.dropped) resolve();
  }, reject);
});
// The stream of results is open a moment later.
await new Promise((resolve) => setTimeout(resolve, 500));
uuid = value(await client.sendBundle(bundle));
await done;
const signatures = [transaction.signatures[0]].map((each) => Buffer.from(each).toString("hex"));
const answer = { accounts, leader, leaders: Object.keys(leaders), uuid, steps, signatures };
process.stdout.write(JSON.stringify(answer), () => process.exit(0));

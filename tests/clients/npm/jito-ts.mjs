// With jito-ts: bundles simulated at `/`, on the newest state and on past ones.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { JitoRpcConnection } = require("jito-ts/dist/sdk/rpc/connection.js");
// The version that jito-ts itself depends on.
const web3 = require(
  require.resolve("@solana/web3.js", { paths: [require.resolve("jito-ts/package.json")] }),
);
const { Keypair, SystemProgram, TransactionMessage, VersionedTransaction } = web3;

const given = JSON.parse(process.argv[2]);
const chain = new JitoRpcConnection(given.rpcUrl, {
  httpHeaders: { Authorization: given.key },
  wsEndpoint: given.websocketUrl,
  commitment: "confirmed",
});

const payer = Keypair.generate();
const payee = Keypair.generate();
const airdrop = await chain.requestAirdrop(payer.publicKey, 2_000_000_000);
const latest = await chain.getLatestBlockhash("confirmed");
await chain.confirmTransaction({ signature: airdrop, ...latest }, "confirmed");

const { blockhash } = await chain.getLatestBlockhash("confirmed");
const pay = (from, to, lamports) => {
  const instructions = [
    SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: to.publicKey, lamports }),
  ];
  const message = new TransactionMessage({
    payerKey: from.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([from]);
  return transaction;
};
const bundle = [pay(payer, payee, 1_000_000_000), pay(payee, payer, 400_000_000)];
const both = [payer, payee].map((each) => each.publicKey.toBase58());
const shown = bundle.map(() => ({ encoding: "base64", addresses: both }));
const config = () => ({
  preExecutionAccountsConfigs: shown,
  postExecutionAccountsConfigs: [null, shown[1]],
});

const answers = {
  good: await chain.simulateBundle(bundle, { ...config(), simulationBank: "processed" }),
  tip: await chain.simulateBundle(bundle, { ...config(), simulationBank: "tip" }),
  plain: await chain.simulateBundle(bundle),
  replaced: await chain.simulateBundle(bundle, {
    ...config(),
    skipSigVerify: true,
    replaceRecentBlockhash: true,
  }),
  failing: await chain.simulateBundle([pay(payee, payer, 1)]),
  before: both,
  signatures: bundle.map((each) => each.signatures.length),
};
try {
  await chain.simulateBundle([bundle[0], bundle[0], bundle[0], bundle[0], bundle[0]]);
} catch (error) {
  answers.refusal = error.message;
}
// the open WebSocket would keep it waiting, and an
// exit cuts off what the pipe has not taken yet.
process.stdout.write(JSON.stringify(answers), () => process.exit(0));

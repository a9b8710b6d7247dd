// A wallet with money, and how it sends: kit's own airdrop and confirmation, unchanged.
import {
  airdropFactory,
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  createSolanaRpc,
  createSolanaRpcSubscriptions,
  createSolanaRpcSubscriptions_UNSTABLE,
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
import { getTransferSolInstruction } from "@solana-program/system";

import { check, equal, fits } from "./report.mjs";

export const SOL = 1_000_000_000n;
export const V0 = { maxSupportedTransactionVersion: 0 };

export async function begin(given) {
  const rpc = createSolanaRpc(given.url);
  const rpcSubscriptions = createSolanaRpcSubscriptions(given.websocketUrl);
  const unstable = createSolanaRpcSubscriptions_UNSTABLE(given.websocketUrl);
  const payer = await generateKeyPairSigner();
  const payee = await generateKeyPairSigner();
  const confirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });

  const signed = async (instructions, version = 0) => {
    const { value: blockhash } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version }),
      (each) => setTransactionMessageFeePayerSigner(payer, each),
      (each) => setTransactionMessageLifetimeUsingBlockhash(blockhash, each),
      (each) => appendTransactionMessageInstructions(instructions, each),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    assertIsTransactionWithBlockhashLifetime(transaction);
    return transaction;
  };
  const send = async (instructions, commitment = "confirmed", version = 0) => {
    const transaction = await signed(instructions, version);
    await confirm(transaction, { commitment });
    return getSignatureFromTransaction(transaction);
  };
  const pay = (amount) =>
    getTransferSolInstruction({ source: payer, destination: payee.address, amount });

  const airdrop = await check("airdropFactory", () =>
    airdropFactory({ rpc, rpcSubscriptions })({
      commitment: "confirmed",
      lamports: lamports(10n * SOL),
      recipientAddress: payer.address,
    }),
  );
  if (airdrop === undefined) return undefined;
  const flow = { rpc, rpcSubscriptions, unstable, payer, payee, signed, send, pay, airdrop };
  for (const [commitment, version] of [["processed", "legacy"], ["confirmed", 0], ["finalized", 0]]) {
    flow[commitment] = await check(`sendAndConfirmTransaction, ${commitment}, ${version}`, () =>
      send([pay(SOL / 100n)], commitment, version),
    );
  }
  await check("the balances after it", async () => {
    const { value } = await rpc.getBalance(payee.address, { commitment: "confirmed" }).send();
    equal(value, (3n * SOL) / 100n);
    fits(value, BigInt);
  });
  return flow;
}

// kit's methods that take transactions; refusals; a durable nonce.
import {
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  appendTransactionMessageInstruction,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64Decoder,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  pipe,
  sendAndConfirmDurableNonceTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import {
  SYSTEM_PROGRAM_ADDRESS,
  fetchNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getNonceSize,
} from "@solana-program/system";

import { COMMITMENTS, refused, waitsFor } from "./cluster.mjs";
import { SOL } from "./flow.mjs";
import { anyOf, check, equal, fits } from "./report.mjs";

export async function sending(flow) {
  const { rpc, rpcSubscriptions, payer, payee, signed, send, pay } = flow;
  const message = async () => getBase64Decoder().decode((await signed([pay(1n)])).messageBytes);
  for (const commitment of COMMITMENTS) {
    await check(`getFeeForMessage, ${commitment}`, async () => {
      await send([pay(1n)]);
      const { value } = await rpc.getFeeForMessage(await message(), { commitment }).send();
      // At an older commitment the newest blockhash may not be known yet.
      if (commitment === "processed") equal(value, 5_000n);
      else fits(value, anyOf(null, BigInt));
    });
    await check(`requestAirdrop, ${commitment}`, async () =>
      fits(await rpc.requestAirdrop(payee.address, SOL, { commitment }).send(), String),
    );
  }
  const text = getBase64Decoder().decode((await signed([pay(1n)])).messageBytes);
  await waitsFor("getFeeForMessage", (minContextSlot) => rpc.getFeeForMessage(text, { minContextSlot }));
  await check("getFeeForMessage of what is none", () =>
    refused(rpc.getFeeForMessage("someInvalidMessage").send(), SOLANA_ERROR__JSON_RPC__INVALID_PARAMS),
  );
  const base64 = { encoding: "base64" };
  await check("simulateTransaction", async () => {
    const wire = getBase64EncodedWireTransaction(await signed([pay(7n)]));
    const config = {
      ...base64,
      sigVerify: true,
      innerInstructions: true,
      commitment: "processed",
      accounts: { encoding: "base64", addresses: [payee.address] },
    };
    const { value } = await rpc.simulateTransaction(wire, config).send();
    equal(value.err, null);
    fits(value.accounts, [
      {
        data: [String],
        executable: false,
        lamports: BigInt,
        owner: SYSTEM_PROGRAM_ADDRESS,
        rentEpoch: BigInt,
        space: 0n,
      },
    ]);
    equal(value.unitsConsumed, 150n);
    fits(value.logs, [String]);
  });
  await check("simulateTransaction, replaceRecentBlockhash", async () => {
    const wire = getBase64EncodedWireTransaction(await signed([pay(7n)]));
    const config = { ...base64, replaceRecentBlockhash: true };
    const { value } = await rpc.simulateTransaction(wire, config).send();
    fits(value.replacementBlockhash, { blockhash: String, lastValidBlockHeight: BigInt });
    const both = rpc.simulateTransaction(wire, { ...config, sigVerify: true }).send();
    await refused(both, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  await check("simulateTransaction of one that fails", async () => {
    const wire = getBase64EncodedWireTransaction(await signed([pay(1_000n * SOL)]));
    const { value } = await rpc.simulateTransaction(wire, { ...base64, commitment: "processed" }).send();
    fits(value.err, { InstructionError: Object });
  });
  for (const commitment of COMMITMENTS) {
    await check(`sendTransaction, preflight ${commitment}`, async () => {
      const transaction = await signed([pay(8n)]);
      const wire = getBase64EncodedWireTransaction(transaction);
      const config = { ...base64, preflightCommitment: commitment, skipPreflight: commitment === "finalized" };
      const sent = await rpc.sendTransaction(wire, config).send();
      equal(sent, getSignatureFromTransaction(transaction));
    });
  }
  await check("sendTransaction, a failed preflight", async () => {
    const wire = getBase64EncodedWireTransaction(await signed([pay(1_000n * SOL)]));
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE;
    const error = await refused(rpc.sendTransaction(wire, base64).send(), code);
    fits(error.context.logs, [String]);
    fits(error.cause.context.index, Number);
  });
  await check("sendTransaction of what is none", () =>
    refused(rpc.sendTransaction("AQID", base64).send(), SOLANA_ERROR__JSON_RPC__INVALID_PARAMS),
  );
  await check("sendAndConfirmDurableNonceTransaction", async () => {
    const nonce = await generateKeyPairSigner();
    const space = BigInt(getNonceSize());
    await send(
      [
        getCreateAccountInstruction({
          payer,
          newAccount: nonce,
          lamports: await rpc.getMinimumBalanceForRentExemption(space).send(),
          space,
          programAddress: SYSTEM_PROGRAM_ADDRESS,
        }),
        getInitializeNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: payer.address }),
      ],
      "confirmed",
    );
    const { data } = await fetchNonce(rpc, nonce.address, { commitment: "confirmed" });
    const lifetime = {
      nonce: data.blockhash,
      nonceAccountAddress: nonce.address,
      nonceAuthorityAddress: payer.address,
    };
    const built = pipe(
      createTransactionMessage({ version: 0 }),
      (each) => setTransactionMessageFeePayerSigner(payer, each),
      (each) => setTransactionMessageLifetimeUsingDurableNonce(lifetime, each),
      (each) => appendTransactionMessageInstruction(pay(9n), each),
    );
    const transaction = await signTransactionMessageWithSigners(built);
    const confirm = sendAndConfirmDurableNonceTransactionFactory({ rpc, rpcSubscriptions });
    await confirm(transaction, { commitment: "confirmed" });
  });
}

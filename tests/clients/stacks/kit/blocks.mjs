// kit's methods about blocks and transactions.
import {
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_BLOCK_NOT_AVAILABLE,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_UNSUPPORTED_TRANSACTION_VERSION,
} from "@solana/kit";

import { COMMITMENTS, refused, waitsFor } from "./cluster.mjs";
import { V0 } from "./flow.mjs";
import { anyOf, check, equal, fits, refusal } from "./report.mjs";

const FAR = 2n ** 40n;

export async function blocks({ rpc, payer, payee, finalized, processed }) {
  const found = await check("getTransaction, json", async () => {
    const one = await rpc.getTransaction(finalized, { ...V0, encoding: "json" }).send();
    equal(one.transaction.signatures[0], finalized);
    equal(one.meta.err, null);
    fits(one.meta, {
      computeUnitsConsumed: BigInt,
      costUnits: BigInt,
      err: null,
      fee: 5_000n,
      innerInstructions: [Object],
      loadedAddresses: { readonly: [String], writable: [String] },
      logMessages: [String],
      postBalances: [BigInt],
      postTokenBalances: [Object],
      preBalances: [BigInt],
      preTokenBalances: [Object],
      rewards: [Object],
      status: { Ok: null },
    });
    return one;
  });
  for (const [encoding, shape] of [
    ["base58", [String]],
    ["base64", [String]],
    ["jsonParsed", Object],
  ]) {
    await check(`getTransaction, ${encoding}`, async () => {
      const one = await rpc.getTransaction(finalized, { ...V0, encoding }).send();
      fits(one.transaction, shape);
      equal(one.slot, found.slot);
      if (encoding === "jsonParsed") {
        equal(one.transaction.message.instructions[0].parsed.type, "transfer");
      } else {
        equal(one.transaction[1], encoding);
      }
    });
  }
  await check("getTransaction, refusals", async () => {
    equal(await rpc.getTransaction(`${"1".repeat(63)}2`, V0).send(), null);
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_UNSUPPORTED_TRANSACTION_VERSION;
    await refused(rpc.getTransaction(finalized).send(), code);
    equal((await rpc.getTransaction(processed, { commitment: "confirmed" }).send()).version, undefined);
  });
  const block = {
    blockHeight: BigInt,
    blockTime: BigInt,
    blockhash: String,
    parentSlot: BigInt,
    previousBlockhash: String,
  };
  for (const commitment of ["confirmed", "finalized"]) {
    for (const encoding of ["base58", "base64", "json", "jsonParsed"]) {
      await check(`getBlock, ${encoding}, ${commitment}`, async () => {
        const config = { ...V0, commitment, encoding };
        const one = await rpc.getBlock(found.slot, config).send();
        fits(one, { ...block, rewards: [Object], transactions: [Object] });
        if (!one.transactions.length) throw new Error("the block is empty");
      });
    }
  }
  await check("getBlock, transactionDetails", async () => {
    const of = (transactionDetails) =>
      rpc.getBlock(found.slot, { ...V0, transactionDetails, rewards: false }).send();
    fits(await of("none"), block);
    fits(await of("signatures"), { ...block, signatures: [String] });
    const accounts = await of("accounts");
    fits(accounts.transactions[0].transaction.accountKeys, [
      { pubkey: String, signer: Boolean, source: String, writable: Boolean },
    ]);
  });
  await check("getBlock, refusals", async () => {
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_BLOCK_NOT_AVAILABLE;
    await refused(rpc.getBlock(FAR, V0).send(), code);
    await refusal(rpc.getBlock(found.slot, { ...V0, commitment: "processed" }).send());
  });
  await check("getBlockTime", async () => {
    equal(await rpc.getBlockTime(found.slot).send(), found.blockTime);
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_BLOCK_NOT_AVAILABLE;
    await refused(rpc.getBlockTime(FAR).send(), code);
  });
  await check("getBlocks", async () => {
    const slots = await rpc.getBlocks(found.slot, found.slot + 5n).send();
    fits(slots, [BigInt]);
    equal(slots[0], found.slot);
  });
  await check("getBlocksWithLimit", async () => {
    const slots = await rpc.getBlocksWithLimit(found.slot, 3).send();
    equal(slots[0], found.slot);
    const wide = rpc.getBlocksWithLimit(0n, 500_001).send();
    await refused(wide, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  await check("getBlockCommitment", async () =>
    fits(await rpc.getBlockCommitment(found.slot).send(), {
      commitment: anyOf(null, [BigInt]),
      totalStake: BigInt,
    }),
  );
  await check("getFirstAvailableBlock", async () =>
    fits(await rpc.getFirstAvailableBlock().send(), BigInt),
  );
  await check("minimumLedgerSlot", async () => fits(await rpc.minimumLedgerSlot().send(), BigInt));
  for (const commitment of ["confirmed", "finalized"]) {
    await check(`getSignaturesForAddress, ${commitment}`, async () => {
      const all = await rpc.getSignaturesForAddress(payee.address, { commitment }).send();
      fits(all, [
        {
          blockTime: BigInt,
          confirmationStatus: anyOf("confirmed", "finalized"),
          err: null,
          memo: null,
          signature: String,
          slot: BigInt,
          transactionIndex: anyOf(undefined, Number, BigInt),
        },
      ]);
      if (!all.some((each) => each.signature === finalized)) throw new Error("it is not listed");
    });
  }
  await check("getSignaturesForAddress, before, until, limit", async () => {
    const all = await rpc.getSignaturesForAddress(payee.address).send();
    const { signature } = all[0];
    const before = await rpc.getSignaturesForAddress(payee.address, { before: signature }).send();
    equal(before.length, all.length - 1);
    const last = all.at(-1).signature;
    const after = await rpc.getSignaturesForAddress(payee.address, { until: last }).send();
    equal(after.length, all.length - 1);
    equal((await rpc.getSignaturesForAddress(payee.address, { limit: 1 }).send()).length, 1);
    const wide = rpc.getSignaturesForAddress(payee.address, { limit: 1_001 }).send();
    await refused(wide, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  await waitsFor("getSignaturesForAddress", (minContextSlot) =>
    rpc.getSignaturesForAddress(payer.address, { minContextSlot }),
  );
  await check("getSignatureStatuses", async () => {
    const asked = [finalized, `${"1".repeat(63)}2`];
    for (const searchTransactionHistory of [false, true]) {
      const { value } = await rpc.getSignatureStatuses(asked, { searchTransactionHistory }).send();
      fits(value[0], {
        confirmationStatus: "finalized",
        confirmations: null,
        err: null,
        slot: found.slot,
        status: { Ok: null },
      });
      equal(value[1], null);
    }
    const many = rpc.getSignatureStatuses(Array(257).fill(finalized)).send();
    await refused(many, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  for (const commitment of COMMITMENTS) {
    await check(`isBlockhashValid, ${commitment}`, async () => {
      const { value } = await rpc.getLatestBlockhash({ commitment: "finalized" }).send();
      equal((await rpc.isBlockhashValid(value.blockhash, { commitment }).send()).value, true);
      const unknown = await rpc.isBlockhashValid(payer.address, { commitment }).send();
      equal(unknown.value, false);
    });
  }
  await waitsFor("isBlockhashValid", (minContextSlot) =>
    rpc.isBlockhashValid(payer.address, { minContextSlot }),
  );
}

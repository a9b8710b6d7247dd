// What a transaction changed, read from the archive and the ledger.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { type KeyPairSigner, type Transaction, getBase64EncodedWireTransaction } from "@solana/kit";
import { errors } from "tidemark";

import { collected, funded, signatureOf, signed, tidemark } from "./service.js";

const FEE = 5_000n;
const TIP = 1_000_000n;
const LAMPORTS = 3_000_000n;
let payer: KeyPairSigner;
let transaction: Transaction;
let signature: string;
let slot: bigint;

before(async () => {
  payer = await funded();
  transaction = await signed(payer, LAMPORTS);
  const fate = await tidemark.sendAndFollow(transaction);
  assert.ok(fate.state === "landed" && fate.slot !== null);
  slot = fate.slot;
  signature = signatureOf(transaction);
  const deadline = Date.now() + 60_000;
  while ((await tidemark.historical.getTransaction(signature, { maxSupportedTransactionVersion: 1 }).send()) === null) {
    assert.ok(Date.now() < deadline);
    await setTimeout(200);
  }
});

test("an account is read before and after", async () => {
  const [earlier, later] = await Promise.all(
    (["before", "after"] as const).map(async (position) => {
      const anchor = { signature, position };
      return (await tidemark.rewind.getAccountInfo(payer.address, { anchor }).send()).value;
    }),
  );
  assert.ok(earlier && later);
  assert.equal(earlier.lamports - later.lamports, FEE + TIP + LAMPORTS);
});

test("a transaction is replayed, and fails with less money", async () => {
  const encoded = getBase64EncodedWireTransaction(transaction);
  const config = { anchor: { signature }, encoding: "base64" } as const;
  const replayed = await tidemark.rewind.simulateHistoricalTransaction(encoded, config).send();
  assert.deepEqual([replayed.value.err, replayed.value.fidelity], [null, "verified"]);
  const overrides = { [payer.address]: { lamports: 1_000_000 } };
  const poorer = { ...config, overrides };
  const altered = await tidemark.rewind.simulateHistoricalTransaction(encoded, poorer).send();
  assert.deepEqual(altered.value.err, { InstructionError: [0n, { Custom: 1n }] });
});

test("a job brings its results one by one", async () => {
  const job = await tidemark.rewind.submitSimulationJob({ signatures: [signature] }).send();
  const results = await collected(tidemark.iterateSimulationJobResults(job.jobId, { limit: 1 }));
  assert.equal(results.length, 1);
  assert.equal(results[0]?.value?.fidelity, "verified");
});

test("writes and transactions are iterated over pages", async () => {
  const range = { fromSlot: 0, toSlot: slot, limit: 1 };
  const writes = await collected(tidemark.iterateAccountChanges(payer.address, range));
  const listed = await collected(tidemark.iterateSignaturesForAddress(payer.address, { limit: 1 }));
  const signatures = listed.map((each) => each.signature);
  assert.ok(writes.length > 1);
  assert.deepEqual(writes.map((each) => each.txnSignature), signatures);
  assert.equal(signatures[0], signature);
  const config = { limit: 1, transactionDetails: "signatures" } as const;
  const whole = await collected(tidemark.iterateTransactionsForAddress(payer.address, config));
  assert.deepEqual(whole.map((each) => "signature" in each && each.signature), signatures);
});

test("a transaction is explained", async () => {
  const explained = await tidemark.historical.explainTransaction(signature).send();
  assert.deepEqual(explained?.tips.map((each) => each.lamports), [TIP]);
});

test("coverage and proof are read", async () => {
  const range = { fromSlot: slot, toSlot: slot };
  const archive = await tidemark.rewind.getRewindCoverage(range).send();
  assert.ok(archive.latestSlot !== null && archive.latestSlot >= slot);
  const ledger = await tidemark.historical.getLedgerCoverage(range).send();
  assert.ok(ledger.value.lastSlot !== null && ledger.value.lastSlot >= slot);
  try {
    const proof = await tidemark.rewind.getSlotProof(slot, { includeLattice: false }).send();
    assert.equal(proof.slot, slot);
  } catch (error) {
    assert.ok(error instanceof errors.SlotUnproven); // as behind a baseline that is not there yet
  }
});

test("refusals are classes by their reason", async () => {
  const read = tidemark.rewind.getAccountInfo(payer.address, { slot: 2n ** 60n }).send();
  await assert.rejects(read, (error) => {
    assert.ok(error instanceof errors.SlotTooNew);
    assert.deepEqual([error.code, error.name, error.data.slot], [-32014, "SlotTooNew", 2n ** 60n]);
    return true;
  });
});

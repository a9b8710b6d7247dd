// Transactions, tips, bundles and fates.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import {
  type KeyPairSigner,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { SYSTEM_PROGRAM_ADDRESS, getTransferSolInstruction } from "@solana-program/system";
import { DeadlinePassed, TIP_LAMPORTS, Tidemark, errors } from "tidemark";

import { anyRank, collected, funded, management, signatureOf, signed, tidemark, unique, url } from "./service.js";

let payer: KeyPairSigner;
before(async () => void (payer = await funded()));

test("a transaction lands, and its changes come by WebSocket in order", async () => {
  const signature = await tidemark.send(await signed(payer));
  const changes = await collected(tidemark.follow(signature));
  assert.ok(changes.slice(1).every((each) => !("attempts" in each)));
  const steps = ["received", "sent", "landed processed", "landed confirmed", "landed finalized"];
  const seen = changes.map((each) => `${each.state} ${each.commitment ?? ""}`.trim());
  assert.deepEqual(seen, steps.filter((each) => seen.includes(each)));
  assert.equal(seen.at(-1), "landed finalized");
  assert.equal(changes.at(-1)?.final, true);
});

test("without a WebSocket its changes are polled", async () => {
  const robot = management();
  const tier = await robot.tiers.create({ name: unique("quiet"), rank: anyRank(), streamConnections: 0 });
  const customer = await robot.customers.create({ name: unique("Quiet") });
  const key = await robot.keys.create({ customer: customer.id, tier: tier.name, name: "polling" });
  const client = new Tidemark(url, key.secret);
  const signature = await client.send(await signed(payer));
  const changes = await collected(client.follow(signature));
  assert.ok(changes.every((each) => "attempts" in each));
  assert.deepEqual([changes.at(-1)?.state, changes.at(-1)?.final], ["landed", true]);
});

test("a transaction that fails on chain says by what", async () => {
  const fate = await tidemark.sendAndFollow(await signed(payer, 10n ** 15n), { until: "landed" });
  assert.equal(fate.state, "failed");
  assert.deepEqual(fate.err, { InstructionError: [0n, { Custom: 1n }] });
});

test("a deadline ends the wait, and the transaction can be sent again", async () => {
  const transaction = await signed(payer);
  await assert.rejects(tidemark.sendAndFollow(transaction, { deadlineSeconds: 0 }), (error) => {
    assert.ok(error instanceof DeadlinePassed);
    assert.equal(error.signature, signatureOf(transaction));
    return true;
  });
  assert.equal((await tidemark.sendAndFollow(transaction)).state, "landed");
});

test("an AbortSignal ends the wait with its own reason", async () => {
  const stopping = new AbortController();
  const reason = new Error("the user left");
  const signature = await tidemark.send(await signed(payer));
  await assert.rejects(async () => {
    for await (const _ of tidemark.follow(signature, { signal: stopping.signal })) {
      stopping.abort(reason);
    }
  }, reason);
  await assert.rejects(tidemark.tips.tipInfo(stopping.signal), reason);
});

test("another key's transaction is unknown", async () => {
  const transaction = await signed(payer); // never sent
  const following = collected(tidemark.follow(signatureOf(transaction)));
  await assert.rejects(following, errors.SignatureUnknown);
});

test("a transaction without a tip is refused with what is required", async () => {
  const { value: blockhash } = await tidemark.rpc.getLatestBlockhash().send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (each) => setTransactionMessageFeePayerSigner(payer, each),
    (each) => setTransactionMessageLifetimeUsingBlockhash(blockhash, each),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  await assert.rejects(tidemark.send(transaction), (error) => {
    assert.ok(error instanceof errors.TipMissing);
    assert.equal(error.data.required, TIP_LAMPORTS);
    assert.equal(error.code, -32602);
    assert.ok(error.requestId);
    return true;
  });
});

test("a transaction of each version lands", async () => {
  for (const version of ["legacy", 0, 1] as const) {
    const transfer = getTransferSolInstruction({ source: payer, destination: payer.address, amount: 7n });
    const transaction = await tidemark.signWithTip(payer, [transfer], { version });
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
    assert.equal(message.version, version);
    const { state, err } = await tidemark.sendAndFollow(transaction, { until: "landed" });
    assert.deepEqual([state, err], ["landed", null], `version ${version}`);
  }
});

test("a tip goes to an address of the class that was chosen", async () => {
  const { ttl_classes: classes } = await tidemark.tips.tipInfo();
  assert.ok(classes.length > 1);
  for (const { ttl_seconds: seconds } of classes) {
    const began = Date.now() / 1_000;
    const tip = await tidemark.tipInstruction(payer, { ttl: Number(seconds), lamports: 2_000_000n });
    assert.equal(tip.programAddress, SYSTEM_PROGRAM_ADDRESS);
    const found = tip.accounts?.[1];
    assert.ok(found);
    const checked = await tidemark.tips.checkTipAddress(found.address);
    assert.ok(checked.valid && "expires_at" in checked);
    assert.ok(Number(checked.expires_at) >= began + Number(seconds) - 1);
  }
  const longest = Math.max(...classes.map((each) => Number(each.ttl_seconds)));
  await assert.rejects(tidemark.tipInstruction(payer, { ttl: longest + 1 }), errors.TtlTooLong);
});

test("a bundle lands in order, in one block", async () => {
  const transactions = await Promise.all([1n, 2n, 3n].map((each) => signed(payer, 1_000_000n * each)));
  const encoded = transactions.map(getBase64EncodedWireTransaction);
  const simulated = await tidemark.node.simulateBundle({ encodedTransactions: encoded }).send();
  assert.equal(simulated.err, null);
  const sent = await tidemark.bundle.sendBundle(encoded, { encoding: "base64" }).send();
  assert.deepEqual(sent, transactions.map(signatureOf));
  const fates = await Promise.all(
    sent.map(async (each) => (await collected(tidemark.follow(each, { until: "landed" }))).at(-1)),
  );
  assert.ok(fates.every((each) => each?.state === "landed" && each.slot === fates[0]?.slot));
  assert.equal((await tidemark.bundle.getBundleFate(sent).send()).state, "landed");
});

test("the newest fates are iterated over pages", async () => {
  const sent: string[] = [];
  for (const amount of [1_000_001n, 1_000_002n, 1_000_003n]) {
    const fate = await tidemark.sendAndFollow(await signed(payer, amount), { until: "landed" });
    sent.push(fate.signature);
  }
  const listed = (await collected(tidemark.iterateNewestFates({ limit: 2 }))).map((each) => each.signature);
  assert.ok(sent.every((each) => listed.includes(each)));
  assert.equal(new Set(listed).size, listed.length);
});

test("kit's own functions read the followed node, exactly", async () => {
  const account = await generateKeyPairSigner();
  await tidemark.airdrop(account.address, 9_007_199_254_740_991n); // 2^53 - 1
  await tidemark.airdrop(account.address, 2n);
  const { value } = await tidemark.rpc.getBalance(account.address, { commitment: "confirmed" }).send();
  assert.equal(value, 9_007_199_254_740_993n);
});

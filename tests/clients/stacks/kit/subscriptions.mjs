// Every subscription of kit, at every commitment.
import { TOKEN_PROGRAM_ADDRESS, getMintToInstruction } from "@solana-program/token";

import { COMMITMENTS } from "./cluster.mjs";
import { SOL } from "./flow.mjs";
import { anyOf, check, equal, fits, within } from "./report.mjs";

/** What the first notification has that fits, with `act` done after the subscription is there. */
async function heard(request, act, fitting = () => true) {
  const controller = new AbortController();
  try {
    const notifications = await request.subscribe({ abortSignal: controller.signal });
    const acting = act?.();
    const first = (async () => {
      for await (const each of notifications) if (fitting(each)) return each;
      throw new Error("the subscription ended");
    })();
    const found = await within(first, "a notification");
    await acting;
    return found;
  } finally {
    controller.abort();
  }
}

export async function subscriptions(flow) {
  const { rpcSubscriptions: subscriptions, unstable, payer, payee, send, signed, pay, mint, mine } = flow;
  const mintMore = () =>
    send([getMintToInstruction({ mint, token: mine, mintAuthority: payer, amount: 1n })]);
  for (const commitment of COMMITMENTS) {
    await check(`accountNotifications, ${commitment}`, async () => {
      const config = { commitment, encoding: "base64" };
      const { value } = await heard(subscriptions.accountNotifications(payee.address, config), () =>
        send([pay(SOL / 1_000n)]),
      );
      fits(value.lamports, BigInt);
      equal(value.data[1], "base64");
    });
    await check(`programNotifications, ${commitment}`, async () => {
      const config = { commitment, encoding: "jsonParsed", filters: [{ dataSize: 165n }] };
      const request = subscriptions.programNotifications(TOKEN_PROGRAM_ADDRESS, config);
      const { value } = await heard(request, mintMore, (each) => each.value.pubkey === mine);
      equal(value.account.data.parsed.type, "account");
    });
    await check(`logsNotifications, ${commitment}`, async () => {
      const request = subscriptions.logsNotifications({ mentions: [payee.address] }, { commitment });
      const { value } = await heard(request, () => send([pay(2n)]));
      fits(value, { err: null, logs: [String], signature: String });
    });
    await check(`signatureNotifications, ${commitment}`, async () => {
      const { getBase64EncodedWireTransaction, getSignatureFromTransaction } = await import("@solana/kit");
      const transaction = await signed([pay(3n)]);
      const signature = getSignatureFromTransaction(transaction);
      const config = { commitment, enableReceivedNotification: true };
      const wire = getBase64EncodedWireTransaction(transaction);
      const { value } = await heard(
        subscriptions.signatureNotifications(signature, config),
        () => flow.rpc.sendTransaction(wire, { encoding: "base64" }).send(),
        (each) => each.value !== "receivedSignature",
      );
      equal(value.err, null);
    });
  }
  for (const encoding of ["base58", "base64+zstd", "jsonParsed"]) {
    await check(`accountNotifications, ${encoding}`, async () => {
      const config = { commitment: "confirmed", encoding };
      const { value } = await heard(subscriptions.accountNotifications(mint, config), mintMore);
      fits(value.data, encoding === "jsonParsed" ? Object : [String]);
      equal(value.space, 82n);
    });
  }
  await check("logsNotifications, all", async () => {
    const request = subscriptions.logsNotifications("all", { commitment: "processed" });
    fits((await heard(request, () => send([pay(2n)]))).value.logs, [String]);
  });
  await check("slotNotifications", async () =>
    fits(await heard(subscriptions.slotNotifications()), { parent: BigInt, root: BigInt, slot: BigInt }),
  );
  await check("rootNotifications", async () =>
    fits(await heard(subscriptions.rootNotifications()), BigInt),
  );
  await check("slotsUpdatesNotifications", async () => {
    const update = await heard(unstable.slotsUpdatesNotifications());
    fits(update.slot, BigInt);
    fits(update.timestamp, BigInt);
    fits(update.type, String);
  });
  for (const transactionDetails of ["full", "accounts", "signatures", "none"]) {
    await check(`blockNotifications, ${transactionDetails}`, async () => {
      const config = { commitment: "confirmed", transactionDetails, maxSupportedTransactionVersion: 0 };
      const { value } = await heard(unstable.blockNotifications("all", config));
      fits(value.block.blockhash, String);
      equal(value.err, null);
      fits(value.slot, BigInt);
      fits(value.block.transactions, transactionDetails in { full: 1, accounts: 1 } ? [Object] : undefined);
    });
  }
  await check("blockNotifications of one account", async () => {
    const config = { commitment: "confirmed", maxSupportedTransactionVersion: 0, encoding: "json" };
    const filter = { mentionsAccountOrProgram: payee.address };
    const { value } = await heard(unstable.blockNotifications(filter, config), () => send([pay(4n)]),
      (each) => each.value.block.transactions.length,
    );
    const keys = value.block.transactions.map((each) => each.transaction.message.accountKeys);
    if (!keys.every((each) => each.includes(payee.address))) throw new Error("others are in it");
  });
  if (flow.votes !== false) {
    await check("voteNotifications", async () =>
      fits(await heard(unstable.voteNotifications()), {
        hash: String,
        signature: String,
        slots: [BigInt],
        timestamp: anyOf(null, BigInt),
        votePubkey: String,
      }),
    );
  }
}

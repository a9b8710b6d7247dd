// Every subscription of web3.js, each until its first notification.
import { SystemProgram, Transaction } from "@solana/web3.js";

import { check, equal, within } from "./report.mjs";

export async function subscriptions({ chain, payer, payee, send, pay }) {
  /** What the subscription is first sent, acted once it is there. */
  const heard = async (subscribe, unsubscribe, act) => {
    let id;
    const first = new Promise((resolve) => {
      id = subscribe((...values) => resolve(values));
    });
    const acting = act && new Promise((resolve) => {
      const state = chain.onSubscriptionStateChange?.bind(chain);
      const stop = state?.(id, (now) => {
        if (now === "subscribed") {
          stop();
          resolve(act());
        }
      });
      if (!state) resolve(act());
    });
    const values = await within(first, "a notification");
    await acting;
    await unsubscribe(id);
    return values;
  };
  for (const commitment of ["processed", "confirmed", "finalized"]) {
    await check(`onAccountChange, ${commitment}`, async () => {
      const [account, context] = await heard(
        (listener) => chain.onAccountChange(payee.publicKey, listener, { commitment }),
        (id) => chain.removeAccountChangeListener(id),
        () => send([pay(1_000_000)]),
      );
      equal(account.owner.equals(SystemProgram.programId), true);
      equal(typeof context.slot, "number");
    });
    await check(`onProgramAccountChange, ${commitment}`, async () => {
      const [{ accountId }] = await heard(
        (listener) => chain.onProgramAccountChange(SystemProgram.programId, listener, { commitment }),
        (id) => chain.removeProgramAccountChangeListener(id),
        () => send([pay(1)]),
      );
      equal(accountId.toBytes().length, 32);
    });
    await check(`onLogs, ${commitment}`, async () => {
      const [{ err, logs }] = await heard(
        (listener) => chain.onLogs(payee.publicKey, listener, commitment),
        (id) => chain.removeOnLogsListener(id),
        () => send([pay(1)]),
      );
      equal(err, null);
      equal(logs.length > 0, true);
    });
    await check(`onSignature, ${commitment}`, async () => {
      const signature = await chain.sendTransaction(new Transaction().add(pay(1)), [payer]);
      const [result] = await heard(
        (listener) => chain.onSignature(signature, listener, commitment),
        () => undefined,
      );
      equal(result.err, null);
    });
  }
  await check("onSlotChange", async () => {
    const [slot] = await heard(
      (listener) => chain.onSlotChange(listener),
      (id) => chain.removeSlotChangeListener(id),
    );
    equal(typeof slot.root, "number");
  });
  await check("onSlotUpdate", async () => {
    const [update] = await heard(
      (listener) => chain.onSlotUpdate(listener),
      (id) => chain.removeSlotUpdateListener(id),
    );
    equal(typeof update.type, "string");
  });
  await check("onRootChange", async () => {
    const [root] = await heard(
      (listener) => chain.onRootChange(listener),
      (id) => chain.removeRootChangeListener(id),
    );
    equal(typeof root, "number");
  });
}

// kit's methods about the cluster, its epochs and leaders.
import {
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_NO_SNAPSHOT,
  isSolanaError,
} from "@solana/kit";

import { anyOf, check, equal, fits, mapOf, refusal } from "./report.mjs";

export const COMMITMENTS = ["processed", "confirmed", "finalized"];
const FAR = 2n ** 53n - 1n;

export async function refused(promise, code) {
  const error = await refusal(promise);
  if (!isSolanaError(error, code)) throw error;
  return error;
}

/** The method takes minContextSlot, and one that is not reached yet is its own error. */
export function waitsFor(name, call) {
  return check(`${name}, minContextSlot`, async () => {
    await call(0n).send();
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED;
    fits((await refused(call(FAR).send(), code)).context.contextSlot, BigInt);
  });
}

export async function cluster({ rpc, payer }) {
  for (const commitment of COMMITMENTS) {
    for (const name of ["getSlot", "getBlockHeight", "getTransactionCount"]) {
      await check(`${name}, ${commitment}`, async () =>
        fits(await rpc[name]({ commitment }).send(), BigInt),
      );
    }
    await check(`getEpochInfo, ${commitment}`, async () =>
      fits(await rpc.getEpochInfo({ commitment }).send(), {
        absoluteSlot: BigInt,
        blockHeight: BigInt,
        epoch: BigInt,
        slotIndex: BigInt,
        slotsInEpoch: BigInt,
        transactionCount: BigInt,
      }),
    );
    await check(`getSlotLeader, ${commitment}`, async () =>
      fits(await rpc.getSlotLeader({ commitment }).send(), String),
    );
    await check(`getLatestBlockhash, ${commitment}`, async () =>
      fits((await rpc.getLatestBlockhash({ commitment }).send()).value, {
        blockhash: String,
        lastValidBlockHeight: BigInt,
      }),
    );
    await check(`getLeaderSchedule, ${commitment}`, async () =>
      fits(await rpc.getLeaderSchedule(null, { commitment }).send(), mapOf([BigInt])),
    );
    await check(`getInflationGovernor, ${commitment}`, async () =>
      fits(await rpc.getInflationGovernor({ commitment }).send(), {
        foundation: Number,
        foundationTerm: Number,
        initial: Number,
        taper: Number,
        terminal: Number,
      }),
    );
    await check(`getSupply, ${commitment}`, async () =>
      fits((await rpc.getSupply({ commitment }).send()).value, {
        circulating: BigInt,
        nonCirculating: BigInt,
        nonCirculatingAccounts: [String],
        total: BigInt,
      }),
    );
    await check(`getStakeMinimumDelegation, ${commitment}`, async () =>
      fits((await rpc.getStakeMinimumDelegation({ commitment }).send()).value, BigInt),
    );
  }
  for (const name of ["getSlot", "getBlockHeight", "getTransactionCount", "getEpochInfo"]) {
    await waitsFor(name, (minContextSlot) => rpc[name]({ minContextSlot }));
  }
  await waitsFor("getLatestBlockhash", (minContextSlot) => rpc.getLatestBlockhash({ minContextSlot }));
  await waitsFor("getSlotLeader", (minContextSlot) => rpc.getSlotLeader({ minContextSlot }));

  await check("getEpochSchedule", async () =>
    fits(await rpc.getEpochSchedule().send(), {
      firstNormalEpoch: BigInt,
      firstNormalSlot: BigInt,
      leaderScheduleSlotOffset: BigInt,
      slotsPerEpoch: BigInt,
      warmup: Boolean,
    }),
  );
  await check("getHealth", async () => equal(await rpc.getHealth().send(), "ok"));
  await check("getVersion", async () =>
    fits(await rpc.getVersion().send(), { "feature-set": Number, "solana-core": String }),
  );
  await check("getGenesisHash", async () => fits(await rpc.getGenesisHash().send(), String));
  await check("getIdentity", async () => fits(await rpc.getIdentity().send(), { identity: String }));
  await check("getInflationRate", async () =>
    fits(await rpc.getInflationRate().send(), {
      epoch: BigInt,
      foundation: Number,
      total: Number,
      validator: Number,
    }),
  );
  await check("getInflationReward", async () => {
    const none = await rpc.getInflationReward([payer.address], { epoch: 0n }).send().catch((error) => {
      // The first epoch is not over.
      fits(error.context.__code, Number);
      return [null];
    });
    fits(none, [null]);
  });
  await check("getClusterNodes", async () => {
    const port = anyOf(String, null);
    fits(await rpc.getClusterNodes().send(), [
      {
        clientId: String,
        featureSet: Number,
        gossip: port,
        pubkey: String,
        pubsub: port,
        rpc: port,
        serveRepair: port,
        shredVersion: Number,
        tpu: port,
        tpuForwards: port,
        tpuForwardsQuic: port,
        tpuQuic: port,
        tpuVote: port,
        tvu: port,
        version: String,
      },
    ]);
  });
  await check("getVoteAccounts", async () => {
    const one = {
      activatedStake: BigInt,
      commission: Number,
      epochCredits: [[BigInt]],
      epochVoteAccount: Boolean,
      inflationRewardsCommissionBps: Number,
      lastVote: BigInt,
      nodePubkey: String,
      rootSlot: BigInt,
      votePubkey: String,
    };
    const all = await rpc.getVoteAccounts().send();
    fits(all, { current: [one], delinquent: [one] });
    const { votePubkey } = all.current[0];
    const { current } = await rpc.getVoteAccounts({ votePubkey }).send();
    equal(current.length, 1);
    const none = await rpc.getVoteAccounts({ votePubkey: payer.address }).send();
    fits(none, { current: [], delinquent: [] });
  });
  await check("getSlotLeaders", async () => {
    const slot = await rpc.getSlot().send();
    const leaders = await rpc.getSlotLeaders(slot, 3).send();
    fits(leaders, [String]);
    equal(leaders.length, 3);
    await refused(rpc.getSlotLeaders(slot, 5_001).send(), SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
    await refused(rpc.getSlotLeaders(FAR, 1).send(), SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  await check("getLeaderSchedule of one identity", async () => {
    const { identity } = await rpc.getIdentity().send();
    fits(Object.keys(await rpc.getLeaderSchedule(null, { identity }).send()), [identity]);
    // -32022 of Agave 4.4: kit 8.4.0 does not know the code, and fails while it words the error.
    const error = await refusal(rpc.getLeaderSchedule(null, { identity: payer.address }).send());
    equal(error.name, "TypeError");
    equal(await rpc.getLeaderSchedule(FAR).send(), null);
  });
  await check("getHighestSnapshotSlot", async () => {
    // A node that keeps snapshots tells them; localnet keeps none.
    const code = SOLANA_ERROR__JSON_RPC__SERVER_ERROR_NO_SNAPSHOT;
    await refused(rpc.getHighestSnapshotSlot().send(), code);
  });
  for (const name of ["getMaxRetransmitSlot", "getMaxShredInsertSlot"]) {
    await check(name, async () => fits(await rpc[name]().send(), BigInt));
  }
  await check("getRecentPerformanceSamples", async () =>
    fits(await rpc.getRecentPerformanceSamples(3).send(), [
      {
        numNonVoteTransactions: BigInt,
        numSlots: BigInt,
        numTransactions: BigInt,
        samplePeriodSecs: Number,
        slot: BigInt,
      },
    ]),
  );
  await check("getRecentPrioritizationFees", async () => {
    const shape = [{ prioritizationFee: BigInt, slot: BigInt }];
    fits(await rpc.getRecentPrioritizationFees().send(), shape);
    fits(await rpc.getRecentPrioritizationFees([payer.address]).send(), shape);
  });
  await check("getBlockProduction", async () => {
    const shape = { byIdentity: mapOf([BigInt]), range: { firstSlot: BigInt, lastSlot: BigInt } };
    fits((await rpc.getBlockProduction().send()).value, shape);
  });
  await check("an unknown method", async () => {
    const unknown = rpc.getNothing;
    const error = await refusal((async () => unknown().send())());
    // kit's own API has no list of methods: what it does not know goes to the node.
    if (!isSolanaError(error, SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND)) throw error;
  });
}

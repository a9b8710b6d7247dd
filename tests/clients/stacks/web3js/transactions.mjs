// Airdrop, transfers, a lookup table, a durable nonce, a stake: sent and confirmed by web3.js.
import {
  AddressLookupTableProgram,
  Authorized,
  Keypair,
  NONCE_ACCOUNT_LENGTH,
  PublicKey,
  StakeProgram,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
  sendAndConfirmTransaction,
} from "@solana/web3.js";

import { check, equal, until } from "./report.mjs";

export const SOL = 1_000_000_000;

export async function transactions(flow) {
  const { chain, payer, payee } = flow;
  const pay = (lamports, to = payee.publicKey) =>
    SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports });
  flow.send = (instructions, signers = [payer]) =>
    sendAndConfirmTransaction(chain, new Transaction().add(...instructions), signers);
  flow.pay = pay;

  const airdropped = await check("requestAirdrop, confirmTransaction", async () => {
    const signature = await chain.requestAirdrop(payer.publicKey, 20 * SOL);
    const latest = await chain.getLatestBlockhash();
    await chain.confirmTransaction({ signature, ...latest });
    equal(await chain.getBalance(payer.publicKey), 20 * SOL);
    return true;
  });
  if (!airdropped) return false;
  for (const commitment of ["processed", "confirmed", "finalized"]) {
    await check(`sendAndConfirmTransaction, ${commitment}`, async () => {
      const transaction = new Transaction().add(pay(SOL / 100));
      flow.signature = await sendAndConfirmTransaction(chain, transaction, [payer], { commitment });
    });
  }
  await check("confirmTransaction of a signature alone", async () => {
    const transaction = new Transaction().add(pay(1));
    await chain.confirmTransaction(await chain.sendTransaction(transaction, [payer]));
  });
  await check("a transaction with a lookup table", async () => {
    const recentSlot = await chain.getSlot("finalized");
    const authority = payer.publicKey;
    const [create, lookupTable] = AddressLookupTableProgram.createLookupTable({
      authority,
      payer: authority,
      recentSlot,
    });
    const addresses = Array.from({ length: 20 }, () => Keypair.generate().publicKey);
    const extend = AddressLookupTableProgram.extendLookupTable({
      payer: authority,
      authority,
      lookupTable,
      addresses,
    });
    await flow.send([create, extend]);
    const table = await until(async () => {
      const found = (await chain.getAddressLookupTable(lookupTable)).value;
      const slot = await chain.getSlot();
      return found !== null && slot > found.state.lastExtendedSlot + 1 ? found : null;
    });
    const latest = await chain.getLatestBlockhash();
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: latest.blockhash,
      instructions: addresses.slice(0, 15).map((each) => pay(1_000_000, each)),
    });
    const transaction = new VersionedTransaction(message.compileToV0Message([table]));
    transaction.sign([payer]);
    const signature = await chain.sendTransaction(transaction);
    await chain.confirmTransaction({ signature, ...latest });
    const found = await chain.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    equal(found.meta.loadedAddresses.writable.length, 15);
  });
  await check("a durable nonce", async () => {
    const nonce = Keypair.generate();
    const lamports = await chain.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH);
    const create = SystemProgram.createNonceAccount({
      fromPubkey: payer.publicKey,
      noncePubkey: nonce.publicKey,
      authorizedPubkey: payer.publicKey,
      lamports,
    });
    await flow.send(create.instructions, [payer, nonce]);
    const { nonce: blockhash } = await chain.getNonce(nonce.publicKey);
    const nonceInstruction = SystemProgram.nonceAdvance({
      noncePubkey: nonce.publicKey,
      authorizedPubkey: payer.publicKey,
    });
    const transaction = new Transaction({
      feePayer: payer.publicKey,
      nonceInfo: { nonce: blockhash, nonceInstruction },
    });
    await sendAndConfirmTransaction(chain, transaction.add(pay(2)), [payer]);
  });
  await check("a stake is delegated", async () => {
    const vote = (await chain.getVoteAccounts()).current[0].votePubkey;
    const stake = Keypair.generate();
    const rent = await chain.getMinimumBalanceForRentExemption(StakeProgram.space);
    const { value: least } = await chain.getStakeMinimumDelegation();
    const create = StakeProgram.createAccount({
      fromPubkey: payer.publicKey,
      stakePubkey: stake.publicKey,
      authorized: new Authorized(payer.publicKey, payer.publicKey),
      lamports: rent + least,
    });
    const delegate = StakeProgram.delegate({
      stakePubkey: stake.publicKey,
      authorizedPubkey: payer.publicKey,
      votePubkey: new PublicKey(vote),
    });
    await flow.send([...create.instructions, ...delegate.instructions], [payer, stake]);
    const { value } = await chain.getParsedAccountInfo(stake.publicKey);
    equal(value.data.parsed.type, "delegated");
  });
  await check("a refused transaction has its logs", async () => {
    try {
      await flow.send([pay(1_000 * SOL)]);
    } catch (error) {
      if (!(error.logs ?? error.transactionLogs)?.length) throw error;
      return;
    }
    throw new Error("it was not refused");
  });
  const config = { maxSupportedTransactionVersion: 0, commitment: "confirmed" };
  await check("getTransaction, getParsedTransaction", async () => {
    const found = await chain.getTransaction(flow.signature, config);
    const parsed = await chain.getParsedTransaction(flow.signature, config);
    equal(parsed.transaction.message.instructions[0].parsed.type, "transfer");
    equal(parsed.slot, found.slot);
    flow.slot = found.slot;
  });
  const reads = {
    getBlock: () => chain.getBlock(flow.slot, config),
    getParsedBlock: () => chain.getParsedBlock(flow.slot, config),
    getBlockSignatures: () => chain.getBlockSignatures(flow.slot),
    getBlockTime: () => chain.getBlockTime(flow.slot),
    getBlocks: () => chain.getBlocks(flow.slot, flow.slot + 3),
    getSignaturesForAddress: () => chain.getSignaturesForAddress(payee.publicKey),
    getSignatureStatus: () => chain.getSignatureStatus(flow.signature),
    getEpochInfo: () => chain.getEpochInfo(),
    getEpochSchedule: () => chain.getEpochSchedule(),
    getLeaderSchedule: () => chain.getLeaderSchedule(),
    getSlotLeader: () => chain.getSlotLeader(),
    getSlotLeaders: () => chain.getSlotLeaders(flow.slot, 4),
    getClusterNodes: () => chain.getClusterNodes(),
    getSupply: () => chain.getSupply(),
    getLargestAccounts: () => chain.getLargestAccounts(),
    getVoteAccounts: () => chain.getVoteAccounts(),
    getInflationGovernor: () => chain.getInflationGovernor(),
    getInflationRate: () => chain.getInflationRate(),
    getRecentPerformanceSamples: () => chain.getRecentPerformanceSamples(2),
    getRecentPrioritizationFees: () => chain.getRecentPrioritizationFees(),
    getBlockProduction: () => chain.getBlockProduction(),
    getGenesisHash: () => chain.getGenesisHash(),
    getVersion: () => chain.getVersion(),
    getMultipleParsedAccounts: () => chain.getMultipleParsedAccounts([payer.publicKey]),
    getProgramAccounts: () => chain.getProgramAccounts(StakeProgram.programId),
    getFirstAvailableBlock: () => chain.getFirstAvailableBlock(),
    getMinimumLedgerSlot: () => chain.getMinimumLedgerSlot(),
    getTransactionCount: () => chain.getTransactionCount(),
    getBalanceAndContext: () => chain.getBalanceAndContext(payer.publicKey),
    isBlockhashValid: async () => {
      const { blockhash } = await chain.getLatestBlockhash();
      return chain.isBlockhashValid(blockhash);
    },
  };
  for (const [name, read] of Object.entries(reads)) {
    await check(name, async () => {
      const found = await read();
      if (found === null || found === undefined) throw new Error("it has nothing");
    });
  }
  return true;
}

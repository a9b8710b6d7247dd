// With @triton-one/yellowstone-grpc: the stream from a slot on, until a later one is finalized.
import yellowstone, * as named from "@triton-one/yellowstone-grpc";

const Client = yellowstone.default ?? yellowstone;
const { CommitmentLevel, txEncode, txErrDecode } = named;
const given = JSON.parse(process.argv[2]);
const client = new Client(given.url, given.token, { "grpc.max_receive_message_length": -1 });
const hex = (bytes) => Buffer.from(bytes).toString("hex");

const latest = await client.getLatestBlockhash(CommitmentLevel.FINALIZED);
const answer = {
  ping: await client.ping(7),
  version: await client.getVersion(),
  slot: Number(await client.getSlot(CommitmentLevel.PROCESSED)),
  height: Number(await client.getBlockHeight(CommitmentLevel.CONFIRMED)),
  latest,
  valid: (await client.isBlockhashValid(latest.blockhash)).valid,
  accounts: [],
  slots: [],
  transactions: [],
  statuses: [],
  blocks: [],
  metas: [],
  entries: [],
  pongs: [],
};

const read = {
  account: ({ account, slot }) =>
    answer.accounts.push({
      slot: Number(slot),
      pubkey: hex(account.pubkey),
      owner: hex(account.owner),
      lamports: account.lamports,
      data: hex(account.data),
      rentEpoch: account.rentEpoch,
      signature: account.txnSignature && hex(account.txnSignature),
    }),
  slot: ({ slot, parent, status }) =>
    answer.slots.push({ slot: Number(slot), parent: Number(parent), status }),
  transaction: ({ transaction, slot }) =>
    answer.transactions.push({
      slot: Number(slot),
      index: Number(transaction.index),
      isVote: transaction.isVote,
      encoded: txEncode.encode(transaction, txEncode.encoding.Json, 0, true),
    }),
  transactionStatus: ({ slot, signature, err }) =>
    answer.statuses.push({
      slot: Number(slot),
      signature: hex(signature),
      err: err ? txErrDecode.decode(err.err) : null,
    }),
  block: (block) =>
    answer.blocks.push({
      slot: Number(block.slot),
      blockhash: block.blockhash,
      parentBlockhash: block.parentBlockhash,
      blockTime: Number(block.blockTime.timestamp),
      blockHeight: Number(block.blockHeight.blockHeight),
      transactions: block.transactions.length,
      accounts: block.accounts.length,
      updatedAccounts: Number(block.updatedAccountCount),
      entries: block.entries.length,
      entriesCount: Number(block.entriesCount),
      rewards: block.rewards.rewards,
    }),
  blockMeta: ({ slot, blockhash, executedTransactionCount }) =>
    answer.metas.push({ slot: Number(slot), blockhash, count: Number(executedTransactionCount) }),
  entry: ({ slot, index, hash }) =>
    answer.entries.push({ slot: Number(slot), index: Number(index), hash: hex(hash) }),
  pong: ({ id }) => answer.pongs.push(id),
};

const stream = await client.subscribe();
const done = () =>
  answer.pongs.length > 0 &&
  answer.slots.some(({ slot, status }) => status === 2 && slot >= given.untilSlot);
const ended = new Promise((resolve, reject) => {
  stream.on("error", reject);
  stream.on("end", () => reject(new Error("the stream ended")));
  stream.on("data", (update) => {
    for (const [kind, tell] of Object.entries(read)) if (update[kind]) tell(update[kind]);
    if (done()) resolve();
  });
});
const accounts = { account: [], owner: [], filters: [] };
const transactions = { accountInclude: [given.wallet], accountExclude: [], accountRequired: [] };
const nothing = {
  accounts: {},
  slots: {},
  transactions: {},
  transactionsStatus: {},
  blocks: {},
  blocksMeta: {},
  entry: {},
  accountsDataSlice: [],
};
const ask = (request) =>
  new Promise((resolve, reject) => stream.write(request, (error) => (error ? reject(error) : resolve())));
await ask({
  ...nothing,
  accounts: { wallet: { ...accounts, account: [given.wallet] } },
  slots: { all: {} },
  transactions: { mine: transactions },
  transactionsStatus: { mine: transactions },
  blocks: { all: { accountInclude: [], includeAccounts: !given.onlyMine, includeEntries: !given.onlyMine } },
  blocksMeta: { all: {} },
  entry: given.onlyMine ? {} : { all: {} },
  commitment: CommitmentLevel.PROCESSED,
  fromSlot: String(given.fromSlot),
});
await ask({ ...nothing, ping: { id: 9 } });
await ended;
stream.on("error", () => {}); // the end that follows is ours
stream.cancel();
// the client would keep it waiting, and an
// exit cuts off what the pipe has not taken yet.
process.stdout.write(JSON.stringify(answer), () => process.exit(0));

// The client: the methods of every path, and what lands a transaction.
import {
  type AccountMeta,
  type Address,
  type Base64EncodedWireTransaction,
  type Instruction,
  type Rpc,
  type Signature,
  type SolanaRpcApi,
  type Transaction,
  type TransactionSigner,
  type TransactionVersion,
  address,
  appendTransactionMessageInstructions,
  createJsonRpcApi,
  createRpc,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  lamports,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { getTransferSolInstruction } from "@solana-program/system";

import { type CallOptions, Caller } from "./calling.js";
import { isRecord } from "./exact.js";
import { DeadlinePassed, ResponseUnreadable } from "./failures.js";
import { type Change, type FollowOptions, differs, isOver, streamed } from "./following.js";
import { SignatureUnknown } from "./generated/errors.js";
import { Resources } from "./generated/management.js";
import {
  type BundleApi,
  type HistoricalApi,
  type NodeApi,
  type PriorityApi,
  type RewindApi,
  Tips,
} from "./generated/methods.js";
import type * as types from "./generated/types.js";
import { sleep, within } from "./waiting.js";

/** The smallest tip, by default of the service: 0.001 SOL. `TipTooSmall` has its own in `data`. */
export const TIP_LAMPORTS = 1_000_000n;
const POLL_SECONDS = 0.5;
// What a transaction of another version has if it names no limits; one of version 1 would have none.
const UNITS_OF_INSTRUCTION = 200_000;
const MOST_UNITS = 1_400_000;
const MOST_ACCOUNT_BYTES = 64 * 1_024 * 1_024;
// How often the WebSocket is tried before only polling is left.
const STREAM_ATTEMPTS = 3;

/** Which tip is paid, and to which address. */
export interface TipOptions {
  readonly lamports?: bigint;
  /** for how many seconds the address must be valid, which chooses the TTL class; by default the
   * service's own choice */
  readonly ttl?: number;
  readonly signal?: AbortSignal;
}

/** The form of a transaction, beside its tip. */
export interface SignOptions extends TipOptions {
  /** 0 by default. Version 1 gets the limits that the others have by default: 200,000 units for each
   * instruction, and 64 MiB of accounts */
  readonly version?: TransactionVersion;
}

/** A transaction of kit, or its base64. */
export type Sendable = Transaction | Base64EncodedWireTransaction;

/** The service at `url`, with an API key. */
export class Tidemark {
  /** The methods of `/priority`, `/bundle`, `/historical` and `/rewind`; `node` has those of `/`. */
  readonly priority: Rpc<PriorityApi>;
  readonly bundle: Rpc<BundleApi>;
  readonly historical: Rpc<HistoricalApi>;
  readonly rewind: Rpc<RewindApi>;
  readonly node: Rpc<NodeApi>;
  /** Solana's own methods, of the node that is followed: for kit's functions. */
  readonly rpc: Rpc<SolanaRpcApi>;
  readonly tips: Tips;
  private readonly caller: Caller;

  constructor(url: string, key = "", options: CallOptions = {}) {
    this.caller = new Caller(url, key, options);
    this.priority = rpcOf<PriorityApi>(this.caller, "/priority");
    this.bundle = rpcOf<BundleApi>(this.caller, "/bundle");
    this.historical = rpcOf<HistoricalApi>(this.caller, "/historical");
    this.rewind = rpcOf<RewindApi>(this.caller, "/rewind");
    this.node = rpcOf<NodeApi>(this.caller, "/");
    this.rpc = createSolanaRpcFromTransport(this.caller.transport("/"));
    this.tips = new Tips(this.caller);
  }

  /** Requests SOL of the faucet of localnet or a test chain, and waits until the account has it.
   * Throws DeadlinePassed after a minute. */
  async airdrop(account: Address, amount = 1_000_000_000n): Promise<Signature> {
    const balance = () => this.rpc.getBalance(account, { commitment: "confirmed" }).send();
    const before = (await balance()).value;
    const signature = await this.rpc.requestAirdrop(account, lamports(amount)).send();
    const deadline = Date.now() + 60_000;
    while ((await balance()).value <= before) {
      if (Date.now() > deadline) throw new DeadlinePassed(signature, 60, null);
      await sleep(POLL_SECONDS);
    }
    return signature;
  }

  /** The transfer of a tip from the payer to a new tip address: add it to your instructions. */
  async tipInstruction(
    payer: TransactionSigner,
    { lamports: amount = TIP_LAMPORTS, ttl, signal }: TipOptions = {},
  ): Promise<Instruction<string, readonly AccountMeta[]>> {
    const query = { count: 1, ...(ttl === undefined ? {} : { ttl }) };
    const { addresses } = await this.tips.fetchTipAddresses(query, signal);
    const destination = address(addresses[0] ?? "");
    return getTransferSolInstruction({ source: payer, destination, amount });
  }

  /** A transaction of these instructions and a tip, with the newest blockhash, signed by the payer
   * and all other signers in the instructions. For other limits or lookup tables, build the message
   * with kit and `tipInstruction`. */
  async signWithTip(
    payer: TransactionSigner,
    instructions: readonly Instruction<string, readonly AccountMeta[]>[],
    options: SignOptions = {},
  ): Promise<Transaction> {
    const sent = options.signal ? { abortSignal: options.signal } : {};
    const [tip, { value: blockhash }] = await Promise.all([
      this.tipInstruction(payer, options),
      this.rpc.getLatestBlockhash({ commitment: "confirmed" }).send(sent),
    ]);
    const whole = [...instructions, tip];
    const message = pipe(
      emptyMessage(options.version ?? 0, whole.length),
      (each) => setTransactionMessageFeePayerSigner(payer, each),
      (each) => setTransactionMessageLifetimeUsingBlockhash(blockhash, each),
      (each) => appendTransactionMessageInstructions(whole, each),
    );
    return signTransactionMessageWithSigners(message);
  }

  /** Sends a transaction with a tip → its signature. It is accepted, and not yet landed. */
  async send(transaction: Sendable, signal?: AbortSignal): Promise<Signature> {
    const encoded =
      typeof transaction === "string" ? transaction : getBase64EncodedWireTransaction(transaction);
    const config = { encoding: "base64", skipPreflight: true } as const;
    const call = this.priority.sendTransaction(encoded, config);
    return (await call.send(signal ? { abortSignal: signal } : {})) as Signature;
  }

  /** Sends a transaction with a tip, and follows it to its end → its fate, whose `state` is landed,
   * failed (in a block, with `err`), expired or refused. Throws DeadlinePassed if it is none of
   * these in time: it may still land. */
  async sendAndFollow(transaction: Sendable, options: FollowOptions = {}): Promise<types.Fate> {
    const signature = await this.send(transaction, options.signal);
    for await (const _ of this.follow(signature, options));
    return this.priority
      .getTransactionFate(signature)
      .send(options.signal ? { abortSignal: options.signal } : {});
  }

  /** Each change of a submission of this key, to its end: by WebSocket, by polling while there is
   * none. Throws DeadlinePassed, SignatureUnknown for another key's, and the signal's reason. */
  async *follow(
    signature: string,
    { until = "finalized", deadlineSeconds = 120, signal }: FollowOptions = {},
  ): AsyncGenerator<Change> {
    const deadline = Date.now() + deadlineSeconds * 1_000;
    let last: Change | null = null;
    for (let streams = STREAM_ATTEMPTS; ; streams--) {
      signal?.throwIfAborted();
      const polled = await this.polled(signature, last !== null, signal);
      if (polled && differs(polled, last)) yield (last = polled);
      if (last && isOver(last, until)) return;
      const left = (deadline - Date.now()) / 1_000;
      if (left <= 0) throw new DeadlinePassed(signature, deadlineSeconds, last?.state ?? null);
      if (streams <= 0) {
        await sleep(Math.min(POLL_SECONDS, left), signal);
        continue;
      }
      const ended = within(left, signal);
      for await (const change of streamed(this.caller.url, this.caller.key, signature, ended)) {
        if (differs(change, last)) yield (last = change);
        if (isOver(change, until)) return;
      }
    }
  }

  /** Every write to an account in a range of slots, newest first. */
  async *iterateAccountChanges(
    pubkey: Address,
    config: types.ChangesConfig,
    signal?: AbortSignal,
  ): AsyncGenerator<types.AccountChange> {
    yield* paged(config.before, async (before) => {
      const { value } = await this.rewind
        .getAccountChanges(pubkey, withMember(config, "before", before))
        .send(signal ? { abortSignal: signal } : {});
      return { entries: value.changes, next: value.next };
    });
  }

  /** The signatures of an address, newest first. */
  async *iterateSignaturesForAddress(
    pubkey: Address,
    config: types.AddressConfig = {},
    signal?: AbortSignal,
  ): AsyncGenerator<types.AddressSignature> {
    yield* paged(config.before, async (before) => {
      const entries = await this.historical
        .getSignaturesForAddress(pubkey, withMember(config, "before", before))
        .send(signal ? { abortSignal: signal } : {});
      return { entries, next: entries.at(-1)?.signature };
    });
  }

  /** The transactions of an address. */
  async *iterateTransactionsForAddress(
    pubkey: Address,
    config: types.AddressTransactionsConfig = {},
    signal?: AbortSignal,
  ): AsyncGenerator<types.AddressTransactions["data"][number]> {
    yield* paged(config.paginationToken, async (token) => {
      const page = await this.historical
        .getTransactionsForAddress(pubkey, withMember(config, "paginationToken", token))
        .send(signal ? { abortSignal: signal } : {});
      return { entries: page.data, next: page.paginationToken };
    });
  }

  /** The results of a simulation job, as they come, to its end. */
  async *iterateSimulationJobResults(
    jobId: string,
    config: types.ResultsConfig = {},
    signal?: AbortSignal,
  ): AsyncGenerator<types.JobResult> {
    yield* paged(config.cursor, async (cursor) => {
      const page = await this.rewind
        .getSimulationJobResults(jobId, withMember(config, "cursor", cursor))
        .send(signal ? { abortSignal: signal } : {});
      if (!page.results.length && page.next) await sleep(POLL_SECONDS, signal);
      return { entries: page.results, next: page.next };
    });
  }

  /** What this key's customer submitted, newest first, without the attempts. */
  async *iterateNewestFates(
    query: { limit?: number; before?: string } = {},
    signal?: AbortSignal,
  ): AsyncGenerator<types.Fate> {
    yield* paged(query.before, async (before) => {
      const entries = await this.tips.newestFates(withMember(query, "before", before), signal);
      return { entries, next: entries.at(-1)?.signature };
    });
  }

  /** The fate; null while one that was known cannot be found. */
  private async polled(
    signature: string,
    isKnown: boolean,
    signal: AbortSignal | undefined,
  ): Promise<types.Fate | null> {
    try {
      const call = this.priority.getTransactionFate(signature);
      return await call.send(signal ? { abortSignal: signal } : {});
    } catch (error) {
      if (isKnown && error instanceof SignatureUnknown) return null;
      throw error;
    }
  }
}

/** The management API of the service at `url`, with a root key. */
export class Management extends Resources {
  constructor(url: string, key: string, options: CallOptions = {}) {
    super(new Caller(url, key, options));
  }
}

function emptyMessage(version: TransactionVersion, instructions: number) {
  if (version !== 1) return createTransactionMessage({ version });
  return setTransactionMessageConfig(
    {
      computeUnitLimit: Math.min(UNITS_OF_INSTRUCTION * instructions, MOST_UNITS),
      loadedAccountsDataSizeLimit: MOST_ACCOUNT_BYTES,
    },
    createTransactionMessage({ version }),
  );
}

interface Page<T> {
  readonly entries: readonly T[];
  readonly next: string | null | undefined;
}

async function* paged<T>(
  from: string | undefined,
  read: (from: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let following: string | null | undefined = from;
  do {
    const page: Page<T> = await read(following);
    yield* page.entries;
    following = page.next;
  } while (following);
}

function withMember<T extends object>(config: T, name: keyof T, value: string | undefined): T {
  return value === undefined ? config : { ...config, [name]: value };
}

function rpcOf<T extends { [K in keyof T]: (...params: never[]) => unknown }>(
  caller: Caller,
  path: string,
): Rpc<T> {
  const api = createJsonRpcApi<{ [name: string]: (...params: never[]) => unknown }>({
    responseTransformer: (answer) => {
      if (isRecord(answer) && "result" in answer) return answer.result;
      throw new ResponseUnreadable("a response of JSON-RPC without a result");
    },
  });
  return createRpc({ api, transport: caller.transport(path) }) as unknown as Rpc<T>;
}

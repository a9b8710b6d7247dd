// A submission's changes: when they end, and what the WebSocket of fates sends of them.
import { createAsyncIterableFromDataPublisher, createRpcMessage } from "@solana/kit";
import { stringifyJsonWithBigInts } from "@solana/rpc-spec-types";
import { createWebSocketChannel } from "@solana/rpc-subscriptions-channel-websocket";

import { isRecord, parsed } from "./exact.js";
import type { Fate, FateEvent } from "./generated/types.js";

/** A change by the stream is a FateEvent, one that was polled a whole Fate. */
export type Change = Fate | FateEvent;

/** How a transaction is followed. */
export interface FollowOptions {
  /** `landed`: as soon as a block has it; `finalized` (the default): when no fork can remove it */
  readonly until?: "landed" | "finalized";
  /** 120 by default */
  readonly deadlineSeconds?: number;
  readonly signal?: AbortSignal;
}

const NO_LONGER_WATCHED = "unknown, watch ended";
const BUFFER_BYTES = 131_072;

/** Whether there is nothing more to wait for: final, deep enough in the chain, or lost, when the
 * service no longer watches a durable nonce. */
export function isOver(change: Change, until: "landed" | "finalized"): boolean {
  if (change.final || change.reason?.startsWith(NO_LONGER_WATCHED)) return true;
  return until === "landed" && (change.state === "landed" || change.state === "failed");
}

/** Whether a change is news after the last one. */
export function differs(change: Change, last: Change | null): boolean {
  const names = ["state", "final", "commitment", "slot", "reason", "sending"] as const;
  return !last || names.some((name) => change[name] !== last[name]);
}

/** Changes by one WebSocket, until it ends, is refused or the signal is aborted. */
export async function* streamed(
  url: string,
  key: string,
  signature: string,
  signal: AbortSignal,
): AsyncGenerator<FateEvent> {
  const closing = new AbortController();
  const ended = AbortSignal.any([signal, closing.signal]);
  try {
    const channel = await createWebSocketChannel({
      url: `${url.replace(/^http/, "ws")}/priority?api_key=${encodeURIComponent(key)}`,
      sendBufferHighWatermark: BUFFER_BYTES,
      signal: ended,
    });
    const messages = createAsyncIterableFromDataPublisher<string>({
      abortSignal: ended,
      dataChannelName: "message",
      dataPublisher: channel,
      errorChannelName: "error",
    })[Symbol.asyncIterator]();
    // Messages are kept from the first time on that one is waited for.
    let following = messages.next();
    const params = [{ signatures: [signature] }];
    const subscription = createRpcMessage({ methodName: "fatesSubscribe", params });
    channel.send(stringifyJsonWithBigInts(subscription)).catch(() => closing.abort());
    while (true) {
      const { value, done } = await following;
      if (done) return;
      following = messages.next();
      following.catch(() => undefined); // it is awaited above, unless the caller ends before
      const message = parsed(value);
      if (!isRecord(message) || message.error || message.method === "endNotification") return;
      if (message.method === "fatesNotification" && isRecord(message.params)) {
        yield message.params.result as FateEvent;
      }
    }
  } catch {
    return; // without a WebSocket, polling is left
  } finally {
    closing.abort();
  }
}

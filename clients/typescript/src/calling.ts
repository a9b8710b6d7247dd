// Calls: sent, repeated where that helps, and read.
import type { RpcTransport } from "@solana/kit";
import { stringifyJsonWithBigInts } from "@solana/rpc-spec-types";

import { isRecord, parsed } from "./exact.js";
import { ResponseUnreadable, TidemarkError, Unreachable } from "./failures.js";
import { BY_REASON } from "./generated/errors.js";
import { sleep, within } from "./waiting.js";

/** How calls are made. */
export interface CallOptions {
  /** for each request; 30 by default */
  readonly timeoutSeconds?: number;
  /** for how long a call is repeated after 429, 502, 503, 504 and broken connections: 30 by default,
   * 0 for never. A service that has never responded is not tried again */
  readonly retrySeconds?: number;
}

/** A resource with the version that a change of it needs: the ETag of its response. */
export type Versioned<T> = T & { readonly version: string };

/** How a write of the management API is made. */
export interface WriteOptions {
  /** the `version` of the resource that was read; `*` changes any */
  readonly version?: string;
  /** a call that is made again with it gets the same response; a new one by default */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

type Query = Readonly<Record<string, unknown>>;

interface Request {
  readonly verb: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** whether it may be sent again when no response came */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | undefined;
}

interface Answer {
  readonly response: Response;
  readonly text: string;
}

const REFUSED_FOR_NOW = [429, 502, 503, 504];
const LONGEST_PAUSE_SECONDS = 8;
// Calls that do something once more when they are sent once more.
const ONCE = /^(request|submit)/;
// Of a connection that was never made, so that nothing was sent.
const NOT_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

/** One key's calls to the service at `url`. */
export class Caller {
  readonly url: string;
  readonly timeoutSeconds: number;
  private readonly retrySeconds: number;
  private hasResponded = false;

  constructor(
    url: string,
    readonly key: string,
    { timeoutSeconds = 30, retrySeconds = 30 }: CallOptions,
  ) {
    if (!/^https?:$/.test(new URL(url).protocol)) throw new TypeError(`not an HTTP URL: ${url}`);
    this.url = url.replace(/\/+$/, "");
    this.timeoutSeconds = timeoutSeconds;
    this.retrySeconds = retrySeconds;
  }

  /** kit's transport for the JSON-RPC path. Throws the class of the error's reason; errors without
   * one, such as those of the node that is followed, are left to kit. */
  transport(path: string): RpcTransport {
    return async <T>({ payload, signal }: { payload: unknown; signal?: AbortSignal }) => {
      const method = isRecord(payload) ? String(payload.method) : "";
      const isRepeatable = !ONCE.test(method);
      const request = { verb: "POST", path, body: payload, isRepeatable, signal };
      const { response, text } = await this.send(request);
      const answer = parsed(text);
      const error = isRecord(answer) && isRecord(answer.error) ? answer.error : undefined;
      const isOwn = isRecord(error?.data) && typeof error.data.reason === "string";
      if (!response.ok || isOwn || !isRecord(answer)) throw refusal(response, answer);
      return answer as T;
    };
  }

  /** GETs a path. */
  async get<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
    return read<T>(await this.fetched(path, query, signal));
  }

  /** GETs a path → its text. */
  async text(path: string, query: Query, signal?: AbortSignal): Promise<string> {
    const { response, text } = await this.fetched(path, query, signal);
    if (!response.ok) throw refusal(response, parsed(text));
    return text;
  }

  /** Every entry of a list of the management API, page by page. */
  async *pages<T>(path: string, query: Query, signal?: AbortSignal): AsyncGenerator<T> {
    let following: Query | null = query;
    while (following) {
      type Page = { results: T[]; next: string | null };
      const page: Page = read<Page>(await this.fetched(path, following, signal));
      yield* page.results;
      following = page.next ? Object.fromEntries(new URL(page.next).searchParams) : null;
    }
  }

  /** A write of the management API. A POST takes effect once, however often it is sent. */
  async write<T>(verb: string, path: string, body: unknown, options: WriteOptions): Promise<T> {
    const isPost = verb === "POST";
    const headers: Record<string, string> = {};
    if (options.version !== undefined) headers["If-Match"] = options.version;
    if (isPost) headers["Idempotency-Key"] = options.idempotencyKey ?? crypto.randomUUID();
    const request = { verb, path, body, headers, isRepeatable: isPost, signal: options.signal };
    return read<T>(await this.send(request));
  }

  private fetched(path: string, query: Query, signal?: AbortSignal): Promise<Answer> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const whole = text ? `${path}?${text}` : path;
    return this.send({ verb: "GET", path: whole, isRepeatable: true, signal });
  }

  /** Sends a request, again after a pause where that may help → the last response. Throws
   * Unreachable. */
  private async send(request: Request): Promise<Answer> {
    const began = Date.now();
    for (let attempt = 0; ; attempt++) {
      let answer: Answer | undefined;
      let failure: unknown;
      try {
        answer = await this.exchange(request);
        this.hasResponded = true;
        if (!REFUSED_FOR_NOW.includes(answer.response.status)) return answer;
      } catch (error) {
        request.signal?.throwIfAborted();
        failure = error;
      }
      const pause = pauseBefore(attempt, answer?.response);
      // Without a connection nothing was sent.
      const isSent = !NOT_SENT.includes(codeOf(failure));
      const mayRepeat = answer || (this.hasResponded && (request.isRepeatable || !isSent));
      if (!mayRepeat || (Date.now() - began) / 1_000 + pause > this.retrySeconds) {
        if (answer) return answer;
        const what = isSent ? "no response from" : "no connection to";
        throw new Unreachable(`${what} ${this.url}: ${meaningOf(failure)}`, { cause: failure });
      }
      await sleep(pause, request.signal);
    }
  }

  private async exchange({ verb, path, body, headers, signal }: Request): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: verb,
      headers: {
        ...(this.key ? { Authorization: this.key } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: stringifyJsonWithBigInts(body) }),
      signal: within(this.timeoutSeconds, signal),
    });
    return { response, text: await response.text() };
  }
}

function read<T>({ response, text }: Answer): T {
  const answer = text ? parsed(text) : undefined;
  if (!response.ok) throw refusal(response, answer);
  const version = response.headers.get("ETag");
  return (version && isRecord(answer) ? { ...answer, version } : answer) as T;
}

/** The error that a response is. */
function refusal(response: Response, answer: unknown): Error {
  const error = isRecord(answer) ? answer.error : undefined;
  let found: { reason: unknown; message: unknown; code: number | null; data: Record<string, unknown> };
  if (isRecord(error)) {
    const data = isRecord(error.data) ? error.data : {};
    found = { reason: data.reason ?? "", message: error.message, code: Number(error.code), data };
  } else if (isRecord(answer) && typeof error === "string") {
    const { error: reason, message = reason, ...data } = answer;
    found = { reason, message, code: null, data };
  } else {
    return new ResponseUnreadable(`HTTP ${response.status} is not a response of this service`);
  }
  const reason = String(found.reason);
  const kind = (Object.hasOwn(BY_REASON, reason) && BY_REASON[reason]) || TidemarkError;
  return new kind(String(found.message), {
    reason,
    status: response.status,
    code: found.code,
    data: found.data,
    requestId: response.headers.get("X-Request-Id") ?? "",
    retryAfterSeconds: retryAfter(response),
  });
}

function retryAfter(response: Response): number | null {
  const text = response.headers.get("Retry-After") ?? "";
  return /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : null;
}

/** Seconds to wait before another attempt (0 was the first). Random, so that callers that were
 * refused together do not come together again. */
function pauseBefore(attempt: number, response?: Response): number {
  const asked = response ? (retryAfter(response) ?? 0) : 0;
  return asked + (0.5 + Math.random() / 2) * Math.min(0.25 * 2 ** attempt, LONGEST_PAUSE_SECONDS);
}

/** Of a failed fetch, whose own message says nothing. */
function codeOf(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined;
  return isRecord(cause) ? String(cause.code) : "";
}

function meaningOf(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined;
  const message = cause instanceof Error ? cause.message : "";
  return message || codeOf(failure) || String(failure);
}

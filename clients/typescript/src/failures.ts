// Why a call failed: the service's refusals, and what went wrong on the way.

/** What a refusal says besides its message. */
export interface Refusal {
  /** also of a service that is newer than this client */
  readonly reason: string;
  /** of HTTP */
  readonly status: number;
  /** of JSON-RPC */
  readonly code: number | null;
  /** what was required and found; integers are bigints */
  readonly data: Readonly<Record<string, unknown>>;
  /** of the header X-Request-Id, for the operator's log */
  readonly requestId: string;
  /** of the header Retry-After */
  readonly retryAfterSeconds: number | null;
}

/** The service refused the call. There is a class for each reason, such as `errors.TipMissing`. */
export class TidemarkError extends Error {
  readonly reason: string;
  readonly status: number;
  readonly code: number | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, refusal: Refusal) {
    super(`${message} (${refusal.reason})`);
    this.name = new.target.name;
    this.reason = refusal.reason;
    this.status = refusal.status;
    this.code = refusal.code;
    this.data = refusal.data;
    this.requestId = refusal.requestId;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
  }
}

/** There was no response: no connection, a connection that broke, or a time-out. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

/** The response is not one of this service: another server, or a proxy in between. */
export class ResponseUnreadable extends Error {
  override readonly name = "ResponseUnreadable";
}

/** A transaction's fate was not settled in time. It may still land: follow it again. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";

  constructor(
    readonly signature: string,
    seconds: number,
    readonly state: string | null,
  ) {
    super(`${signature} is ${state ?? "unknown"} after ${seconds} s`);
  }
}

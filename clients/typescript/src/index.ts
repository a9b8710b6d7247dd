// The client of Tidemark.
export type { CallOptions, Versioned, WriteOptions } from "./calling.js";
export * from "./failures.js";
export type { Change, FollowOptions } from "./following.js";
export * as errors from "./generated/errors.js";
export { VERSION } from "./generated/facts.js";
export type * as methods from "./generated/methods.js";
export type * as types from "./generated/types.js";
export { type Sendable, type SignOptions, type TipOptions, Management, TIP_LAMPORTS, Tidemark } from "./tidemark.js";

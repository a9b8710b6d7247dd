// JSON whose integers are exact.
import { parseJsonWithBigInts } from "@solana/rpc-spec-types";

import { ResponseUnreadable } from "./failures.js";
import { NUMBERS } from "./generated/facts.js";

/** Reads JSON: integers as bigints, and as numbers the members that may have fractions. */
export function parsed(text: string): unknown {
  try {
    return withNumbers(parseJsonWithBigInts(text), "");
  } catch (cause) {
    throw new ResponseUnreadable(text.slice(0, 200), { cause });
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withNumbers(value: unknown, name: string): unknown {
  if (typeof value === "bigint") return NUMBERS.has(name) ? Number(value) : value;
  if (Array.isArray(value)) return value.map((each) => withNumbers(each, name));
  if (!isRecord(value)) return value;
  for (const [key, each] of Object.entries(value)) value[key] = withNumbers(each, key);
  return value;
}

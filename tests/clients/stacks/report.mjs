// Runs named checks one after another; each is a line of JSON on standard output, and so is the end.
const PATIENCE_MS = 60_000;
let failed = 0;
let count = 0;

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const reasonOf = (error) => {
  const cause = error?.cause?.message ? ` (${error.cause.message})` : "";
  const logs = error?.logs ?? error?.transactionLogs;
  return `${error?.message ?? error}${cause}${logs ? ` ${JSON.stringify(logs)}` : ""}`.slice(0, 1_000);
};

/** Runs the check → what it returns, or undefined if it fails, which the others survive. */
export async function check(name, run) {
  const begun = Date.now();
  count += 1;
  try {
    const value = await within(run(), name);
    print({ check: name, ok: true, ms: Date.now() - begun });
    return value;
  } catch (error) {
    failed += 1;
    print({ check: name, ok: false, ms: Date.now() - begun, error: reasonOf(error) });
    return undefined;
  }
}

/** The promise's value, or an error where it does not come at all. */
export function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing came`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Ends the program: open subscriptions would keep it, and an exit cuts off what a pipe has not. */
export function done() {
  process.stdout.write(`${JSON.stringify({ done: count, failed })}\n`, () => process.exit(0));
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What `look` gives, as soon as it gives something true. */
export async function until(look) {
  for (;;) {
    const found = await look();
    if (found) return found;
    await pause(100);
  }
}

/**
 * Throws where the value has not the shape: a constructor stands for its type, an array of one shape
 * for an array of any length, `anyOf` for alternatives, an object for exactly its members.
 */
export function fits(value, shape, at = "value") {
  const wrong = (expected) => {
    const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}n` : each));
    throw new Error(`${at} is ${(text ?? "undefined").slice(0, 200)}, not ${expected}`);
  };
  if (shape === BigInt || shape === Number || shape === String || shape === Boolean) {
    if (typeof value !== shape.name.toLowerCase()) wrong(shape.name);
  } else if (shape === Object) {
    if (typeof value !== "object" || value === null) wrong("an object");
  } else if (typeof shape === "function") {
    shape(value, at);
  } else if (Array.isArray(shape)) {
    if (!Array.isArray(value)) wrong("an array");
    value.forEach((each, index) => fits(each, shape[0], `${at}[${index}]`));
  } else if (typeof shape === "object" && shape !== null) {
    if (typeof value !== "object" || value === null) wrong("an object");
    const names = new Set([...Object.keys(shape), ...Object.keys(value)]);
    for (const name of names) {
      if (!(name in shape)) throw new Error(`${at}.${name} is not expected`);
      fits(value[name], shape[name], `${at}.${name}`);
    }
  } else if (value !== shape) {
    wrong(String(shape));
  }
}

export const anyOf =
  (...shapes) =>
  (value, at) => {
    const errors = [];
    for (const shape of shapes) {
      try {
        fits(value, shape, at);
        return;
      } catch (error) {
        errors.push(error.message);
      }
    }
    throw new Error(errors.join("; "));
  };

export const mapOf = (shape) => (value, at) => {
  fits(value, Object, at);
  for (const [name, each] of Object.entries(value)) fits(each, shape, `${at}.${name}`);
};

export function equal(found, expected) {
  if (found !== expected) throw new Error(`found ${String(found)}, expected ${String(expected)}`);
}

/** The error with which the promise ends. */
export async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

// Pauses that an AbortSignal ends.

/** Waits. Throws the signal's reason as soon as it is aborted. */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1_000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A signal that is aborted after so many seconds, or with another one. */
export function within(seconds: number, signal?: AbortSignal): AbortSignal {
  const limit = AbortSignal.timeout(Math.max(0, Math.ceil(seconds * 1_000)));
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

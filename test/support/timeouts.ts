import { vi } from "vitest";

/** For `vi.waitFor`: how long a test waits, as `expect.poll` does by .ci/vitest.config.ts, for what is bound to happen. */
const WAIT_OPTIONS = { timeout: 90_000, interval: 50 };

/** Looks again and again until it holds, in hooks too, where `expect.poll` is none; rejects with what was wrong last. */
export async function eventually(holds: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(async () => {
    if ((await holds()) === false) throw new Error(`it never came to this: ${holds}`);
  }, WAIT_OPTIONS);
}

/**
 * As `expect.poll`, for several things at once that need turns of the event loop but hardly any time: looks every few ms
 * until `fits` throws no more; rejects with what it threw last.
 */
export async function waitForAssertions(fits: () => void): Promise<void> {
  await vi.waitFor(fits, { ...WAIT_OPTIONS, interval: 3 });
}

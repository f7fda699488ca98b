import type { Page } from "playwright-core";

/** What held up a page's main thread, longest first. */
export interface LongTasks {
  /** Lengths in ms of what the browser itself calls long tasks: more than 50 ms by the clock. */
  long: number[];
  /** The processor's time in ms that the longest task took. */
  worstCpuMs: number;
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
}

/**
 * Watches a page's main thread until the function is called. A machine that does many things at once makes tasks long by
 * the clock that are short by the processor's time, so the second is what a test may demand.
 */
export async function watchLongTasks(page: Page): Promise<() => Promise<LongTasks>> {
  await page.evaluate(`(() => {
    globalThis.longTasks = [];
    const watcher = new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)));
    watcher.observe({ type: "longtask" });
  })()`);
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send("Tracing.start", { traceConfig: { includedCategories: ["toplevel"] } });
  return async () => {
    const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await complete;
    const long = await page.evaluate<number[]>("longTasks");
    return { long: long.sort((a, b) => b - a), worstCpuMs: worstOf(events) };
  };
}

function worstOf(events: readonly TraceEvent[]): number {
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const mains = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(threadOf),
  );
  const tasks = events.filter((event) => event.name.endsWith("RunTask") && mains.has(threadOf(event)));
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1_000));
}

import { describe, expect, it } from "vitest";
import type { PluginContext } from "../../../src/plugin-api/index.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "../../../src/plugin-host/plugin-protocol.ts";
import { createPluginRuntime } from "../../../src/plugin-host/plugin-runtime.ts";
import { itemOf } from "../../plugins/test-appliance.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../../support/fake-clock.ts";

const INIT: PluginInit = {
  plugin: "p",
  config: {},
  ports: { a: { host: "127.0.0.1", port: 0, publicUrl: null }, b: { host: "127.0.0.1", port: 0, publicUrl: null } },
  watches: [],
  allowedTargets: [],
  baseUrl: "http://127.0.0.1",
  multicastInterface: "127.0.0.1",
};

async function open(activate: (ctx: PluginContext) => Promise<void> | void) {
  const clock = createFakeClock();
  const said: FromPlugin[] = [];
  let tell: (message: ToPlugin) => void = () => {};
  const receive = (handler: typeof tell): void => {
    tell = handler;
  };
  const started = createPluginRuntime({ send: (message) => void said.push(message), receive }, INIT, clock).start({
    config: {},
    activate,
  });
  await Promise.race([started, clock.advance(0)]);
  const kinds = () => said.map(({ kind }) => kind);
  const of = <K extends FromPlugin["kind"]>(kind: K) =>
    said.filter((message): message is Extract<FromPlugin, { kind: K }> => message.kind === kind);
  return { clock, said, kinds, of, started, tell: (message: ToPlugin) => tell(message) };
}

describe("the plugin runtime", () => {
  it("undoes registrations in reverse order if activate throws, and reports the fault last", async () => {
    const urls: string[] = [];
    const { clock, said, started } = await open(async (ctx) => {
      ctx.every(100, () => {});
      urls.push(await ctx.listen("a", () => ({ status: 200 })), await ctx.listen("b", () => ({ status: 200 })));
      ctx.clock.after(50, () => {});
      ctx.signal.addEventListener("abort", () => urls.push("aborted"));
      throw new RangeError("half-way");
    });
    await started;
    expect(urls.pop()).toBe("aborted");
    expect(said.at(-1)).toMatchObject({ kind: "fault", message: "half-way" });
    expect(clock.pendingTimers()).toBe(0);
    for (const url of urls) await expect(fetch(url)).rejects.toThrow();
  });

  it("closes a port that opens after activate has thrown", async () => {
    let listening: Promise<string> | null = null;
    const { kinds, started } = await open((ctx) => {
      listening = ctx.listen("a", () => ({ status: 200 }));
      throw new RangeError("too soon");
    });
    await started;
    await expect(listening).rejects.toThrow("is stopping");
    expect(kinds()).toEqual(["fault"]);
  });

  it("rejects pending and later host calls when it closes", async () => {
    let context: PluginContext | null = null;
    const { tell, clock, kinds } = await open((ctx) => {
      context = ctx;
    });
    const ctx = context as unknown as PluginContext;
    const waiting = expect(ctx.state.get("a")).rejects.toThrow("is stopping");
    tell({ kind: "shutdown" });
    await waiting;
    await expect(ctx.state.get("b")).rejects.toThrow("is stopping");
    await clock.advance(0);
    expect(kinds()).toEqual(["active", "call", "stopped"]);
  });

  it("rejects a host call after 5 s and ignores a late reply", async () => {
    let context: PluginContext | null = null;
    const { tell, clock } = await open((ctx) => {
      context = ctx;
    });
    const asked = (context as unknown as PluginContext).state.get("a");
    const late = expect(asked).rejects.toThrow("state.get: no answer within 5 s");
    await clock.advance(5_000);
    await late;
    tell({ kind: "reply", id: 1, value: 1 });
  });

  it.each<[string, (ctx: PluginContext) => void]>([
    ["a timer", (ctx) => void ctx.clock.after(10, () => fail())],
    ["a period", (ctx) => ctx.every(10, () => fail())],
    ["taking deliveries", (ctx) => ctx.deliver(() => fail())],
    ["taking deliveries later", (ctx) => ctx.deliver(async () => fail())],
    ["stopping deliveries", (ctx) => ctx.stop(async () => fail())],
    ["following an event", (ctx) => ctx.onEvent("notification.settled", () => fail())],
  ])("reports an exception of %s as a fault", async (_case, activate) => {
    const { tell, clock, of } = await open(activate);
    tell({ kind: "deliver", items: [itemOf(1)] });
    tell({ kind: "stop", request: { deliveryIds: [1], reason: "aborted" } });
    tell({ kind: "event", name: "notification.settled", payload: { notificationId: "n" } });
    await clock.advance(10);
    expect(of("fault").map(({ message }) => message)).toContain("went wrong");
  });

  it("batches outcomes of 15 ms, at most 500, each with its own time", async () => {
    let context: PluginContext | null = null;
    const { clock, of } = await open((ctx) => {
      context = ctx;
    });
    const { outcome } = context as unknown as PluginContext;
    outcome(1, "accepted");
    await clock.advance(10);
    outcome(2, "failed", { reason: "no answer", retryable: true });
    expect(of("outcomes")).toEqual([]);
    await clock.advance(5);
    expect(of("outcomes").map(({ notes }) => notes)).toEqual([
      [
        { deliveryId: 1, level: "accepted", details: {}, at: FAKE_CLOCK_START },
        {
          deliveryId: 2,
          level: "failed",
          details: { reason: "no answer", retryable: true },
          at: FAKE_CLOCK_START + 10,
        },
      ],
    ]);
    for (let id = 0; id < 700; id++) outcome(id, "accepted");
    expect(of("outcomes").map(({ notes }) => notes.length)).toEqual([2, 500]);
    await clock.advance(15);
    expect(of("outcomes").map(({ notes }) => notes.length)).toEqual([2, 500, 200]);
  });

  it("flushes outcomes before it reports that it stopped", async () => {
    let context: PluginContext | null = null;
    const { tell, clock, kinds } = await open((ctx) => {
      context = ctx;
    });
    (context as unknown as PluginContext).outcome(1, "playing");
    tell({ kind: "shutdown" });
    await clock.advance(0);
    expect(kinds()).toEqual(["active", "outcomes", "stopped"]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("fails deliveries if the plugin accepts none", async () => {
    const { tell, clock, of } = await open(() => {});
    tell({ kind: "deliver", items: [itemOf(1)] });
    await clock.advance(0);
    await clock.advance(15);
    expect(of("outcomes")[0]?.notes).toMatchObject([{ deliveryId: 1, level: "failed" }]);
  });

  it("limits log lines to 100 per second and reports dropped ones", async () => {
    const { clock, of } = await open((ctx) => {
      for (let at = 0; at < 150; at++) ctx.log.info({ at, odd: () => {} }, "line");
      ctx.clock.after(1_000, () => ctx.log.error({ error: new RangeError("x") }, "later"));
    });
    expect(of("log")).toHaveLength(100);
    expect(of("log")[0]?.values).toMatchObject({ at: "0" });
    await clock.advance(1_000);
    expect(of("log").slice(100)).toMatchObject([
      { level: "warn", values: { dropped: 50 } },
      { level: "error", message: "later" },
    ]);
  });
});

function fail(): never {
  throw new RangeError("went wrong");
}

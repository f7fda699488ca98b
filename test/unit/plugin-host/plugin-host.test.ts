import { describe, expect, it } from "vitest";
import { type PluginContext, text } from "../../../src/plugin-api/index.ts";
import { extensionIdOf } from "../../../src/plugin-host/extension-rows.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import { anyActor, itemOf } from "../../plugins/test-appliance.ts";
import { open, remote, type TestPlugin, taking } from "./host-fixture.ts";

describe("deliveries", () => {
  it("fail for a plugin that is not installed", async () => {
    const { host, outcomes } = await open({});
    host.deliver("none", [itemOf(1)]);
    expect(outcomes).toMatchObject([
      { provider: "none", level: "failed", details: { reason: "plugin none is not installed" } },
    ]);
    expect(host.window("none")).toBe(0);
  });

  it("are passed to the next run after a crash, with their cancellations", async () => {
    const got: [number, number, string | undefined][] = [];
    const stops: number[][] = [];
    const activate = (ctx: PluginContext): void => {
      ctx.deliver((batch) => {
        for (const { deliveryId, attempt, reached } of batch) got.push([deliveryId, attempt, reached]);
        if (got.length === 1) throw new RangeError("at the first delivery");
      });
      ctx.stop(({ deliveryIds }) => void stops.push(deliveryIds));
    };
    const { host, clock } = await open({ p: { activate } });
    host.deliver("p", [itemOf(1)]);
    await clock.advance(0);
    expect(host.state("p")).toBe("restarting");
    host.deliver("p", [itemOf(2), itemOf(3)]);
    await host.stop("p", { deliveryIds: [1, 2], reason: "aborted" });
    await clock.advance(1_000);
    expect(host.state("p")).toBe("running");
    expect(got).toEqual([
      [1, 1, undefined],
      [1, 2, "sent"],
      [3, 1, undefined],
    ]);
    expect(stops).toEqual([[1]]);
  });

  it("drop invalid outcomes", async () => {
    const { plugin, ctx } = remote();
    const { clock, outcomes } = await open({ p: plugin });
    ctx().outcome(1, "played" as never);
    ctx().outcome(1.5, "accepted");
    ctx().outcome(1, "failed", { reason: "x".repeat(1_000), retryable: true });
    await clock.advance(20);
    expect(outcomes).toMatchObject([{ provider: "p", deliveryId: 1, level: "failed", details: { retryable: true } }]);
    expect(outcomes[0]?.details.reason).toHaveLength(500);
  });
});

describe("a plugin that keeps failing", () => {
  const broken: TestPlugin = {
    manifest: { failureCode: "broadcast-failed" },
    activate: () => {
      throw new RangeError("broken");
    },
  };

  it("is stopped and recorded after 5 failures, while others continue", async () => {
    const { host, store, clock, changes, shown, starts, endpointId } = await open({
      p: broken,
      q: { activate: taking },
    });
    expect(host.state("p")).toBe("restarting");
    await clock.advance(15_000);
    expect(starts).toEqual({ p: 5, q: 1 });
    expect(host.state("p")).toBe("disabled");
    expect(host.state("q")).toBe("running");
    expect(changes.at(-1)).toEqual({ plugin: "p", state: "stopped", reason: "uncaught exception: broken" });
    expect(shown("p")?.status).toEqual({
      ...{ state: "stopped", health: "down", reason: "uncaught exception: broken" },
      reasonSentence: { code: "plugin-host.uncaught", params: { message: "broken" } },
      ...{ failures: 5, nextTryAt: null },
    });
    expect(store.find(endpointActivities, { endpointId })).toMatchObject([
      {
        type: "log-message",
        state: "fail",
        severity: "error",
        value: {
          extensionId: extensionIdOf("p"),
          plugin: "p",
          failureCode: "broadcast-failed",
          reason: "uncaught exception: broken",
        },
      },
    ]);
  });

  it("fails its deliveries and says that the channel is down", async () => {
    const { host, store, clock, outcomes } = await open({ p: broken });
    const { id: notificationId } = await store.create(notifications, { subject: "Test" }, anyActor);
    host.deliver("p", [itemOf(1, { notificationId })]);
    expect(outcomes).toEqual([]);
    await clock.advance(15_000);
    host.deliver("p", [itemOf(2, { notificationId })]);
    await clock.advance(0);
    const details = { reason: "p is not running: uncaught exception: broken", channelDown: true };
    expect(outcomes).toMatchObject([
      { deliveryId: 1, level: "failed", details },
      { deliveryId: 2, level: "failed", details },
    ]);
  });

  it("shows its failures and its next start", async () => {
    const { clock, shown } = await open({ p: broken });
    await clock.advance(1_000);
    expect(shown("p")?.status).toMatchObject({
      ...{ state: "restarting", reason: "uncaught exception: broken", failures: 2 },
      nextTryAt: new Date(clock.now() + 1_980).toISOString(),
    });
  });

  it("is started by a manual restart, which is recorded with its user", async () => {
    const { host, clock, starts, store, endpointId, shown } = await open({ p: broken });
    await clock.advance(15_000);
    const restarting = host.restart(extensionIdOf("p"), anyActor);
    await clock.advance(0);
    await restarting;
    expect(starts.p).toBe(6);
    expect(shown("p")?.status).toMatchObject({ state: "restarting", failures: 1 });
    expect(store.find(endpointActivities, { endpointId, state: "success" })).toMatchObject([
      {
        type: "log-message",
        value: { extensionId: extensionIdOf("p"), plugin: "p", reason: "restarted manually", userName: "test" },
      },
    ]);
    const said = host.readLog(extensionIdOf("p"), 3, 0)?.map(({ level, message }) => [level, message]);
    expect(said).toContainEqual(["warn", "plugin failed"]);
  });

  it("is started again when its switch is written, even unchanged", async () => {
    const { clock, change, starts, store } = await open({ p: broken });
    await clock.advance(15_000);
    await change("p", { disabled: false });
    expect(starts.p).toBe(6);
    await store.update(extensions, extensionIdOf("p"), { name: "p" }, anyActor);
    await clock.advance(60_000);
    expect(starts.p).toBe(10);
  });

  it("ignores writes while the appliance stops", async () => {
    const { close, clock, starts, store } = await open({ p: broken });
    await clock.advance(15_000);
    const lost: unknown[] = [];
    const onLost = (reason: unknown): void => void lost.push(reason);
    process.on("unhandledRejection", onLost);
    const written = store.update(extensions, extensionIdOf("p"), { disabled: false }, anyActor);
    await Promise.all([written, close()]);
    await clock.advance(60_000);
    process.off("unhandledRejection", onLost);
    expect([lost, starts.p]).toEqual([[], 5]);
  });
});

describe("a manual restart", () => {
  it("ends the current run and starts another", async () => {
    const { plugin, ctx } = remote();
    const { host, clock, starts, changes } = await open({ p: plugin });
    const before = ctx();
    const restarting = host.restart(extensionIdOf("p"), anyActor);
    await clock.advance(0);
    await restarting;
    expect([before.signal.aborted, ctx().signal.aborted, starts.p]).toEqual([true, false, 2]);
    expect(changes.map(({ state, reason }) => [state, reason])).toEqual([
      ["running", null],
      ["restarting", "restart requested"],
      ["running", null],
    ]);
  });

  it("is refused for disabled and missing plugins", async () => {
    const { host, change, clock, starts } = await open({ p: {} });
    await change("p", { disabled: true });
    await expect(host.restart(extensionIdOf("p"), anyActor)).rejects.toThrow("disabled");
    await expect(host.restart(extensionIdOf("none"), anyActor)).rejects.toThrow("This extension has no plugin");
    await change("p", { disabled: false });
    const restarting = host.restart(extensionIdOf("p"), anyActor);
    await clock.advance(0);
    await restarting;
    expect(starts.p).toBe(3);
  });

  it("keeps the log of the previous run", async () => {
    const { plugin, ctx } = remote();
    const { host, clock } = await open({ p: plugin });
    ctx().log.info({ phone: "SEP1" }, "pushed");
    ctx().status("degraded", "two phones are silent");
    await clock.advance(0);
    const restarting = host.restart(extensionIdOf("p"), anyActor);
    await clock.advance(0);
    await restarting;
    expect(host.readLog(extensionIdOf("p"), 500, 0)?.map(({ message }) => message)).toEqual([
      ...["plugin started", "pushed", "plugin restarting", "plugin started"],
    ]);
    expect(host.readLog(extensionIdOf("none"), 500, 0)).toBeNull();
  });
});

describe("disabled plugins", () => {
  it("are logged in one debug line at start-up, and again when one is disabled later", async () => {
    const off = { manifest: { enabledByDefault: false } };
    const { logged, change } = await open({ p: {}, q: off, r: off });
    const disabled = () =>
      logged()
        .split("\n")
        .filter((line) => line.includes("plugin.disabled"))
        .map((line) => JSON.parse(line) as unknown);
    expect(disabled()).toMatchObject([{ level: 20, plugins: ["q", "r"] }]);
    await change("p", { disabled: true });
    expect(disabled()[1]).toMatchObject({ level: 30, plugin: "p", reason: "disabled" });
  });
});

describe("a plugin's own health", () => {
  it("is reported on change", async () => {
    const { plugin, ctx } = remote();
    const { clock, changes } = await open({ p: plugin });
    for (const _ of [1, 2]) ctx().status("degraded", "two phones are silent");
    ctx().status("ok");
    await clock.advance(0);
    expect(changes.map(({ state, reason }) => [state, reason])).toEqual([
      ["running", null],
      ["running", "two phones are silent"],
      ["running", null],
    ]);
  });

  it("is reported with the start if set during activation", async () => {
    const activate = (ctx: PluginContext): void => ctx.status("down", "its port is taken");
    const { changes } = await open({ p: { activate } });
    expect(changes).toEqual([{ plugin: "p", state: "running", reason: "its port is taken", health: "down" }]);
  });
});

describe("subscriptions of a plugin", () => {
  it("receive granted row changes and core events", async () => {
    const seen: unknown[] = [];
    const activate = (ctx: PluginContext): void => {
      ctx.resources.watch("extensions", (change) => void seen.push(change));
      ctx.onEvent("notification.settled", (payload) => void seen.push(payload));
      expect(() => ctx.resources.watch("users", () => {})).toThrow("does not list users in watches");
    };
    const { store, events, clock } = await open({ p: { manifest: { watches: ["extensions"] }, activate }, q: {} });
    const row = await store.create(extensions, { name: "Elsewhere" }, anyActor);
    events.emit("notification.settled", { notificationId: "n" });
    events.emit("notification.accepted", { notificationId: "n", priority: 5 });
    await clock.advance(0);
    expect(seen).toEqual([{ id: row.id, op: "create" }, { notificationId: "n" }]);
  });
});

describe("a plugin's requests", () => {
  const request = (url: string) => ({ method: "GET", url, headers: {}, body: new Uint8Array(), remoteAddress: "" });

  it("are handled by the longest matching route", async () => {
    const activate = (ctx: PluginContext): void => {
      ctx.route("a", ({ url }) => ({ status: 200, body: `a ${url}` }));
      ctx.route("/a/b/", () => ({ status: 201 }));
      ctx.route("broken", () => {
        throw new RangeError("broken");
      });
      ctx.route("slow", () => new Promise(() => {}));
    };
    const { host, clock } = await open({ p: { activate } });
    const status = async (url: string) => (await host.handleRequest("p", request(url)))?.status;
    expect(await host.handleRequest("p", request("/a/c?d=1"))).toEqual({ status: 200, body: "a /a/c?d=1" });
    expect(await Promise.all(["/a/b", "/a/b/c", "/ab", "/", "/broken"].map(status))).toEqual([201, 201, 404, 404, 500]);
    expect((await host.handleRequest("p", { ...request("/a"), body: new Uint8Array(65_537) }))?.status).toBe(413);
    const slow = status("/slow");
    await clock.advance(0);
    await clock.advance(11_000);
    expect(await slow).toBe(504);
    expect(await host.handleRequest("none", request("/a"))).toBeNull();
  });

  it("end with the plugin", async () => {
    let ctx: PluginContext | null = null;
    const activate = (given: PluginContext): void => {
      ctx = given;
      given.route("slow", () => new Promise(() => {}));
    };
    const { host, clock } = await open({ p: { activate } });
    const slow = host.handleRequest("p", request("/slow"));
    await clock.advance(0);
    (ctx as PluginContext | null)?.clock.after(10, () => {
      throw new RangeError("later");
    });
    await clock.advance(10);
    expect((await slow)?.status).toBe(503);
    // Whoever asks comes back: it is to run.
    await expect(host.handleRequest("p", request("/slow"))).rejects.toMatchObject({ type: "starting" });
  });

  it("arrive at own ports, whose URLs survive a restart", async () => {
    const activate = async (ctx: PluginContext): Promise<void> => {
      await ctx.listen("auth", () => ({ status: 200, headers: { "X-Plugin": "p" }, body: "yes" }));
      await expect(ctx.listen("other", () => ({ status: 200 }))).rejects.toThrow("does not list port other");
    };
    const { host, events, change } = await open({
      p: { manifest: { listens: ["auth"] }, fields: { a: text("A.") }, activate },
    });
    const urls = host.urls();
    const url = urls["p/auth"] as string;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth$/);
    expect((await fetch(url)).headers.get("x-plugin")).toBe("p");
    await change("p", { disabled: true });
    expect(host.urls()).toEqual({});
    const back = new Promise<void>((resolve) => {
      events.on("plugin.changed", ({ state }) => state === "running" && resolve());
    });
    await change("p", { disabled: false });
    await back;
    expect(host.urls()).toEqual(urls);
    expect(await (await fetch(url)).text()).toBe("yes");
  });
});

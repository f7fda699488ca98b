import { afterEach, describe, expect, it } from "vitest";
import { extensionIdOf } from "../../../src/extensions/extension-rows.ts";
import { launchInline } from "../../../src/extensions/instance.ts";
import type { PluginHostNeeds } from "../../../src/extensions/plugin-host.ts";
import {
  type ConfigFields,
  type PluginContext,
  type PluginManifest,
  secret,
  type TriggerInput,
  text,
} from "../../../src/plugin-api/index.ts";
import notificationActivities from "../../../src/resources/broadcasts/notification-activities.ts";
import notifications from "../../../src/resources/broadcasts/notifications.ts";
import devices from "../../../src/resources/devices/devices.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/onprem.ts";
import { itemOf, openAppliance, somebody, type TestAppliance } from "../../plugins/appliance.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { manifestOf, writePlugin } from "./plugin-fixture.ts";

interface TestPlugin {
  manifest?: Partial<PluginManifest>;
  fields?: ConfigFields;
  activate?: (ctx: PluginContext) => Promise<void> | void;
}

type Opened = TestAppliance & {
  clock: FakeClock;
  /** How often each plugin was started. */
  starts: Record<string, number>;
  /** Writes the extension row of a plugin. */
  change(plugin: string, input: object): Promise<void>;
  /** What the API shows of the row besides its fields. */
  shown(plugin: string): Record<string, unknown> | undefined;
};

let opened: Opened | null = null;
afterEach(async () => {
  await opened?.close();
  opened = null;
});

/** Opens a host over inline plugins; each gets a number of its own by `starts`. */
async function open(
  plugins: Record<string, TestPlugin>,
  more: Partial<Pick<PluginHostNeeds, "openStream" | "confirm" | "trigger">> & { dataDir?: string } = {},
): Promise<Opened> {
  const folder = makeTempDir();
  const clock = createFakeClock();
  const starts: Record<string, number> = {};
  for (const [name, { manifest, fields }] of Object.entries(plugins))
    writePlugin(folder, manifestOf(name, manifest), fields);
  const { dataDir = makeTempDir(), ...needs } = more;
  const appliance = await openAppliance(dataDir, new URL(`file://${folder}/`), {
    ...needs,
    clock,
    launch: ({ manifest: { name } }) => {
      const { fields = {}, activate = () => {} } = plugins[name] ?? {};
      const run = (ctx: PluginContext): Promise<void> | void => {
        starts[name] = (starts[name] ?? 0) + 1;
        return activate(ctx);
      };
      return launchInline({ config: fields, activate: run as never }, clock);
    },
  });
  opened = {
    ...appliance,
    clock,
    starts,
    async change(plugin, input) {
      await appliance.store.update(extensions, extensionIdOf(plugin), input, somebody);
      await clock.advance(20);
    },
    shown(plugin) {
      const row = appliance.store.get(extensions, extensionIdOf(plugin));
      if (!row) return undefined;
      const context = { reader: appliance.store, scope: somebody.scope, query: {}, params: {} };
      return appliance.host.extensionBehaviour.present?.([row], context)[0];
    },
  };
  await opened.host.start();
  await clock.advance(20);
  return opened;
}

/** Makes a call of a plugin's context from the test, as soon as the plugin runs. */
function remote(): { plugin: TestPlugin; ctx(): PluginContext } {
  const seen: PluginContext[] = [];
  return {
    plugin: { activate: (ctx) => void seen.push(ctx) },
    ctx() {
      const ctx = seen.at(-1);
      if (!ctx) throw new RangeError("the plugin has not run");
      return ctx;
    },
  };
}

const taking = (ctx: PluginContext): void =>
  ctx.deliver((batch) => {
    for (const { deliveryId } of batch) ctx.outcome(deliveryId, "accepted");
  });

describe("extension rows", () => {
  it("are made once per plugin, with what the manifest says", async () => {
    const { store, host } = await open({
      sms: { manifest: { extensionType: "device", deviceType: "sms-phone", failureCode: "sms-failed" } },
      extra: { manifest: { enabledByDefault: false } },
    });
    expect(host.manifests.map(({ name }) => name)).toEqual(["extra", "sms"]);
    expect(store.get(extensions, extensionIdOf("sms"))).toMatchObject({
      name: "sms",
      plugin: "sms",
      type: "device",
      deviceType: "sms-phone",
      failureCode: "sms-failed",
      disabled: false,
    });
    expect(store.get(extensions, extensionIdOf("extra"))).toMatchObject({ disabled: true });
    expect([host.state("sms"), host.state("extra"), host.state("none")]).toEqual(["running", "disabled", "absent"]);
  });

  it("follow a new manifest in type, and keep what people wrote", async () => {
    const dataDir = makeTempDir();
    const { change, close } = await open({ p: {} }, { dataDir });
    await change("p", { name: "Ours", disabled: true, type: "report" });
    await close();
    const { store } = await open({ p: { manifest: { extensionType: "device-filter" } } }, { dataDir });
    expect(store.get(extensions, extensionIdOf("p"))).toMatchObject({
      name: "Ours",
      disabled: true,
      type: "device-filter",
    });
  });

  it("can't be deleted while something stands behind them", async () => {
    const { store } = await open({ p: {} });
    await expect(store.remove(extensions, extensionIdOf("p"), somebody)).rejects.toThrow("switch it off instead");
    await expect(store.remove(extensions, ONPREM_EXTENSION_ID, somebody)).rejects.toThrow("appliances stand behind");
    const other = await store.create(extensions, { name: "Elsewhere" }, somebody);
    await store.remove(extensions, other.id, somebody);
  });
});

describe("configuration", () => {
  const fields = { host: text("Host.", { default: "here" }), password: secret("Password.") };

  it("is checked by the plugin's fields, and nothing is written when it is wrong", async () => {
    const { store, change, starts } = await open({ p: { fields } });
    await expect(change("p", { config: { host: 1 } })).rejects.toMatchObject({
      type: "invalid-value",
      faults: [{ field: "config.host" }],
    });
    expect(store.get(extensions, extensionIdOf("p"))?.config).toEqual({});
    expect(starts.p).toBe(1);
  });

  it("keeps secrets sealed at rest and out of answers, audit and log, and gives them to the plugin alone", async () => {
    const got: unknown[] = [];
    const activate = (ctx: PluginContext): void => {
      got.push(ctx.config);
      ctx.log.info(
        { why: `with ${ctx.config.password}`, list: [ctx.config.password] },
        `I know ${ctx.config.password}`,
      );
      ctx.status("degraded", `${ctx.config.password} is weak`);
      ctx.deliver(() => ctx.outcome(1, "failed", { reason: `refused ${ctx.config.password}` }));
    };
    const { store, host, change, clock, outcomes, logged, shown } = await open({ p: { fields, activate } });
    await change("p", { config: { password: "open sesame" } });
    expect(got).toEqual([
      { host: "here", password: null },
      { host: "here", password: "open sesame" },
    ]);
    host.deliver("p", [itemOf(1)]);
    await clock.advance(0);
    await clock.advance(20);
    expect(outcomes).toMatchObject([{ deliveryId: 1, level: "failed", details: { reason: "refused [redacted]" } }]);
    expect(shown("p")).toEqual({
      config: {},
      status: { state: "running", health: "degraded", reason: "[redacted] is weak" },
    });
    const kept = store.all("SELECT * FROM extensions, audit");
    expect(JSON.stringify(kept)).toContain("v1:");
    expect(JSON.stringify(kept)).not.toContain("sesame");
    expect(JSON.stringify(store.all("SELECT before, after FROM audit"))).not.toContain("v1:");
    expect(logged()).toContain("I know [redacted]");
    expect(logged()).not.toContain("sesame");
  });

  it("restarts the plugin that it belongs to, alone, and only when something changed for it", async () => {
    const { change, starts } = await open({ p: { fields }, q: {} });
    await change("p", { config: { host: "there" } });
    expect(starts).toEqual({ p: 2, q: 1 });
    await change("p", { config: { host: "there" } });
    await change("p", { name: "Another name" });
    expect(starts).toEqual({ p: 2, q: 1 });
  });

  it("keeps what is outstanding while its plugin is restarted for it", async () => {
    const got: [number, string | undefined][] = [];
    const activate = (ctx: PluginContext): void =>
      ctx.deliver((batch) => {
        for (const { deliveryId, reached } of batch) {
          got.push([deliveryId, reached]);
          ctx.outcome(deliveryId, "accepted");
        }
      });
    const { host, store, clock, changes, outcomes, starts } = await open({ p: { fields, activate } });
    const audio = { group: "239.1.2.3", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 1 } as const;
    host.deliver("p", [itemOf(1, { audio })]);
    await clock.advance(0);
    await clock.advance(20);
    const states: string[] = [];
    const stopWatching = opened?.events.on("plugin.changed", ({ state }) => {
      states.push(`${state} ${host.state("p")}`);
      if (state === "restarting") host.deliver("p", [itemOf(2, { audio })]);
    });
    await store.update(extensions, extensionIdOf("p"), { config: { host: "there" } }, somebody);
    await clock.advance(20);
    await clock.advance(20);
    stopWatching?.();
    expect(starts.p).toBe(2);
    expect(states).toEqual(["restarting restarting", "running running"]);
    expect(changes[1]?.reason).toBe("its configuration was changed");
    expect(got).toEqual([
      [1, undefined],
      [1, "accepted"],
      [2, undefined],
    ]);
    expect(outcomes.every(({ level }) => level === "accepted")).toBe(true);
  });

  it("that lacks something required keeps the plugin from running until it is given", async () => {
    const { host, change, shown } = await open({ p: { fields: { host: text("Host.", { required: true }) } } });
    expect(host.state("p")).toBe("disabled");
    expect(shown("p")?.status).toMatchObject({ state: "disabled", reason: "Field config.host is required." });
    await change("p", { config: { host: "here" } });
    expect(host.state("p")).toBe("running");
  });

  it("switches a plugin off and on", async () => {
    const { host, change, clock, outcomes, changes } = await open({ p: { activate: taking } });
    await change("p", { disabled: true });
    expect(host.state("p")).toBe("disabled");
    host.deliver("p", [itemOf(1)]);
    expect(outcomes).toMatchObject([
      { deliveryId: 1, level: "failed", details: { reason: "p does not run: it is switched off" } },
    ]);
    await change("p", { disabled: false });
    host.deliver("p", [itemOf(2)]);
    await clock.advance(0);
    await clock.advance(20);
    expect(outcomes.at(-1)).toMatchObject({ deliveryId: 2, level: "accepted" });
    expect(changes.map(({ state }) => state)).toEqual(["running", "disabled", "restarting", "running"]);
    await change("p", { globalDisabled: true });
    expect(host.state("p")).toBe("disabled");
  });
});

describe("deliveries", () => {
  it("to a plugin that is not installed fail in words", async () => {
    const { host, outcomes } = await open({});
    host.deliver("none", [itemOf(1)]);
    expect(outcomes).toMatchObject([
      { provider: "none", level: "failed", details: { reason: "none is not installed" } },
    ]);
    expect(host.window("none")).toBe(0);
  });

  it("that a run did not survive are handed to the next one, stops as well", async () => {
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

  it("get only outcomes that make sense", async () => {
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

  it("is off after 5 failures, which the appliance writes down, and lets others go on", async () => {
    const { host, store, clock, changes, shown, starts, endpointId } = await open({
      p: broken,
      q: { activate: taking },
    });
    expect(host.state("p")).toBe("restarting");
    await clock.advance(15_000);
    expect(starts).toEqual({ p: 5, q: 1 });
    expect(host.state("p")).toBe("disabled");
    expect(host.state("q")).toBe("running");
    expect(changes.at(-1)).toEqual({ plugin: "p", state: "stopped", reason: "it threw: broken" });
    expect(shown("p")?.status).toEqual({ state: "stopped", health: "down", reason: "it threw: broken" });
    expect(store.find(endpointActivities, { endpointId })).toMatchObject([
      {
        type: "log-message",
        state: "fail",
        severity: "error",
        value: {
          extensionId: extensionIdOf("p"),
          plugin: "p",
          failureCode: "broadcast-failed",
          reason: "it threw: broken",
        },
      },
    ]);
  });

  it("fails what it is given, and writes its failure code on each notification once", async () => {
    const { host, store, clock, outcomes } = await open({ p: broken });
    const { id: notificationId } = await store.create(notifications, { subject: "Test" }, somebody);
    host.deliver("p", [itemOf(1, { notificationId })]);
    expect(outcomes).toEqual([]);
    await clock.advance(15_000);
    host.deliver("p", [itemOf(2, { notificationId })]);
    await clock.advance(0);
    expect(outcomes.map(({ deliveryId, level, details }) => [deliveryId, level, details.reason])).toEqual([
      [1, "failed", "p does not run: it threw: broken"],
      [2, "failed", "p does not run: it threw: broken"],
    ]);
    expect(store.find(notificationActivities, { notificationId })).toMatchObject([{ type: "broadcast-failed" }]);
  });

  it("is tried again when somebody writes its switch, even with the value it had", async () => {
    const { clock, change, starts, store } = await open({ p: broken });
    await clock.advance(15_000);
    await change("p", { disabled: false });
    expect(starts.p).toBe(6);
    await store.update(extensions, extensionIdOf("p"), { name: "p" }, somebody);
    await clock.advance(60_000);
    expect(starts.p).toBe(10);
  });
});

describe("a plugin's calls", () => {
  it("open streams and confirm, with checked arguments", async () => {
    const calls: unknown[][] = [];
    const { plugin, ctx } = remote();
    const id = itemOf(1).notificationId;
    await open(
      { p: plugin },
      {
        openStream: async (...args) => void calls.push(args),
        confirm: async (...args) => void calls.push(args),
      },
    );
    const target = { group: "239.1.2.3", port: 20_480, codec: "PCMU", ttl: 8 } as const;
    await ctx().stream.open(target, id);
    await ctx().confirm(id, "Safe");
    expect(calls).toEqual([
      ["p", target, id],
      ["p", id, "Safe"],
    ]);
    for (const wrong of [{ group: "here" }, { port: 0 }, { ttl: 256 }, { codec: "G722" }])
      await expect(ctx().stream.open({ ...target, ...(wrong as object) }, id)).rejects.toThrow("stream.open");
    await expect(ctx().stream.open(target, "1")).rejects.toThrow("named by its id");
    await expect(ctx().confirm(id, 1 as never)).rejects.toThrow("the option is a text");
    expect(calls).toHaveLength(2);
  });

  it("are refused with the words of what went wrong", async () => {
    const { plugin, ctx } = remote();
    await open({ p: plugin }, { confirm: async () => Promise.reject(new RangeError("no such recipient")) });
    await expect(ctx().confirm(itemOf(1).notificationId, "Safe")).rejects.toThrow("no such recipient");
  });

  it("keep small values over a restart, sealed, each plugin its own", async () => {
    const dataDir = makeTempDir();
    const [p, q] = [remote(), remote()];
    const first = await open({ p: p.plugin, q: q.plugin }, { dataDir });
    expect(await p.ctx().state.get("seen")).toBeUndefined();
    await p.ctx().state.set("seen", { at: [1, "sesame"] });
    expect(await q.ctx().state.get("seen")).toBeUndefined();
    expect(JSON.stringify(first.store.all("SELECT * FROM plugin_state"))).not.toContain("sesame");
    await first.close();
    await open({ p: p.plugin }, { dataDir });
    expect(await p.ctx().state.get("seen")).toEqual({ at: [1, "sesame"] });
    await p.ctx().state.set("seen", undefined);
    expect(await p.ctx().state.get("seen")).toBeUndefined();
    await expect(p.ctx().state.set("big", "x".repeat(65_536))).rejects.toThrow("at most 65536 bytes");
    await expect(p.ctx().state.get("")).rejects.toThrow("1 to 255 characters");
  });

  it("report devices: made at first, changed afterwards, own ones only", async () => {
    const claims = (identifier: string) => ({ claims: [{ type: "speakers" as const, identifier }] });
    const [p, q] = [remote(), remote()];
    const { store } = await open({
      p: { ...p.plugin, manifest: claims("^zone:") },
      q: { ...q.plugin, manifest: claims("^horn:") },
    });
    const gym = { deviceIdentifier: "zone:Gym", type: "speakers", description: "Gym" } as const;
    await p.ctx().devices.report([{ ...gym, attributes: { Group: "239.1.2.3", TTL: "8" } }]);
    await p.ctx().devices.report([{ ...gym, description: "Gym hall", attributes: { TTL: "16" } }]);
    expect(store.find(devices, {})).toMatchObject([
      {
        deviceIdentifier: "zone:Gym",
        description: "Gym hall",
        provider: "p",
        extensionId: ONPREM_EXTENSION_ID,
        attributes: { Group: "239.1.2.3", TTL: "16" },
      },
    ]);
    const horn = { ...gym, deviceIdentifier: "horn:1", attributes: {} };
    await expect(p.ctx().devices.report([{ ...gym, attributes: {} }, horn])).rejects.toThrow("not claimed by p");
    await expect(q.ctx().devices.report([{ ...gym, attributes: {} }])).rejects.toThrow("not claimed by q");
    await expect(p.ctx().devices.report([{}] as never)).rejects.toThrow("each has deviceIdentifier");
    expect(store.count(devices, {})).toBe(1);
  });

  it("trigger once a day per key, stored before they return, and again after a restart until taken up", async () => {
    const dataDir = makeTempDir();
    const { plugin, ctx } = remote();
    const taken: [string, TriggerInput][] = [];
    let rows: unknown[] = [];
    const input = { source: "Button 1", dedupeKey: "press-1", values: { floor: 2 } };
    const first = await open(
      { p: plugin },
      {
        dataDir,
        async trigger(...args) {
          rows = first.store.all("SELECT source FROM plugin_triggers");
          taken.push(args);
          throw new RangeError("nobody is there");
        },
      },
    );
    await ctx().trigger(input);
    await ctx().trigger({ ...input, values: {} });
    expect(taken).toEqual([["p", input]]);
    expect(rows).toEqual([{ source: "Button 1" }]);
    await expect(ctx().trigger({ ...input, dedupeKey: "" })).rejects.toThrow("source and dedupeKey");
    await first.close();

    const again = await open({ p: plugin }, { dataDir, trigger: async (...args) => void taken.push(args) });
    expect(taken).toEqual([
      ["p", input],
      ["p", input],
    ]);
    await again.clock.advance(0);
    await again.close();
    const later = await open({ p: plugin }, { dataDir, trigger: async (...args) => void taken.push(args) });
    expect(taken).toHaveLength(2);
    await later.clock.advance(86_400_001);
    await ctx().trigger(input);
    expect(taken).toHaveLength(3);
  });
});

describe("what a plugin follows", () => {
  it("are rows that its manifest grants, and the core's events", async () => {
    const seen: unknown[] = [];
    const activate = (ctx: PluginContext): void => {
      ctx.resources.watch("extensions", (change) => void seen.push(change));
      ctx.onEvent("notification.settled", (payload) => void seen.push(payload));
      expect(() => ctx.resources.watch("users", () => {})).toThrow("does not grant");
    };
    const { store, events, clock } = await open({ p: { manifest: { watches: ["extensions"] }, activate }, q: {} });
    const row = await store.create(extensions, { name: "Elsewhere" }, somebody);
    events.emit("notification.settled", { notificationId: "n" });
    events.emit("notification.accepted", { notificationId: "n", priority: 5 });
    await clock.advance(0);
    expect(seen).toEqual([{ id: row.id, op: "create" }, { notificationId: "n" }]);
  });
});

describe("a plugin's requests", () => {
  const request = (url: string) => ({ method: "GET", url, headers: {}, body: new Uint8Array(), remoteAddress: "" });

  it("are answered by the longest route that fits", async () => {
    const activate = (ctx: PluginContext): void => {
      ctx.route("a", ({ url }) => ({ status: 200, body: `a ${url}` }));
      ctx.route("/a/b/", () => ({ status: 201 }));
      ctx.route("broken", () => {
        throw new RangeError("broken");
      });
      ctx.route("slow", () => new Promise(() => {}));
    };
    const { host, clock } = await open({ p: { activate } });
    const status = async (url: string) => (await host.route("p", request(url)))?.status;
    expect(await host.route("p", request("/a/c?d=1"))).toEqual({ status: 200, body: "a /a/c?d=1" });
    expect(await Promise.all(["/a/b", "/a/b/c", "/ab", "/", "/broken"].map(status))).toEqual([201, 201, 404, 404, 500]);
    expect((await host.route("p", { ...request("/a"), body: new Uint8Array(65_537) }))?.status).toBe(413);
    const slow = status("/slow");
    await clock.advance(0);
    await clock.advance(11_000);
    expect(await slow).toBe(504);
    expect(await host.route("none", request("/a"))).toBeNull();
  });

  it("end when the plugin does", async () => {
    let ctx: PluginContext | null = null;
    const activate = (given: PluginContext): void => {
      ctx = given;
      given.route("slow", () => new Promise(() => {}));
    };
    const { host, clock } = await open({ p: { activate } });
    const slow = host.route("p", request("/slow"));
    await clock.advance(0);
    (ctx as PluginContext | null)?.clock.after(10, () => {
      throw new RangeError("later");
    });
    await clock.advance(10);
    expect((await slow)?.status).toBe(503);
    expect(await host.route("p", request("/slow"))).toBeNull();
  });

  it("arrive at own ports, whose URLs stay the same when the plugin is started again", async () => {
    const activate = async (ctx: PluginContext): Promise<void> => {
      await ctx.listen("auth", () => ({ status: 200, headers: { "X-Plugin": "p" }, body: "yes" }));
      await expect(ctx.listen("other", () => ({ status: 200 }))).rejects.toThrow("does not name the port");
    };
    const { host, change } = await open({
      p: { manifest: { listens: ["auth"] }, fields: { a: text("A.") }, activate },
    });
    const urls = host.urls();
    const url = urls["p/auth"] as string;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth$/);
    expect((await fetch(url)).headers.get("x-plugin")).toBe("p");
    await change("p", { disabled: true });
    expect(host.urls()).toEqual({});
    const back = new Promise<void>((resolve) => {
      opened?.events.on("plugin.changed", ({ state }) => state === "running" && resolve());
    });
    await change("p", { disabled: false });
    await back;
    expect(host.urls()).toEqual(urls);
    expect(await (await fetch(url)).text()).toBe("yes");
  });
});

import { describe, expect, it } from "vitest";
import { type PluginContext, secret, text } from "../../../src/plugin-api/index.ts";
import { extensionIdOf } from "../../../src/plugin-host/extension-rows.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { anyActor, itemOf } from "../../plugins/test-appliance.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { open, taking } from "./host-fixture.ts";

describe("extension rows", () => {
  it("creates one row per plugin from its manifest", async () => {
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

  it("updates the type from a new manifest and keeps user changes", async () => {
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

  it("refuses to delete rows of plugins and appliances", async () => {
    const { store } = await open({ p: {} });
    await expect(store.remove(extensions, extensionIdOf("p"), anyActor)).rejects.toThrow("Disable it instead");
    await expect(store.remove(extensions, ONPREM_EXTENSION_ID, anyActor)).rejects.toThrow("represents the appliances");
    const other = await store.create(extensions, { name: "Elsewhere" }, anyActor);
    await store.remove(extensions, other.id, anyActor);
  });
});

describe("configuration", () => {
  const fields = { host: text("Host.", { default: "here" }), password: secret("Password.") };

  it("that arrives from the cloud neither wipes the passwords nor sends them to another host", async () => {
    const bound = { ...fields, password: secret("Password.", { boundTo: ["host"] }), note: text("Note.") };
    const { store, change } = await open({ p: { fields: bound } });
    const id = extensionIdOf("p");
    await change("p", { config: { host: "mail.example", password: "open sesame" } });
    const stored = () => store.get(extensions, id)?.config as Record<string, unknown>;
    const { password } = stored();
    const arrive = (config: object) =>
      store.write((tx) => {
        const { pk: _pk, ...row } = store.get(extensions, id) ?? { pk: 0 };
        tx.apply(extensions, id, { ...row, config }, { ...anyActor, replicated: true });
      });
    await arrive({ host: "mail.example", note: "from the cloud" });
    expect(stored()).toEqual({ host: "mail.example", note: "from the cloud", password });
    await arrive({ host: "evil.example", password: "v1:x" });
    expect(stored()).toEqual({ host: "evil.example" });
    // Nor does it come back with the old host.
    await arrive({ host: "mail.example" });
    expect(stored()).toEqual({ host: "mail.example" });
  });

  it("validates by the plugin's fields and writes nothing invalid", async () => {
    const { store, change, starts } = await open({ p: { fields } });
    await expect(change("p", { config: { host: 1 } })).rejects.toMatchObject({
      type: "invalid-value",
      faults: [{ field: "config.host" }],
    });
    expect(store.get(extensions, extensionIdOf("p"))?.config).toEqual({});
    expect(starts.p).toBe(1);
  });

  it("calls a plugin not set up only while it has no configuration", async () => {
    const activate = (ctx: PluginContext): void => ctx.status("unconfigured", "host must be set");
    const { change, shown } = await open({ p: { fields, activate } });
    const status = { state: "running", reason: "host must be set" };
    expect(shown("p")).toMatchObject({ status: { ...status, health: "unconfigured" } });
    await change("p", { config: { password: "open sesame" } });
    expect(shown("p")).toMatchObject({ status: { ...status, health: "degraded" } });
  });

  it("keeps secrets encrypted at rest and out of responses, audit and log", async () => {
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
      ...{ configExports: ["host"], triggers: [], installation: null, featureRequired: null, requiresOptIn: false },
      config: {},
      status: {
        ...{ state: "running", health: "degraded", reason: "[redacted] is weak", reasonSentence: null },
        ...{ failures: 0, nextTryAt: null },
      },
    });
    const kept = store.all("SELECT * FROM extensions, audit_entries");
    expect(JSON.stringify(kept)).toContain("v1:");
    expect(JSON.stringify(kept)).not.toContain("sesame");
    expect(JSON.stringify(store.all("SELECT before, after FROM audit_entries"))).not.toContain("v1:");
    expect(logged()).toContain("I know [redacted]");
    expect(logged()).not.toContain("sesame");
    const tail = JSON.stringify(host.readLog(extensionIdOf("p"), 500, 0));
    expect(tail).toContain("I know [redacted]");
    expect(tail).not.toContain("sesame");
  });

  it("restarts only its own plugin, and only on a change", async () => {
    const { change, starts } = await open({ p: { fields }, q: {} });
    await change("p", { config: { host: "there" } });
    expect(starts).toEqual({ p: 2, q: 1 });
    await change("p", { config: { host: "there" } });
    await change("p", { name: "Another name" });
    expect(starts).toEqual({ p: 2, q: 1 });
  });

  it("keeps outstanding deliveries across the restart", async () => {
    const got: [number, string | undefined][] = [];
    const activate = (ctx: PluginContext): void =>
      ctx.deliver((batch) => {
        for (const { deliveryId, reached } of batch) {
          got.push([deliveryId, reached]);
          ctx.outcome(deliveryId, "accepted");
        }
      });
    const { host, store, clock, events, changes, outcomes, starts } = await open({ p: { fields, activate } });
    const audio = { group: "239.1.2.3", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 1 } as const;
    host.deliver("p", [itemOf(1, { audio })]);
    await clock.advance(0);
    await clock.advance(20);
    const states: string[] = [];
    const stopWatching = events.on("plugin.changed", ({ state }) => {
      states.push(`${state} ${host.state("p")}`);
      if (state === "restarting") host.deliver("p", [itemOf(2, { audio })]);
    });
    await store.update(extensions, extensionIdOf("p"), { config: { host: "there" } }, anyActor);
    await clock.advance(20);
    await clock.advance(20);
    stopWatching();
    expect(starts.p).toBe(2);
    expect(states).toEqual(["restarting restarting", "running running"]);
    expect(changes[1]?.reason).toBe("configuration changed");
    expect(got).toEqual([
      [1, undefined],
      [1, "accepted"],
      [2, undefined],
    ]);
    expect(outcomes.every(({ level }) => level === "accepted")).toBe(true);
  });

  it("keeps the plugin from running until required values are set", async () => {
    const { host, change, shown } = await open({ p: { fields: { host: text("Host.", { required: true }) } } });
    expect(host.state("p")).toBe("disabled");
    expect(shown("p")?.status).toMatchObject({ state: "disabled", reason: "Field config.host is required." });
    await change("p", { config: { host: "here" } });
    expect(host.state("p")).toBe("running");
  });

  it("disables and enables a plugin", async () => {
    const { host, change, clock, outcomes, changes } = await open({ p: { activate: taking } });
    await change("p", { disabled: true });
    expect(host.state("p")).toBe("disabled");
    host.deliver("p", [itemOf(1)]);
    expect(outcomes).toMatchObject([
      { deliveryId: 1, level: "failed", details: { reason: "p is not running: disabled" } },
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

import { describe, expect, it } from "vitest";
import callmgrClusters from "../../../src/resources/callmgr/callmgr-clusters.ts";
import devices from "../../../src/resources/devices/devices.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { anyActor, itemOf } from "../../plugins/test-appliance.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { open, remote } from "./host-fixture.ts";

describe("a plugin's calls", () => {
  it("open streams and confirm, with validated arguments", async () => {
    const calls: unknown[][] = [];
    const { plugin, ctx } = remote();
    const id = itemOf(1).notificationId;
    await open(
      { p: plugin },
      {
        openStream: async (...args) => void calls.push(args),
        confirm: async (...args) => {
          calls.push(args);
          return "Well done";
        },
      },
    );
    const secrecy = { suite: "AES_CM_128_HMAC_SHA1_80", key: "A".repeat(40) } as const;
    const target = { group: "239.1.2.3", port: 20_480, codec: "PCMU", ttl: 8, secrecy } as const;
    await ctx().stream.open(target, id);
    expect(await ctx().confirm(id, "Safe")).toBe("Well done");
    expect(calls).toEqual([
      ["p", target, id],
      ["p", id, "Safe"],
    ]);
    for (const wrong of [
      { group: "here" },
      { port: 0 },
      { ttl: 256 },
      { codec: "opus" },
      { secrecy: { ...secrecy, key: "A" } },
    ])
      await expect(ctx().stream.open({ ...target, ...(wrong as object) }, id)).rejects.toThrow("stream: ");
    // A device could name it in its SDP.
    for (const group of ["169.254.169.254", "169.254.1.1", "255.255.255.255", "0.0.0.0"])
      await expect(ctx().stream.open({ ...target, group }, id)).rejects.toThrow("is not in network.allowedTargets");
    await expect(ctx().stream.open(target, "1")).rejects.toThrow("given by its UUID");
    await expect(ctx().confirm(id, 1 as never)).rejects.toThrow("option must be a string");
    expect(calls).toHaveLength(2);
  });

  it("are refused with a reason", async () => {
    const { plugin, ctx } = remote();
    await open({ p: plugin }, { confirm: async () => Promise.reject(new RangeError("no such recipient")) });
    await expect(ctx().confirm(itemOf(1).notificationId, "Safe")).rejects.toThrow("no such recipient");
  });

  it("store encrypted values per plugin across restarts", async () => {
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
    await expect(p.ctx().state.set("big", "x".repeat(65_536))).rejects.toThrow("must not exceed 65536 bytes");
    await expect(p.ctx().state.get("")).rejects.toThrow("1 to 255 characters");
  });

  it("list granted rows without secrets", async () => {
    const [p, q] = [remote(), remote()];
    const { store } = await open({
      p: { ...p.plugin, manifest: { watches: ["callmgr-clusters", "devices"] } },
      q: q.plugin,
    });
    const access = { axlAddress: "publisher.example.org", axlUser: "axl", axlPassword: "hunter2", snmpVersion: "2" };
    await store.create(callmgrClusters, { name: "Campus", ...access, snmpCommunity: "community-1" }, anyActor);
    const rows = await p.ctx().resources.list("callmgr-clusters");
    expect(rows).toMatchObject([{ name: "Campus", axlUser: "axl", nextAuthenticationUrl: null }]);
    expect(JSON.stringify(rows)).not.toMatch(/hunter2|community|axlPassword|snmpCommunity/);
    await expect(p.ctx().resources.list("devices")).rejects.toThrow("does not grant devices");
    await expect(q.ctx().resources.list("callmgr-clusters")).rejects.toThrow("does not grant callmgr-clusters");
  });

  it("create and update own devices only", async () => {
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
    await expect(p.ctx().devices.report([{}] as never)).rejects.toThrow("each device must have deviceIdentifier");
    expect(store.count(devices, {})).toBe(1);
  });

  it("pass triggers on unchanged, and report a refusal", async () => {
    const taken: unknown[][] = [];
    const { plugin, ctx } = remote();
    const input = { source: "Button 1", dedupeKey: "press-1", values: { floor: 2 } };
    await open(
      { p: plugin },
      {
        async trigger(...args) {
          if (taken.push(args) > 1) throw new RangeError("the disk is full");
        },
      },
    );
    await ctx().trigger(input);
    expect(taken).toEqual([["p", input]]);
    await expect(ctx().trigger(input)).rejects.toThrow("the disk is full");
  });
});

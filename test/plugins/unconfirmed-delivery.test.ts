import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { DeliveryItem, PluginManifest } from "../../src/plugin-api/index.ts";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import { builtInPluginFolder } from "../../src/plugin-host/installed-plugins.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import type { MutePeer, OpenMutePeer, PeerDeps } from "./peer.ts";
import { anyActor, itemOf, openAppliance } from "./test-appliance.ts";

const PLUGINS = new URL("../../plugins/", import.meta.url);
/** Those that are the provider of devices or serve devices of people: the others are given nothing to deliver. */
const names = readdirSync(PLUGINS).filter((name) => {
  const manifest = JSON.parse(readFileSync(new URL(`${name}/plugin.json`, PLUGINS), "utf8")) as PluginManifest;
  return manifest.claims.length > 0 || manifest.deviceType !== undefined;
});
const AUDIO = { group: "239.255.77.1", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 77 } as const;
/** Levels that nobody may claim of a peer whose taking proves `proves`. */
const UNPROVEN = { sent: ["accepted", "playing", "heard", "confirmed"], accepted: ["playing", "heard", "confirmed"] };

const ANSWER_MS = 1_000;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe.each(names)("%s opposite a device that takes everything and stays mute", (name) => {
  it("reports what the device proved, and never more", async () => {
    const appliance = await openAppliance(makeTempDir(), builtInPluginFolder());
    const { host, store, outcomes, until } = appliance;
    closing.push(appliance.close);
    const peer = await openPeer(name, {
      urls: () => host.urls(),
      route: (request) => host.handleRequest(name, request),
    });
    closing.push(() => peer.close());
    await host.start();
    await store.update(extensions, extensionIdOf(name), { config: peer.config, disabled: false }, anyActor);
    await until(() => host.state(name) === "running");

    await peer.ready?.();
    host.deliver(name, [itemOf(1, { device: peer.device, audio: AUDIO, notAfter: Date.now() + 60_000 })]);
    await until(() => outcomes.find(({ level }) => level !== "sent" || peer.proves === "sent"));
    await peer.asked();
    await host.stop(name, { deliveryIds: [1], reason: "ended" });
    await host.stop();

    const levels = outcomes.map(({ level }) => level);
    expect(levels, JSON.stringify(outcomes)).toContain(peer.proves);
    for (const level of UNPROVEN[peer.proves]) expect(levels).not.toContain(level);
  });

  it.each([
    ["what it cannot present", { audio: null }],
    ["a retry after the audio", { audio: null, attempt: 2 }],
    ["a device that is gone", { audio: AUDIO, isGone: true }],
  ])(
    "never calls skipped on purpose: %s",
    async (_title, { isGone, ...item }: Partial<DeliveryItem> & { isGone?: boolean }) => {
      const appliance = await openAppliance(makeTempDir(), builtInPluginFolder());
      const { host, store, outcomes, until } = appliance;
      closing.push(appliance.close);
      const peer = await openPeer(name, {
        urls: () => host.urls(),
        route: (request) => host.handleRequest(name, request),
      });
      let isOpen = true;
      const close = async (): Promise<void> => {
        if (isOpen) await peer.close();
        isOpen = false;
      };
      closing.push(close);
      await host.start();
      await store.update(extensions, extensionIdOf(name), { config: peer.config, disabled: false }, anyActor);
      await until(() => host.state(name) === "running");
      await peer.ready?.();
      if (isGone) await close();
      host.deliver(name, [itemOf(1, { device: peer.device, notAfter: Date.now() + 60_000, ...item })]);
      const answered = until(() => outcomes.length > 0);
      // A channel that still waits for its device gives the message back when it expires.
      await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, ANSWER_MS))]);
      await host.stop(name, { deliveryIds: [1], reason: "expired" });
      await host.stop();
      expect(outcomes.map(({ level }) => level)).not.toContain("skipped");
      if (item.audio === null && !outcomes.some(({ level }) => level === "accepted" || level === "sent"))
        expect(outcomes.at(-1)?.details.reason).toMatch(/\w+ \w+/);
    },
  );
});

async function openPeer(name: string, needs: PeerDeps): Promise<MutePeer> {
  const file = new URL(`./peers/${name}.ts`, import.meta.url);
  expect(existsSync(file), `test/plugins/peers/${name}.ts must stand opposite the plugin`).toBe(true);
  const { default: open } = (await import(file.href)) as { default: OpenMutePeer };
  return open(needs);
}

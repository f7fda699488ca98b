import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createApiClient } from "../../../src/api-client/api-client.ts";
import { runCarillon, runInit, spawnDaemon } from "../../support/carillon-process.ts";
import { openCuttableProxy } from "../../support/cuttable-proxy.ts";
import { unusedPort } from "../../support/free-port.ts";
import { listenToSounds, type SoundListener } from "../../support/sound-listener.ts";

/** A cloud and an appliance as processes of their own, with a line between them that can be cut. */
export interface LinkedBenchmarkPair {
  /**
   * Cuts the line, renames all rows and lets it return: from the first byte until the appliance shows the last row; ms.
   */
  catchUp(name: string): Promise<number>;
  /** Resolves once the line has returned, after `catchUp` has cut it. */
  linked(): Promise<void>;
  /** Sends an emergency in the cloud to a zone of the appliance; from the request to the first packet, ms. */
  sound(): Promise<number>;
  end(): Promise<void>;
}

const AT_ONCE = 32;
const LOOK_MS = 10;
/** A zone is free again after the longest of its sounds, and what tells the next from it. */
const ZONES = 16;
const EVERY_MS = 200;
const HEARD_MS = 30_000;

/** Starts them with `count` message templates of this text. */
export async function openLinkedBenchmarkPair(count: number, text: string): Promise<LinkedBenchmarkPair> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const [hubDir, siteDir] = [join(folder, "hub"), join(folder, "site")];
  const [hubFirst, siteFirst] = [await runInit(hubDir), await runInit(siteDir)];
  const config = join(folder, "carillon.yaml");
  writeFileSync(config, "network: {multicastInterface: 127.0.0.1}\nlog: {level: warn}\n");
  const more = ["--config", config, "--listen"];
  const hub = await spawnDaemon(["hub", "--data", hubDir, ...more, "127.0.0.1:0"]);
  const port = await unusedPort();
  const site = await spawnDaemon(["serve", "--data", siteDir, ...more, `127.0.0.1:${port}`]);
  const line = await openCuttableProxy(hub.url);
  const [there, here] = [createApiClient(hub.url, hubFirst.token), createApiClient(site.url, siteFirst.token)];
  const { stdout } = await runCarillon(["link", "code", "--data", hubDir, "--json"]);
  const { code } = JSON.parse(stdout) as { code: string };
  await runCarillon(["link", "enrol", "--data", siteDir, "--hub", line.url, "--code", code, "--mode", "adopt"]);
  const devices = `/extensions/${siteFirst.extensionId}/endpoints/${siteFirst.endpointId}/devices`;
  const ids: string[] = [];
  await inParallel(count, async (place) => {
    const made = { name: `Row ${place}`, subject: "Drill", body: text };
    ids[place] = (await there.post<{ id: string }>("/message-templates", made)).id;
  });
  const zones: { id: string; ear: SoundListener }[] = [];
  for (let place = 0; place < ZONES; place++) {
    const zone = { group: `239.242.1.${place + 1}`, port: 20_480 };
    const attributes = { Group: zone.group, Port: String(zone.port), Codec: "PCMU", TTL: "1" };
    const made = { type: "speakers", deviceIdentifier: `zone:hall ${place}`, description: `Hall ${place}`, attributes };
    zones.push({ id: (await here.post<{ id: string }>(devices, made)).id, ear: await listenToSounds(zone) });
  }
  const last = ids.at(-1) as string;
  const has = async (name: string): Promise<boolean> => {
    const found = await here.get<{ name?: string }>(`/message-templates/${last}`).catch(() => null);
    return found?.name === name;
  };
  while (!(await has(`Row ${count - 1}`))) await pause(LOOK_MS);
  while (!(await there.get(`${devices}/${zones.at(-1)?.id}`).catch(() => null))) await pause(LOOK_MS);
  let returned: Promise<unknown> = Promise.resolve();
  let sounds = 0;
  return {
    async catchUp(name) {
      line.cut();
      let back = (): void => undefined;
      returned = new Promise<void>((done) => {
        back = done;
      });
      await inParallel(count, (place) => there.put(`/message-templates/${ids[place]}`, { name: `${name} ${place}` }));
      const began = await line.heal();
      back();
      while (!(await has(`${name} ${count - 1}`))) await pause(LOOK_MS);
      return performance.now() - began;
    },
    linked: async () => void (await returned),
    async sound() {
      const { id, ear } = zones[sounds++ % ZONES] as (typeof zones)[0];
      const before = ear.heard().length;
      const began = Date.now();
      const message = { subject: "Evacuate", alertTone: "chime", priority: "critical", additionalDeviceIds: [id] };
      await there.post("/notifications", message);
      while (ear.heard().length === before) {
        if (Date.now() - began > HEARD_MS) throw new Error("an emergency was not heard");
        await pause(1);
      }
      const ms = (ear.heard().at(-1)?.at ?? Number.POSITIVE_INFINITY) - began;
      await pause(EVERY_MS);
      return ms;
    },
    async end() {
      await Promise.all([hub.end("SIGKILL"), site.end("SIGKILL")]);
      for (const { ear } of zones) ear.close();
      line.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function inParallel(count: number, work: (place: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < count; place = next++) await work(place);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

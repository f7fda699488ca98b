import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect } from "vitest";
import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import { BASELINE_TONE, baselineRecording, expectBaselineBroadcast } from "../support/baseline-broadcast.ts";
import {
  type InitOutput,
  LOOPBACK_SETTINGS,
  type RunningDaemon,
  runInit,
  serveAppliance,
} from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { decodeWithFfmpeg, listenWithFfmpeg } from "../support/ffmpeg-listener.ts";
import { makeTempDir } from "../support/temp-dir.ts";

interface Delivery {
  deviceIdentifier: string;
  level: string;
  late: boolean;
  endedAt: string | null;
}

const ffmpeg = externalProgram("ffmpeg");
const ZONE = { group: `239.240.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`, port: 20_480 };

ffmpeg.describe("a broadcast that ffmpeg listens to", () => {
  let first: InitOutput;
  let daemon: RunningDaemon;

  beforeEach(async () => {
    const data = makeTempDir();
    const config = join(data, "carillon.yaml");
    writeFileSync(config, LOOPBACK_SETTINGS);
    first = await runInit(data);
    daemon = await serveAppliance(data, ["--config", config]);
  });

  afterEach(() => daemon.end("SIGTERM"));

  ffmpeg.it(
    "is the tone's pitches in order and at their level, then the recording as it was uploaded",
    async () => {
      const api = createApiClient(daemon.url, first.token);
      const groupId = await makeZone(api, first);
      const recording = baselineRecording();
      const listener = await listenWithFfmpeg(ZONE);
      const { id } = await send(api, groupId, recording);
      const programme = await decodeWithFfmpeg(await api.download(`/notifications/${id}/audio?form=programme`));
      await listener.waitForAudio(programme.length / 8);
      const ledger = await endedLedger(api, id);
      const heard = await listener.stop();

      expect(heard).toHaveLength(programme.length);
      await expectBaselineBroadcast(heard, recording);
      expect(ledger).toMatchObject([{ deviceIdentifier: "zone:Hall", level: "sent", late: false }]);
    },
    180_000,
  );
});

/** Registers the zone and gives the id of a group that has it alone. */
async function makeZone(api: ApiClient, { extensionId, endpointId }: InitOutput): Promise<string> {
  const { icopId } = await api.post<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    type: "speakers",
    deviceIdentifier: "zone:Hall",
    description: "Hall",
    attributes: { Group: ZONE.group, Port: String(ZONE.port), Codec: "PCMU", TTL: "1" },
  });
  const group = { name: "Hall", filterType: "REJECT", additionIds: [icopId] };
  return (await api.post<{ id: string }>("/device-groups", group)).id;
}

/** As a console sends it: one multipart request with the tone's name and the recording's file. */
function send(api: ApiClient, groupId: string, recording: Buffer): Promise<{ id: string }> {
  const form = new FormData();
  form.set("subject", "Sounds that are known");
  form.set("alertTone", BASELINE_TONE);
  form.append("deviceGroupIds[]", groupId);
  form.set("audio", new Blob([new Uint8Array(recording)], { type: "audio/wav" }), "known.wav");
  return api.post("/notifications", form);
}

/** The ledger once every row has ended. */
async function endedLedger(api: ApiClient, id: string): Promise<Delivery[]> {
  for (;;) {
    const rows = await listAll<Delivery>(api, `/notifications/${id}/devices`);
    if (rows.length > 0 && rows.every(({ endedAt }) => endedAt !== null)) return rows;
    await pause(50);
  }
}

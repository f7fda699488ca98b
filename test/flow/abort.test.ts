import { afterAll, beforeAll, expect, it } from "vitest";
import { createApiClient, listAll } from "../../src/cli/api-client.ts";
import { registerDevices } from "../../src/cli/register-devices.ts";
import { startTestCampus, type TestCampus } from "../support/campus.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { sampleBytes, wavFile } from "../support/wav-file.ts";

interface Delivery {
  type: string;
  level: string;
  endedAt: string | null;
}

let daemon: TestDaemon;
let campus: TestCampus;

beforeAll(async () => {
  daemon = await startTestDaemon();
  const counts = ["--phones", "6", "--mute", "1", "--zones", "2"];
  campus = await startTestCampus([...counts, "--auth-url", daemon.urls["ip-phones/auth"] as string]);
});
afterAll(async () => {
  await campus.end("SIGTERM");
  await daemon.stop();
});

it("an abort silences phones and zones at once; a mute phone was never more than accepted", async () => {
  const api = createApiClient(daemon.url, daemon.first.token);
  await registerDevices(api, campus.devices as Parameters<typeof registerDevices>[1]);
  const everything = await api.post<{ id: string }>("/device-groups", { name: "All", filterType: "ACCEPT" });
  const form = new FormData();
  form.set("subject", "A minute of humming");
  form.append("deviceGroupIds[]", everything.id);
  form.set("audio", new Blob([hum(60_000)], { type: "audio/wav" }), "hum.wav");
  const { id } = await api.post<{ id: string }>("/notifications", form);
  const ledger = (): Promise<Delivery[]> => listAll(api, `/notifications/${id}/devices`);
  await until(async () => (await ledger()).filter(({ level }) => level === "playing").length === 5);

  const abort = { type: "abort" };
  expect(await api.post(`/notifications/${id}/activities`, abort)).toMatchObject({ type: "abort" });
  await until(async () => (await ledger()).every(({ endedAt }) => endedAt !== null));
  const rows = await ledger();
  const levels = rows.map(({ type, level }) => `${type} ${level}`).sort();
  const playing = Array.from({ length: 5 }, () => "phones playing");
  expect(levels).toEqual(["phones accepted", ...playing, "speakers sent", "speakers sent"]);

  await until(async () => (await campus.report()).phones.every(({ joinedAt, leftAt }) => joinedAt === null || leftAt));
  const quiet = await campus.report();
  // A minute would be 3,000 packets; what still came would be seen within the next looks.
  for (const { packets } of quiet.zones) expect(packets).toBeLessThan(1_500);
  let looks = 0;
  await until(async () => ++looks > 8);
  expect((await campus.report()).zones.map(({ packets }) => packets)).toEqual(
    quiet.zones.map(({ packets }) => packets),
  );
  const { body } = await daemon.call("GET", `/notifications/${id}`);
  expect(body.abortedAt).toMatch(/Z$/);
});

function hum(ms: number): Uint8Array<ArrayBuffer> {
  const samples = Float32Array.from({ length: ms * 8 }, (_, i) => 0.3 * Math.sin(i / 6));
  return new Uint8Array(wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, sampleBytes(samples, 16)));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

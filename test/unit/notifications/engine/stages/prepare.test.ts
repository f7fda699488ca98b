import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderedWavOf } from "../../../../../src/notifications/compose/audio-rendering.ts";
import { partition } from "../../../../../src/notifications/engine/stages/partition.ts";
import { prepare } from "../../../../../src/notifications/engine/stages/prepare.ts";
import { resolve } from "../../../../../src/notifications/engine/stages/resolve.ts";
import { ONPREM_EXTENSION_ID } from "../../../../../src/resources/devices/on-premises-extension.ts";
import notificationActivities from "../../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../../src/resources/notifications/notifications.ts";
import { type BroadcastFixture, openBroadcasts } from "../../notification-fixture.ts";

let fixture: BroadcastFixture;
let both: string;
let onlyGym: string;

beforeAll(async () => {
  fixture = await openBroadcasts();
  for (const n of [1, 2]) await fixture.phone(`SEP00112233440${n}`);
  await fixture.zone("gym");
  both = await fixture.group("Both", ["SEP001122334401", "SEP001122334402", "zone:gym"]);
  onlyGym = await fixture.group("Gym", ["zone:gym"]);
});
afterAll(() => fixture.close());

const diary = (notificationId: string) => fixture.store.find(notificationActivities, { notificationId });

describe("prepare", () => {
  it("renders tone and recording and allocates a multicast group for phones", async () => {
    const audio = await fixture.recording(1_000);
    const input = { subject: "x", deviceGroupIds: [both], alertTone: "tone", audio };
    const sent = await fixture.run((await fixture.send(input)).id);
    // The tone lasts 1.5 s, the gap 0.5 s, the recording 1 s.
    expect(sent).toMatchObject({ programmeMs: 3_000, audioPort: 20_480 });
    expect(sent.audioGroup).toMatch(/^239\.192\.16\./);
    expect((await renderedWavOf(sent.id, fixture.needs))?.length).toBe(44 + 2 * 24_000);
    fixture.needs.addresses.release({ group: sent.audioGroup ?? "", port: sent.audioPort ?? 0 });
    await fixture.clock.advance(300_000);
  });

  it("allocates an emergency's group from its own range, and keeps it after a crash", async () => {
    const input = { subject: "x", deviceGroupIds: [both], alertTone: "tone", priority: "critical" };
    const row = await fixture.send(input);
    for (const stage of [resolve, partition, prepare, prepare]) await stage.run(row.id, fixture.needs);
    const sent = fixture.store.get(notifications, row.id);
    expect(sent).toMatchObject({ audioGroup: "239.192.17.1" });
    fixture.needs.addresses.release({ group: "239.192.17.1", port: 20_480 });
    await fixture.clock.advance(300_000);
  });

  it.each([
    ["no tone", { deviceGroupIds: "both" }],
    ["a silent one", { deviceGroupIds: "both", alertTone: "silent" }],
  ])("makes no sound of %s", async (_what, { deviceGroupIds: _g, ...more }) => {
    const sent = await fixture.run((await fixture.send({ subject: "x", deviceGroupIds: [both], ...more })).id);
    expect(sent).toMatchObject({ programmeSha: null, programmeMs: null, audioGroup: null });
    expect(await renderedWavOf(sent.id, fixture.needs)).toBeNull();
  });

  it("allocates no group without phones", async () => {
    const sent = await fixture.run(
      (await fixture.send({ subject: "x", deviceGroupIds: [onlyGym], alertTone: "bell" })).id,
    );
    expect(sent.programmeSha).not.toBeNull();
    expect(sent.audioGroup).toBeNull();
  });

  it("repeats as the device settings say", async () => {
    const extensionSettingsOverrides = { [ONPREM_EXTENSION_ID]: { repetitions: 2, repetitionPause: 1 } };
    const input = { subject: "x", deviceGroupIds: [onlyGym], alertTone: "tone", extensionSettingsOverrides };
    expect((await fixture.run((await fixture.send(input)).id)).programmeMs).toBe(4_000);
  });

  it("sends the text and logs it where no speech engine is available", async () => {
    const input = { subject: "x", deviceGroupIds: [onlyGym], ttsType: "subject" };
    const row = await fixture.run((await fixture.send(input)).id);
    expect(row.stage).toBe("deliver");
    expect(diary(row.id).filter(({ type }) => type === "info")).toMatchObject([
      {
        details: {
          severity: "error",
          message: "No speech engine is available. The message is sent without this audio.",
        },
      },
    ]);
  });

  it("falls back to the tone when the recording fails, and to no audio when everything fails", async () => {
    const audio = await fixture.recording(500);
    const input = { subject: "x", deviceGroupIds: [both], alertTone: "tone", audio };
    const { prepare: make } = fixture.needs.audio;
    const toneOnly = { ...fixture.needs, audio: { prepare: refuseWhere((spec) => spec.recording !== null, make) } };
    const tone = await fixture.send(input);
    for (const stage of [resolve, partition, prepare]) await stage.run(tone.id, toneOnly);
    expect(fixture.store.get(notifications, tone.id)).toMatchObject({ programmeMs: 1_500, stage: "queue" });
    expect((await renderedWavOf(tone.id, fixture.needs))?.length).toBe(44 + 2 * 12_000);
    expect(diary(tone.id).at(-1)).toMatchObject({ type: "info", details: { severity: "error" } });

    const silent = await fixture.send(input);
    const nothing = { ...fixture.needs, audio: { prepare: refuseWhere(() => true, make) } };
    for (const stage of [resolve, partition, prepare]) await stage.run(silent.id, nothing);
    expect(fixture.store.get(notifications, silent.id)).toMatchObject({ programmeSha: null, stage: "queue" });
    expect(await renderedWavOf(silent.id, fixture.needs)).toBeNull();
  });

  it("continues without a group when all are in use", async () => {
    const taken = [];
    for (let lent = true; lent; ) {
      try {
        taken.push(fixture.needs.addresses.allocate(false));
      } catch {
        lent = false;
      }
    }
    const sent = await fixture.run(
      (await fixture.send({ subject: "x", deviceGroupIds: [both], alertTone: "bell" })).id,
    );
    expect(sent).toMatchObject({ stage: "deliver", audioGroup: null });
    expect(diary(sent.id).map(({ details }) => details)).toContainEqual({
      severity: "error",
      message: "All multicast addresses are in use. The message is sent without this audio.",
    });
    for (const address of taken) fixture.needs.addresses.release(address);
  });
});

type Make = BroadcastFixture["needs"]["audio"]["prepare"];

function refuseWhere(test: (spec: Parameters<Make>[0]) => boolean, make: Make): Make {
  return async (spec) => {
    if (test(spec)) throw new Error("the audio thread is gone");
    return make(spec);
  };
}

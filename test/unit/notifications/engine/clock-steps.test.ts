import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { UpstreamError } from "../../../../src/lib/errors.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { BroadcastFixture } from "../notification-fixture.ts";
import { type AirFixture, openScene, type Scene, sounding } from "./engine-fixture.ts";

const HOUR_MS = 3_600_000;
const PHONES = ["SEP001122334401", "SEP001122334402"];

let scene: Scene;
let fixture: BroadcastFixture;
let air: AirFixture;
let everywhere: string;
beforeEach(async () => {
  scene = await openScene(PHONES);
  ({ fixture, air, everywhere } = scene);
});
afterEach(() => scene.close());

const play = () => air.send({ subject: "Fire drill", ...sounding(4_000), deviceGroupIds: [everywhere] });
const REACHED = { SEP001122334401: "playing", SEP001122334402: "playing", "zone:gym1": "sent" };

describe.each([
  ["back", -HOUR_MS],
  ["forward", HOUR_MS],
])("a wall clock that is set %s by an hour", (_name, stepMs) => {
  it("neither cuts off a playing message nor keeps it from ending", async () => {
    const id = await play();
    await fixture.clock.advance(2_000);
    fixture.clock.stepWallClock(stepMs);
    await fixture.clock.advance(1_000);
    expect(air.stage(id)).toBe("collect");
    expect(air.streamer.streams.map(({ ended }) => ended)).not.toContain("stopped");
    await air.untilSettled(id, 20_000);
    expect(air.stage(id)).toBe("settled");
    expect(air.ledger(id)).toEqual(REACHED);
  });

  it("lets a later stream join at the position of the others", async () => {
    const id = await play();
    await fixture.clock.advance(2_000);
    const [first] = air.streamer.streams;
    fixture.clock.stepWallClock(stepMs);
    const soundedMs = fixture.clock.now() - stepMs - (first?.t0Ms ?? 0);
    const target = { group: "239.9.9.8", port: 6_000, codec: "PCMU" as const, ttl: 1 };
    const opened = air.notificationService.openStream("multicast-zones", target, id);
    await fixture.clock.advance(0);
    await fixture.clock.advance(200);
    await opened;
    const late = air.streamer.streams.at(-1);
    expect(Math.abs((late?.spec.offsetPackets ?? 0) * 20 - soundedMs)).toBeLessThanOrEqual(100);
    expect(Math.abs((late?.t0Ms ?? 0) - fixture.clock.now())).toBeLessThanOrEqual(200);
    await air.untilSettled(id, 20_000);
    expect(air.stage(id)).toBe("settled");
  });

  it("does not keep a message to silent phones open", async () => {
    for (const phone of PHONES) air.channels.manners.set(phone, { answersAfterMs: null });
    const id = await play();
    await fixture.clock.advance(1_000);
    fixture.clock.stepWallClock(stepMs);
    await air.untilSettled(id, 180_000);
    expect(air.stage(id)).toBe("settled");
    expect(air.rows(id).every(({ ended }) => ended)).toBe(true);
  });
});

describe("a message that was ended before any device was asked", () => {
  it("settles even when the disk is full at first", async () => {
    const { store, clock, by } = fixture;
    await air.notificationService.stop();
    const options = { source: "api" } as const;
    const input = { subject: "Fire drill", ...sounding(4_000), deviceGroupIds: [everywhere], expiration: 1 };
    const { id } = await air.notificationService.send(input, by, options);
    await clock.advance(5_000);
    expect(store.get(notifications, id)?.stage).toBe("resolve");
    const full = new UpstreamError("storage-full", "The disk is full.");
    const writing = vi.spyOn(store, "write").mockRejectedValueOnce(full).mockRejectedValueOnce(full);
    await air.restart();
    await air.untilSettled(id, 60_000);
    expect(air.stage(id)).toBe("settled");
    writing.mockRestore();
  });
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import { openScene, type Scene, sounding } from "./engine-fixture.ts";

const ZONE = "zone:gym1";
const NO_ROUTE = "No network route to 239.9.9.9.";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene([]);
  scene.air.streamer.isUnreachable = true;
});
afterEach(() => scene.close());

const send = (more: Record<string, unknown> = {}) =>
  scene.air.send({ subject: "Bell", ...sounding(4_000), deviceGroupIds: [scene.everywhere], ...more });
const networkReturns = (): void => {
  scene.air.streamer.isUnreachable = false;
  scene.fixture.needs.events.emit("network.changed", { addresses: [] });
};

describe("a zone without a network", () => {
  it("waits with the reason, and hears the audio from its beginning once the network is there", async () => {
    const { air, fixture } = scene;
    const id = await send();
    await fixture.clock.advance(60_000);
    expect(air.rows(id)).toMatchObject([{ identifier: ZONE, level: "planned", ended: false, reason: NO_ROUTE }]);
    expect(fixture.store.get(notifications, id)?.t0).toBeNull();
    const before = fixture.clock.now();
    networkReturns();
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ [ZONE]: "sent" });
    const [stream] = air.streamer.streams;
    expect([stream?.ended, stream?.spec.offsetPackets]).toEqual(["finished", 0]);
    expect((stream?.t0Ms ?? 0) - before).toBeLessThan(100);
  });

  it("is retried without a change event", async () => {
    const { air, fixture } = scene;
    const id = await send();
    await fixture.clock.advance(5_000);
    air.streamer.isUnreachable = false;
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ [ZONE]: "sent" });
  });

  it("keeps waiting when a change did not restore the network", async () => {
    const { air, fixture } = scene;
    const id = await send();
    await fixture.clock.advance(1_000);
    fixture.needs.events.emit("network.changed", { addresses: [] });
    await fixture.clock.advance(2_000);
    expect(air.rows(id)).toMatchObject([{ level: "planned", ended: false }]);
    networkReturns();
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ [ZONE]: "sent" });
  });

  it("counts as not reached when the message expires", async () => {
    const { air } = scene;
    const id = await send({ expiration: 30 });
    await air.untilSettled(id, 40_000);
    expect(air.rows(id)).toMatchObject([{ level: "failed", ended: true, reason: NO_ROUTE }]);
    expect(air.streamer.streams).toEqual([]);
  });
});

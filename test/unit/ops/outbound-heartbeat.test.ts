import { expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createOutboundHeartbeat } from "../../../src/ops/outbound-heartbeat.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

it("calls outside while the appliance is well, and tells when nobody takes it", async () => {
  const clock = createFakeClock();
  let [calls, well, takes] = [0, true, true];
  const heartbeat = createOutboundHeartbeat({
    ...{ clock, log: silentLog, isHealthy: () => well },
    settings: { url: "http://127.0.0.1/beat", everySeconds: 30 },
    async sendRequest() {
      calls++;
      if (!takes) throw new Error("refused");
    },
  });
  heartbeat.start();
  await clock.advance(90_000);
  expect([calls, heartbeat.source()]).toEqual([3, []]);
  well = false;
  await clock.advance(90_000);
  expect(calls).toBe(3);
  [well, takes] = [true, false];
  await clock.advance(60_000);
  expect(heartbeat.source()).toEqual([]);
  await clock.advance(30_000);
  expect(heartbeat.source()).toMatchObject([{ level: "yellow", code: "heartbeat" }]);
  takes = true;
  await clock.advance(30_000);
  expect(heartbeat.source()).toEqual([]);
  heartbeat.stop();
  expect(clock.pendingTimers()).toBe(0);
});

import { expect, it } from "vitest";
import { createAgentConnections } from "../../../plugins/speakers/agent-connections.ts";
import { createApplianceClock } from "../../../src/speaker-agent/appliance-clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** An exchange at `at` with an appliance that is `aheadMs` ahead, held for 8 s, `wayMs` there and back. */
const exchange = (at: number, aheadMs: number, wayMs: number) => ({
  askedAt: at,
  receivedAt: at + wayMs / 2 + aheadMs,
  sentAt: at + wayMs / 2 + 8_000 + aheadMs,
  answeredAt: at + wayMs + 8_000,
});

it("reckons by the best exchange, and by none from before the appliance's clock was set", () => {
  const clock = createApplianceClock();
  expect(clock.toApplianceTime(1_000)).toBeNull();
  clock.addExchange(exchange(0, 1_000_000, 2));
  clock.addExchange(exchange(9_000, 1_000_010, 40));
  expect(clock.toApplianceTime(20_000)).toBe(1_020_000);
  clock.addExchange(exchange(18_000, 1_090_000, 300));
  expect(clock.toApplianceTime(30_000)).toBe(1_120_000);
  expect(clock.uncertaintyMs).toBe(150);
  clock.addExchange(exchange(27_000, 1_030_000, 10));
  expect(clock.toApplianceTime(40_000)).toBe(1_070_000);
});

it("an appliance whose clock was set answers all requests that it holds", async () => {
  const clock = createFakeClock();
  const links = createAgentConnections({ clock, onChange: () => {} });
  const settings = { volume: 50, zones: [], delayMs: 0 } as never;
  const link = { mac: "001122334455", address: "127.0.0.1", port: 5_000, settings, plan: null } as never;
  let answered = false;
  const asked = links.poll(link, 8_000).then(() => {
    answered = true;
  });
  links.sweep();
  await clock.advance(1_000);
  expect(answered).toBe(false);
  clock.stepWallClock(90_000);
  links.sweep();
  await asked;
  expect(answered).toBe(true);
});

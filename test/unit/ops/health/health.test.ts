import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEvents, type EventMap, type Events } from "../../../../src/lib/events.ts";
import { createHealthMonitor, type HealthMonitor } from "../../../../src/ops/health/health.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import triggers from "../../../../src/resources/webhooks/triggers.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../../permissions/access-fixture.ts";

describe("health", () => {
  let fixture: AccessFixture;
  let events: Events;
  let clock: FakeClock;
  let health: HealthMonitor;

  beforeEach(async () => {
    fixture = await openAccess(makeTempDir());
    for (const plugin of ["pa", "sip"]) {
      await fixture.store.create(extensions, { name: plugin }, fixture.system, { plugin, disabled: plugin === "sip" });
    }
    events = createEvents((error) => {
      throw error;
    });
    clock = createFakeClock();
    health = createHealthMonitor({ clock, events, reader: fixture.store });
  });
  afterEach(() => fixture.close());

  const tell = (plugin: string, state: EventMap["plugin.changed"]["state"], reason: string | null = "it broke"): void =>
    events.emit("plugin.changed", { plugin, state, reason });

  it("is green while plugins run, or are switched off", () => {
    tell("pa", "running", null);
    tell("sip", "disabled");
    expect(health.report()).toMatchObject({ status: "GREEN", redReasons: [], yellowReasons: [] });
  });

  it("is red for a plugin that was given up, whatever else is yellow, and says why", () => {
    tell("pa", "stopped");
    tell("sip", "restarting");
    expect(health.report()).toMatchObject({
      status: "RED",
      redReasons: ["Plugin pa stopped after repeated failures: it broke"],
      yellowReasons: ["Plugin sip is restarting: it broke"],
    });
  });

  it("is yellow for a plugin that runs and does not reach its server, until it does", () => {
    const say = (health: "ok" | "degraded" | "down", reason: string | null): void =>
      events.emit("plugin.changed", { plugin: "email", state: "running", reason, health });
    say("down", "the mail server can't be reached");
    expect(health.report()).toMatchObject({
      status: "YELLOW",
      yellowReasons: ["Plugin email is running but can't deliver: the mail server can't be reached"],
    });
    say("degraded", "some mails are refused");
    expect(health.report().status).toBe("GREEN");
  });

  it("is yellow for a plugin that should run and can't, until it does", async () => {
    tell("pa", "disabled");
    const before = health.report();
    expect(before).toMatchObject({ status: "YELLOW", yellowReasons: ["Plugin pa can't run: it broke"] });
    await clock.advance(1_000);
    tell("pa", "running", null);
    expect(health.report()).toEqual({
      ...before,
      status: "GREEN",
      reasons: [],
      yellowReasons: [],
      since: before.since + 1_000,
    });
  });

  it("is yellow for a trigger that was given up, until it is enabled or somebody disables it", async () => {
    const { store, system } = fixture;
    const input = { name: "Pager", spec: "/users/*", type: "webhook", url: "https://example.org/hook" };
    const { id } = await store.create(triggers, input, system);
    const reason = "The receiver responded with 410 Gone.";
    await store.update(triggers, id, {}, system, { disabled: true, disabledReason: reason });
    expect(health.report()).toMatchObject({
      status: "YELLOW",
      yellowReasons: [`Trigger Pager is disabled: ${reason}`],
    });
    await store.update(triggers, id, {}, system, { disabledReason: null });
    expect(health.report().status).toBe("GREEN");
  });

  it("listens no more once it is closed", () => {
    health.stop();
    tell("pa", "stopped");
    expect(health.report().status).toBe("GREEN");
  });
});

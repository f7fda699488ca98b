import { incidentActivityHooks, incidentHooks } from "../../../src/incidents/incident-hooks.ts";
import { incidentPlanHooks, incidentResourceHooks } from "../../../src/incidents/incident-resources.ts";
import { type IncidentRow, withIncidentStart } from "../../../src/incidents/incident-start.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { notificationHooks } from "../../../src/notifications/engine/notification-hooks.ts";
import incidentPlanResources from "../../../src/resources/incidents/incident-plan-resources.ts";
import incidentPlans from "../../../src/resources/incidents/incident-plans.ts";
import incidentResources from "../../../src/resources/incidents/incident-resources.ts";
import incidents from "../../../src/resources/incidents/incidents.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type AirFixture, openAir, sounding } from "../notifications/engine/engine-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

/** Two phones, a notificationService, and the rules of incidents. */
export interface IncidentScene {
  fixture: BroadcastFixture;
  air: AirFixture;
  /** Groups of one phone each. */
  north: string;
  south: string;
  plan(more?: object): Promise<string>;
  /** Sends to the north unless told otherwise. */
  send(more?: Record<string, unknown>): Promise<string>;
  incident(id: string | null | undefined): IncidentRow;
  close(): Promise<void>;
}

/** Opens a scene. */
export async function openIncidents(): Promise<IncidentScene> {
  let fixture: BroadcastFixture;
  const clock = { now: () => fixture.clock.now() } as Clock;
  fixture = await openBroadcasts({
    notifications: withIncidentStart(notificationHooks) as unknown as ResourceHooks,
    incidents: incidentHooks as unknown as ResourceHooks,
    "incident-plans": incidentPlanHooks as unknown as ResourceHooks,
    "incident-activities": incidentActivityHooks(clock) as unknown as ResourceHooks,
    "incident-resources": incidentResourceHooks(incidentResources) as unknown as ResourceHooks,
    "incident-plan-resources": incidentResourceHooks(incidentPlanResources) as unknown as ResourceHooks,
  });
  const [one, two] = ["SEP001122334401", "SEP001122334402"];
  for (const phone of [one, two]) await fixture.phone(phone);
  const north = await fixture.group("North", [one]);
  const south = await fixture.group("South", [two]);
  const air = await openAir(fixture);
  return {
    fixture,
    air,
    north,
    south,
    plan: async (more = {}) => (await fixture.create(incidentPlans, { name: "Fire", ...more })).id,
    send: (more = {}) => air.send({ subject: "Fire", ...sounding(2_000), deviceGroupIds: [north], ...more }),
    incident(id) {
      const row = id ? fixture.store.get(incidents, id) : null;
      if (!row) throw new Error("there is no such incident");
      return row;
    },
    async close() {
      await air.notificationService.stop();
      await fixture.close();
    },
  };
}

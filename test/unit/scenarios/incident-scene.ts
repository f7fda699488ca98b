import type { Clock } from "../../../src/base/clock.ts";
import { notificationBehaviour } from "../../../src/broadcast/notification-behaviour.ts";
import incidentPlanResources from "../../../src/resources/incidents/incident-plan-resources.ts";
import incidentPlans from "../../../src/resources/incidents/incident-plans.ts";
import incidentResources from "../../../src/resources/incidents/incident-resources.ts";
import incidents from "../../../src/resources/incidents/incidents.ts";
import { incidentActivityBehaviour, incidentBehaviour } from "../../../src/scenarios/incident-behaviour.ts";
import { incidentPlanBehaviour, resourceBehaviourOf } from "../../../src/scenarios/incident-resources.ts";
import { type IncidentRow, startingIncidents } from "../../../src/scenarios/incident-start.ts";
import type { Behaviour } from "../../../src/store/store.ts";
import { type AirFixture, openAir, sounding } from "../broadcast/air-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../broadcast/broadcast-fixture.ts";

/** Two phones, a broadcaster, and the rules of incidents. */
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
    notifications: startingIncidents(notificationBehaviour) as unknown as Behaviour,
    incidents: incidentBehaviour as unknown as Behaviour,
    "incident-plans": incidentPlanBehaviour as unknown as Behaviour,
    "incident-activities": incidentActivityBehaviour(clock) as unknown as Behaviour,
    "incident-resources": resourceBehaviourOf(incidentResources) as unknown as Behaviour,
    "incident-plan-resources": resourceBehaviourOf(incidentPlanResources) as unknown as Behaviour,
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
      await air.broadcaster.stop();
      await fixture.close();
    },
  };
}

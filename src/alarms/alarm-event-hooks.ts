import type alarmEvents from "../resources/alarms/alarm-events.ts";
import type systemHealthEvents from "../resources/alarms/system-health-events.ts";
import type { ResourceHooks } from "../store/store.ts";

/** The scenario that an event is about. */
export interface AlarmEventScenario {
  id: string;
  name: string;
}

/** Shows `event`, which always has all its members. @source service-api.md, Alarm event; decisions.md 13 */
export const alarmEventHooks: ResourceHooks<typeof alarmEvents> = {
  present: (rows) =>
    rows.map(({ reasons, scenario }) => {
      const about = scenario === null ? null : (JSON.parse(scenario) as AlarmEventScenario);
      return { event: { scenarioId: about?.id ?? null, scenarioName: about?.name ?? null, reasons } };
    }),
};

/** Shows the first alarm beside all. */
export const systemHealthEventHooks: ResourceHooks<typeof systemHealthEvents> = {
  present: (rows) => rows.map(({ alarmIds }) => ({ alarmId: alarmIds[0] ?? null })),
};

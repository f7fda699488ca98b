import type alarmEvents from "../resources/alarms/alarm-events.ts";
import type systemHealthEvents from "../resources/alarms/system-health-events.ts";
import type { ResourceHooks } from "../store/store.ts";

/** The scenario of an event. */
export interface AlarmEventScenario {
  id: string;
  name: string;
}

/** Serializes `event` with all its members. @source docs/decisions/0013-other-resources.md, Alarms */
export const alarmEventHooks: ResourceHooks<typeof alarmEvents> = {
  present: (rows, { sentences }) =>
    rows.map(({ reasons, scenario }) => {
      const about = scenario === null ? null : (JSON.parse(scenario) as AlarmEventScenario);
      return {
        reasonSentences: sentences.readAll(reasons),
        event: { scenarioId: about?.id ?? null, scenarioName: about?.name ?? null, reasons },
      };
    }),
};

/** Serializes the first alarm and the list of all alarms. */
export const systemHealthEventHooks: ResourceHooks<typeof systemHealthEvents> = {
  present: (rows, { sentences }) =>
    rows.map(({ alarmIds, reasons }) => ({
      alarmId: alarmIds[0] ?? null,
      reasonSentences: sentences.readAll(reasons),
    })),
};

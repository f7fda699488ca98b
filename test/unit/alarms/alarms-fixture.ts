import { alarmActionHooks } from "../../../src/alarms/alarm-action-hooks.ts";
import { alarmHooks, seedAlarms } from "../../../src/alarms/alarm-hooks.ts";
import { type AlarmDeps, type Alarms, createAlarms } from "../../../src/alarms/alarms.ts";
import { createDetectors } from "../../../src/alarms/detectors.ts";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import type { HealthReason } from "../../../src/ops/health/health.ts";
import alarmActions from "../../../src/resources/alarms/alarm-actions.ts";
import alarmEvents from "../../../src/resources/alarms/alarm-events.ts";
import { ALARM_IDS, type AlarmStatus, type AlarmType } from "../../../src/resources/alarms/alarm-types.ts";
import alarms from "../../../src/resources/alarms/alarms.ts";
import type { RowOf } from "../../../src/schema/resource.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

/** A message that an alarm sent. */
export interface Sent {
  input: Record<string, unknown>;
  source: string;
}

/** Alarms on a store of their own, with a health that the test sets and messages that are accepted and go no further. */
export interface AlarmsFixture extends BroadcastFixture {
  alarms: Alarms;
  events: Events;
  /** What is wrong with the appliance. */
  wrong: HealthReason[];
  sent: Sent[];
  /** Moves time, in which the alarms look around, and waits until all is written. */
  pass(ms: number): Promise<void>;
  /** Ends the watch and begins another on the same data. */
  restart(): Promise<void>;
  action(type: AlarmType, triggerOnStatus: AlarmStatus, more?: object): Promise<string>;
  eventsOf(type: AlarmType): Pick<RowOf<typeof alarmEvents>, "status" | "reasons">[];
  statusOf(type: AlarmType): string;
}

/** Opens the fixture; the watch has begun. */
export async function openAlarms(): Promise<AlarmsFixture> {
  const scene = await openBroadcasts({
    [alarms.name]: alarmHooks as unknown as ResourceHooks,
    [alarmActions.name]: alarmActionHooks(() => scene.by) as unknown as ResourceHooks,
  });
  const { store, clock, by, endpointId, needs } = scene;
  await store.write((tx) => seedAlarms(tx, by));
  const events = createEvents((error) => {
    throw error;
  });
  const wrong: HealthReason[] = [];
  const sent: Sent[] = [];
  const health = { report: () => ({ reasons: [...wrong] }) as never };
  const ownId = (): string => endpointId;
  const given: AlarmDeps = {
    ...{ store, clock, events, log: needs.log, by, endpointId: ownId },
    detectors: createDetectors({ reader: store, health, endpointId: ownId }),
    notificationService: {
      async send(input, as, options) {
        const row = await scene.send(input, options, as);
        sent.push({ input, source: options.source });
        return row;
      },
    },
  };
  const begin = (): Alarms => {
    const watch = createAlarms(given);
    watch.start();
    return watch;
  };
  const fixture: AlarmsFixture = {
    ...scene,
    ...{ alarms: begin(), events, wrong, sent },
    async pass(ms) {
      for (let left = ms; left > 0; left -= 5_000) {
        await clock.advance(Math.min(left, 5_000));
        await fixture.alarms.idle();
      }
    },
    async restart() {
      await fixture.alarms.stop();
      fixture.alarms = begin();
      await fixture.alarms.idle();
    },
    action: async (type, triggerOnStatus, more = {}) =>
      (await scene.create(alarmActions, { alarmId: ALARM_IDS[type], triggerOnStatus, ...more })).id,
    eventsOf: (type) =>
      store.find(alarmEvents, { alarmId: ALARM_IDS[type] }).map(({ status, reasons }) => ({ status, reasons })),
    statusOf: (type) => store.get(alarms, ALARM_IDS[type])?.status ?? "none",
    async close() {
      await fixture.alarms.stop();
      await scene.close();
    },
  };
  await fixture.alarms.idle();
  return fixture;
}

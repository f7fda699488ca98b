import type { OwnAddress } from "./network-route.ts";

/** A stream that this appliance sends to a multicast group. */
export interface MulticastStream {
  group: string;
  port: number;
  ssrc: number;
  /** Address that its packets come from. */
  source: string;
}

/**
 * Events between modules: names are `noun.past-participle`, payloads are plain values. An event is a hint and the rows
 * are the truth: a consumer that must not lose one reads the rows at start.
 */
export interface EventMap {
  /** Addresses, links or routes of this machine changed; `addresses` are those it has now. */
  "network.changed": { addresses: readonly OwnAddress[] };
  /** Streams to multicast groups began, ended or moved; `streams` are those that are sent now. */
  "multicast.changed": { streams: readonly MulticastStream[] };
  /** A row was committed; emitted after COMMIT. `resource` is the declaration's name. */
  "row.changed": { seq: number; resource: string; id: string; op: "create" | "update" | "delete" };
  /** Many rows of these resources became visible at once; `row.changed` follows for each of them. */
  "batch.published": { resources: string[] };
  /** A notification was accepted and is waiting for the pipeline. */
  "notification.accepted": { notificationId: string; priority: number };
  /** A notification was aborted or has expired. */
  "notification.stopped": { notificationId: string; reason: "aborted" | "expired" };
  /** A follow-up action of a notification was scheduled. */
  "notification.timer-scheduled": { notificationId: string };
  /** The activity log of a notification has a new entry. */
  "notification.activity-added": { notificationId: string };
  /** Delivery states of a notification changed. */
  "deliveries.changed": { notificationId: string };
  /** A user requested that a message of a trigger is sent again. */
  "trigger.replayed": { triggerId: string };
  /**
   * The first packet of a message leaves at `at` (epoch ms); for a message without audio, all its devices were asked.
   */
  "notification.audio-started": { notificationId: string; at: number };
  /** The audio of a message has ended. */
  "notification.audio-ended": { notificationId: string };
  /** A notification's last delivery reached a final state. */
  "notification.settled": { notificationId: string };
  /** A device crossed the edge of an area, which fired a trigger. */
  "boundary.crossed": { deviceId: string };
  /** An area was created or deleted, or its position, size or devices changed. */
  "area.geometry-changed": { areaOfInterestId: string };
  /** An unregistered device started a scenario. */
  "scenario.device-unknown": { seq: number; scenarioId: string; externalId: string };
  /**
   * A condition that an alarm watches was raised, or cleared (no reason). `alarm` is its type, `code` the condition;
   * without an endpoint it concerns this appliance. Stays raised until it is cleared.
   */
  "fault.changed": { alarm: string; code: string; endpointId: string | null; reason: string | null };
  /** A user import ended without changing anything, or stopped to wait for confirmation. */
  "load.failed": { loadDefinitionId: string; loadRunId: string; reason: string };
  /**
   * A bell, a scheduled message or a screen clearing was due and did not happen; emitted for the first few of those
   * missed at once.
   */
  "bell.missed": { ringId: string; scheduleId: string; at: number };
  /** Somebody created or changed the subscription of a calendar. */
  "calendar.edited": { calendarSubscriptionId: string };
  /** The bell plan was recalculated; this comes some time after the change that caused it. */
  "rings.planned": Record<string, never>;
  /** A change that the other side of replication must get was recorded. */
  "replication.change-recorded": Record<string, never>;
  /** The state of this appliance's cloud link changed. */
  "link.changed": { endpointId: string };
  /** A plugin stopped, failed or recovered; `health` is what a running plugin reports, healthy if absent. */
  "plugin.changed": {
    plugin: string;
    state: "running" | "restarting" | "disabled" | "stopped";
    reason: string | null;
    health?: "ok" | "unconfigured" | "degraded" | "down";
  };
}

/**
 * A typed emitter: listeners run in order of registration; an exception in one is reported and does not affect the
 * others.
 */
export interface Events {
  on<K extends keyof EventMap>(name: K, listener: (payload: EventMap[K]) => void): () => void;
  emit<K extends keyof EventMap>(name: K, payload: EventMap[K]): void;
}

/** Creates an emitter; `onError` gets the exceptions of listeners. */
export function createEvents(onError: (error: unknown, name: keyof EventMap) => void): Events {
  const listeners = new Map<keyof EventMap, Set<(payload: never) => void>>();
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener as (payload: never) => void);
      return () => void set.delete(listener as (payload: never) => void);
    },
    emit(name, payload) {
      for (const listener of listeners.get(name) ?? []) {
        try {
          (listener as (value: typeof payload) => void)(payload);
        } catch (error) {
          onError(error, name);
        }
      }
    },
  };
}

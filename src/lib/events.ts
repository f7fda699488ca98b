/**
 * Everything that rooms tell each other upward: names are `noun.past`, payloads plain values.
 * An event is a hint; rows are the truth, so a consumer that must not lose one reads rows at start.
 */
export interface EventMap {
  /** A row was committed; told after COMMIT. `resource` is the declaration's name. */
  "row.changed": { seq: number; resource: string; id: string; op: "create" | "update" | "delete" };
  /** Very many rows of these resources came into sight at once; `row.changed` of each follows later. */
  "batch.published": { resources: string[] };
  /** A notification was accepted and waits for the pipeline. */
  "notification.accepted": { notificationId: string; priority: number };
  /** Somebody ended a notification before its time. */
  "notification.stopped": { notificationId: string; reason: "aborted" | "expired" };
  /** Something is to follow from a notification at a time of its own. */
  "notification.timer-scheduled": { notificationId: string };
  /** The diary of a notification has a new entry. */
  "notification.activity-added": { notificationId: string };
  /** Ledger rows of a notification moved to a new level. */
  "deliveries.changed": { notificationId: string };
  /** Somebody wants a message of a trigger to be sent again. */
  "trigger.replayed": { triggerId: string };
  /** The first packet of a message leaves at `at` (epoch ms), or all its devices were asked where it has no sound. */
  "notification.audio-started": { notificationId: string; at: number };
  /** A message is heard no more. */
  "notification.audio-ended": { notificationId: string };
  /** A notification's last delivery reached a final level. */
  "notification.settled": { notificationId: string };
  /** A device crossed the edge of an area, which fired a trigger. */
  "boundary.crossed": { deviceId: string };
  /** An area was made, changed its place, size or devices, or went. */
  "area.geometry-changed": { areaOfInterestId: string };
  /** A device that nobody registered started a scenario. */
  "scenario.device-unknown": { seq: number; scenarioId: string; externalId: string };
  /**
   * Something that an alarm watches is wrong, or no more (no reason). `alarm` is its type, `code` says what it is; without
   * an endpoint it is about this appliance. Kept until it is taken back.
   */
  "fault.changed": { alarm: string; code: string; endpointId: string | null; reason: string | null };
  /** A load of users ended without having changed anything, or was stopped to be confirmed. */
  "load.failed": { loadDefinitionId: string; loadRunId: string; reason: string };
  /** A bell, a scheduled message or a clearing was due and did not happen; told for the first few that were missed at once. */
  "bell.missed": { ringId: string; scheduleId: string; at: number };
  /** What rings when was planned anew: after a change of what schedules rest on this comes somewhat later than the change. */
  "rings.planned": Record<string, never>;
  /** Something that the other side of replication is to get was written. */
  "replication.change-recorded": Record<string, never>;
  /** The link of this appliance to its cloud is in another state. */
  "link.changed": { endpointId: string };
  /** A plugin stopped, failed or came back; `health` is what one that runs says of itself, well unless given. */
  "plugin.changed": {
    plugin: string;
    state: "running" | "restarting" | "disabled" | "stopped";
    reason: string | null;
    health?: "ok" | "degraded" | "down";
  };
}

/** A typed emitter: listeners run in order of registration; one that throws is reported and delays nobody. */
export interface Events {
  on<K extends keyof EventMap>(name: K, listener: (payload: EventMap[K]) => void): () => void;
  emit<K extends keyof EventMap>(name: K, payload: EventMap[K]): void;
}

/** Makes an emitter; `onError` gets what a listener threw. */
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

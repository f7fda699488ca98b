import type { Clock, PluginEvents } from "#plugin-api";
import type { MonitoredZone } from "./speaker-rules.ts";

type MulticastStream = PluginEvents["multicast.changed"]["streams"][number];

/** Streams that the appliance sends to multicast groups, as agents with zones get them. */
export interface ZoneStreams {
  /** Replaces the streams; returns the groups, as `group:port`, whose streams changed. */
  update(streams: readonly MulticastStream[]): Set<string>;
  of(zone: Pick<MonitoredZone, "group" | "port">): { ssrc: number; source: string }[];
}

/** Packets are on their way for some time after the end of a stream. */
const LINGER_MS = 5_000;

/** Starts without streams. */
export function createZoneStreams(clock: Pick<Clock, "monotonicMs">): ZoneStreams {
  const known = new Map<string, { stream: MulticastStream; endedAt: number | null }>();
  const removeOld = (): void => {
    for (const [key, { endedAt }] of known)
      if (endedAt !== null && clock.monotonicMs() - endedAt >= LINGER_MS) known.delete(key);
  };
  return {
    update(streams) {
      removeOld();
      const current = new Map(streams.map((stream) => [keyOf(stream), stream]));
      const changed = new Set<string>();
      for (const [key, entry] of known) if (!current.has(key)) entry.endedAt ??= clock.monotonicMs();
      for (const [key, stream] of current) {
        if (!known.has(key)) changed.add(zoneKey(stream));
        known.set(key, { stream, endedAt: null });
      }
      return changed;
    },
    of(zone) {
      removeOld();
      return [...known.values()]
        .filter(({ stream }) => zoneKey(stream) === zoneKey(zone))
        .map(({ stream: { ssrc, source } }) => ({ ssrc, source }));
    },
  };
}

/** Key of a multicast group. */
export function zoneKey({ group, port }: Pick<MonitoredZone, "group" | "port">): string {
  return `${group.toLowerCase()}:${port}`;
}

function keyOf({ group, port, ssrc, source }: MulticastStream): string {
  return `${zoneKey({ group, port })} ${ssrc} ${source}`;
}

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isMoreUrgent } from "../devices/busy.ts";
import type { Delivery } from "./delivery.ts";
import type { LiveBroadcast } from "./live-broadcast.ts";
import { isListening } from "./live-ends.ts";
import type { SoundTarget } from "./sound.ts";

/** The emergency class. @source interfaces.md, Priorities */
const EMERGENCY = 0;

/** By then phones have moved to the emergency's own group, or can't be; the address rests for longer. own choice */
const TAKEN_MS = 120_000;

/** A group in which phones listen to something less urgent. */
export interface GatheredGroup {
  target: SoundTarget;
  live: LiveBroadcast;
  /** Internal keys of the devices that listened when they were looked at. */
  listening: number[];
}

/** Where phones listen to what is less urgent than an emergency; nothing for any other message. */
export function gatheredGroups(live: LiveBroadcast, onAir: Iterable<LiveBroadcast>): GatheredGroup[] {
  if (live.priority !== EMERGENCY || !live.sound || live.sound.over) return [];
  return [...onAir].flatMap((other) => {
    const { group: target, sound } = other;
    if (!target || !sound || sound.over || !isMoreUrgent(live, other)) return [];
    const listening = [...other.deliveries].filter(isListening).flatMap(({ device }) => device ?? []);
    return [{ target, live: other, listening }];
  });
}

/**
 * Sends an emergency into the groups, too, where phones listen that are all meant: they hear its beginning while they are
 * still told, one by one, to leave for its own group, and nobody waits for them. A group with somebody in it who is not
 * meant is left alone. own choice; to be called when all deliveries of the emergency have been added.
 */
export function takeGroups(
  live: LiveBroadcast,
  gathered: readonly GatheredGroup[],
  { clock, log }: { clock: Clock; log: Log },
): void {
  const { sound } = live;
  if (!sound || gathered.length === 0) return;
  const meant = new Set([...live.deliveries].filter(joins).map(({ device }) => device));
  const hear = new Set<number>();
  for (const { target, live: other, listening } of gathered) {
    if (![...other.deliveries].every((delivery) => !joins(delivery) || isIn(meant, delivery))) continue;
    for (const device of listening) hear.add(device);
    other.sound?.endTarget(target);
    sound.open(target).then(
      () => void clock.after(TAKEN_MS, () => sound.endTarget(target), { background: true }),
      (error: unknown) => {
        if (!sound.over) log.warn({ err: error, notificationId: live.id }, "a group of phones was not taken over");
      },
    );
  }
  live.areListening(hear);
}

function joins({ hears }: Delivery): boolean {
  return hears === "group";
}

function isIn(meant: ReadonlySet<number | null>, { device }: Delivery): boolean {
  return device !== null && meant.has(device);
}

import type { Clock } from "../../../../src/lib/clock.ts";
import { UpstreamError } from "../../../../src/lib/errors.ts";
import { isNetworkUnreachable, noRouteError } from "../../../../src/lib/network-route.ts";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import type { Streamer } from "../../../../src/media/streamer.ts";
import type { StreamEnded, StreamSpec, StreamStarted } from "../../../../src/media/streamer-messages.ts";
import {
  createNotificationService,
  type NotificationServiceDeps,
} from "../../../../src/notifications/create-notification-service.ts";
import type { DeliveryProviders } from "../../../../src/notifications/engine/delivery-providers.ts";
import type { DeliveryItem, OutcomeDetails, OutcomeLevel, StopRequest } from "../../../../src/plugin-api/index.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { Store } from "../../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

type Service = ReturnType<typeof createNotificationService>;

/** How a simulated device answers: after a time with a word, never, or by an error. */
export interface DeviceManners {
  /** Ms from the question to the answer; null: never. */
  answersAfterMs?: number | null;
  /** Ms from the answer to proof of sound; null: none. */
  playsAfterMs?: number | null;
  fails?: OutcomeDetails & { reason: string; times?: number };
  /** What its channel says of an item without audio, at once. */
  ofText?: { level: OutcomeLevel; details: OutcomeDetails };
  /** What its channel says when it is told to stop before the device has answered. */
  ofStop?: { level: OutcomeLevel; details: OutcomeDetails };
}

/** Channels in the place of the plugin host: they keep a window and tell only what their devices did. */
export interface FakeChannels extends DeliveryProviders {
  states: Map<string, ReturnType<DeliveryProviders["state"]>>;
  windows: Map<string, number>;
  /** Ids of extensions, by provider; the name where there is none. */
  extensionIds: Map<string, string>;
  manners: Map<string, DeviceManners>;
  /** Items as they came, per provider in order. */
  given: { provider: string; items: DeliveryItem[]; at: number }[];
  stopped: { provider: string; request: StopRequest }[];
  /** Most items without a word at once. */
  maxOut: number;
  /** Devices asked, by identifier in order. */
  asked(): string[];
  /** Cuts the line to the notificationService: what devices say is lost, as in a crash. */
  cut(): void;
  connect(notificationService: Pick<Service, "handleOutcomes" | "openStream">): void;
}

/** A streamer in the place of the thread: it keeps the times of streams on the fake clock. */
export interface FakeStreamer extends Pick<Streamer, "open" | "startGroup" | "setRepeats" | "play" | "end" | "on"> {
  /** Audio played instead of a stream's payload, by stream. */
  played: { streamId: string; parts: readonly Uint8Array[] }[];
  /** All streams opened, with what became of them. */
  streams: { spec: StreamSpec; t0Ms: number | null; ended: StreamEnded["reason"] | null }[];
  refuses: boolean;
  /** No network: nothing can leave. */
  isUnreachable: boolean;
  /** The thread has ended and reports nothing more. */
  crash(): void;
}

/**
 * What a message needs to be heard for about `ms`: a tone of 1.5 s, again every 2 s. No file is read for it, so all that
 * happens takes turns of the event loop only.
 */
export function sounding(ms: number, settings: object = {}): Record<string, unknown> {
  const repetitions = Math.max(1, Math.round(ms / 2_000));
  const overrides = { [ONPREM_EXTENSION_ID]: { repetitions, repetitionPause: 0.5, ...settings } };
  return { alertTone: "tone", extensionSettingsOverrides: overrides };
}

/** Makes channels: phones answer, zones have their own stream opened. */
function fakeChannels(clock: Clock): FakeChannels {
  let line: Pick<Service, "handleOutcomes" | "openStream"> | null = null;
  const tries = new Map<string, number>();
  const out = new Set<number>();
  const calledOff = new Set<number>();
  const onStop = new Map<number, NonNullable<DeviceManners["ofStop"]>>();
  const channels: FakeChannels = {
    states: new Map(),
    windows: new Map(),
    extensionIds: new Map(),
    manners: new Map(),
    given: [],
    stopped: [],
    maxOut: 0,
    state: (provider) => channels.states.get(provider) ?? "running",
    window: (provider) => channels.windows.get(provider) ?? 1_024,
    placesCalls: (provider) => provider === "calls",
    extensionId: (provider) => channels.extensionIds.get(provider) ?? provider,
    profileSchema: () => null,
    deliver(provider, items) {
      if (items.length > 200 || channels.state(provider) !== "running") throw new RangeError("not to be handed over");
      if (!line) return;
      channels.given.push({ provider, items, at: clock.now() });
      for (const item of items) {
        if (item.reached) continue;
        out.add(item.deliveryId);
        calledOff.delete(item.deliveryId);
      }
      if (out.size > channels.maxOut) channels.maxOut = out.size;
      for (const item of items) reach(provider, item);
    },
    stop(provider, request) {
      if (!line) return;
      channels.stopped.push({ provider, request });
      for (const id of request.deliveryIds) {
        calledOff.add(id);
        const said = out.has(id) ? onStop.get(id) : undefined;
        if (said) tell(provider, id, said.level, said.details);
      }
    },
    asked: () => channels.given.flatMap(({ items }) => items.map(({ device }) => device.deviceIdentifier)),
    cut() {
      line = null;
    },
    connect(notificationService) {
      line = notificationService;
      out.clear();
    },
  };
  const tell = (provider: string, deliveryId: number, level: OutcomeLevel, details: OutcomeDetails = {}): void => {
    out.delete(deliveryId);
    line?.handleOutcomes([{ provider, deliveryId, level, details, at: clock.now() }]);
  };
  const reach = (provider: string, item: DeliveryItem): void => {
    const { deliveryId, device, audio, notificationId } = item;
    const manners = channels.manners.get(device.deviceIdentifier) ?? {};
    if (device.deviceIdentifier.startsWith("zone:")) {
      if (!audio) {
        tell(provider, deliveryId, "skipped", { reason: "a zone has no display" });
        return;
      }
      const port = 5_004 + 2 * (Number(device.deviceIdentifier.slice(-1)) || 0);
      const mine = line;
      mine?.openStream(provider, { group: "239.9.9.9", port, codec: "PCMU", ttl: 4 }, notificationId).then(
        () => mine === line && tell(provider, deliveryId, "sent"),
        (error: Error) =>
          mine === line &&
          tell(provider, deliveryId, "failed", {
            ...{ reason: error.message, retryable: true },
            ...(isNetworkUnreachable(error) && { noNetwork: true }),
          }),
      );
      return;
    }
    const { answersAfterMs = 20, playsAfterMs = 1_000, fails, ofText, ofStop } = manners;
    if (ofText && !audio) {
      tell(provider, deliveryId, ofText.level, ofText.details);
      return;
    }
    if (ofStop) onStop.set(deliveryId, ofStop);
    if (item.reached || answersAfterMs === null) return;
    clock.after(answersAfterMs, () => {
      if (calledOff.has(deliveryId)) return;
      const tried = (tries.get(device.deviceIdentifier) ?? 0) + 1;
      tries.set(device.deviceIdentifier, tried);
      if (fails && tried <= (fails.times ?? Number.POSITIVE_INFINITY))
        return tell(provider, deliveryId, "failed", fails);
      tell(provider, deliveryId, "accepted");
      if (!audio || playsAfterMs === null) return;
      clock.after(playsAfterMs, () => {
        if (!calledOff.has(deliveryId)) tell(provider, deliveryId, "playing");
      });
    });
  };
  return channels;
}

/** Makes a streamer whose streams take the time of their packets. */
function fakeStreamer(clock: Clock): FakeStreamer {
  const started = new Set<(event: StreamStarted) => void>();
  const ended = new Set<(event: StreamEnded) => void>();
  const find = (id: string) => streamer.streams.find(({ spec, ended: over }) => spec.streamId === id && over === null);
  const end = (id: string, reason: StreamEnded["reason"]): void => {
    const stream = find(id);
    if (!stream) return;
    stream.ended = reason;
    const firstPacketAt = stream.t0Ms;
    const account = { streamId: id, reason, firstPacketAt, packets: 0, sendErrors: 0, lateMaxMs: 0, latePackets: 0 };
    for (const listener of [...ended]) listener(account);
  };
  const expectLast = (id: string, t0Ms: number): void => {
    const stream = find(id);
    if (!stream) return;
    const { payload, offsetPackets, repeats } = stream.spec;
    const restMs = t0Ms + ((payload.length / 160) * repeats - offsetPackets - 1) * 20 - clock.now();
    clock.after(Math.max(0, restMs), () => {
      if (find(id) !== stream) return;
      if (stream.spec.repeats === repeats) end(id, "finished");
      else expectLast(id, t0Ms);
    });
  };
  const streamer: FakeStreamer = {
    streams: [],
    played: [],
    refuses: false,
    isUnreachable: false,
    async open(spec) {
      if (streamer.isUnreachable && !spec.waitsForNetwork) throw noRouteError(spec.group);
      if (streamer.refuses) throw new UpstreamError("upstream", "The stream could not be opened: EADDRNOTAVAIL");
      if (find(spec.streamId)) throw new RangeError("open already");
      streamer.streams.push({ spec, t0Ms: null, ended: null });
    },
    startGroup(ids, t0Ms) {
      for (const id of ids) {
        const stream = find(id);
        if (!stream) continue;
        stream.t0Ms = t0Ms;
        clock.after(Math.max(0, t0Ms - clock.now()), () => {
          for (const listener of [...started]) listener({ streamId: id, firstPacketAt: clock.now() });
        });
        if (stream.spec.repeats !== Number.POSITIVE_INFINITY) expectLast(id, t0Ms);
      }
    },
    setRepeats(id, repeats) {
      const stream = find(id);
      if (stream) stream.spec = { ...stream.spec, repeats };
    },
    play: (streamId, parts) => void streamer.played.push({ streamId, parts }),
    end: (id) => end(id, "stopped"),
    on(name: "started" | "ended" | "routed", listener: (event: never) => void) {
      if (name === "routed") return () => undefined;
      const set = (name === "started" ? started : ended) as Set<(event: never) => void>;
      set.add(listener);
      return () => void set.delete(listener);
    },
    crash() {
      started.clear();
      ended.clear();
      for (const stream of streamer.streams) stream.ended ??= "lost";
    },
  };
  return streamer;
}

/** A notificationService over the fixture's store, with fake channels and a fake streamer. */
export interface AirFixture {
  readonly notificationService: Service;
  channels: FakeChannels;
  streamer: FakeStreamer;
  /** Ends this service as a crash does: nothing more is written or emitted. */
  crash(): void;
  /** Crashes right after so many further commits. */
  crashAfter(commits: number): void;
  readonly crashed: boolean;
  /** A new notificationService over the same rows, which has taken them up. */
  restart(): Promise<void>;
  /** Sends and lets the stages do, in no time, what they can without an answer. */
  send(input: Record<string, unknown>): Promise<string>;
  /** Waits for what needs turns of the event loop but no time. */
  until(isSo: () => boolean, most?: number): Promise<void>;
  /** Lets the stages work without moving time until devices have been asked. */
  untilHanded(notificationId: string): Promise<void>;
  /** Level and reason by device, and whether the row has ended. */
  ledger(notificationId: string): Record<string, string>;
  rows(
    notificationId: string,
  ): { identifier: string; level: string; ended: boolean; reason: string | null; attempt: number; late: boolean }[];
  stage(notificationId: string): string | null;
  diary(notificationId: string): string[];
  /** Moves time until the notification is settled, at most `ms`. */
  untilSettled(notificationId: string, ms?: number): Promise<void>;
}

/** An appliance with some phones, one zone, a group of them all, and the second half of a broadcast over it. */
export interface Scene {
  fixture: BroadcastFixture;
  air: AirFixture;
  /** Id of the group. */
  everywhere: string;
  close(): Promise<void>;
}

/** Opens a scene with these phones and the zone `zone:gym1`. */
export async function openScene(
  phones: readonly string[],
  options: Pick<NotificationServiceDeps, "secondPerson"> = {},
): Promise<Scene> {
  const fixture = await openBroadcasts();
  for (const phone of phones) await fixture.phone(phone);
  await fixture.zone("gym1");
  const everywhere = await fixture.group("Everywhere", [...phones, "zone:gym1"]);
  const air = await openAir(fixture, options);
  return {
    fixture,
    air,
    everywhere,
    async close() {
      await air.notificationService.stop();
      await fixture.close();
    },
  };
}

/** Opens the second half of a broadcast over `fixture`. */
export async function openAir(
  fixture: BroadcastFixture,
  options: Pick<NotificationServiceDeps, "secondPerson"> = {},
): Promise<AirFixture> {
  const { clock, store, needs } = fixture;
  const channels = fakeChannels(needs.clock);
  const streamer = fakeStreamer(needs.clock);
  /** What a crashed process would have written is not written. */
  let process = { alive: true, commitsLeft: Number.POSITIVE_INFINITY };
  const writeAs = (mine: typeof process): Store["write"] => {
    return async (fn, lane) => {
      if (!mine.alive) return new Promise<never>(() => {});
      const value = await store.write(fn, lane);
      if (--mine.commitsLeft < 0 && mine.alive) air.crash();
      return mine.alive ? value : new Promise<never>(() => {});
    };
  };
  const make = (): Service => {
    const mine = { alive: true, commitsLeft: Number.POSITIVE_INFINITY };
    process = mine;
    const given: NotificationServiceDeps = {
      ...needs,
      store: {
        ...store,
        write: writeAs(mine),
      },
      providers: channels,
      streamer,
      networkInterface: "127.0.0.1",
      ttl: 16,
      sentences: createSentenceRegistry(),
      baseUrl: () => "https://bells.example.org",
      livePageMs: 60_000,
      ...options,
    };
    return createNotificationService(given);
  };
  let notificationService = make();
  channels.connect(notificationService);
  await notificationService.start();
  const air: AirFixture = {
    get notificationService() {
      return notificationService;
    },
    channels,
    streamer,
    get crashed() {
      return !process.alive;
    },
    crash() {
      process.alive = false;
      channels.cut();
      streamer.crash();
      void notificationService.stop();
    },
    crashAfter(commits) {
      process.commitsLeft = commits - 1;
    },
    async restart() {
      notificationService = make();
      channels.connect(notificationService);
      const handed = channels.given.length;
      await notificationService.start();
      const isSettled = () => store.count(notifications, { stage: "settled" }) === store.count(notifications, {});
      await air.until(() => channels.given.length > handed || isSettled());
      for (let round = 0; round < 5; round++) await clock.advance(0);
    },
    async send(input) {
      const options = { source: "api" } as const;
      const { id } = await notificationService.send(input, fixture.by, options);
      await air.untilHanded(id);
      return id;
    },
    async untilHanded(id) {
      const isAsked = () =>
        channels.given.some(({ items }) => items.some(({ notificationId }) => notificationId === id));
      const isOver = () => ["collect", "settle", "settled"].includes(air.stage(id) ?? "");
      await air.until(() => isAsked() || isOver() || !process.alive);
      for (let round = 0; round < 5; round++) await clock.advance(0);
    },
    async until(isSo, most = 2_000) {
      for (let round = 0; !isSo() && round < most; round++) await clock.advance(0);
    },
    ledger: (id) => Object.fromEntries(air.rows(id).map(({ identifier, level }) => [identifier, level])),
    rows: (notificationId) =>
      store.find(deliveries, { notificationId }).map((row) => ({
        identifier: row.deviceIdentifier ?? "",
        level: row.level,
        ended: row.endedAt !== null,
        reason: row.reason,
        attempt: row.attempt,
        late: row.late,
      })),
    stage: (id) => store.get(notifications, id)?.stage ?? null,
    diary: (notificationId) => store.find(notificationActivities, { notificationId }).map(({ type }) => type),
    async untilSettled(id, ms = 60_000) {
      for (let passed = 0; air.stage(id) !== "settled" && passed <= ms; passed += 100) await clock.advance(100);
    },
  };
  return air;
}

import { ALARM_TABLES } from "../../../src/alarms/schema.ts";
import { AREA_TABLES } from "../../../src/areas/schema.ts";
import { BELL_TABLES } from "../../../src/bells/schema.ts";
import { CALL_MANAGER_TABLES } from "../../../src/call-manager/phone-plan-journal.ts";
import { deviceHooks } from "../../../src/devices/device-hooks.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createEvents, type EventMap } from "../../../src/lib/events.ts";
import { derivedId } from "../../../src/lib/ids.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { type AudioSpec, audioSpecHash } from "../../../src/media/audio-renderer.ts";
import { CODECS, type Codec } from "../../../src/media/codecs.ts";
import { createMulticastAddressPool, type MulticastAddressPool } from "../../../src/media/multicast-address-pool.ts";
import { createRenderedAudio, encodeAudio, renderPcm } from "../../../src/media/rendered-audio.ts";
import { decodeWav, encodeWav } from "../../../src/media/wav.ts";
import type { NotificationRow } from "../../../src/notifications/compose/message-builder.ts";
import type { ProfileSchema } from "../../../src/notifications/compose/profile-settings.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders } from "../../../src/notifications/engine/delivery-providers.ts";
import { type PipelineStageDeps, writeLaneOf } from "../../../src/notifications/engine/pipeline-stage.ts";
import { accept } from "../../../src/notifications/engine/stages/accept.ts";
import { partition } from "../../../src/notifications/engine/stages/partition.ts";
import { prepare } from "../../../src/notifications/engine/stages/prepare.ts";
import { queue } from "../../../src/notifications/engine/stages/queue.ts";
import { resolve } from "../../../src/notifications/engine/stages/resolve.ts";
import type { SendOptions } from "../../../src/notifications/notification-service.ts";
import { NOTIFICATION_TABLES } from "../../../src/notifications/schema.ts";
import { OPERATION_STATE } from "../../../src/ops/operation-state.ts";
import deviceGroups from "../../../src/resources/devices/device-groups.ts";
import devices from "../../../src/resources/devices/devices.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import domains from "../../../src/resources/domains/domains.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import subscriptions from "../../../src/resources/people/subscriptions.ts";
import users from "../../../src/resources/people/users.ts";
import { SCENARIO_TABLES } from "../../../src/scenarios/unknown-devices.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource, RowOf } from "../../../src/schema/resource.ts";
import type { UploadedFile } from "../../../src/schema/uploaded-file.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";
import { createDeviceGroupRegistry } from "../../../src/wiring/device-group-registry.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** The dependencies of the first stages of a broadcast, with a separate store. */
export interface BroadcastFixture {
  store: Store;
  clock: FakeClock;
  needs: PipelineStageDeps;
  /** The administrator. */
  by: ActorContext;
  endpointId: string;
  /** Events told so far, in order. */
  told: { name: keyof EventMap; payload: unknown }[];
  /** States of plugins, `running` unless set. */
  states: Map<string, ReturnType<DeliveryProviders["state"]>>;
  /** What profiles may say of plugins, by the ids of their extensions; anything unless set. */
  schemas: Map<string, ProfileSchema>;
  create<R extends AnyResource>(resource: R, input: object): Promise<RowOf<R>>;
  list(name: string, userIds?: readonly string[]): Promise<string>;
  user(name: string, more?: object): Promise<string>;
  phone(identifier: string, more?: object): Promise<string>;
  zone(name: string, more?: object): Promise<string>;
  /** A group of the devices named. */
  group(name: string, icopIds: readonly string[]): Promise<string>;
  send(input: Record<string, unknown>, options?: Partial<SendOptions>, by?: ActorContext): Promise<NotificationRow>;
  /** Runs the stages from resolve to queue. */
  run(notificationId: string): Promise<NotificationRow>;
  /** A recording of `ms` of a sound, as it comes in. */
  recording(ms: number): Promise<UploadedFile>;
  close(): Promise<void>;
}

/** Opens a fixture; `realClock` replaces the fake one where real time matters, `inMemory` keeps rows off the disk. */
export async function openBroadcasts(
  behaviours: Readonly<Record<string, ResourceHooks>> = {},
  realClock?: Clock,
  inMemory = false,
): Promise<BroadcastFixture> {
  const clock = createFakeClock();
  const told: BroadcastFixture["told"] = [];
  const fail = (error: unknown): never => {
    throw error;
  };
  const events = createEvents(fail);
  for (const name of ["notification.accepted", "deliveries.changed"] as const) {
    events.on(name, (payload) => told.push({ name, payload }));
  }
  const findProvider = (type: string): string | null =>
    type === "phones" ? "ip-phones" : type === "speakers" ? "multicast-zones" : null;
  const store = openStore({
    dataDir: makeTempDir(),
    inMemory,
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    hooks: { devices: deviceHooks(findProvider, () => []) as unknown as ResourceHooks, ...behaviours },
    tables: [
      ...NOTIFICATION_TABLES,
      ...AREA_TABLES,
      ...SCENARIO_TABLES,
      ...ALARM_TABLES,
      ...CALL_MANAGER_TABLES,
      ...BELL_TABLES,
      OPERATION_STATE,
    ],
    clock: realClock ?? clock,
    events,
    log: silentLog,
    onFatal: fail,
  });
  let rootId: string | null = null;
  const by: ActorContext = {
    actor: { kind: "system", userId: null, name: "test", address: null },
    scope: fullScope(() => rootId),
  };
  const create = <R extends AnyResource>(resource: R, input: object): Promise<RowOf<R>> =>
    store.create(resource, input, by);
  rootId = (await create(domains, { name: "Root" })).id;
  await store.create(extensions, { name: "onprem", type: "endpoint-proxy" }, by, { id: ONPREM_EXTENSION_ID });
  const extensionId = ONPREM_EXTENSION_ID;
  const endpointId = (await create(endpoints, { extensionId, name: "Here" })).id;

  const states: BroadcastFixture["states"] = new Map();
  const schemas: BroadcastFixture["schemas"] = new Map();
  const needs: PipelineStageDeps = {
    store,
    clock: realClock ?? clock,
    events,
    log: silentLog,
    providers: {
      state: (provider) => states.get(provider) ?? (provider === APPLIANCES_PROVIDER ? "absent" : "running"),
      window: () => 200,
      placesCalls: () => false,
      extensionId: (provider) => derivedId("extension", provider),
      profileSchema: (extensionId) => schemas.get(extensionId) ?? null,
      deliver: () => fail("nothing is delivered here"),
      stop: () => fail("nothing is stopped here"),
    },
    ...createDeviceGroupRegistry({
      store,
      clock: realClock ?? clock,
      events,
      log: silentLog,
      isReachable: (id) => id === endpointId,
      ownId: () => endpointId,
      shareOut: () => ({ holder: endpointId, equivalenceKey: endpointId }),
    }),
    audio: { prepare: prepareInline },
    addresses: smallPool(clock),
    by,
    endpointId: () => endpointId,
    laneOf: writeLaneOf,
    signal: new AbortController().signal,
  };
  const device = async (type: string, deviceIdentifier: string, more: object = {}): Promise<string> => {
    const input = { extensionId, endpointId, deviceIdentifier, description: `The ${deviceIdentifier}`, type };
    return (await create(devices, { ...input, ...more })).id;
  };

  return {
    store,
    clock,
    needs,
    by,
    endpointId,
    told,
    states,
    schemas,
    create,
    async list(name, userIds = []) {
      const { id } = await create(distributionLists, { name });
      for (const userId of userIds) await create(subscriptions, { userId, distributionListId: id });
      return id;
    },
    user: async (name, more = {}) => (await create(users, { name, ...more })).id,
    phone: (identifier, more) => device("phones", identifier, more),
    zone: (name, more) => device("speakers", `zone:${name}`, more),
    group: async (name, additionIds) => (await create(deviceGroups, { name, filterType: "REJECT", additionIds })).id,
    send: (input, options = {}, as = by) => accept(input, as, { source: "api", ...options }, needs),
    async run(notificationId) {
      for (const stage of [resolve, partition, prepare, queue]) await stage.run(notificationId, needs);
      return store.get(notifications, notificationId) as NotificationRow;
    },
    async recording(ms) {
      const pcm = new Int16Array(ms * 8).map((_, at) => Math.round(8_000 * Math.sin(at / 4)));
      const bytes = (async function* () {
        yield encodeWav(pcm);
      })();
      return store.files.put(bytes, { fileName: "a.wav", maxBytes: 1e7, types: ["audio/wav"] });
    },
    close: () => store.close(),
  };
}

/** What the audio thread does, on this one. */
async function prepareInline(spec: AudioSpec) {
  const { recording, announcement = null, ...layout } = spec;
  const wav = recording && (await recording.read());
  const word = announcement && (await announcement.read());
  const made = createRenderedAudio(
    audioSpecHash(spec),
    renderPcm(layout, wav && decodeWav(wav), word && decodeWav(word)),
  );
  const inCodec = async (codec: Codec): Promise<Uint8Array> => {
    const samples = wav && decodeWav(wav, "audio", CODECS[codec].rateHz);
    return [...encodeAudio(layout, samples, { packets: made.packets, codec })].at(-1) as Uint8Array;
  };
  const renditions = new Map<Codec, Promise<Uint8Array>>();
  const rendition = (codec: Codec): Promise<Uint8Array> => {
    const known = renditions.get(codec) ?? inCodec(codec);
    renditions.set(codec, known);
    return known;
  };
  return { ...made, rendition };
}

/** Two routine addresses and one for emergencies. */
function smallPool(clock: Clock): MulticastAddressPool {
  return createMulticastAddressPool({
    clock,
    routine: { firstGroup: "239.192.16.1", lastGroup: "239.192.16.2", firstPort: 20480, lastPort: 20480 },
    emergency: { firstGroup: "239.192.17.1", lastGroup: "239.192.17.1", firstPort: 20480, lastPort: 20480 },
    startIndex: 0,
  });
}

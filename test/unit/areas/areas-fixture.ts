import { areaHooks } from "../../../src/areas/area-hooks.ts";
import { type Areas, createAreas } from "../../../src/areas/areas.ts";
import { boundaryTriggerHooks } from "../../../src/areas/boundary-trigger-hooks.ts";
import { withPresenceHooks } from "../../../src/areas/presence-hooks.ts";
import { userDeviceHooks } from "../../../src/devices/user-device-hooks.ts";
import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import boundaryTriggers from "../../../src/resources/areas/boundary-triggers.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

/** Areas on a store of their own, with messages that are accepted and go no further. */
export interface AreasFixture extends BroadcastFixture {
  areas: Areas;
  /** Inputs of the messages that triggers sent, in order. */
  sent: Record<string, unknown>[];
  area(name: string, coordinates: readonly [number, number], radiusInM: number, more?: object): Promise<string>;
  trigger(areaId: string, more?: object): Promise<string>;
  device(userId: string, type?: string): Promise<string>;
  /** Reports a place and waits until what follows is done. */
  report(
    userId: string,
    deviceId: string,
    at: readonly [number, number],
    more?: { accuracyM?: number; at?: number },
  ): Promise<void>;
  /** Ids of the areas a device shows to be inside of. */
  shown(deviceId: string): string[];
  /** Waits for actions and comparisons. */
  settle(): Promise<void>;
  /** Ends the watch and begins another on the same data. */
  restart(): Promise<void>;
}

/** Opens the fixture; the watch has begun. Rows lie on the disk unless `inMemory`. */
export async function openAreas(inMemory = false): Promise<AreasFixture> {
  const presence: { by?: BroadcastFixture["by"] } = {};
  const clock = { now: () => scene.clock.now() } as BroadcastFixture["clock"];
  const devicesOfUsers = withPresenceHooks(userDeviceHooks, clock, () => presence.by as BroadcastFixture["by"]);
  const behaviours = {
    [areasOfInterest.name]: areaHooks as unknown as ResourceHooks,
    [boundaryTriggers.name]: boundaryTriggerHooks as unknown as ResourceHooks,
    [userDevices.name]: devicesOfUsers as unknown as ResourceHooks,
  };
  const scene = await openBroadcasts(behaviours, undefined, inMemory);
  presence.by = scene.by;
  const { store, needs, by, create } = scene;
  const sent: Record<string, unknown>[] = [];
  const notificationService = {
    async send(input: Record<string, unknown>, as: typeof by, options: Parameters<typeof scene.send>[1]) {
      sent.push(input);
      return scene.send(input, options, as);
    },
  };
  const begin = (): Areas => {
    const areas = createAreas({ ...needs, notificationService, by });
    areas.start();
    return areas;
  };
  const fixture: AreasFixture = {
    ...scene,
    areas: begin(),
    sent,
    async area(name, coordinates, radiusInM, more = {}) {
      const geometryValue = {
        type: "Feature",
        geometry: { type: "Point", coordinates },
        properties: { radiusInM },
      };
      const { id } = await create(areasOfInterest, { name, geometryType: "circle", geometryValue, ...more });
      await fixture.settle();
      return id;
    },
    trigger: async (areaOfInterestId, more = {}) =>
      (
        await create(boundaryTriggers, {
          ...{ areaOfInterestId, name: "T", action: "both", perUserThrottlingInSecs: 0 },
          ...{ notificationAction: "send-to-user", subject: "{{user}} {{crossing}} {{area}}", ...more },
        })
      ).id,
    device: async (userId, type = "Android") => (await create(userDevices, { userId, type, name: "Phone" })).id,
    async report(userId, deviceId, [longitude, latitude], more = {}) {
      const position = { longitude, latitude, accuracyM: more.accuracyM ?? 0, at: more.at ?? null };
      await fixture.areas.reportPosition(userId, deviceId, position);
      await fixture.settle();
    },
    shown(deviceId) {
      const row = store.get(userDevices, deviceId);
      const context = {
        reader: store,
        scope: by.scope,
        query: {},
        params: {},
        hide: (_: unknown, rows: never) => rows,
      };
      const [extra] = row ? (devicesOfUsers.present?.([row], context as never) ?? []) : [];
      return ((extra?.presence as { areaOfInterestIds: string[] } | null)?.areaOfInterestIds ?? []).sort();
    },
    async settle() {
      const left = () => store.one("SELECT 1 FROM area_pending_actions UNION SELECT 1 FROM area_rechecks") !== null;
      for (let turns = 0; left(); turns++) {
        if (turns > 2_000) throw new Error("the watch does not come to rest");
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async restart() {
      await fixture.areas.stop();
      fixture.areas = begin();
      await fixture.settle();
    },
    async close() {
      await fixture.areas.stop();
      await scene.close();
    },
  };
  return fixture;
}

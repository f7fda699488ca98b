import { systemClock } from "../../src/base/clock.ts";
import { silentLog } from "../../src/base/log.ts";
import type { Broadcaster } from "../../src/broadcast/broadcaster.ts";
import { laneOf } from "../../src/broadcast/stage.ts";
import { type AcceptNeeds, acceptTogether } from "../../src/broadcast/stages/accept.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/onprem.ts";
import type { Settings } from "../../src/settings/schema.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi, STANDING_CLOCK } from "./api-fixture.ts";
import type { Received } from "./sending.ts";

/** The API of an appliance that accepts messages and sends nothing. */
export interface StartsFixture {
  api: ApiFixture;
  endpointId: string;
  /** Makes a row over the API and gives it. */
  create(path: string, json: object): Promise<Received["body"]>;
}

/** Opens the fixture. */
export async function openStarts(settings?: Settings): Promise<StartsFixture> {
  const broadcaster = {
    sendTogether: (messages, by, belong) => acceptTogether(messages, by, belong, acceptNeeds),
  } as Partial<Broadcaster> as Broadcaster;
  const api = await openApi(makeTempDir(), {
    clock: STANDING_CLOCK,
    needs: { broadcaster, ...(settings ? { settings } : {}) },
  });
  const { store, system } = api;
  await store.create(extensions, { name: "Own", type: "endpoint-proxy" }, system, { id: ONPREM_EXTENSION_ID });
  const { id: endpointId } = await store.create(endpoints, { name: "A", extensionId: ONPREM_EXTENSION_ID }, system);
  const needs: Partial<AcceptNeeds> = {
    store,
    clock: systemClock,
    log: silentLog,
    endpointId: () => endpointId,
    laneOf,
  };
  const acceptNeeds = needs as AcceptNeeds;
  return {
    api,
    endpointId,
    async create(path, json) {
      const answer = await api.call("POST", path, { json });
      if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
}

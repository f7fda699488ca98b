import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { writeLaneOf } from "../../src/notifications/engine/pipeline-stage.ts";
import { type AcceptDeps, acceptBatch } from "../../src/notifications/engine/stages/accept.ts";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import type { Settings } from "../../src/settings/schema.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, FROZEN_CLOCK, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

/** The API of an appliance that accepts messages and sends nothing. */
export interface ScenarioStartFixture {
  api: ApiFixture;
  endpointId: string;
  /** Makes a row over the API and gives it. */
  create(path: string, json: object): Promise<ReceivedResponse["body"]>;
}

/** Opens the fixture. */
export async function openScenarioStartFixture(settings?: Settings): Promise<ScenarioStartFixture> {
  const notificationService = {
    sendBatch: (messages, by, belong) => acceptBatch(messages, by, belong, acceptNeeds),
  } as Partial<NotificationService> as NotificationService;
  const api = await openApi(makeTempDir(), {
    clock: FROZEN_CLOCK,
    needs: { notificationService, ...(settings ? { settings } : {}) },
  });
  const { store, system } = api;
  await store.create(extensions, { name: "Own", type: "endpoint-proxy" }, system, { id: ONPREM_EXTENSION_ID });
  const { id: endpointId } = await store.create(endpoints, { name: "A", extensionId: ONPREM_EXTENSION_ID }, system);
  const needs: Partial<AcceptDeps> = {
    store,
    clock: systemClock,
    log: silentLog,
    endpointId: () => endpointId,
    laneOf: writeLaneOf,
  };
  const acceptNeeds = needs as AcceptDeps;
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

import { afterAll, beforeAll, describe } from "vitest";
import { loadDeclarations, OWN_DECLARATIONS } from "../../src/app/load-declarations.ts";
import notifications from "../../src/resources/broadcasts/notifications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { describeResource } from "./resource-suite.ts";
import { createSampleRows } from "./sample-rows.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

/** What behaviours ask of values beyond the declarations. */
const TABLE = {
  "applications.redirectUris": ["https://app.example.org/back"],
  "applications.scopes": ["urn:service:users:read"],
  "confirmation-requests.options": ["Yes", "No"],
  "dynamic-replies.optionLabel": "Yes",
  "escalation-rules.optionLabel": "No",
  "device-groups.logicalExpression": null,
  "device-groups.filters": [
    { attribute: "Name", comparison: "EQUALS", value: "a", complement: false, caseSensitive: true },
  ],
  "devices.attributes": { Name: "Room 1" },
  "endpoint-activities.type": "restart",
  "security-group-permissions.spec": "/users/*",
  "user-permissions.spec": "/users/*",
  "user-devices.type": "SMS",
  "triggers.spec": "/users/*",
  "triggers.secret": `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
};

const rows = createSampleRows(() => api, TABLE, {
  domains: async () => api.rootId,
  notifications: async () =>
    (await api.store.create(notifications, { subject: "Sample" }, api.system, { stage: "draft" })).id,
});

/** Made by the pipeline alone: their tests are those of sending. */
const SENT = new Set(["notifications"]);

/** Orders to an appliance always begin as pending. */
const DECIDED = new Set(["endpoint-activities.state"]);

const declarations = await loadDeclarations([OWN_DECLARATIONS]);

describe("every resource", () => {
  for (const resource of declarations.filter(({ name }) => !SENT.has(name))) {
    describeResource(resource, { api: () => api, rows, decided: DECIDED });
  }
});

import type { Page } from "playwright-core";
import type { Screenshot } from "./screenshots.ts";

const CLOUD = "https://cloud.example.org";
const AT = "2026-03-02T07:58:00.000Z";
const LATER = "2026-05-30T12:00:00.000Z";
const [NORTH, SOUTH] = ["0190b7c2-7f3a-7000-8000-0000000000a1", "0190b7c2-7f3a-7000-8000-0000000000a2"];

const LINKED = {
  ...{
    role: "appliance",
    endpointId: NORTH,
    mode: "cloud",
    hub: CLOUD,
    state: "connected",
    since: AT,
    connectedAt: AT,
  },
  ...{ reason: null, certificateUntil: LATER, unsentRows: 0, unsentSince: null, lagSeconds: 0, stagedRows: 0 },
  ...{ resyncing: false, refusedRows: 0, refused: [], secretTasks: [], initialSync: null },
  position: { applied: 41_800, received: 41_800, written: 912, taken: 912 },
};
const CUT_OFF = {
  ...{ ...LINKED, mode: "lan", state: "waiting", unsentRows: 31, unsentSince: AT, lagSeconds: 1_200 },
  reason: "connect ETIMEDOUT 192.0.2.7:443",
};
const HUB = { ...LINKED, role: "hub", hub: null, state: "none", position: null };

const APPLIANCE = {
  ...{ endpointId: NORTH, name: "North school", link: "linked", since: AT, heardAt: AT, version: "0.1.0" },
  ...{ certificateUntil: LATER, position: 41_800, head: 41_800, rowsBehind: 0, behindSince: null, openCommands: 0 },
  ...{ waitingRows: 0, waits: [], unsentRows: 0, unsentSince: null, alarms: [] },
  health: { status: "GREEN", reasons: [], at: AT },
};
const AWAY = {
  ...{ ...APPLIANCE, endpointId: SOUTH, name: "South school", link: "away", rowsBehind: 212, behindSince: AT },
  ...{ position: 41_588, unsentRows: 4, unsentSince: AT, openCommands: 2 },
  health: { status: "YELLOW", reasons: ["The last good backup is 3 days old."], at: AT },
};
const CONFLICT = {
  ...{ id: "0190b7c2-7f3a-7000-8000-0000000000c1", resource: "sites", rowId: NORTH, rowName: "Gymnasium" },
  ...{ op: "update", kind: "changed", endpointId: NORTH, actorName: "Anna Berg", at: AT, usable: true },
  fields: [{ name: "name", site: "Sports hall", present: "Gymnasium", siteName: null, presentName: null }],
};

/** Answers what a linked appliance, or its cloud, would. */
function answering(answers: Readonly<Record<string, unknown>>) {
  return async (page: Page): Promise<void> => {
    for (const [path, json] of Object.entries(answers)) {
      await page.route(new RegExp(`/api/v1/${path}(\\?|$)`), (route) =>
        route.request().method() === "GET" ? route.fulfill({ json }) : route.continue(),
      );
    }
  };
}

const atHub = answering({
  link: HUB,
  "link/appliances": { appliances: [APPLIANCE, AWAY] },
  "link/codes": { codes: [{ id: CONFLICT.id, endpointId: null, until: LATER }] },
});

/** Pages about the cloud, its appliances and who covers for whom. */
export const LINK_PAGES: readonly Screenshot[] = [
  { name: "link-alone", path: "/cloud", wait: "form" },
  { name: "link-cloud", path: "/cloud", wait: ".facts", before: answering({ link: LINKED }) },
  { name: "link-cut-off", path: "/cloud", wait: ".facts", before: answering({ link: CUT_OFF }) },
  { name: "link-pair-new", path: "/cloud?open=new", wait: "[role=dialog] input" },
  {
    ...{ name: "link-conflicts", path: "/link-conflicts", wait: ".difference" },
    before: answering({ "link/conflicts": { conflicts: [CONFLICT], more: 0 } }),
  },
  { name: "link-appliances", path: "/appliances", wait: ".lined li", before: atHub },
  { name: "link-appliance", path: `/appliances?open=${SOUTH}`, wait: "[role=dialog] .facts", before: atHub },
  { name: "link-log", path: "/activities", wait: "h1" },
];

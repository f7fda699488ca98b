import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { NOTIFICATION_TABLES } from "../../../src/notifications/schema.ts";
import { createCertificateAuthority } from "../../../src/ops/tls/certificate-authority.ts";
import activationGroups from "../../../src/resources/devices/activation-groups.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createCertificateRequest, issueEndpointCertificate } from "../../../src/sync/identity/endpoint-certificate.ts";
import { readLocalIdentity } from "../../../src/sync/identity/local-identity.ts";
import { createFailoverCoordinator, type FailoverCoordinator } from "../../../src/wiring/failover-coordinator.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { advanceUntil } from "../../support/advance-until.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { unusedPort } from "../../support/free-port.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const NO_LINK = { revoked: { has: () => false }, sendHeartbeat: () => undefined, peerStarted: () => undefined };
const fail = (error: unknown): never => {
  throw error;
};
const clock = createFakeClock(Date.now());
const RING = "0199b1c2-0000-7000-8000-0000000000aa";
let store: Store;
let group: string;
const ids: string[] = [];
const all: FailoverCoordinator[] = [];

beforeAll(async () => {
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const files = { dataDir: makeTempDir(), tables: NOTIFICATION_TABLES };
  store = openStore({ ...files, catalogue, clock, events, log: silentLog, onFatal: fail });
  const extensionId = (await store.create(extensions, { name: "onprem" }, everybody)).id;
  for (const name of ["First", "Second"]) {
    ids.push((await store.create(endpoints, { extensionId, name }, everybody)).id);
  }
  const rule = { name: "All", priority: 1, filterType: "ACCEPT", endpointIds: ids };
  group = (await store.create(activationGroups, rule, everybody)).id;
  const authority = await createCertificateAuthority("hub", clock.now());
  const ports = [await unusedPort(), await unusedPort()];
  for (const [at, id] of ids.entries()) {
    const dataDir = makeTempDir();
    const { request, key } = await createCertificateRequest();
    const certificate = await issueEndpointCertificate(authority, request, id, clock.now());
    const identity = { hub: "https://hub.example.org", token: "t", key, certificate, authority: authority.certificate };
    mkdirSync(join(dataDir, "link"));
    writeFileSync(join(dataDir, "link", "identity.json"), JSON.stringify(identity));
    const failover = { listen: `127.0.0.1:${ports[at]}`, peers: [`127.0.0.1:${ports[1 - at]}`] };
    all.push(
      createFailoverCoordinator({
        ...{ store, clock, events: createEvents(fail), log: silentLog, by: everybody },
        settings: { ...defaultSettings(), failover },
        endpointId: () => id,
        hasCloud: () => false,
        link: { ...NO_LINK, identity: () => readLocalIdentity(dataDir) },
      }),
    );
  }
  await Promise.all(all.map((covering) => covering.start()));
});
afterAll(async () => {
  await Promise.all(all.map((covering) => covering.stop()));
  await store.close();
});

const until = (isSo: () => boolean): Promise<void> => advanceUntil(clock, isSo);

it("the first of a group acts; the second is ready, says so, and acts within 5 s of the first one's end", async () => {
  const [first, second] = all as [FailoverCoordinator, FailoverCoordinator];
  const [one, two] = ids as [string, string];
  await until(() => first.hasContact() && second.hasContact() && first.assignDuty(RING, group).holder === one);
  await until(() => second.status(one).activationGroupIds.length === 1);
  expect(first.status(one)).toMatchObject({
    ...{ role: "primary", state: "active", partnerEndpointId: two, activationGroupIds: [group], mode: "lan" },
    peers: [two],
  });
  expect(second.status(two)).toMatchObject({ role: "backup", state: "standby", activationGroupIds: [], peers: [one] });
  expect([first.isReachable(two), second.assignDuty(RING, group).holder === two, second.healthSource()]).toEqual([
    true,
    false,
    [],
  ]);

  await first.stop();
  const { state } = second.status(one);
  const began = clock.now();
  await until(() => second.status(two).state === "takeover");
  expect([state, clock.now() - began <= 5_500]).toEqual(["active", true]);
  expect(second.status(one).state).toBe("unreachable");
  expect(second.status(two)).toMatchObject({ mode: "solo", activationGroupIds: [group] });
  expect(second.healthSource().map(({ code }) => code)).toEqual([`failover:silent:${one}`, "failover:takeover"]);
});

it("what goes to no device that others could activate is its own turn", () => {
  expect(all[1]?.dutyOf(RING, clock.now())).toBe("go");
  expect(store.count(endpointActivities, {})).toBe(0);
});

it("of what is not shared out yet, nobody knows whose turn it is", async () => {
  const row = { subject: "Bell", domainId: null, priority: "normal" as const, userIds: [] };
  const own = { stage: "resolve", heldUntil: clock.now(), priorityLevel: 5 } as object;
  const { id } = await store.write((tx) => tx.create(notifications, row, everybody, own as never));
  expect(all[1]?.dutyOf(id, clock.now())).toBe("wait");
  await store.write((tx) => void tx.run("UPDATE notifications SET stage = 'prepare' WHERE id = ?", id));
  expect(all[1]?.dutyOf(id, clock.now())).toBe("go");
});

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listOwnSecretTasks, secretHealthReasons, secretTaskText } from "../../../src/cloud-link/secret-tasks.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import callmgrClusters from "../../../src/resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../../src/resources/callmgr/callmgr-onprem-servers.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import sites from "../../../src/resources/places/sites.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, Store } from "../../../src/store/store.ts";
import { replicatedBody } from "../../../src/sync/protocol/replicated-body.ts";
import { SECRET_MARKS, withSecretMarks } from "../../../src/sync/protocol/secret-marks.ts";
import { SECRET_MARKS_TABLE } from "../../../src/sync/site/secret-marks.ts";
import { createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { applyRow, applyRows, type RowBody } from "../../../src/sync/storage/transaction-program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const CATALOGUE = createCatalogue([callmgrClusters, callmgrOnpremServers, endpoints, extensions, sites]);
const by: ActorContext = {
  actor: { kind: "system", userId: null, name: "test", address: null },
  scope: fullScope(() => null),
};
const CLUSTER = {
  ...{ name: "Campus", axlAddress: "cm.example.org", axlUser: "axl", axlPassword: "hunter2-hunter2" },
  ...{ snmpVersion: "2", snmpCommunity: "community-4711" },
};

let cloud: Store;
let site: Store;
let endpointId: string;

const open = (): Store => {
  const fail = (error: unknown): never => {
    throw error;
  };
  return openStore({
    ...{ dataDir: makeTempDir(), inMemory: true, catalogue: CATALOGUE, tables: [SECRET_MARKS_TABLE] },
    ...{ clock: systemClock, events: createEvents(fail), log: silentLog, onFatal: fail },
  });
};
/** What the cloud's feed holds of a row. */
const published = (resource: typeof callmgrClusters | typeof extensions, id: string): RowBody => {
  const row = { ...cloud.get(resource as typeof extensions, id) };
  return withSecretMarks(resource, row, replicatedBody(resource, row));
};
/** The appliance applies the cloud's row: by itself, or in bulk as new rows come. */
async function arrives(resource: typeof callmgrClusters | typeof extensions, id: string, inBulk = false) {
  const runner = createSqliteProgramRunner(site, CATALOGUE, by);
  const row = { type: resource.name, id, body: published(resource, id) };
  if (inBulk) expect(await runner.transact(() => applyRows([row]))).toBe(true);
  else expect(await runner.transact(() => applyRow(row.type, row.id, row.body))).toBe("done");
}
const tasks = () => listOwnSecretTasks(site, CATALOGUE, endpointId);
const fieldsOf = () => tasks().map(({ field, reason, isNeeded }) => [field, reason, isNeeded]);
/** This appliance reads the phones of the cluster. */
const serve = (cucmClusterId: string, isPhoneGatherer: boolean, at = endpointId) =>
  site.create(callmgrOnpremServers, { cucmClusterId, endpointId: at, cmAddress: "192.0.2.1", cmUsername: "cti" }, by, {
    isPhoneGatherer,
  });

beforeEach(async () => {
  [cloud, site] = [open(), open()];
  const extension = await site.create(extensions, { name: "onprem" }, by);
  endpointId = (await site.create(endpoints, { name: "Own", extensionId: extension.id }, by)).id;
});
afterEach(async () => {
  await cloud.close();
  await site.close();
});

describe("a password of the cloud", () => {
  it("reveals nothing in the feed, and has another mark after each change", async () => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    const first = published(callmgrClusters, id);
    expect(JSON.stringify(first)).not.toMatch(/hunter2|community-4711|v1:/);
    expect(Object.keys(first[SECRET_MARKS] as object).sort()).toEqual(["axlPassword", "snmpCommunity"]);
    await cloud.update(callmgrClusters, id, { name: "Other" }, by);
    expect(published(callmgrClusters, id)[SECRET_MARKS]).toEqual(first[SECRET_MARKS]);
    await cloud.update(callmgrClusters, id, { axlPassword: CLUSTER.axlPassword }, by);
    expect(published(callmgrClusters, id)[SECRET_MARKS]).not.toEqual(first[SECRET_MARKS]);
  });

  it.each([false, true])("is to be entered at an appliance that uses it, until it is (in bulk: %s)", async (inBulk) => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    await arrives(callmgrClusters, id, inBulk);
    expect(tasks()).toEqual([]);
    await serve(id, true);
    expect(fieldsOf()).toEqual([
      ["axlPassword", "missing", true],
      ["snmpCommunity", "missing", true],
    ]);
    expect(tasks().map(secretTaskText)[0]).toBe(
      "Enter axlPassword of Campus at this appliance: secrets do not replicate.",
    );
    await site.update(callmgrClusters, id, { axlPassword: CLUSTER.axlPassword }, by);
    expect(fieldsOf()).toEqual([["snmpCommunity", "missing", true]]);
    await site.update(callmgrClusters, id, { snmpCommunity: CLUSTER.snmpCommunity }, by);
    expect(tasks()).toEqual([]);
    await arrives(callmgrClusters, id, inBulk);
    expect(tasks()).toEqual([]);
  });

  it("is to be entered again once it was changed in the cloud", async () => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    await arrives(callmgrClusters, id);
    await serve(id, true);
    await site.update(callmgrClusters, id, { axlPassword: "x", snmpCommunity: "y" }, by);
    await cloud.update(callmgrClusters, id, { axlPassword: "another" }, by);
    await arrives(callmgrClusters, id);
    expect(fieldsOf()).toEqual([["axlPassword", "changed", true]]);
    expect(secretHealthReasons(tasks())).toEqual([
      {
        level: "yellow",
        code: `secret:${id}:axlPassword`,
        reason: "Enter axlPassword of Campus again at this appliance: it was changed in the cloud.",
      },
    ]);
    await site.update(callmgrClusters, id, { axlPassword: "another" }, by);
    expect([tasks(), secretHealthReasons(tasks())]).toEqual([[], []]);
  });

  it("is dropped with its target, and then to be entered", async () => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    await arrives(callmgrClusters, id);
    await serve(id, true);
    await site.update(callmgrClusters, id, { axlPassword: "x", snmpCommunity: "y" }, by);
    const { axlPassword, snmpCommunity } = CLUSTER;
    await cloud.update(callmgrClusters, id, { axlAddress: "evil.example.org", axlPassword, snmpCommunity }, by);
    await arrives(callmgrClusters, id);
    expect(site.get(callmgrClusters, id)).toMatchObject({ axlPassword: null, snmpCommunity: null });
    expect(fieldsOf()).toEqual([
      ["axlPassword", "missing", true],
      ["snmpCommunity", "missing", true],
    ]);
  });

  it("counts as equal if it is older than the marks", async () => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    await site.create(callmgrClusters, CLUSTER, by, { id });
    await serve(id, true);
    await arrives(callmgrClusters, id);
    expect(tasks()).toEqual([]);
  });

  it("is no task once the cloud has none or the row is gone, nor at an appliance without the cluster", async () => {
    const { id } = await cloud.create(callmgrClusters, CLUSTER, by);
    await arrives(callmgrClusters, id);
    await serve(id, false);
    expect(fieldsOf().map(([, , isNeeded]) => isNeeded)).toEqual([false, false]);
    await cloud.update(callmgrClusters, id, { axlPassword: null, snmpCommunity: null }, by);
    await arrives(callmgrClusters, id);
    expect(tasks()).toEqual([]);
    const runner = createSqliteProgramRunner(site, CATALOGUE, by);
    await runner.transact(() => applyRow(callmgrClusters.name, id, null));
    expect(site.all("SELECT * FROM secret_marks")).toEqual([]);
  });
});

describe("a plugin's password", () => {
  it("is to be entered where the plugin is set up, later elsewhere, and not where it is disabled", async () => {
    const config = { host: "mail.example.org", password: cloud.secrets.seal("secret-1") };
    const { id } = await cloud.create(extensions, { name: "email" }, by, { config, plugin: "email" });
    await site.create(extensions, { name: "email" }, by, { id, plugin: "email" });
    await arrives(extensions, id);
    expect(JSON.stringify(published(extensions, id))).not.toContain("mail.example.org");
    expect(fieldsOf()).toEqual([["config.password", "missing", false]]);
    await site.update(extensions, id, {}, by, { config: { host: "mail.example.org" } });
    expect(fieldsOf()).toEqual([["config.password", "missing", true]]);
    await site.update(extensions, id, { disabled: true }, by);
    expect(tasks()).toEqual([]);
    await site.update(extensions, id, { disabled: false }, by);
    const sealed = { host: "mail.example.org", password: site.secrets.seal("secret-1") };
    await site.update(extensions, id, {}, by, { config: sealed });
    expect(tasks()).toEqual([]);
  });
});

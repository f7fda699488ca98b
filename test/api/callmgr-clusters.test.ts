import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../src/lib/ids.ts";
import callmgrClusters from "../../src/resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../src/resources/callmgr/callmgr-onprem-servers.ts";
import devices from "../../src/resources/devices/devices.ts";
import endpointActivities from "../../src/resources/devices/endpoint-activities.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { replicatedBody } from "../../src/sync/protocol/replicated-body.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

const BASE = { name: "Campus", axlAddress: "publisher.example.org", axlUser: "axl", axlPassword: "hunter2-hunter2" };
const V2 = { snmpVersion: "2", snmpCommunity: "community-4711" };
const V3 = {
  snmpVersion: "3",
  snmpUsername: "watcher",
  snmpAuthPassword: "authority-4712",
  snmpEncryptPassword: "privacy-4713",
};

describe("call-manager clusters and activation groups", () => {
  const dataDir = makeTempDir();
  let api: ApiFixture;
  const here: string[] = [];
  beforeAll(async () => {
    api = await openApi(dataDir);
    const { store, system } = api;
    const onprem = { name: "onprem", type: "endpoint-proxy" };
    await store.create(extensions, onprem, system, { id: ONPREM_EXTENSION_ID });
    for (const name of ["North", "South"]) {
      here.push((await store.create(endpoints, { extensionId: ONPREM_EXTENSION_ID, name }, system)).id);
    }
  });
  afterAll(() => api.close());

  const post = (input: object, path = "/callmgr-clusters") => api.call("POST", path, { json: input });

  it("need what their version of SNMP needs, when they are made and when they are changed", async () => {
    expectError(await post({ ...BASE, snmpVersion: "2" }), 400, "required", "snmpCommunity");
    expectError(await post({ ...BASE, snmpVersion: "1", snmpCommunity: "x" }), 400, "invalid-value", "snmpVersion");
    for (const field of ["snmpUsername", "snmpAuthPassword", "snmpEncryptPassword"]) {
      expectError(await post({ ...BASE, ...V3, [field]: null }), 400, "required", field);
    }
    const { id } = (await post({ ...BASE, ...V2 })).body;
    const change = (input: object) => api.call("PUT", `/callmgr-clusters/${id}`, { json: input });
    expectError(await change({ snmpVersion: "3" }), 400, "required", "snmpUsername");
    expectError(await change({ snmpCommunity: null }), 400, "required", "snmpCommunity");
    expect((await change(V3)).body).toMatchObject({ snmpVersion: "3", snmpUsername: "watcher" });
  });

  it("ask for their passwords again when they would go to another host or user", async () => {
    const { id } = (await post({ ...BASE, ...V3, name: "Annexe" })).body;
    const change = (input: object) => api.call("PUT", `/callmgr-clusters/${id}`, { json: input });
    const elsewhere = { axlAddress: "evil.example.org" };
    const refused = await change(elsewhere);
    expectError(refused, 400, "required", "axlPassword");
    expect(refused.body.errors.map(({ field }: { field: string }) => field)).toEqual([
      "axlPassword",
      "snmpAuthPassword",
      "snmpEncryptPassword",
    ]);
    expectError(await change({ axlUser: "root" }), 400, "required", "axlPassword");
    expectError(await change({ snmpUsername: "root" }), 400, "required", "snmpAuthPassword");
    expect((await change({ name: "Annexe 2", axlAddress: BASE.axlAddress })).status).toBe(200);
    const { axlPassword } = BASE;
    const { snmpAuthPassword, snmpEncryptPassword } = V3;
    const all = { axlPassword, snmpAuthPassword, snmpEncryptPassword };
    expect((await change({ ...elsewhere, ...all })).body).toMatchObject(elsewhere);
  });

  it("lose a password that is kept here when another side changes the host that it is for", async () => {
    const { store, system } = api;
    const { id } = (await post({ ...BASE, ...V3, name: "West" })).body;
    const apply = (change: object) =>
      store.write((tx) => {
        const body = replicatedBody(callmgrClusters, tx.get(callmgrClusters, id) as never);
        tx.apply(callmgrClusters, id, { ...body, ...change } as never, { ...system, replicated: true });
      });
    const kept = () => {
      const row = store.get(callmgrClusters, id);
      return [row?.axlPassword, row?.snmpAuthPassword, row?.snmpEncryptPassword].map((secret) => secret !== null);
    };
    await apply({ name: "West 2" });
    expect(kept()).toEqual([true, true, true]);
    await apply({ axlUser: "root" });
    expect(kept()).toEqual([false, true, true]);
    await apply({ axlAddress: "evil.example.org" });
    expect(kept()).toEqual([false, false, false]);
  });

  it("never return or store a secret in clear, under either path", async () => {
    const made = await api.call("POST", "/callmgr-clusters", { json: { ...BASE, ...V3, ...V2, snmpVersion: "3" } });
    const server = { endpointId: here[0], cmAddress: "192.0.2.1", cmUsername: "cti", cmPassword: "jtapi-4714" };
    const told = [made, await post(server, `/callmgr-clusters/${made.body.id}/onprem-servers`)];
    const root = api.base.replace(/\/v1$/, "");
    const listed = await fetch(`${root}/onprem/v1/admin/telephony?ids[]=${made.body.id}`, {
      headers: { authorization: `Bearer ${api.token}` },
    });
    const texts = [...told.map(({ text }) => text), await listed.text(), api.logText()];
    const files = ["carillon.db", "carillon.db-wal"].map((name) => readFileSync(join(dataDir, name), "latin1"));
    for (const secret of ["hunter2", "community-4711", "authority-4712", "privacy-4713", "jtapi-4714"]) {
      for (const text of [...texts, ...files]) expect(text.includes(secret), secret).toBe(false);
    }
    expect(texts[2]).toContain(made.body.id);
  });

  it("lead to hosts that may be called alone", async () => {
    for (const host of [
      "127.0.0.1",
      "localhost",
      "[::1]:8443",
      "169.254.169.254",
      "::ffff:127.0.0.1",
      "a b",
      "x:0",
      "",
    ]) {
      const answer = await post({ ...BASE, ...V2, axlAddress: host });
      expectError(answer, 400, answer.body.type, "axlAddress");
    }
    const url = { nextAuthenticationUrl: "http://127.0.0.1/auth" };
    expectError(await post({ ...BASE, ...V2, ...url }), 400, "invalid-value", "nextAuthenticationUrl");
    for (const host of ["publisher", "192.0.2.7:8443", "[2001:db8::1]", "2001:db8::1"]) {
      expect((await post({ ...BASE, ...V2, axlAddress: host })).status).toBe(200);
    }
  });

  it("are polled by one appliance: the first, the selected, or the next one", async () => {
    const cluster = (await post({ ...BASE, ...V2 })).body.id;
    const servers = `/callmgr-clusters/${cluster}/onprem-servers`;
    const input = { cmAddress: "192.0.2.1,cti.example.org", cmUsername: "cti" };
    const ids: string[] = [];
    for (const endpointId of here) ids.push((await post({ ...input, endpointId }, servers)).body.id);
    expectError(await post({ ...input, cmAddress: "192.0.2.1,,", endpointId: here[0] }, servers), 400, "invalid-value");
    const listed = await api.call("GET", `/callmgr-clusters?callmgrClusterOnpremServerId=${ids[1]}`);
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([cluster]);
    expect((await api.call("GET", `/callmgr-clusters?callmgrClusterOnpremServerId=${cluster}`)).body.total).toBe(0);
    const gatherers = async (): Promise<boolean[]> =>
      (await api.call("GET", `/callmgr-clusters/${cluster}`)).body.callmgrClusterOnpremServers.map(
        ({ isPhoneGatherer }: { isPhoneGatherer: boolean }) => isPhoneGatherer,
      );
    expect(await gatherers()).toEqual([true, false]);
    expect((await api.call("POST", `${servers}/${ids[1]}/phone-gatherer`)).body.isPhoneGatherer).toBe(true);
    expect(await gatherers()).toEqual([false, true]);
    // Both sides of a link must agree, whatever the order in which the rows arrive.
    const replicated = { ...api.system, replicated: true };
    await api.store.write((tx) => tx.remove(callmgrOnpremServers, ids[1] as string, replicated));
    expect(await gatherers()).toEqual([false]);
    await api.call("POST", `${servers}/${ids[0]}/phone-gatherer`);
    const other = (await post({ ...BASE, ...V2 })).body.id;
    const arrived = { ...input, cucmClusterId: other, endpointId: here[0], isPhoneGatherer: false };
    await api.store.write((tx) => tx.apply(callmgrOnpremServers, newId(), arrived as never, replicated));
    expect(api.store.count(callmgrOnpremServers, { cucmClusterId: other, isPhoneGatherer: true })).toBe(0);
    ids[1] = (await post({ ...input, endpointId: here[1] }, servers)).body.id;
    await api.call("POST", `${servers}/${ids[1]}/phone-gatherer`);
    await api.call("DELETE", `${servers}/${ids[1]}`);
    expect(await gatherers()).toEqual([true]);
    expectError(await api.call("POST", `${servers}/${ids[1]}/phone-gatherer`), 404, "not-found");
  });

  it("store CTI fields and report that CTI is not supported", async () => {
    const cluster = (await post({ ...BASE, ...V2 })).body.id;
    const input = { endpointId: here[0], cmAddress: "192.0.2.1", cmUsername: "cti", jtapiPhoneActivationEnabled: true };
    const made = await post(input, `/callmgr-clusters/${cluster}/onprem-servers`);
    expect(made.body.jtapiPhoneActivationEnabled).toBe(true);
    const told = api.store.find(endpointActivities, { endpointId: here[0] as string }).at(-1);
    expect(told).toMatchObject({ type: "log-message", severity: "warn" });
    expect(told?.value).toMatchObject({ callmgrClusterId: cluster, message: expect.stringContaining("HTTP") });
  });

  it("warn of CTI values when they are written, in JSON and in forms, and refuse them from strict callers", async () => {
    const cluster = (await post({ ...BASE, ...V2 })).body.id;
    const at = `/callmgr-clusters/${cluster}/onprem-servers`;
    const flags = ["jtapiPhoneActivationEnabled", "jtapiStaticTerminalsEnabled", "makeCtiConnection"];
    const input = { endpointId: here[0], cmAddress: "192.0.2.1", cmUsername: "cti" };
    const warned = ({ body }: { body: { warnings?: { code: string; parameter: string }[] } }) =>
      (body.warnings ?? []).map(({ code, parameter }) => `${code} ${parameter}`);
    const made = await post({ ...input, ...Object.fromEntries(flags.map((flag) => [flag, true])) }, at);
    expect(warned(made)).toEqual(flags.map((flag) => `unsupported-value ${flag}`));
    const secured = { ...BASE, ...V2, name: "Secured", secureConnection: true };
    expect(warned(await post(secured))).toEqual(["unsupported-value secureConnection"]);
    const one = `${at}/${made.body.id}`;
    const change = (form: [string, string][]) => api.call("PUT", one, { form });
    expect(warned(await change([["make-cti-connection", "true"]]))).toEqual(["unsupported-value makeCtiConnection"]);
    expect(
      warned(
        await change([
          ["makeCtiConnection", "false"],
          ["allowRestartForJtapiUpdate", ""],
        ]),
      ),
    ).toEqual([]);
    expectError(
      await api.call("PUT", `${one}?strict=true`, { json: { allowRestartForJtapiUpdate: true } }),
      400,
      "invalid-value",
      "allowRestartForJtapiUpdate",
    );
    expect((await api.call("GET", one)).body).toMatchObject({
      allowRestartForJtapiUpdate: false,
      syncId: null,
    });
  });

  it("say which appliance would activate a device, by priority and reach", async () => {
    const { store, system } = api;
    const device = async (deviceIdentifier: string): Promise<string> => {
      const input = { extensionId: ONPREM_EXTENSION_ID, endpointId: here[0], deviceIdentifier, type: "phones" };
      const attributes = { Name: deviceIdentifier };
      return (await store.create(devices, { ...input, description: "Room", attributes }, system)).id;
    };
    const phone = await device("SEP001122334455");
    const other = await device("SEP001122334466");
    const activation = async (id: string) => (await api.call("GET", `/devices/${id}/activation`)).body;
    expect(await activation(phone)).toMatchObject({ activationGroupId: null });
    expectError(await post({ name: "Nowhere", endpointIds: [], priority: 1 }, "/activation-groups"), 400, "required");
    const all = { name: "All", endpointIds: here, priority: 9, filterType: "ACCEPT" };
    const one = { name: "One", endpointIds: [...here].reverse(), priority: 3, additionIds: ["SEP001122334455"] };
    const groups = [(await post(all, "/activation-groups")).body, (await post(one, "/activation-groups")).body];
    expect(groups[1].endpoints).toMatchObject([{ id: here[1], name: "South" }, { id: here[0] }]);
    const describing = (await api.call("GET", `/devices/${phone}/activation-groups`)).body.data;
    expect(describing.map(({ name }: { name: string }) => name)).toEqual(["One", "All"]);
    expect(await activation(phone)).toMatchObject({ activationGroupId: groups[1].id });
    expect(await activation(other)).toMatchObject({ activationGroupId: groups[0].id });
    const filters = [{ attribute: "Name", comparison: "MATCHES_REGEX", value: "(" }];
    const put = await api.call("PUT", `/activation-groups/${groups[0].id}`, { json: { filters } });
    expectError(put, 400, "invalid-value", "filters");
  });
});

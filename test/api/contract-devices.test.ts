import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type ContractBody, createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
let onprem: string;
let self: string;
const phones: ContractBody[] = [];
beforeAll(async () => {
  daemon = await startTestDaemon();
  onprem = `/extensions/${daemon.first.extensionId}`;
  self = `${onprem}/endpoints/${daemon.first.endpointId}`;
  for (const [at, room] of ["North 1", "North 2", "South 1"].entries()) {
    const attributes = { Name: `SEP00112233445${at}`, Location: room.split(" ")[0], Volume: at };
    const body = { type: "phones", deviceIdentifier: `SEP00112233445${at}`, description: room, attributes };
    phones.push(await create(`${self}/devices`, body));
  }
  await create(`${self}/devices`, {
    type: "speakers",
    deviceIdentifier: "zone:gym",
    description: "Gym",
    attributes: { ...ZONE, MACAddress: "aa:bb:cc:dd:ee:01" },
  });
});
afterAll(() => daemon.stop());

async function found(query: string): Promise<string> {
  const { status, body } = await call("GET", `/devices?${query}`);
  expect(status).toBe(200);
  return body.data.map((row) => String(row.description)).join(", ");
}

function json(value: unknown): string {
  return encodeURIComponent(JSON.stringify(value));
}

type Row = readonly [claim: string, check: () => Promise<unknown>];
const ZONE = { Group: "239.1.1.1", Port: "5004", Codec: "PCMU" };
const SOUTH_2 = { type: "phones", description: "South 2", attributes: { Location: "South" } };
const NORTH = { attribute: "Location", comparison: "EQUALS", value: "North" };
const ONE = { attribute: "Description", comparison: "ENDS_WITH", value: "1" };

const EXTENSIONS: readonly Row[] = [
  [
    "the plugins' extensions and onprem (endpoint-proxy) are there",
    async () => {
      const { data } = (await call("GET", "/extensions")).body;
      expect(data.map((row) => row.type)).toContain("endpoint-proxy");
      expect((await call("GET", "/extensions?name=onprem")).body.data).toMatchObject([
        { id: daemon.first.extensionId, type: "endpoint-proxy" },
      ]);
    },
  ],
  [
    "triggers, configExports, featureRequired, requiresOptIn",
    async () => {
      const named = async (name: string) => (await call("GET", `/extensions?name=${name}`)).body.data[0];
      expect(await named("sms")).toMatchObject({ triggers: [], featureRequired: "sms", requiresOptIn: true });
      const phones = await named("ip-phones");
      expect(phones).toMatchObject({ triggers: [{ spec: "/callmgr-clusters/*" }], featureRequired: null });
      expect(phones).toMatchObject({ requiresOptIn: false });
      const email = await named("email");
      expect(email?.configExports).toContain("host");
      expect(email?.configExports).not.toContain("password");
      const given = await create("/extensions", { name: "Own", type: "device", deviceType: "apns" });
      const expected = { triggers: [], configExports: [], featureRequired: "applePush", requiresOptIn: true };
      expect(given).toMatchObject(expected);
      await call("DELETE", `/extensions/${given.id}`);
    },
  ],
  [
    "name required; type, deviceType, disabled, globalDisabled, deviceLimit, failureCode",
    async () => {
      expect(await refusal("POST", "/extensions", {})).toBe("400 required name");
      expect(await refusal("POST", "/extensions", { name: "n", type: "x" })).toBe("400 invalid-value type");
      const body = { name: "n", type: "device", deviceType: "pager", deviceLimit: 1, failureCode: "push-failed" };
      const { id } = await create("/extensions", body);
      expect((await call("PUT", `/extensions/${id}`, { disabled: "true", globalDisabled: true })).body).toMatchObject({
        ...body,
        disabled: true,
        globalDisabled: true,
      });
      const device = { type: "pager", name: "p", deviceIdentifier: "1" };
      await create(`/users/${daemon.first.userId}/devices`, device);
      const more = await refusal("POST", `/users/${daemon.first.userId}/devices`, { ...device, deviceIdentifier: "2" });
      expect(more).toBe("400 limit-exceeded");
      expect((await call("DELETE", `/extensions/${id}`)).status).toBe(200);
    },
  ],
];

const ENDPOINTS: readonly Row[] = [
  [
    "config adds backupSchedule, description, timeZone and the filters; devices are arbitrary data; isCucmMigrated is read-only",
    async () => {
      const config = {
        backupSchedule: "0 0 2 * * ?",
        description: "d",
        timeZone: "Europe/Berlin",
        phoneFilter: { filters: [] },
      };
      const body = { name: "Second", config, devices: { any: [1] }, isCucmMigrated: true };
      const endpoint = await create(`${onprem}/endpoints`, body);
      expect(endpoint).toMatchObject({ ...body, isCucmMigrated: false });
      for (const config of [
        { backupSchedule: "at two" },
        { backupSchedule: "0 61 2 * * ?" },
        { backupSchedule: 5 },
        { timeZone: "Europe/Nowhere" },
        { description: ["no text"] },
      ])
        expect([config, await refusal("PUT", self, { config })]).toEqual([config, "400 invalid-value config"]);
      const wrong = { config: { phoneFilter: { filters: Array.from({ length: 201 }, () => [NORTH]) } } };
      expect(await refusal("PUT", `${onprem}/endpoints/${endpoint.id}`, wrong)).toBe("400 invalid-value config");
      expect((await call("DELETE", `${onprem}/endpoints/${endpoint.id}`)).status).toBe(200);
    },
  ],
  [
    "buildInfo, status GREEN|YELLOW|RED, redReasons[], yellowReasons[]",
    async () => {
      const { body } = await call("GET", self);
      expect(["GREEN", "YELLOW", "RED"]).toContain(body.status);
      expect(body).toMatchObject({
        redReasons: expect.any(Array),
        yellowReasons: expect.any(Array),
        buildInfo: { version: expect.any(String) },
        hasMigratedSpeakers: false,
        skipEndpointHealthAssessment: false,
      });
      const { additionalFeatures, disabledFeatures } = body.buildInfo as Record<string, string[]>;
      expect(additionalFeatures).toContain("ip-phones");
      expect(disabledFeatures).toContain("sms");
      const bare = (await call("GET", `${self}?includeStatus=false&includeBuildInfo=false`)).body;
      expect(bare).not.toHaveProperty("status");
      expect(bare).not.toHaveProperty("buildInfo");
    },
  ],
  [
    "clients may POST the ten orders (state pending); any other type is a 400",
    async () => {
      const orders =
        "restart backup collect-logs device-sync phone-cache-rebuild full-resync upgrade upgrade-all replication-queue-reset replication-clean-up";
      for (const type of orders.split(" ")) {
        const order = await create(`${self}/activities`, { type, value: { a: 1 }, severity: "warn" });
        expect(order).toMatchObject({ type, value: { a: 1 }, severity: "warn" });
        expect(["pending", "success", "fail"]).toContain(order.state);
      }
      for (const type of ["message-sync", "log-message", "nothing"]) {
        expect(await refusal("POST", `${self}/activities`, { type })).toBe("400 invalid-value type");
      }
      expect(await refusal("POST", `${self}/activities`, {})).toBe("400 required type");
      expect((await call("GET", `${self}/activities?type=backup`)).body.total).toBe(1);
    },
  ],
];

const DEVICES: readonly Row[] = [
  [
    "deviceIdentifier, description and type required; type phones, speakers, plugins, idns, each with identifiers that are served",
    async () => {
      const { body } = await call("POST", `${self}/devices`, {});
      expect((body.errors as { field: string }[]).map(({ field }) => field)).toEqual([
        "deviceIdentifier",
        "description",
        "type",
      ]);
      const device = { deviceIdentifier: "x1", description: "d", type: "pagers" };
      expect(await refusal("POST", `${self}/devices`, device)).toBe("400 invalid-value type");
      expect(await refusal("POST", `${self}/devices`, { ...device, type: "idns" })).toBe(
        "400 invalid-value deviceIdentifier",
      );
    },
  ],
  [
    "a unique device id",
    async () => {
      const again = { deviceIdentifier: "SEP001122334450", description: "d", type: "phones" };
      expect(await refusal("POST", `${self}/devices`, again)).toMatch(/^409 conflict/);
    },
  ],
  [
    "icopId: MAC for speakers and desktop notifiers, else the device identifier",
    async () => {
      const { data } = (await call("GET", "/devices?sort=createdAt")).body;
      expect(data.map((row) => row.icopId)).toEqual([
        "SEP001122334450",
        "SEP001122334451",
        "SEP001122334452",
        "AABBCCDDEE01",
      ]);
    },
  ],
  [
    "a change of the identifier finds icopId and provider anew",
    async () => {
      const body = { type: "speakers", deviceIdentifier: "zone:old", description: "Old", attributes: ZONE };
      const { id } = await create(`${self}/devices`, body);
      expect((await call("PUT", `${self}/devices/${id}`, { deviceIdentifier: "zone:new" })).body.icopId).toBe(
        "zone:new",
      );
      expect(await refusal("PUT", `${self}/devices/${id}`, { type: "idns" })).toBe(
        "400 invalid-value deviceIdentifier",
      );
      await call("DELETE", `${self}/devices/${id}`);
    },
  ],
  ["attribute filters: description", async () => expect(await found("description=Gym")).toBe("Gym")],
  ["types: device types to partition by", async () => expect(await found(`types=${json(["speakers"])}`)).toBe("Gym")],
  [
    "icopIds: device ids to filter with",
    async () => expect(await found(`icop-ids=${json(["AABBCCDDEE01", "SEP001122334452"])}`)).toBe("South 1, Gym"),
  ],
  ["attributes (json)", async () => expect(await found(`attributes=${json({ Location: "South" })}`)).toBe("South 1")],
  [
    "deviceGroup: ad-hoc group to filter with",
    async () =>
      expect(await found(`deviceGroup=${json({ filterType: "AND", filters: [NORTH, ONE] })}`)).toBe("North 1"),
  ],
  ["name", async () => expect(await found("name=SEP001122334451")).toBe("North 2")],
  [
    "defunct devices are shown with includeDefunct",
    async () => {
      const at = `${self}/devices/${phones[2]?.id}`;
      expect((await call("PUT", at, { defunct: true })).body.defunct).toBe(true);
      expect(await found("")).toBe("North 1, North 2, Gym");
      expect(await found("includeDefunct=true")).toBe("North 1, North 2, South 1, Gym");
      expect(await found("defunct=true")).toBe("South 1");
      expect(await found(`types=${json(["phones"])}`)).toBe("North 1, North 2");
      expect(await found(`types=${json(["phones"])}&include-defunct=true`)).toBe("North 1, North 2, South 1");
      await call("PUT", at, { defunct: false });
    },
  ],
  [
    "includeEndpointDetails names the appliance",
    async () => {
      const { data } = (await call("GET", "/devices?includeEndpointDetails=true")).body;
      expect(data[0]).toMatchObject({ endpoint: { id: daemon.first.endpointId, name: expect.any(String) } });
      expect((await call("GET", "/devices")).body.data[0]).not.toHaveProperty("endpoint");
    },
  ],
  [
    "isLicensed follows the endpoint's filters, for devices that there are and those to come, everywhere",
    async () => {
      const first = await create(`${self}/devices`, { ...SOUTH_2, deviceIdentifier: "SEP001122334460" });
      const config = {
        phoneFilter: { filters: [NORTH] },
        speakerFilter: { filters: [[{ ...NORTH, complement: true }, ONE]] },
      };
      expect((await call("PUT", self, { config })).status).toBe(200);
      await expect.poll(() => found("isLicensed=true")).toBe("North 1, North 2");
      expect(await found("isLicensed=false")).toBe("South 1, Gym, South 2");
      expect((await call("GET", `${self}/devices?isLicensed=false`)).body.total).toBe(3);
      const second = await create(`${self}/devices`, { ...SOUTH_2, deviceIdentifier: "SEP001122334461" });
      expect(second.isLicensed).toBe(false);
      const moved = { attributes: { ...SOUTH_2.attributes, Location: "North" } };
      expect((await call("PUT", `${self}/devices/${first.id}`, moved)).body.isLicensed).toBe(true);
      const patterns = { idnFilter: { filters: [{ ...NORTH, comparison: "MATCHES_REGEX", value: "(" }] } };
      expect(await refusal("PUT", self, { config: patterns })).toBe("400 invalid-value config");
      expect((await call("PUT", self, { config: {} })).status).toBe(200);
      await expect.poll(() => found("isLicensed=false")).toBe("");
      for (const { id } of [first, second]) await call("DELETE", `${self}/devices/${id}`);
    },
  ],
  [
    "the same devices stand under extension and endpoint; /v1/devices is GET only",
    async () => {
      expect((await call("GET", `${onprem}/devices`)).body.total).toBe(4);
      expect((await call("GET", `${self}/devices?limit=1`)).body).toMatchObject({ total: 4, partial: true });
      expect(await refusal("PUT", `/devices/${phones[0]?.id}`, {})).toBe("405 method-not-allowed");
      expect(await refusal("DELETE", `/devices/${phones[0]?.id}`)).toBe("405 method-not-allowed");
    },
  ],
];

const GROUPS: readonly Row[] = [
  ["name required", async () => expect(await refusal("POST", "/device-groups", {})).toBe("400 required name")],
  ...(
    [
      [{ filters: [NORTH] }, 2],
      [{ filterType: "OR", filters: [NORTH, ONE] }, 3],
      [{ filterType: "AND", filters: [NORTH, ONE] }, 1],
      [{ filterType: "ACCEPT" }, 4],
      [{ filterType: "REJECT", filters: [NORTH] }, 0],
      [{ filterType: "LOGICAL_EXPRESSION", logicalExpression: "(1 and 2) OR not 1", filters: [NORTH, ONE] }, 3],
      [{ filterType: "AND", filters: [{ ...NORTH, complement: true }] }, 2],
      [{ filters: [{ attribute: "MACAddress", comparison: "BEGINS_WITH", value: "aa", caseSensitive: false }] }, 1],
      [{ filters: [{ attribute: "Name", comparison: "MATCHES_REGEX", value: "^SEP.*[01]$" }] }, 2],
      [{ filters: [{ attribute: "Description", comparison: "CONTAINS", value: "th" }] }, 3],
      [{ filterType: "REJECT", additionIds: ["AABBCCDDEE01"] }, 1],
      [{ filterType: "ACCEPT", exclusionIds: ["AABBCCDDEE01", "SEP001122334450"] }, 2],
    ] as const
  ).map(
    ([group, members]): Row => [
      `members of ${JSON.stringify(group)}`,
      async () => {
        const { id } = await create("/device-groups", { name: "G", ...group });
        expect((await call("GET", `/devices?deviceGroupId=${id}`)).body.total).toBe(members);
        const { body } = await call("GET", `/device-groups/${id}?includeDeviceCounts=true`);
        expect(Number(body.numPhones) + Number(body.numSpeakers) + Number(body.numIdns) + Number(body.numPlugins)).toBe(
          members,
        );
      },
    ],
  ),
  [
    "base groups, no circles, clone with filters, additions and exclusions",
    async () => {
      const base = await create("/device-groups", { name: "Base", filters: [NORTH] });
      const over = { filterType: "AND", filters: [ONE], baseDeviceGroupIds: [base.id], additionIds: ["AABBCCDDEE01"] };
      const group = await create("/device-groups", { name: "Over", ...over });
      expect((await call("GET", `/devices?deviceGroupId=${group.id}`)).body.total).toBe(2);
      expect(await refusal("PUT", `/device-groups/${base.id}`, { baseDeviceGroupIds: [group.id] })).toBe(
        "400 invalid-value baseDeviceGroupIds",
      );
      expect(await create(`/device-groups/${group.id}/clone`)).toMatchObject({ name: "Over (Copy)", ...over });
    },
  ],
  [
    "filters from bracketed form keys, booleans as strings, kebab-case members",
    async () => {
      const form = new FormData();
      const filter = { attribute: "Location", comparison: "EQUALS", value: "north", complement: "true" };
      const pairs: Record<string, string> = { name: "F", "filter-type": "AND", "additionIds[]": "AABBCCDDEE01" };
      for (const [name, value] of Object.entries(filter)) pairs[`filters[0][${name}]`] = value;
      pairs["filters[0][case-sensitive]"] = "false";
      for (const [name, value] of Object.entries(pairs)) form.append(name, value);
      const group = await create("/device-groups", form);
      expect(group).toMatchObject({ filterType: "AND", additionIds: ["AABBCCDDEE01"] });
      expect(group.filters).toEqual([{ ...filter, complement: true, caseSensitive: false }]);
      expect((await call("GET", `/devices?deviceGroupId=${group.id}`)).body.total).toBe(2);
    },
  ],
  [
    "filter limit per group 200; back-references and look-around are a 400",
    async () => {
      const most = Array.from({ length: 200 }, () => NORTH);
      await create("/device-groups", { name: "G", filters: most });
      expect(await refusal("POST", "/device-groups", { name: "G", filters: [...most, NORTH] })).toBe(
        "400 invalid-value filters",
      );
      for (const value of ["(a)\\1", "(?=a)", "(?<!a)b"]) {
        const filters = [{ attribute: "Name", comparison: "MATCHES_REGEX", value }];
        expect(await refusal("POST", "/device-groups", { name: "G", filters })).toBe("400 invalid-value filters");
      }
    },
  ],
];

for (const [title, rows] of Object.entries({ EXTENSIONS, ENDPOINTS, DEVICES, "device groups": GROUPS })) {
  describe(title.toLowerCase(), () => {
    it.each(rows)("%s", async (_claim, check) => void (await check()));
  });
}

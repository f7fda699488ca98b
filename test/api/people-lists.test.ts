import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

async function names(path: string): Promise<string[]> {
  const { status, body } = await call("GET", path);
  expect([path, status]).toEqual([path, 200]);
  return body.data.map(({ name }) => String(name));
}
const tokenOf = async (userId: string): Promise<string> =>
  (await create(`/users/${userId}/tokens`, { name: "t" })).token;

describe("users", () => {
  it("are filtered by identity provider, home domain and visibility", async () => {
    const [eve, program] = [
      await create("/users", { name: "Eve", email: "eve@users.example.org" }),
      await create("/users", { name: "Sender", type: "application" }),
    ];
    const { providerIdpId } = (await call("GET", `/users/${eve.id}`)).body;
    expect(await names(`/users?providerIdpId=${providerIdpId}`)).toEqual(expect.arrayContaining(["Eve", "Sender"]));
    expect(await names(`/users?providerIdpId=${eve.id}`)).toEqual([]);
    expect(await refusal("GET", "/users?providerIdpId=x")).toBe("400 invalid-value providerIdpId");

    const north = await create("/domains", { name: "North" });
    await create("/users", { name: "Nora", domain: north.id, email: "nora@users.example.org" });
    expect(await names(`/users?globalDomainId=${north.id}`)).toEqual(["Nora"]);
    await create(`/domains/${north.id}/users`, { id: program.id, promote: true, demote: true });
    const rest = await names(`/users?globalDomainId=${eve.domainId}`);
    expect([rest.includes("Eve"), rest.includes("Nora")]).toEqual([true, false]);
    const seen = await names(`/users?actingDomainId=${north.id}`);
    expect([seen.includes("Nora"), seen.includes("Eve")]).toEqual([true, false]);
    expect(await refusal("GET", `/users?actingDomainId=${eve.id}`)).toBe("400 invalid-value actingDomainId");
  });

  it("show what the licence makes of them, and whether they have a device that is on", async () => {
    const ann = await create("/users", { name: "Ann", email: "ann@users.example.org" });
    expect(ann).toMatchObject({ licenseState: "licensed", deviceState: null });
    expect(await create("/users", { name: "Bot", type: "application" })).toMatchObject({ licenseState: "excluded" });
    const phone = await create(`/users/${ann.id}/devices`, { type: "SMS", name: "P", deviceIdentifier: "+49301" });
    const state = async () => (await call("GET", `/users/${ann.id}`)).body.deviceState;
    expect(await state()).toBe("enabled");
    await call("PUT", `/users/${ann.id}/devices/${phone.id}`, { disabled: true });
    expect(await state()).toBe("disabled");
  });

  it("are shown without the groups of a directory", async () => {
    const bob = await create("/users", { name: "Bob", email: "bob@users.example.org" });
    const [own, tied] = [
      await create("/security-groups", { name: "Own" }),
      await create("/security-groups", { name: "Tied" }),
    ];
    await create(`/security-groups/${own.id}/members`, { userId: bob.id });
    const staff = await create("/scim-groups", { name: "Staff", externalId: "staff" });
    await create(`/scim-groups/${staff.id}/members`, { userId: bob.id });
    await create(`/security-groups/${tied.id}/scim-groups`, { scimGroupId: staff.id });
    const groups = async (query: string) =>
      ((await call("GET", `/users/${bob.id}${query}`)).body.securityGroups as { name: string }[]).map(
        ({ name }) => name,
      );
    expect(await groups("")).toEqual(["Own", "Tied"]);
    expect(await groups("?excludeScim=true")).toEqual(["Own"]);
    expect(await groups("?excludeScim=false")).toEqual(["Own", "Tied"]);
  });

  it("are hidden if the caller may not see them", async () => {
    const [ann, eve] = [
      await create("/users", { name: "Ann 2", email: "ann-2@users.example.org" }),
      await create("/users", { name: "Eve 2", email: "eve-2@users.example.org" }),
    ];
    const token = await tokenOf(eve.id);
    expect(await refusal("GET", `/users/${ann.id}`, undefined, token)).toBe("404 not-found");
    expect((await call("GET", `/users/${eve.id}/devices`, undefined, token)).status).toBe(200);
  });
});

describe("users found by their devices", () => {
  it("are found only with permission to read their devices and the area", async () => {
    const ann = await create("/users", { name: "Ann 4", email: "ann-4@users.example.org" });
    const field = await create("/areas-of-interest", {
      ...{ name: "Field", geometryType: "circle" },
      geometryValue: {
        type: "Feature",
        geometry: { type: "Point", coordinates: [20, 40] },
        properties: { radiusInM: 9 },
      },
    });
    const deviceIdentifier = "ann-4";
    const app = await create(`/users/${ann.id}/devices`, { type: "Android", name: "App", deviceIdentifier });
    await create(`/users/${ann.id}/devices/${app.id}/locations`, { latitude: 40, longitude: 20, accuracyInM: 1 });
    const questions = [`areaOfInterestId=${field.id}`, "deviceType=Android", `deviceIdentifier=${deviceIdentifier}`];
    const found = async (token?: string) =>
      Promise.all(
        questions.map(async (question) => {
          const { status, body } = await call("GET", `/users?${question}`, undefined, token);
          return status === 200 && body.data.some(({ id }) => id === ann.id);
        }),
      );
    const readers = async (...specs: string[]) => {
      const [reader, group] = [
        await create("/users", { name: "R", email: `${crypto.randomUUID()}@users.example.org` }),
        await create("/security-groups", { name: `For ${specs.join()}` }),
      ];
      for (const spec of ["/users/*", ...specs]) {
        await create(`/security-groups/${group.id}/permissions`, { verb: "get", spec });
      }
      await create(`/security-groups/${group.id}/members`, { userId: reader.id });
      const token = await tokenOf(reader.id);
      expect((await call("GET", `/users/${ann.id}`, undefined, token)).status).toBe(200);
      return token;
    };
    expect(await found()).toEqual([true, true, true]);
    expect(await found(await readers())).toEqual([false, false, false]);
    expect(await found(await readers("/areas-of-interest/*"))).toEqual([false, false, false]);
    expect(await found(await readers("/users/*/devices/*"))).toEqual([false, true, true]);
    expect(await found(await readers("/users/*/devices/*", "/areas-of-interest/*"))).toEqual([true, true, true]);
    expect(await found(await tokenOf(ann.id))).toEqual([false, true, true]);

    const sent = await create("/notifications", { subject: "Who is on the field?", userIds: [ann.id] });
    const inside = async (token?: string) => {
      const at = `/notifications/${sent.id}/recipients?areaOfInterestId=${field.id}`;
      const { status, body } = await call("GET", at, undefined, token);
      return [status, body.total];
    };
    await expect.poll(() => inside()).toEqual([200, 1]);
    const recipients = ["/notifications/*", "/notifications/*/recipients/*"];
    expect(await inside(await readers(...recipients))).toEqual([200, 0]);
    expect(await inside(await readers(...recipients, "/areas-of-interest/*"))).toEqual([200, 1]);
  });
});

describe("devices of users", () => {
  it("show the areas they are in, and the appliance's device of the same identifier, to who asks and may know", async () => {
    const ann = await create("/users", { name: "Ann 3", email: "ann-3@users.example.org" });
    const geometryValue = {
      type: "Feature",
      geometry: { type: "Point", coordinates: [13, 52] },
      properties: { radiusInM: 500 },
    };
    const yard = await create("/areas-of-interest", { name: "Yard", geometryType: "circle", geometryValue });
    const { extensionId, endpointId } = daemon.first;
    const desk = await create(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
      ...{ type: "phones", deviceIdentifier: "SEP00112233AABB", description: "Desk" },
    });
    const at = `/users/${ann.id}/devices`;
    const app = await create(at, { type: "Android", name: "App", deviceIdentifier: "token" });
    await create(`${at}/${app.id}/locations`, { latitude: 52, longitude: 13, accuracyInM: 5 });
    await create(at, { type: "desktop", name: "Desk", deviceIdentifier: "sep00112233aabb" });
    const listed = async (query: string, token?: string) =>
      (await call("GET", `${at}${query}`, undefined, token)).body.data;

    const [plainApp, plainDesk] = await listed("");
    expect(plainApp).toMatchObject({ endpointId: null, icopId: null });
    expect(plainDesk).toMatchObject({ endpointId, icopId: "SEP00112233AABB" });
    expect(plainDesk).not.toHaveProperty("endpointDevice");
    expect(plainApp).not.toHaveProperty("areasOfInterest");
    const [shownApp, shownDesk] = await listed("?includeAois=true&includeEndpointDevices=true");
    expect(shownApp).toMatchObject({ areasOfInterest: [{ id: yard.id, name: "Yard" }], endpointDevice: null });
    expect(shownDesk).toMatchObject({ areasOfInterest: [], endpointDevice: { id: desk.id, description: "Desk" } });

    const [ownApp, ownDesk] = await listed("?includeAois=true&includeEndpointDevices=true", await tokenOf(ann.id));
    expect(ownApp).toMatchObject({ areasOfInterest: [] });
    expect(ownDesk).toMatchObject({ endpointId: null, icopId: null, endpointDevice: null });
  });

  it("are filtered by licence", async () => {
    const max = await create("/users", { name: "Max", email: "max@users.example.org" });
    const at = `/users/${max.id}/devices`;
    await create(at, { type: "SMS", name: "Phone", deviceIdentifier: "+49302" });
    expect(await names(`${at}?licensed=true`)).toEqual(["Phone"]);
    expect(await names(`${at}?licensed=false`)).toEqual([]);
    expect((await call("GET", `/users/${daemon.first.endpointId}/devices`)).status).toBe(404);
  });
});

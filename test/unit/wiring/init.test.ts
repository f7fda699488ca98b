import { statSync } from "node:fs";
import { join } from "node:path";
import { verify } from "@node-rs/argon2";
import { describe, expect, it } from "vitest";
import { actorOf } from "../../../src/auth/principal.ts";
import { CallerError, UpstreamError } from "../../../src/lib/errors.ts";
import brandings from "../../../src/resources/branding/brandings.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import domains from "../../../src/resources/domains/domains.ts";
import users from "../../../src/resources/people/users.ts";
import notificationProfiles from "../../../src/resources/profiles/notification-profiles.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import ttsDefaults from "../../../src/resources/speech/tts-defaults.ts";
import { openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { initAppliance, seedMissingDefaults } from "../../../src/wiring/init.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const ADMIN = { email: "admin@example.org", password: "correct horse battery" };

describe("init", () => {
  it("makes an administrator who may do everything, the root domain, and this appliance as an endpoint", async () => {
    const dataDir = join(makeTempDir(), "data");
    const clock = createFakeClock();
    const made = await initAppliance(dataDir, ADMIN, clock);
    const { store, access, close } = await openApplianceDataOffline(dataDir, clock);
    const admin = access.authenticate(made.token);
    expect(admin).toMatchObject({ userId: made.userId, email: ADMIN.email });
    if (!admin) return;
    expect(actorOf(admin, null).name).toBe("Administrator");
    expect(access.resolveScope(admin, made.domainId).allows("delete", `/users/${made.userId}`)).toBe(true);
    expect(access.identityProvider()?.id).toBe(made.providerId);
    expect(store.get(domains, made.domainId)).toMatchObject({ parentId: null, path: made.domainId, namePath: "Root" });
    expect(store.find(securityGroups, { superGroup: true }).map(({ name }) => name)).toEqual(["Administrators"]);
    expect(made.extensionId).toBe(ONPREM_EXTENSION_ID);
    expect(store.get(endpoints, made.endpointId)?.extensionId).toBe(ONPREM_EXTENSION_ID);
    await close();
  });

  it("keeps the password as an argon2id hash, and the data to the own user", async () => {
    const dataDir = join(makeTempDir(), "data");
    const { userId } = await initAppliance(dataDir, ADMIN, createFakeClock());
    const { store, close } = await openApplianceDataOffline(dataDir, createFakeClock());
    const hash = store.get(users, userId)?.passwordHash as string;
    expect(hash).toMatch(/^\$argon2id\$/);
    expect(await verify(hash, ADMIN.password)).toBe(true);
    expect(await verify(hash, "another password")).toBe(false);
    await close();
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it("refuses a folder that is set up already, and changes nothing in it", async () => {
    const dataDir = makeTempDir();
    const first = await initAppliance(dataDir, ADMIN, createFakeClock());
    const again = initAppliance(dataDir, { ...ADMIN, email: "other@example.org" }, createFakeClock());
    await expect(again).rejects.toThrow(UpstreamError);
    const { store, access, close } = await openApplianceDataOffline(dataDir, createFakeClock());
    expect(access.authenticate(first.token)).not.toBeNull();
    expect(store.count(users, {})).toBe(1);
    await close();
  });

  it.each([
    [{ email: "nobody", password: ADMIN.password }, "email"],
    [{ email: "", password: ADMIN.password }, "email"],
    [{ email: ADMIN.email, password: "short" }, "password"],
    [{ email: ADMIN.email, password: "" }, "password"],
  ])("refuses %j and can be asked again", async (admin, field) => {
    const dataDir = makeTempDir();
    const refused = await initAppliance(dataDir, admin, createFakeClock()).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CallerError);
    expect((refused as CallerError).faults[0]?.field).toBe(field);
    await expect(initAppliance(dataDir, ADMIN, createFakeClock())).resolves.toHaveProperty("token");
  });
});

it("rows that there is one of and that earlier data lacks are made, once", async () => {
  const dataDir = join(makeTempDir(), "data");
  await initAppliance(dataDir, ADMIN, createFakeClock());
  const { store, access, close } = await openApplianceDataOffline(dataDir, createFakeClock());
  const by = access.systemContext("test");
  const counts = () => [notificationProfiles, brandings, ttsDefaults].map((resource) => store.count(resource, {}));
  expect(counts()).toEqual([1, 1, 1]);
  await store.write((tx) => {
    for (const resource of [notificationProfiles, brandings, ttsDefaults])
      for (const { id } of tx.find(resource, {})) tx.remove(resource, id, by);
  });
  for (let time = 0; time < 2; time++) await store.write((tx) => seedMissingDefaults(tx, by));
  expect(counts()).toEqual([1, 1, 1]);
  expect(store.find(notificationProfiles, {})).toMatchObject([{ name: "Default", default: true, isShared: true }]);
  await close();
});

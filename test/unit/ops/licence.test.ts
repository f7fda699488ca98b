import { generateKeyPairSync, sign } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createLicence, type Licence } from "../../../src/ops/licence.ts";
import { OPERATION_STATE } from "../../../src/ops/operation-state.ts";
import users from "../../../src/resources/people/users.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const maker = generateKeyPairSync("ed25519");
const key = maker.publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");

function signed(grant: object, by = maker.privateKey): string {
  const payload = Buffer.from(JSON.stringify(grant));
  return JSON.stringify({
    payload: payload.toString("base64"),
    signature: sign(null, payload, by).toString("base64"),
  });
}

const GRANT = { id: "L-1", holder: "School", expiresAt: "2026-03-01T00:00:00Z", limits: { users: 1, phones: 5 } };

let store: Store;
let clock: FakeClock;
let licence: Licence;
let told: [string, string | null][];

async function settle<T>(work: Promise<T>): Promise<T> {
  await clock.advance(0);
  return work;
}

const addUser = (name: string) => settle(store.create(users, { name, email: `${name}@example.org` }, everybody));

beforeEach(async () => {
  clock = createFakeClock();
  const events = createEvents((error) => expect.fail(String(error)));
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const options = { dataDir: makeTempDir(), catalogue, clock, events, log: silentLog, onFatal: () => undefined };
  store = openStore({ ...options, inMemory: true, tables: [OPERATION_STATE] });
  licence = createLicence({ store, clock, events, log: silentLog, keys: [key] });
  told = [];
  events.on("fault.changed", ({ alarm, code, reason }) => {
    if (alarm === "license_violation") told.push([code, reason]);
  });
  licence.start();
  told.length = 0;
});
afterEach(async () => {
  licence.stop();
  await store.close();
});

describe("the licence", () => {
  it("is the community's without a document: everything is unlimited", async () => {
    await addUser("one");
    expect(licence.state()).toMatchObject({ edition: "community", isValid: true, licence: null, violations: [] });
    expect(licence.state().counts).toContainEqual({ kind: "users", used: 1, limit: null });
  });

  it("takes a document of a trusted key alone, and one that says what it must", async () => {
    const stranger = generateKeyPairSync("ed25519").privateKey;
    await expect(licence.install(signed(GRANT, stranger))).rejects.toThrow("None of the trusted keys");
    const forged = JSON.parse(signed(GRANT));
    forged.payload = Buffer.from(JSON.stringify({ ...GRANT, limits: {} })).toString("base64");
    await expect(licence.install(JSON.stringify(forged))).rejects.toThrow("None of the trusted keys");
    await expect(licence.install("{}")).rejects.toThrow("no signed document");
    await expect(licence.install(signed({ ...GRANT, limits: { horses: 1 } }))).rejects.toThrow("limit of horses");
    expect(licence.state().edition).toBe("community");
  });

  it("tells what it does not cover, once, and when that is over", async () => {
    await settle(licence.install(signed(GRANT)));
    await addUser("one");
    await clock.advance(60_000);
    expect([licence.isValid(), told]).toEqual([true, []]);
    await addUser("two");
    await clock.advance(180_000);
    const words = "2 users in use; the licence allows 1.";
    expect(licence.state()).toMatchObject({ edition: "licensed", isValid: false, violations: [{ reason: words }] });
    expect(new Set(told.map(([code, reason]) => `${code} ${reason}`))).toEqual(new Set([`licence:users ${words}`]));
    expect(licence.isValid()).toBe(false);
    await settle(licence.remove());
    expect([licence.isValid(), told.at(-1)]).toEqual([true, ["licence:users", null]]);
  });

  it("expires", async () => {
    await settle(licence.install(signed(GRANT)));
    clock.stepWallClock(Date.parse("2026-03-01T00:01:00Z") - clock.now());
    await clock.advance(60_000);
    expect(told).toContainEqual(["licence:expired", "The licence expired on 2026-03-01."]);
  });
});

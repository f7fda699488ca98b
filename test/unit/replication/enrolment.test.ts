import { statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CertificateAndKey, makeAuthority } from "../../../src/operations/make-certificate.ts";
import { publicKeyOf } from "../../../src/replication/identity/certificate-facts.ts";
import {
  confirmIdentity,
  IDENTITIES,
  revokedKeys,
  revokeIdentities,
  whoHolds,
  whoShows,
} from "../../../src/replication/identity/enrolment.ts";
import { createHubEnrolment, type HubEnrolment } from "../../../src/replication/identity/hub-enrolment.ts";
import {
  enrol,
  forgetIdentity,
  identityFaults,
  isProof,
  type OwnIdentity,
  proveKey,
  readIdentity,
  renewIfDue,
} from "../../../src/replication/identity/own-identity.ts";
import { scan, type WorkStore } from "../../../src/replication/work.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const START = Date.parse("2026-01-12T08:00:00.000Z");
const DAY = 86_400_000;
const ENDPOINT = "0199b1c2-0000-7000-8000-000000000001";
const OTHER = "0199b1c2-0000-7000-8000-000000000002";

let authority: CertificateAndKey;
let other: CertificateAndKey;
beforeAll(async () => {
  [authority, other] = await Promise.all([makeAuthority("hub", START), makeAuthority("another hub", START)]);
});

let now: number;
let store: MemoryStore;
let hub: HubEnrolment;
const works: WorkStore = {
  transact: async (work) => store.perform(work),
  read: async (work) => store.perform(work),
};
let dataDir: string;
beforeEach(() => {
  now = START;
  store = createMemoryStore(CATALOGUE);
  hub = createHubEnrolment({ store: works, authority, now: () => now });
  dataDir = makeTempDir();
});

const enrolled = async (code: string, endpoint = ENDPOINT, folder = dataDir): Promise<OwnIdentity> =>
  enrol(folder, { hub: "https://hub.example.org", code, endpoint }, hub.enrol);
const shows = (keyHash: string): string | null => store.perform(() => whoShows(keyHash, now))?.endpoint ?? null;

describe("an enrolment code", () => {
  it("gives an appliance a certificate of the hub's authority; the key stays on the appliance, in a file of its own", async () => {
    const { code } = await hub.offer(null);
    expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    const identity = await enrolled(code.toLowerCase().replaceAll("-", " "));
    expect(identity.facts).toMatchObject({ endpoint: ENDPOINT, validTo: START + 90 * DAY });
    expect(shows(identity.facts.keyHash)).toBe(ENDPOINT);
    expect(readIdentity(dataDir)).toEqual(identity);
    expect(statSync(join(dataDir, "link", "identity.json")).mode & 0o777).toBe(0o600);
    const kept = JSON.stringify(store.perform(() => scan(IDENTITIES)));
    for (const secret of [identity.token, identity.key, code]) expect(kept).not.toContain(secret);
    forgetIdentity(dataDir);
    expect(readIdentity(dataDir)).toBeNull();
  });

  it("is good once, for 15 minutes, for the appliance that it names", async () => {
    const { code, until } = await hub.offer(ENDPOINT);
    expect(until).toBe(START + 15 * 60_000);
    await expect(enrolled(code, OTHER)).rejects.toThrow("another appliance");
    const { facts } = await enrolled(code);
    await expect(enrolled(code)).rejects.toThrow("used before");
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
    const second = await hub.offer(ENDPOINT);
    now += 15 * 60_000;
    await expect(enrolled(second.code)).rejects.toThrow("too old");
    await expect(enrolled("AAAA-BBBB-CCCC")).rejects.toThrow("no such code");
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
  });

  it("whose answer was lost on its way is used all the same; the next one lets the appliance in", async () => {
    const { code } = await hub.offer(ENDPOINT);
    const cut = async (asked: Parameters<HubEnrolment["enrol"]>[0]): Promise<never> => {
      await hub.enrol(asked);
      throw new Error("The connection ended.");
    };
    await expect(enrol(dataDir, { hub: "https://hub.example.org", code, endpoint: ENDPOINT }, cut)).rejects.toThrow(
      "ended",
    );
    expect(readIdentity(dataDir)).toBeNull();
    await expect(enrolled(code)).rejects.toThrow("used before");
    const { facts } = await enrolled((await hub.offer(ENDPOINT)).code);
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
  });

  it("leaves what was there in place when the hub answers what does not belong together", async () => {
    const before = await enrolled((await hub.offer(null)).code);
    const { code } = await hub.offer(null);
    const wrong = createHubEnrolment({ store: works, authority: other, now: () => now });
    const swapped = async (asked: Parameters<HubEnrolment["enrol"]>[0]) => {
      const answer = await wrong.enrol(asked);
      return { ...answer, authority: authority.certificate };
    };
    const given = { hub: "https://elsewhere.example.org", code, endpoint: ENDPOINT };
    await expect(enrol(dataDir, given, swapped)).rejects.toThrow("not for this appliance");
    expect(readIdentity(dataDir)).toEqual(before);
  });

  it("is not taken with a request that is not good", async () => {
    const { code } = await hub.offer(null);
    const request = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----";
    await expect(hub.enrol({ code, endpoint: ENDPOINT, request })).rejects.toThrow("request");
    await expect(enrolled(code)).resolves.toBeTruthy();
  });
});

describe("an appliance's key", () => {
  it("is renewed after 60 of 90 days; the old one is good until the new one was seen", async () => {
    const first = await enrolled((await hub.offer(null)).code);
    const renew = (identity: OwnIdentity) =>
      renewIfDue(dataDir, identity, now, ({ request }) => hub.renew(ENDPOINT, identity.facts.keyHash, request));
    now = START + 59 * DAY;
    expect(await renew(first)).toBeNull();
    now = START + 61 * DAY;
    const second = (await renew(first)) as OwnIdentity;
    expect(second.facts.validTo).toBe(now + 90 * DAY);
    expect(second.facts.keyHash).not.toBe(first.facts.keyHash);
    expect([shows(first.facts.keyHash), shows(second.facts.keyHash)]).toEqual([ENDPOINT, ENDPOINT]);
    store.perform(() => confirmIdentity(second.facts.keyHash, now));
    expect([shows(first.facts.keyHash), shows(second.facts.keyHash)]).toEqual([null, ENDPOINT]);
    await expect(renew(first)).rejects.toThrow("not that of this appliance");
  });

  it("that was taken away is good for nothing, and on the list until its certificate ends", async () => {
    const { facts, token } = await enrolled((await hub.offer(null)).code);
    expect(store.perform(() => whoHolds(token, now))?.endpoint).toBe(ENDPOINT);
    store.perform(() => revokeIdentities(ENDPOINT, now));
    expect([shows(facts.keyHash), store.perform(() => whoHolds(token, now))]).toEqual([null, null]);
    expect(store.perform(() => revokedKeys(now))).toEqual([facts.keyHash]);
    expect(store.perform(() => revokedKeys(START + 90 * DAY))).toEqual([]);
  });

  it("signs what the other side made up, where TLS is broken up on the way", async () => {
    const { key } = await enrolled((await hub.offer(null)).code);
    const publicKey = publicKeyOf(key).toString("base64");
    const proof = proveKey(key, "nonce");
    expect([isProof(publicKey, "nonce", proof), isProof(publicKey, "other", proof)]).toEqual([true, false]);
    expect(isProof(publicKey, "nonce", "no proof")).toBe(false);
  });

  it("is told of before its certificate ends, and after", async () => {
    const { facts } = await enrolled((await hub.offer(null)).code);
    const levels = [1, 80, 91].map((days) => identityFaults(facts, START + days * DAY)[0]?.level);
    expect(levels).toEqual([undefined, "yellow", "red"]);
  });
});

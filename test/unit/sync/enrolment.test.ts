import { statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CertificateAndKey, createCertificateAuthority } from "../../../src/ops/tls/certificate-authority.ts";
import { publicKeyOf } from "../../../src/sync/identity/certificate-info.ts";
import {
  APPLIANCE_IDENTITIES,
  confirmIdentity,
  findIdentityByKey,
  findIdentityByToken,
  listRevokedKeys,
  revokeIdentities,
} from "../../../src/sync/identity/enrolment-records.ts";
import { createEnrolmentService, type EnrolmentService } from "../../../src/sync/identity/enrolment-service.ts";
import {
  deleteLocalIdentity,
  enrolAppliance,
  type LocalIdentity,
  linkCertificateHealthReasons,
  readLocalIdentity,
  renewIdentityIfDue,
  signChallenge,
  verifyChallenge,
} from "../../../src/sync/identity/local-identity.ts";
import { scanRecords, type TransactionStore } from "../../../src/sync/storage/transaction-program.ts";
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
  [authority, other] = await Promise.all([
    createCertificateAuthority("hub", START),
    createCertificateAuthority("another hub", START),
  ]);
});

let now: number;
let store: MemoryStore;
let hub: EnrolmentService;
const works: TransactionStore = {
  transact: async (work) => store.perform(work),
  read: async (work) => store.perform(work),
};
let dataDir: string;
beforeEach(() => {
  now = START;
  store = createMemoryStore(CATALOGUE);
  hub = createEnrolmentService({ store: works, authority, now: () => now });
  dataDir = makeTempDir();
});

const enrolled = async (code: string, endpoint = ENDPOINT, folder = dataDir): Promise<LocalIdentity> =>
  enrolAppliance(folder, { hub: "https://hub.example.org", code, endpoint }, hub.enrol);
const shows = (keyHash: string): string | null =>
  store.perform(() => findIdentityByKey(keyHash, now))?.endpoint ?? null;

describe("enrolment code", () => {
  it("issues a certificate of the hub's authority and leaves the key on the appliance, in a separate file", async () => {
    const { code } = await hub.createCode({ endpoint: null, domainIds: null });
    expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/);
    const identity = await enrolled(code.toLowerCase().replaceAll("-", " "));
    expect(identity.facts).toMatchObject({ endpoint: ENDPOINT, validTo: START + 90 * DAY });
    expect(shows(identity.facts.keyHash)).toBe(ENDPOINT);
    expect(readLocalIdentity(dataDir)).toEqual(identity);
    expect(statSync(join(dataDir, "link", "identity.json")).mode & 0o777).toBe(0o600);
    const kept = JSON.stringify(store.perform(() => scanRecords(APPLIANCE_IDENTITIES)));
    for (const secret of [identity.token, identity.key, code]) expect(kept).not.toContain(secret);
    deleteLocalIdentity(dataDir);
    expect(readLocalIdentity(dataDir)).toBeNull();
  });

  it("is valid once, for 15 minutes, for its appliance", async () => {
    const { code, until } = await hub.createCode({ endpoint: ENDPOINT, domainIds: null });
    expect(until).toBe(START + 15 * 60_000);
    await expect(enrolled(code, OTHER)).rejects.toThrow("another appliance");
    const { facts } = await enrolled(code);
    await expect(enrolled(code)).rejects.toThrow("already used");
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
    const second = await hub.createCode({ endpoint: ENDPOINT, domainIds: null });
    now += 15 * 60_000;
    await expect(enrolled(second.code)).rejects.toThrow("has expired");
    await expect(enrolled("AAAA-BBBB-CCCC")).rejects.toThrow("code not found");
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
  });

  it("is not used up by a second appliance that wants to adopt the organisation, which can join with it", async () => {
    await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    const { code } = await hub.createCode({ endpoint: null, domainIds: null });
    const ask = (mode: "adopt" | "join", endpoint: string, by: string) =>
      enrolAppliance(makeTempDir(), { hub: "https://hub.example.org", code: by, endpoint }, (asked) =>
        hub.enrol({ ...asked, mode }),
      );
    await expect(ask("adopt", OTHER, code)).rejects.toThrow("use mode `join` with the same code");
    expect(shows((await ask("join", OTHER, code)).facts.keyHash)).toBe(OTHER);
    // The first one, which has not brought its rows yet, may begin once more.
    const again = await hub.createCode({ endpoint: ENDPOINT, domainIds: null });
    expect(shows((await ask("adopt", ENDPOINT, again.code)).facts.keyHash)).toBe(ENDPOINT);
  });

  it("counts as used when the response is lost; the next code enrols the appliance", async () => {
    const { code } = await hub.createCode({ endpoint: ENDPOINT, domainIds: null });
    const cut = async (asked: Parameters<EnrolmentService["enrol"]>[0]): Promise<never> => {
      await hub.enrol(asked);
      throw new Error("The connection ended.");
    };
    await expect(
      enrolAppliance(dataDir, { hub: "https://hub.example.org", code, endpoint: ENDPOINT }, cut),
    ).rejects.toThrow("ended");
    expect(readLocalIdentity(dataDir)).toBeNull();
    await expect(enrolled(code)).rejects.toThrow("already used");
    const { facts } = await enrolled((await hub.createCode({ endpoint: ENDPOINT, domainIds: null })).code);
    expect(shows(facts.keyHash)).toBe(ENDPOINT);
  });

  it("keeps the previous identity when the hub's response is inconsistent", async () => {
    const before = await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    const { code } = await hub.createCode({ endpoint: null, domainIds: null });
    const wrong = createEnrolmentService({ store: works, authority: other, now: () => now });
    const swapped = async (asked: Parameters<EnrolmentService["enrol"]>[0]) => {
      const answer = await wrong.enrol(asked);
      return { ...answer, authority: authority.certificate };
    };
    const given = { hub: "https://elsewhere.example.org", code, endpoint: ENDPOINT };
    await expect(enrolAppliance(dataDir, given, swapped)).rejects.toThrow("not for this appliance");
    expect(readLocalIdentity(dataDir)).toEqual(before);
  });

  it("rejects an invalid certificate request", async () => {
    const { code } = await hub.createCode({ endpoint: null, domainIds: null });
    const request = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----";
    await expect(hub.enrol({ code, endpoint: ENDPOINT, request })).rejects.toThrow("request");
    await expect(enrolled(code)).resolves.toBeTruthy();
  });
});

describe("appliance key", () => {
  it("renews after 60 of 90 days; the old key is valid until the new one is used", async () => {
    const first = await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    const renew = (identity: LocalIdentity) =>
      renewIdentityIfDue(dataDir, identity, now, ({ request }) => hub.renew(ENDPOINT, identity.facts.keyHash, request));
    now = START + 59 * DAY;
    expect(await renew(first)).toBeNull();
    now = START + 61 * DAY;
    const second = (await renew(first)) as LocalIdentity;
    expect(second.facts.validTo).toBe(now + 90 * DAY);
    expect(second.facts.keyHash).not.toBe(first.facts.keyHash);
    expect([shows(first.facts.keyHash), shows(second.facts.keyHash)]).toEqual([ENDPOINT, ENDPOINT]);
    store.perform(() => confirmIdentity(second.facts.keyHash, now));
    expect([shows(first.facts.keyHash), shows(second.facts.keyHash)]).toEqual([null, ENDPOINT]);
    await expect(renew(first)).rejects.toThrow("does not belong to this appliance");
  });

  it("is rejected once revoked, and stays on the revocation list until its certificate expires", async () => {
    const { facts, token } = await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    expect(store.perform(() => findIdentityByToken(token, now))?.endpoint).toBe(ENDPOINT);
    store.perform(() => revokeIdentities(ENDPOINT, now));
    expect([shows(facts.keyHash), store.perform(() => findIdentityByToken(token, now))]).toEqual([null, null]);
    expect(store.perform(() => listRevokedKeys(now))).toEqual([facts.keyHash]);
    expect(store.perform(() => listRevokedKeys(START + 90 * DAY))).toEqual([]);
  });

  it("signs the challenge where a proxy ends TLS", async () => {
    const { key } = await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    const publicKey = publicKeyOf(key).toString("base64");
    const proof = signChallenge(key, "nonce");
    expect([verifyChallenge(publicKey, "nonce", proof), verifyChallenge(publicKey, "other", proof)]).toEqual([
      true,
      false,
    ]);
    expect(verifyChallenge(publicKey, "nonce", "no proof")).toBe(false);
  });

  it("reports a health problem before and after its certificate expires", async () => {
    const { facts } = await enrolled((await hub.createCode({ endpoint: null, domainIds: null })).code);
    const levels = [1, 80, 91].map((days) => linkCertificateHealthReasons(facts, START + days * DAY)[0]?.level);
    expect(levels).toEqual([undefined, "yellow", "red"]);
  });
});

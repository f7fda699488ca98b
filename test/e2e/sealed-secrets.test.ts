import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchangeKeyStatement, generateExchangeKeys } from "../../src/cloud-link/secret-hand-over/sealed-secret.ts";
import { createSecrets, readKeyFile } from "../../src/store/secrets.ts";
import { readLocalIdentity, signChallenge } from "../../src/sync/identity/local-identity.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";

interface Appliance {
  endpointId: string;
  fingerprint: string | null;
  consent: string;
  handedOverAt: string | null;
}

const SECRETS = { axlPassword: "hunter2-of-axl", snmpCommunity: "community-4711" };

let hub: TestDaemon;
let east: TestDaemon;
let west: TestDaemon;
let cluster: string;
const logged: string[] = [];

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

async function start(after?: TestDaemon): Promise<TestDaemon> {
  return startTestDaemon({ ...(after ? { after } : {}), onLog: (line) => void logged.push(line) });
}

async function enrolled(): Promise<TestDaemon> {
  const alone = await start();
  const { body } = await hub.call<{ code: string }>("POST", "/link/codes", {});
  await alone.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "join", authority: null });
  await alone.stop();
  const site = await start(alone);
  await connected(site);
  // The cloud gets the appliance's row with the first rows that it sends.
  const { extensionId, endpointId } = site.first;
  await pollUntil(
    async () => (await hub.call("GET", `/extensions/${extensionId}/endpoints/${endpointId}`)).status,
    (status) => status === 200,
  );
  return site;
}

const connected = (site: TestDaemon) =>
  pollUntil(
    async () => site.cloudLink.report().link?.state,
    (state) => state === "connected",
  );

const path = (): string => `/callmgr-clusters/${cluster}/secret-hand-over`;
const appliances = async (): Promise<Appliance[]> =>
  (await hub.call<{ appliances: Appliance[] }>("GET", path())).body.appliances;
const applianceOf = async (site: TestDaemon): Promise<Appliance | undefined> =>
  (await appliances()).find(({ endpointId }) => endpointId === site.first.endpointId);
const consent = (...sites: TestDaemon[]) =>
  hub.call("PUT", path(), { endpointIds: sites.map(({ first }) => first.endpointId) });
const fetchSecrets = async (site: TestDaemon): Promise<void> => site.cloudLink.site?.fetchSecrets();
const missing = (site: TestDaemon): string[] =>
  (site.cloudLink.site?.secretTasks() ?? []).map(({ field, reason }) => `${field} ${reason}`).sort();

/** Fetches until it is so: the rows that decide come by the feed. */
const fetchUntil = <T>(site: TestDaemon, read: () => T | Promise<T>, holds: (found: T) => boolean): Promise<T> =>
  pollUntil(async () => {
    await fetchSecrets(site);
    return read();
  }, holds);

/** The secrets as the appliance has them at rest. */
function storedSecrets(site: TestDaemon): Record<string, string | null> {
  const secrets = createSecrets(readKeyFile(join(site.dataDir, "secret-key")));
  // The running daemon has the file to itself.
  const copy = makeTempDir();
  for (const name of ["carillon.db", "carillon.db-wal"]) copyFileSync(join(site.dataDir, name), join(copy, name));
  const db = new Database(join(copy, "carillon.db"));
  const sql = "SELECT axl_password AS axlPassword, snmp_community AS snmpCommunity FROM callmgr_clusters WHERE id = ?";
  const row = db.prepare(sql).get(cluster) as Record<string, string | null>;
  db.close();
  return Object.fromEntries(Object.entries(row).map(([name, sealed]) => [name, sealed && secrets.open(sealed)]));
}

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true, onLog: (line) => void logged.push(line) });
  east = await enrolled();
  west = await enrolled();
  const needed = { axlAddress: "publisher.example.org", axlUser: "axl", snmpVersion: "2", ...SECRETS };
  cluster = await make(hub, "/callmgr-clusters", { name: "Campus", ...needed });
  for (const { first } of [east, west]) {
    const server = { endpointId: first.endpointId, cmAddress: "publisher.example.org", cmUsername: "cti" };
    await make(hub, `/callmgr-clusters/${cluster}/onprem-servers`, server);
  }
  for (const site of [east, west])
    await pollUntil(
      async () => missing(site).length,
      (count) => count === 2,
    );
}, 180_000);
afterAll(async () => {
  for (const at of [east, west, hub]) await at?.stop();
});

describe("secrets of a cluster", () => {
  it("are agreed on below the on-premises prefix, too", async () => {
    const url = `${hub.url}/api/onprem/v1/admin/telephony/${cluster}/secret-hand-over`;
    const headers = { authorization: `Bearer ${hub.first.token}`, "content-type": "application/json" };
    // The appliances tell their keys meanwhile.
    const read = async () => {
      const response = await fetch(url, { headers });
      return [response.status, ((await response.json()) as { appliances: Appliance[] }).appliances];
    };
    await expect.poll(async () => isDeepStrictEqual(await read(), [200, await appliances()])).toBe(true);
    const agreed = await fetch(url, { method: "PUT", headers, body: JSON.stringify({ endpointIds: [] }) });
    expect(agreed.status).toBe(200);
  });

  it("are handed to no appliance unless a super user agrees, who sees whose key it is", async () => {
    for (const site of [east, west]) {
      await fetchUntil(
        site,
        () => applianceOf(site),
        (found) => found?.fingerprint != null,
      );
      expect(await applianceOf(site)).toMatchObject({ consent: "none", handedOverAt: null });
      expect((await applianceOf(site))?.fingerprint).toBe(site.cloudLink.site?.exchangeKeyFingerprint());
      expect(missing(site)).toEqual(["axlPassword missing", "snmpCommunity missing"]);
    }
    const user = await make(hub, "/users", { name: "Operator", email: "operator@example.org" });
    for (const [verb, spec] of [
      ["get", "/callmgr-clusters/*"],
      ["put", "/callmgr-clusters/*"],
    ])
      await make(hub, `/users/${user}/user-permissions`, { verb, spec });
    const { body } = await hub.call<{ token: string }>("POST", `/users/${user}/tokens`, { name: "T" });
    const refused = await hub.call("PUT", path(), { endpointIds: [east.first.endpointId] }, body.token);
    expect(refused.status).toBe(403);
    expect(await applianceOf(east)).toMatchObject({ consent: "none" });
  });

  it("are refused for appliances that do not serve the cluster, and for a key that is not the one that was seen", async () => {
    expect((await hub.call("PUT", path(), { endpointIds: [hub.first.endpointId] })).status).toBe(400);
    const given = { endpointIds: [east.first.endpointId], fingerprints: ["0000 1111 2222 3333 4444 5555 6666 7777"] };
    expect((await hub.call("PUT", path(), given)).status).toBe(409);
    expect(await applianceOf(east)).toMatchObject({ consent: "none" });
    for (const [method, at] of [
      ["GET", east],
      ["PUT", east],
    ] as const)
      expect([404, 409]).toContain(
        (await at.call(method, path(), method === "PUT" ? { endpointIds: [] } : undefined)).status,
      );
  });

  it("reach the appliance that was chosen, and no other, sealed at rest and readable for nobody", async () => {
    const { fingerprint } = (await applianceOf(east)) as Appliance;
    const given = { endpointIds: [east.first.endpointId], fingerprints: [fingerprint] };
    expect((await hub.call("PUT", path(), given)).status).toBe(200);
    await fetchUntil(
      east,
      () => missing(east).length,
      (count) => count === 0,
    );
    await fetchSecrets(west);
    expect(storedSecrets(east)).toEqual(SECRETS);
    expect(storedSecrets(west)).toEqual({ axlPassword: null, snmpCommunity: null });
    expect(await applianceOf(east)).toMatchObject({ consent: "given", handedOverAt: expect.any(String) });
    expect(await applianceOf(west)).toMatchObject({ consent: "none", handedOverAt: null });
    const audit = JSON.stringify((await hub.call("GET", "/audit?resource=callmgr-clusters&limit=100")).body);
    expect(audit).toContain("Handed axlPassword, snmpCommunity to the appliance");
    for (const secret of Object.values(SECRETS)) {
      expect(logged.join("\n")).not.toContain(secret);
      for (const daemon of [hub, east]) {
        expect(
          JSON.stringify((await daemon.call("GET", "/audit?resource=callmgr-clusters&limit=100")).body),
        ).not.toContain(secret);
        for (const name of readdirSync(daemon.dataDir).filter((each) => each.startsWith("carillon.db")))
          expect(readFileSync(join(daemon.dataDir, name)).includes(secret)).toBe(false);
      }
    }
  });

  it("follow when they are changed in the cloud, with a new target too", async () => {
    const changed = { axlAddress: "other.example.org", axlPassword: "new-of-axl", snmpCommunity: "new-community" };
    expect((await hub.call("PUT", `/callmgr-clusters/${cluster}`, changed)).status).toBe(200);
    await fetchUntil(
      east,
      () => storedSecrets(east),
      (found) => found.axlPassword === "new-of-axl",
    );
    expect(storedSecrets(east)).toEqual({ axlPassword: "new-of-axl", snmpCommunity: "new-community" });
  });

  it("are not handed to whoever shows a key without the signature of the appliance", async () => {
    const identity = (site: TestDaemon) =>
      readLocalIdentity(site.dataDir) as NonNullable<ReturnType<typeof readLocalIdentity>>;
    const [own, other] = [identity(east), identity(west)];
    const { publicKey } = generateExchangeKeys();
    const [id, otherId] = [east.first.endpointId, west.first.endpointId];
    const signed = (endpoint: string, key: string): string =>
      signChallenge(key, exchangeKeyStatement(endpoint, publicKey));
    const ask = (endpoint: string, keyHash: string, proof: string) =>
      hub.cloudLink.hub?.secrets.handOver(endpoint, keyHash, { kind: "secrets", publicKey, proof });
    for (const [endpoint, keyHash, proof] of [
      // The key of another appliance, a statement about another one, no signature, and an unknown certificate.
      [id, own.facts.keyHash, signed(id, other.key)],
      [id, own.facts.keyHash, signed(otherId, own.key)],
      [id, other.facts.keyHash, signed(id, other.key)],
      [id, own.facts.keyHash, "AAAA"],
      [id, "0".repeat(64), signed(id, own.key)],
    ] as const)
      await expect(ask(endpoint, keyHash, proof)).rejects.toThrow("Permission denied");
    expect(await applianceOf(east)).toMatchObject({ consent: "given" });
    // Another appliance gets nothing with its own.
    expect(await ask(otherId, other.facts.keyHash, signed(otherId, other.key))).toEqual({ secrets: [] });
  });

  it("do not go to another key of the appliance, until somebody agrees again", async () => {
    await east.stop();
    rmSync(join(east.dataDir, "link", "exchange-key.json"));
    east = await start(east);
    await connected(east);
    const changed = { axlPassword: "third-of-axl" };
    expect((await hub.call("PUT", `/callmgr-clusters/${cluster}`, changed)).status).toBe(200);
    await fetchUntil(
      east,
      async () => (await applianceOf(east))?.consent,
      (found) => found === "stale",
    );
    await fetchUntil(
      east,
      () => missing(east),
      (found) => found.includes("axlPassword changed"),
    );
    expect(storedSecrets(east).axlPassword).toBe("new-of-axl");
    expect((await consent(east)).status).toBe(200);
    await fetchUntil(
      east,
      () => storedSecrets(east).axlPassword,
      (found) => found === "third-of-axl",
    );
    expect((await consent()).status).toBe(200);
    expect(await applianceOf(east)).toMatchObject({ consent: "none" });
    expect((await hub.call("PUT", `/callmgr-clusters/${cluster}`, { axlPassword: "fourth-of-axl" })).status).toBe(200);
    await fetchUntil(
      east,
      () => missing(east),
      (found) => found.includes("axlPassword changed"),
    );
    expect(storedSecrets(east).axlPassword).toBe("third-of-axl");
  });

  it("end with the link", async () => {
    expect((await hub.call("DELETE", `/link/appliances/${west.first.endpointId}`)).status).toBe(200);
    expect(await applianceOf(west)).toMatchObject({ fingerprint: null, consent: "none" });
  });
});

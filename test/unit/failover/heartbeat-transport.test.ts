import { EventEmitter, once } from "node:events";
import { afterEach, beforeAll, expect, it } from "vitest";
import { type PeerHeartbeat, parseHeartbeat } from "../../../src/failover/heartbeat.ts";
import { createHeartbeatTransport, type HeartbeatTransport } from "../../../src/failover/heartbeat-transport.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { type CertificateAndKey, createCertificateAuthority } from "../../../src/ops/tls/certificate-authority.ts";
import { type EndpointCertificateInfo, readEndpointCertificate } from "../../../src/sync/identity/certificate-info.ts";
import { createCertificateRequest, issueEndpointCertificate } from "../../../src/sync/identity/endpoint-certificate.ts";
import { unusedPort } from "../../support/free-port.ts";

const NAMES = [1, 2, 3].map((number) => `0199b1c2-0000-7000-8000-00000000000${number}`) as [string, string, string];
let authority: CertificateAndKey;
let foreign: CertificateAndKey;
beforeAll(async () => {
  [authority, foreign] = await Promise.all([
    createCertificateAuthority("a", Date.now()),
    createCertificateAuthority("b", Date.now()),
  ]);
});

const running: HeartbeatTransport[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((lan) => lan.stop()));
});

const beatOf = (endpoint: string, n = 1): PeerHeartbeat => {
  return { endpoint, boot: "b", n, version: "1", at: 1, holds: { g: 2 }, armed: 0, sounding: ["r"], over: [] };
};

async function identityOf(endpoint: string, by = authority) {
  const { request, key } = await createCertificateRequest();
  const certificate = await issueEndpointCertificate(by, request, endpoint, Date.now());
  const facts = readEndpointCertificate(certificate) as EndpointCertificateInfo;
  return { key, certificate, authority: by.certificate, facts };
}

interface Wanted {
  by?: CertificateAndKey;
  revoked?: string[];
  says?: string;
}

/** Starts one that calls `peer` and hands over what it hears. */
async function start(
  endpoint: string,
  port: number,
  peer: number,
  heard: (beat: PeerHeartbeat) => void,
  wanted: Wanted = {},
) {
  const identity = await identityOf(endpoint, wanted.by);
  const lan = createHeartbeatTransport({
    ...{ clock: systemClock, log: silentLog, identity: () => identity, onHeartbeat: heard },
    listen: { host: "127.0.0.1", port },
    peers: [{ host: "127.0.0.1", port: peer }],
    isRevoked: (keyHash) => wanted.revoked?.includes(keyHash) === true,
    buildHeartbeat: () => beatOf(wanted.says ?? endpoint),
  });
  running.push(lan);
  await lan.start();
  return { lan, identity };
}

it("sends heartbeats to peers, which accept them only under the certificate's name", async () => {
  const [one, two] = [await unusedPort(), await unusedPort()];
  const heard = new EventEmitter();
  await start(NAMES[0], one, two, (beat) => heard.emit("at-one", beat));
  // Each tells its beat as soon as its call stands: only from then on a beat that is sent arrives.
  const first = once(heard, "at-one");
  const { lan } = await start(NAMES[1], two, one, () => undefined);
  expect(await first).toEqual([beatOf(NAMES[1])]);
  const second = once(heard, "at-one");
  lan.send(beatOf(NAMES[1], 2));
  expect(await second).toEqual([beatOf(NAMES[1], 2)]);
});

it("ignores peers of another organisation, revoked keys, and heartbeats for another appliance", async () => {
  const [one, ...others] = await Promise.all([unusedPort(), unusedPort(), unusedPort(), unusedPort(), unusedPort()]);
  const revoked: string[] = [];
  const heard: PeerHeartbeat[] = [];
  let next = (): void => undefined;
  const another = (): Promise<void> =>
    new Promise((resolve) => {
      next = resolve;
    });
  const first = another();
  const take = (beat: PeerHeartbeat): void => {
    heard.push(beat);
    next();
  };
  const listener = await start(NAMES[0], one, others[0] as number, take, { revoked });
  const nobody = (): void => undefined;
  await start(NAMES[1], others[0] as number, one, nobody, { by: foreign });
  await start(NAMES[1], others[1] as number, one, nobody, { says: NAMES[2] });
  await start(NAMES[0], others[2] as number, one, nobody);
  const trusted = await start(NAMES[2], others[3] as number, one, nobody);
  await first;
  expect(heard).toEqual([beatOf(NAMES[2])]);
  const second = another();
  revoked.push(trusted.identity.facts.keyHash);
  listener.lan.trustChanged();
  trusted.lan.send(beatOf(NAMES[2], 2));
  await start(NAMES[1], await unusedPort(), one, nobody);
  await second;
  expect(heard).toEqual([beatOf(NAMES[2]), beatOf(NAMES[1])]);
});

it("rejects malformed heartbeats", () => {
  expect(parseHeartbeat(JSON.stringify(beatOf("x")))).toEqual(beatOf("x"));
  const bad = [
    {},
    null,
    { ...beatOf("x"), n: "1" },
    { ...beatOf("x"), sounding: [1] },
    { ...beatOf("x"), holds: { g: "x" } },
  ];
  for (const beat of bad) expect(parseHeartbeat(JSON.stringify(beat))).toBeNull();
  expect(parseHeartbeat("{")).toBeNull();
});

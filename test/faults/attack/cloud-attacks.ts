import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  LOOPBACK_SETTINGS,
  type RunningDaemon,
  runCarillon,
  runInit,
  serveAppliance,
  spawnDaemon,
} from "../../support/carillon-process.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import type { Attack } from "./attack.ts";
import { askOver, control, isOk, type Received } from "./attack-world.ts";

type Kind = "one machine" | "nodes over PostgreSQL" | "one tenant of several";

/** An appliance that is bound to the domain North of a cloud, in the hands of an attacker. */
interface StolenAppliance {
  cloudUrl: string;
  siteUrl: string;
  /** Token of the cloud's super administrator. */
  owner: string;
  endpointId: string;
  /** Data folder of the appliance. */
  data: string;
  northMail: string;
  southMail: string;
  southList: string;
}

const POLL_MS = 250;
const WAIT_MS = 60_000;
const ADMIN = "admin@example.org";

async function withStolenAppliance<T>(kind: Kind, work: (stolen: StolenAppliance) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-stolen-"));
  const running: RunningDaemon[] = [];
  let server: TestPostgres | null = null;
  try {
    if (kind !== "one machine") server = await startPostgres();
    const { daemon, token } = await startCloud(kind, join(folder, "cloud"), server);
    running.push(daemon);
    const owner = async (method: string, path: string, json?: unknown) => {
      const answer = await askOver(daemon.url, method, `/api/v1${path}`, { token, ...(json ? { json } : {}) });
      if (!isOk(answer)) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
      return answer.body;
    };
    const ids: Record<string, string> = {};
    for (const name of ["North", "South"]) {
      const { id } = await owner("POST", "/domains", { name });
      ids[name] = id;
      await owner("POST", `/users?domain=${id}`, { name: `Person of ${name}`, email: mailOf(name) });
      ids[`list ${name}`] = (
        await owner("POST", `/distribution-lists?domain=${id}`, { name: `Parents of ${name}` })
      ).id;
    }
    const { code } = await owner("POST", "/link/codes", { domainIds: [ids.North] });
    const data = join(folder, "site");
    const { endpointId } = await runInit(data);
    const config = join(folder, "site.yaml");
    await writeFile(config, LOOPBACK_SETTINGS);
    const first = await serveAppliance(data, ["--config", config]);
    const enrolled = await runCarillon(["link", "enrol", "--data", data, "--hub", daemon.url, "--code", code]);
    await first.end("SIGTERM");
    if (enrolled.code !== 0) throw new Error(`link enrol ended with ${enrolled.code}: ${enrolled.stderr}`);
    const site = await serveAppliance(data, ["--config", config]);
    running.push(site);
    const stolen: StolenAppliance = {
      ...{ cloudUrl: daemon.url, siteUrl: site.url, owner: token, endpointId, data },
      ...{ northMail: mailOf("North"), southMail: mailOf("South"), southList: String(ids["list South"]) },
    };
    await eventually(async () => (await bytesOf(data)).includes(stolen.northMail));
    return await work(stolen);
  } finally {
    for (const daemon of running.reverse()) await daemon.end("SIGTERM");
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await holds()); waited += POLL_MS) {
    if (waited > WAIT_MS) throw new Error("the stolen appliance did not get ready");
    await pause(POLL_MS);
  }
}

const mailOf = (name: string): string => `person.of.${name.toLowerCase()}@example.org`;

async function startCloud(
  kind: Kind,
  folder: string,
  server: TestPostgres | null,
): Promise<{ daemon: RunningDaemon; token: string }> {
  const env = server ? { CARILLON_DATABASE: server.url } : {};
  const data = kind === "one tenant of several" ? join(folder, "district") : folder;
  const { token } = await runInit(data);
  const listen = ["--listen", "127.0.0.1:0"];
  if (kind !== "one tenant of several")
    return { daemon: await spawnDaemon(["hub", "--data", data, ...listen], env), token };
  const added = await runCarillon(
    ["hub-organisations", "add", "district", "--data", folder, "--host", "localhost"],
    env,
  );
  if (added.code !== 0) throw new Error(`hub-organisations add ended with ${added.code}: ${added.stderr}`);
  const front = await spawnDaemon(["hub", "--all-organisations", "--data", folder, ...listen], env);
  const daemon = { ...front, url: front.url.replace("127.0.0.1", "localhost") };
  await eventually(async () => (await askOver(daemon.url, "GET", "/api/v1/session", { token })).status === 200);
  return { daemon, token };
}

/** All that is in the files of a folder, as a thief of the disk reads them. */
async function bytesOf(folder: string): Promise<Buffer> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const read = files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name)));
  return Buffer.concat(await Promise.all(read));
}

const api = (url: string, token: string, method: string, path: string, json?: unknown): Promise<Received> =>
  askOver(url, method, `/api/v1${path}`, { token, ...(json ? { json } : {}) });

/** All that a stolen appliance tries at a cloud, in one go, because a cloud takes seconds to set up. */
async function attackCloud(stolen: StolenAppliance): Promise<{ answered: string; gains: string[] }> {
  const { cloudUrl, siteUrl, owner, data } = stolen;
  const gains: string[] = [];
  const disk = await bytesOf(data);
  if (disk.includes(stolen.southMail)) gains.push("the disk has people of South");
  const made = await runCarillon(["token", "create", "--data", data, "--user", ADMIN, "--name", "stolen"]);
  const token = made.stdout.trim();
  gains.push(
    ...control(isOk(await api(siteUrl, token, "GET", "/session")), "the token does not work at the appliance"),
  );
  const atCloud = await api(cloudUrl, token, "GET", "/session");
  if (isOk(atCloud)) gains.push("a token of the appliance works at the cloud");
  const eve = { name: "Eve", email: "eve@example.org" };
  const forwarded = await api(siteUrl, token, "POST", "/users", eve);
  if (isOk(forwarded)) gains.push("a forwarded request made a user");
  const written = await api(siteUrl, token, "PUT", `/distribution-lists/${stolen.southList}`, { name: "Taken" });
  const read = await api(siteUrl, token, "GET", `/distribution-lists/${stolen.southList}`);
  if (isOk(written) || isOk(read)) gains.push("a row of South can be reached");
  await api(cloudUrl, owner, "DELETE", `/link/appliances/${stolen.endpointId}`);
  const later = await api(siteUrl, token, "POST", "/users", { ...eve, email: "later@example.org" });
  if (isOk(later)) gains.push("a revoked appliance made a user");
  const people = (await api(cloudUrl, owner, "GET", "/users?limit=1000")).text;
  gains.push(...control(people.includes(stolen.southMail), "the cloud does not list its people"));
  if (/eve@|later@/.test(people)) gains.push("the cloud has a user of the attacker");
  const list = await api(cloudUrl, owner, "GET", `/distribution-lists/${stolen.southList}`);
  if (list.body?.name !== "Parents of South") gains.push("a list of South was changed");
  const answered =
    `disk: ${Math.round(disk.length / 1e6)} MB without South; token at the cloud: ${atCloud.status}; new user: ` +
    `${forwarded.status}; list of South: ${written.status}, ${read.status}; once revoked: ${later.status}`;
  return { answered, gains };
}

const attackOf = (kind: Kind): Attack => ({
  by: "stolen appliance",
  what: `reads, changes and outlives its domain at a cloud (${kind})`,
  run: () => withStolenAppliance(kind, attackCloud),
});

/** What the thief of an appliance tries at each kind of cloud. @source docs/decisions/0491-trust-in-appliances.md */
export const CLOUD_ATTACKS: readonly Attack[] = [
  attackOf("one machine"),
  attackOf("nodes over PostgreSQL"),
  attackOf("one tenant of several"),
];

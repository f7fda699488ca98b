import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type InitOutput, type RunningDaemon, runInit, serveAppliance } from "../../support/carillon-process.ts";

/** How a request of an attacker is sent beside its method and path. */
export interface Sending {
  token?: string;
  cookie?: string;
  json?: unknown;
  body?: string | Buffer;
  headers?: Record<string, string | string[]>;
  /** Source address, below 127/8: another client for the daemon. */
  from?: string;
}

/** An answer with its body as text, and as JSON where it is some. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: attacks look into bodies of every shape
  body: any;
}

export interface Person {
  id: string;
  email: string;
  token: string;
}

/** An appliance with two schools, North and South, its people, and a web server of the attacker. */
export interface AttackWorld {
  url: string;
  first: InitOutput;
  /** Domains. */
  north: string;
  south: string;
  /** Without any permission. */
  pupil: Person;
  /** May do everything in North, nothing elsewhere. */
  manager: Person;
  /** A user of South, with a list, a template and a site there. */
  neighbour: Person;
  southRows: Record<string, string>;
  /** Rows of the same kinds in North. */
  northRows: Record<string, string>;
  daemon: RunningDaemon;
  dataDir: string;
  /** Requests that reached the attacker's own web server, as `GET /path`. */
  caught: { line: string; headers: IncomingHttpHeaders; body: string }[];
  attackerUrl: string;
  /** Below /api/v1 unless the path begins with `//`, which stands for the origin. */
  ask(method: string, path: string, sending?: Sending): Promise<Received>;
}

export const PASSWORD = "correct horse battery";

/** Requests are not limited in number: what is tried here must fail by itself. Webhooks may reach the attacker's server only. */
const SETTINGS = `network: {allowedTargets: [127.66.66.66], multicastInterface: 127.0.0.1}
api: {requestsPerMinute: {token: 0, address: 0}}
plugins: {ip-phones: {listen: {auth: {host: 127.0.0.1, port: 0}}}}
`;

/** How often which status was answered, in words. */
export function countStatuses(answers: readonly Pick<Received, "status">[]): string {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status}`)
    .join(", ");
}

/** An attack that fails for everybody proves nothing: what must succeed beside it. */
export const control = (holds: boolean, what: string): string[] => (holds ? [] : [`proves nothing: ${what}`]);

export const isOk = ({ status }: Pick<Received, "status">): boolean => status >= 200 && status < 300;

/** Fields of the log-in page, of any kind, and what the browser sends with them. */
export interface LogIn {
  email: unknown;
  password: unknown;
  from?: string;
  cookie?: string;
}

export function logIn(world: AttackWorld, { email, password, from, cookie }: LogIn): Promise<Received> {
  return world.ask("POST", "//api/login", {
    json: { email, password },
    headers: { origin: world.url },
    ...(from ? { from } : {}),
    ...(cookie ? { cookie } : {}),
  });
}

/** The cookies that an answer sets, as a browser sends them back. */
export const cookiesOf = ({ headers }: Received): string =>
  (headers["set-cookie"] ?? []).map((each) => each.split(";", 1)[0]).join("; ");

/** Sets the world up, runs `work` in it and removes it. */
export async function inAttackWorld<T>(work: (world: AttackWorld) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-attack-"));
  const caught: AttackWorld["caught"] = [];
  const attacker = await catchRequests(caught);
  try {
    const first = await runInit(folder);
    const settings = join(folder, "settings.yaml");
    const { port } = attacker.address() as AddressInfo;
    await writeFile(settings, SETTINGS);
    const daemon = await serveAppliance(folder, ["--config", settings]);
    try {
      const ask = (method: string, path: string, sending: Sending = {}) =>
        askOver(daemon.url, method, path.startsWith("//") ? path.slice(1) : `/api/v1${path}`, sending);
      const attackerUrl = `http://127.66.66.66:${port}`;
      return await work({
        ...(await populate(ask, first)),
        url: daemon.url,
        first,
        daemon,
        dataDir: folder,
        caught,
        attackerUrl,
        ask,
      });
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    attacker.closeAllConnections();
    attacker.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function catchRequests(caught: AttackWorld["caught"]): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body = (body + part).slice(0, 10_000);
    caught.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
    const target = new URL(request.url ?? "/", "http://attacker").searchParams.get("to");
    if (target) response.writeHead(307, { location: target }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("ok");
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.66.66.66", () => resolve(server));
  });
}

/** Sends one request over a connection that no other uses. */
export function askOver(url: string, method: string, path: string, sending: Sending): Promise<Received> {
  const { hostname, port } = new URL(url);
  const body = "json" in sending ? JSON.stringify(sending.json) : sending.body;
  const headers = {
    ...(sending.token ? { authorization: `Bearer ${sending.token}` } : {}),
    ...(sending.cookie ? { cookie: sending.cookie } : {}),
    ...("json" in sending ? { "content-type": "application/json" } : {}),
    ...sending.headers,
  };
  return new Promise((resolve) => {
    const failed = (error: unknown): void => resolve({ status: 0, headers: {}, text: String(error), body: null });
    try {
      const from = sending.from ? { localAddress: sending.from } : {};
      const call = send({ hostname, port, path, method, headers, agent: false, ...from });
      call.on("error", failed).setTimeout(20_000, () => call.destroy(new Error("no answer in 20 s")));
      call.on("response", async (answer) => {
        let text = "";
        try {
          for await (const part of answer.setEncoding("utf8")) text = (text + part).slice(0, 5_000_000);
        } catch (error) {
          failed(error);
          return;
        }
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, body: jsonOf(text) });
      });
      call.end(body);
    } catch (error) {
      failed(error);
    }
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function populate(ask: AttackWorld["ask"], first: InitOutput) {
  const admin = async (method: string, path: string, json?: unknown) => {
    const answer = await ask(method, path, { token: first.token, ...(json === undefined ? {} : { json }) });
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const domain = async (name: string): Promise<string> => (await admin("POST", "/domains", { name })).id;
  const person = async (name: string, at: string): Promise<Person> => {
    const email = `${name.toLowerCase()}@example.org`;
    const { id } = await admin("POST", `/users?domain=${at}`, { name, email });
    await admin("PUT", `/users/${id}/password`, { password: PASSWORD });
    const { token } = await admin("POST", `/users/${id}/tokens`, { name: "script" });
    return { id, email, token };
  };
  const [north, south] = [await domain("North"), await domain("South")];
  const [pupil, manager] = [await person("Pupil", north), await person("Manager", north)];
  const neighbour = await person("Neighbour", south);
  const { paths } = await admin("GET", "/openapi.json");
  const collections = new Set(Object.keys(paths).flatMap((path) => /^\/v1\/([a-z-]+)\/\{\w+\}$/.exec(path)?.[1] ?? []));
  for (const collection of collections) {
    for (const spec of [`/${collection}`, `/${collection}/*`, `/${collection}/*/*`, `/${collection}/*/*/*`]) {
      for (const verb of ["get", "put", "post", "delete"]) {
        const json = { userId: manager.id, verb, spec };
        await ask("POST", `/domains/${north}/user-permissions`, { token: first.token, json });
      }
    }
  }
  const rowsOf = async (name: string, at: string, user: Person): Promise<Record<string, string>> => {
    const make = async (path: string, json: object): Promise<string> =>
      (await admin("POST", `${path}?domain=${at}`, json)).id;
    return {
      "distribution-lists": await make("/distribution-lists", { name: `${name} parents` }),
      "message-templates": await make("/message-templates", {
        ...{ name: `${name} lockdown`, subject: `${name} lockdown`, userIds: [user.id] },
      }),
      "device-groups": await make("/device-groups", { name: `${name} rooms`, filterType: "ACCEPT" }),
      sites: await make("/sites", { name: `${name} campus` }),
      users: user.id,
    };
  };
  const southRows = await rowsOf("South", south, neighbour);
  const northRows = await rowsOf("North", north, pupil);
  return { north, south, pupil, manager, neighbour, southRows, northRows };
}

import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { createRequire } from "node:module";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen as serveSoap } from "soap";
import type { SimulatedCluster, SimulatedPhone } from "./simulated-cluster.ts";

/** What the peer does instead of answering; `rows`: it sends at most so many at once, in either spelling of the refusal. */
export type AxlFailure =
  | "401"
  | "403"
  | "404"
  | "503"
  | "garbage"
  | "endless"
  | "never"
  | "cut"
  | { rows: number; spelling: "Suggested row fetch" | "Suggestive Row Fetch" };

/** An administration interface of a call manager: a foreign SOAP server on the maker's own description of it. */
export interface AxlPeer {
  /** Host and port. */
  address: string;
  fingerprint: string;
  /** Certificate, PEM. */
  certificate: string;
  user: string;
  password: string;
  /** What it does instead of answering; null: all is well. */
  failure: AxlFailure | null;
  /** Bodies of all requests that it took, newest last. */
  requests: string[];
  /** How many requests carried the password, and how many the session. */
  signIns: number;
  sessions: number;
  /** Requests that came while another one was being answered. */
  overlaps: number;
  /** Lets the session that it handed out end. */
  endSession(): void;
  close(): Promise<void>;
}

const SCHEMAS = join(createRequire(import.meta.url).resolve("cisco-axl/package.json"), "../schema");

/** Folder of the maker's description of a version of the interface. */
export function schemaFolder(version: string): string {
  return join(SCHEMAS, version);
}

/** Starts the interface on an address of loopback; `port` 0 takes a free one. */
export async function startAxlPeer(
  cluster: SimulatedCluster,
  {
    host = "127.0.0.1",
    port = 0,
    version = "14.0",
    nodes = ["127.0.0.1"],
  }: { host?: string; port?: number; version?: string; nodes?: readonly string[] } = {},
): Promise<AxlPeer> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-cluster-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=publisher", "-addext", `subjectAltName=IP:${host}`];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", keyFile, "-out", certFile, "-days", "2", ...subject],
    { stdio: "ignore" },
  );
  const certificate = readFileSync(certFile, "utf8");
  const server = createServer({ key: readFileSync(keyFile), cert: certificate });
  rmSync(folder, { recursive: true });
  const sockets = new Set<Socket>();
  server.on("secureConnection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  const peer: AxlPeer = {
    ...{ address: "", certificate, user: "axl", password: "axl-password", failure: null, requests: [] },
    fingerprint: new X509Certificate(certificate).fingerprint256,
    ...{ signIns: 0, sessions: 0, overlaps: 0 },
    endSession: () => {
      session = `s${Math.random()}`;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  let session = "s1";
  await serve(server, cluster, peer, version, nodes);
  const [soapListener] = server.listeners("request") as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  server.removeAllListeners("request");
  let open = 0;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (open > 0) peer.overlaps += 1;
    open += 1;
    response.once("close", () => {
      open -= 1;
    });
    if (simulateFailure(peer, response)) return;
    const basic = `Basic ${Buffer.from(`${peer.user}:${peer.password}`).toString("base64")}`;
    const bySession = request.headers.cookie === `JSESSIONIDSSO=${session}`;
    if (request.headers.authorization === basic) peer.signIns += 1;
    else if (bySession) peer.sessions += 1;
    else return void response.writeHead(request.headers.cookie === undefined ? 401 : 404).end();
    response.setHeader("Set-Cookie", `JSESSIONIDSSO=${session}; Path=/; Secure; HttpOnly`);
    if (/RISService70/.test(request.url ?? "")) return answerRegistrations(cluster, nodes, request, response);
    const [, asked] = /ver=([\d.]+)/.exec(String(request.headers.soapaction)) ?? [];
    if (asked !== version) return void response.writeHead(599).end();
    soapListener?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  peer.address = `${host}:${(server.address() as AddressInfo).port}`;
  return peer;
}

function simulateFailure({ failure }: AxlPeer, response: ServerResponse): boolean {
  if (failure === null || typeof failure === "object") return false;
  if (/^\d+$/.test(failure)) response.writeHead(Number(failure)).end();
  else if (failure === "garbage") response.end("<html><body>It works!");
  else if (failure === "cut")
    response.writeHead(200, { "Content-Length": "5000" }).write("<soapenv:Envelope>", () => response.destroy());
  else if (failure === "endless") streamEndless(response);
  return true;
}

/** Ten gigabytes, as long as somebody listens. */
function streamEndless(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, " ");
  let left = 160_000;
  const write = (): void => {
    while (left-- > 0 && !response.destroyed) if (!response.write(piece)) return void response.once("drain", write);
  };
  response.writeHead(200, { "Content-Type": "text/xml" });
  write();
}

type Answer = Record<string, unknown>;
type Arguments = { skip?: unknown; first?: unknown; sql?: string; uuid?: string; startChangeId?: unknown };

async function serve(
  server: Server,
  cluster: SimulatedCluster,
  peer: AxlPeer,
  version: string,
  nodes: readonly string[],
): Promise<void> {
  const folder = schemaFolder(version);
  const operations = {
    getCCMVersion: () => ({ return: { componentVersion: { version: `${version}.1.10000-20` } } }),
    listCallManager: () => ({
      return: { callManager: nodes.map((node) => ({ processNodeName: node })) },
    }),
    listProcessNode: () => ({ return: { processNode: ["EnterpriseWideData", ...nodes].map((name) => ({ name })) } }),
    listPhone: (args: Arguments) => ({
      return: { phone: pageOf([...cluster.phones.values()], args, peer).map(shown) },
    }),
    getPhone: ({ uuid = "" }: Arguments) => {
      const bare = uuid.replace(/[{}]/g, "").toLowerCase();
      const phone = [...cluster.phones.values()].find((each) => each.uuid === bare);
      if (!phone) throw fault("Item not valid: The specified phone was not found");
      const line = phone.lines.map((pattern, at) => ({ index: at + 1, dirn: { pattern } }));
      return { return: { phone: { ...shown(phone), lines: { line } } } };
    },
    executeSQLQuery: ({ sql = "" }: Arguments) => {
      const [, skip, first] = /SKIP (\d+) FIRST (\d+)/.exec(sql) ?? [];
      const rows = [...cluster.phones.values()].flatMap(({ name, lines }) =>
        lines.map((pattern, at) => ({ device: name, position: at + 1, pattern })),
      );
      return { return: { row: pageOf(rows, { skip, first }, peer) } };
    },
    listChange: ({ startChangeId }: Arguments) => {
      const from =
        startChangeId === undefined
          ? cluster.changes.length + 1
          : Number((startChangeId as { $value?: string }).$value);
      const change = cluster.changes
        .filter(({ id }) => id >= from)
        .map(({ id, action, uuid }) => ({
          attributes: { type: "Phone", uuid: `{${uuid.toUpperCase()}}` },
          id,
          action,
          doGet: true,
          changedTags: "",
        }));
      const next = cluster.changes.length + 1;
      return {
        queueInfo: { firstChangeId: 1, lastChangeId: next - 1, nextStartChangeId: next, queueId: "q1" },
        changes: { change },
      };
    },
  } satisfies Record<string, (args: Arguments) => Answer>;
  await new Promise<void>((resolve) => {
    const soap = serveSoap(server, {
      path: "/axl/",
      services: { AXLAPIService: { AXLPort: operations } } as never,
      xml: readFileSync(join(folder, "AXLAPI.wsdl"), "utf8"),
      uri: join(folder, "AXLAPI.wsdl"),
      callback: () => resolve(),
    } as never);
    soap.log = (type, data) => {
      if (type === "received") peer.requests.push(String(data));
    };
  });
}

function pageOf<T>(
  rows: readonly T[],
  { skip, first }: { skip?: unknown; first?: unknown },
  { failure }: AxlPeer,
): readonly T[] {
  const from = Number(skip ?? 0);
  const page = rows.slice(from, first === undefined ? undefined : from + Number(first));
  if (failure !== null && typeof failure === "object" && page.length > failure.rows / 5)
    throw fault(
      `Query request too large. Total rows matched: ${rows.length} rows. ${failure.spelling}: less than ${failure.rows} rows`,
    );
  return page;
}

function fault(words: string): object {
  return { Fault: { faultcode: "soapenv:Server", faultstring: words, statusCode: 500 } };
}

function shown({ uuid, name, description, model, pool }: SimulatedPhone): Answer {
  return {
    attributes: { uuid: `{${uuid.toUpperCase()}}` },
    ...{ name, description, product: model, model, protocol: "SIP", callingSearchSpaceName: "Internal" },
    ...{ devicePoolName: pool, locationName: "Hub_None", ownerUserName: "" },
  };
}

/** The second source; no foreign server of it is to be had, so it is ours. */
function answerRegistrations(
  cluster: SimulatedCluster,
  nodes: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const names = [
      ...Buffer.concat(parts)
        .toString()
        .matchAll(/<soap:Item>([^<]+)</g),
    ].map(([, name]) => name);
    const known = names.flatMap((name) => cluster.phones.get(name ?? "") ?? []);
    const items = nodes.map((node, at) => {
      const devices = known
        .filter((phone) => phone.node % nodes.length === at)
        .map(
          ({ name, registered, address }) =>
            `<item><Name>${name}</Name><Status>${registered ? "Registered" : "UnRegistered"}</Status><IPAddress><item><IP>${address}</IP></item></IPAddress><TimeStamp>1700000000</TimeStamp></item>`,
        );
      return `<item><ReturnCode>Ok</ReturnCode><Name>${node}</Name><CmDevices>${devices.join("")}</CmDevices></item>`;
    });
    const result = `<SelectCmDeviceResult><TotalDevicesFound>${known.length}</TotalDevicesFound><CmNodes>${items.join("")}</CmNodes></SelectCmDeviceResult>`;
    response.end(
      `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><ns1:selectCmDeviceResponse xmlns:ns1="http://schemas.cisco.com/ast/soap"><ns1:selectCmDeviceReturn>${result}</ns1:selectCmDeviceReturn></ns1:selectCmDeviceResponse></soapenv:Body></soapenv:Envelope>`,
    );
  });
}

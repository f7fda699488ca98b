import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import type { InitOutput } from "../support/carillon-process.ts";

/** The daemon that is attacked, and its administrator. */
export interface ConnectionTarget {
  url: string;
  first: InitOutput;
}

/** A hostile input that is more than one request, or none that HTTP knows; what it answers are broken promises in words. */
export interface HostileStory {
  /** Its number among the forty. @source reliability.md 4 */
  number: number;
  what: string;
  attack(target: ConnectionTarget): Promise<string[]>;
}

/** The hostile inputs that are played one step after the other. */
export const HOSTILE_STORIES: readonly HostileStory[] = [
  { number: 16, what: "device groups in a circle, and 500 on top of each other", attack: circleGroups },
  { number: 31, what: "two lengths of a body, a negative one, 1 MB of chunk extensions", attack: smuggle },
  { number: 33, what: "300 clients that send a byte a second", attack: dawdle },
  { number: 38, what: "an escalation that sends to its own list at once", attack: escalateInCircles },
  { number: 39, what: "20 MB frames, half texts and 10,000 pings over WebSocket", attack: floodSocket },
  { number: 40, what: "XML with entities from elsewhere, a billion laughs, 100,000 nested tags", attack: sendXml },
];

async function circleGroups(target: ConnectionTarget): Promise<string[]> {
  const group = async (name: string, baseDeviceGroupIds: string[]): Promise<string> =>
    String((await ask(target, "POST", "/device-groups", { name, filterType: "ACCEPT", baseDeviceGroupIds })).body.id);
  const first = await group("circle 1", []);
  const second = await group("circle 2", [first]);
  const closed = await ask(target, "PUT", `/device-groups/${first}`, { baseDeviceGroupIds: [second] });
  let last = first;
  for (let at = 0; at < 500; at++) last = await group(`chain ${at}`, [last]);
  const deep = await ask(target, "GET", `/device-groups/${last}`);
  return [
    ...(closed.status < 500 ? [] : [`a circle of groups was answered ${closed.status}`]),
    ...(deep.status < 500 ? [] : [`a chain of groups was answered ${deep.status}`]),
  ];
}

async function smuggle(target: ConnectionTarget): Promise<string[]> {
  const head = `POST /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
  const attacks = [
    `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/users HTTP/1.1\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(1_000_000)}\r\na\r\n0\r\n\r\n`,
  ];
  const answers = await Promise.all(attacks.map((text) => spoken(target, text)));
  return answers
    .filter((answer) => answer !== "" && !/^HTTP\/1\.1 4\d\d /.test(answer))
    .map((answer) => `it answered ${answer.slice(0, 80)}`);
}

/** Slow clients are hung up, and keep nobody else waiting. */
async function dawdle(target: ConnectionTarget): Promise<string[]> {
  const sockets = await Promise.all(Array.from({ length: 300 }, () => dial(target)));
  const closed = new Set<Socket>();
  for (const socket of sockets)
    socket.on("close", () => closed.add(socket)).write("GET /api/v1/users HTTP/1.1\r\nX-A: ");
  const until = performance.now() + 25_000;
  let worstMs = 0;
  while (closed.size < sockets.length && performance.now() < until) {
    const began = performance.now();
    await ask(target, "GET", "/session");
    worstMs = Math.max(worstMs, performance.now() - began);
    for (const socket of sockets) if (!closed.has(socket)) socket.write("a");
    await pause(1_000);
  }
  for (const socket of sockets) socket.destroy();
  return [
    ...(closed.size === sockets.length
      ? []
      : [`${sockets.length - closed.size} of 300 were still on the line after 25 s`]),
    ...(worstMs < 2_000 ? [] : [`others waited ${Math.round(worstMs)} ms`]),
  ];
}

/** A rule fires once for a message, and what it sends has no rule of its own. */
async function escalateInCircles(target: ConnectionTarget): Promise<string[]> {
  const made = async (path: string, json: object): Promise<string> =>
    String((await ask(target, "POST", path, json)).body.id);
  const list = await made("/distribution-lists", { name: "circle" });
  const request = await made("/confirmation-requests", { name: "circle", options: ["yes"] });
  const rule = { delay: 0, optionLabel: "yes", comparison: "LT", comparisonValue: 1, subject: "again" };
  await made(`/confirmation-requests/${request}/escalation-rules`, { ...rule, distributionListIds: [list] });
  const before = (await ask(target, "GET", "/notifications?limit=1")).body.total as number;
  await made("/notifications", { subject: "circle", confirmationRequestId: request, distributionListIds: [list] });
  await pause(5_000);
  const after = (await ask(target, "GET", "/notifications?limit=1")).body.total as number;
  return after - before <= 2 ? [] : [`${after - before} messages came of one`];
}

async function floodSocket(target: ConnectionTarget): Promise<string[]> {
  const attacks: ((socket: WebSocket) => void)[] = [
    (socket) => socket.send(Buffer.alloc(20_000_000)),
    (socket) => socket.send(Buffer.from([0xc3, 0x28]), { binary: false }),
    (socket) => {
      for (let at = 0; at < 1_000; at++) socket.send("x", { fin: false });
    },
    (socket) => {
      for (let at = 0; at < 10_000; at++) socket.ping();
    },
    (socket) => socket.send(JSON.stringify({ seq: 2 ** 53 })),
  ];
  const faults: string[] = [];
  for (const attack of attacks) {
    const headers = { authorization: `Bearer ${target.first.token}` };
    const socket = new WebSocket(`${target.url.replace("http", "ws")}/api/live`, { headers });
    socket.on("error", () => undefined);
    await once(socket, "open");
    attack(socket);
    await Promise.race([once(socket, "close"), pause(1_000)]);
    socket.terminate();
    const { status } = await ask(target, "GET", "/session");
    if (status !== 200) faults.push(`afterwards others were answered ${status}`);
  }
  return faults;
}

/** Sent where XML is read from strangers: as the answer of a log-in by SAML. */
async function sendXml(target: ConnectionTarget): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-xml-"));
  try {
    const names = ["-keyout", join(folder, "key"), "-out", join(folder, "crt"), "-subj", "/CN=idp", "-days", "2"];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...names], { stdio: "pipe" });
    const idpCertificates = readFileSync(join(folder, "crt"), "utf8");
    const idp = { entryPoint: "https://idp.example.org/", idpIssuer: "idp", idpCertificates };
    const { body } = await ask(target, "POST", "/identity-providers", { name: "XML", type: "saml", ...idp });
    const faults: string[] = [];
    for (const xml of hostileXml()) {
      const page = await fetch(`${target.url}/api/log-in/${body.id}`, { redirect: "manual" });
      const begun = `${page.headers.get("location") ?? ""}${await page.text()}`;
      const [, state = ""] = /RelayState(?:=|" value=")([^"&]*)/.exec(begun) ?? [];
      const form = { SAMLResponse: Buffer.from(xml).toString("base64"), RelayState: decodeURIComponent(state) };
      const began = performance.now();
      const answer = await fetch(`${target.url}/api/log-in/${body.id}/consume`, {
        method: "POST",
        body: new URLSearchParams(form),
      });
      const tookMs = Math.round(performance.now() - began);
      if (answer.status < 400 || answer.status >= 500) faults.push(`it was answered ${answer.status}`);
      if (tookMs > 5_000) faults.push(`it took ${tookMs} ms`);
    }
    return faults;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hostileXml(): string[] {
  const laughs = Array.from({ length: 10 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join("");
  return [
    '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>',
    `<!DOCTYPE r [<!ENTITY l0 "ha">${laughs}]><r>&l10;</r>`,
    `${"<a>".repeat(100_000)}`,
    "<r>]]></r>",
  ];
}

async function ask(
  { url, first }: ConnectionTarget,
  method: string,
  path: string,
  json?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${first.token}`, "content-type": "application/json" };
  const answer = await fetch(`${url}/api/v1${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function dial({ url }: ConnectionTarget): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // Who does not read does not hear of the end either.
  socket.on("error", () => undefined).resume();
  await once(socket, "connect");
  return socket;
}

/** What comes back for a text that is sent as it stands, within two seconds. */
async function spoken(target: ConnectionTarget, text: string): Promise<string> {
  const socket = await dial(target);
  let answer = "";
  socket.on("data", (bytes) => {
    answer += bytes.toString("latin1");
  });
  socket.write(text);
  await Promise.race([once(socket, "close"), pause(2_000)]);
  socket.destroy();
  return answer;
}

import { Agent, request } from "node:http";
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { FloodWork } from "./floods.ts";

/** Floods one server until it is terminated; posts the counts of statuses when asked. */
const { url, connections, localAddress, requests } = workerData as FloodWork;
const counts: Record<string, number> = {};
const RECONNECT_MS = 50;

parentPort?.on("message", () => parentPort?.postMessage(counts));

function count(name: string | number): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

if (requests.length === 0) for (let at = 0; at < connections; at++) holdConnection();
else {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  for (let at = 0; at < connections; at++) send(agent, at);
}

/** Opens a connection, sends nothing, and opens it again when it is closed. */
function holdConnection(): void {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on("connect", () => count("connected"));
  socket.on("error", () => undefined).resume();
  socket.on("close", () => {
    count("closed");
    setTimeout(holdConnection, RECONNECT_MS);
  });
}

/** Sends the requests one after the other, without end. */
function send(agent: Agent, at: number): void {
  const { method, path, headers, body } = requests[at % requests.length] as FloodWork["requests"][number];
  const again = (): void => void setImmediate(send, agent, at + connections);
  const sent = request(`${url}${path}`, { agent, method, headers, localAddress }, (response) => {
    count(response.statusCode ?? 0);
    response.resume().once("close", again);
  });
  sent.once("error", () => {
    count("error");
    setTimeout(again, RECONNECT_MS);
  });
  sent.end(body);
}

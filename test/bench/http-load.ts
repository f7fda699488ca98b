import { Agent, request } from "node:http";

/** What a burst of creates came to. */
export interface LoadFigures {
  perSecond: number;
  /** How long it took. */
  seconds: number;
  /** ms */
  p99: number;
}

/**
 * Posts JSON bodies to `url` (one for each, by its number, where it is a function) from `clients` connections, each waiting for its answer before the next, for `durationMs`.
 * Throws when an answer is not 200.
 */
export function measurePosts(
  url: string | ((n: number) => string),
  headers: Record<string, string>,
  clients: number,
  durationMs: number,
  body: (n: number) => unknown,
): Promise<LoadFigures> {
  const typed = { ...headers, "content-type": "application/json" };
  const at = typeof url === "string" ? () => url : url;
  return load(clients, durationMs, (agent, n) => send(agent, at(n), "POST", typed, JSON.stringify(body(n))));
}

/** Gets `url` as `postFor` posts to it. */
export function measureGets(
  url: string,
  headers: Record<string, string>,
  clients: number,
  durationMs: number,
): Promise<LoadFigures> {
  return load(clients, durationMs, (agent) => send(agent, url, "GET", headers, ""));
}

async function load(
  clients: number,
  durationMs: number,
  ask: (agent: Agent, n: number) => Promise<void>,
): Promise<LoadFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const began = performance.now();
  const times: number[] = [];
  let number = 0;
  const client = async (): Promise<void> => {
    while (performance.now() - began < durationMs) {
      const sent = performance.now();
      await ask(agent, number++);
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  const seconds = (performance.now() - began) / 1_000;
  return {
    perSecond: times.length / seconds,
    seconds,
    p99: times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0,
  };
}

function send(agent: Agent, url: string, method: string, headers: Record<string, string>, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const length = method === "GET" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sending = request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        if (response.statusCode === 200) return resolve();
        reject(new Error(`${response.statusCode}: ${Buffer.concat(parts).toString().slice(0, 300)}`));
      });
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

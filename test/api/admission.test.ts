import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAdmission } from "../../src/http/admission.ts";
import { createClientIdentifier } from "../../src/http/client-identity.ts";
import { startHttpServer } from "../../src/http/http-server.ts";
import { systemClock } from "../../src/lib/clock.ts";

const known: unknown[] = [];
let server: Awaited<ReturnType<typeof startHttpServer>>;
/** Names of the requests that wait for their response, and what ends them. */
const open = new Map<string, () => void>();
let most = 0;
let inTurn = 0;

beforeAll(async () => {
  server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
  const identify = createClientIdentifier({
    access: { authenticate: (token) => (token.startsWith("good") ? ({ userId: token } as never) : null) },
    scim: { authenticate: (token) => (token === "directory" ? ({ name: "Directory" } as never) : null) },
  });
  const admission = createAdmission({
    clock: systemClock,
    limits: { user: 4, address: 1 },
    identify,
    isEmergencyUnderWay: () => false,
    onKnownClient: ({ headers }) => void known.push(headers.authorization),
  });
  server.setRequestListener(
    admission.admit((incoming, response) => {
      if (inTurn++ === 0) {
        setImmediate(() => {
          most = Math.max(most, inTurn);
          inTurn = 0;
        });
      }
      try {
        admission.assertAdmitted(incoming);
      } catch (error) {
        response.writeHead(429, { "Retry-After": String((error as { retryAfterS: number }).retryAfterS) }).end();
        return;
      }
      if (!incoming.url?.includes("hold")) return void response.end(`<${incoming.url}>`);
      open.set(incoming.url, () => response.end(`<${incoming.url}>`));
    }),
  );
});
afterAll(() => server.stop());

/** Without the fetch of the tests, which checks that answers of the API are the documented ones. */
const ask = (path: string, token: string | null, method = "GET") =>
  new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const sent = request(`${server.url}${path}`, { method, headers, agent: false }, (response) => {
      response
        .resume()
        .once("end", () => resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] }));
    });
    sent.once("error", reject).end();
  });

describe("admission control", () => {
  it("refuses strangers of an address beyond its waiting requests, and no others", async () => {
    const held = ask("/hold-a", null);
    await expect.poll(() => open.has("/hold-a")).toBe(true);
    const waiting = Array.from({ length: 8 }, () => ask("/next", "bad"));
    const refused = await Promise.race([...waiting, ask("/next", null)].map(async (each) => await each));
    expect([refused.status, refused.retryAfter]).toEqual([429, "1"]);
    expect((await ask("/mine", "good-1")).status).toBe(200);
    expect((await ask("/scim/v2/Users", "directory")).status).toBe(200);
    expect(known).toContain("Bearer good-1");
    open.get("/hold-a")?.();
    await held;
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(7);
  });

  it("starts an emergency of a user whose other requests fill the limit", async () => {
    const held = Array.from({ length: 4 }, (_, at) => ask(`/hold-${at}`, "good-2"));
    await expect.poll(() => open.size).toBeGreaterThanOrEqual(4);
    let isServed = false;
    const later = ask("/later", "good-2").then(() => {
      isServed = true;
    });
    const emergency = await ask("/api/v1/notifications", "good-2", "POST");
    expect([emergency.status, isServed]).toEqual([200, false]);
    for (const end of open.values()) end();
    await Promise.all([...held, later]);
    expect(isServed).toBe(true);
  });

  it("does not count the event stream", async () => {
    const streams = Array.from({ length: 6 }, (_, at) => ask(`/api/v1/events?hold=${at}`, "good-3"));
    await expect.poll(() => [...open.keys()].filter((path) => path.includes("events")).length).toBe(6);
    expect((await ask("/mine", "good-3")).status).toBe(200);
    for (const end of open.values()) end();
    await Promise.all(streams);
  });

  it("starts pipelined requests a few per event loop turn, in order", async () => {
    most = 0;
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const paths = Array.from({ length: 32 }, (_, at) => `/${at}`);
    const head = "Host: x\r\nAuthorization: Bearer good-4\r\n\r\n";
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${head}`).join(""));
    let text = "";
    for await (const chunk of socket) {
      text += chunk;
      if (text.includes("</31>")) break;
    }
    expect(text.match(/<\/\d+>/g)).toEqual(paths.map((path) => `<${path}>`));
    expect(most).toBeLessThanOrEqual(10);
  });
});

import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createStreamFramer } from "../../plugins/cap-in/stream-framer.ts";
import { areasOf, capPlugins, HERE } from "./cap/cap-plugin.ts";
import { withMemoryState } from "./memory-state.ts";

const { open, run, onEnd } = capPlugins();

const SENT = "2026-01-12T07:55:00-00:00";

interface AlertOf {
  id: string;
  sent?: string;
  /** Length of an attached sound in characters. */
  sound?: number;
}
const alert = ({ id, sent = SENT, sound = 0 }: AlertOf): string =>
  `<?xml version='1.0' encoding='UTF-8' standalone='no'?><alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>${id}</identifier>
  <sender>cap-pac@canada.ca</sender><sent>${sent}</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>
  <info><language>fr-CA</language><event>tornade</event></info>
  <info><language>en-CA</language><category>Met</category><event>tornado</event><urgency>Immediate</urgency><severity>Extreme</severity>
  <certainty>Observed</certainty><expires>2026-01-12T09:30:00-00:00</expires><headline>Tornado – ${id}</headline>
  ${sound > 0 ? `<resource><mimeType>audio/mpeg</mimeType><derefUri>${"QUJD".repeat(sound / 4)}</derefUri></resource>` : ""}
  <area><areaDesc>Here</areaDesc><polygon>48.15,11.57 48.15,11.59 48.13,11.59 48.13,11.57 48.15,11.57</polygon></area></info></alert>`;
const heartbeat = (at: number, ...references: string[]): string =>
  `<?xml version='1.0' encoding='UTF-8'?>\n<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>HB${at}</identifier>
  <sender>NAADS-Heartbeat</sender><sent>${SENT}</sent><status>System</status><msgType>Alert</msgType><scope>Public</scope>
  <references>${references.join(" ")}</references></alert>\n`;

interface StreamServer {
  url: string;
  sockets: Socket[];
  /** Resolves with the connection of this number. */
  connection(number: number): Promise<Socket>;
  close(): Promise<void>;
}

async function openStream(onConnect: (socket: Socket) => void = () => undefined): Promise<StreamServer> {
  const sockets: Socket[] = [];
  const waiting: (() => void)[] = [];
  const server: Server = createServer((socket) => {
    socket.on("error", () => undefined);
    sockets.push(socket);
    onConnect(socket);
    for (const wake of waiting.splice(0)) wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stream = {
    url: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async connection(number: number): Promise<Socket> {
      while (sockets.length < number) await new Promise<void>((resolve) => waiting.push(resolve));
      return sockets[number - 1] as Socket;
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  onEnd(stream.close);
  return stream;
}

const FEED = { name: "Canada", preset: "ca-naad", onlyHere: true };

describe("cap-in stream", () => {
  it("splits what the network joined and joins what it split", async () => {
    const server = await openStream();
    const { triggered, cap } = await run([{ ...FEED, url: server.url, archives: [] }]);
    const socket = await server.connection(1);
    // Two alerts in one segment; then one byte by byte, with multi-byte letters cut in the middle.
    socket.write(`${alert({ id: "A1" })}${alert({ id: "A2" })}`);
    await cap.said(({ state }) => state === "ok");
    const bytes = Buffer.from(`\n\n${alert({ id: "A3" })}`);
    for (let at = 0; at < bytes.length; at += 7) socket.write(bytes.subarray(at, at + 7));
    // The rest of an alert whose beginning was lost, garbage, an alert that breaks off, and a whole one.
    socket.write(
      `<areaDesc>x</areaDesc></area></info></alert>\u0000\u0001garbage ${alert({ id: "A4" }).slice(0, 300)}`,
    );
    socket.write(alert({ id: "A5" }));
    socket.write(`<alert><broken></alert>${alert({ id: "A1" })}${alert({ id: "A6" })}`);
    while (triggered().length < 5) await new Promise((resolve) => setImmediate(resolve));
    expect(triggered().map(({ values }) => values.headline)).toEqual(
      ["A1", "A2", "A3", "A5", "A6"].map((id) => `Tornado – ${id}`),
    );
    expect(triggered()[0]?.values.areaOfInterestIds).toEqual([HERE.id]);
    expect(server.sockets).toHaveLength(1);
  });

  it("reads an alert of 5 MB, and gives one up that never ends", async () => {
    const server = await openStream();
    const { triggered, until } = await run([{ ...FEED, url: server.url, archives: [] }]);
    const socket = await server.connection(1);
    socket.write(alert({ id: "B1", sound: 5_000_000 }));
    while (triggered().length < 1) await new Promise((resolve) => setImmediate(resolve));
    expect(triggered()[0]?.values.identifier).toBe("B1");
    for (let sent = 0; sent < 20 && !socket.destroyed; sent++) socket.write(`<alert>${"x".repeat(1_048_576)}`);
    await until(() => server.sockets.length === 2);
    (await server.connection(2)).write(alert({ id: "B2" }));
    while (triggered().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(triggered()[1]?.values.identifier).toBe("B2");
  });

  it("reads missed alerts from the archives, in order, and none twice", async () => {
    const [server, archive] = [await openStream(), await open()];
    const path = "/2026-01-12/2026_01_12T08_55_00p01_00I2.49.0.1.124.M_1.xml";
    const sent = "2026-01-12T08:55:00+01:00";
    archive.pages.set(`/second${path}`, { status: 404 });
    archive.pages.set(path, alert({ id: "2.49.0.1.124.M-1", sent }));
    const closed = await openStream();
    await closed.close();
    const archives = [closed.url.replace("tcp:", "http:"), archive.url("/")];
    const answer = withMemoryState(areasOf);
    const { triggered, cap } = await run([{ ...FEED, url: server.url, archives }], {}, answer);
    const socket = await server.connection(1);
    socket.write(alert({ id: "M2" }));
    const references = [`cap-pac@canada.ca,2.49.0.1.124.M-1,${sent}`, `cap-pac@canada.ca,M2,${SENT}`];
    socket.write(heartbeat(1, ...references));
    socket.write(heartbeat(2, ...references));
    while (triggered().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(triggered().map(({ values }) => values.identifier)).toEqual(["M2", "2.49.0.1.124.M-1"]);
    // One that no archive has is asked for ten times, and told.
    for (let at = 3; at < 15; at++) socket.write(heartbeat(at, ...references, `cap-pac@canada.ca,GONE,${SENT}`));
    await cap.said(({ reason }) => reason?.includes("missed alert GONE") === true);
    socket.write(alert({ id: "M3" }));
    while (triggered().length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(archive.asked.filter(({ path: asked }) => asked === path)).toHaveLength(1);
    expect(archive.asked.filter(({ path: asked }) => asked.includes("GONE"))).toHaveLength(10);
    expect(cap.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  it("goes on to the next host when one is closed, stalls or is not there, and reports silence", async () => {
    const [first, second] = [await openStream(), await openStream()];
    const { triggered, clock, until, cap } = await run([
      { ...FEED, url: [first.url, second.url], archives: [], silentAfterMinutes: 5 },
    ]);
    (await first.connection(1)).end(alert({ id: "H1" }));
    await until(() => second.sockets.length === 1);
    expect(cap.statuses.at(-1)?.state).toBe("down");
    (await second.connection(1)).write(heartbeat(1));
    await until(() => cap.statuses.at(-1)?.state === "ok");
    // No message for 150 s; half a message is none.
    (await second.connection(1)).write(alert({ id: "H2" }).slice(0, 200));
    await clock.advance(149_000);
    expect(first.sockets).toHaveLength(1);
    await clock.advance(2_000);
    await until(() => first.sockets.length === 2);
    await first.close();
    await second.close();
    await until(() => cap.statuses.at(-1)?.state === "down");
    while (!triggered().some(({ source }) => source === "Canada/silence")) await clock.advance(10_000);
    expect(triggered().map(({ source, values }) => [source, values.identifier ?? values.state])).toEqual([
      ["Canada", "H1"],
      ["Canada/silence", "silent"],
    ]);
  });

  it("searches each byte once", () => {
    const framer = createStreamFramer(64 * 1_048_576);
    const document = Buffer.from(alert({ id: "F1", sound: 4_000_000 }));
    let documents = 0;
    for (let at = 0; at < document.length; at += 100)
      documents += framer.push(document.subarray(at, at + 100)).documents.length;
    expect(documents).toBe(1);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PhoneReport } from "../../../../src/tools/simulator/report.ts";
import type { Simulator } from "../../../../src/tools/simulator/simulator.ts";
import {
  CREDENTIALS,
  ownGroup,
  type PageServer,
  push,
  pushXml,
  requestPhone,
  simulatorFrom,
  startPageServer,
  until,
  urlOf,
} from "./simulator-fixture.ts";

const OK = '<CiscoIPPhoneResponse><ResponseItem Status="0" Data="Success" URL="Key:Services"/></CiscoIPPhoneResponse>';
const FORM = { "Content-Type": "application/x-www-form-urlencoded", Authorization: CREDENTIALS };

describe("simulated phone, pushed to over HTTP", () => {
  let server: PageServer;
  let campus: Simulator;
  let off: Simulator;
  /** By model: colour, mono, text only; with no RTP. */
  let colour: Simulator["devices"][number] | undefined;
  let textOnly: Simulator["devices"][number] | undefined;
  const group = ownGroup(0);
  const rtp = `RTPMRx:${group.group}:${group.port}`;

  const record = (index = 0): PhoneReport => campus.report().phones[index] as PhoneReport;
  const tell = (path: string, body: unknown) =>
    requestPhone(`${campus.control}${path}`, { method: "POST", body: JSON.stringify(body) });

  beforeAll(async () => {
    server = await startPageServer();
    campus = await simulatorFrom(`--phones 4 --auth-url ${server.url}/auth`);
    off = await simulatorFrom("--phones 6 --offline 2 --no-rtp 4");
    [colour, , , textOnly] = campus.devices;
  });

  afterAll(async () => {
    await campus.stop();
    await off.stop();
    await server.close();
  });

  beforeEach(async () => {
    for (const device of campus.devices) await push(device, "RTPRx:Stop");
    await tell("/reset", {});
    server.callbacks.splice(0);
    server.pages.clear();
  });

  it("describes itself as a device of the API", () => {
    expect(colour).toEqual({
      type: "phones",
      deviceIdentifier: "SEP02CA00000000",
      description: "Room 101",
      attributes: {
        Name: "SEP02CA00000000",
        IPAddress: "127.16.0.1",
        HttpPort: expect.stringMatching(/^\d+$/),
        DeviceProduct: "Cisco 8845",
        CallManagerDevicePool: "Floor-1",
        AuthenticationUrl: `${server.url}/auth`,
      },
    });
    expect(off.devices[0]?.attributes).not.toHaveProperty("AuthenticationUrl");
    expect(new Set(campus.devices.map((device) => device.attributes.IPAddress)).size).toBe(4);
  });

  it("authenticates every push once, from its own address", async () => {
    const answer = await push(colour, "Key:Services");
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining(OK) });
    expect(answer.headers["content-type"]).toBe("text/xml; charset=utf-8");
    expect(server.callbacks).toHaveLength(1);
    const [callback] = server.callbacks;
    expect(callback?.from).toBe("127.16.0.1");
    expect(Object.fromEntries(callback?.query ?? [])).toEqual({
      UserID: "push",
      Password: "se cret&",
      devicename: "SEP02CA00000000",
    });
    expect(record()).toMatchObject({ pushes: 1, authCalls: 1, errors: [] });
  });

  it("rejects wrong credentials with error 4, and missing ones with 401", async () => {
    const wrong = `Basic ${Buffer.from("push:guess").toString("base64")}`;
    const answer = await pushXml(colour, '<CiscoIPPhoneExecute><ExecuteItem URL="Key:A"/></CiscoIPPhoneExecute>', {
      Authorization: wrong,
    });
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('<CiscoIPPhoneError Number="4"/>') });
    const none = await requestPhone(urlOf(colour, "/CGI/Execute"), { method: "POST", body: "XML=" });
    expect(none.status).toBe(401);
    expect(none.headers["www-authenticate"]).toMatch(/^Basic /);
    expect(record()).toMatchObject({ pushes: 2, authCalls: 1 });
    expect(JSON.stringify(campus.report())).not.toContain("guess");
  });

  it("rejects pushes if the authentication URL is missing, unreachable or denies", async () => {
    const answers = await Promise.all(off.devices.map((device) => push(device, "Key:A")));
    const refused = answers.filter((answer) => answer.error === null);
    expect(refused).toHaveLength(4);
    for (const answer of refused) expect(answer.body).toContain('Number="4"');
    await tell("/auth-url", { url: "http://127.0.0.1:9/auth" });
    expect((await push(colour, "Key:A")).body).toContain('Number="4"');
    server.pages.set("/words", { type: "text/plain", body: "AUTHORIZED indeed" });
    await tell("/auth-url", { url: `${server.url}/words` });
    expect((await push(colour, "Key:A")).body).toContain('Number="4"');
    await tell("/auth-url", { url: `${server.url}/auth` });
    expect((await push(colour, "Key:A")).body).toContain('Status="0"');
  });

  it("resets connections while it is offline", async () => {
    const answers = await Promise.all(off.devices.map((device) => requestPhone(urlOf(device, "/DeviceInformationX"))));
    const codes = answers.map((answer) => answer.error ?? answer.status);
    expect(codes.filter((code) => code === 200)).toHaveLength(4);
    expect(codes.filter((code) => code === "ECONNRESET")).toHaveLength(2);
    await tell("/phones/SEP02CA00000000/online", { online: false });
    expect((await push(colour, "Key:A")).error).toBe("ECONNRESET");
    await tell("/phones/SEP02CA00000000/online", { online: true });
    expect((await push(colour, "Key:A")).status).toBe(200);
  });

  it("accepts only the exact path, method and form field", async () => {
    const body = `XML=${encodeURIComponent('<CiscoIPPhoneExecute><ExecuteItem URL="Key:A"/></CiscoIPPhoneExecute>')}`;
    const post = (path: string, text: string, headers: Record<string, string> = FORM) =>
      requestPhone(urlOf(colour, path), { method: "POST", headers, body: text });
    expect((await post("/CGI/Execute", body)).body).toContain('Status="0"');
    expect((await post("/cgi/execute", body)).status).toBe(405);
    expect((await requestPhone(urlOf(colour, "/cgi/execute"))).status).toBe(404);
    expect((await requestPhone(urlOf(colour, "/CGI/Execute"))).status).toBe(405);
    for (const wrong of [body.replace("XML", "xml"), "", "XML=%3Cbroken"]) {
      expect((await post("/CGI/Execute", wrong)).body).toContain('<CiscoIPPhoneError Number="1"/>');
    }
    const asText = { ...FORM, "Content-Type": "text/xml" };
    expect((await post("/CGI/Execute", body, asText)).body).toContain('<CiscoIPPhoneError Number="1"/>');
  });

  it("accepts at most 40 KB", async () => {
    const padded = (bytes: number): string => {
      const xml = 'XML=<CiscoIPPhoneExecute><ExecuteItem URL="Key:A"/><!---->';
      return `${xml.replace("<!---->", `<!--${"x".repeat(bytes - xml.length - 22)}-->`)}</CiscoIPPhoneExecute>`;
    };
    const post = (body: string) => requestPhone(urlOf(colour, "/CGI/Execute"), { method: "POST", headers: FORM, body });
    expect(padded(40_960)).toHaveLength(40_960);
    expect((await post(padded(40_960))).body).toContain('Status="0"');
    expect((await post(padded(40_961))).status).toBe(413);
    expect(record()).toMatchObject({ authCalls: 1 });
  });

  it.each([
    ["no item", []],
    ["four items", ["Key:A", "Key:B", "Key:C", "Key:D"]],
    ["two URLs", ["http://127.0.0.1/a", "http://127.0.0.1/b"]],
    ["an unknown priority", ["Key:A 3"]],
  ])("rejects an Execute with %s as a whole", async (_, uris) => {
    expect((await push(colour, ...uris)).body).toContain('<CiscoIPPhoneError Number="1"/>');
    expect(server.callbacks.map((callback) => callback.path)).toEqual(["/auth"]);
  });

  it("returns a status per item, 6 for unknown URIs", async () => {
    const { body } = await push(colour, "Key:A", "key:A", "RTPMRx:239.1.1.1:99");
    expect(body).toContain('<ResponseItem Status="0" Data="Success" URL="Key:A"/>');
    expect(body).toContain('<ResponseItem Status="6" Data="URI not found" URL="key:A"/>');
    expect(body).toContain('<ResponseItem Status="6" Data="Invalid port" URL="RTPMRx:239.1.1.1:99"/>');
    expect(record().errors).toHaveLength(2);
  });

  it("starts items in a varying order", async () => {
    const orders = new Set<string>();
    for (let n = 0; n < 12; n++) {
      const { body } = await push(colour, "Key:A", "Key:B", "Key:C");
      orders.add([...body.matchAll(/URL="Key:(.)"/g)].map((match) => match[1]).join(""));
    }
    expect(orders.size).toBeGreaterThan(2);
  });

  it("is busy while it receives, until it is stopped", async () => {
    expect((await push(colour, rtp)).body).toContain('Status="0"');
    const other = `RTPMRx:${ownGroup(1).group}:${group.port}`;
    expect((await push(colour, other)).body).toContain('<CiscoIPPhoneError Number="1"/>');
    expect((await push(colour, other, "Key:A")).body).toContain('Status="1" Data="Rx already active"');
    expect((await push(colour, "RTPMRx:Stop")).body).toContain('Status="0"');
    expect(record().leftAt).not.toBeNull();
    expect((await push(colour, other)).body).toContain('Status="0"');
    const { earlier, joinedAt, leftAt } = record();
    expect([earlier.length, earlier[0]?.address, leftAt]).toEqual([1, group.group, null]);
    expect(joinedAt).toBeGreaterThanOrEqual(earlier[0]?.leftAt ?? Number.NaN);
  });

  it("stops receiving when a call comes", async () => {
    await push(colour, rtp);
    await tell("/phones/SEP02CA00000000/call", { state: "active" });
    expect(record().leftAt).not.toBeNull();
    // While the call lasts, what is pushed is whispered into it.
    expect((await push(colour, rtp)).body).toContain('Status="0"');
  });

  it("shows pages by priority: at once, after the call, or not at all", async () => {
    const page = (text: string) => ({
      type: "text/xml; charset=utf-8",
      body: `<?xml version="1.0" encoding="utf-8"?><CiscoIPPhoneText><Text>${text}</Text></CiscoIPPhoneText>`,
    });
    for (const name of ["now", "later", "never"]) server.pages.set(`/${name}`, page(name));
    await tell("/phones/SEP02CA00000000/call", { state: "active" });
    expect((await push(colour, `${server.url}/never 2`)).body).toContain('Status="6"');
    expect((await push(colour, `${server.url}/later 1`)).body).toContain('Status="0"');
    expect((await push(colour, `${server.url}/now 0`)).body).toContain('Status="0"');
    await until(() => record().pages.length === 1);
    await tell("/phones/SEP02CA00000000/call", { state: "idle" });
    await until(() => record().pages.length === 2);
    expect(record().pages.map((shown) => shown.text)).toEqual(["now", "later"]);
  });

  it("describes its display in requests, and shows text, softkeys and an image that fits", async () => {
    const png = Buffer.alloc(64);
    png.write("\x89PNG\r\n\x1a\n", 0, "latin1");
    png.writeUInt32BE(559, 16);
    png.writeUInt32BE(265, 20);
    server.pages.set("/page", {
      type: 'text/xml; charset="UTF-8"',
      body:
        `<?xml version="1.0" encoding="UTF-8"?><CiscoIPPhoneImageFile><Title>Fire &amp; smoke</Title><Prompt>Go</Prompt>` +
        `<URL>${server.url}/image?a=1&amp;b=2</URL><SoftKeyItem><Name>OK</Name><URL>SoftKey:Exit</URL><Position>1</Position></SoftKeyItem>` +
        `</CiscoIPPhoneImageFile>`,
    });
    server.pages.set("/image", { type: "image/png", body: png });
    await push(colour, `${server.url}/page`);
    await until(() => record().pages.length === 1);
    expect(record().pages[0]).toMatchObject({
      url: `${server.url}/page`,
      type: "CiscoIPPhoneImageFile",
      title: "Fire & smoke",
      prompt: "Go",
      softKeys: [{ name: "OK", url: "SoftKey:Exit" }],
      image: { width: 559, height: 265, bytes: 64 },
    });
    const fetched = server.callbacks.filter((callback) => callback.path !== "/auth");
    expect(fetched.map((callback) => callback.path)).toEqual(["/page", "/image"]);
    for (const { headers, from } of fetched) {
      expect(from).toBe("127.16.0.1");
      expect(headers["x-ciscoipphonemodelname"]).toBe("CP-8845");
      expect(headers["x-ciscoipphonedisplay"]).toBe("559,265,24,C");
    }
  });

  it.each([
    ["a wrong content type", "text/xml", '<?xml version="1.0" encoding="UTF-8"?><CiscoIPPhoneText/>'],
    ["no XML declaration", "text/xml; charset=utf-8", "<CiscoIPPhoneText/>"],
    [
      "an unknown element",
      "text/xml; charset=utf-8",
      '<?xml version="1.0" encoding="UTF-8"?><CiscoIPPhoneText><B/></CiscoIPPhoneText>',
    ],
    ["an unknown object", "text/xml; charset=utf-8", '<?xml version="1.0" encoding="UTF-8"?><Html/>'],
    ["broken XML", "text/xml; charset=utf-8", '<?xml version="1.0" encoding="UTF-8"?><CiscoIPPhoneText>'],
  ])("rejects a page with %s", async (_, type, body) => {
    server.pages.set("/page", { type, body });
    await push(colour, `${server.url}/page`);
    await until(() => record().errors.length === 1);
    expect(record().pages).toEqual([]);
  });

  it("shows no image on a model without images, and none that is too large", async () => {
    const page = `<?xml version="1.0" encoding="UTF-8"?><CiscoIPPhoneImageFile><URL>${server.url}/image</URL></CiscoIPPhoneImageFile>`;
    server.pages.set("/page", { type: "text/xml; charset=utf-8", body: page });
    const png = Buffer.alloc(64);
    png.write("\x89PNG\r\n\x1a\n", 0, "latin1");
    png.writeUInt32BE(560, 16);
    png.writeUInt32BE(265, 20);
    server.pages.set("/image", { type: "image/png", body: png });
    await push(textOnly, `${server.url}/page`);
    await push(colour, `${server.url}/page`);
    await until(() => record(3).errors.length + record(0).errors.length === 2);
    expect(record(3).errors[0]).toContain("shows no images");
    expect(record(0).errors[0]).toContain("560x265 does not fit 559x265");
  });

  it("supports neither RTP nor responses on multiplatform firmware", async () => {
    await requestPhone(`${off.control}/auth-url`, {
      method: "POST",
      body: JSON.stringify({ url: `${server.url}/auth` }),
    });
    const answers = await Promise.all(off.devices.map((device) => push(device, rtp)));
    const silent = answers.filter((answer) => answer.error === null);
    expect(silent.map((answer) => [answer.status, answer.body])).toEqual(Array(4).fill([200, ""]));
    expect(off.report().summary).toMatchObject({ joined: 0 });
    const statistics = await Promise.all(
      off.devices.map((device) => requestPhone(urlOf(device, "/StreamingStatisticsX?1"))),
    );
    expect(statistics.filter((answer) => answer.status === 404)).toHaveLength(4);
    const products = off.devices.filter((device) => device.attributes.DeviceProduct === "Cisco 8841-3PCC");
    expect(products).toHaveLength(4);
  });

  it("resets a third connection at once", async () => {
    server.pages.set("/slow", null);
    await tell("/auth-url", { url: `${server.url}/slow` });
    const first = [push(colour, "Key:A"), push(colour, "Key:A")];
    await until(() => server.callbacks.length === 2);
    expect((await push(colour, "Key:A")).error).toBe("ECONNRESET");
    // No answer within 3 s is a refusal.
    for (const answer of await Promise.all(first)) expect(answer.body).toContain('Number="4"');
    await tell("/auth-url", { url: `${server.url}/auth` });
  });

  it("plays a sound file before it responds", async () => {
    const before = performance.now();
    expect((await push(colour, "Play:Bell.raw")).body).toContain('Status="0"');
    expect(performance.now() - before).toBeGreaterThan(1900);
  });

  it("responds after the configured latency", async () => {
    const slow = await simulatorFrom(`--phones 1 --latency fixed:150 --auth-url ${server.url}/auth`);
    const before = performance.now();
    expect((await push(slow.devices[0], "Key:A")).body).toContain('Status="0"');
    expect(performance.now() - before).toBeGreaterThan(140);
    await slow.stop();
  });

  it("responds after the latency set for one phone, until it is reset", async () => {
    const path = `/phones/${colour?.deviceIdentifier}/latency`;
    await tell(path, { latency: "fixed:150" });
    const before = performance.now();
    await push(colour, "Key:A");
    expect(performance.now() - before).toBeGreaterThan(140);
    await tell(path, { latency: null });
    expect((await tell(path, { latency: "soon" })).status).toBe(400);
    expect((await push(colour, "Key:A")).body).toContain('Status="0"');
  });
});

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";

/**
 * The requests of public monitoring scripts and button programs for on-premises servers, word for word: their paths,
 * spellings, parameters and credentials. Their product word may be any.
 */
let daemon: TestDaemon;
let gym: string;
let reader: { id: string; email: string; password: string };
beforeAll(async () => {
  daemon = await startTestDaemon();
  const at = `/extensions/${daemon.first.extensionId}/devices`;
  const device = async (deviceIdentifier: string, description: string, type: string, attributes: object) =>
    (await daemon.call<{ id: string }>("POST", at, { deviceIdentifier, description, type, attributes })).body.id;
  gym = await device("sip:gym@127.0.0.1", "IP Speaker Gym", "speakers", {
    Name: "Gym",
    MACAddress: "00:11:22:33:44:01",
    IPAddress: "127.0.0.1",
    IsRegistered: "false",
  });
  await device("sip:hall@127.0.0.1", "IP Speaker Hall", "speakers", { IsRegistered: "true" });
  await device("SEP001122334455", "IP Phone Office", "phones", { Name: "SEP001122334455" });
  const password = "green ladders every morning";
  const user = await daemon.call<{ id: string }>("POST", "/users", {
    name: "Monitor",
    email: "monitor@example.org",
    type: "regular",
  });
  await daemon.call("PUT", `/users/${user.body.id}/password`, { password });
  reader = { id: user.body.id, email: "monitor@example.org", password };
});
afterAll(() => daemon.stop());

interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  body: any;
}

const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
const admin = (): string => basic(TEST_ADMIN.email, TEST_ADMIN.password);

/** As a program sends it that knows nothing of the description. */
function ask(url: string, headers: Record<string, string> = {}, method = "GET", body?: string): Promise<Received> {
  const target = url.startsWith("http") ? url : `${daemon.url}${url}`;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(target, { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        const isJson = response.headers["content-type"]?.startsWith("application/json");
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        });
      });
    });
    sent.on("error", reject).end(body);
  });
}

describe("a monitoring script of an on-premises server", () => {
  it.each(["/Product/RESTServices/V1", "/api/onprem/v1", "/api/onprem/V1", "/api/v1/Product/V1"])(
    "finds the devices that are not registered below %s",
    async (base) => {
      const authorization = admin();
      const { status, body } = await ask(`${base}/Devices/?includeAttributes=true`, { authorization });
      expect([status, body.total, body.previous, body.next]).toEqual([200, 3, null, null]);
      for (const row of body.data) {
        expect(Object.keys(row)).toEqual(expect.arrayContaining(["index", "id", "description", "link"]));
        expect(Object.keys(row.attributes)).toEqual(
          expect.arrayContaining(["IsRegistered", "Description", "Name", "MACAddress", "Volume"]),
        );
      }
      const silent = body.data.filter((row: { isRegistered: string }) => row.isRegistered === "false");
      expect(silent).toEqual([
        expect.objectContaining({
          id: gym,
          description: "IP Speaker Gym",
          attributes: expect.objectContaining({ IsRegistered: "false", MACAddress: "00:11:22:33:44:01", Volume: "" }),
        }),
      ]);
      const linked = await ask(silent[0].link, { authorization });
      expect([linked.status, linked.body.id]).toEqual([200, gym]);
    },
  );

  it("reads the device type under the product word of its address", async () => {
    const headers = { authorization: admin() };
    const { body } = await ask("/Product/RESTServices/V1/Devices/?includeAttributes=yes", headers);
    const types = body.data.map(({ attributes }: { attributes: Record<string, string> }) => attributes);
    expect(types.map((each: Record<string, string>) => each.ProductDeviceType)).toEqual([
      "speakers",
      "speakers",
      "phones",
    ]);
    const plain = await ask("/Product/RESTServices/V1/Devices", headers);
    expect(plain.body.data[0].attributes).toBeUndefined();
  });

  it("follows the URL of the next page until there is none", async () => {
    const headers = { authorization: admin() };
    const seen: [number, string][] = [];
    let url: string | null = "/Product/RESTServices/V1/Devices?maxCount=2";
    while (url !== null) {
      const { status, body }: Received = await ask(url, headers);
      expect(status).toBe(200);
      seen.push(...body.data.map((row: { index: number; description: string }) => [row.index, row.description]));
      url = body.next;
    }
    expect(seen).toEqual([
      [0, "IP Speaker Gym"],
      [1, "IP Speaker Hall"],
      [2, "IP Phone Office"],
    ]);
    const second = await ask("/Product/RESTServices/V1/Devices?startIndex=1&maxCount=1", headers);
    expect(second.body.data.map(({ index }: { index: number }) => index)).toEqual([1]);
    expect((await ask(second.body.previous, headers)).body.data[0].index).toBe(0);
    // More than a page may have.
    expect((await ask("/Product/RESTServices/V1/Devices?maxCount=10000", headers)).body.data).toHaveLength(3);
  });

  it("lists the speakers with their addresses, for a discovery", async () => {
    const { status, body } = await ask("/Product/RESTServices/V1/IPSpeakers", { authorization: admin() });
    expect([status, body.total]).toEqual([200, 2]);
    expect(body.data[0]).toEqual({
      index: 0,
      id: gym,
      name: "Gym",
      description: "IP Speaker Gym",
      ip: "127.0.0.1",
      mac: "00:11:22:33:44:01",
      volume: "",
      isRegistered: "false",
      isDesktopNotifier: "false",
      link: `${daemon.url}/api/onprem/v1/ip-speakers/${gym}`,
    });
    const one = await ask(body.data[0].link, { authorization: admin() });
    expect([one.status, one.body.name]).toEqual([200, "Gym"]);
    const phone = (await ask("/api/onprem/v1/Devices", { authorization: admin() })).body.data[2].id;
    expect((await ask(`/api/onprem/v1/IPSpeakers/${phone}`, { authorization: admin() })).status).toBe(404);
  });

  it("counts the registered speakers", async () => {
    const url = "/Product/RESTServices/V1/IPSpeakers/statistics";
    const { status, body } = await ask(url, { authorization: admin() });
    expect([status, body.total, body.registered, body.notRegistered, body.unknown]).toEqual([200, 2, 1, 1, 0]);
    expect(body.data.filter((row: { status: string }) => row.status === "Not registered")).toEqual([
      expect.objectContaining({ index: 0, id: gym, state: null, failures: 0, lastSeenAt: null }),
    ]);
    const second = await ask(`${url}?startIndex=1&maxCount=1`, { authorization: admin() });
    expect([second.body.registered, second.body.data[0].status]).toEqual([1, "Registered"]);
  });
});

describe("other programs of on-premises servers", () => {
  it("send a message by a button", async () => {
    const headers = { authorization: admin(), "content-type": "application/json" };
    const group = await daemon.call<{ id: string }>("POST", "/device-groups", { name: "All", filterType: "ACCEPT" });
    const template = await daemon.call<{ id: string }>("POST", "/message-templates", {
      name: "Help",
      subject: "Help",
      deviceGroupIdsCustomizable: true,
    });
    const body = JSON.stringify({ recipients: [{ id: group.body.id, type: "RECIPIENT_GROUP" }] });
    const sent = await ask(`/Product/RESTServices/V1/Messages/${template.body.id}`, headers, "POST", body);
    expect([sent.status, sent.body.subject, sent.body.deviceGroupIds]).toEqual([200, "Help", [group.body.id]]);
    const listed = await ask("/Product/RESTServices/V1/Messages/", headers);
    expect(listed.body.data[0]).toMatchObject({ index: 0, subject: "Help" });
    expect((await ask(listed.body.data[0].link, headers)).body.id).toBe(template.body.id);
  });

  it("page through other lists by URLs", async () => {
    for (const name of ["A", "B", "C"]) await daemon.call("POST", "/device-groups", { name, filterType: "REJECT" });
    const headers = { authorization: admin() };
    const names: string[] = [];
    let url: string | null = "/Product/RESTServices/V1/RecipientGroups/?maxCount=2";
    while (url !== null) {
      const { body }: Received = await ask(url, headers);
      names.push(...body.data.map(({ name }: { name: string }) => name));
      url = body.next;
    }
    expect(names.slice(-3)).toEqual(["A", "B", "C"]);
  });

  it.each([
    ["RecipientGroups", "recipient-groups"],
    ["ActivationGroups", "activation-groups"],
    ["ScheduledBroadcasts", "scheduled-broadcasts"],
    ["Bells", "bells"],
    ["Endpoints", "endpoints"],
    ["Admin/Telephony", "admin/telephony"],
    ["Admin/TtsVoices", "admin/tts/voices"],
    ["Admin/TtsLexicon", "admin/tts/lexicon"],
    ["Plugins/CallAware", "plugins/call-aware"],
    ["Plugins/M2M", "plugins/m2m"],
    ["Plugins/NightBell", "plugins/night-bell"],
    ["Admin/DialCast/dialingConfigurations", null],
  ])("read %s in its older spelling", async (older, current) => {
    const headers = { authorization: `Bearer ${daemon.first.token}` };
    for (const base of ["/api/onprem/v1", "/api/v1/Product/V1", "/api/Product/V1"]) {
      const { status, body } = await ask(`${base}/${older}`, headers);
      expect([base, status]).toEqual([base, 200]);
      if (current !== null) expect(body).toEqual((await ask(`/api/onprem/v1/${current}`, headers)).body);
    }
    expect((await ask(`/Product/RESTServices/V1/${older}?maxCount=10000`, { authorization: admin() })).status).toBe(
      200,
    );
  });

  it("get an error in JSON for a path that there is not", async () => {
    const { status, body } = await ask("/Product/RESTServices/V1/Toasters", { authorization: admin() });
    expect([status, body.type]).toEqual([404, "not-found"]);
    expect((await ask("/api/v2/users", { authorization: admin() })).status).toBe(404);
  });
});

describe("a password in each request", () => {
  const devices = "/api/onprem/v1/Devices";

  it("is accepted below the on-premises prefix only", async () => {
    const answers = await Promise.all(
      [devices, "/api/onprem/v1/bells", "/api/v1/devices", "/api/v1/users"].map((url) =>
        ask(url, { authorization: admin() }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 401]);
  });

  it("asks for one where none is given, but not in pages", async () => {
    const plain = await ask(devices);
    expect([plain.status, plain.headers["www-authenticate"]]).toEqual([
      401,
      'Bearer realm="carillon", Basic realm="carillon", charset="UTF-8"',
    ]);
    const page = await ask(devices, { "sec-fetch-mode": "cors" });
    expect([page.status, page.headers["www-authenticate"]]).toEqual([401, 'Bearer realm="carillon"']);
    expect((await ask("/api/v1/devices")).headers["www-authenticate"]).toBe('Bearer realm="carillon"');
  });

  it("is refused from pages of other sites", async () => {
    const origin = "https://elsewhere.example.org";
    expect((await ask(devices, { authorization: admin(), origin })).status).toBe(401);
    expect((await ask(devices, { authorization: admin(), origin: daemon.url })).status).toBe(200);
  });

  it("has the rights of its user", async () => {
    const authorization = basic(reader.email, reader.password);
    expect((await ask(devices, { authorization })).status).toBe(403);
    await daemon.call("POST", `/users/${reader.id}/user-permissions`, { verb: "get", spec: "/devices" });
    expect((await ask(devices, { authorization })).status).toBe(200);
    expect((await ask("/api/onprem/v1/bells", { authorization })).body.data ?? []).toEqual([]);
  });

  it("ends with a new password, and with a lock", async () => {
    const authorization = basic(reader.email, reader.password);
    expect((await ask(devices, { authorization })).status).toBe(200);
    await daemon.call("PUT", `/users/${reader.id}`, { lock: { start: null, end: null } });
    expect((await ask(devices, { authorization })).status).toBe(401);
    await daemon.call("PUT", `/users/${reader.id}`, { lock: null });
    expect((await ask(devices, { authorization })).status).toBe(200);
    await daemon.call("PUT", `/users/${reader.id}/password`, { password: "four other words entirely" });
    expect((await ask(devices, { authorization })).status).toBe(401);
  });

  it("may be an access token, under any name", async () => {
    for (const name of ["", "monitor", TEST_ADMIN.email]) {
      expect((await ask(devices, { authorization: basic(name, daemon.first.token) })).status).toBe(200);
    }
    expect((await ask(devices, { authorization: basic("", "carillon_unknown") })).status).toBe(401);
  });

  it("is not hashed and audited again for each poll", async () => {
    const before = await logIns();
    for (let poll = 0; poll < 5; poll += 1) await ask(devices, { authorization: admin() });
    expect(await logIns()).toBe(before);
  });

  it("is throttled like any log-in", async () => {
    let last: Received | null = null;
    for (let guess = 0; guess < 8; guess += 1) {
      last = await ask(devices, { authorization: basic("victim@example.org", `guess ${guess}`) });
    }
    expect([last?.status, Number(last?.headers["retry-after"]) > 0]).toEqual([429, true]);
    expect((await ask(devices, { authorization: basic("", daemon.first.token) })).status).toBe(200);
  });
});

describe("words of other programs", () => {
  it("name the acting domain in a header of their product, or as a facility", async () => {
    const { body: hall } = await daemon.call<{ id: string }>("POST", "/domains", { name: "Hall" });
    const authorization = `Bearer ${daemon.first.token}`;
    const acting = async (url: string, headers: Record<string, string> = {}) =>
      (await ask(url, { authorization, ...headers })).body.actingDomainId;
    expect(await acting("/api/v1/session/domains", { "x-product-domain": hall.id })).toBe(hall.id);
    expect(await acting("/api/v1/session/domains", { "x-product-facility": hall.id })).toBe(hall.id);
    expect(await acting(`/api/v1/session/domains?facility=${hall.id}`)).toBe(hall.id);
    // The documented header wins, and what a proxy adds is no domain.
    const root = daemon.first.domainId;
    const both = { "x-product-domain": hall.id, "x-service-domain": root };
    expect(await acting("/api/v1/session/domains", both)).toBe(root);
    expect(await acting("/api/v1/session/domains", { "x-forwarded-domain": "bells.example.org" })).toBe(root);
    expect((await ask("/api/v1/users", { authorization, "x-product-domain": daemon.first.userId })).status).toBe(400);
  });

  it.each([
    ["cucm-clusters", "callmgr-clusters"],
    ["facilities", "domains"],
    ["idps", "identity-providers"],
  ])("name the family %s", async (name, current) => {
    const headers = { authorization: `Bearer ${daemon.first.token}` };
    const answer = await ask(`/api/v1/${name}?limit=1`, headers);
    expect([answer.status, answer.body]).toEqual([200, (await ask(`/api/v1/${current}?limit=1`, headers)).body]);
    expect((await ask(`/api/v1/${name}-of-others`, headers)).status).toBe(404);
  });

  it("have their product word in scopes", async () => {
    const made = await daemon.call<{ clientId: string; clientSecret: string; scopes: string[] }>(
      "POST",
      "/applications",
      {
        ...{ name: "Board", type: "confidential", userId: daemon.first.userId },
        scopes: ["urn:product:scenarios:read", "urn:product:users:read"],
      },
    );
    expect(made.body.scopes).toEqual(["urn:service:scenarios:read", "urn:service:users:read"]);
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id: made.body.clientId });
    form.set("client_secret", made.body.clientSecret);
    form.set("audience", daemon.first.providerId);
    form.set("scope", "urn:product:users:read");
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const token = await ask("/api/token", type, "POST", form.toString());
    expect([token.status, token.body.scope]).toEqual([200, "urn:service:users:read"]);
    const authorization = `Bearer ${token.body.access_token}`;
    expect((await ask("/api/v1/users", { authorization })).status).toBe(200);
    expect((await ask("/api/v1/scenarios", { authorization })).status).toBe(403);
  });
});

async function logIns(): Promise<number> {
  const { body } = await daemon.call<{ total: number }>("GET", "/audit?op=log-in");
  return body.total;
}

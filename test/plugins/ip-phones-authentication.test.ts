import { describe, expect, it } from "vitest";
import { createPushAuthentication } from "../../plugins/ip-phones/push-authentication.ts";
import {
  createPushAuthorizationRelay,
  type PushAuthorizationRelay,
} from "../../plugins/ip-phones/push-authorization-relay.ts";
import { createPushCredentials } from "../../plugins/ip-phones/push-credentials.ts";

const PHONE = "SEP001122334455";

function open(foreign: Pick<PushAuthorizationRelay, "isAuthorized"> = { isAuthorized: async () => false }) {
  const authentication = createPushAuthentication(createPushCredentials("bell", { password: "pass" }), foreign);
  const request = (query: Record<string, string>) => ({
    ...{ method: "GET", url: `/auth?${new URLSearchParams(query)}`, headers: {} },
    ...{ body: new Uint8Array(), remoteAddress: "10.0.0.9" },
  });
  const ask = async (query: Record<string, string>) => (await authentication.respond(request(query))).body;
  return { authentication, ask, request };
}

describe("the callback result of a phone", () => {
  it("is that of its last callback since the push", async () => {
    const { authentication, ask } = open();
    const end = authentication.begin(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
    expect(await ask({ UserID: "bell", Password: "wrong", devicename: PHONE })).toBe("UN-AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(false);
    expect(await ask({ UserID: "bell", Password: "pass", devicename: PHONE })).toBe("AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(true);
    authentication.begin(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
    end();
  });

  it("is kept whatever other names are sent, which are not stored", async () => {
    const { authentication, ask, request } = open();
    for (let n = 0; n < 60_000; n++)
      authentication.respond(request({ UserID: "bell", Password: "pass", devicename: `SEP-nobody-${n}` }));
    expect(authentication.verdictFor("SEP-nobody-0")).toBeNull();
    authentication.begin(PHONE);
    await ask({ UserID: "bell", Password: "pass", devicename: PHONE });
    expect(authentication.verdictFor(PHONE)).toBe(true);
  });
});

describe("the password of a phone", () => {
  const OTHER = "SEP00AABBCCDDEE";
  const credentials = createPushCredentials("bell", { key: Buffer.alloc(32, 1) });
  const passwordOf = (phone: string): string =>
    Buffer.from(credentials.authorizationFor(phone).slice("Basic ".length), "base64").toString().slice("bell:".length);

  function openPerPhone() {
    const authentication = createPushAuthentication(credentials, { isAuthorized: async () => false });
    const ask = async (devicename: string, Password: string, UserID = "bell") => {
      const url = `/auth?${new URLSearchParams({ UserID, Password, devicename })}`;
      const request = { method: "GET", url, headers: {}, body: new Uint8Array(), remoteAddress: "10.0.0.9" };
      return (await authentication.respond(request)).body;
    };
    return { authentication, ask };
  }

  it("is 32 characters, another for each phone and each key", () => {
    expect(passwordOf(PHONE)).toMatch(/^[\w-]{32}$/);
    expect(passwordOf(PHONE)).not.toBe(passwordOf(OTHER));
    const restarted = createPushCredentials("bell", { key: Buffer.alloc(32, 2) });
    expect(restarted.authorizationFor(PHONE)).not.toBe(credentials.authorizationFor(PHONE));
  });

  it("is right for that very phone, in either case, while a push to it is under way", async () => {
    const { authentication, ask } = openPerPhone();
    expect(await ask(PHONE, passwordOf(PHONE))).toBe("UN-AUTHORIZED");
    const [end, endSecond] = [authentication.begin(PHONE), authentication.begin(PHONE)];
    expect(await ask(PHONE, passwordOf(PHONE))).toBe("AUTHORIZED");
    expect(await ask(PHONE.toLowerCase(), passwordOf(PHONE))).toBe("AUTHORIZED");
    end();
    expect(await ask(PHONE, passwordOf(PHONE))).toBe("AUTHORIZED");
    endSecond();
    expect(await ask(PHONE, passwordOf(PHONE))).toBe("UN-AUTHORIZED");
  });

  it("opens no other phone, nor with another user or a part of it", async () => {
    const { authentication, ask } = openPerPhone();
    for (const phone of [PHONE, OTHER]) authentication.begin(phone);
    const right = passwordOf(PHONE);
    for (const [phone, password, user] of [
      [OTHER, right],
      ["", right],
      [`${PHONE}0`, right],
      [PHONE, passwordOf(OTHER)],
      [PHONE, ""],
      [PHONE, right.slice(0, 31)],
      [PHONE, `${right}A`],
      [PHONE, right, ""],
      [PHONE, right, "carillon"],
      [PHONE, "", `bell:${right}`],
    ] as const) {
      expect([phone, password, await ask(phone, password, user)]).toEqual([phone, password, "UN-AUTHORIZED"]);
    }
    expect(await ask(PHONE, right)).toBe("AUTHORIZED");
  });
});

describe("pushes of other applications", () => {
  const QUERY = { UserID: "other", Password: "p&w=1 ü", devicename: PHONE };

  function others(answer: (url: URL) => Promise<{ status: number; body: string }>) {
    const asked: URL[] = [];
    const foreign = createPushAuthorizationRelay({
      fetch: (url) => {
        asked.push(new URL(url));
        return answer(new URL(url));
      },
    });
    return { asked, foreign, ...open(foreign) };
  }

  it("are relayed to the clusters one after the other, with the same query", async () => {
    const { asked, foreign, ask } = others(async ({ hostname }) => ({
      status: 200,
      body: hostname === "b.example" ? "AUTHORIZED" : "UN-AUTHORIZED",
    }));
    expect(await ask(QUERY)).toBe("UN-AUTHORIZED");
    expect(asked).toEqual([]);
    foreign.setUrls(["http://a.example/auth?site=1", "http://b.example/", "http://b.example/"]);
    expect(await ask(QUERY)).toBe("AUTHORIZED");
    expect(asked.map(({ hostname }) => hostname)).toEqual(["a.example", "b.example"]);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({ site: "1", ...QUERY });
  });

  it("are refused without an answer, and never delay own pushes", async () => {
    const { foreign, ask, request, authentication } = others(() =>
      Promise.reject(new Error(`late: ${QUERY.Password}`)),
    );
    foreign.setUrls(["http://a.example/"]);
    expect(await ask(QUERY)).toBe("UN-AUTHORIZED");
    const stuck = others(() => new Promise(() => undefined));
    stuck.foreign.setUrls(["http://a.example/"]);
    for (let n = 0; n < 600; n++) void stuck.ask({ ...QUERY, devicename: `SEP${n}` });
    await Promise.resolve();
    expect(await stuck.ask(QUERY)).toBe("UN-AUTHORIZED");
    const began = process.cpuUsage();
    for (let n = 0; n < 1_000; n++)
      expect(
        authentication.respond(request({ UserID: "bell", Password: "pass", devicename: `SEP${n}` })),
      ).toMatchObject({ body: "AUTHORIZED" });
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(3_000);
  });
});

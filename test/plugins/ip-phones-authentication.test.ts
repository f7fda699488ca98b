import { describe, expect, it } from "vitest";
import { createPushAuthentication } from "../../plugins/ip-phones/push-authentication.ts";
import {
  createPushAuthorizationRelay,
  type PushAuthorizationRelay,
} from "../../plugins/ip-phones/push-authorization-relay.ts";
import { createPushCredentials } from "../../plugins/ip-phones/push-credentials.ts";

const PHONE = "SEP001122334455";

function open(foreign: Pick<PushAuthorizationRelay, "isAuthorized"> = { isAuthorized: async () => false }) {
  const authentication = createPushAuthentication(createPushCredentials("bell", "pass"), foreign);
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
    authentication.forget(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
    expect(await ask({ UserID: "bell", Password: "wrong", devicename: PHONE })).toBe("UN-AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(false);
    expect(await ask({ UserID: "bell", Password: "pass", devicename: PHONE })).toBe("AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(true);
    authentication.forget(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
  });

  it("is kept whatever other names are sent, which are not stored", async () => {
    const { authentication, ask, request } = open();
    for (let n = 0; n < 60_000; n++)
      authentication.respond(request({ UserID: "bell", Password: "pass", devicename: `SEP-nobody-${n}` }));
    expect(authentication.verdictFor("SEP-nobody-0")).toBeNull();
    authentication.forget(PHONE);
    await ask({ UserID: "bell", Password: "pass", devicename: PHONE });
    expect(authentication.verdictFor(PHONE)).toBe(true);
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

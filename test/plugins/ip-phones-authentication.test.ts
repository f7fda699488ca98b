import { describe, expect, it } from "vitest";
import { createAuthentication } from "../../plugins/ip-phones/authentication.ts";
import { createCredentials } from "../../plugins/ip-phones/credentials.ts";

const PHONE = "SEP001122334455";

function open() {
  const authentication = createAuthentication(createCredentials("bell", "pass"));
  const ask = (query: Record<string, string>) =>
    authentication.respond({
      method: "GET",
      url: `/auth?${new URLSearchParams(query)}`,
      headers: {},
      body: new Uint8Array(),
      remoteAddress: "10.0.0.9",
    }).body;
  return { authentication, ask };
}

describe("what a phone was told of a push", () => {
  it("is the answer to its last question since the push began", () => {
    const { authentication, ask } = open();
    authentication.forget(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
    expect(ask({ UserID: "bell", Password: "wrong", devicename: PHONE })).toBe("UN-AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(false);
    expect(ask({ UserID: "bell", Password: "pass", devicename: PHONE })).toBe("AUTHORIZED");
    expect(authentication.verdictFor(PHONE)).toBe(true);
    authentication.forget(PHONE);
    expect(authentication.verdictFor(PHONE)).toBeNull();
  });

  it("is kept however many names others ask with, of which nothing is kept", () => {
    const { authentication, ask } = open();
    for (let n = 0; n < 60_000; n++) ask({ UserID: "bell", Password: "pass", devicename: `SEP-nobody-${n}` });
    expect(authentication.verdictFor("SEP-nobody-0")).toBeNull();
    authentication.forget(PHONE);
    ask({ UserID: "bell", Password: "pass", devicename: PHONE });
    expect(authentication.verdictFor(PHONE)).toBe(true);
  });
});

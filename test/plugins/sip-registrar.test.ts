import { describe, expect, it } from "vitest";
import { createSipRegistrar, type RefusedRegistration } from "../../plugins/sip/registrar.ts";
import { answerChallenge, selectChallenge } from "../../plugins/sip/user-agent/digest.ts";
import type { Hop } from "../../plugins/sip/user-agent/hop.ts";
import {
  headerValues,
  parseSipMessage,
  type SipHeaders,
  type SipRequest,
} from "../../plugins/sip/user-agent/sip-message.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const ACCOUNT = { user: "gym", password: "s3cret-of-gym", type: "speakers" } as const;
const UDP: Hop = { protocol: "udp", host: "127.0.0.1", port: 5_070 };
const CALL = "of-the-phone";

interface Answer {
  status: number;
  headers: SipHeaders;
  contacts: string[];
}

interface Asked {
  /** Contact headers. */
  contacts?: readonly string[];
  headers?: readonly string[];
  callId?: string;
  cseq?: number;
  password?: string;
  user?: string;
  to?: string;
  uri?: string;
  from?: Hop;
  /** Changes the Authorization value. */
  change?(authorization: string): string;
}

function open(options: { isQopOptional?: boolean } = {}) {
  const clock = createFakeClock();
  const changes: (string | null)[] = [];
  const refused: RefusedRegistration[] = [];
  const registrar = createSipRegistrar({
    ...{ clock, realm: "school", key: Buffer.alloc(32, 1), algorithms: ["MD5", "SHA-256"], ...options },
    accounts: new Map([[ACCOUNT.user, ACCOUNT]]),
    onChange: (_account, contact) => changes.push(contact),
    onRefused: (each) => refused.push(each),
  });
  let cseq = 0;
  let branch = 0;

  const send = (authorization: string | null, asked: Asked): Promise<Answer> => {
    const { contacts = [], headers = [], callId = CALL, to = "<sip:gym@school>", uri = "sip:school" } = asked;
    const lines = [
      `REGISTER ${uri} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:5070;branch=z9hG4bK${++branch}`,
      "From: <sip:gym@school>;tag=1",
      `To: ${to}`,
      `Call-ID: ${callId}`,
      `CSeq: ${asked.cseq ?? ++cseq} REGISTER`,
      ...contacts.map((contact) => (/^(m|Contact):/.test(contact) ? contact : `Contact: ${contact}`)),
      ...headers,
      ...(authorization === null ? [] : [`Authorization: ${authorization}`]),
    ];
    const message = parseSipMessage(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)) as SipRequest;
    return new Promise((resolve) =>
      registrar.handleRegister({ message, from: asked.from ?? UDP, reply: () => {} }, (status, _reason, answer = []) =>
        resolve({ status, headers: answer, contacts: headerValues({ headers: answer }, "Contact") }),
      ),
    );
  };
  const challenge = async (asked: Asked): Promise<string[]> => {
    const { status, headers } = await send(null, { ...asked, cseq: asked.cseq ?? ++cseq });
    expect(status).toBe(401);
    return headers.filter(([name]) => name === "WWW-Authenticate").map(([, value]) => value);
  };
  const authorize = (challenges: string[], asked: Asked, count = 1): string => {
    const { uri = "sip:school", user = "gym", password = ACCOUNT.password, change = (text: string) => text } = asked;
    const chosen = selectChallenge(challenges);
    if (!chosen) throw new Error("no challenge");
    return change(answerChallenge(chosen, { method: "REGISTER", uri }, { user, password }, "c", count));
  };
  /** Registers as a phone does: it is asked for the password first. */
  const register = async (...contacts: string[]): Promise<Answer> => registerAs({ contacts });
  const registerAs = async (asked: Asked): Promise<Answer> =>
    send(authorize(await challenge({ ...asked, cseq: 0 }), asked), asked);
  const called = (): string[] => registrar.bindingsOf("gym").map(({ hop: { host, port } }) => `${host}:${port}`);
  return { clock, registrar, changes, refused, send, challenge, authorize, register, registerAs, called };
}

const at = (port: number, more = ""): string => `<sip:gym@127.0.0.1:${port}>${more}`;
const status = async (answer: Promise<Answer>): Promise<number> => (await answer).status;

describe("registrations of a SIP device", () => {
  it.each([
    ["the old contact first", [at(18_100, ";expires=0"), at(18_200, ";expires=3600")]],
    ["the new contact first", [at(18_200, ";expires=3600"), at(18_100, ";expires=0")]],
    ["both in one header", [`${at(18_100, ";expires=0")}, ${at(18_200, ";expires=3600")}`]],
    ["compact headers", [`m:${at(18_100, ";expires=0")}`, `m: ${at(18_200)};expires=3600`]],
    ["no brackets", ["sip:gym@127.0.0.1:18100;expires=0", "sip:gym@127.0.0.1:18200;expires=3600"]],
    ["quoted names", [`"Gym, <old>" ${at(18_100, ";expires=0")}`, `"Gym \\"new\\"; x"${at(18_200)}`]],
    ["a name without quotes", [`Gym ${at(18_100, ";expires=0")}, Gym${at(18_200)}`]],
    ["parameters with commas", [at(18_100, ';+x="a,b";expires=0'), at(18_200, ';language="en,fr";+g.oma.sip-im')]],
  ])("move to the new address: %s", async (_how, contacts) => {
    const { register, called, changes } = open();
    expect(await status(register(at(18_100)))).toBe(200);
    const { status: code, contacts: answered } = await register(...contacts);
    expect([code, called()]).toEqual([200, ["127.0.0.1:18200"]]);
    expect(answered).toEqual([expect.stringMatching(/^<sip:gym@127\.0\.0\.1:18200>;expires=3600/)]);
    expect(changes).toEqual(["sip:gym@127.0.0.1:18100", "sip:gym@127.0.0.1:18200"]);
  });

  it("keep several addresses, the newest first, and lose one at a time", async () => {
    const { register, called, changes, clock } = open();
    await register(at(1_001));
    clock.advanceSync(1_000);
    await register(at(1_002));
    clock.advanceSync(1_000);
    const { contacts } = await register(at(1_003), at(1_004, ";q=0.5"));
    expect(called()).toEqual(["127.0.0.1:1003", "127.0.0.1:1002", "127.0.0.1:1001", "127.0.0.1:1004"]);
    expect(contacts).toEqual([
      "<sip:gym@127.0.0.1:1003>;expires=3600",
      "<sip:gym@127.0.0.1:1002>;expires=3599",
      "<sip:gym@127.0.0.1:1001>;expires=3598",
      "<sip:gym@127.0.0.1:1004>;expires=3600;q=0.5",
    ]);
    // Asking changes nothing.
    expect((await register()).contacts).toHaveLength(4);
    expect((await register(at(1_003, ";expires=0"))).contacts).toHaveLength(3);
    expect(changes.at(-1)).toBe("sip:gym@127.0.0.1:1002");
    clock.advanceSync(1_000);
    await register(at(1_001));
    clock.advanceSync(3_599_500);
    expect(called()).toEqual(["127.0.0.1:1001"]);
    clock.advanceSync(2_000);
    expect([called(), changes.at(-1)]).toEqual([[], null]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("are removed by * only with Expires 0", async () => {
    const { register, registerAs, called } = open();
    await register(at(1_001), at(1_002));
    for (const headers of [[], ["Expires: 60"], ["Expires: "]])
      expect(await status(registerAs({ contacts: ["*"], headers }))).toBe(400);
    expect(await status(registerAs({ contacts: ["*", at(1_003)], headers: ["Expires: 0"] }))).toBe(400);
    expect(called()).toHaveLength(2);
    expect(await registerAs({ contacts: ["*"], headers: ["Expires: 0"] })).toMatchObject({ status: 200, contacts: [] });
    expect(called()).toEqual([]);
  });

  it.each([
    ["the contact's before the header's", at(1, ";expires=600"), ["Expires: 60"], 600],
    ["the header's", at(1), ["Expires: 60"], 60],
    ["the default", at(1), [], 3_600],
    ["at most an hour", at(1, ";expires=2678400"), [], 3_600],
    ["a number of any length", at(1, `;expires=${"9".repeat(40)}`), [], 3_600],
    ["the default if malformed", at(1, ";expires=soon"), ["Expires: 60"], 3_600],
    ["the default if negative", at(1, ";expires=-1"), [], 3_600],
    ["one in quotes", at(1, ';expires="120"'), [], 120],
    ["one with spaces", `${at(1)} ; expires = 120 `, [], 120],
  ])("expire by %s", async (_what, contact, headers, seconds) => {
    const { registerAs } = open();
    expect((await registerAs({ contacts: [contact], headers })).contacts).toEqual([
      `<sip:gym@127.0.0.1:1>;expires=${seconds}`,
    ]);
  });

  it("are refused with the shortest interval if that is too short", async () => {
    const { registerAs, called } = open();
    const { status: code, headers } = await registerAs({ contacts: [at(1), at(2, ";expires=5")] });
    expect([code, headers, called()]).toEqual([423, [["Min-Expires", "10"]], []]);
  });

  it("are replaced by the same instance and connection, also at another address", async () => {
    const { register, called } = open();
    const urn = '"<urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6>"';
    await register(at(1_001, `;+sip.instance=${urn};reg-id=1`), at(1_002, `;+sip.instance=${urn};reg-id=2`));
    const { contacts } = await register(at(1_003, `;reg-id=1;+sip.instance=${urn}`));
    expect(called().toSorted()).toEqual(["127.0.0.1:1002", "127.0.0.1:1003"]);
    expect(contacts).toContain(`<sip:gym@127.0.0.1:1003>;expires=3600;+sip.instance=${urn};reg-id=1`);
    await register(at(9, `;+sip.instance=${urn};reg-id=2;expires=0`));
    expect(called()).toEqual(["127.0.0.1:1003"]);
    // Without a connection number it is the device that moved.
    await register(at(1_004, ';+sip.instance="<urn:x>"'));
    await register(at(1_005, ';+sip.instance="<urn:x>"'));
    expect(called().toSorted()).toEqual(["127.0.0.1:1003", "127.0.0.1:1005"]);
  });

  it("ignore what arrives late, and change nothing then", async () => {
    const { registerAs, called } = open();
    const newer = { contacts: [at(1_001)], cseq: 20 };
    expect(await status(registerAs(newer))).toBe(200);
    for (const cseq of [19, 20])
      expect(await status(registerAs({ contacts: [at(1_002), at(1_001, ";expires=0")], cseq }))).toBe(500);
    expect(await status(registerAs({ contacts: ["*"], headers: ["Expires: 0"], cseq: 3 }))).toBe(500);
    expect(called()).toEqual(["127.0.0.1:1001"]);
    // A device that was restarted begins with another Call-ID.
    expect(await status(registerAs({ contacts: [at(1_001, ";expires=0")], cseq: 1, callId: "new" }))).toBe(200);
    expect(called()).toEqual([]);
  });

  it("compare addresses as the standard does", async () => {
    const { register, called } = open();
    await register("<sip:gym@LOCALHOST:1001;x=1>");
    await register("<sip:%67ym@localhost:1001>");
    expect(called()).toHaveLength(1);
    await register("<sip:gym@localhost:1001;transport=tcp>", "<sip:gym@localhost>", "<sip:Gym@localhost:1001>");
    expect(called()).toHaveLength(4);
    await register("<sip:gym@localhost:1001;transport=TCP>;expires=0");
    expect(called()).toHaveLength(3);
  });

  it("are limited per request and per account", async () => {
    const { register, called, clock } = open();
    const many = Array.from({ length: 9 }, (_, n) => at(2_000 + n));
    expect(await status(register(...many))).toBe(400);
    for (const contact of many) {
      clock.advanceSync(1_000);
      expect(await status(register(contact))).toBe(200);
    }
    expect(called()).toHaveLength(8);
    expect(called()).not.toContain("127.0.0.1:2000");
    expect(clock.pendingTimers()).toBe(8);
  });

  it.each([
    ["no URI", "gym"],
    ["another scheme", "<tel:+49301234>"],
    ["no end of the brackets", "<sip:gym@127.0.0.1:1"],
    ["a bad port", "<sip:gym@127.0.0.1:99999>"],
    ["a comma in a name without quotes", "Bell, Gym <sip:gym@127.0.0.1:1>"],
  ])("are refused as a whole with %s", async (_what, contact) => {
    const { register, called } = open();
    expect(await status(register(at(1), contact))).toBe(400);
    expect(called()).toEqual([]);
  });

  it.each([
    ["no user", "<sip:@127.0.0.1:1>", "sip:127.0.0.1:1"],
    ["a name without end", `"Gym ${at(1)}`, "sip:gym@127.0.0.1:1"],
    ["doubled quotes", `""Gym"" ${at(1)}`, "sip:gym@127.0.0.1:1"],
    ["a hash", "<sip:PBX#1000#905@127.0.0.1:1>", "sip:PBX#1000#905@127.0.0.1:1"],
    ["quotes in the URI", '<sip:gym@127.0.0.1:1;x="a+b=">', "sip:gym@127.0.0.1:1;x=a+b="],
    ["a header in the URI", "<sip:gym@127.0.0.1:1?Route=%3Csip:h%3E>", "sip:gym@127.0.0.1:1"],
    ["parameters of the user", "<sip:gym;par=u%40h@127.0.0.1:1>", "sip:gym;par=u%40h@127.0.0.1:1"],
    ["a long parameter", `<sip:gym@127.0.0.1:1;pn-tok=${"a".repeat(1_500)}>`, /;pn-tok=a{1500}$/],
    ["a name that only the device knows", "<sip:gym@9kd3.invalid;ob>", "sip:gym@9kd3.invalid;ob"],
  ])("accept a contact with %s", async (_what, contact, registered) => {
    const { register, changes, called } = open();
    expect(await status(register(contact))).toBe(200);
    expect(changes).toEqual([typeof registered === "string" ? registered : expect.stringMatching(registered)]);
    // Where the name leads nowhere, the device is reached where it sent from.
    expect(called()).toEqual([contact.includes(".invalid") ? "127.0.0.1:5070" : "127.0.0.1:1"]);
  });

  it("reach a connected device on its connection", async () => {
    const { registerAs, registrar } = open();
    const from: Hop = { protocol: "tcp", host: "10.0.0.9", port: 40_000 };
    const contacts = [at(1, ";expires=0"), "<sip:gym@192.168.1.7:5060;transport=tcp>"];
    await registerAs({ contacts, from });
    expect(registrar.bindingsOf("gym").map(({ hop }) => hop)).toEqual([from]);
  });
});

describe("the password of a SIP device", () => {
  it.each([
    ["the server without its port", "sip:127.0.0.1:15060", "sip:127.0.0.1"],
    ["the default port", "sip:school", "sip:school:5060"],
    ["a transport", "sip:school", "sip:school;transport=udp"],
    ["capitals", "sip:school", "SIP:School"],
    ["the device's name", "sip:school", "sip:gym@school"],
    ["the encrypted scheme", "sip:school", "sips:school:5061"],
    ["the domain that a proxy replaced", "sip:10.0.0.5:5080;lr", "sip:school"],
  ])("is proven for %s", async (_what, uri, digestUri) => {
    const { send, challenge, authorize } = open();
    const asked = { contacts: [at(1)], uri };
    const proof = authorize(await challenge(asked), { uri: digestUri });
    expect(await status(send(proof, asked))).toBe(200);
  });

  it.each([
    ["wrong password", { password: "guess" }, /^wrong password$/],
    ["a name without an account", { user: "hall" }, /^unknown account$/],
    [
      "another server",
      { change: (text: string) => text.replace('uri="sip:school"', 'uri="sip:elsewhere"') },
      /elsewhere/,
    ],
    ["another realm", { change: (text: string) => text.replace('realm="school"', 'realm="pbx"') }, /realm "pbx"/],
    [
      "an unknown algorithm",
      { change: (text: string) => text.replace(/algorithm=[\w-]+/, "algorithm=SHA-1") },
      /SHA-1/,
    ],
    ["no qop", { change: withoutQop }, /digestWithoutQop/],
    ["half a qop", { change: (text: string) => text.replace(/nc=\w+, /, "") }, /qop=auth/],
    ["another scheme", { change: () => "Basic Z3ltOnNlY3JldA==" }, /Digest/],
  ])("is refused with its reason: %s", async (_what, asked: Partial<Asked>, reason) => {
    const { registerAs, refused, registrar } = open();
    expect(await status(registerAs({ contacts: [at(1)], ...asked }))).toBe(401);
    expect(refused.map(({ reason: each }) => each)).toEqual([expect.stringMatching(reason)]);
    // The same again is no news.
    await registerAs({ contacts: [at(1)], ...asked });
    expect(refused).toHaveLength(1);
    const isKnown = refused[0]?.account !== null;
    if (isKnown) expect(registrar.problemOf("gym")).toMatch(/ \(from 127\.0\.0\.1\)$/);
    expect(await status(registerAs({ contacts: [at(1)] }))).toBe(200);
    expect(registrar.problemOf("gym")).toBeNull();
  });

  it("is proven with a domain behind the name, and in any case of qop and hash", async () => {
    const { registerAs } = open();
    const change = (text: string): string =>
      text
        .replace("qop=auth", 'qop="AUTH"')
        .replace(/algorithm=([\w-]+)/, (_all, name: string) => `algorithm="${name.toLowerCase()}"`)
        .replace(/response="(\w+)"/, (_all, hash: string) => `response="${hash.toUpperCase()}"`);
    const asked = { contacts: [at(1)], user: "gym@school.example", change };
    expect(await status(registerAs(asked))).toBe(200);
  });

  it("is proven without qop once per challenge where the setting allows it", async () => {
    const { send, challenge, authorize } = open({ isQopOptional: true });
    const asked = { contacts: [at(1)], change: withoutQop };
    const proof = authorize(await challenge(asked), asked);
    expect(await status(send(proof, asked))).toBe(200);
    const again = await send(proof, asked);
    expect(again.status).toBe(401);
    expect(again.headers[0]?.[1]).toContain("stale=true");
    const wrong = { change: (text: string) => withoutQop(text).replace(/response="\w{4}/, 'response="0000') };
    expect(await status(send(authorize(await challenge(asked), wrong), asked))).toBe(401);
  });

  it("is requested again, not refused, for a used, late or foreign nonce", async () => {
    const { send, challenge, authorize, clock, refused } = open();
    const asked = { contacts: [at(1)] };
    const challenges = await challenge(asked);
    const isStale = async (answer: Promise<Answer>): Promise<boolean> =>
      (await answer).headers.some(([, value]) => value.includes("stale=true"));
    expect(await status(send(authorize(challenges, asked, 2), asked))).toBe(200);
    expect(await isStale(send(authorize(challenges, asked, 2), asked))).toBe(true);
    expect(await isStale(send(authorize(challenges, asked, 1), asked))).toBe(true);
    expect(await status(send(authorize(challenges, asked, 3), asked))).toBe(200);
    // Another address can't use what this one was given.
    const elsewhere = { ...asked, from: { ...UDP, host: "10.0.0.9" } };
    expect(await isStale(send(authorize(challenges, asked, 4), elsewhere))).toBe(true);
    clock.advanceSync(301_000);
    expect(await isStale(send(authorize(challenges, asked, 5), asked))).toBe(true);
    // As after a restart, whose key is another one.
    const other = await open().challenge(asked);
    other[0] = other[0]?.replace(/nonce="[^"]+"/, 'nonce="1.2.3"') ?? "";
    expect(await isStale(send(authorize([other[0]], asked), asked))).toBe(true);
    expect(refused).toEqual([]);
  });

  it("may be tried ten times per address, and then once in half a minute", async () => {
    const { registerAs, clock, refused } = open();
    const guess = { contacts: [at(1)], password: "guess" };
    for (let n = 0; n < 10; n++) expect(await status(registerAs(guess))).toBe(401);
    const right = { contacts: [at(1)] };
    const { status: code, headers } = await registerAs(right);
    expect([code, headers]).toEqual([403, [["Retry-After", "30"]]]);
    expect(refused.map(({ reason }) => reason)).toEqual([
      "wrong password",
      "too many wrong passwords from this address",
    ]);
    // Another name in To or with a domain is the same account; another address is not held up.
    expect(await status(registerAs({ ...right, user: "gym@other", to: "<sip:hall@school>" }))).toBe(403);
    expect(await status(registerAs({ ...right, from: { ...UDP, host: "10.0.0.9" } }))).toBe(200);
    clock.advanceSync(30_000);
    expect(await status(registerAs(right))).toBe(200);
  });

  it("registers no other name than its own", async () => {
    const { registerAs, refused } = open();
    expect(await status(registerAs({ contacts: [at(1)], to: "<sip:hall@school>" }))).toBe(403);
    expect(refused[0]?.reason).toBe('registers another name, "hall"');
    expect(await status(registerAs({ contacts: [at(1)], to: '"Gym" <sip:%67ym@school>' }))).toBe(200);
  });
});

/** As devices answer that know RFC 2069 alone. */
function withoutQop(authorization: string): string {
  const plain = authorization.replace(/, qop=auth, nc=\w+, cnonce="c"/, "");
  const field = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(authorization)?.[1] ?? "";
  const challenge = [`Digest realm="${field("realm")}", nonce="${field("nonce")}", algorithm=SHA-256`];
  const chosen = selectChallenge(challenge);
  if (!chosen) throw new Error("no challenge");
  const who = { user: field("username"), password: ACCOUNT.password };
  return plain && answerChallenge(chosen, { method: "REGISTER", uri: field("uri") }, who, "c");
}

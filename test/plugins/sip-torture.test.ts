import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstHeader, parseSipMessage, type SipResponse } from "../../plugins/sip/user-agent/sip-message.ts";
import { openSipUserAgent, type SipUserAgent } from "../../plugins/sip/user-agent/user-agent.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Lines of a message, with these in place of or beside the usual headers. */
function message(start: string, changed: Record<string, string | null> = {}, more: string[] = [], body = ""): string {
  const method = start.split(" ")[0] ?? "";
  const usual: Record<string, string | null> = {
    Via: "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKt1;rport",
    From: "From: <sip:a@example.com>;tag=1",
    To: "To: <sip:b@example.com>",
    "Call-ID": "Call-ID: torture",
    CSeq: `CSeq: 1 ${method}`,
    ...changed,
  };
  const lines = [start, ...Object.values(usual).filter((line) => line !== null), ...more];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

const OPTIONS = "OPTIONS sip:b@example.com SIP/2.0";

describe("unusual messages of SIP", () => {
  let agent: SipUserAgent;
  let socket: Socket;
  const said: SipResponse[] = [];
  const errors: Error[] = [];
  beforeAll(async () => {
    const listening = { port: 0, tls: null, authority: null, address: "127.0.0.1" };
    agent = await openSipUserAgent({
      ...{ ...listening, clock: createFakeClock(), onError: (error) => errors.push(error) },
      onRegister: (_arrival, respond) => respond(200, "OK"),
    });
    socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    socket.on("message", (bytes) => said.push(parseSipMessage(bytes) as SipResponse));
  });
  afterAll(async () => {
    socket.close();
    await agent.close();
  });

  let sent = 0;
  /** The response to a message; null if it is ignored. */
  async function ask(text: string | Buffer): Promise<SipResponse | null> {
    said.length = 0;
    const last = `last-${++sent}`;
    socket.send(text, agent.ports.udp, "127.0.0.1");
    // What comes after it is answered whatever it was.
    socket.send(message(OPTIONS, { "Call-ID": `Call-ID: ${last}` }), agent.ports.udp, "127.0.0.1");
    await expect.poll(() => said.map((each) => firstHeader(each, "Call-ID")), { timeout: 30_000 }).toContain(last);
    expect(errors).toEqual([]);
    return said.find((each) => firstHeader(each, "Call-ID") !== last) ?? null;
  }

  it.each([
    [
      "folded, in any case, with spaces around everything",
      message(
        OPTIONS,
        {
          Via: "v:  SIP  / 2.0  / TCP   spindle.example.com  ;\r\n branch  =   z9hG4bK9ikj8  ,\r\n SIP  /  2.0 / UDP  192.0.2.1 ; branch= z9hG4bK30239",
          To: "TO :\r\n sip:vivekg@chair.example.com ;   tag    = 1918181833n",
          From: 'from   : "J Rosenberg \\\\\\"" <sip:jdrosen@example.com>\r\n ;\r\n tag = 98asjd8',
          CSeq: "cseq: 0009\r\n  OPTIONS",
        },
        [
          "MaX-fOrWaRdS: 0068",
          "s :",
          "NewFangledHeader:   newfangled value\r\n continued",
          "UnknownHeaderWithUnusualValue: ;;,,;;,;",
        ],
      ),
      200,
    ],
    [
      "a method of unusual characters",
      message("!interesting-Method0123456789_*+`.%indeed'~ sip:b@example.com SIP/2.0"),
      501,
    ],
    ["a method in lower case", message("options sip:b@example.com SIP/2.0"), 501],
    [
      "a user of unusual characters",
      message(
        "OPTIONS sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0",
      ),
      200,
    ],
    [
      "an escaped null",
      message("REGISTER sip:example.com SIP/2.0", { To: "To: <sip:null-%00-null@example.com>" }),
      200,
    ],
    ["no space before the bracket", message(OPTIONS, { From: 'From: "caller"<sip:a@example.com>;tag=323' }), 200],
    ["brackets in a name", message(OPTIONS, { From: 'From: "a <b@c>;tag=9" <sip:a@example.com>;tag=323' }), 200],
    [
      "long values",
      message(OPTIONS, { "Call-ID": `Call-ID: ${"long".repeat(500)}` }, [`X: ${"v".repeat(9_000)}`]),
      200,
    ],
    ["more than its length", message(OPTIONS, {}, ["l: 4"], "bodyREGISTER sip:x SIP/2.0"), 200],
    ["parameters in the user", message("OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0"), 200],
    ["unknown transports in Via", message(OPTIONS, { Via: "Via: SIP/2.0/UNKNOWN 127.0.0.1;branch=z9hG4bK5" }), 200],
    ["a branch of the cookie alone", message(OPTIONS, { Via: "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK" }), 200],
    ["no branch at all", message("INVITE sip:b@example.com SIP/2.0", { Via: "Via: SIP/2.0/UDP 127.0.0.1" }), 404],
    [
      "bytes that are no text",
      Buffer.concat([Buffer.from(message(OPTIONS, {}, ["l: 3"])), Buffer.of(0, 255, 254)]),
      200,
    ],
    [
      "separators without values",
      message(OPTIONS, { Via: "Via: SIP/2.0/UDP 127.0.0.1;;branch=z9hG4bK6;;,;,," }, ["Accept: ,,"]),
      200,
    ],
    ["an unterminated name", message(OPTIONS, { To: 'To: "Mr. J. User <sip:b@example.com>' }), 200],
    ["commas in a name without quotes", message(OPTIONS, { To: "To: Bell, Alexander <sip:b@example.com>" }), 200],
    ["an impossible date", message(OPTIONS, {}, ["Date: Fri, 01 Jan 2010 16:00:00 EST"]), 200],
    ["no more hops", message(OPTIONS, {}, ["Max-Forwards: 0"]), 200],
    ["brackets around its URI", message("OPTIONS <sip:b@example.com> SIP/2.0"), 400],
    ["a bad port in its URI", message("OPTIONS sip:b@example.com:99999 SIP/2.0"), 400],
    ["an unknown scheme", message("OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0"), 416],
    ["a telephone number", message("INVITE tel:+16179991234 SIP/2.0"), 416],
    ["an unknown extension", message(OPTIONS, {}, ["Require: nothingSupportsThis, nothingSupportsThisEither"]), 420],
    ["a CANCEL of nothing", message("CANCEL sip:b@example.com SIP/2.0"), 481],
    [
      "a call that does not exist",
      message("BYE sip:b@example.com SIP/2.0", { To: "To: <sip:b@example.com>;tag=2" }),
      481,
    ],
  ])("are answered: %s", async (_what, text, status) => {
    expect((await ask(text))?.status).toBe(status);
  });

  it.each([
    ["more than it has", message(OPTIONS, {}, ["Content-Length: 9999"], "v=0")],
    ["less than nothing", message(OPTIONS, {}, ["Content-Length: -999"])],
    ["two lengths", message(OPTIONS, {}, ["Content-Length: 3", "l: 0"], "v=0")],
    ["a number beyond all", message(OPTIONS, { CSeq: "CSeq: 36893488147419103232 OPTIONS" })],
    ["another method in CSeq", message(OPTIONS, { CSeq: "CSeq: 1 INVITE" })],
    ["several Call-IDs", message(OPTIONS, {}, ["Call-ID: other"])],
    ["no From", message(OPTIONS, { From: null })],
    ["nothing but its first line", `${OPTIONS}\r\n\r\n`],
    ["spaces in its URI", message("OPTIONS sip:user@example.com; lr SIP/2.0")],
    ["two spaces in its first line", message("OPTIONS  sip:user@example.com  SIP/2.0")],
    ["a space behind its first line", message("OPTIONS sip:user@example.com SIP/2.0  ")],
    ["another version", message("OPTIONS sip:user@example.com SIP/7.0")],
    ["an ACK of nothing", message("ACK sip:b@example.com SIP/2.0")],
    ["a response to nothing", message("SIP/2.0 200 OK", { CSeq: "CSeq: 1 INVITE" })],
    ["a response without a reason", message("SIP/2.0 100 ", { CSeq: "CSeq: 1 INVITE" })],
    ["a status beyond all", message("SIP/2.0 4294967301 better not break the receiver", { CSeq: "CSeq: 1 INVITE" })],
    ["zeros", Buffer.alloc(1_200)],
    ["line ends", "\r\n".repeat(600)],
  ])("are ignored: %s", async (_what, text) => {
    expect(await ask(text)).toBeNull();
  });
});

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readShapes, shapesIntersect } from "../../plugins/cap-in/geometry.ts";
import { parseCertificates, verifiedContent } from "../../plugins/cap-in/signature.ts";
import { capDocument } from "../../plugins/cap-out/cap-document.ts";
import { externalProgram } from "../support/external-programs.ts";
import { FAKE_CLOCK_START } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { areasOf, capPlugins, FEED, HERE } from "./cap/cap-plugin.ts";
import { alertXml, atomXml, SENT } from "./cap/documents.ts";
import { makeSigner } from "./cap/signing.ts";
import { withMemoryState } from "./memory-state.ts";

const { open, run } = capPlugins();

describe("cap-in", () => {
  it("triggers each alert once, across feeds and polls", async () => {
    const server = await open();
    server.pages.set("/rss", `<rss><channel><item><link>${server.url("/a1")}</link></item></channel></rss>`);
    server.pages.set("/atom", atomXml("a1", "/a2", "http://192.0.2.1/unknown"));
    server.pages.set("/a1", alertXml());
    server.pages.set("/a2", alertXml({ identifier: "A2", event: "Flood" }));
    const answer = withMemoryState(areasOf);
    const feeds = [
      { ...FEED, url: server.url("/atom") },
      { ...FEED, name: "Again", url: server.url("/rss") },
    ];
    const first = await run(feeds, { tokens: "Weather=of the feed" }, answer);
    await first.until(() => first.triggered().length === 3);
    const [tornado] = first
      .triggered()
      .filter(({ source, values }) => source === "Weather" && values.event === "Tornado");
    expect(tornado?.values).toMatchObject({
      ...{ state: "Alert", identifier: "A1", sender: "w@example.gov", category: "Met", severity: "Extreme" },
      ...{ headline: "Take <shelter> & wait", areaDesc: "Town", expires: "2026-01-12T09:30:00.000Z" },
      areaOfInterestIds: [],
    });
    // The appliance takes a key once, so the same alert of another feed starts nothing.
    expect(new Set(first.triggered().map(({ dedupeKey }) => dedupeKey)).size).toBe(2);
    expect(server.asked.find(({ path }) => path === "/atom")?.headers.authorization).toBe("Bearer of the feed");
    await first.until(() => first.cap.statuses.at(-1)?.state === "degraded");
    server.pages.set("/atom", atomXml("a1", "/a2"));
    const askedAtom = () => server.asked.filter(({ path }) => path === "/atom");
    await first.clock.advance(60_000);
    await first.until(() => askedAtom().length >= 2);
    await first.clock.advance(60_000);
    await first.until(() => askedAtom().length >= 3 && askedAtom().at(-1)?.status === 304);
    const again = await run(feeds, {}, answer);
    await again.until(() => again.cap.statuses.at(-1)?.state === "ok");
    await again.clock.advance(100);
    expect(again.triggered()).toEqual([]);
    expect(server.asked.filter(({ path }) => path === "/a2").length).toBe(1);
  });

  it("filters by status, validity, event, severity and area", async () => {
    const server = await open();
    const near = "<cap:polygon>48.14,11.57 48.14,11.58 48.15,11.58 48.14,11.57</cap:polygon>";
    const code = "<cap:geocode><cap:valueName>UGC</cap:valueName><cap:value>X1</cap:value></cap:geocode>";
    const alerts = {
      near: { area: near },
      coded: { area: code },
      elsewhere: { area: "<cap:circle>47,11 5</cap:circle>" },
      minor: { area: near, severity: "Minor" },
      flood: { area: near, event: "Flood" },
      drill: { area: near, status: "Exercise" },
      old: { area: near, expires: "2026-01-12T07:59:59-00:00" },
      ack: { area: near, msgType: "Ack" },
      over: { area: near, msgType: "Cancel", event: "Flood" },
    };
    for (const [name, of] of Object.entries(alerts))
      server.pages.set(`/${name}`, alertXml({ identifier: name, ...of }));
    server.pages.set("/atom", atomXml(...Object.keys(alerts)));
    const filter = { events: ["TORNADO"], severities: ["Extreme", "Severe"], onlyHere: true };
    const geocodes = { "UGC=X1": "North campus" };
    const started = await run([{ ...FEED, url: server.url("/atom"), ...filter, geocodes }]);
    await started.until(() => started.cap.statuses.length > 0);
    expect(
      started.triggered().map(({ source, values }) => [source, values.identifier, values.areaOfInterestIds]),
    ).toEqual([
      ["Weather", "near", [HERE.id]],
      ["Weather", "coded", [HERE.id]],
      ["Weather/cancel", "over", [HERE.id]],
    ]);
    expect(started.cap.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  const square = (latitude: number, longitude: number): string => {
    const at = (lat: number, lon: number) => `${(latitude + lat).toFixed(2)},${(longitude + lon).toFixed(2)}`;
    return `<polygon>${at(0, 0)} ${at(0, 0.02)} ${at(-0.02, 0.02)} ${at(-0.02, 0)} ${at(0, 0)}</polygon>`;
  };
  const NEAR = square(48.15, 11.57);
  const FAR = square(52, 10);

  interface InfoOf {
    headline: string;
    area?: string;
    severity?: string;
    urgency?: string;
    responseType?: string;
    language?: string;
  }
  const info = ({ area = NEAR, ...of }: InfoOf): string =>
    `<info><language>${of.language ?? "en-US"}</language><category>Met</category><event>Tornado</event>
    ${of.responseType ? `<responseType>${of.responseType}</responseType>` : ""}
    <urgency>${of.urgency ?? "Immediate"}</urgency><severity>${of.severity ?? "Severe"}</severity><certainty>Observed</certainty>
    <expires>2026-01-12T09:30:00-00:00</expires><headline>${of.headline}</headline>
    <area><areaDesc>${of.headline}</areaDesc>${area}</area></info>`;
  const alertOf = (
    identifier: string,
    infos: readonly InfoOf[],
    head: { msgType?: string; of?: string } = {},
  ): string =>
    `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>${identifier}</identifier><sender>w@example.gov</sender>
    <sent>${SENT}</sent><status>Actual</status><msgType>${head.msgType ?? "Alert"}</msgType><scope>Public</scope>
    ${head.of ? `<references>w@example.gov,${head.of},${SENT}</references>` : ""}${infos.map(info).join("")}</alert>`;
  /** Reads the documents one after the other, each as the whole feed; gives what they triggered. */
  const read = async (filter: object, ...documents: string[]): Promise<unknown[][]> => {
    const server = await open();
    server.pages.set("/feed", documents[0] ?? "");
    const asked = () => server.asked.filter(({ path }) => path === "/feed").length;
    const { triggered, until, clock } = await run([{ ...FEED, onlyHere: true, ...filter, url: server.url("/feed") }]);
    for (const [at, document] of documents.entries()) {
      server.pages.set("/feed", document);
      if (at > 0) await clock.advance(60_000);
      await until(() => asked() > at);
      await clock.advance(100);
    }
    return triggered().map(({ source, values }) => [source, values.state, values.headline, values.areaOfInterestIds]);
  };

  it("evaluates each info by its area, severity and end", async () => {
    const far = { headline: "Elsewhere", area: FAR };
    const here = { headline: "Take shelter", severity: "Extreme" };
    const started = [["Weather", "Alert", "Take shelter", [HERE.id]]];
    const over = { headline: "Over", urgency: "Past", severity: "Minor" };
    const severities = ["Extreme", "Severe"];
    for (const infos of [
      [far, here],
      [here, far],
      [{ ...far, urgency: "Past" }, here],
      [{ headline: "Be careful", severity: "Moderate" }, here],
      [{ headline: "Mettez-vous à l'abri", language: "fr-CA", severity: "Extreme" }, here],
    ])
      expect(await read({ severities }, alertOf("I1", infos))).toEqual(started);
    for (const infos of [
      [far, over],
      [{ ...here, responseType: "AllClear" }],
      [far, { ...here, severity: "Minor" }],
      [far, far],
    ])
      expect(await read({ severities }, alertOf("I2", infos))).toEqual([]);
    // Ended alerts on request.
    expect(await read({ urgencies: ["Past"] }, alertOf("I3", [over]))).toEqual([
      ["Weather", "Alert", "Over", [HERE.id]],
    ]);
  });

  it("joins the areas of all infos that pass", async () => {
    const server = await open();
    const infos = [
      { headline: "Watch", severity: "Moderate" },
      { headline: "Take shelter", severity: "Extreme" },
    ];
    server.pages.set("/feed", alertOf("J1", infos));
    const { triggered, until } = await run([{ ...FEED, url: server.url("/feed") }]);
    await until(() => triggered().length === 1);
    expect(triggered()[0]?.values).toMatchObject({ headline: "Take shelter", areaDesc: "Take shelter; Watch" });
  });

  it("ends an alert by a cancellation without any info, only where the alert was started", async () => {
    const here = alertOf("C1", [{ headline: "Take shelter" }]);
    const cancel = alertOf("C2", [], { msgType: "Cancel", of: "C1" });
    const alerted = ["Weather", "Alert", "Take shelter", [HERE.id]];
    expect(await read({}, here, cancel)).toEqual([alerted, ["Weather/cancel", "Cancel", "Take shelter", [HERE.id]]]);
    expect(await read({}, alertOf("C1", [{ headline: "Far", area: FAR }]), cancel)).toEqual([]);
    expect(await read({ onlyHere: false }, cancel)).toEqual([["Weather/cancel", "Cancel", undefined, []]]);
    // An update that says that it is over here.
    const update = alertOf("C3", [{ headline: "Over", urgency: "Past" }], { msgType: "Update", of: "C1" });
    expect(await read({}, here, update)).toEqual([alerted, ["Weather/cancel", "Cancel", "Take shelter", [HERE.id]]]);
    const again = alertOf("C4", [], { msgType: "Update", of: "C1" });
    expect(await read({}, here, again)).toEqual([alerted, ["Weather", "Update", "Take shelter", [HERE.id]]]);
  });

  it("reads a feed that contains the alerts themselves", async () => {
    const alerts = [alertOf("N1", [{ headline: "Far", area: FAR }]), alertOf("N2", [{ headline: "Near" }])];
    const feed = `<?xml version="1.0"?><ns1:alerts xmlns:ns1="http://gov.fema.ipaws.services/feed">${alerts.join("")}</ns1:alerts>`;
    expect(await read({}, feed, feed)).toEqual([["Weather", "Alert", "Near", [HERE.id]]]);
    expect(await read({}, '<alerts xmlns="urn:none"/>')).toEqual([]);
  });

  it("reads shapes as authorities write them, and sounds for an extreme alert that cannot be placed", async () => {
    const blanks = "<polygon> 48.14 , 11.57\n 48.14, 11.58  48.15,11.58 48.14 ,11.57 </polygon>";
    for (const area of [blanks, "<circle>48.1371, 11.5754 3</circle>", "<circle>48.1371,11.5754\t0.5</circle>"])
      expect(await read({}, alertOf("S1", [{ headline: "Here", area }]))).toHaveLength(1);
    const unreadable = [
      "",
      "<polygon></polygon>",
      "<polygon>48.14,11.57 48.14</polygon>",
      "<polygon>north,east south,west up,down</polygon>",
      "<polygon>52,10 52,11</polygon>",
      "<circle>52,10</circle>",
      `${FAR}<polygon>52.0;10.0 52.0;10.1 51.9;10.1</polygon>`,
    ];
    for (const area of unreadable) {
      const [extreme, minor] = [
        alertOf("S2", [{ headline: "Somewhere", area, severity: "Extreme" }]),
        alertOf("S3", [{ headline: "Somewhere", area, severity: "Minor" }]),
      ];
      expect([area, await read({}, extreme)]).toEqual([area, [["Weather", "Alert", "Somewhere", undefined]]]);
      // It is told, but not as an alert, and not where a filter would drop it anyway.
      expect([area, await read({}, minor)]).toEqual([area, [["Weather/unplaced", "Alert", "Somewhere", []]]]);
      expect([area, await read({ severities: ["Severe"] }, minor)]).toEqual([area, []]);
      expect([area, await read({ unplaced: "all" }, minor)]).toEqual([
        area,
        [["Weather", "Alert", "Somewhere", undefined]],
      ]);
      expect([area, (await read({ unplaced: "none" }, extreme))[0]?.[0]]).toEqual([area, "Weather/unplaced"]);
    }
  });

  it("starts drills for accepted exercises", async () => {
    const server = await open();
    for (const status of ["Actual", "Exercise", "Test"])
      server.pages.set(`/${status}`, alertXml({ identifier: status, status }));
    server.pages.set("/atom", atomXml("Actual", "Exercise", "Test"));
    const statuses = ["Actual", "Exercise"];
    const { triggered, until, cap } = await run([{ ...FEED, url: server.url("/atom"), statuses }]);
    await until(() => cap.statuses.length > 0);
    expect(triggered().map(({ drill, values }) => [values.identifier, drill])).toEqual([
      ["Actual", undefined],
      ["Exercise", true],
    ]);
  });

  it("backs off from a failing feed, respects Retry-After, and reports silence and recovery", async () => {
    const server = await open();
    server.pages.set("/atom", { status: 500 });
    const started = await run([{ ...FEED, url: server.url("/atom"), silentAfterMinutes: 5 }]);
    const { clock, until, triggered, cap } = started;
    await until(() => cap.statuses.length === 1);
    expect(cap.statuses[0]).toMatchObject({ state: "down", reason: expect.stringContaining("HTTP 500") });
    await clock.advance(119_000);
    expect(server.asked.length).toBe(1);
    await clock.advance(2_000);
    await until(() => cap.statuses.length === 2);
    server.pages.set("/atom", { status: 503, headers: { "retry-after": "600" } });
    await clock.advance(241_000);
    await until(() => triggered().length === 1);
    expect(triggered()[0]).toMatchObject({ source: "Weather/silence", values: { state: "silent", feed: "Weather" } });
    server.pages.set("/atom", atomXml());
    await clock.advance(590_000);
    expect(server.asked.length).toBe(3);
    await clock.advance(20_000);
    await until(() => triggered().length === 2);
    expect(triggered()[1]).toMatchObject({ source: "Weather/silence", values: { state: "back" } });
    expect(cap.statuses.at(-1)).toMatchObject({ state: "ok" });
  });

  it("retries an alert that could not be stored in the next poll", async () => {
    const server = await open();
    server.pages.set("/alert", alertXml());
    let refusals = 1;
    const answer = withMemoryState((call) =>
      call.method === "trigger" && refusals-- > 0 ? new Error("the disk is full") : areasOf(call),
    );
    const { clock, until, triggered, cap } = await run([{ ...FEED, url: server.url("/alert") }], {}, answer);
    await until(() => cap.statuses.length === 1);
    expect(cap.statuses[0]).toMatchObject({ state: "down", reason: expect.stringContaining("the disk is full") });
    await clock.advance(60_000);
    await until(() => triggered().length === 2 && cap.statuses.at(-1)?.state === "ok");
    await clock.advance(60_000);
    await until(() => server.asked.length === 3);
    expect(triggered().length).toBe(2);
  });

  it("handles new alerts in order of sent, without superseded and cancelled ones", async () => {
    const server = await open();
    const minute = (minutes: number): string => `2026-01-12T07:5${minutes}:00-00:00`;
    const of = (identifier: string, sent = SENT): string => `w@example.gov,${identifier},${sent}`;
    const alerts = {
      over: { msgType: "Cancel", references: of("storm"), sent: minute(8) },
      later: { msgType: "Update", references: `${of("flood")} ${of("none")}`, sent: minute(7) },
      taken: { msgType: "Ack", references: of("fire", minute(6)), sent: minute(7) },
      tried: { msgType: "Cancel", status: "Exercise", references: of("fire", minute(6)), sent: minute(7) },
      fire: { sent: minute(6) },
      storm: { sent: "2026-01-12T08:55:00+01:00" },
      flood: {},
    };
    for (const [name, alert] of Object.entries(alerts))
      server.pages.set(`/${name}`, alertXml({ identifier: name, ...alert }));
    server.pages.set("/atom", atomXml(...Object.keys(alerts).filter((name) => name !== "flood")));
    const answer = withMemoryState(areasOf);
    const feeds = [{ ...FEED, url: server.url("/atom") }];
    const first = await run(feeds, {}, answer);
    await first.until(() => first.cap.statuses.length > 0);
    expect(first.triggered().map(({ values }) => values.identifier)).toEqual(["fire", "later", "over"]);
    // What was replaced is known when its document comes late, and after a restart.
    server.pages.set("/atom", atomXml("flood"));
    const again = await run(feeds, {}, answer);
    await again.until(() => again.cap.statuses.length > 0);
    expect(server.asked.some(({ path }) => path === "/flood")).toBe(true);
    expect(again.triggered()).toEqual([]);
  });

  it("reads past busy, missing and invalid documents, retries those last, and abandons them", async () => {
    const server = await open();
    const bad = Array.from({ length: 52 }, (_, at) => `bad${at}`);
    for (const name of bad) server.pages.set(`/${name}`, "<alert/>");
    server.pages.set("/busy", { status: 503, headers: { "retry-after": "150" } });
    server.pages.set("/gone", { status: 404 });
    server.pages.set("/good", alertXml());
    server.pages.set("/atom", atomXml("busy", "gone", "good"));
    const { cap, clock, until, triggered } = await run([{ ...FEED, url: server.url("/atom") }]);
    const asked = (path: string): number => server.asked.filter((each) => each.path === path).length;
    const look = async (count: number): Promise<void> => {
      if (count > 1) await clock.advance(60_000);
      await until(() => cap.statuses.length === count);
    };
    await look(1);
    expect(triggered().length).toBe(1);
    expect(cap.statuses[0]?.reason).toMatch(/\/busy: .*503; \/gone: .*404/);
    server.pages.set("/late", alertXml({ identifier: "late" }));
    server.pages.set("/atom", atomXml(...bad, "gone", "busy", "late"));
    await look(2);
    await look(3);
    // Of 50 documents in a look, those that were tried before come last.
    expect(triggered().map(({ values }) => values.identifier)).toEqual(["A1", "late"]);
    expect(asked("/busy")).toBe(1);
    server.pages.set("/atom", atomXml("gone", "busy"));
    for (let count = 4; count <= 13; count++) await look(count);
    expect(asked("/gone")).toBe(10);
    expect(asked("/busy")).toBeGreaterThan(1);
    expect(asked("/good")).toBe(1);
  });

  it("accepts only alerts signed as a whole by a trusted certificate", async () => {
    const [signer, other] = [await makeSigner("State office"), await makeSigner("Somebody")];
    const letterhead = { senderName: null, contact: null, language: "en-US" };
    const place = { areaDesc: "Town", polygons: [], circles: [], geocodes: [] };
    const said = {
      identifier: "S1",
      sender: "a@b.example",
      sentAt: FAKE_CLOCK_START,
      expiresAt: FAKE_CLOCK_START + 60_000,
    };
    const kind = { category: "Fire", event: "Fire", urgency: "Immediate", severity: "Severe", certainty: "Observed" };
    const rest = { headline: "Fire", description: "", instruction: null, responseType: null, references: [], place };
    const alert = { ...said, ...kind, ...rest, name: "s", notificationId: "n", scope: "Public" } as const;
    const signed = capDocument({ ...alert, status: "Actual", msgType: "Alert" }, letterhead, {
      ...{ key: signer.signingKey, certificate: signer.certificate },
    });
    const trusted = parseCertificates(`${other.certificate}\n${signer.certificate}`);
    expect(verifiedContent(signed, trusted, FAKE_CLOCK_START)).toContain("<identifier>S1</identifier>");
    const wrapped = signed.replace(
      /(<\?.*\?>\s*)(<alert[^>]*>)([\s\S]*)(<Signature xmlns[\s\S]*<\/Signature>)<\/alert>/,
      "$1$2$3<x>$2$3</alert></x>$4</alert>",
    );
    for (const [text, certificates, words] of [
      [signed.replace("Severe", "Minor"), trusted, "invalid signature"],
      [signed, parseCertificates(other.certificate), "the signer is not trusted"],
      [signed, [], "the signer is not trusted"],
      [signed.replace(/<Signature[\s\S]*<\/Signature>/, ""), trusted, "not signed"],
      [wrapped, trusted, "invalid signature"],
      [`<!DOCTYPE alert [<!ENTITY a "b">]>${signed.replace(/<\?.*\?>/, "")}`, trusted, "DOCTYPE"],
    ] as const)
      expect(() => verifiedContent(text, certificates, FAKE_CLOCK_START), words).toThrow(words);
    expect(() => verifiedContent(signed, trusted, Date.parse("2100-01-01"))).toThrow("not valid at this time");

    const server = await open();
    server.pages.set("/atom", atomXml("good", "bad"));
    server.pages.set("/good", signed);
    server.pages.set("/bad", alertXml());
    const feeds = [{ name: "State", url: server.url("/atom") }];
    const { until, triggered, cap } = await run(feeds, { trustedCertificates: signer.certificate });
    await until(() => cap.statuses.length === 1);
    expect(triggered().map(({ values }) => values.identifier)).toEqual(["S1"]);
    expect(cap.statuses[0]?.reason).toContain("/bad: not signed");
  });

  externalProgram("xmlsec1").it("knows what another program has signed", async () => {
    const { signingKey, certificate } = await makeSigner("State office");
    const folder = makeTempDir();
    const [key, pem, template, signed] = ["k.pem", "c.pem", "t.xml", "s.xml"].map((name) => join(folder, name));
    const [c14n, dsig] = ["http://www.w3.org/2001/10/xml-exc-c14n#", "http://www.w3.org/2000/09/xmldsig#"];
    const more = `<ds:Signature xmlns:ds="${dsig}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="${c14n}"/>
      <ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI=""><ds:Transforms>
      <ds:Transform Algorithm="${dsig}enveloped-signature"/><ds:Transform Algorithm="${c14n}"/></ds:Transforms>
      <ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo>
      <ds:SignatureValue/><ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature>`;
    for (const [file, text] of [
      [key, signingKey],
      [pem, certificate],
      [template, alertXml({ more })],
    ])
      writeFileSync(file as string, text as string);
    execFileSync("xmlsec1", [
      "--sign",
      "--privkey-pem",
      `${key},${pem}`,
      "--output",
      signed as string,
      template as string,
    ]);
    const part = verifiedContent(
      readFileSync(signed as string, "utf8"),
      parseCertificates(certificate),
      FAKE_CLOCK_START,
    );
    expect(part).toContain("<cap:event>Tornado</cap:event>");
  });

  it.each([
    ["a ring around the place", { polygons: ["48,11 48,12 49,12 49,11 48,11"] }, true],
    ["a ring that ends 300 m before it", { polygons: ["48.1398,11 48.1398,12 49,12 49,11 48.1398,11"] }, true],
    ["a ring that ends 600 m before it", { polygons: ["48.1425,11 48.1425,12 49,12 49,11 48.1425,11"] }, false],
    ["a circle that comes near", { circles: ["48.1,11.5754 3.8"] }, true],
    ["a circle that does not", { circles: ["48.1,11.5754 3.6"] }, false],
    ["no ring at all", { polygons: ["48,11 x 49,12", ""], circles: ["", "x 1"] }, false],
  ])("%s touches it or not", (_, { polygons = [], circles = [] }: { polygons?: string[]; circles?: string[] }, does) =>
    expect(shapesIntersect(readShapes({ polygons, circles }), { ...HERE, radiusM: 400 })).toBe(does),
  );

  it("reports configuration errors", async () => {
    const url = "https://alerts.example.org/";
    const { cap } = await run([
      { name: "", url },
      { name: "a", url: "ftp://x" },
      { name: "b", url, everySeconds: 1 },
      { name: "c", url, events: "x" },
    ]);
    expect(cap.statuses.at(-1)).toMatchObject({
      state: "unconfigured",
      reason: expect.stringMatching(/\[0\].*\[1\].*\[2\].*\[3\]/),
    });
  });
});

import { describe, expect, it } from "vitest";
import { parseAlert } from "../../plugins/cap-in/alert.ts";
import { decodeDocument } from "../../plugins/cap-in/encoding.ts";
import { parseFeedConfigs } from "../../plugins/cap-in/feed-config.ts";
import { concernsGeocode } from "../../plugins/cap-in/geocodes.ts";
import { FEED_PRESETS, presetExamples } from "../../plugins/cap-in/presets.ts";
import { parseXml } from "../../plugins/cap-in/xml.ts";
import { capPlugins, HERE } from "./cap/cap-plugin.ts";

const { open, run } = capPlugins();

const SENT = "2026-01-12T07:55:00-00:00";
const EXPIRES = "2026-01-12T09:30:00-00:00";
const NEAR = "48.15,11.57 48.15,11.59 48.13,11.59 48.13,11.57 48.15,11.57";

interface AlertOf {
  id: string;
  language?: string;
  headline: string;
  area?: string;
  sender?: string;
  severity?: string;
  more?: string;
}
const alert = ({ id, language = "en-US", headline, sender = "w@example.gov", ...of }: AlertOf): string =>
  `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>${id}</identifier><sender>${sender}</sender><sent>${SENT}</sent>
  <status>Actual</status><msgType>Alert</msgType><scope>Public</scope>${of.more ?? ""}<info><language>${language}</language><category>Met</category>
  <event>Storm</event><urgency>Immediate</urgency><severity>${of.severity ?? "Severe"}</severity><certainty>Observed</certainty>
  <expires>${EXPIRES}</expires><headline>${headline}</headline>
  <area><areaDesc>Area</areaDesc>${of.area ?? `<polygon>${NEAR}</polygon>`}</area></info></alert>`;
const geocode = (name: string, value: string): string =>
  `<geocode><valueName>${name}</valueName><value>${value}</value></geocode>`;

/** What each preset's authority publishes, with the pages by path; `{url}` stands for the server. */
const PUBLISHED: Record<string, { feed: string; pages?: Record<string, string>; settings?: object; headline: string }> =
  {
    "us-ipaws": {
      feed: `<?xml version="1.0" encoding="UTF-8"?><ns1:alerts xmlns:ns1="http://gov.fema.ipaws.services/feed">${alert({
        id: "IPAWS-1",
        headline: "Shelter in place",
        area: geocode("SAME", "006037"),
      })}${alert({ id: "IPAWS-2", headline: "Elsewhere", area: geocode("SAME", "048201") })}</ns1:alerts>`,
      settings: { signed: false, geocodes: { "SAME=006037": HERE.name } },
      headline: "Shelter in place",
    },
    "us-nws": {
      feed: `<?xml version = '1.0' encoding = 'UTF-8'?><feed xmlns = 'http://www.w3.org/2005/Atom' xmlns:cap = 'urn:oasis:names:tc:emergency:cap:1.2'>
      <id>https://api.weather.gov/alerts/active.atom?area=CA</id><entry><id>{url}/alerts/urn:oid:2.49.0.1.840.0.1</id><updated>${SENT}</updated>
      <link rel="alternate" href="{url}/alerts/urn:oid:2.49.0.1.840.0.1.cap"/><cap:expires>${EXPIRES}</cap:expires></entry>
      <entry><id>{url}/old</id><updated>${SENT}</updated><link rel="alternate" href="{url}/old"/><cap:expires>2026-01-11T00:00:00Z</cap:expires></entry></feed>`,
      pages: {
        "/alerts/urn:oid:2.49.0.1.840.0.1.cap": alert({ id: "urn:oid:2.49.0.1.840.0.1", headline: "Tornado Warning" }),
      },
      headline: "Tornado Warning",
    },
    "us-nws-json": {
      feed: JSON.stringify({
        "@context": { "@version": "1.1" },
        "@graph": [
          {
            "@id": "{url}/alerts/urn:oid:1",
            "@type": "wx:Alert",
            id: "urn:oid:1",
            sent: SENT,
            expires: EXPIRES,
            geometry: null,
          },
          {
            "@id": "{url}/alerts/urn:oid:2",
            "@type": "wx:Alert",
            id: "urn:oid:2",
            sent: SENT,
            expires: "2026-01-11T00:00:00Z",
          },
        ],
      }),
      pages: { "/alerts/urn:oid:1": alert({ id: "urn:oid:1", headline: "Flash Flood Warning" }) },
      headline: "Flash Flood Warning",
    },
    "eu-meteoalarm": {
      feed: `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"><entry><id>{url}/1?index_info=0</id>
      <updated>${SENT}</updated><cap:geocode><valueName>EMMA_ID</valueName><value>DE130</value></cap:geocode>
      <link title="Red wind" href="{url}/en" hreflang="en"/><link type="application/cap+xml" href="{url}/1"/></entry></feed>`,
      pages: {
        "/1": `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>2.49.0.0.276.0.1</identifier><sender>opendata@dwd.de</sender>
        <sent>${SENT}</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>${["de-DE", "en"]
          .map(
            (
              language,
            ) => `<info><language>${language}</language><category>Met</category><event>Wind</event><urgency>Immediate</urgency>
            <severity>Extreme</severity><certainty>Likely</certainty><expires>${EXPIRES}</expires><headline>Wind ${language}</headline>
            <area><areaDesc>Munich</areaDesc>${geocode("EMMA_ID", "DE130")}</area></info>`,
          )
          .join("")}</alert>`,
      },
      settings: { geocodes: { "EMMA_ID=DE130": HERE.name } },
      headline: "Wind en",
    },
    "de-mowas": {
      // Longitude comes first, which only Germany's extent shows.
      feed: JSON.stringify([
        {
          ...{
            identifier: "DE-BY-M-SE001-1",
            sender: "DE-BY-M-SE001",
            sent: SENT,
            status: "Actual",
            msgType: "Alert",
            scope: "Public",
          },
          code: ["DVN:1"],
          info: [
            {
              ...{
                language: "DE",
                category: ["Safety"],
                event: "Gefahrenmitteilung",
                urgency: "Immediate",
                severity: "Severe",
              },
              ...{ certainty: "Observed", headline: "Großbrand in München", description: "Rauch", expires: EXPIRES },
              eventCode: [{ valueName: "profile:DE-BBK-EVENTCODE", value: "BBK-EVC-040" }],
              area: [
                {
                  areaDesc: "München",
                  polygon: ["11.57,48.15 11.59,48.15 11.59,48.13 11.57,48.13 11.57,48.15"],
                  geocode: [{ valueName: "München", value: "091620000000" }],
                },
              ],
            },
          ],
        },
      ]),
      headline: "Großbrand in München",
    },
    "fi-fmi": {
      feed: `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><updated>${SENT}</updated><content type="text/xml">${alert(
        {
          ...{ id: "fmi-1", language: "fi-FI", headline: "Myrskyvaroitus" },
        },
      )}</content></entry></feed>`,
      headline: "Myrskyvaroitus",
    },
    "hr-dhmz": {
      feed: alert({ id: "hr-1", language: "hr", headline: "Olujna bura" }),
      headline: "Olujna bura",
    },
    "ie-met": {
      feed: `<rss version="2.0"><channel><title>Met Éireann</title><item><title>Status Red</title><link>{url}/cap.xml</link>
      <guid>1</guid><pubDate>Mon, 12 Jan 2026 07:55:00 GMT</pubDate></item></channel></rss>`,
      pages: { "/cap.xml": alert({ id: "ie-1", language: "en-GB", headline: "Status Red" }) },
      headline: "Status Red",
    },
    "no-met": {
      feed: `<rss version="2.0"><channel><item><title>Kraftig regn</title><link>{url}/current?cap=2.49.0.1.578.0.1</link>
      <guid>2.49.0.1.578.0.1</guid><pubDate>Mon, 12 Jan 2026 07:55:00 GMT</pubDate></item></channel></rss>`,
      pages: { "/current?cap=2.49.0.1.578.0.1": alert({ id: "no-1", language: "no", headline: "Kraftig regn" }) },
      headline: "Kraftig regn",
    },
  };

describe("cap-in presets", () => {
  it("have complete URLs, and say which value is missing", () => {
    const given = presetExamples().map(({ value }) => value);
    const { feeds, errors } = parseFeedConfigs(given);
    expect(errors).toEqual([]);
    const urls = Object.fromEntries(feeds.map(({ name, urls: [first] }) => [name, first]));
    expect(urls).toMatchObject({
      "us-ipaws": "https://apps.fema.gov/IPAWSOPEN_EAS_SERVICE/rest/eas/recent/{since}",
      "us-nws": "https://api.weather.gov/alerts/active.atom?area=CA",
      "ca-naad": "tcp://streaming1.naad-adna.pelmorex.com:8080",
      "eu-meteoalarm": "https://feeds.meteoalarm.org/feeds/meteoalarm-legacy-atom-germany",
      "fi-fmi": "https://alerts.fmi.fi/cap/feed/atom_fi-FI.xml",
    });
    expect(Object.keys(urls)).toEqual(FEED_PRESETS.map(({ id }) => id));
    const entry = { name: "a", preset: "us-nws" };
    for (const [wrong, message] of [
      [entry, 'values.area must be set, such as "CA"'],
      [{ ...entry, preset: "xx" }, "preset must be one of"],
      [{ ...entry, values: [1] }, "values must be an object of strings"],
      [{ name: "a", url: ["https://a.example/", "tcp://b.example:1"] }, "url must be an http or https URL, or tcp"],
      [{ name: "a", url: "tcp://b.example" }, "url must be"],
      [{ name: "a", url: "https://a.example/", unplaced: "maybe" }, "unplaced must be"],
    ] as const)
      expect(parseFeedConfigs([wrong]).errors[0]).toContain(message);
    // A value fills a part of the URL, never another host.
    const [evil] = parseFeedConfigs([{ ...entry, values: { area: "CA@evil.example/#" } }]).feeds;
    expect(evil?.urls).toEqual(["https://api.weather.gov/alerts/active.atom?area=CA%40evil.example%2F%23"]);
  });

  it.each(FEED_PRESETS.filter(({ id }) => id !== "ca-naad").map(({ id }) => id))("%s is read", async (preset) => {
    const { feed, pages = {}, settings = {}, headline } = PUBLISHED[preset] as (typeof PUBLISHED)[string];
    const server = await open();
    const own = (text: string): string => text.replaceAll("{url}", server.url(""));
    server.pages.set("/feed", own(feed));
    for (const [path, page] of Object.entries(pages)) server.pages.set(path, own(page));
    const entry = { name: "W", preset, url: server.url("/feed"), onlyHere: true, ...settings };
    const { triggered, until, cap } = await run([entry]);
    await until(() => cap.statuses.length > 0);
    expect(cap.statuses.at(-1)).toMatchObject({ state: "ok" });
    expect(triggered().map(({ source, values }) => [source, values.headline, values.areaOfInterestIds])).toEqual([
      ["W", headline, [HERE.id]],
    ]);
    // Expired entries of an index are not read, and an authority learns who asks.
    expect(server.asked.some(({ path }) => path === "/old" || path.endsWith("urn:oid:2"))).toBe(false);
    expect(server.asked.every(({ headers }) => headers["user-agent"]?.startsWith("Carillon"))).toBe(true);
  });

  it("asks the next host while one fails, and for what came since the last poll", async () => {
    const server = await open();
    const day = "2026-01-11T08:00:00Z";
    server.pages.set(`/b/${day}`, alert({ id: "X1", headline: "Here" }));
    server.pages.set(`/a/${day}`, { status: 500 });
    const urls = [server.url("/a/{since}"), server.url("/b/{since}")];
    const { triggered, until, clock, cap } = await run([{ name: "W", url: urls, signed: false }]);
    await until(() => cap.statuses.length === 1);
    expect(cap.statuses[0]).toMatchObject({ state: "ok" });
    expect(triggered()).toHaveLength(1);
    await clock.advance(60_000);
    await until(() => server.asked.length >= 4);
    // Ten minutes before the last poll; the host that answered is asked first.
    expect(server.asked.map(({ path }) => path).slice(0, 3)).toEqual([
      `/a/${day}`,
      `/b/${day}`,
      "/b/2026-01-12T07:50:00Z",
    ]);
  });

  it("reads documents in the encoding that they declare", async () => {
    const text = (encoding: string): string =>
      `<?xml version="1.0" encoding="${encoding}"?>${alert({ id: "E1", headline: "Überflutung – Köln" })}`;
    const bytes = (of: string, encoding: BufferEncoding): Buffer => Buffer.from(of, encoding);
    // An en dash is byte 150 in Windows-1252.
    const windows = (of: string): Buffer => bytes(of.replace("–", "\u0096"), "latin1");
    const bigEndian = (of: string): Buffer => bytes(of, "utf16le").swap16();
    for (const [document, type] of [
      [bytes(text("UTF-8"), "utf8"), ""],
      [Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes(text("ISO-8859-1"), "utf8")]), ""],
      [windows(text("windows-1252")), ""],
      [windows(text("ISO-8859-1")), "text/xml"],
      [bytes(text("UTF-16"), "utf16le"), ""],
      [bigEndian(text("UTF-16")), ""],
      [Buffer.concat([Buffer.from([0xff, 0xfe]), bytes(text("UTF-16"), "utf16le")]), ""],
      [Buffer.concat([Buffer.from([0xfe, 0xff]), bigEndian(text("UTF-16"))]), "application/xml; charset=utf-8"],
      // It says UTF-8 and is not.
      [windows(text("UTF-8")), "text/xml; charset=utf-8"],
      [windows(alert({ id: "E1", headline: "Überflutung – Köln" })), "text/xml; charset=windows-1252"],
    ] as const)
      expect(parseAlert(decodeDocument(document, type).replace(/^\uFEFF/, ""), "en").infos[0]?.texts.headline).toBe(
        "Überflutung – Köln",
      );
    expect(() => decodeDocument(windows(text("klingon")))).toThrow("encoding klingon is not known");
    // Through the whole plugin, as a feed with a linked document.
    const server = await open();
    server.pages.set("/feed", `<rss><channel><item><link>/doc</link></item></channel></rss>`);
    server.pages.set("/doc", { status: 200, body: windows(text("ISO-8859-1")) });
    const { triggered, until } = await run([{ name: "W", url: server.url("/feed"), signed: false }]);
    await until(() => triggered().length === 1);
    expect(triggered()[0]?.values.headline).toBe("Überflutung – Köln");
  });

  it("bounds entities, nesting and size", () => {
    const bomb = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><alert>&b;</alert>`;
    for (const [xml, message] of [
      [bomb, "DOCTYPE is not allowed"],
      [`<!doctype x SYSTEM "file:///etc/passwd"><alert/>`, "DOCTYPE is not allowed"],
      ["<a>".repeat(100_000), "nested more than 64 deep"],
      [`<a>${"<b/>".repeat(200_001)}</a>`, "more than 200000 elements"],
      ["<a>&unknown;</a>", "invalid XML"],
    ])
      expect(() => parseXml(xml as string), message).toThrow(message);
    // Neither comments nor CDATA count.
    expect(parseXml(`<a><!-- ${"<b>".repeat(100)} --><![CDATA[${"<b>".repeat(100)}]]></a>`).localName).toBe("a");
  });

  it.each([
    ["SAME=006037", "SAME=006037", true],
    ["SAME=106037", "SAME=006037", true],
    ["SAME=006000", "SAME=006037", true],
    ["SAME=000000", "SAME=006037", true],
    ["SAME=006111", "SAME=006037", false],
    ["SAME=048037", "SAME=006037", false],
    ["FIPS6=006037", "SAME=006037", false],
    ["UGC=CAZ006", "UGC=CAZ006", true],
    ["UGC=CAC000", "UGC=CAZ006", true],
    ["UGC=CAZ007", "UGC=CAZ006", false],
    ["profile:CAP-CP:Location:0.3=35", "profile:CAP-CP:Location:0.3=3520005", true],
    ["profile:CAP-CP:Location:0.3=3520005", "profile:CAP-CP:Location:0.3=35", true],
    ["profile:CAP-CP:Location:0.3=2466023", "profile:CAP-CP:Location:0.3=3520005", false],
    ["München=091620000000", "*=091620000000", true],
    ["EMMA_ID=DE131", "EMMA_ID=DE130", false],
  ])("%s concerns %s: %s", (given, configured, does) => expect(concernsGeocode(given, configured)).toBe(does));

  it("tells where an area of codes only is, by the schemes that are configured", async () => {
    const server = await open();
    const read = async (area: string, settings: object): Promise<unknown[]> => {
      server.pages.set(
        "/feed",
        alert({ id: `P-${area.length}-${JSON.stringify(settings)}`.slice(0, 90), headline: "H", area }),
      );
      const { triggered, until, cap } = await run([
        { name: "W", url: server.url("/feed"), signed: false, onlyHere: true, ...settings },
      ]);
      await until(() => cap.statuses.length > 0);
      return triggered().map(({ source }) => source);
    };
    const geocodes = { "SAME=006037": HERE.name };
    expect(await read(geocode("SAME", "048201"), { geocodes })).toEqual([]);
    expect(await read(geocode("EMMA_ID", "DE130"), { geocodes })).toEqual(["W/unplaced"]);
    expect(await read(geocode("SAME", "048201"), {})).toEqual(["W/unplaced"]);
    // In the wrong order it would be in the Arabian Sea.
    const turned = "<polygon>11.57,48.15 11.59,48.15 11.59,48.13 11.57,48.13</polygon>";
    expect(await read(turned, {})).toEqual(["W/unplaced"]);
    expect(await read(turned, { preset: "de-mowas", language: "en" })).toEqual(["W"]);
    // No latitude is beyond 90 degrees.
    expect(await read("<polygon>171.57,48.15 171.59,48.15 171.59,48.13</polygon>", {})).toEqual([]);
  });

  it("takes an info of another language where none of the preferred one is here", async () => {
    const server = await open();
    const info = (language: string, headline: string, polygon: string): string =>
      `<info><language>${language}</language><event>Storm</event><urgency>Immediate</urgency><severity>Severe</severity>
      <certainty>Observed</certainty><expires>${EXPIRES}</expires><headline>${headline}</headline>
      <area><areaDesc>A</areaDesc><polygon>${polygon}</polygon></area></info>`;
    const far = "52,10 52,10.1 51.9,10.1";
    const document = (infos: string): string =>
      alert({ id: "L1", headline: "x" }).replace(/<info>[\s\S]*<\/info>/, infos);
    server.pages.set("/feed", document(`${info("en-CA", "Far", far)}${info("fr-CA", "Ici", NEAR)}`));
    const { triggered, until } = await run([{ name: "W", url: server.url("/feed"), signed: false, onlyHere: true }]);
    await until(() => triggered().length === 1);
    expect(triggered()[0]?.values.headline).toBe("Ici");
  });

  it("understands references without a time, with blanks, over line breaks", async () => {
    const server = await open();
    const { triggered, until, clock } = await run([
      { name: "W", url: server.url("/feed"), signed: false, onlyHere: true },
    ]);
    const cancel = (references: string, at: number): string =>
      `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>C${at}</identifier><sender>w@example.gov</sender><sent>${SENT}</sent>
      <status>Actual</status><msgType>Cancel</msgType><scope>Public</scope><references>${references}</references></alert>`;
    server.pages.set("/feed", alert({ id: "R1", headline: "Here" }));
    await clock.advance(60_000);
    await until(() => triggered().length === 1);
    for (const [at, references] of [
      "w@example.gov,R1",
      "w@example.gov, R1,\n 2026-01-12T08:55:00+01:00",
      `x@example.gov,Q9,${SENT}\n\t w@example.gov,R1,${SENT}`,
    ].entries()) {
      server.pages.set("/feed", cancel(references, at));
      await clock.advance(60_000);
      await until(() => triggered().length === at + 2);
      expect(triggered().at(-1)).toMatchObject({ source: "W/cancel", values: { areaOfInterestIds: [HERE.id] } });
    }
  });
});

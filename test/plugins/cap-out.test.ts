import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { XmlDocument, XsdValidator } from "libxml2-wasm";
import { afterEach, describe, expect, it } from "vitest";
import { parseCapArea } from "../../plugins/cap-out/cap-area.ts";
import plugin from "../../plugins/cap-out/index.ts";
import type { DeliveryItem, PluginResponse } from "../../src/plugin-api/index.ts";
import { externalProgram } from "../support/external-programs.ts";
import { FAKE_CLOCK_START } from "../support/fake-clock.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { makeSigner } from "./cap/signing.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { withMemoryState } from "./memory-state.ts";
import { itemOf } from "./test-appliance.ts";

const TOWN = "0198f3a0-0000-7000-8000-00000000f101";
const FIRST = "0190a1b2-0000-7000-8000-000000000001";
const SECOND = "0190a1b2-0000-7000-8000-000000000002";
const GROUPS = [
  { id: TOWN, name: "Town & <country>", type: "outbound-cap" },
  { id: "0198f3a0-0000-7000-8000-00000000f102", name: "Chat", type: "msteams-channel" },
];
const TOKEN = "a token of the feeds";
const NS = { cap: "urn:oasis:names:tc:emergency:cap:1.2", atom: "http://www.w3.org/2005/Atom" };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** As the host hands it over: with all defaults. */
const USUAL = {
  sender: "alerts@school.example.org",
  senderName: "North School",
  contact: null,
  language: "en-US",
  areaDesc: "Site",
  validMinutes: 60,
  access: "public",
  feedToken: null,
  signingKey: null,
  certificate: null,
};

const groupsOf: HandleHostCall = ({ method }) => (method === "resources.list" ? GROUPS : undefined);

async function run(config: object = {}, answer: HandleHostCall = withMemoryState(groupsOf)): Promise<InlinePlugin> {
  const watches = ["collaboration-groups"];
  const started = await runInline(plugin, { config: { ...USUAL, ...config }, answer, watches });
  closing.push(() => started.close());
  return started;
}

function alertTo(deliveryId: number, of: Partial<DeliveryItem> = {}, attributes = {}): DeliveryItem {
  const device = { id: TOWN, deviceIdentifier: "Town", attributes };
  return itemOf(deliveryId, { device, notificationId: FIRST, sentAt: FAKE_CLOCK_START, ...of });
}

const get = (cap: InlinePlugin, path: string, headers = {}): Promise<PluginResponse> =>
  cap.request({ method: "GET", url: `/${TOWN}/${path}`, headers });
const textOf = ({ body }: PluginResponse): string => String(body);

/** Reads an XML document; `at` gives the text of an element, `all` those of all. */
function read(xml: string) {
  const document = XmlDocument.fromString(xml);
  closing.push(async () => document.dispose());
  const all = (path: string): string[] => document.find(path, NS).map((node) => node.content);
  return { document, all, at: (path: string): string | undefined => all(path)[0] };
}

function expectValid(xml: string): void {
  const schema = XmlDocument.fromString(readFileSync(new URL("cap/cap-1.2.xsd", import.meta.url), "utf8"));
  const validator = XsdValidator.fromDoc(schema);
  try {
    validator.validate(read(xml).document);
  } finally {
    validator.dispose();
    schema.dispose();
  }
}

const SETTINGS = {
  category: "Fire",
  event: "Fire",
  severity: "Extreme",
  responseType: "Evacuate",
  instruction: "Leave",
};

describe("cap-out", () => {
  it("publishes valid alerts in an Atom and an RSS feed", async () => {
    const cap = await run();
    const place = {
      area: "North & South",
      polygons: "48.1,11.5 48.2,11.5 48.2,11.6 48.1,11.5",
      circles: "48.1,11.5 2",
    };
    const text = { subject: "Fire <Hall>", body: 'Leave & "wait".\u0007', short: "" };
    cap.deliver(
      alertTo(1, { text, class: "emergency", settings: SETTINGS }, { ...place, geocodes: "SAME=006109; UGC=X" }),
    );
    expect(await cap.outcome(1, "sent")).toMatchObject({ details: { last: true } });
    const atom = await get(cap, "atom");
    expect(atom).toMatchObject({ status: 200, headers: { "content-type": "application/atom+xml; charset=utf-8" } });
    const feed = read(textOf(atom));
    expect(feed.at("/atom:feed/atom:title")).toBe("Town & <country>");
    expect(feed.at("/atom:feed/atom:entry/atom:updated")).toBe("2026-01-12T08:00:00Z");
    const link = feed.at("/atom:feed/atom:entry/atom:link/@href") ?? "";
    expect(link).toBe(`https://bells.example.org/x/cap-out/${TOWN}/${FIRST}.${TOWN}.xml`);
    const rss = read(textOf(await get(cap, "rss")));
    expect(rss.at("/rss/channel/item/link")).toBe(link);
    expect(rss.at("/rss/channel/item/pubDate")).toBe("Mon, 12 Jan 2026 08:00:00 GMT");
    const document = await get(cap, link.split("/").at(-1) ?? "");
    expectValid(textOf(document));
    const { at, all } = read(textOf(document));
    expect(["status", "msgType", "scope", "sent"].map((name) => at(`/cap:alert/cap:${name}`))).toEqual([
      ...["Actual", "Alert", "Public", "2026-01-12T08:00:00-00:00"],
    ]);
    const said = ["category", "event", "urgency", "severity", "certainty", "responseType", "expires", "headline"];
    expect(said.map((name) => at(`//cap:info/cap:${name}`))).toEqual([
      ...["Fire", "Fire", "Immediate", "Extreme", "Observed", "Evacuate", "2026-01-12T09:00:00-00:00", "Fire <Hall>"],
    ]);
    expect(at("//cap:description")).toBe('Leave & "wait".');
    expect(all("//cap:area/*").map((each) => each.trim())).toEqual([
      ...["North & South", place.polygons, place.circles, "SAME006109", "UGCX"],
    ]);
  });

  it("publishes updates and cancellations with references, across restarts", async () => {
    const answer = withMemoryState(groupsOf);
    const first = await run({}, answer);
    first.deliver(alertTo(1), alertTo(2, { notificationId: FIRST }));
    await first.outcome(2, "sent");
    const cap = await run({}, answer);
    cap.deliver(alertTo(3, { notificationId: SECOND, follows: FIRST, sentAt: FAKE_CLOCK_START + 5_000, drill: true }));
    await cap.outcome(3, "sent");
    cap.event("notification.stopped", { notificationId: SECOND, reason: "expired" });
    cap.event("notification.stopped", { notificationId: SECOND, reason: "aborted" });
    cap.event("notification.stopped", { notificationId: SECOND, reason: "aborted" });
    const links = async (): Promise<string[]> =>
      read(textOf(await get(cap, "atom"))).all("//atom:entry/atom:link/@href");
    await expect.poll(links).toHaveLength(3);
    const documents = await Promise.all(
      (await links()).map(async (link) => textOf(await get(cap, link.split("/").at(-1) ?? ""))),
    );
    for (const xml of documents) expectValid(xml);
    const told = documents.map((xml) =>
      ["msgType", "status", "references"].map((name) => read(xml).at(`//cap:${name}`)),
    );
    const sent = "alerts@school.example.org,0190a1b2-0000-7000-8000-00000000000";
    const one = `${sent}1.${TOWN},2026-01-12T08:00:00-00:00`;
    expect(told).toEqual([
      ["Cancel", "Exercise", `${one} ${sent}2.${TOWN},2026-01-12T08:00:05-00:00`],
      ["Update", "Exercise", one],
      ["Alert", "Actual", undefined],
    ]);
    expect(read(textOf(await get(cap, "rss"))).all("//item/title")).toEqual([
      ...["[Exercise] [Cancelled] Test", "[Exercise] Test", "Test"],
    ]);
  });

  it("cancels an alert that was being published when its message was cancelled", async () => {
    const cap = await run();
    cap.deliver(alertTo(1));
    cap.event("notification.stopped", { notificationId: FIRST, reason: "aborted" });
    const titles = async (): Promise<string[]> => read(textOf(await get(cap, "rss"))).all("//item/title");
    await expect.poll(titles, { timeout: 90_000 }).toEqual(["[Cancelled] Test", "Test"]);
  });

  it("requires the token, supports ETags, and returns 404 for other feeds", async () => {
    const cap = await run({ access: "token", feedToken: TOKEN });
    cap.deliver(alertTo(1));
    await cap.outcome(1, "sent");
    expect((await get(cap, "atom")).status).toBe(401);
    expect((await get(cap, "atom?token=guess")).status).toBe(401);
    const shown = { authorization: `Bearer ${TOKEN}` };
    const atom = await get(cap, "atom", shown);
    expect(textOf(atom)).not.toContain("token");
    const inAddress = await get(cap, `rss?${new URLSearchParams({ token: TOKEN })}`);
    const link = read(textOf(inAddress)).at("//item/link") ?? "";
    const document = await get(cap, link.split("/").at(-1) ?? "");
    expectValid(textOf(document));
    expect(read(textOf(document)).at("//cap:scope")).toBe("Restricted");
    const { etag = "" } = atom.headers ?? {};
    const again = await get(cap, "atom", { ...shown, "if-none-match": `"other", ${etag}` });
    expect(again).toMatchObject({ status: 304, headers: { etag } });
    expect((await cap.request({ url: `/${TOWN}/atom`, headers: shown })).status).toBe(405);
    for (const path of [`/${GROUPS[1]?.id}/atom`, `/${TOWN}/none.xml`, `/${TOWN}`, "/", `/${TOWN}/atom/x`])
      expect((await cap.request({ method: "GET", url: path, headers: shown })).status, path).toBe(404);
  });

  externalProgram("xmlsec1").it("signs each document so that others can check it", async () => {
    const signer = await makeSigner("North School");
    const cap = await run(signer);
    cap.deliver(alertTo(1, { text: { subject: "Feuer", body: "Bitte gehen Sie.\r\n\tJetzt!", short: "" } }));
    await cap.outcome(1, "sent");
    const signed = textOf(await get(cap, `${FIRST}.${TOWN}.xml`));
    expectValid(signed);
    const folder = makeTempDir();
    const [file, changed, trusted] = ["signed.xml", "changed.xml", "trusted.pem"].map((name) => join(folder, name));
    writeFileSync(file as string, signed);
    writeFileSync(changed as string, signed.replace("Bitte", "Nicht"));
    writeFileSync(trusted as string, signer.certificate);
    const check = (path = ""): Promise<unknown> =>
      promisify(execFile)("xmlsec1", ["--verify", "--enabled-key-data", "x509", "--trusted-pem", trusted ?? "", path]);
    await check(file);
    await expect(check(changed)).rejects.toThrow();
  });

  it("reports missing configuration and invalid areas", async () => {
    const { signingKey } = await makeSigner("One");
    const { certificate } = await makeSigner("Two");
    for (const [config, words] of [
      [{ sender: null }, "sender"],
      [{ sender: "North School" }, "sender"],
      [{ access: "token", feedToken: "short" }, "feedToken"],
      [{ signingKey }, "together"],
      [{ signingKey, certificate }, "must belong to signingKey"],
      [{ signingKey: "x", certificate: "y" }, "must be valid PEM"],
    ] as const) {
      const cap = await run(config);
      cap.deliver(alertTo(1));
      expect(await cap.outcome(1, "failed")).toMatchObject({ details: { reason: expect.stringContaining(words) } });
      expect(cap.statuses.at(-1)?.state).toBe("unconfigured");
    }
    const cap = await run();
    cap.deliver(alertTo(1, {}, { polygons: "1,2 3,4 1,2" }));
    expect(await cap.outcome(1, "failed")).toMatchObject({
      details: { reason: "1,2 3,4 1,2 must be a polygon, a circle or a geocode of CAP" },
    });
    for (const [name, text] of [
      ["polygons", "1,2 3,4 5,6 1,3"],
      ["polygons", "91,2 3,4 5,6 91,2"],
      ["circles", "1,2"],
      ["circles", "1,181 2"],
      ["geocodes", "SAME"],
      ["geocodes", "=1"],
    ])
      expect(typeof parseCapArea({ [name as string]: text as string }, "Site"), text).toBe("string");
  });
});

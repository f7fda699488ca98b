import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { toPcm } from "../../src/media/samples.ts";
import { encodeWav } from "../../src/media/wav.ts";
import { type Baresip, startBaresip } from "../support/baresip.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { unusedPort } from "../support/free-port.ts";
import { startKamailio } from "../support/kamailio.ts";
import { runSipp } from "../support/sipp.ts";
import { listenToZone, untilHeard, VOICE, type ZoneListener } from "../support/zone-listener.ts";

type Row = Record<string, unknown> & { id: string };

const PATIENCE = { timeout: 90_000, interval: 50 };
const ZONE = { group: "239.241.7.22", port: 20_530 };
const HANG_UP = "b";
const PASSWORD = "s3cret-of-all";
/** Minutes of the voice: a telephone that has no more to say falls silent. */
const REPETITIONS = 60;
const SPEECH = encodeWav(
  toPcm(Float32Array.from({ length: REPETITIONS * VOICE.length }, (_, i) => VOICE[i % VOICE.length] ?? 0)),
);

describe("page by phone, from telephones and servers of other makers", () => {
  let daemon: TestDaemon;
  let zone: ZoneListener;
  let template: string;
  let hall: string;
  let port: number;
  const stopping: (() => Promise<void>)[] = [];
  const sent = async () => (await daemon.call<{ data: Row[] }>("GET", "/notifications?limit=100")).body.data;
  const configure = async (number: string, more: object): Promise<void> => {
    const { status, body } = await daemon.call("POST", "/dialcast-dialing-configurations", {
      ...{ name: `Number ${number}`, type: "NOTIFICATION", dialingPatternRegex: number, messageTemplateId: template },
      ...{ deviceGroupIds: [hall], ...more },
    });
    expect(status, JSON.stringify(body)).toBe(200);
  };
  const startPhone = async (account: string): Promise<Baresip> => {
    const phone = await startBaresip(`${account};audio_codecs=PCMU`, { voice: SPEECH });
    stopping.push(phone.stop);
    return phone;
  };

  beforeAll(async () => {
    daemon = await startTestDaemon();
    const { call, first } = daemon;
    port = await unusedPort();
    const { data } = (await call<{ data: Row[] }>("GET", "/extensions?limit=100")).body;
    const sip = {
      ...{ port, address: "127.0.0.1", accounts: "office:s3cret-of-office\n", trustedAddresses: "127.0.0.1" },
      ...{ firstMediaPort: 24_000, lastMediaPort: 24_999, incomingCalls: 50 },
    };
    for (const [name, config] of [
      ["sip", sip],
      ["multicast-zones", {}],
    ] as const) {
      const id = data.find((row) => row.name === name)?.id;
      const { status, body } = await call("PUT", `/extensions/${id}`, { config, disabled: false });
      expect(status, JSON.stringify(body)).toBe(200);
    }
    const device = {
      ...{ type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
      attributes: { Group: ZONE.group, Port: String(ZONE.port), Codec: "PCMU", TTL: "1" },
    };
    const path = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/devices`;
    const { icopId } = (await call<Row>("POST", path, device)).body;
    hall = (await call<Row>("POST", "/device-groups", { name: "Hall", filterType: "REJECT", additionIds: [icopId] }))
      .body.id;
    const page = { name: "Page", subject: "Page from {{callingNumber}}", alertTone: "chirp" };
    template = (await call<Row>("POST", "/message-templates", page)).body.id;
    await configure("800", { callAction: "LIVE_PAGE" });
    await configure("801", {});
    zone = await listenToZone(ZONE);
  });
  afterEach(async () => {
    for (const stop of stopping.splice(0).reverse()) await stop();
  });
  afterAll(async () => {
    zone?.close();
    await daemon?.stop();
  });

  /** Speaks to the zone, hangs up once it was heard. */
  const page = async (phone: Baresip, uri: string, subject: string): Promise<void> => {
    const before = zone.sound().length;
    await phone.dial(uri);
    await untilHeard(() => zone.sound().subarray(before));
    phone.press(HANG_UP);
    await phone.hungUp();
    const last = (await sent()).at(-1);
    expect(last).toMatchObject({ subject, notificationSource: "dial-cast" });
    const ledger = async () => (await daemon.call<{ data: Row[] }>("GET", `/notifications/${last?.id}/devices`)).body;
    await expect.poll(ledger, PATIENCE).toMatchObject({
      data: [{ deviceIdentifier: "zone:Hall", endedAt: expect.any(String) }],
    });
  };

  externalProgram("baresip").it("reaches the zone from baresip, directly", async () => {
    const phone = await startPhone("<sip:office@127.0.0.1>;regint=0");
    await page(phone, `sip:800@127.0.0.1:${port}`, "Page from office");
  });

  externalProgram("kamailio").describe("behind Kamailio", () => {
    externalProgram("baresip").it("reaches the zone from baresip", async () => {
      const rules = { password: PASSWORD, algorithm: "MD5", maxSeconds: 60, minSeconds: 30 } as const;
      const server = await startKamailio({ port: await unusedPort(), ...rules, appliancePort: port });
      stopping.push(server.stop);
      const who = `<sip:open-214@127.0.0.1:${server.port}>;regint=60;auth_pass=${PASSWORD}`;
      const phone = await startPhone(who);
      await expect.poll(() => server.requests, PATIENCE).toContain("REGISTER");
      await page(phone, `sip:800@127.0.0.1:${server.port}`, "Page from open-214");
      await expect
        .poll(() => server.requests, PATIENCE)
        .toEqual(expect.arrayContaining(["INVITE by udp", "ACK by udp", "BYE by udp"]));
    });
  });

  externalProgram("sipp").describe("sipp", () => {
    it("has its calls answered, and ended by the appliance once the message is sent", async () => {
      const before = (await sent()).length;
      expect(await runSipp("call.xml", { port, number: "801", calls: 20 })).toBe(0);
      await expect.poll(async () => (await sent()).length, PATIENCE).toBeGreaterThan(before);
    });

    it("gets 404 for a number that no configuration has", async () => {
      expect(await runSipp("unknown-number.xml", { port, number: "999", calls: 20 })).toBe(0);
    });
  });
});

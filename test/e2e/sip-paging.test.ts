import { once } from "node:events";
import { createConnection } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type CertificateAndKey,
  createCertificateAuthority,
  issueServerCertificate,
} from "../../src/ops/tls/certificate-authority.ts";
import { openScriptedSipSpeaker } from "../plugins/sip-speaker.ts";
import { type Baresip, startBaresip } from "../support/baresip.ts";
import { baselineRecording } from "../support/baseline-broadcast.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { decodeWithFfmpeg } from "../support/ffmpeg-listener.ts";
import { unusedPort } from "../support/free-port.ts";
import { locateSound } from "../support/signal-analysis.ts";

type Row = Record<string, unknown> & { id: string };

const MIN_CORRELATION = 0.99;
const HANG_UP = "b";
const PATIENCE = { timeout: 90_000, interval: 100 };

describe("a message by SIP", () => {
  let daemon: TestDaemon;
  let device: Baresip | undefined;
  let authority: CertificateAndKey;
  beforeAll(async () => {
    authority = await createCertificateAuthority("Test", Date.now());
    daemon = await startTestDaemon();
  });
  afterEach(() => device?.stop());
  afterAll(() => daemon?.stop());

  externalProgram("baresip").it(
    "is heard, encrypted, by a speaker that registered with name and password and answers by itself",
    async () => {
      const { call } = daemon;
      const tlsPort = await unusedPort();
      const { certificate: tlsCertificate, key: tlsKey } = await issueServerCertificate(
        authority,
        ["127.0.0.1"],
        Date.now(),
      );
      await configure(daemon, "sip", {
        ...{ port: await unusedPort(), tlsPort, tlsCertificate, tlsKey, srtp: "require" },
        ...{ address: "127.0.0.1", accounts: "gym:s3cret-of-gym\n" },
      });
      // Over TLS it would try again only half a minute later.
      await expect.poll(() => listens(tlsPort), PATIENCE).toBe(true);
      const who = `<sip:gym@127.0.0.1:${tlsPort};transport=tls>;auth_pass=s3cret-of-gym;regint=60;mediaenc=srtp-mand`;
      device = await startBaresip(`${who};answermode=auto;audio_codecs=PCMU`, {
        ...{ modules: ["srtp"], authority: authority.certificate },
      });
      const devices = `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}/devices`;
      const known = async () => (await call<{ data: Row[] }>("GET", devices)).body.data;
      const registered = {
        deviceIdentifier: "sip:gym",
        type: "speakers",
        attributes: expect.objectContaining({ IsRegistered: "true" }),
      };
      await expect.poll(known, PATIENCE).toMatchObject([registered]);

      const group = { name: "Gym", filterType: "REJECT", additionIds: [(await known())[0]?.icopId] };
      const form = new FormData();
      form.set("subject", "Everybody to the gym");
      form.set("alertTone", "class-change1");
      form.append("deviceGroupIds[]", (await call<Row>("POST", "/device-groups", group)).body.id);
      form.set("audio", new Blob([new Uint8Array(baselineRecording())], { type: "audio/wav" }), "known.wav");
      const { id } = (await call<Row>("POST", "/notifications", form)).body;
      const ledger = async () => (await call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
      await expect.poll(ledger, PATIENCE).toMatchObject([{ deviceIdentifier: "sip:gym", endedAt: expect.any(String) }]);
      expect(await ledger()).toMatchObject([{ level: "playing", reason: expect.stringContaining("0 packets lost") }]);

      const answer = await fetch(`${daemon.url}/api/v1/notifications/${id}/audio?form=programme`, {
        headers: { authorization: `Bearer ${daemon.first.token}` },
      });
      const programme = await decodeWithFfmpeg(new Uint8Array(await answer.arrayBuffer()));
      const heard = await decodeWithFfmpeg(device.recording());
      expect(locateSound(heard, programme).correlation).toBeGreaterThan(MIN_CORRELATION);
    },
  );

  externalProgram("baresip").it(
    "is spoken, encrypted, to whoever picks up a telephone, and answered by a key",
    async () => {
      const { call } = daemon;
      const port = await unusedPort();
      const { certificate, key } = await issueServerCertificate(authority, ["127.0.0.1"], Date.now());
      device = await startBaresip(
        "<sip:+4930123456@127.0.0.1>;regint=0;mediaenc=srtp-mand;answermode=auto;audio_codecs=PCMU",
        { port, modules: ["srtp"], certificate: certificate + key },
      );
      await configure(daemon, "phone-call", {
        ...{ trunk: `sip:127.0.0.1:${port + 1};transport=tls`, certificateAuthority: authority.certificate },
        ...{ port: 0, address: "127.0.0.1", srtp: "require" },
      });
      const userId = (await call<Row>("POST", "/users", { name: "Fay", email: "fay@example.org" })).body.id;
      const phone = { type: "phone-call", deviceIdentifier: "+49 30 123456" };
      expect((await call("POST", `/users/${userId}/devices`, phone)).status).toBe(200);
      const question = { name: "Roll call", options: ["I am safe", "I need help"] };
      const form = new FormData();
      form.set("subject", "Roll call");
      form.append("userIds[]", userId);
      form.set("confirmationRequestId", (await call<Row>("POST", "/confirmation-requests", question)).body.id);
      form.set("audio", new Blob([new Uint8Array(baselineRecording())], { type: "audio/wav" }), "known.wav");
      const { id } = (await call<Row>("POST", "/notifications", form)).body;
      const ledger = async () => (await call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
      await expect.poll(ledger, PATIENCE).toMatchObject([{ level: "playing" }]);
      device.press("2");
      await expect.poll(ledger, PATIENCE).toMatchObject([{ level: "confirmed", endedAt: expect.any(String) }]);
      const { data } = (await call<{ data: Row[] }>("GET", `/notifications/${id}/recipients`)).body;
      expect(data).toMatchObject([{ name: "Fay", confirmationResponse: "I need help" }]);
      device.press(HANG_UP);
      await device.hungUp();
      const heard = await decodeWithFfmpeg(device.recording());
      // The rest was cut off by the key.
      const beginning = (await decodeWithFfmpeg(baselineRecording())).subarray(0, 8_000);
      expect(locateSound(heard, beginning).correlation).toBeGreaterThan(MIN_CORRELATION);
    },
  );
});

describe("a tone to a SIP speaker that does not take the call", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
    await configure(daemon, "sip", { port: 0, address: "127.0.0.1" });
  });
  afterAll(() => daemon?.stop());

  it.each([
    [480, /^not registered or unreachable \(480/],
    [486, /^in use \(486/],
    [503, /^server unavailable \(503/],
    [404, /^unknown user \(404/],
    [403, /^call refused \(403/],
    ["off", /^\w+/],
    ["not registered", /^not registered$/],
  ] as const)("has failed for the reason of the last call: %s", async (trouble, reason) => {
    const speaker = typeof trouble === "number" ? await openScriptedSipSpeaker(...Array(20).fill(trouble)) : null;
    try {
      const uri = speaker?.uri ?? (trouble === "off" ? `sip:gym@127.0.0.1:${await unusedPort()}` : null);
      const { call, first } = daemon;
      const device = {
        ...{ type: "speakers", name: String(trouble), description: String(trouble) },
        ...{ deviceIdentifier: `sip:${String(trouble).replace(" ", "-")}`, attributes: uri ? { SipUri: uri } : {} },
      };
      const devices = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/devices`;
      const { icopId } = (await call<Row>("POST", devices, device)).body;
      const group = { name: String(trouble), filterType: "REJECT", additionIds: [icopId] };
      const { id: groupId } = (await call<Row>("POST", "/device-groups", group)).body;
      const message = { subject: "Bell", alertTone: "chime", deviceGroupIds: [groupId] };
      const { id } = (await call<Row>("POST", "/notifications", message)).body;
      const shown = async () => (await call<Row>("GET", `/notifications/${id}`)).body.progress;
      await expect.poll(shown, PATIENCE).toMatchObject({ percentComplete: 100, verdict: "reachedNone" });
      const [row] = (await call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
      expect(row).toMatchObject({ level: "failed", reason: expect.stringMatching(reason) });
    } finally {
      await speaker?.close();
    }
  });
});

async function configure({ call }: TestDaemon, plugin: string, config: object): Promise<void> {
  const { data } = (await call<{ data: Row[] }>("GET", "/extensions?limit=100")).body;
  const row = data.find(({ name }) => name === plugin);
  const { status, body } = await call("PUT", `/extensions/${row?.id}`, { config, disabled: false });
  expect(status, JSON.stringify(body)).toBe(200);
}

async function listens(port: number): Promise<boolean> {
  const socket = createConnection(port, "127.0.0.1");
  return await once(socket, "connect")
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

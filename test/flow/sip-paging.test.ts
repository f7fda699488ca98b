import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect } from "vitest";
import { type Baresip, startBaresip } from "../support/baresip.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { decodeWithFfmpeg } from "../support/ffmpeg-listener.ts";
import { findSound } from "../support/hearing.ts";
import { knownRecording } from "../support/known-broadcast.ts";
import { peer } from "../support/peers.ts";

type Row = Record<string, unknown> & { id: string };

const LEAST_CORRELATION = 0.99;
const PATIENCE = { timeout: 30_000, interval: 100 };

describe("a message for a SIP speaker", () => {
  let daemon: TestDaemon | undefined;
  let speaker: Baresip | undefined;
  afterEach(async () => {
    await speaker?.stop();
    await daemon?.stop();
  });

  peer("baresip").it(
    "is heard by one that registered with name and password and answers by itself",
    async () => {
      daemon = await startTestDaemon();
      const { call } = daemon;
      const port = await freePort();
      await configure(daemon, { port, address: "127.0.0.1", accounts: "gym:s3cret-of-gym\n" });
      speaker = await startBaresip(
        `<sip:gym@127.0.0.1:${port}>;auth_pass=s3cret-of-gym;regint=60;answermode=auto;audio_codecs=PCMU`,
      );
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
      form.set("audio", new Blob([new Uint8Array(knownRecording())], { type: "audio/wav" }), "known.wav");
      const { id } = (await call<Row>("POST", "/notifications", form)).body;
      const ledger = async () => (await call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
      await expect.poll(ledger, PATIENCE).toMatchObject([{ deviceIdentifier: "sip:gym", endedAt: expect.any(String) }]);
      expect(await ledger()).toMatchObject([{ level: "playing", reason: null }]);

      const answer = await fetch(`${daemon.url}/api/v1/notifications/${id}/audio?form=programme`, {
        headers: { authorization: `Bearer ${daemon.first.token}` },
      });
      const programme = await decodeWithFfmpeg(new Uint8Array(await answer.arrayBuffer()));
      const heard = await decodeWithFfmpeg(speaker.heard());
      expect(findSound(heard, programme).correlation).toBeGreaterThan(LEAST_CORRELATION);
    },
    90_000,
  );
});

async function configure({ call }: TestDaemon, config: object): Promise<void> {
  const { data } = (await call<{ data: Row[] }>("GET", "/extensions?limit=100")).body;
  const sip = data.find(({ name }) => name === "sip");
  const { status, body } = await call("PUT", `/extensions/${sip?.id}`, { config, disabled: false });
  expect(status, JSON.stringify(body)).toBe(200);
}

async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(resolve));
  return port;
}

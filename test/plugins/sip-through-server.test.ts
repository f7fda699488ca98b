import { afterAll, beforeAll, expect, it } from "vitest";
import plugin from "../../plugins/sip/index.ts";
import { createSdpSession } from "../../plugins/sip/media/sdp.ts";
import { resolveHop } from "../../plugins/sip/user-agent/hop.ts";
import type { CallHandlers } from "../../plugins/sip/user-agent/sip-call.ts";
import { parseSipUri, type SipUri } from "../../plugins/sip/user-agent/sip-uri.ts";
import { openSipUserAgent, type SipUserAgent } from "../../plugins/sip/user-agent/user-agent.ts";
import type { AudioTarget } from "../../src/plugin-api/index.ts";
import { createPluginConfig } from "../../src/plugin-host/plugin-config.ts";
import { type Baresip, startBaresip } from "../support/baresip.ts";
import { externalProgram } from "../support/external-programs.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { unusedPort } from "../support/free-port.ts";
import { type Kamailio, startKamailio } from "../support/kamailio.ts";
import { runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const PASSWORD = "s3cret-of-all";
const AUDIO: AudioTarget = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: 77 };
const PATIENCE = { timeout: 30_000, interval: 20 };
const WAYS = [
  ["udp", "MD5"],
  ["tcp", "SHA-256"],
] as const;
const HANG_UP = "b";
const PLAIN = { seal: (plain: string) => plain, open: (sealed: string) => sealed };

for (const [protocol, algorithm] of WAYS)
  externalProgram("kamailio").describe(`a SIP server by ${protocol} that asks for ${algorithm}`, () => {
    let server: Kamailio;
    let agent: SipUserAgent;
    const phones: Baresip[] = [];
    beforeAll(async () => {
      const rules = { password: PASSWORD, algorithm, maxSeconds: 60, minSeconds: 30 };
      server = await startKamailio({ port: await unusedPort(), ...rules });
      const listening = { port: 0, tls: null, authority: null, address: "127.0.0.1" };
      // No time passes for it: whatever comes of a call is what the server has said.
      agent = await openSipUserAgent({ ...listening, clock: createFakeClock(), onError: () => undefined });
    });
    afterAll(async () => {
      await Promise.all([agent?.close(), ...phones.map((phone) => phone.stop())]);
      await server?.stop();
    });

    const at = (name: string): SipUri => {
      const uri = parseSipUri(`sip:${name}@127.0.0.1:${server.port};transport=${protocol}`);
      if (!uri) throw new Error(name);
      return uri;
    };
    const register = async (user: string, { password = PASSWORD, seconds = 300 } = {}) => {
      const [uri, credentials] = [at(user), { user, password }];
      const hop = await resolveHop(uri);
      return agent.register({ uri, user, hop, credentials, seconds, callId: `of-${user}`, sequence: 1 });
    };
    const asked = async (name: string) => (await agent.options(at(name), await resolveHop(at(name)), null)).status;
    const startPhone = async (name: string, rest: string): Promise<Baresip> => {
      const who = `<sip:${name}@127.0.0.1:${server.port};transport=${protocol}>;regint=60;audio_codecs=PCMU;${rest}`;
      const phone = await startBaresip(who);
      phones.push(phone);
      await expect.poll(() => asked(name), PATIENCE).toBe(200);
      return phone;
    };
    const callTo = async (name: string, handlers: Partial<CallHandlers>) => {
      const session = createSdpSession({ address: "127.0.0.1", port: 9, id: 1, codecs: ["PCMU"], secrecy: null });
      const told = { onAnswered: () => undefined, onFailed: () => undefined, onEnded: () => undefined, ...handlers };
      const callee = {
        ...{ uri: at(name), hop: await resolveHop(at(name)), credentials: { user: "office", password: PASSWORD } },
        ...{ caller: { user: "office", name: "Office" }, headers: [], offer: session.offer() },
        answerTo: session.answer,
      };
      return agent.call(callee, told);
    };

    it("registers with the server for the granted time, and accepts forwarded calls", async () => {
      expect(await register("office")).toMatchObject({ status: 200, seconds: 60 });
      expect(await register("office-2", { seconds: 10 })).toMatchObject({ status: 200, seconds: 30 });
      expect(await register("office-3", { password: "wrong" })).toMatchObject({ status: 401 });
      await expect.poll(() => server.requests, PATIENCE).toEqual(["REGISTER", "REGISTER 423", "REGISTER"]);
      expect(await Promise.all(["office", "office-2", "office-3"].map(asked))).toEqual([200, 200, 404]);
    });

    externalProgram("baresip").it(
      "and one behind it are shown the password on the way to a device, and stay on that way",
      async () => {
        await startPhone("open", "answermode=auto");
        const given = { port: 0, address: "127.0.0.1", user: "office", password: PASSWORD };
        const sip = await runInline(plugin, {
          config: createPluginConfig(plugin.config, PLAIN).toRuntime(given).config,
        });
        const before = server.requests.length;
        const device = { id: "0198f3a0-0000-7000-8000-00000000f0a1", deviceIdentifier: "sip:gym" };
        const SipUri = `sip:twice-open@127.0.0.1:${server.port};transport=${protocol}`;
        sip.deliver(itemOf(1, { device: { ...device, attributes: { SipUri } }, audio: AUDIO }));
        expect(await sip.answered(1)).toMatchObject({ level: "accepted" });
        sip.stop("ended", 1);
        await sip.close();
        await expect
          .poll(() => server.requests.slice(before), PATIENCE)
          .toEqual(["INVITE", "ACK", "BYE"].map((method) => `${method} by ${protocol}`));
      },
    );

    externalProgram("baresip").it("brings the goodbye of a device, and takes back a call that only rings", async () => {
      let ended = "";
      await callTo("open", {
        onEnded: () => {
          ended = "by the device";
        },
        onFailed: ({ reason }) => {
          ended = reason;
        },
      });
      // Until it has the call it has nothing to hang up.
      const pressed = (): string => {
        phones[0]?.press(HANG_UP);
        return ended;
      };
      await expect.poll(pressed, PATIENCE).toBe("by the device");
      await startPhone("open-2", "answermode=manual");
      let rings = (): void => undefined;
      const ringing = new Promise<void>((resolve) => {
        rings = resolve;
      });
      const call = await callTo("open-2", { onRinging: (status) => void (status === 180 && rings()) });
      await ringing;
      await call.hangUp();
      await expect.poll(() => server.requests, PATIENCE).toContain("CANCEL");
    });
  });

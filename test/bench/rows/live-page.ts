import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { createApiClient } from "../../../src/api-client/api-client.ts";
import { newConsolePage, startBrowser } from "../../support/browser.ts";
import { type InitOutput, LOOPBACK_SETTINGS, runInit, serveAppliance } from "../../support/carillon-process.ts";
import { atMost, type BenchmarkRow, median, percentile } from "../benchmark-row.ts";

/** How many beeps of the browser's own microphone are followed; it beeps once a second. */
const BEEPS = 60;
const GOAL_MS = 300;
/** As `initialise` makes it. */
const ADMIN = { email: "admin@example.org", password: "correct horse battery" };
const ZONE = { group: "239.241.7.7", port: 20_480 };
/** Nobody speaks to it: all devices would have to be asked for by a held button. */
const OTHER = { group: "239.241.7.8", port: 20_482 };
const RATE_HZ = 8_000;
/** A beep begins where it is louder than this after so long a silence. */
const LOUD = 0.05;
const SILENCE_MS = 300;
/** Beyond that a beep that is heard belongs to another one that was made. */
const MAX_MS = 900;

/** Row 15: a voice from the microphone of a browser to an ffmpeg that listens to a zone. */
export const livePage: BenchmarkRow = {
  number: 15,
  name: "live page, mouth to ear",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const settings = join(folder, "carillon.yaml");
    writeFileSync(settings, `${LOOPBACK_SETTINGS}log: {level: warn}\n`);
    const made = await runInit(join(folder, "data"));
    const daemon = await serveAppliance(join(folder, "data"), ["--config", settings]);
    const browser = await startBrowser(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
    const ear = listen(folder);
    try {
      await makeZone(daemon.url, made);
      const { page, open, idle } = await newConsolePage(browser, daemon.url);
      await page.addInitScript(NOTE_BEEPS);
      await open("/");
      await page.fill("input[type=email]", ADMIN.email);
      await page.fill("input[type=password]", ADMIN.password);
      await page.click("button[type=submit]");
      await page.waitForSelector(".frame");
      await open("/speak");
      const delays = await speak(page, idle, ear.heard, say);
      const against = `goal: ${GOAL_MS} ms`;
      const what = (which: string): string => `${which} of ${delays.length} beeps, Chromium to ffmpeg`;
      return [
        atMost({ what: what("median"), ours: median(delays), limit: GOAL_MS, against, unit: "ms" }, 1),
        atMost({ what: what("p99"), ours: percentile(delays, 99), limit: GOAL_MS, against, unit: "ms" }, 1),
      ];
    } finally {
      ear.end();
      await browser.close();
      await daemon.end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function makeZone(url: string, { token, extensionId, endpointId }: InitOutput): Promise<void> {
  const api = createApiClient(url, token);
  const zone = async (name: string, { group, port }: typeof ZONE): Promise<string> => {
    const { icopId } = await api.post<{ icopId: string }>(
      `/extensions/${extensionId}/endpoints/${endpointId}/devices`,
      {
        type: "speakers",
        deviceIdentifier: `zone:${name}`,
        description: name,
        attributes: { Group: group, Port: String(port), Codec: "PCMU", TTL: "1" },
      },
    );
    return icopId;
  };
  const [icopId] = [await zone("Hall", ZONE), await zone("Yard", OTHER)];
  await api.post("/device-groups", { name: "Hall", filterType: "REJECT", additionIds: [icopId] });
}

/** Speaks until so many beeps were heard; gives ms from each beep to its hearing. */
async function speak(
  page: Page,
  atRest: () => Promise<void>,
  heard: readonly number[],
  say: (text: string) => void,
): Promise<number[]> {
  await page.getByRole("combobox", { name: "Device groups" }).click();
  await page.getByRole("option", { name: "Hall" }).click();
  await page.keyboard.press("Escape");
  // Until it is known how many devices that is, the button has to be held.
  await atRest();
  await page.getByRole("button", { name: "Speak", exact: false }).last().click();
  await page.waitForSelector("button.talk >> text=Speak now", { timeout: 60_000 });
  const from = Date.now();
  say("on air");
  for (let beeps = 0; beeps < BEEPS; ) {
    await page.waitForTimeout(1_000);
    beeps = heard.filter((at) => at > from).length;
    if (Date.now() - from > 3_000 * BEEPS) throw new Error(`${beeps} beeps of ${BEEPS} were heard`);
  }
  const spoken = await page.evaluate<number[]>("window.beeps");
  await page.keyboard.press("Escape");
  return spoken
    .filter((at) => at > from)
    .slice(0, BEEPS)
    .map((at) => (heard.find((later) => later >= at) ?? Number.POSITIVE_INFINITY) - at)
    .filter((ms) => ms < MAX_MS);
}

/** Runs in the page: notes the moment (epoch ms) at which the microphone heard each beep begin. */
const NOTE_BEEPS = `(() => {
  window.beeps = [];
  const Native = window.AudioWorkletNode;
  window.AudioWorkletNode = class extends Native {
    constructor(context, ...more) {
      super(context, ...more);
      let quiet = 0;
      this.port.addEventListener("message", ({ data }) => {
        const now = performance.timeOrigin + performance.now();
        for (let i = 0; i < data.length; i++) {
          if (Math.abs(data[i]) < ${LOUD}) { quiet++; continue; }
          if (quiet > (context.sampleRate * ${SILENCE_MS}) / 1000) window.beeps.push(now - ((data.length - i) * 1000) / context.sampleRate);
          quiet = 0;
        }
      });
    }
  };
})()`;

/** An ffmpeg at the zone; `heard` grows by the moment (epoch ms) at which each beep came out of it. */
function listen(folder: string): { heard: readonly number[]; end(): void } {
  const sdp = join(folder, "zone.sdp");
  const lines = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=zone", `c=IN IP4 ${ZONE.group}/1`, "t=0 0"];
  writeFileSync(sdp, `${[...lines, `m=audio ${ZONE.port} RTP/AVP 0`].join("\r\n")}\r\n`);
  const input = ["-protocol_whitelist", "file,udp,rtp", "-localaddr", "127.0.0.1", "-listen_timeout", "-1"];
  const fast = ["-fflags", "nobuffer", "-analyzeduration", "0", "-reorder_queue_size", "0", "-i", sdp];
  const output = ["-ar", String(RATE_HZ), "-ac", "1", "-c:a", "pcm_s16le", "-flush_packets", "1", "-f", "s16le", "-"];
  const ffmpeg = spawn("ffmpeg", ["-loglevel", "error", ...input, ...fast, ...output], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const heard: number[] = [];
  let quiet = 0;
  ffmpeg.stdout.on("data", (part: Buffer) => {
    const now = Date.now();
    for (let at = 0; at + 1 < part.length; at += 2) {
      const isLoud = Math.abs(part.readInt16LE(at)) / 32_768 >= LOUD;
      if (isLoud && quiet > (RATE_HZ * SILENCE_MS) / 1_000) heard.push(now);
      quiet = isLoud ? 0 : quiet + 1;
    }
  });
  return { heard, end: () => void ffmpeg.kill("SIGKILL") };
}

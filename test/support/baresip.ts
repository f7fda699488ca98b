import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { makeTempDir } from "./temp-dir.ts";

/** A SIP phone of other people's making that answers by itself and keeps what it hears. */
export interface Baresip {
  /** What it heard in its only call so far, once that has ended: a WAV. */
  recording(): Buffer;
  /** Presses a key in its call: `b` hangs up. */
  press(key: string): void;
  /** Calls a URI; resolves when it is answered. */
  dial(uri: string): Promise<void>;
  /** Resolves when a call has ended. */
  hungUp(): Promise<void>;
  stop(): Promise<void>;
}

const MODULES = ["stdio", "g711", "aubridge", "sndfile"];

/**
 * Starts one with a line of its accounts file; resolves when it is ready. It listens on a port that the system chooses
 * unless one is given; `modules` are loaded beside those for G.711. By TLS it believes `authority` and
 * listens, a port higher, with `certificate` and its key (PEM). It says `voice` (a WAV of 8 kHz) in its calls.
 */
export async function startBaresip(
  account: string,
  {
    port = 0,
    modules = [],
    authority,
    certificate,
    voice,
  }: { port?: number; modules?: readonly string[]; authority?: string; certificate?: string; voice?: Uint8Array } = {},
): Promise<Baresip> {
  const folder = makeTempDir();
  const files = {
    ...(authority === undefined ? {} : { sip_cafile: authority }),
    ...(certificate === undefined ? {} : { sip_certificate: certificate }),
  };
  const voiceFile = join(folder, "voice.wav");
  if (voice) writeFileSync(voiceFile, voice);
  const config = [
    ...["poll_method epoll", `sip_listen 127.0.0.1:${port}`, "net_interface 127.0.0.1", "audio_channels 1"],
    // It needs something to let the sound out by; the bridge gives it back as what it says.
    ...[
      voice ? `audio_source aufile,${voiceFile}` : "audio_source aubridge,ear",
      "audio_player aubridge,ear",
      "audio_alert aubridge,bell",
    ],
    ...["audio_txmode poll", "jitter_buffer_delay 0-1"],
    ...[`snd_path ${folder}`, "rtp_ports 30000-39998", "module_path /usr/lib/baresip/modules"],
    ...[...MODULES, ...(voice ? ["aufile"] : []), ...modules].map((name) => `module ${name}.so`),
    ...["module_tmp account.so", "module_app menu.so"],
    ...Object.keys(files).map((name) => `${name} ${join(folder, name)}`),
  ];
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "config"), `${config.join("\n")}\n`);
  writeFileSync(join(folder, "accounts"), `${account}\n`);
  writeFileSync(join(folder, "contacts"), "");
  const child = spawn("baresip", ["-f", folder], { stdio: ["pipe", "pipe", voice ? "ignore" : "inherit"] });
  const ended = once(child, "exit");
  let onHungUp = (): void => {};
  const hungUp = new Promise<void>((resolve) => {
    onHungUp = resolve;
  });
  let onAnswered = (): void => {};
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.includes("baresip is ready")) resolve();
      if (line.includes("Call established")) onAnswered();
      if (/Call with .* terminated/.test(line)) onHungUp();
    });
    ended.then(() => reject(new Error("baresip ended before it was ready")), reject);
  });
  return {
    recording() {
      const [name] = readdirSync(folder).filter((each) => each.endsWith("-dec.wav"));
      if (name === undefined) throw new Error("baresip was not called");
      return readFileSync(join(folder, name));
    },
    hungUp: () => hungUp,
    press: (key) => void child.stdin.write(key),
    dial(uri) {
      const answered = new Promise<void>((resolve) => {
        onAnswered = resolve;
      });
      child.stdin.write(`/dial ${uri}\n`);
      return answered;
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

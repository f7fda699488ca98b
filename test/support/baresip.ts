import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { makeTempDir } from "./temp-dir.ts";

/** A SIP phone of other people's making that answers by itself and keeps what it hears. */
export interface Baresip {
  /** What it heard in its only call so far, once that has ended: a WAV. */
  heard(): Buffer;
  stop(): Promise<void>;
}

const MODULES = ["stdio", "g711", "aubridge", "sndfile"];

/** Starts one with a line of its accounts file, on ports that the system chooses; resolves when it is ready. */
export async function startBaresip(account: string): Promise<Baresip> {
  const folder = makeTempDir();
  const config = [
    ...["poll_method epoll", "sip_listen 127.0.0.1:0", "net_interface 127.0.0.1", "audio_channels 1"],
    // It needs something to let the sound out by; the bridge gives it back as what it says.
    ...["audio_source aubridge,ear", "audio_player aubridge,ear", "audio_alert aubridge,bell"],
    ...["audio_txmode poll", "jitter_buffer_delay 0-1"],
    ...[`snd_path ${folder}`, "rtp_ports 30000-39998", "module_path /usr/lib/baresip/modules"],
    ...MODULES.map((name) => `module ${name}.so`),
    ...["module_tmp account.so", "module_app menu.so"],
  ];
  writeFileSync(join(folder, "config"), `${config.join("\n")}\n`);
  writeFileSync(join(folder, "accounts"), `${account}\n`);
  writeFileSync(join(folder, "contacts"), "");
  const child = spawn("baresip", ["-f", folder], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.includes("baresip is ready")) resolve();
    });
    ended.then(() => reject(new Error("baresip ended before it was ready")), reject);
  });
  return {
    heard() {
      const [name] = readdirSync(folder).filter((each) => each.endsWith("-dec.wav"));
      if (name === undefined) throw new Error("baresip was not called");
      return readFileSync(join(folder, name));
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

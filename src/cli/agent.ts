import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { productVersion } from "../lib/product-version.ts";
import type { Terminal } from "../lib/terminal.ts";

interface AgentOptions {
  server: string;
  state: string;
  joinSecretFile?: string;
  mac?: string;
  name: string;
  model: string;
  port: string;
  player: string;
  device?: string;
  microphone?: string;
  buffer: string;
}

/** `carillon agent`: runs this machine as a network speaker until a signal ends it. */
export function addAgent(program: Command, terminal: Terminal): void {
  program
    .command("agent")
    .description(
      "Run this machine as a network speaker: it plays what the appliance sends and reports what it played. It stores the bells of the next 14 days and rings them itself while the appliance can't be reached.",
    )
    .requiredOption("--server <url>", "URL of the appliance")
    .requiredOption(
      "--state <dir>",
      "state folder: the token, the bell plan and its sounds, readable by this user only",
    )
    .option(
      "--join-secret-file <file>",
      "file with the join secret of the speakers plugin; or set CARILLON_JOIN_SECRET",
    )
    .option("--mac <address>", "MAC address to register with; default: that of the first network interface")
    .option("--name <words>", "display name", "")
    .option("--model <word>", "model name, used to group speakers of one kind", "carillon-agent")
    .option("--port <port>", "UDP port that receives audio; 0 lets the system choose", "0")
    .option("--player <program>", "auto, aplay, ffplay, ffmpeg, or exec:<program> that reads s16 8 kHz mono", "auto")
    .option("--device <name>", "output device for aplay and ffmpeg")
    .option("--microphone <name>", "arecord device that hears the speaker; tests the speaker with every message")
    .option("--buffer <ms>", "jitter buffer: how long audio is delayed to wait for late packets", "60")
    .addHelpText(
      "after",
      "\nExample:\n  carillon agent --server https://bells.example.org --state agent --join-secret-file secret --name Gym",
    )
    .action(async (options: AgentOptions) => {
      const { silentLog } = await import("../lib/log.ts");
      const { createNetworkWatch } = await import("../lib/network-watch.ts");
      const { selectPlayer } = await import("../speaker-agent/audio-output.ts");
      const { readHostMachine } = await import("../speaker-agent/host-machine.ts");
      const { createRoomMicrophone, recordFrom } = await import("../speaker-agent/room-microphone.ts");
      const { runSpeakerAgent } = await import("../speaker-agent/speaker-agent.ts");
      const { openStateFolder } = await import("../speaker-agent/state-folder.ts");
      const { limitHeapGrowth } = await import("../lib/heap-growth.ts");
      limitHeapGrowth();
      const { device = null, microphone } = options;
      const stopping = new AbortController();
      const endListening = terminal.onStop(() => stopping.abort());
      try {
        const deps = {
          clock: systemClock,
          server: serverIn(options.server),
          joinSecret: await joinSecretOf(options, terminal),
          state: await openStateFolder(options.state),
          machine: await readHostMachine(),
          mac: macIn(options.mac ?? firstMac()),
          name: options.name,
          model: options.model,
          version: productVersion(),
          port: integerIn("port", options.port, 65_535),
          bufferMs: integerIn("buffer", options.buffer, 1_000),
          open: selectPlayer(options.player, device, terminal.env.PATH),
          watchNetwork: (onChange: () => void) => createNetworkWatch({ clock: systemClock, log: silentLog, onChange }),
          listen: microphone === undefined ? null : createRoomMicrophone(recordFrom(microphone)),
          log: terminal.err,
        };
        await runSpeakerAgent(deps, stopping.signal);
      } finally {
        endListening();
      }
    });
}

async function joinSecretOf({ joinSecretFile: file }: AgentOptions, { env }: Terminal): Promise<string | null> {
  if (file === undefined) return env.CARILLON_JOIN_SECRET ?? null;
  return (await readFile(file, "utf8")).trim();
}

function serverIn(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw invalidValue("server", "Must be an http or https URL.");
  return text.replace(/\/+$/, "");
}

function firstMac(): string {
  const cards = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return cards.find(({ internal }) => !internal)?.mac ?? "";
}

function macIn(text: string): string {
  const mac = text.replace(/[:.-]/g, "").toUpperCase();
  if (!/^[0-9A-F]{12}$/.test(mac)) throw invalidValue("mac", "Must be a MAC address such as 02:00:5E:10:00:01.");
  return mac;
}

function integerIn(name: string, text: string, max: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw invalidValue(name, `Must be an integer between 0 and ${max}.`);
  return value;
}

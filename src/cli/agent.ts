import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { productVersion } from "../lib/product-version.ts";
import { selectPlayer } from "../speaker-agent/audio-output.ts";
import { readHostMachine } from "../speaker-agent/host-machine.ts";
import { openRoomMicrophone } from "../speaker-agent/room-microphone.ts";
import { runSpeakerAgent } from "../speaker-agent/speaker-agent.ts";
import { openStateFolder } from "../speaker-agent/state-folder.ts";
import type { Terminal } from "./terminal.ts";

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

/** `carillon agent`: makes a speaker of this machine, until a signal ends it. */
export function addAgent(program: Command, terminal: Terminal): void {
  program
    .command("agent")
    .description(
      "Make a speaker of this machine: it plays what the appliance sends, and says what it played. It holds the bells of the next 14 days and rings them by itself while the appliance can't be reached.",
    )
    .requiredOption("--server <url>", "the appliance")
    .requiredOption(
      "--state <dir>",
      "folder for its token and its plan of bells with their sounds, for its own user alone",
    )
    .option("--join-secret-file <file>", "holds the join secret of the plugin speakers; or give CARILLON_JOIN_SECRET")
    .option("--mac <address>", "who it is; that of the first network card unless given")
    .option("--name <words>", "what people call it", "")
    .option("--model <word>", "what it is compared with", "carillon-agent")
    .option("--port <port>", "port for sound; 0 lets the system choose", "0")
    .option("--player <program>", "auto, aplay, ffplay, ffmpeg, or exec:<program> that reads s16 8 kHz mono", "auto")
    .option("--device <name>", "where aplay and ffmpeg play")
    .option("--microphone <name>", "device of arecord that hears the speaker: it tests itself with every message")
    .option("--buffer <ms>", "how long sound is held back against packets that are late", "60")
    .addHelpText(
      "after",
      "\nExample:\n  carillon agent --server https://bells.example.org --state agent --join-secret-file secret --name Gym",
    )
    .action(async (options: AgentOptions) => {
      const { device = null, microphone } = options;
      const stopping = new AbortController();
      const endListening = terminal.onStop(() => stopping.abort());
      try {
        const needs = {
          clock: systemClock,
          server: serverIn(options.server),
          joinSecret: await joinSecretOf(options, terminal),
          state: await openStateFolder(options.state),
          machine: await readHostMachine(),
          mac: macIn(options.mac ?? firstMac()),
          name: options.name,
          model: options.model,
          version: productVersion(),
          port: wholeIn("port", options.port, 65_535),
          bufferMs: wholeIn("buffer", options.buffer, 1_000),
          open: selectPlayer(options.player, device, terminal.env.PATH),
          listen:
            microphone === undefined
              ? null
              : (onHeard: () => void) => openRoomMicrophone({ device: microphone, onHeard }),
          log: terminal.err,
        };
        await runSpeakerAgent(needs, stopping.signal);
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
    throw invalidValue("server", "It is an http or https URL.");
  return text.replace(/\/+$/, "");
}

function firstMac(): string {
  const cards = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return cards.find(({ internal }) => !internal)?.mac ?? "";
}

function macIn(text: string): string {
  const mac = text.replace(/[:.-]/g, "").toUpperCase();
  if (!/^[0-9A-F]{12}$/.test(mac)) throw invalidValue("mac", "It is an address such as 02:00:5E:10:00:01.");
  return mac;
}

function wholeIn(name: string, text: string, most: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= most)) throw invalidValue(name, `It is a whole number up to ${most}.`);
  return value;
}

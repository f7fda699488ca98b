import { type Command, Option } from "commander";
import { createApiClient } from "../api-client/api-client.ts";
import { registerDevices } from "../api-client/register-devices.ts";
import { type SimulatorProcess, startSimulatorProcess } from "../tools/simulator-process.ts";
import { EXIT } from "./exit-codes.ts";
import { printCommandError, type Terminal } from "./terminal.ts";

/** Options that the campus itself understands and checks. */
const FORWARDED_OPTIONS: readonly (readonly [flag: string, value: string, words: string])[] = [
  ["--phones", "<n>", "phones"],
  ["--zones", "<n>", "multicast zones, each with one loudspeaker that listens"],
  ["--offline", "<k>", "phones that refuse every connection"],
  ["--mute", "<k>", "phones that accept everything and hear nothing"],
  ["--no-rtp", "<k>", "phones of a model that can't play streams"],
  ["--latency", "<spec>", "how fast phones answer: fixed:MS, uniform:A:B or lognormal:MEDIAN:MIN:MAX"],
  ["--seed", "<s>", "number that everything random follows from"],
  ["--auth-url", "<url>", "where phones ask whether a push is genuine; `serve` prints it"],
  ["--loss", "<p>", "share of packets that each listener loses, 0 to 1"],
];

interface RegisterOptions {
  register?: string;
  token?: string;
}

/** `carillon campus`: simulated phones and zones in a process of their own, until a signal ends it. */
export function addSimulator(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const campus = program
    .command("campus")
    .description("Run simulated phones and multicast zones on the loopback interface.");
  const passed: string[] = [];
  for (const [flag, value, words] of FORWARDED_OPTIONS) {
    // Commander reads `--no-…` as a negation with no value, which the campus's own option is not.
    const option = new Option(`${flag} ${value}`, words).argParser((text: string) => void passed.push(flag, text));
    option.negate = false;
    campus.addOption(option);
  }
  campus
    .option("--services", "every other channel's far end, too: mail, texts, telephones, pushes, desktops and the like")
    .on("option:services", () => void passed.push("--services"))
    .option("--register <url>", "make the devices known to the appliance at this URL")
    .option("--token <token>", "token to register with; or give CARILLON_TOKEN in the environment")
    .addHelpText(
      "after",
      "\nExample:\n  carillon campus --phones 50 --zones 10 --offline 3 --latency uniform:20:200 \\\n" +
        "    --auth-url http://127.0.0.1:8081/auth --register http://127.0.0.1:8080 --token …\n\n" +
        "The first line of stdout says where the remote control is and what devices there are; the last one, after\n" +
        "SIGTERM or Ctrl-C, is the report of what the devices heard.",
    )
    .action(async ({ register, token = terminal.env.CARILLON_TOKEN }: RegisterOptions) => {
      if (register !== undefined && !token) {
        const message = "--register needs a token";
        return finish(
          printCommandError(terminal, { exitCode: EXIT.usage, message, next: "Add --token or CARILLON_TOKEN." }),
        );
      }
      let told = register === undefined;
      // Without the ready line before it, nobody would know what the last line is about.
      const running = await startSimulatorProcess(passed, (line) => told && terminal.out(line));
      if (typeof running === "number") return finish(running);
      const endListening = terminal.onStop(running.stop);
      try {
        if (register !== undefined) await registerSimulatedDevices(running, register, token as string, terminal);
        terminal.out(JSON.stringify(running.ready));
        told = true;
        finish(await running.ended);
      } finally {
        running.stop();
        await running.ended;
        endListening();
      }
    });
}

async function registerSimulatedDevices(
  running: SimulatorProcess,
  url: string,
  token: string,
  terminal: Terminal,
): Promise<void> {
  const { devices } = running.ready;
  await registerDevices(createApiClient(url, token), devices);
  terminal.err(`${devices.length} devices registered at ${url}`);
}

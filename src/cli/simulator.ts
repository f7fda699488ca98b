import { type Command, Option } from "commander";
import { createApiClient } from "../api-client/api-client.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { SimulatorProcess } from "../tools/simulator-process.ts";
import { counted } from "./counted.ts";
import { printCommandError } from "./terminal.ts";

/** Options that are passed on to the simulator, which checks them. */
const FORWARDED_OPTIONS: readonly (readonly [flag: string, value: string, description: string])[] = [
  ["--phones", "<n>", "phones"],
  ["--zones", "<n>", "multicast zones, each with one listening speaker"],
  ["--offline", "<k>", "phones that refuse every connection"],
  ["--mute", "<k>", "phones that accept everything but play nothing"],
  ["--no-rtp", "<k>", "phones of a model that can't play streams"],
  ["--latency", "<spec>", "response time of the phones: fixed:MS, uniform:A:B or lognormal:MEDIAN:MIN:MAX"],
  ["--seed", "<s>", "seed of the random numbers"],
  ["--auth-url", "<url>", "authentication URL that phones check pushes at; printed by `serve`"],
  ["--loss", "<p>", "packet loss of each listener, 0 to 1"],
];

interface RegisterOptions {
  register?: string;
  token?: string;
}

/** `carillon simulator`, alias `campus`: simulated phones and zones in a child process, until a signal ends it. */
export function addSimulator(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const simulator = program
    .command("simulator")
    .alias("campus")
    .description("Run simulated phones and multicast zones on the loopback interface.");
  const args: string[] = [];
  for (const [flag, value, description] of FORWARDED_OPTIONS) {
    // Commander reads `--no-…` as a negation without value; the simulator's --no-rtp takes one.
    const option = new Option(`${flag} ${value}`, description).argParser((text: string) => void args.push(flag, text));
    option.negate = false;
    simulator.addOption(option);
  }
  simulator
    .option("--services", "also simulate the other channels: email, text messages, telephones, push, desktops and more")
    .on("option:services", () => void args.push("--services"))
    .option("--register <url>", "register the devices with the appliance at this URL")
    .option("--token <token>", "token for --register; or set CARILLON_TOKEN")
    .addHelpText(
      "after",
      "\nExample:\n  carillon simulator --phones 50 --zones 10 --offline 3 --latency uniform:20:200 \\\n" +
        "    --auth-url http://127.0.0.1:8081/auth --register http://127.0.0.1:8080 --token …\n\n" +
        "The first line of stdout names the control URL and the devices; the last one, after SIGTERM or Ctrl-C, is the report\n" +
        "of what the devices received. `carillon campus` is an alias.",
    )
    .action(async ({ register, token = terminal.env.CARILLON_TOKEN }: RegisterOptions) => {
      const { startSimulatorProcess } = await import("../tools/simulator-process.ts");
      if (register !== undefined && !token) {
        const message = "--register requires a token";
        return finish(
          printCommandError(terminal, { exitCode: EXIT.usage, message, next: "Add --token or set CARILLON_TOKEN." }),
        );
      }
      let isReadyPrinted = register === undefined;
      // The ready line must come first; without it the report can't be interpreted.
      const running = await startSimulatorProcess(args, (line) => isReadyPrinted && terminal.out(line));
      if (typeof running === "number") return finish(running);
      const endListening = terminal.onStop(running.stop);
      try {
        if (register !== undefined) await registerSimulatedDevices(running, register, token as string, terminal);
        terminal.out(JSON.stringify(running.ready));
        isReadyPrinted = true;
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
  const { registerDevices } = await import("../api-client/register-devices.ts");
  const { devices } = running.ready;
  await registerDevices(createApiClient(url, token), devices);
  terminal.err(`${counted(devices.length, "device")} registered at ${url}`);
}

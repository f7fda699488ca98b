import { parseArgs } from "node:util";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { parseLatency, type ResponseLatency } from "./latency.ts";

/** Options of a simulator. */
export interface SimulatorOptions {
  phones: number;
  zones: number;
  /** Phones that refuse every connection. */
  offline: number;
  /** Phones that accept everything and play nothing. */
  mute: number;
  /** Phones of a model without RTP URIs. */
  noRtp: number;
  latency: ResponseLatency;
  seed: number;
  /** URL at which phones authenticate pushes; null until it is set. */
  authUrl: string | null;
  /** Packet loss of each listener, 0 to 1. */
  loss: number;
  /** Simulate the services of all other channels, too: email, text messages, telephones, push, desktops and more. */
  services: boolean;
}

/** Text of `--help`. */
export const USAGE = `Usage: main.js [--phones N] [--zones N] [--offline K] [--mute K] [--no-rtp K]
               [--latency fixed:MS|uniform:A:B|lognormal:MEDIAN:MIN:MAX]
               [--seed S] [--auth-url URL] [--loss P] [--services]
Example: main.js --phones 50 --zones 10 --offline 3 --latency uniform:20:200
`;

const MAX_PHONES = 50_000;
const MAX_ZONES = 5000;

/** Parses the command line (without program and script); CallerError names the invalid argument. */
export function parseSimulatorOptions(argv: string[]): SimulatorOptions | "help" {
  const values = parseCommandLine(argv);
  if (values.help) return "help";
  const options: SimulatorOptions = {
    phones: parseCount("phones", values.phones, MAX_PHONES),
    zones: parseCount("zones", values.zones, MAX_ZONES),
    offline: parseCount("offline", values.offline, MAX_PHONES),
    mute: parseCount("mute", values.mute, MAX_PHONES),
    noRtp: parseCount("no-rtp", values["no-rtp"], MAX_PHONES),
    latency: parseLatency(values.latency ?? "fixed:0"),
    seed: parseCount("seed", values.seed, 0x7fff_ffff),
    authUrl: values["auth-url"] === undefined ? null : requireHttpUrl("auth-url", values["auth-url"]),
    loss: parseShare("loss", values.loss),
    services: values.services ?? false,
  };
  if (options.offline + options.mute + options.noRtp > options.phones) {
    throw invalidValue("phones", "Must be at least the sum of offline, mute and no-rtp.");
  }
  return options;
}

function parseCommandLine(argv: string[]) {
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      args: argv,
      options: {
        phones: text,
        zones: text,
        offline: text,
        mute: text,
        "no-rtp": text,
        latency: text,
        seed: text,
        "auth-url": text,
        loss: text,
        services: { type: "boolean" },
        help: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    throw new CallerError("invalid-value", error instanceof TypeError ? error.message : String(error));
  }
}

function parseCount(name: string, value: string | undefined, max: number): number {
  const number = value === undefined ? 0 : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= max)) throw invalidValue(name, `Must be an integer between 0 and ${max}.`);
  return number;
}

function parseShare(name: string, value: string | undefined): number {
  const number = value === undefined ? 0 : /^\d*\.?\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 1)) throw invalidValue(name, "Must be a number between 0 and 1.");
  return number;
}

/** Returns the value if it is an absolute http URL; CallerError otherwise. */
export function requireHttpUrl(name: string, value: unknown): string {
  if (typeof value !== "string" || !URL.canParse(value) || new URL(value).protocol !== "http:") {
    throw invalidValue(name, "Must be an absolute http URL.");
  }
  return value;
}

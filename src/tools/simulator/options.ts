import { parseArgs } from "node:util";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { parseLatency, type ResponseLatency } from "./latency.ts";

/** What a campus is made of. */
export interface SimulatorOptions {
  phones: number;
  zones: number;
  /** Phones that refuse every connection. */
  offline: number;
  /** Phones that accept everything and hear nothing. */
  mute: number;
  /** Phones of a model without RTP URIs. */
  noRtp: number;
  latency: ResponseLatency;
  seed: number;
  /** Where phones ask whether a push may be obeyed; null until somebody says. */
  authUrl: string | null;
  /** Share of packets, 0 to 1, that each listener loses. */
  loss: number;
  /** Whether there are the far ends of every other channel, too: mail, texts, telephones, pushes, desktops and the like. */
  services: boolean;
}

/** The words of `--help`. */
export const USAGE = `Usage: main.js [--phones N] [--zones N] [--offline K] [--mute K] [--no-rtp K]
               [--latency fixed:MS|uniform:A:B|lognormal:MEDIAN:MIN:MAX]
               [--seed S] [--auth-url URL] [--loss P] [--services]
Example: main.js --phones 50 --zones 10 --offline 3 --latency uniform:20:200
`;

const MAX_PHONES = 50_000;
const MAX_ZONES = 5000;

/** Reads the command line (without program and script); CallerError names the argument at fault. */
export function parseSimulatorOptions(argv: string[]): SimulatorOptions | "help" {
  const given = parseCommandLine(argv);
  if (given.help) return "help";
  const options: SimulatorOptions = {
    phones: parseCount("phones", given.phones, MAX_PHONES),
    zones: parseCount("zones", given.zones, MAX_ZONES),
    offline: parseCount("offline", given.offline, MAX_PHONES),
    mute: parseCount("mute", given.mute, MAX_PHONES),
    noRtp: parseCount("no-rtp", given["no-rtp"], MAX_PHONES),
    latency: parseLatency(given.latency ?? "fixed:0"),
    seed: parseCount("seed", given.seed, 0x7fff_ffff),
    authUrl: given["auth-url"] === undefined ? null : requireHttpUrl("auth-url", given["auth-url"]),
    loss: parseShare("loss", given.loss),
    services: given.services ?? false,
  };
  if (options.offline + options.mute + options.noRtp > options.phones) {
    throw invalidValue("phones", "There must be as many as offline, mute and no-rtp together.");
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

function parseCount(name: string, value: string | undefined, most: number): number {
  const number = value === undefined ? 0 : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= most)) throw invalidValue(name, `Use a whole number from 0 to ${most}.`);
  return number;
}

function parseShare(name: string, value: string | undefined): number {
  const number = value === undefined ? 0 : /^\d*\.?\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 1)) throw invalidValue(name, "Use a number from 0 to 1.");
  return number;
}

/** The URL as given, if it is an absolute http URL; CallerError otherwise. */
export function requireHttpUrl(name: string, value: unknown): string {
  if (typeof value !== "string" || !URL.canParse(value) || new URL(value).protocol !== "http:") {
    throw invalidValue(name, "Use an absolute http URL.");
  }
  return value;
}

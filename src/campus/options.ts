import { parseArgs } from "node:util";
import { CallerError, invalidValue } from "../base/errors.ts";
import { type Latency, parseLatency } from "./latency.ts";

/** What a campus is made of. */
export interface CampusOptions {
  phones: number;
  zones: number;
  /** Phones that refuse every connection. */
  offline: number;
  /** Phones that accept everything and hear nothing. */
  mute: number;
  /** Phones of a model without RTP URIs. */
  noRtp: number;
  latency: Latency;
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

const MOST_PHONES = 50_000;
const MOST_ZONES = 5000;

/** Reads the command line (without program and script); CallerError names the argument at fault. */
export function readOptions(argv: string[]): CampusOptions | "help" {
  const given = parse(argv);
  if (given.help) return "help";
  const options: CampusOptions = {
    phones: count("phones", given.phones, MOST_PHONES),
    zones: count("zones", given.zones, MOST_ZONES),
    offline: count("offline", given.offline, MOST_PHONES),
    mute: count("mute", given.mute, MOST_PHONES),
    noRtp: count("no-rtp", given["no-rtp"], MOST_PHONES),
    latency: parseLatency(given.latency ?? "fixed:0"),
    seed: count("seed", given.seed, 0x7fff_ffff),
    authUrl: given["auth-url"] === undefined ? null : checkHttpUrl("auth-url", given["auth-url"]),
    loss: share("loss", given.loss),
    services: given.services ?? false,
  };
  if (options.offline + options.mute + options.noRtp > options.phones) {
    throw invalidValue("phones", "There must be as many as offline, mute and no-rtp together.");
  }
  return options;
}

function parse(argv: string[]) {
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

function count(name: string, value: string | undefined, most: number): number {
  const number = value === undefined ? 0 : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= most)) throw invalidValue(name, `Use a whole number from 0 to ${most}.`);
  return number;
}

function share(name: string, value: string | undefined): number {
  const number = value === undefined ? 0 : /^\d*\.?\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 1)) throw invalidValue(name, "Use a number from 0 to 1.");
  return number;
}

/** The URL as given, if it is an absolute http URL; CallerError otherwise. */
export function checkHttpUrl(name: string, value: unknown): string {
  if (typeof value !== "string" || !URL.canParse(value) || new URL(value).protocol !== "http:") {
    throw invalidValue(name, "Use an absolute http URL.");
  }
  return value;
}

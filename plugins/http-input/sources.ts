import { type Machine, namedSecrets } from "#plugin-api";

/** Somebody who may tell something. */
export interface Source extends Machine {
  secret: string;
  inUrl: boolean;
  perMinute: number;
}

/** The sources of a configuration by their names, and what of it can't be used, in words. */
export interface ConfiguredSources {
  sources: ReadonlyMap<string, Source>;
  faults: string[];
}

const LONGEST_NAME = 140;
const SHORTEST_SECRET = 16;
const MOST_PER_MINUTE = 6_000;

/** Reads `sources` and `secrets`; a bad entry is left out and named, the others stay. */
export function readSources(given: unknown, secrets: string | null): ConfiguredSources {
  if (!Array.isArray(given)) return { sources: new Map(), faults: ["sources is not a list"] };
  const secretOf = namedSecrets(secrets);
  const sources = new Map<string, Source>();
  const faults: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = readSource(entry, secretOf);
    if (typeof read === "string") faults.push(`sources[${index}]: ${read}`);
    else if (sources.has(read.source)) faults.push(`sources[${index}]: the name is used twice`);
    else sources.set(read.source, read);
  });
  return { sources, faults };
}

function readSource(entry: unknown, secretOf: ReadonlyMap<string, string>): Source | string {
  const { name, inUrl = false, calls = false, perMinute = 60, ...members } = (entry ?? {}) as Record<string, unknown>;
  const { stateMember, idMember } = members;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > LONGEST_NAME)
    return `the name must be a text of at most ${LONGEST_NAME} characters`;
  if (![stateMember, idMember].every((member) => member === undefined || typeof member === "string"))
    return "stateMember and idMember are texts";
  if (typeof inUrl !== "boolean" || typeof calls !== "boolean") return "inUrl and calls are true or false";
  if (!Number.isInteger(perMinute) || (perMinute as number) < 1 || (perMinute as number) > MOST_PER_MINUTE)
    return `perMinute is a number from 1 to ${MOST_PER_MINUTE}`;
  const secret = secretOf.get(name);
  if (!secret) return `${name} has no secret`;
  if (secret.length < SHORTEST_SECRET) return `the secret of ${name} has less than ${SHORTEST_SECRET} characters`;
  const said = { stateMember, idMember } as Pick<Machine, "stateMember" | "idMember">;
  return { source: name, calls, ...said, secret, inUrl, perMinute: perMinute as number };
}

import { type MachineInputOptions, parseNamedSecrets } from "#plugin-api";

/** Somebody who may tell something. */
export interface HttpInputSource extends MachineInputOptions {
  secret: string;
  inUrl: boolean;
  perMinute: number;
}

/** The sources of a configuration by their names, and what of it can't be used, in words. */
export interface ConfiguredSources {
  sources: ReadonlyMap<string, HttpInputSource>;
  errors: string[];
}

const MAX_NAME_LENGTH = 140;
const MIN_SECRET_LENGTH = 16;
const MAX_PER_MINUTE = 6_000;

/** Reads `sources` and `secrets`; a bad entry is left out and named, the others stay. */
export function parseSources(given: unknown, secrets: string | null): ConfiguredSources {
  if (!Array.isArray(given)) return { sources: new Map(), errors: ["sources is not a list"] };
  const secretOf = parseNamedSecrets(secrets);
  const sources = new Map<string, HttpInputSource>();
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseSource(entry, secretOf);
    if (typeof read === "string") errors.push(`sources[${index}]: ${read}`);
    else if (sources.has(read.source)) errors.push(`sources[${index}]: the name is used twice`);
    else sources.set(read.source, read);
  });
  return { sources, errors };
}

function parseSource(entry: unknown, secretOf: ReadonlyMap<string, string>): HttpInputSource | string {
  const { name, inUrl = false, calls = false, perMinute = 60, ...members } = (entry ?? {}) as Record<string, unknown>;
  const { stateMember, idMember } = members;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > MAX_NAME_LENGTH)
    return `the name must be a text of at most ${MAX_NAME_LENGTH} characters`;
  if (![stateMember, idMember].every((member) => member === undefined || typeof member === "string"))
    return "stateMember and idMember are texts";
  if (typeof inUrl !== "boolean" || typeof calls !== "boolean") return "inUrl and calls are true or false";
  if (!Number.isInteger(perMinute) || (perMinute as number) < 1 || (perMinute as number) > MAX_PER_MINUTE)
    return `perMinute is a number from 1 to ${MAX_PER_MINUTE}`;
  const secret = secretOf.get(name);
  if (!secret) return `${name} has no secret`;
  if (secret.length < MIN_SECRET_LENGTH) return `the secret of ${name} has less than ${MIN_SECRET_LENGTH} characters`;
  const said = { stateMember, idMember } as Pick<MachineInputOptions, "stateMember" | "idMember">;
  return { source: name, calls, ...said, secret, inUrl, perMinute: perMinute as number };
}

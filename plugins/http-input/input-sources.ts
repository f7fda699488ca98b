import { type MachineInputOptions, parseNamedSecrets } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** A configured source. */
export interface HttpInputSource extends MachineInputOptions {
  secret: string;
  inUrl: boolean;
  perMinute: number;
}

/** Valid sources of a configuration by name, and errors as text. */
export interface ConfiguredSources {
  sources: ReadonlyMap<string, HttpInputSource>;
  errors: string[];
}

const MAX_NAME_LENGTH = 140;
const MIN_SECRET_LENGTH = 16;
const MAX_PER_MINUTE = 6_000;

/** Parses `sources` and `secrets`; an invalid entry is reported and skipped. */
export function parseSources(given: unknown, secrets: string | null): ConfiguredSources {
  if (!Array.isArray(given)) return { sources: new Map(), errors: [sentence("sources-list")] };
  const secretOf = parseNamedSecrets(secrets);
  const sources = new Map<string, HttpInputSource>();
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseSource(entry, secretOf);
    if (typeof read === "string") errors.push(`sources[${index}]: ${read}`);
    else if (sources.has(read.source)) errors.push(`sources[${index}]: ${sentence("entry.duplicate")}`);
    else sources.set(read.source, read);
  });
  return { sources, errors };
}

function parseSource(entry: unknown, secretOf: ReadonlyMap<string, string>): HttpInputSource | string {
  const { name, inUrl = false, calls = false, perMinute = 60, ...members } = (entry ?? {}) as Record<string, unknown>;
  const { stateMember, idMember } = members;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > MAX_NAME_LENGTH)
    return sentence("entry.name", { length: MAX_NAME_LENGTH });
  if (![stateMember, idMember].every((member) => member === undefined || typeof member === "string"))
    return sentence("entry.members");
  if (typeof inUrl !== "boolean" || typeof calls !== "boolean") return sentence("entry.switches");
  if (!Number.isInteger(perMinute) || (perMinute as number) < 1 || (perMinute as number) > MAX_PER_MINUTE)
    return sentence("entry.rate", { limit: MAX_PER_MINUTE });
  const secret = secretOf.get(name);
  if (!secret) return sentence("secret-missing", { name });
  if (secret.length < MIN_SECRET_LENGTH) return sentence("secret-short", { name, length: MIN_SECRET_LENGTH });
  const memberNames = { stateMember, idMember } as Pick<MachineInputOptions, "stateMember" | "idMember">;
  return { source: name, calls, ...memberNames, secret, inUrl, perMinute: perMinute as number };
}

import { type HostFilter, parseHosts } from "./host-filter.ts";
import { type Escaping, placeholdersIn } from "./template-placeholders.ts";

/** One request with places. */
export interface TemplateRequest {
  method: string;
  /** Follows the device's `Url`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** How values are escaped in the body. */
  escaping: Escaping;
}

/** What devices of one kind are asked. */
export interface SpeakerTemplate {
  start: TemplateRequest;
  stop: TemplateRequest | null;
  readVolume: TemplateRequest | null;
  setVolume: TemplateRequest | null;
  status: TemplateRequest | null;
  probe: TemplateRequest | null;
  /** Text in the answer to `status` that proves that it plays. */
  playingWhen: string | null;
  /** Member of the answer to `readVolume` that holds the volume; null where the whole answer is it. */
  volumeAt: string | null;
  /** Who may be asked; null for everybody, where no secret is told. */
  hosts: HostFilter | null;
}

/** The templates of a configuration by their names, and what of them can't be used, in words. */
export interface ConfiguredTemplates {
  templates: ReadonlyMap<string, SpeakerTemplate>;
  errors: string[];
}

const STEPS = ["start", "stop", "readVolume", "setVolume", "status", "probe"] as const;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const ESCAPING_BY_TYPE: Readonly<Record<string, Escaping>> = {
  "application/json": "json",
  "application/x-www-form-urlencoded": "form",
  "application/xml": "xml",
  "text/xml": "xml",
  "text/plain": "text",
};
/** Values of a message; those of the device and secrets have names of their own. */
const PLACEHOLDERS = [
  ...["subject", "body", "short", "text", "id", "priority", "drill", "volume", "port", "identifier"],
  ...["duration", "scrollSpeed", "scrollDuration", "scrollRepetitions"],
];
const MAX_REQUEST_LENGTH = 8_000;

/** Reads `templates`; a bad one is left out and named, the others hold. `secrets` are the names that there are. */
export function parseTemplates(given: unknown, secrets: ReadonlySet<string>): ConfiguredTemplates {
  if (!Array.isArray(given)) return { templates: new Map(), errors: ["templates is not a list"] };
  const templates = new Map<string, SpeakerTemplate>();
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const { name } = (entry ?? {}) as Record<string, unknown>;
    try {
      if (typeof name !== "string" || name === "") throw new RangeError("it has no name");
      if (templates.has(name)) throw new RangeError("the name is used twice");
      templates.set(name, parseTemplate(entry as Record<string, unknown>, secrets));
    } catch (error) {
      errors.push(`templates[${index}]: ${(error as Error).message}`);
    }
  });
  return { templates, errors };
}

function parseTemplate(entry: Record<string, unknown>, secrets: ReadonlySet<string>): SpeakerTemplate {
  const requests = Object.fromEntries(
    STEPS.map((step) => [step, entry[step] === undefined ? null : parseRequest(step, entry[step], secrets)]),
  ) as Record<(typeof STEPS)[number], TemplateRequest | null>;
  const { start, ...others } = requests;
  if (!start) throw new RangeError("it has no start");
  if (!others.readVolume !== !others.setVolume) throw new RangeError("readVolume and setVolume belong together");
  const [playingWhen, volumeAt] = [optionalText("playingWhen", entry), optionalText("volumeAt", entry)];
  if (!others.status !== (playingWhen === null)) throw new RangeError("status and playingWhen belong together");
  const hosts = entry.hosts === undefined ? null : parseHosts(entry.hosts);
  if (entry.hosts !== undefined && !hosts) throw new RangeError("hosts is a list of names, addresses and networks");
  // A device names its Url itself: whoever may change devices must not choose who is told the secrets.
  if (!hosts && containsSecrets(Object.values(requests)))
    throw new RangeError("with secrets it needs hosts, who get them");
  return { start, ...others, playingWhen, volumeAt, hosts };
}

function containsSecrets(requests: readonly (TemplateRequest | null)[]): boolean {
  const texts = requests.flatMap((request) =>
    request ? [request.path, request.body ?? "", ...Object.values(request.headers)] : [],
  );
  return texts.flatMap(placeholdersIn).some((name) => name.startsWith("secret."));
}

function parseRequest(step: string, given: unknown, secrets: ReadonlySet<string>): TemplateRequest {
  const {
    method = "POST",
    path,
    headers = {},
    body = null,
    type = "application/json",
  } = (given ?? {}) as Record<string, unknown>;
  const escaping =
    typeof type === "string" && Object.hasOwn(ESCAPING_BY_TYPE, type) ? ESCAPING_BY_TYPE[type] : undefined;
  if (typeof method !== "string" || !METHODS.includes(method))
    throw new RangeError(`${step}: method is one of ${METHODS.join(", ")}`);
  if (typeof path !== "string" || !path.startsWith("/")) throw new RangeError(`${step}: path begins with /`);
  if (!escaping) throw new RangeError(`${step}: type is one of ${Object.keys(ESCAPING_BY_TYPE).join(", ")}`);
  if (body !== null && typeof body !== "string") throw new RangeError(`${step}: body is a text`);
  const lines = Object.entries((headers ?? {}) as Record<string, unknown>);
  for (const [name, value] of lines)
    if (!/^[\w-]+$/.test(name) || typeof value !== "string") throw new RangeError(`${step}: ${name} is no header`);
  const texts = [path, body ?? "", ...lines.map(([, value]) => String(value))];
  if (texts.join("").length > MAX_REQUEST_LENGTH)
    throw new RangeError(`${step}: more than ${MAX_REQUEST_LENGTH} characters`);
  const unknown = texts.flatMap(placeholdersIn).find((name) => !isPlaceholder(name, secrets));
  if (unknown !== undefined) throw new RangeError(`${step}: nothing is called ${unknown}`);
  const typed = body === null ? {} : { "content-type": String(type) };
  return { method, path, headers: { ...typed, ...(headers as Record<string, string>) }, body, escaping };
}

function isPlaceholder(name: string, secrets: ReadonlySet<string>): boolean {
  if (name.startsWith("secret.")) return secrets.has(name.slice("secret.".length));
  return name.startsWith("attribute.") || PLACEHOLDERS.includes(name);
}

function optionalText(name: string, entry: Record<string, unknown>): string | null {
  const value = entry[name] ?? null;
  if (value === null || (typeof value === "string" && value !== "")) return value;
  throw new RangeError(`${name} is a text`);
}

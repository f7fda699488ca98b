import { type HostFilter, parseHosts } from "./host-filter.ts";
import { sentence } from "./sentences.ts";
import { type Escaping, placeholdersIn } from "./template-placeholders.ts";

/** A request with placeholders. */
export interface TemplateRequest {
  method: string;
  /** Appended to the device's `Url`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** Escaping of values in the body. */
  escaping: Escaping;
}

/** Requests of one type of device. */
export interface SpeakerTemplate {
  start: TemplateRequest;
  stop: TemplateRequest | null;
  readVolume: TemplateRequest | null;
  setVolume: TemplateRequest | null;
  status: TemplateRequest | null;
  probe: TemplateRequest | null;
  /** Text in the response to `status` that proves playback. */
  playingWhen: string | null;
  /** Member of the response to `readVolume` that holds the volume; null if the whole response is the volume. */
  volumeAt: string | null;
  /** Allowed hosts; null for any, only without secrets. */
  hosts: HostFilter | null;
}

/** Valid templates of a configuration by name, and errors as text. */
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
/** Message placeholders, besides `attribute.…` and `secret.…`. */
const PLACEHOLDERS = [
  ...["subject", "body", "short", "text", "id", "priority", "drill", "volume", "port", "identifier"],
  ...["duration", "scrollSpeed", "scrollDuration", "scrollRepetitions"],
];
const MAX_REQUEST_LENGTH = 8_000;

/**
 * How desktop notifiers and programs are reached whose device has no `Template`. It has no secrets, since users enter the
 * address.
 */
export const NOTIFIER_TEMPLATE: SpeakerTemplate = {
  start: {
    method: "POST",
    path: "/notifications",
    headers: { "content-type": "application/json" },
    body: '{"id": "{{id}}", "subject": "{{subject}}", "body": "{{body}}", "priority": {{priority}}, "drill": {{drill}}, "durationSeconds": {{duration}}}',
    escaping: "json",
  },
  stop: { method: "DELETE", path: "/notifications/{{id}}", headers: {}, body: null, escaping: "json" },
  probe: { method: "GET", path: "/notifications", headers: {}, body: null, escaping: "json" },
  ...{ readVolume: null, setVolume: null, status: null, playingWhen: null, volumeAt: null, hosts: null },
};

/** Parses `templates`; an invalid entry is reported and skipped. `secrets` are the existing names. */
export function parseTemplates(given: unknown, secrets: ReadonlySet<string>): ConfiguredTemplates {
  if (!Array.isArray(given)) return { templates: new Map(), errors: [sentence("templates-list")] };
  const templates = new Map<string, SpeakerTemplate>();
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const { name } = (entry ?? {}) as Record<string, unknown>;
    try {
      if (typeof name !== "string" || name === "") throw new RangeError("name is missing");
      if (templates.has(name)) throw new RangeError("duplicate name");
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
  if (!start) throw new RangeError("start is missing");
  if (!others.readVolume !== !others.setVolume) throw new RangeError("readVolume and setVolume must be given together");
  const [playingWhen, volumeAt] = [optionalText("playingWhen", entry), optionalText("volumeAt", entry)];
  if (!others.status !== (playingWhen === null)) throw new RangeError("status and playingWhen must be given together");
  const hosts = entry.hosts === undefined ? null : parseHosts(entry.hosts);
  if (entry.hosts !== undefined && !hosts)
    throw new RangeError("hosts must be a list of names, addresses and networks");
  // Permission to edit a device's Url must not allow choosing who receives the secrets.
  if (!hosts && containsSecrets(Object.values(requests)))
    throw new RangeError("hosts must be given if the template contains secrets");
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
    throw new RangeError(`${step}: method must be one of ${METHODS.join(", ")}`);
  if (typeof path !== "string" || !path.startsWith("/")) throw new RangeError(`${step}: path must begin with /`);
  if (!escaping) throw new RangeError(`${step}: type must be one of ${Object.keys(ESCAPING_BY_TYPE).join(", ")}`);
  if (body !== null && typeof body !== "string") throw new RangeError(`${step}: body must be a string`);
  const lines = Object.entries((headers ?? {}) as Record<string, unknown>);
  for (const [name, value] of lines)
    if (!/^[\w-]+$/.test(name) || typeof value !== "string")
      throw new RangeError(`${step}: ${name} must be a valid header with a string value`);
  const texts = [path, body ?? "", ...lines.map(([, value]) => String(value))];
  if (texts.join("").length > MAX_REQUEST_LENGTH)
    throw new RangeError(`${step}: must not exceed ${MAX_REQUEST_LENGTH} characters`);
  const unknown = texts.flatMap(placeholdersIn).find((name) => !isPlaceholder(name, secrets));
  if (unknown !== undefined) throw new RangeError(`${step}: unknown placeholder ${unknown}`);
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
  throw new RangeError(`${name} must be a non-empty string`);
}

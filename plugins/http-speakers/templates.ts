import { placesIn, type Surroundings } from "./fill.ts";
import { type Hosts, readHosts } from "./hosts.ts";

/** One request with places. */
export interface TemplateRequest {
  method: string;
  /** Follows the device's `Url`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** How values are escaped in the body. */
  surroundings: Surroundings;
}

/** What devices of one kind are asked. */
export interface Template {
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
  hosts: Hosts | null;
}

/** The templates of a configuration by their names, and what of them can't be used, in words. */
export interface Templates {
  templates: ReadonlyMap<string, Template>;
  faults: string[];
}

const STEPS = ["start", "stop", "readVolume", "setVolume", "status", "probe"] as const;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const TYPES: Readonly<Record<string, Surroundings>> = {
  "application/json": "json",
  "application/x-www-form-urlencoded": "form",
  "application/xml": "xml",
  "text/xml": "xml",
  "text/plain": "text",
};
/** Values of a message; those of the device and secrets have names of their own. */
const PLACES = [
  ...["subject", "body", "short", "text", "id", "priority", "drill", "volume", "port", "identifier"],
  ...["duration", "scrollSpeed", "scrollDuration", "scrollRepetitions"],
];
const LONGEST = 8_000;

/** Reads `templates`; a bad one is left out and named, the others hold. `secrets` are the names that there are. */
export function readTemplates(given: unknown, secrets: ReadonlySet<string>): Templates {
  if (!Array.isArray(given)) return { templates: new Map(), faults: ["templates is not a list"] };
  const templates = new Map<string, Template>();
  const faults: string[] = [];
  given.forEach((entry: unknown, index) => {
    const { name } = (entry ?? {}) as Record<string, unknown>;
    try {
      if (typeof name !== "string" || name === "") throw new RangeError("it has no name");
      if (templates.has(name)) throw new RangeError("the name is used twice");
      templates.set(name, readTemplate(entry as Record<string, unknown>, secrets));
    } catch (error) {
      faults.push(`templates[${index}]: ${(error as Error).message}`);
    }
  });
  return { templates, faults };
}

function readTemplate(entry: Record<string, unknown>, secrets: ReadonlySet<string>): Template {
  const requests = Object.fromEntries(
    STEPS.map((step) => [step, entry[step] === undefined ? null : readRequest(step, entry[step], secrets)]),
  ) as Record<(typeof STEPS)[number], TemplateRequest | null>;
  const { start, ...others } = requests;
  if (!start) throw new RangeError("it has no start");
  if (!others.readVolume !== !others.setVolume) throw new RangeError("readVolume and setVolume belong together");
  const [playingWhen, volumeAt] = [textOf("playingWhen", entry), textOf("volumeAt", entry)];
  if (!others.status !== (playingWhen === null)) throw new RangeError("status and playingWhen belong together");
  const hosts = entry.hosts === undefined ? null : readHosts(entry.hosts);
  if (entry.hosts !== undefined && !hosts) throw new RangeError("hosts is a list of names, addresses and networks");
  // A device names its Url itself: whoever may change devices must not choose who is told the secrets.
  if (!hosts && tellsSecrets(Object.values(requests)))
    throw new RangeError("with secrets it needs hosts, who get them");
  return { start, ...others, playingWhen, volumeAt, hosts };
}

function tellsSecrets(requests: readonly (TemplateRequest | null)[]): boolean {
  const texts = requests.flatMap((request) =>
    request ? [request.path, request.body ?? "", ...Object.values(request.headers)] : [],
  );
  return texts.flatMap(placesIn).some((name) => name.startsWith("secret."));
}

function readRequest(step: string, given: unknown, secrets: ReadonlySet<string>): TemplateRequest {
  const {
    method = "POST",
    path,
    headers = {},
    body = null,
    type = "application/json",
  } = (given ?? {}) as Record<string, unknown>;
  const surroundings = typeof type === "string" && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (typeof method !== "string" || !METHODS.includes(method))
    throw new RangeError(`${step}: method is one of ${METHODS.join(", ")}`);
  if (typeof path !== "string" || !path.startsWith("/")) throw new RangeError(`${step}: path begins with /`);
  if (!surroundings) throw new RangeError(`${step}: type is one of ${Object.keys(TYPES).join(", ")}`);
  if (body !== null && typeof body !== "string") throw new RangeError(`${step}: body is a text`);
  const lines = Object.entries((headers ?? {}) as Record<string, unknown>);
  for (const [name, value] of lines)
    if (!/^[\w-]+$/.test(name) || typeof value !== "string") throw new RangeError(`${step}: ${name} is no header`);
  const texts = [path, body ?? "", ...lines.map(([, value]) => String(value))];
  if (texts.join("").length > LONGEST) throw new RangeError(`${step}: more than ${LONGEST} characters`);
  const unknown = texts.flatMap(placesIn).find((name) => !isPlace(name, secrets));
  if (unknown !== undefined) throw new RangeError(`${step}: nothing is called ${unknown}`);
  const typed = body === null ? {} : { "content-type": String(type) };
  return { method, path, headers: { ...typed, ...(headers as Record<string, string>) }, body, surroundings };
}

function isPlace(name: string, secrets: ReadonlySet<string>): boolean {
  if (name.startsWith("secret.")) return secrets.has(name.slice("secret.".length));
  return name.startsWith("attribute.") || PLACES.includes(name);
}

function textOf(name: string, entry: Record<string, unknown>): string | null {
  const value = entry[name] ?? null;
  if (value === null || (typeof value === "string" && value !== "")) return value;
  throw new RangeError(`${name} is a text`);
}

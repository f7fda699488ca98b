import { isIPv4 } from "node:net";
import { type DeliveryItem, oneText, type PluginContext } from "#plugin-api";
import { ask, type Driver, type Message, memberIn, Refusal } from "./driver.ts";
import { fill, type Values } from "./fill.ts";
import type { Template, TemplateRequest } from "./templates.ts";

/** What talking to a device by a template needs. */
export interface TemplatedNeeds {
  fetch: PluginContext["fetch"];
  templates: ReadonlyMap<string, Template>;
  secrets: ReadonlyMap<string, string>;
}

/** own choice: what is the volume of a device, its template makes of these numbers. */
const WORDS = { Maximum: "100", Medium: "60", Low: "30" };

/** The driver of a device that a template describes. Throws a Refusal for attributes that lead nowhere. */
export function templatedDriver(device: DeliveryItem["device"], needs: TemplatedNeeds): Driver {
  const { Url: url = "", Template: name = "", RtpPort: port } = device.attributes;
  const template = needs.templates.get(name);
  if (!template) throw new Refusal(`there is no template "${name}" (attribute Template)`, false);
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "") throw new Refusal("it has no attribute Url", false);
  if (template.hosts?.(host) === false)
    throw new Refusal(`${host} is not among the hosts of the template "${name}"`, false);
  if (port !== undefined && !isIPv4(host)) throw new Refusal("with RtpPort its Url must hold an IPv4 address", false);
  const send = (request: TemplateRequest, more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const values = valuesOf(device, needs.secrets, more);
    const headers = Object.entries(request.headers).map(
      ([key, value]) => [key, fill(value, values, "header")] as const,
    );
    const body = request.body === null ? null : fill(request.body, values, request.surroundings);
    return ask(needs.fetch, `${url}${fill(request.path, values, "path")}`, {
      method: request.method,
      headers: Object.fromEntries(headers),
      ...(body === null ? {} : { body }),
    });
  };
  const isHeard = ({ audio }: Message): boolean => port !== undefined && audio !== null;
  const { start, stop, readVolume, setVolume, status, probe, playingWhen, volumeAt } = template;
  return {
    target: port === undefined ? null : { group: host, port: Number(port) },
    start: async (message) => void (await send(start, ofMessage(message, isHeard(message)))),
    stop: stop && (async (message) => void (await send(stop, ofMessage(message, isHeard(message))))),
    volume: readVolume &&
      setVolume && {
        async read() {
          const answer = await send(readVolume);
          const value = volumeAt === null ? answer.trim() : memberIn(answer, volumeAt);
          if (value === null || value === "") throw new Refusal("its volume could not be read", false);
          return value;
        },
        set: async (volume) => void (await send(setVolume, { volume })),
        words: WORDS,
      },
    isPlaying: status && (async () => (await send(status)).includes(playingWhen ?? "")),
    async probe() {
      if (!probe) return { proof: "untested" };
      await send(probe);
      return { proof: "answered" };
    },
  };
}

/** What a message says in its places; `isHeard` where the device plays its sound. 0 says that something is not given. */
function ofMessage(message: Message, isHeard: boolean): Record<string, string> {
  const { text, notificationId, priority, drill, profile } = message;
  const { subject, body, short } = isHeard && !profile.showsText ? { subject: "", body: "", short: "" } : text;
  const { scroll, concatenatedText, durationMs } = profile;
  return {
    ...{ subject, body, short, text: concatenatedText ? onOneLine(subject, body) : oneText({ subject, body }) },
    ...{ id: notificationId, priority: String(priority), drill: String(drill) },
    duration: inSeconds(durationMs),
    ...{ scrollSpeed: String(scroll?.speed ?? 0), scrollDuration: inSeconds(scroll?.durationMs) },
    scrollRepetitions: String(scroll?.repetitions ?? 0),
  };
}

function onOneLine(...parts: string[]): string {
  const lines = parts.map((part) => part.replace(/\s+/g, " ").trim());
  return lines.filter((line) => line !== "").join(" - ");
}

function inSeconds(durationMs: number | null | undefined): string {
  return String((durationMs ?? 0) / 1_000);
}

function valuesOf(
  { attributes, deviceIdentifier }: DeliveryItem["device"],
  secrets: ReadonlyMap<string, string>,
  more: Readonly<Record<string, string>>,
): Values {
  const own = (values: Readonly<Record<string, string>>, name: string): string | null =>
    Object.hasOwn(values, name) ? (values[name] ?? null) : null;
  return (name) => {
    if (name.startsWith("secret.")) return secrets.get(name.slice("secret.".length)) ?? null;
    if (name.startsWith("attribute.")) return own(attributes, name.slice("attribute.".length));
    if (name === "identifier") return deviceIdentifier;
    return name === "port" ? (attributes.RtpPort ?? null) : own(more, name);
  };
}

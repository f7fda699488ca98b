import { isIPv4 } from "node:net";
import { type DeliveryItem, joinSubjectAndBody, type PluginContext } from "#plugin-api";
import { sentence } from "./sentences.ts";
import { DeviceError, jsonValueAt, requestDevice, type SpeakerDriver, type SpeakerMessage } from "./speaker-driver.ts";
import { fillTemplate, type PlaceholderValues } from "./template-placeholders.ts";
import { NOTIFIER_TEMPLATE, type SpeakerTemplate, type TemplateRequest } from "./templates.ts";

export interface TemplateDriverDeps {
  fetch: PluginContext["fetch"];
  templates: ReadonlyMap<string, SpeakerTemplate>;
  secrets: ReadonlyMap<string, string>;
}

/** Volume levels passed to the template as {{volume}}. */
const VOLUME_LEVELS = { Maximum: "100", Medium: "60", Low: "30" };

/** Creates the driver of a device from its template. Throws DeviceError for invalid attributes. */
export function createTemplateDriver(device: DeliveryItem["device"], deps: TemplateDriverDeps): SpeakerDriver {
  const { Url: url = "", Template: name = "", RtpPort: port } = device.attributes;
  const isSpeaker = device.deviceIdentifier.startsWith("http:");
  const template = name === "" && !isSpeaker ? NOTIFIER_TEMPLATE : deps.templates.get(name);
  if (!template) throw new DeviceError(sentence("template-unknown", { name }), false);
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "") throw new DeviceError(sentence("url-invalid"), false);
  if (template.hosts?.(host) === false) throw new DeviceError(sentence("host-not-allowed", { host, name }), false);
  if (port !== undefined && !isIPv4(host))
    throw new DeviceError(sentence("address-needed", { attribute: "RtpPort" }), false);
  const send = (request: TemplateRequest, more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const values = templateValues(device, deps.secrets, more);
    const headers = Object.entries(request.headers).map(
      ([key, value]) => [key, fillTemplate(value, values, "header")] as const,
    );
    const body = request.body === null ? null : fillTemplate(request.body, values, request.escaping);
    return requestDevice(deps.fetch, `${url}${fillTemplate(request.path, values, "path")}`, {
      method: request.method,
      headers: Object.fromEntries(headers),
      ...(body === null ? {} : { body }),
    });
  };
  const isHeard = ({ audio }: SpeakerMessage): boolean => port !== undefined && audio !== null;
  const { start, stop, readVolume, setVolume, status, probe, playingWhen, volumeAt } = template;
  return {
    target: port === undefined ? null : { group: host, port: Number(port) },
    start: async (message) => void (await send(start, messageValues(message, isHeard(message)))),
    stop: stop && (async (message) => void (await send(stop, messageValues(message, isHeard(message))))),
    volume: readVolume &&
      setVolume && {
        async read() {
          const response = await send(readVolume);
          const value = volumeAt === null ? response.trim() : jsonValueAt(response, volumeAt);
          if (value === null || value === "") throw new DeviceError(sentence("volume-unreadable"), false);
          return value;
        },
        set: async (volume) => void (await send(setVolume, { volume })),
        words: VOLUME_LEVELS,
      },
    isPlaying: status && (async () => (await send(status)).includes(playingWhen ?? "")),
    async probe() {
      if (!probe) return { proof: "untested" };
      await send(probe);
      return { proof: "answered" };
    },
  };
}

/** Placeholder values of a message. `isHeard`: the device plays its audio. 0 means not given. */
function messageValues(message: SpeakerMessage, isHeard: boolean): Record<string, string> {
  const { text, notificationId, priority, drill, profile } = message;
  const { subject, body, short } = isHeard && !profile.showsText ? { subject: "", body: "", short: "" } : text;
  const { scroll, concatenatedText, durationMs } = profile;
  return {
    ...{
      subject,
      body,
      short,
      text: concatenatedText ? onOneLine(subject, body) : joinSubjectAndBody({ subject, body }),
    },
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

function templateValues(
  { attributes, deviceIdentifier }: DeliveryItem["device"],
  secrets: ReadonlyMap<string, string>,
  more: Readonly<Record<string, string>>,
): PlaceholderValues {
  const own = (values: Readonly<Record<string, string>>, name: string): string | null =>
    Object.hasOwn(values, name) ? (values[name] ?? null) : null;
  return (name) => {
    if (name.startsWith("secret.")) return secrets.get(name.slice("secret.".length)) ?? null;
    if (name.startsWith("attribute.")) return own(attributes, name.slice("attribute.".length));
    if (name === "identifier") return deviceIdentifier;
    return name === "port" ? (attributes.RtpPort ?? null) : own(more, name);
  };
}

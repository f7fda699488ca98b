import { createHash, createHmac, randomInt } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Clock, DeliveryItem, PluginContext } from "#plugin-api";
import { sentence } from "./sentences.ts";
import { DeviceError, jsonValueAt, requestDevice, type SpeakerDriver } from "./speaker-driver.ts";

export interface AlgoDriverDeps {
  clock: Clock;
  fetch: PluginContext["fetch"];
  password: string;
}

/** @source Algo RESTful API Guide, settings */
const VOLUME_SETTING = "audio.page.vol";
const CONTENT_TYPE = "application/json";

/**
 * Creates the driver of an Algo endpoint. With `RxPort` it receives a stream there, else it plays its tone `Tone`.
 * Throws DeviceError for invalid attributes.
 */
export function createAlgoDriver(
  { attributes }: Pick<DeliveryItem["device"], "attributes">,
  deps: AlgoDriverDeps,
): SpeakerDriver {
  const { Url: url = "", RxPort: port, Tone: tone = "chime.wav" } = attributes;
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "") throw new DeviceError(sentence("url-invalid"), false);
  if (port !== undefined && !isIPv4(host))
    throw new DeviceError(sentence("address-needed", { attribute: "RxPort" }), false);
  const call = (method: string, uri: string, given?: object): Promise<string> => {
    const body = given === undefined ? null : JSON.stringify(given);
    const headers = signedAlgoHeaders(method, uri, body, { ...deps, nonce: String(randomInt(1, 2 ** 31)) });
    return requestDevice(deps.fetch, `${url}${uri}`, { method, headers, ...(body === null ? {} : { body }) });
  };
  const start: [string, object] = port ? ["rx", { port }] : ["tone", { path: tone, loop: false }];
  return {
    target: port === undefined ? null : { group: host, port: Number(port) },
    start: async () => void (await call("POST", `/api/controls/${start[0]}/start`, start[1])),
    stop: async () => void (await call("POST", `/api/controls/${start[0]}/stop`, port ? undefined : { path: tone })),
    volume: {
      async read() {
        const value = jsonValueAt(await call("GET", `/api/settings/${VOLUME_SETTING}`), VOLUME_SETTING);
        if (value === null) throw new DeviceError(sentence("volume-unreadable"), false);
        return value;
      },
      set: async (value) => void (await call("PUT", "/api/settings", { [VOLUME_SETTING]: value })),
      words: { Maximum: "0dB", Medium: "-12dB", Low: "-24dB" },
    },
    isPlaying: null,
    async probe() {
      await call("GET", "/api/info/about");
      return { proof: "answered" };
    },
  };
}

/** Headers of a signed request. @source Algo RESTful API Guide, Standard authentication */
export function signedAlgoHeaders(
  method: string,
  uri: string,
  body: string | null,
  { clock, password, nonce }: { clock: Pick<Clock, "now">; password: string; nonce: string },
): Record<string, string> {
  const now = clock.now();
  const digest = body === null ? null : createHash("md5").update(body).digest("hex");
  const signed = [method, uri, ...(digest === null ? [] : [digest, CONTENT_TYPE]), Math.floor(now / 1_000), nonce].join(
    ":",
  );
  const hmac = createHmac("sha256", password).update(signed).digest("hex");
  return {
    Authorization: `hmac admin:${nonce}:${hmac}`,
    Date: new Date(now).toUTCString(),
    ...(digest === null ? {} : { "Content-Type": CONTENT_TYPE, "Content-Md5": digest }),
  };
}

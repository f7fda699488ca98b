import { createHash, createHmac, randomInt } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Clock, DeliveryItem, PluginContext } from "#plugin-api";
import { ask, type Driver, memberIn, Refusal } from "./driver.ts";

/** What talking to an Algo device needs. */
export interface AlgoNeeds {
  clock: Clock;
  fetch: PluginContext["fetch"];
  password: string;
}

/** @source README.md, Algo */
const VOLUME = "audio.page.vol";
const TYPE = "application/json";

/**
 * The driver of an Algo endpoint. With `RxPort` it is told to take a stream there, else to play its tone `Tone`. Throws a
 * Refusal for attributes that lead nowhere.
 */
export function algoDriver({ attributes }: Pick<DeliveryItem["device"], "attributes">, needs: AlgoNeeds): Driver {
  const { Url: url = "", RxPort: port, Tone: tone = "chime.wav" } = attributes;
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "") throw new Refusal("it has no attribute Url", false);
  if (port !== undefined && !isIPv4(host)) throw new Refusal("with RxPort its Url must hold an IPv4 address", false);
  const call = (method: string, uri: string, given?: object): Promise<string> => {
    const body = given === undefined ? null : JSON.stringify(given);
    const headers = algoHeaders(method, uri, body, { ...needs, nonce: String(randomInt(1, 2 ** 31)) });
    return ask(needs.fetch, `${url}${uri}`, { method, headers, ...(body === null ? {} : { body }) });
  };
  const start: [string, object] = port ? ["rx", { port }] : ["tone", { path: tone, loop: false }];
  return {
    target: port === undefined ? null : { group: host, port: Number(port) },
    start: async () => void (await call("POST", `/api/controls/${start[0]}/start`, start[1])),
    stop: async () => void (await call("POST", `/api/controls/${start[0]}/stop`, port ? undefined : { path: tone })),
    volume: {
      async read() {
        const value = memberIn(await call("GET", `/api/settings/${VOLUME}`), VOLUME);
        if (value === null) throw new Refusal("its volume could not be read", false);
        return value;
      },
      set: async (value) => void (await call("PUT", "/api/settings", { [VOLUME]: value })),
      words: { Maximum: "0dB", Medium: "-12dB", Low: "-24dB" },
    },
    isPlaying: null,
    async probe() {
      await call("GET", "/api/info/about");
      return { proof: "answered" };
    },
  };
}

/** The headers that sign a request. @source Algo RESTful API Guide, Standard authentication */
export function algoHeaders(
  method: string,
  uri: string,
  body: string | null,
  { clock, password, nonce }: { clock: Pick<Clock, "now">; password: string; nonce: string },
): Record<string, string> {
  const now = clock.now();
  const digest = body === null ? null : createHash("md5").update(body).digest("hex");
  const signed = [method, uri, ...(digest === null ? [] : [digest, TYPE]), Math.floor(now / 1_000), nonce].join(":");
  const hmac = createHmac("sha256", password).update(signed).digest("hex");
  return {
    Authorization: `hmac admin:${nonce}:${hmac}`,
    Date: new Date(now).toUTCString(),
    ...(digest === null ? {} : { "Content-Type": TYPE, "Content-Md5": digest }),
  };
}

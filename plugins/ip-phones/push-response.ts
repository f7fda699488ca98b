import type { PhoneHttpResponse } from "./http-response.ts";
import { unescapeXml } from "./xml.ts";

/** How one pushed item went: status 0 done, 1 busy, 6 and others refused; `data` is the phone's own word. */
export interface ItemResponse {
  url: string;
  status: number;
  data: string;
}

/** What a phone said to a push. */
export type PushResponse =
  | { kind: "items"; items: ItemResponse[] }
  /** The push as a whole was refused, with a number of `ERRORS`. */
  | { kind: "error"; number: number }
  /** Taken without a word on what became of it, as some firmware does. */
  | { kind: "silent" }
  /** No word about the push: another status than 200, or a document nobody knows. */
  | { kind: "unknown"; status: number };

/** The numbers of whole-push errors. @source IP Phone Services Application Development Notes, CiscoIPPhoneError */
export const PUSH_ERRORS = { parseOrBusy: 1, framing: 2, internal: 3, authentication: 4 } as const;

const RESPONSE_ITEM = /<ResponseItem\b([^>]*?)\/?>/gi;
const ATTRIBUTE = /([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** Reads the answer to a push; items come in the order in which they ended. */
export function parsePushResponse(answer: PhoneHttpResponse): PushResponse {
  const { status, body } = answer;
  if (status !== 200) return { kind: "unknown", status };
  if (body.trim() === "") return { kind: "silent" };
  const error = /<CiscoIPPhoneError\b[^>]*?\bNumber\s*=\s*["'](\d{1,4})["']/i.exec(body)?.[1];
  if (error !== undefined) return { kind: "error", number: Number(error) };
  if (!/<CiscoIPPhoneResponse\b/i.test(body)) return { kind: "unknown", status };
  return {
    kind: "items",
    items: [...body.matchAll(RESPONSE_ITEM)].map(([, attributes]) => parseItem(attributes ?? "")),
  };
}

function parseItem(attributes: string): ItemResponse {
  const item = { url: "", status: Number.NaN, data: "" };
  for (const [, name, double, single] of attributes.matchAll(ATTRIBUTE)) {
    const value = unescapeXml(double ?? single ?? "");
    if (name === "URL") item.url = value;
    else if (name === "Status") item.status = /^-?\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
    else if (name === "Data") item.data = value;
  }
  return item;
}

/** The answer to the item with this URL. Phones may spell it in their own way, so its scheme is enough. */
export function responseForUrl(items: readonly ItemResponse[], url: string): ItemResponse | null {
  const scheme = `${url.split(":", 1)[0]}:`.toLowerCase();
  return (
    items.find((item) => item.url === url) ?? items.find((item) => item.url.toLowerCase().startsWith(scheme)) ?? null
  );
}

import type { PhoneHttpResponse } from "./http-response.ts";
import { unescapeXml } from "./xml.ts";

/** Result of one item: status 0 success, 1 busy, 6 and others refused; `data` is the phone's text. */
export interface ItemResponse {
  url: string;
  status: number;
  data: string;
}

/** Parsed response to a push. */
export type PushResponse =
  | { kind: "items"; items: ItemResponse[] }
  /** The whole push was refused, with a number of `PUSH_ERRORS`. */
  | { kind: "error"; number: number }
  /** Accepted without a result, as some firmware does. */
  | { kind: "silent" }
  /** Another status than 200, or an unknown document. */
  | { kind: "unknown"; status: number };

/** Error numbers of a whole push. @source IP Phone Services Application Development Notes, CiscoIPPhoneError */
export const PUSH_ERRORS = { parseOrBusy: 1, framing: 2, internal: 3, authentication: 4 } as const;

const RESPONSE_ITEM = /<ResponseItem\b([^>]*?)\/?>/gi;
const ATTRIBUTE = /([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** Parses the response to a push; items are in order of completion. */
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

/** Result of the item with this URL. Phones may change its spelling, so the scheme suffices. */
export function responseForUrl(items: readonly ItemResponse[], url: string): ItemResponse | null {
  const scheme = `${url.split(":", 1)[0]}:`.toLowerCase();
  return (
    items.find((item) => item.url === url) ?? items.find((item) => item.url.toLowerCase().startsWith(scheme)) ?? null
  );
}

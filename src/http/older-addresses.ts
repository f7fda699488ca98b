import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../lib/http-response.ts";
import { isUuid } from "../lib/ids.ts";
import { splitTarget } from "./incoming-request.ts";
import { ON_PREMISES_FAMILIES } from "./on-premises-paths.ts";
import { MAX_PAGE_ROWS } from "./query/list-query.ts";

/** An address as programs for older on-premises servers write it. */
export interface OlderAddress {
  /** Path as requested, without a trailing slash. */
  path: string;
  /** Product word of the path, which also begins the name of an attribute of devices. */
  product: string;
  /** True if rows have `index` and `link`, and pages are named by URLs. */
  hasOlderRows: boolean;
}

/**
 * Paths of on-premises servers: `/Product/RESTServices/V1/Devices`, `/api/v1/Product/V1/RecipientGroups` and
 * `/api/onprem/v1/RecipientGroups`. The product word may be any.
 */
const OLDER_PATTERN = /^\/(?:api\/)?(?:v1\/)?([A-Za-z][\w-]{0,60})\/(?:(RESTServices)\/)?(V1|v1)\/([^/].*)$/;
/** Prefix of the paths below which all of them are served. */
const ON_PREMISES = "onprem/v1";
const MAX_NAME_SEGMENTS = 3;

/** Paths below `/api/` by their names without hyphens, in lower case. */
const PATHS: ReadonlyMap<string, string> = new Map([
  ...ON_PREMISES_FAMILIES.map(({ name }): [string, string] => [plainName(name), `${ON_PREMISES}/${name}`]),
  ["devices", `${ON_PREMISES}/devices`],
  ["ipspeakers", `${ON_PREMISES}/ip-speakers`],
  ["ipspeakers/statistics", `${ON_PREMISES}/ip-speakers/statistics`],
  ["messages/formdata", `${ON_PREMISES}/messages`],
  ["admin/ttslexicon", `${ON_PREMISES}/admin/tts/lexicon`],
  ["admin/ttsvoices", `${ON_PREMISES}/admin/tts/voices`],
  ["admin/dialcast/dialingconfigurations", "v1/dialcast-dialing-configurations"],
]);

/** Families below `/api/v1/` by the names that other programs use. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["cucm-clusters", "callmgr-clusters"],
  ["facilities", "domains"],
  ["idps", "identity-providers"],
]);
const DOMAIN_HEADER = "x-service-domain";
const OTHER_DOMAIN_HEADER = /^x-[a-z]+-(?:domain|facility)$/;

/**
 * Replaces the words of other programs in a request by those of this interface: the acting domain, in a header with a product
 * word or as a facility, and names of families. Returns the older address, null if there is none.
 * @source docs/decisions/0622-product-words-of-other-programs.md
 */
export function translateRequest(request: Pick<IncomingMessage, "url" | "headers">): OlderAddress | null {
  const { headers } = request;
  const [other] = headers[DOMAIN_HEADER] === undefined ? Object.keys(headers).filter(isDomainHeader(headers)) : [];
  if (other !== undefined) headers[DOMAIN_HEADER] = headers[other];
  const older = readOlderAddress(request.url ?? "/");
  request.url = withCurrentNames(older?.url ?? request.url ?? "/");
  return older?.address ?? null;
}

/** Proxies have such headers for host names; the id of a domain is a UUID. */
function isDomainHeader(headers: IncomingMessage["headers"]): (name: string) => boolean {
  return (name) => OTHER_DOMAIN_HEADER.test(name) && isUuid(headers[name]);
}

function withCurrentNames(url: string): string {
  const [, name = ""] = /^\/api\/v1\/([a-z-]+)(?=[/?]|$)/.exec(url) ?? [];
  const current = OTHER_NAMES.get(name);
  const named = current === undefined ? url : `/api/v1/${current}${url.slice(`/api/v1/${name}`.length)}`;
  return named.startsWith("/api/") ? named.replace(/([?&])facility=(?=[^&]*(?:&|$))/, "$1domain=") : named;
}

/**
 * The current URL of an older address, null for other paths. `maxCount` and `startIndex` become `limit` and `skip`.
 * @source docs/decisions/0509-older-on-premises-addresses.md
 */
function readOlderAddress(url: string): { url: string; address: OlderAddress } | null {
  const { path, search } = splitTarget(url);
  const [, product, services, version, rest = ""] = OLDER_PATTERN.exec(path) ?? [];
  if (product === undefined) return null;
  const isCurrent = product === "onprem" && services === undefined && version === "v1";
  if (isCurrent && !/[A-Z]/.test(rest)) return null;
  // Other paths with a version in lower case are not of an on-premises server.
  if (!isCurrent && version === "v1") return null;
  const current = currentPath(rest.replace(/\/$/, ""));
  if (current === null && services === undefined) return null;
  const hasOlderRows = services !== undefined;
  const query = search === "" ? "" : `?${currentQuery(search)}`;
  return {
    url: `/api/${current ?? `${ON_PREMISES}/${rest}`}${query}`,
    address: { path: path.replace(/\/$/, ""), product, hasOlderRows },
  };
}

/** Path below `/api/`; null if no name is known. */
function currentPath(rest: string): string | null {
  const segments = rest.split("/");
  for (let length = Math.min(MAX_NAME_SEGMENTS, segments.length); length > 0; length -= 1) {
    const path = PATHS.get(plainName(segments.slice(0, length).join("/")));
    if (path !== undefined) return [path, ...segments.slice(length).map(currentSegment)].join("/");
  }
  return null;
}

/** A name in kebab-case; ids stay as they are. */
function currentSegment(segment: string): string {
  if (!/^[A-Za-z]+$/.test(segment)) return segment;
  return segment.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
}

function plainName(name: string): string {
  return name.replaceAll("-", "").toLowerCase();
}

function currentQuery(search: string): string {
  return search
    .replace(/(^|&)maxCount=(\d{1,15})(?=&|$)/, (_all, before: string, count: string) => {
      return `${before}limit=${Math.min(Number(count), MAX_PAGE_ROWS)}`;
    })
    .replace(/(^|&)startIndex=/, "$1skip=")
    .replace(/(^|&)(include[A-Z]\w*)=(?:yes|1)(?=&|$)/g, "$1$2=true");
}

interface OlderResponseContext {
  address: OlderAddress;
  /** Scheme and host of the request. */
  origin: string;
  /** Query of the current URL, without a question mark. */
  search: string;
}

/**
 * A JSON response as older programs read it: `next` and `previous` are URLs, each row has an `index` and a
 * `link`, and the attribute ServiceDeviceType also has the product word of the address.
 */
export function inOlderForm(response: HttpResponse, context: OlderResponseContext): HttpResponse {
  const { type = "application/json", body } = response;
  if (type !== "application/json" || typeof body !== "string" || !body.startsWith("{")) return response;
  const { address, origin, search } = context;
  const value = JSON.parse(body) as OlderBody;
  if (!Array.isArray(value.data)) return { ...response, body: JSON.stringify(withProductWord(value, address)) };
  const query = new URLSearchParams(search);
  const at = `${origin}${address.path}`;
  const pageUrl = (start: unknown): unknown => {
    if (typeof start !== "string" || start.startsWith("http")) return start ?? null;
    const of = new URLSearchParams(query);
    of.delete("skip");
    of.set("start", start);
    return `${at}?${of}`;
  };
  const first = Number(query.get("skip") ?? 0);
  const data = value.data.map((row, position) =>
    withProductWord({ index: first + position, ...row, link: row.link ?? `${at}/${row.id}` }, address),
  );
  const [previous, next] = [pageUrl(value.previous), pageUrl(value.next)];
  return { ...response, body: JSON.stringify({ ...value, previous, next, data }) };
}

interface OlderBody {
  data?: ({ id?: string; link?: string } & object)[];
  previous?: unknown;
  next?: unknown;
}

function withProductWord<T extends object>(row: T, { product }: OlderAddress): T {
  const { attributes } = row as { attributes?: Readonly<Record<string, string>> };
  const type = attributes?.ServiceDeviceType;
  if (attributes === undefined || type === undefined) return row;
  return { ...row, attributes: { ...attributes, [`${product}DeviceType`]: type } };
}

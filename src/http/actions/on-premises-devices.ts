import { isDeviceRegistered } from "../../devices/device-hooks.ts";
import { forbidden, notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { DEVICE_STATES } from "../../resources/devices/device-states.ts";
import { DEVICE_TYPES } from "../../resources/devices/device-types.ts";
import devices from "../../resources/devices/devices.ts";
import { boolean, computed, type Field, integer, json, option, text, timestamp, uuid } from "../../schema/field.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { FieldFilter, Page } from "../../store/store.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { limitOf, MAX_PAGE_ROWS } from "../query/list-query.ts";
import { integerParameter } from "../query/query.ts";

const DEFAULT_LIMIT = 100;
const MAX_SKIPPED_ROWS = 1_000_000;
const ACTIVE_ONLY: FieldFilter = { field: "defunct", op: "eq", value: false };
const SPEAKERS_ONLY: FieldFilter = { field: "type", op: "eq", value: "speakers" };
/** Attributes that programs read without asking whether a device has them. */
const USUAL_ATTRIBUTES = ["Name", "Description", "MACAddress", "IPAddress", "Volume", "IsRegistered"] as const;
const REGISTRATION = ["true", "false", "unknown"] as const;
const STATUS = { true: "Registered", false: "Not registered", unknown: "Unknown" } as const;

const QUERY = {
  limit: integer("Maximum number of rows per page, 100 by default.", { min: 1, max: MAX_PAGE_ROWS }),
  skip: integer("Rows before the page.", { min: 0, max: MAX_SKIPPED_ROWS }),
};

const INDEX = integer("Position in the list, from 0.", { required: true });
const LINK = text("URL of the row.", { required: true });
const IDENTITY = {
  id: uuid("Id of the device.", { required: true }),
  name: text("Attribute Name, or the identifier of the device.", { required: true }),
  description: text("Description.", { required: true }),
};
const REGISTERED = option("Registration as reported; unknown for devices that report none.", REGISTRATION, {
  required: true,
});

const DEVICE = {
  ...IDENTITY,
  type: option("Device type.", DEVICE_TYPES, { required: true }),
  isRegistered: REGISTERED,
  isDesktopNotifier: option("true for desktop notifiers.", ["true", "false"], { required: true }),
  link: LINK,
  attributes: json("Properties by name, with includeAttributes; all values are strings."),
};

const SPEAKER = {
  ...IDENTITY,
  ip: text("Network address; empty if it is not known.", { required: true }),
  mac: text("MAC address; empty if it is not known.", { required: true }),
  volume: text("Volume; empty if it is not known.", { required: true }),
  isRegistered: REGISTERED,
  isDesktopNotifier: option("true for desktop notifiers.", ["true", "false"], { required: true }),
  link: LINK,
};

const SPEAKER_STATUS = {
  ...IDENTITY,
  ip: SPEAKER.ip,
  mac: SPEAKER.mac,
  status: option("Registration.", Object.values(STATUS) as [string, ...string[]], { required: true }),
  state: option("State according to the last delivery; null if nothing has been sent.", DEVICE_STATES),
  failures: integer("Consecutive deliveries without a response.", { required: true }),
  lastSeenAt: timestamp("When the speaker last responded to a delivery."),
  link: LINK,
};

/** Members of a page of such rows. */
function pageOf(row: Readonly<Record<string, Field>>) {
  return {
    total: integer("Number of rows.", { required: true }),
    previous: text("URL of the previous page; null on the first one."),
    next: text("URL of the next page; null on the last one."),
    data: computed("The rows.", "array", { of: { index: INDEX, ...row } }),
  };
}

/**
 * Devices as monitoring programs of on-premises servers read them: pages are named by URLs, values are strings.
 * @source docs/decisions/0509-older-on-premises-addresses.md
 */
export const onPremisesDeviceActions: readonly Action[] = [
  {
    method: "get",
    at: "onprem/v1/devices",
    outsideVersion: true,
    doc: "Lists devices for monitoring programs. Requires the permission to read devices.",
    query: { ...QUERY, includeAttributes: boolean("Adds the attributes.") },
    response: { kind: "members", fields: pageOf(DEVICE) },
    permission: "anyone",
    async handle(request) {
      assertMayRead(request);
      const withAttributes = wantsAttributes(request);
      return respondWithPage(request, "devices", [ACTIVE_ONLY], (row, link) => deviceOf(row, link, withAttributes));
    },
  },
  {
    method: "get",
    at: "onprem/v1/devices/{deviceId}",
    outsideVersion: true,
    doc: "Returns a device for monitoring programs, with its attributes.",
    response: { kind: "members", fields: DEVICE },
    permission: "anyone",
    async handle(request) {
      assertMayRead(request);
      const row = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      return jsonResponse(deviceOf(row, linkTo(request, "devices", row), true));
    },
  },
  {
    method: "get",
    at: "onprem/v1/ip-speakers",
    outsideVersion: true,
    doc: "Lists speakers for monitoring programs. Requires the permission to read devices.",
    query: QUERY,
    response: { kind: "members", fields: pageOf(SPEAKER) },
    permission: "anyone",
    async handle(request) {
      assertMayRead(request);
      return respondWithPage(request, "ip-speakers", [ACTIVE_ONLY, SPEAKERS_ONLY], speakerOf);
    },
  },
  {
    method: "get",
    at: "onprem/v1/ip-speakers/statistics",
    outsideVersion: true,
    doc: "Counts the registered speakers and lists the state of each, for monitoring programs.",
    query: QUERY,
    response: {
      kind: "members",
      fields: {
        ...pageOf(SPEAKER_STATUS),
        registered: integer("Number of registered speakers.", { required: true }),
        notRegistered: integer("Number of speakers that are not registered.", { required: true }),
        unknown: integer("Number of speakers that report no registration.", { required: true }),
      },
    },
    permission: "anyone",
    async handle(request) {
      assertMayRead(request);
      const counts = { registered: 0, notRegistered: 0, unknown: 0 };
      const { skip, limit } = placeIn(request);
      const shown: Device[] = [];
      const total = await eachSpeaker(request, (row, position) => {
        const registration = registrationOf(row);
        counts[registration === "true" ? "registered" : registration === "false" ? "notRegistered" : "unknown"] += 1;
        if (position >= skip && position < skip + limit) shown.push(row);
      });
      const path = "ip-speakers/statistics";
      const data = shown.map((row, at) => ({
        index: skip + at,
        ...statusOf(row, linkTo(request, "ip-speakers", row)),
      }));
      return jsonResponse({ total, ...counts, ...pageUrls(request, path, { skip, limit, total }), data });
    },
  },
  {
    method: "get",
    at: "onprem/v1/ip-speakers/{deviceId}",
    outsideVersion: true,
    doc: "Returns a speaker for monitoring programs.",
    response: { kind: "members", fields: SPEAKER },
    permission: "anyone",
    async handle(request) {
      assertMayRead(request);
      const row = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      if (row.type !== "speakers") throw notFound();
      return jsonResponse(speakerOf(row, linkTo(request, "ip-speakers", row)));
    },
  },
];

type Device = RowOf<typeof devices>;

interface Place {
  skip: number;
  limit: number;
}

function assertMayRead({ by }: ApiRequest): void {
  if (!by.scope.allows("get", "/devices")) throw forbidden();
}

function placeIn({ query }: ApiRequest): Place {
  return { skip: integerParameter(query, "skip", 0, MAX_SKIPPED_ROWS) ?? 0, limit: limitOf(query) ?? DEFAULT_LIMIT };
}

async function respondWithPage(
  request: ApiRequest,
  path: string,
  filters: readonly FieldFilter[],
  show: (row: Device, link: string) => object,
): Promise<HttpResponse> {
  const { skip, limit } = placeIn(request);
  const page = await request.deps.store.pageInChunks(devices, {
    filters,
    skip,
    limit,
    includeTotal: true,
    scope: request.by.scope,
  });
  const data = page.rows.map((row, at) => ({ index: skip + at, ...show(row, linkTo(request, path, row)) }));
  const total = page.total ?? 0;
  return jsonResponse({ total, ...pageUrls(request, path, { skip, limit, total }), data });
}

/** Calls `visit` for each speaker in the order of the list; returns their number. */
async function eachSpeaker(request: ApiRequest, visit: (row: Device, position: number) => void): Promise<number> {
  const query = {
    filters: [ACTIVE_ONLY, SPEAKERS_ONLY],
    limit: MAX_PAGE_ROWS,
    includeTotal: false,
    scope: request.by.scope,
  };
  let position = 0;
  let next: string | null = null;
  do {
    const page: Page<typeof devices> = await request.deps.store.pageInChunks(
      devices,
      next === null ? query : { ...query, start: next },
    );
    for (const row of page.rows) {
      visit(row, position);
      position += 1;
    }
    next = page.next;
  } while (next !== null);
  return position;
}

/** Pages are found by their position: such programs request them within a second. */
function pageUrls(request: ApiRequest, path: string, { skip, limit, total }: Place & { total: number }) {
  const urlAt = (from: number): string => {
    const query = new URLSearchParams({ skip: String(from), limit: String(limit) });
    if (wantsAttributes(request)) query.set("includeAttributes", "true");
    return `${baseOf(request)}/${path}?${query}`;
  };
  return {
    previous: skip > 0 ? urlAt(Math.max(0, skip - limit)) : null,
    next: skip + limit < total ? urlAt(skip + limit) : null,
  };
}

/** The address by which the program reached the appliance: another one may not be reachable for it. */
function baseOf({ header, secure }: ApiRequest): string {
  return `${secure ? "https" : "http"}://${header("host") ?? "localhost"}/api/onprem/v1`;
}

function linkTo(request: ApiRequest, path: string, { id }: Device): string {
  return `${baseOf(request)}/${path}/${id}`;
}

function wantsAttributes({ query }: ApiRequest): boolean {
  return query.includeAttributes === true;
}

function deviceOf(row: Device, link: string, withAttributes: boolean) {
  const attributes = attributesOf(row);
  return {
    ...identityOf(row, attributes),
    type: row.type,
    ...registered(row, attributes),
    link,
    ...(withAttributes ? { attributes: completeAttributes(row, attributes) } : {}),
  };
}

function speakerOf(row: Device, link: string) {
  const attributes = attributesOf(row);
  const volume = attributes.Volume ?? "";
  return { ...identityOf(row, attributes), ...addressesOf(attributes), volume, ...registered(row, attributes), link };
}

function statusOf(row: Device, link: string) {
  const attributes = attributesOf(row);
  const { state, failures, lastSeenAt } = row;
  return {
    ...identityOf(row, attributes),
    ...addressesOf(attributes),
    status: STATUS[registrationOf(row)],
    state,
    failures: failures ?? 0,
    lastSeenAt: lastSeenAt === null ? null : new Date(lastSeenAt).toISOString(),
    link,
  };
}

function attributesOf({ attributes }: Device): Readonly<Record<string, string>> {
  return attributes as Readonly<Record<string, string>>;
}

function identityOf({ id, deviceIdentifier, description }: Device, { Name }: Readonly<Record<string, string>>) {
  return { id, name: Name ?? deviceIdentifier, description };
}

function addressesOf({ IPAddress = "", MACAddress = "" }: Readonly<Record<string, string>>) {
  return { ip: IPAddress, mac: MACAddress };
}

function registered(row: Device, { IsDesktopNotifier }: Readonly<Record<string, string>>) {
  const isDesktopNotifier = IsDesktopNotifier?.toLowerCase() === "true" || row.type === "idns";
  return { isRegistered: registrationOf(row), isDesktopNotifier: String(isDesktopNotifier) };
}

/** Programs select a column of each attribute, which must be there for every device. */
function completeAttributes(row: Device, attributes: Readonly<Record<string, string>>) {
  const usual = Object.fromEntries(USUAL_ATTRIBUTES.map((name) => [name, ""]));
  const { name: Name, description: Description } = identityOf(row, attributes);
  return { ServiceDeviceType: row.type, ...usual, Name, Description, IsRegistered: registrationOf(row), ...attributes };
}

function registrationOf({ attributes }: Device): (typeof REGISTRATION)[number] {
  const isRegistered = isDeviceRegistered(attributes);
  return isRegistered === null ? "unknown" : isRegistered ? "true" : "false";
}

import type { ReferenceField } from "./reference.ts";

/** Valid values for fields whose documentation leaves them open, by field or by path and field. @source docs/decisions/0042-api-contract.md */
const VALUES: Readonly<Record<string, unknown>> = {
  options: ["Yes", "No"],
  optionLabel: "Yes",
  initiateTrackingOptions: [true, false],
  logicalExpression: "1",
  filters: [{ attribute: "Name", comparison: "BEGINS_WITH", value: "A", complement: false, caseSensitive: false }],
  additionIds: ["SEP00C0F0000001"],
  exclusionIds: ["SEP00C0F0000002"],
  "geometryValue[geometry][coordinates]": [13.4, 52.5],
  "geometryValue[properties][radiusInM]": 250,
  "campaign[enrollmentEndDate]": "2099-01-01T00:00:00.000Z",
  subscriptionEndDate: "2099-01-01T00:00:00.000Z",
  numWeeks: 2,
  startDate: "2031-09-01",
  endDate: "2031-12-19",
  bellScheduleEntries: [],
  bellScheduleExceptions: [],
  primaryColor: "#336699",
  secondaryColor: "#ffffff",
  customUrl: "https://help.example.org/",
  snmpVersion: "2",
  snmpCommunity: "public",
  axlAddress: "192.0.2.10",
  cmAddress: "192.0.2.10,192.0.2.11",
  nextAuthenticationUrl: "http://192.0.2.12/authenticate",
  capfAddress: "192.0.2.13",
  tftpAddress: "192.0.2.14",
  verb: "get",
  spec: "/users/*",
  failureCode: "push-failed",
  alertTone: "chime",
  ttsType: "none",
  perUserThrottlingInSecs: 60,
  config: {},
  attributes: { Name: "Room 1" },
  alarmThresholds: [],
  value: { note: "conformance" },
  deviceGroup: { filterType: "ACCEPT" },
  types: ["phones"],
  icopIds: ["SEP00C0F0000001"],
  boundingBox: "13,52,14,53",
  "/users/{userId}/devices deviceIdentifier": "+12025550100",
  "/users/{userId}/devices type": "SMS",
  "/devices attributes": { Name: "Room 1" },
  "/devices name": "Room",
  "/extensions deviceType": "conformance",
  "/extensions/{extensionId}/endpoints/{endpointId}/activities type": "device-sync",
  referenceId: "0190b7c2-7f3a-7000-8000-000000000000",
};

/** Fields that conflict with another field of the same body: left out of full bodies. */
export const OMITTED_FIELDS: ReadonlySet<string> = new Set([
  // SNMP version 2 needs the community only.
  ...["snmpUsername", "snmpAuthPassword", "snmpEncryptPassword"].map((name) => `/callmgr-clusters ${name}`),
  // A reply applies either to every answer, or to the first one and the rest.
  "/confirmation-requests/{confirmationRequestId}/dynamic-replies every",
  // Must refer to existing sites, buildings, floors and zones.
  "/distribution-lists campaign[subscribeTag]",
]);

/**
 * Fields whose options are checked by filtering lists instead of sending them: commands that would restart or upgrade a
 * server, and device types that require an installed plugin.
 */
export const NEVER_SENT_FIELDS: ReadonlySet<string> = new Set([
  "/extensions/{extensionId}/devices type",
  "/extensions/{extensionId}/endpoints/{endpointId}/devices type",
  "/extensions/{extensionId}/endpoints/{endpointId}/activities type",
]);

/** A value for a field that is no reference; `unique` differs for every call. Undefined for a file. */
export function sampleValue(at: string, { name, type, options }: ReferenceField, unique: number): unknown {
  const given = VALUES[`${at} ${name}`] ?? VALUES[name];
  if (given !== undefined) return given;
  if (options) return type.startsWith("array") ? [options[0]] : options[0];
  if (name === "deviceIdentifier") return `SEP00C0FF${String(unique).padStart(6, "0")}`;
  if (/[eE]mail$/.test(name)) return `conform-${unique}@example.org`;
  if (name.endsWith("Display")) return "auto";
  if (type === "boolean") return true;
  if (type === "integer") return 60;
  if (type === "json") return {};
  if (type === "array[string]") return [`text ${unique}`];
  if (type === "file") return undefined;
  return `Conform ${unique}`;
}

/** A PNG image of one pixel. */
export const SAMPLE_PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A WAV file with 0.1 s of silence: 16 bit, mono, 8 kHz. */
export function sampleRecording(): Buffer {
  const data = 1_600;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + data, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(data, 40);
  return Buffer.concat([head, Buffer.alloc(data)]);
}

import type { FromProcess } from "./plugin-process-worker.ts";

type Members = Readonly<Record<string, unknown>>;
type Check = (members: Members) => boolean;

const LOG_LEVELS = ["debug", "info", "warn", "error"];
const HEALTH_STATES = ["ok", "unconfigured", "degraded", "down"];
const PROOFS = ["answered", "looped", "untested", null];
const FIELD_NAME = /^[a-zA-Z]\w{0,99}$/;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,200}$/;
const MAX_FIELDS = 1_000;

const CHECKS: Readonly<Record<FromProcess["kind"], Check>> = {
  active: () => true,
  pong: () => true,
  stopped: () => true,
  "account-message-offered": () => true,
  fault: ({ message, stack }) => areTexts(message, stack),
  outcomes: ({ notes }) => isListOf(notes, isOutcome),
  call: ({ id, method, args }) => Number.isSafeInteger(id) && typeof method === "string" && Array.isArray(args),
  response: ({ id, response }) => Number.isSafeInteger(id) && isResponse(response),
  probed: ({ id, result }) => Number.isSafeInteger(id) && isProbeResult(result),
  // Its result is checked where it is used: an invalid one is a problem of the filter.
  filtered: ({ id }) => Number.isSafeInteger(id),
  "account-message-sent": ({ id, problem }) => Number.isSafeInteger(id) && isTextOrNull(problem),
  "report-offered": ({ report }) => isReport(report),
  "report-lines": ({ id, lines }) => Number.isSafeInteger(id) && isListOf(lines, (line) => isListOf(line, isCell)),
  reported: ({ id, problem }) => Number.isSafeInteger(id) && isTextOrNull(problem),
  "phone-voice": ({ callId, codec, payload }) => areTexts(callId, codec) && payload instanceof Uint8Array,
  "phone-key": ({ callId, key }) => areTexts(callId, key),
  "phone-end": ({ callId }) => areTexts(callId),
  log: ({ level, values, message }) => LOG_LEVELS.includes(level as string) && isObject(values) && areTexts(message),
  status: ({ state, reason }) => HEALTH_STATES.includes(state as string) && isTextOrNull(reason),
  listening: ({ name, url, port }) => areTexts(name, url) && isPort(port),
  watch: ({ path }) => areTexts(path),
  follow: ({ name }) => areTexts(name),
  fields: ({ config, profile }) => areFields(config) && (profile === null || areFields(profile)),
};

/** Whether this is a message of a plugin with members of the right types: a process may send anything. */
export function isPluginMessage(given: unknown): given is FromProcess {
  if (!isObject(given)) return false;
  const { kind } = given;
  return typeof kind === "string" && Object.hasOwn(CHECKS, kind) && CHECKS[kind as FromProcess["kind"]](given);
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, isValid: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isValid);
}

function areTexts(...values: unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isCell(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65_535;
}

function isOutcome(given: unknown): boolean {
  return isObject(given) && isObject(given.details) && typeof given.level === "string" && Number.isFinite(given.at);
}

function isProbeResult(given: unknown): boolean {
  if (!isObject(given) || !PROOFS.includes(given.proof as string | null)) return false;
  return given.reason === undefined || typeof given.reason === "string";
}

function isReport(given: unknown): boolean {
  if (!isObject(given) || !areTexts(given.key, given.name, given.description)) return false;
  return (
    isListOf(given.columns, (column) => typeof column === "string") &&
    isListOf(given.parameters, (each) => isObject(each) && areTexts(each.name))
  );
}

function isResponse(given: unknown): boolean {
  if (!isObject(given)) return false;
  const { status, headers = {}, body = "" } = given;
  const isStatus = Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599;
  const isBody = typeof body === "string" || body instanceof Uint8Array;
  return isStatus && isBody && isObject(headers) && Object.entries(headers).every(isHeader);
}

function isHeader([name, value]: [string, unknown]): boolean {
  return HEADER_NAME.test(name) && typeof value === "string" && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

function areFields(given: unknown): boolean {
  if (!isObject(given)) return false;
  const entries = Object.entries(given);
  const isField = ([name, field]: [string, unknown]): boolean =>
    FIELD_NAME.test(name) && isObject(field) && areTexts(field.kind, field.doc);
  return entries.length <= MAX_FIELDS && entries.every(isField);
}

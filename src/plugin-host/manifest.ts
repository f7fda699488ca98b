import { RE2JS } from "re2js";
import { isNetwork } from "../lib/address-set.ts";
import type { PluginManifest } from "../plugin-api/index.ts";
import { DEVICE_TYPES } from "../resources/devices/device-types.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../resources/notifications/notification-activity-types.ts";

/** A valid manifest, or its errors as sentences. */
export type ManifestResult = { manifest: PluginManifest; errors?: never } | { manifest?: never; errors: string[] };

/** Predicate phrase of the error for a member's value; null if valid. */
type Check = (value: unknown) => string | null;

/** Names of plugins and of their ports. */
export const PLUGIN_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const EXTENSION_TYPES = ["device", "device-filter", "endpoint-proxy", "collaboration", "report"];
const MAX_PATTERN_LENGTH = 200;
const HOST_NAME = /^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const OPTIONAL_MEMBERS = ["deviceType", "calls", "rings", "phone", "network", "builtOn", "memoryMb", "failureCode"];

const MEMBER_CHECKS: Readonly<Record<keyof PluginManifest, Check>> = {
  name: matching(PLUGIN_NAME, "a word of lower-case letters, digits and hyphens"),
  version: matching(/^\d+\.\d+\.\d+$/, "a version such as 1.0.0"),
  description: matching(/\S/, "a sentence"),
  extensionType: oneOf(EXTENSION_TYPES),
  deviceType: matching(/^.{1,140}$/, "a text of at most 140 characters"),
  claims: (value) => listOf(claimCheck())(value),
  calls: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  window: between(1, 4_096),
  enabledByDefault: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  listens: listOf(matching(PLUGIN_NAME, "a word of lower-case letters, digits and hyphens")),
  watches: listOf(matching(PLUGIN_NAME, "the name of a resource, such as devices")),
  rings: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  phone: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  packages: listOf(matching(/^(@[a-z0-9._-]+\/)?[a-z0-9._-]+$/, "the name of a package")),
  network: checkNetwork,
  builtOn: listOf(matching(PLUGIN_NAME, "the name of a plugin")),
  memoryMb: between(16, 2_048),
  failureCode: oneOf(NOTIFICATION_ACTIVITY_TYPES),
};

/** Checks the text of `<folder>/plugin.json`; `folder` is the plugin's name. */
export function readManifest(json: string, folder: string): ManifestResult {
  const read = parse(json);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    return { errors: ["plugin.json must be a JSON object."] };
  const given = read as Record<string, unknown>;
  const errors = Object.entries(MEMBER_CHECKS).flatMap(([name, check]) => {
    if (!Object.hasOwn(given, name)) return OPTIONAL_MEMBERS.includes(name) ? [] : [`${name} is missing.`];
    const error = check(given[name]);
    return error === null ? [] : [`${name} ${error}.`];
  });
  for (const name of Object.keys(given)) if (!Object.hasOwn(MEMBER_CHECKS, name)) errors.push(`${name} is unknown.`);
  if (errors.length === 0 && given.name !== folder) errors.push(`name must equal the folder name ${folder}.`);
  if (given.extensionType === "device" && !given.deviceType) errors.push("deviceType is missing for type device.");
  return errors.length > 0 ? { errors } : { manifest: given as unknown as PluginManifest };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

function matching(pattern: RegExp, what: string): Check {
  return (value) => (typeof value === "string" && pattern.test(value) ? null : `must be ${what}`);
}

function oneOf(words: readonly string[]): Check {
  return (value) => (words.includes(value as string) ? null : `must be one of ${words.join(", ")}`);
}

function between(min: number, max: number): Check {
  return (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? null
      : `must be an integer from ${min} to ${max}`;
}

function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return "must be a list";
    const at = value.findIndex((item) => check(item) !== null);
    return at < 0 ? null : `[${at}] ${check(value[at])}`;
  };
}

/** A host name, `*.` before one, an address or a network. */
function isHost(text: string): boolean {
  if (isNetwork(text)) return !/^(0\.0\.0\.0|::)(\/|$)|\/0$/.test(text);
  return text.length <= MAX_PATTERN_LENGTH && HOST_NAME.test(text) && !/^[\d.]+$/.test(text);
}

function checkNetwork(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "must be an object";
  const host: Check = (text) =>
    typeof text === "string" && isHost(text) ? null : "must be a host name, *.example.org, an address or a network";
  const checks: Record<string, Check> = {
    hosts: listOf(host),
    settings: listOf(matching(/^[a-zA-Z]\w{0,99}$/, "the name of a setting")),
    deviceAttributes: listOf(matching(/^\w{1,100}$/, "the name of an attribute")),
  };
  for (const [name, given] of Object.entries(value)) {
    const error = Object.hasOwn(checks, name) ? checks[name]?.(given) : "is unknown";
    if (error) return `${name} ${error}`;
  }
  return null;
}

/** Claims often share patterns, and each takes milliseconds to compile. */
function claimCheck(): Check {
  const known = new Map<string, boolean>();
  const isPattern = (text: string): boolean => {
    const is = known.get(text) ?? compiles(text);
    known.set(text, is);
    return is;
  };
  return (value) => checkClaim(value, isPattern);
}

type IsPattern = (text: string) => boolean;

function checkClaim(value: unknown, isPattern: IsPattern): string | null {
  const { type, identifier, attributes } = (value ?? {}) as Record<string, unknown>;
  if (!(DEVICE_TYPES as readonly string[]).includes(type as string))
    return `must have a type, one of ${DEVICE_TYPES.join(", ")}`;
  if (typeof identifier !== "string" || identifier === "" || identifier.length > MAX_PATTERN_LENGTH)
    return `must have an identifier, a pattern of at most ${MAX_PATTERN_LENGTH} characters`;
  if (!isPattern(identifier)) return `has an identifier that is not a valid RE2 pattern: ${identifier}`;
  return attributes === undefined ? null : checkRules(attributes, isPattern);
}

function checkRules(value: unknown, isPattern: IsPattern): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "must have an object as attributes";
  const wrong = Object.entries(value).find(([, rule]) => !isRule(rule, isPattern));
  return wrong ? `must constrain ${wrong[0]} by from and to, by values, or by pattern and words` : null;
}

function isRule(rule: unknown, isPattern: IsPattern): boolean {
  const { from, to, values, pattern, words } = (rule ?? {}) as Record<string, unknown>;
  if (values !== undefined) return Array.isArray(values) && values.every((each) => typeof each === "string");
  if (pattern === undefined) return Number.isInteger(from) && Number.isInteger(to);
  const isShort = typeof pattern === "string" && pattern.length <= MAX_PATTERN_LENGTH;
  return isShort && isPattern(pattern) && typeof words === "string" && words !== "";
}

function compiles(text: string): boolean {
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}

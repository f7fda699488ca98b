import { RE2JS } from "re2js";
import type { PluginManifest } from "../plugin-api/index.ts";
import { DEVICE_TYPES } from "../resources/devices/device-types.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../resources/notifications/notification-activity-types.ts";

/** A plugin's manifest, or what is wrong with it: one sentence per fault. */
export type ManifestResult = { manifest: PluginManifest; faults?: never } | { manifest?: never; faults: string[] };

/** What is wrong with a member's value, in words that follow its name; null when nothing is. */
type Check = (value: unknown) => string | null;

/** Names of plugins and of their ports. */
export const PLUGIN_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const EXTENSION_TYPES = ["device", "device-filter", "endpoint-proxy", "collaboration", "report"];
const MAX_PATTERN_LENGTH = 200;
const OPTIONAL_MEMBERS = ["deviceType", "calls", "rings", "builtOn", "memoryMb", "failureCode"];

const MEMBER_CHECKS: Readonly<Record<keyof PluginManifest, Check>> = {
  name: matching(PLUGIN_NAME, "a word of small letters, digits and hyphens"),
  version: matching(/^\d+\.\d+\.\d+$/, "a version such as 1.0.0"),
  description: matching(/\S/, "a sentence"),
  extensionType: oneOf(EXTENSION_TYPES),
  deviceType: matching(/^.{1,140}$/, "a text of at most 140 characters"),
  claims: (value) => listOf(claimCheck())(value),
  calls: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  window: between(1, 4_096),
  enabledByDefault: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  listens: listOf(matching(PLUGIN_NAME, "a word of small letters, digits and hyphens")),
  watches: listOf(matching(PLUGIN_NAME, "the name of a resource, such as devices")),
  rings: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  packages: listOf(matching(/^(@[a-z0-9._-]+\/)?[a-z0-9._-]+$/, "the name of a package")),
  builtOn: listOf(matching(PLUGIN_NAME, "the name of a plugin")),
  memoryMb: between(16, 2_048),
  failureCode: oneOf(NOTIFICATION_ACTIVITY_TYPES),
};

/** Checks the text of `<folder>/plugin.json`; `folder` is the plugin's name. */
export function readManifest(json: string, folder: string): ManifestResult {
  const read = parse(json);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    return { faults: ["plugin.json is no JSON object."] };
  const given = read as Record<string, unknown>;
  const faults = Object.entries(MEMBER_CHECKS).flatMap(([name, check]) => {
    if (!Object.hasOwn(given, name)) return OPTIONAL_MEMBERS.includes(name) ? [] : [`${name} is missing.`];
    const fault = check(given[name]);
    return fault === null ? [] : [`${name} ${fault}.`];
  });
  for (const name of Object.keys(given)) if (!Object.hasOwn(MEMBER_CHECKS, name)) faults.push(`${name} is not known.`);
  if (faults.length === 0 && given.name !== folder) faults.push(`name must be that of the folder, ${folder}.`);
  if (given.extensionType === "device" && !given.deviceType) faults.push("deviceType is missing for type device.");
  return faults.length > 0 ? { faults } : { manifest: given as unknown as PluginManifest };
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

function between(least: number, most: number): Check {
  return (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? null
      : `must be a whole number from ${least} to ${most}`;
}

function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return "must be a list";
    const at = value.findIndex((item) => check(item) !== null);
    return at < 0 ? null : `[${at}] ${check(value[at])}`;
  };
}

/** Several claims often ask for the same patterns, each of which takes milliseconds to compile. */
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
    return `needs a type, one of ${DEVICE_TYPES.join(", ")}`;
  if (typeof identifier !== "string" || identifier === "" || identifier.length > MAX_PATTERN_LENGTH)
    return `needs an identifier, a pattern of at most ${MAX_PATTERN_LENGTH} characters`;
  if (!isPattern(identifier)) return `has an identifier that is no RE2 pattern: ${identifier}`;
  return attributes === undefined ? null : checkRules(attributes, isPattern);
}

function checkRules(value: unknown, isPattern: IsPattern): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "has attributes that are no object";
  const wrong = Object.entries(value).find(([, rule]) => !isRule(rule, isPattern));
  return wrong ? `asks of ${wrong[0]} what is neither from and to, values, nor pattern and words` : null;
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

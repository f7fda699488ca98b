import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import type { core } from "zod";
import { CallerError, type FieldError, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { defaultSettings, type Settings, settingsSchema } from "./schema.ts";

/**
 * Parses settings from YAML; empty text gives the defaults. Throws CallerError `invalid-value` with each invalid
 * setting by its path (`plugins.ip-phones.listen.auth.port`) and the expected value, never the actual one.
 */
export function parseSettings(yaml: string): Settings {
  const document = parseDocument(yaml, { prettyErrors: false, logLevel: "silent" });
  const broken = document.errors[0];
  if (broken) throw new CallerError("invalid-value", `line ${lineOf(yaml, broken.pos[0])}: ${broken.message}`);
  const result = settingsSchema.safeParse(toPlain(document) ?? {});
  if (result.success) return validateSettings(result.data);
  throw settingsError(result.error.issues.flatMap(fieldErrorsIn));
}

/** Loads the settings file `path`. Throws CallerError as `parseSettings` does, UpstreamError if it cannot be read. */
export function loadSettings(path: string): Settings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const problem = (error as { code?: string }).code === "ENOENT" ? "does not exist" : "cannot be read";
    throw new UpstreamError("upstream", `The settings file ${path} ${problem}.`, { path }, error);
  }
  return parseSettings(text);
}

/** Never contains the actual value: it may be a secret in the wrong place. */
function fieldErrorsIn(issue: core.$ZodIssue): FieldError[] {
  const at = (path: readonly PropertyKey[], message: string): FieldError => ({
    field: path.join(".") || null,
    type: "invalid-value",
    message,
  });
  const { path, message } = issue;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => at([...path, key], `unknown setting${siblingSettings(path)}`));
  if (issue.code === "invalid_value") return [at(path, `must be one of ${issue.values.join(", ")}`)];
  if (issue.code === "invalid_type") return [at(path, `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`)];
  if (issue.code === "too_small") return [at(path, `must be at least ${issue.minimum}${UNITS[issue.origin] ?? ""}`)];
  if (issue.code === "too_big") return [at(path, `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ""}`)];
  return [at(path, message)];
}

/** Names of the valid settings at a path. */
function siblingSettings(path: readonly PropertyKey[]): string {
  let node: unknown = defaultSettings();
  for (const name of path) node = (node as Record<PropertyKey, unknown> | null | undefined)?.[name];
  return typeof node === "object" && node !== null ? `; must be one of ${Object.keys(node).join(", ")}` : "";
}

const UNITS: Readonly<Record<string, string>> = { array: " entries", string: " characters" };

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "a group of settings, indented below it",
  record: "a group of settings, indented below it",
};

function toPlain(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new CallerError(
      "invalid-value",
      error instanceof Error ? error.message : sentence("error.the-yaml-cannot-be-parsed"),
    );
  }
}

function validateSettings(settings: Settings): Settings {
  if (overlap(settings.audio.multicastRange, settings.audio.emergencyRange)) {
    const message = "must not overlap audio.multicastRange";
    throw settingsError([{ field: "audio.emergencyRange", type: "invalid-value", message }]);
  }
  return settings;
}

function settingsError(faults: readonly FieldError[]): CallerError {
  const message = faults.map((error) => (error.field ? `${error.field}: ${error.message}` : error.message)).join("; ");
  return new CallerError("invalid-value", message, faults);
}

function overlap(one: string, other: string): boolean {
  const prefix = Math.min(prefixOf(one), prefixOf(other));
  const mask = prefix === 32 ? 0xffff_ffff : ~(0xffff_ffff >>> prefix) >>> 0;
  return (numberOf(one) & mask) >>> 0 === (numberOf(other) & mask) >>> 0;
}

function prefixOf(range: string): number {
  return Number(range.split("/")[1]);
}

function numberOf(range: string): number {
  return (range.split("/")[0] as string).split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

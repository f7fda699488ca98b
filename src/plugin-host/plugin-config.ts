import { CallerError, type FieldError, invalidValue, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { ConfigFields } from "../plugin-api/index.ts";
import { secretsOfOtherTargets } from "../schema/secret-binding.ts";
import { compileValidator, defaultOf, type Validator } from "../schema/validator.ts";
import type { Secrets } from "../store/store.ts";
import { createRedact, type Redact } from "./redaction.ts";

type Values = Record<string, unknown>;

/** A plugin's configuration: stored with sealed secrets, open at runtime, and shown without secrets. */
export interface PluginConfig {
  /**
   * The values to store for `input`: validated, with sealed secrets. A secret that is not given keeps the stored value;
   * null clears it. It must be given again when what decides who receives it changes. Throws CallerError with errors for `config.<field>`.
   */
  toStored(input: unknown, stored: unknown): Values;
  /**
   * The values to store for a configuration that arrived from the cloud or an appliance. Secrets are not sent, so the stored
   * ones are kept, except for those whose target is another one now: they were not given for it.
   */
  toReplicated(received: unknown, stored: unknown): Values;
  /** Names of the non-secret values. */
  readonly publicNames: readonly string[];
  /** The non-secret part of a stored configuration. */
  toPublic(stored: unknown): Values;
  /** The runtime configuration: defaults filled in, secrets open. Throws CallerError if a required value is missing. */
  toRuntime(stored: unknown): { config: Values; redact: Redact };
}

/** Creates the configuration handling for these fields. Nested values contain no secrets. */
export function createPluginConfig(fields: ConfigFields, secrets: Secrets): PluginConfig {
  const checker = compileValidator(fields);
  const secretNames = Object.entries(fields)
    .filter(([, field]) => field.kind === "secret")
    .map(([name]) => name);
  const withDefaults = (values: Values): Values =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, values[name] ?? defaultOf(field)]));
  return {
    publicNames: Object.keys(fields).filter((name) => !secretNames.includes(name)),
    toStored(input, stored) {
      const before = asObject(stored) ?? {};
      const given = asObject(input ?? {});
      if (!given) throw invalidValue("config", sentence("field.must-be-an-object"));
      for (const name of Object.keys(given))
        if (!Object.hasOwn(fields, name)) throw invalidValue(`config.${name}`, sentence("field.unknown-setting"));
      const kept = secretNames.filter((name) => given[name] === undefined && typeof before[name] === "string");
      // A secret that keeps its stored value must not count as missing.
      const asked = { ...given, ...Object.fromEntries(kept.map((name) => [name, "kept"])) };
      const values = checkValues(checker, asked);
      const target = { before: withDefaults(before), after: withDefaults(values) };
      throwConfigErrors(
        secretsOfOtherTargets(fields, {
          ...target,
          isGiven: (name) => secretNames.includes(name) && !kept.includes(name),
        }),
      );
      for (const name of secretNames)
        if (typeof values[name] === "string") values[name] = secrets.seal(values[name] as string);
      for (const name of kept) values[name] = before[name];
      return Object.fromEntries(Object.entries(values).filter(([name]) => isGiven(asked, name)));
    },
    toReplicated(received, stored) {
      const before = asObject(stored) ?? {};
      const given = Object.entries(asObject(received) ?? {}).filter(([name]) => !secretNames.includes(name));
      const after: Values = Object.fromEntries(given);
      for (const name of secretNames) if (typeof before[name] === "string") after[name] = before[name];
      const change = { before: withDefaults(before), after: withDefaults(after), isGiven: () => false };
      for (const { field } of secretsOfOtherTargets(fields, change)) delete after[String(field)];
      return after;
    },
    toPublic(stored) {
      const entries = Object.entries(asObject(stored) ?? {});
      return Object.fromEntries(entries.filter(([name]) => fields[name] && !secretNames.includes(name)));
    },
    toRuntime(stored) {
      const values = { ...asObject(stored) };
      const opened: string[] = [];
      for (const name of secretNames) {
        if (typeof values[name] !== "string") continue;
        values[name] = secrets.open(values[name]);
        opened.push(values[name] as string);
      }
      const config = checkValues(checker, values);
      for (const [name, field] of Object.entries(fields)) config[name] ??= defaultOf(field);
      return { config, redact: createRedact(opened) };
    },
  };
}

function checkValues(checker: Validator, input: Values): Values {
  const { values, faults } = checker.validate(input, "create");
  throwConfigErrors(faults);
  return values;
}

function throwConfigErrors(faults: readonly FieldError[]): void {
  if (faults.length === 0) return;
  throw validationError(
    faults.map(({ field, type, message }) => ({
      field: `config.${field}`,
      type,
      message: message.replace(/^Field /, "Field config."),
    })),
  );
}

/** True for given values. Defaults are not stored but filled in at runtime, so that a changed default takes effect. */
function isGiven(given: Values, name: string): boolean {
  return given[name] !== undefined && given[name] !== null;
}

function asObject(value: unknown): Values | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : null;
}

/** Message for an invalid configuration. */
export function configErrorText(error: unknown): string {
  if (error instanceof CallerError) return error.faults.map(({ message }) => message).join(" ") || error.message;
  return error instanceof Error ? error.message : String(error);
}

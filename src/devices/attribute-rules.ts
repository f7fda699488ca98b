import { RE2JS } from "re2js";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AttributeRule } from "../plugin-api/index.ts";

/** A device type that a plugin serves: the identifiers that match the pattern, and the rules for their attributes. */
export interface DeviceTypeClaim {
  type: string;
  identifier: string;
  attributes?: Readonly<Record<string, AttributeRule>>;
}

/** A device, as far as claims use it. */
export interface ClaimedDevice {
  type: string;
  deviceIdentifier: string;
  attributes: unknown;
}

/**
 * Creates the check of a device's attributes against the rules of its plugin; values that are stored already are not checked
 * again. Throws invalid-value that names the attribute.
 */
export function createAttributeCheck(
  claims: () => readonly DeviceTypeClaim[],
): (device: ClaimedDevice, before: ClaimedDevice | null) => void {
  const patterns = new Map<string, RE2JS>();
  const matches = (pattern: string, text: string): boolean => {
    const compiled = patterns.get(pattern) ?? RE2JS.compile(pattern);
    patterns.set(pattern, compiled);
    return compiled.matcher(text).find();
  };
  return (device, before) => {
    const given = device.attributes as Record<string, string>;
    const known = (before?.attributes ?? {}) as Record<string, string>;
    for (const { type, identifier, attributes } of claims()) {
      if (!attributes || type !== device.type || !matches(identifier, device.deviceIdentifier)) continue;
      for (const [name, rule] of Object.entries(attributes)) {
        const value = given[name];
        if (value === undefined || value === known[name]) continue;
        const message = validateAttribute(rule, value, matches);
        if (message !== null) throw invalidValue(`attributes.${name}`, message);
      }
    }
  };
}

function validateAttribute(
  rule: AttributeRule,
  value: string,
  matches: (p: string, t: string) => boolean,
): string | null {
  if ("values" in rule)
    return rule.values.includes(value)
      ? null
      : sentence("field.must-be-one-of-values", { values: rule.values.join(", ") });
  if ("pattern" in rule) return matches(rule.pattern, value) ? null : `Must be ${rule.words}.`;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  return number >= rule.from && number <= rule.to
    ? null
    : sentence("field.must-be-a-whole-number-from-from-to-to", { from: rule.from, to: rule.to });
}

import type { PhoneRegistration } from "./cluster-types.ts";

/**
 * One registration per phone out of what all nodes say, by name: each node knows only phones that were registered with
 * it, so one that says "registered" wins, then the one that saw it last. Names are compared without case.
 * @source CISCO-CCM-MIB, local call manager
 */
export function mergeRegistrations(all: readonly PhoneRegistration[]): Map<string, PhoneRegistration> {
  const merged = new Map<string, PhoneRegistration>();
  for (const each of all) {
    const name = each.name.toUpperCase();
    const other = merged.get(name);
    if (!other || isPreferred(each, other)) merged.set(name, each);
  }
  return merged;
}

function isPreferred(one: PhoneRegistration, other: PhoneRegistration): boolean {
  if (one.registered !== other.registered) return one.registered;
  return one.at > other.at;
}

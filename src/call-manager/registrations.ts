import type { PhoneRegistration } from "./cluster-types.ts";

/**
 * Merges the registrations of all nodes to one per phone, by name: each node only lists phones that were registered with it, so
 * "registered" wins, then the latest. Names are compared without case. @source CISCO-CCM-MIB, local call manager
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

import type { Scope } from "./store.ts";

/** A scope without any limit, as the system acts with; `home` says where its new rows go. */
export function fullScope(home: () => string | null): Scope {
  const scope: Scope = {
    get domainId() {
      return home();
    },
    allows: () => true,
    visible: () => "all",
    get inSight() {
      return scope;
    },
    get changeable() {
      return scope;
    },
    holds: () => true,
    knows: () => true,
  };
  return scope;
}

import type { AccessScope } from "./store.ts";

/** A scope without limits, for system actors; `home` returns the home domain of new rows. */
export function fullScope(home: () => string | null): AccessScope {
  const scope: AccessScope = {
    get domainId() {
      return home();
    },
    allows: () => true,
    visible: () => "all",
    get domainVisibility() {
      return scope;
    },
    get changeable() {
      return scope;
    },
    canAssign: () => true,
    canReference: () => true,
  };
  return scope;
}

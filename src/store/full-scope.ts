import type { AccessScope } from "./store.ts";

/** A scope without any limit, as the system acts with; `home` says where its new rows go. */
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

/**
 * Operations of a permission; each is the method of a generic operation.
 * @source docs/decisions/0003-authentication.md
 */
export const PERMISSION_VERBS = ["get", "put", "post", "delete"] as const;

/** What a grant may allow; each is the method of a generic operation. @source decisions.md 3 */
export const PERMISSION_VERBS = ["get", "put", "post", "delete"] as const;

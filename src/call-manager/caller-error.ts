/** True for what the store refuses because of the values or the state of rows; false for what is wrong with Carillon or the disk. */
export function isCallerError(error: unknown): boolean {
  const { type } = error as { type?: string };
  return type !== undefined && !["bug", "storage-full", "outcome-unknown", "starting", "upstream"].includes(type);
}

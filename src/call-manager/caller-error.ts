/** True for errors that values or row state cause; false for bugs and disk errors. */
export function isCallerError(error: unknown): boolean {
  const { type } = error as { type?: string };
  return type !== undefined && !["bug", "storage-full", "outcome-unknown", "starting", "upstream"].includes(type);
}

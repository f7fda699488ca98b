import type { UploadRow } from "../../api/upload-rows.ts";

/** The sign of an upload's state. */
export function uploadTone({ status }: Pick<UploadRow, "status">): string {
  if (status === "COMPLETE" || status === "success") return "good";
  return status === "ERROR" ? "bad" : "";
}

/** True while an upload waits for its turn or is read. */
export function isUploadActive({ status, fileId }: Pick<UploadRow, "status" | "fileId">): boolean {
  return status === "RUNNING" || (status === "PENDING" && fileId !== null);
}

/** Lines per second and seconds left of an upload; null before there is a rate. `now` is epoch ms. */
export function uploadPace(
  {
    startedAt,
    percentage,
    lineCount,
    errorCount,
  }: Pick<UploadRow, "startedAt" | "percentage" | "lineCount" | "errorCount">,
  now: number,
): { perSecond: number; seconds: number } | null {
  const elapsedS = startedAt === null ? 0 : (now - Date.parse(startedAt)) / 1_000;
  if (elapsedS < 1 || percentage <= 0) return null;
  return {
    perSecond: Math.round((lineCount + errorCount) / elapsedS),
    seconds: Math.ceil((elapsedS * (100 - percentage)) / percentage),
  };
}

/** Bytes as people say them: `0 kB`, `12 kB`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

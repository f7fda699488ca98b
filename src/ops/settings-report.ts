import { defaultSettings, type Settings } from "../settings/schema.ts";
import { listSettings, type SettingEntry } from "../settings/settings-overview.ts";

/** The settings file of the running daemon. */
export interface SettingsFile {
  path: string;
  /** What it says now, with what the command line says above it. Throws CallerError for a bad file, UpstreamError for none. */
  read(): Promise<Settings>;
}

/** The settings in force and what is in the file by now, which the next start goes by. */
export interface SettingsReport {
  file: string | null;
  /** Why the file can't be taken; null for a good one, and for none. */
  fault: string | null;
  /** `next` is JSON, null where the file says what is in force. */
  settings: (SettingEntry & { next: string | null })[];
}

/** Holds what is in force against the file. */
export async function reportSettings(inForce: Settings, file: SettingsFile | null): Promise<SettingsReport> {
  const defaults = defaultSettings();
  let next = inForce;
  let fault: string | null = null;
  try {
    if (file) next = await file.read();
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error);
  }
  const later = listSettings(next, defaults);
  const settings = listSettings(inForce, defaults).map((line, at) => {
    const then = later[at]?.value ?? line.value;
    return { ...line, next: then === line.value ? null : then };
  });
  return { file: file?.path ?? null, fault, settings };
}

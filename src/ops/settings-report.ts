import { defaultSettings, type Settings } from "../settings/schema.ts";
import { listSettings, type SettingEntry } from "../settings/settings-overview.ts";

/** The settings file of the running daemon. */
export interface SettingsFile {
  path: string;
  /** Current content of the file with the overrides of the command line. Throws CallerError if invalid, UpstreamError if missing. */
  read(): Promise<Settings>;
}

/** The effective settings and those in the file now, which apply after the next start. */
export interface SettingsReport {
  file: string | null;
  /** Why the file is invalid; null if it is valid or there is none. */
  fault: string | null;
  /** `next` is JSON; null if the file agrees with the effective value. */
  settings: (SettingEntry & { next: string | null })[];
}

/** Compares the effective settings with the file. */
export async function reportSettings(effective: Settings, file: SettingsFile | null): Promise<SettingsReport> {
  const defaults = defaultSettings();
  let next = effective;
  let fault: string | null = null;
  try {
    if (file) next = await file.read();
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error);
  }
  const later = listSettings(next, defaults);
  const settings = listSettings(effective, defaults).map((line, index) => {
    const nextValue = later[index]?.value ?? line.value;
    return { ...line, next: nextValue === line.value ? null : nextValue };
  });
  return { file: file?.path ?? null, fault, settings };
}

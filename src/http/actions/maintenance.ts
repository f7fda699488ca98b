import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, integer, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { addSentences } from "../sentence-members.ts";

const LONG = { max: 1_048_576 };

const SETTING = {
  name: text("Key in the settings file.", { required: true }),
  doc: text("Description.", { required: true, ...LONG }),
  docSentence: sentenceField("Description", "doc"),
  value: text("Effective value, as JSON.", { required: true, ...LONG }),
  default: text("Default value, as JSON.", { required: true, ...LONG }),
  next: text("Value in the file after the next restart, as JSON; null if unchanged.", LONG),
};

const SETTINGS = {
  file: text("Path of the settings file on the appliance; null without one.", LONG),
  fault: text("Error of the current settings file; null if it is valid. Restarts are refused until it is valid.", LONG),
  faultSentence: sentenceField("Error", "fault"),
  settings: computed("Settings, in the order of the file.", "array", { of: SETTING }),
};

const BACKUP = {
  name: text("File name.", { required: true }),
  takenAt: timestamp("Time of the backup.", { required: true }),
  bytes: integer("Size in bytes.", { required: true, max: Number.MAX_SAFE_INTEGER }),
  encrypted: boolean("Whether restoring it needs an identity.", { required: true }),
};

const BACKUPS = {
  folder: text("Backup folder.", { required: true, ...LONG }),
  schedule: text("Backup schedule, as a cron expression in local time; null for manual backups only."),
  encrypted: boolean("Whether new backups are encrypted to the recipients in the settings.", { required: true }),
  provenAt: timestamp("Time of the last backup that was unpacked, compared and verified; null without one."),
  provenFile: text("Path of that backup.", LONG),
  provenBytes: integer("Size of that backup in bytes.", { max: Number.MAX_SAFE_INTEGER }),
  failedAt: timestamp("Time of the last failure since then; null without one."),
  failure: text("Reason of the failure.", LONG),
  backups: computed("Existing backups, newest first.", "array", { of: BACKUP }),
};

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

/** Settings and backups for display; commands are activities of the endpoint. */
export const maintenanceActions: readonly Action[] = [
  {
    method: "get",
    at: "settings",
    doc: "Returns the settings of the appliance. They are read from the settings file at start and can only be changed there.",
    response: { kind: "members", fields: SETTINGS },
    handle: async ({ deps }) =>
      jsonResponse(addSentences(SETTINGS, await deps.maintenance.settings(), deps.plugins.sentences)),
  },
  {
    method: "get",
    at: "backups",
    doc: "Returns the backups of the appliance, their schedule and the last verified backup.",
    response: { kind: "members", fields: BACKUPS },
    async handle({ deps }) {
      const { folder, schedule, recipients, good, failed, files } = await deps.maintenance.backups();
      const proven = { provenAt: iso(good?.at), provenFile: good?.file ?? null, provenBytes: good?.bytes ?? null };
      const backups = files.map(({ name, at, bytes, encrypted }) => ({ name, takenAt: iso(at), bytes, encrypted }));
      const failure = { failedAt: iso(failed?.at), failure: failed?.reason ?? null };
      return jsonResponse({ folder, schedule, encrypted: recipients.length > 0, ...proven, ...failure, backups });
    },
  },
];

import { computed, integer, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";

const LONG = { max: 1_048_576 };

const SETTING = {
  name: text("Its place in the file.", { required: true }),
  doc: text("What it is for.", { required: true, ...LONG }),
  value: text("What is in force, as JSON.", { required: true, ...LONG }),
  default: text("What it is unless the file says otherwise, as JSON.", { required: true, ...LONG }),
  next: text("What the file says by now, as JSON; null = the same as is in force.", LONG),
};

const SETTINGS = {
  file: text("Path of the settings file on the appliance; null = it runs without one.", LONG),
  fault: text("Why the file can't be taken as it is now; null = it can. A restart is refused until it can.", LONG),
  settings: computed("In the order of the file.", "array", { of: SETTING }),
};

const BACKUP = {
  name: text("Name of the file.", { required: true }),
  takenAt: timestamp("When it was taken.", { required: true }),
  bytes: integer("Its size.", { required: true, max: Number.MAX_SAFE_INTEGER }),
};

const BACKUPS = {
  folder: text("Where they lie.", { required: true, ...LONG }),
  schedule: text("When they are taken, as a cron expression in local time; null = when ordered."),
  provenAt: timestamp("When the last one was taken that was unpacked, compared and found good; null = none yet."),
  provenFile: text("Its path.", LONG),
  provenBytes: integer("Its size.", { max: Number.MAX_SAFE_INTEGER }),
  failedAt: timestamp("When one failed since; null = none."),
  failure: text("Why.", LONG),
  backups: computed("Those that lie there, the newest first.", "array", { of: BACKUP }),
};

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

/** What keeps the appliance in order, to be looked at. own choice: the paths; orders are activities of its endpoint. */
export const maintenanceActions: readonly Action[] = [
  {
    method: "get",
    at: "settings",
    doc: "The settings of the appliance: they come from its file, are changed there, and are read when it starts.",
    response: { kind: "members", fields: SETTINGS },
    handle: async ({ needs }) => jsonResponse(await needs.maintenance.settings()),
  },
  {
    method: "get",
    at: "backups",
    doc: "The backups of the appliance, when they are taken, and the last one that was proven good.",
    response: { kind: "members", fields: BACKUPS },
    async handle({ needs }) {
      const { folder, schedule, good, failed, files } = await needs.maintenance.backups();
      const proven = { provenAt: iso(good?.at), provenFile: good?.file ?? null, provenBytes: good?.bytes ?? null };
      const backups = files.map(({ name, at, bytes }) => ({ name, takenAt: iso(at), bytes }));
      const failure = { failedAt: iso(failed?.at), failure: failed?.reason ?? null };
      return jsonResponse({ folder, schedule, ...proven, ...failure, backups });
    },
  },
];

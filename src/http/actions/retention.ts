import { HISTORY_KINDS } from "../../notifications/retention/due-notifications.ts";
import { boolean, computed, integer, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import type { ApiDeps } from "../dependencies.ts";

const count = (doc: string) => integer(doc, { required: true, max: Number.MAX_SAFE_INTEGER });

const RUN = {
  at: timestamp("When it ran.", { required: true }),
  notifications: count("Messages whose details were removed."),
  deliveries: count("Deliveries removed."),
  recipients: count("Recipients removed."),
  activities: count("Entries of activity logs removed."),
  answers: count("Recipients whose answer was cleared."),
  positions: count("Positions removed."),
};

const DUE = {
  kind: text(`Kind of message: ${HISTORY_KINDS.join(", ")}.`, { required: true }),
  days: integer("Days that the details are kept; null for ever."),
  notifications: count("Messages whose details are due."),
  deliveries: count("Their deliveries."),
  recipients: count("Their recipients."),
  oldestAt: timestamp("When the oldest of them was sent; null without any."),
};

const RETENTION = {
  schedule: text("Schedule of the removal, as a cron expression in local time; null for only on request."),
  running: boolean("Old history is being removed.", { required: true }),
  lastRun: computed("The last removal; null before the first.", "object", { of: RUN, nullable: true }),
  due: computed("What the next removal removes, by kind of message.", "array", { of: DUE }),
  answersDays: integer("Days that answers of single people are kept; null for ever."),
  positionsDays: integer("Days that positions are kept; null for ever."),
  waitsUntil: timestamp(
    "Until when the schedule removes nothing, so that a wrong date can be corrected: after a pause of 31 days, and at first.",
  ),
  heldNotifications: count("Messages past their retention that a legal hold or an open incident keeps."),
};

async function presentReport(deps: ApiDeps): Promise<object> {
  const { isRunning, lastRun, due, waitsUntil, ...report } = await deps.maintenance.retention.report();
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return {
    ...report,
    running: isRunning,
    waitsUntil: iso(waitsUntil),
    lastRun: lastRun && { ...lastRun, at: iso(lastRun.at) },
    due: due.map((each) => ({ ...each, oldestAt: iso(each.oldestAt) })),
  };
}

/** Retention of history: what is due, and its removal. */
export const retentionActions: readonly Action[] = [
  {
    method: "get",
    at: "retention",
    doc: "Returns the retention of old history and what is due: details of messages, answers and positions.",
    response: { kind: "members", fields: RETENTION },
    handle: async ({ deps }) => jsonResponse(await presentReport(deps)),
  },
  {
    method: "post",
    at: "retention/runs",
    doc: "Begins to remove the history that is due; `lastRun` shows the result. Sums by message and place stay.",
    response: { kind: "members", fields: RETENTION },
    async handle({ deps, by }) {
      deps.maintenance.retention.begin(by);
      return jsonResponse(await presentReport(deps));
    },
  },
];

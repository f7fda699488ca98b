import { invalidValue, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { assertHostAllowed, type SsrfGuard } from "../lib/ssrf-guard.ts";
import calendarSubscriptions from "../resources/bells/calendar-subscriptions.ts";
import type { ResourceHooks, Transaction } from "../store/store.ts";
import { assertSchedulesEditable, releaseSchedule } from "./calendar-subscriptions.ts";

/** Validates the address; only people who may change the schedules may let a calendar change them. */
export function calendarSubscriptionHooks(policy: SsrfGuard): ResourceHooks<typeof calendarSubscriptions> {
  return {
    present: (rows, { sentences }) =>
      rows.map(({ rejected }) => ({
        rejected: (rejected as { message: string }[]).map((event) => ({
          ...event,
          messageSentence: sentences.read(event.message),
        })),
      })),
    async prepare(input) {
      if (typeof input.url === "string") input.url = await checkedUrl(input.url, policy);
    },
    beforeWrite({ op, before, after, given }, tx, by) {
      if (!after || (op === "update" && given.size === 0)) return;
      assertSchedulesEditable(after.bellScheduleIds, tx, by);
      // The validators belong to the address.
      if (before && given.has("url")) Object.assign(after, { etag: null, lastModified: null });
    },
    afterWrite({ op, after, given }, tx) {
      if (after && (op === "create" || given.size > 0))
        tx.emit("calendar.edited", { calendarSubscriptionId: after.id });
    },
    async removeInChunks(id, by, store, check) {
      const row = store.get(calendarSubscriptions, id);
      if (!row) throw notFound();
      check?.(row);
      assertSchedulesEditable(row.bellScheduleIds, store, by);
      const bound = store.all<{ schedule: string }>(
        "SELECT schedule FROM calendar_subscription_days WHERE subscription = ?",
        row.id,
      );
      for (const { schedule } of bound)
        await store.write((tx: Transaction) => releaseSchedule(tx, row.id, schedule, by));
      await store.write((tx: Transaction) => {
        const now = tx.get(calendarSubscriptions, id);
        if (now) check?.(now);
        tx.run("DELETE FROM calendar_subscription_versions WHERE subscription = ?", row.id);
        tx.remove(calendarSubscriptions, id, by);
      });
    },
  };
}

/** The address with https for webcal. Throws CallerError. */
async function checkedUrl(given: string, policy: SsrfGuard): Promise<string> {
  const url = given.trim().replace(/^webcals?:/i, "https:");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalidValue("url", sentence("field.must-be-the-address-of-a-calendar-https-http-or-webcal"));
  await assertHostAllowed("url", new URL(url).hostname, policy);
  return url;
}

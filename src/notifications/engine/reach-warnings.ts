import { yieldToEventLoop } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { declinableTemplatePk, filterDecliners } from "../../people/opt-outs.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";
import type { ReachWarning } from "../notification-service.ts";
import { iterateUsers } from "../recipients/recipient-writer.ts";
import { reachesGroups, reachesUsers, remoteProviderOf } from "./delivery-planner.ts";
import { iterateDevicePreviews } from "./device-previews.ts";
import type { PreviewDeps } from "./preview.ts";

/** Devices and users checked per turn; the first chunk decides about almost every message. */
const CHUNK_SIZE = 100;
/** A message to more devices or users is assumed to reach some of them: the response must not wait for all to be checked. */
const MAX_CHECKED = 20_000;

/** Recipients of a message that reaches none of them. */
interface MissedRecipients {
  devices: number;
  /** Devices that would be asked but probably do not answer. */
  doubtful: number;
  people: number;
  /** Why devices would not be asked, with their number. */
  problems: Map<string, number>;
}

/**
 * Warns where a stored message would reach no device and no person; empty where it reaches any. A device that did not
 * answer the last message, or is not registered, counts as not reached. Cheap where the first recipients can be reached.
 * @source docs/decisions/0437-messages-that-reach-no-one.md
 */
export async function findReachWarnings(row: NotificationRow, deps: PreviewDeps): Promise<ReachWarning[]> {
  if (reachesGroups(deps.store, row, deps.providers)) return [];
  const missed: MissedRecipients = { devices: 0, doubtful: 0, people: 0, problems: new Map() };
  if ((await reachesAnyDevice(row, missed, deps)) || (await reachesAnyPerson(row, missed, deps))) return [];
  return [warningOf(row, missed)];
}

async function reachesAnyDevice(row: NotificationRow, missed: MissedRecipients, deps: PreviewDeps): Promise<boolean> {
  if (!parseSendingProfile(row).reachesDevices) return false;
  const options = { carrier: remoteProviderOf(deps), chunkSize: CHUNK_SIZE };
  for await (const devices of iterateDevicePreviews(row, options, deps)) {
    for (const { problem, doubt } of devices) {
      if (problem === null && doubt === null) return true;
      missed.devices++;
      if (problem === null) missed.doubtful++;
      else missed.problems.set(problem, (missed.problems.get(problem) ?? 0) + 1);
    }
    if (missed.devices >= MAX_CHECKED) return true;
  }
  return false;
}

async function reachesAnyPerson(row: NotificationRow, missed: MissedRecipients, deps: PreviewDeps): Promise<boolean> {
  const { store, clock, providers } = deps;
  const template = declinableTemplatePk(store, row);
  for (const users of iterateUsers(store, row.pk, clock.now(), CHUNK_SIZE)) {
    const declined = template === null ? new Set<number>() : filterDecliners(store, template, users);
    const recipients = users.filter((pk) => !declined.has(pk));
    if (reachesUsers(store, row, recipients, providers)) return true;
    missed.people += recipients.length;
    if (missed.people >= MAX_CHECKED) return true;
    await yieldToEventLoop(clock);
  }
  return false;
}

function warningOf({ collaborationGroupIds }: NotificationRow, missed: MissedRecipients): ReachWarning {
  const { devices, doubtful, people, problems } = missed;
  if (devices + people + collaborationGroupIds.length === 0)
    return { code: "no-recipients", message: sentence("reach.empty") };
  if (doubtful > 0) return { code: "no-answer-expected", message: sentence("reach.no-answer", { count: doubtful }) };
  const [worst] = [...problems].sort(([, a], [, b]) => b - a);
  const message = worst ? sentence("reach.not-deliverable", { reason: worst[0] }) : sentence("reach.no-contact");
  return { code: "not-deliverable", message };
}

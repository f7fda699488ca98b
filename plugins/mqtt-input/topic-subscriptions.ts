import type { MachineInputOptions } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** A subscription; `source` null uses the topic of each message. */
export interface TopicSubscription extends Omit<MachineInputOptions, "source"> {
  filter: string;
  source: string | null;
  acceptsRetained: boolean;
}

/** Valid subscriptions of a configuration, and errors as text. */
export interface ConfiguredTopics {
  topics: TopicSubscription[];
  errors: string[];
}

const MAX_LENGTH = 255;

/** Parses `topics`; an invalid entry is reported and skipped. */
export function parseTopics(given: unknown): ConfiguredTopics {
  if (!Array.isArray(given)) return { topics: [], errors: [sentence("topics-list")] };
  const topics: TopicSubscription[] = [];
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseTopic(entry);
    if (typeof read === "string") errors.push(`topics[${index}]: ${read}`);
    else topics.push(read);
  });
  return { topics, errors };
}

function parseTopic(entry: unknown): TopicSubscription | string {
  const {
    topic,
    retained: acceptsRetained = false,
    calls = false,
    ...names
  } = (entry ?? {}) as Record<string, unknown>;
  const { source = null, stateMember, idMember } = names;
  if (typeof topic !== "string" || !isFilter(topic))
    return sentence("entry.filter", { topic: String(topic).slice(0, 40) });
  if (![source ?? "a", stateMember ?? "a", idMember ?? "a"].every(isName))
    return sentence("entry.names", { length: MAX_LENGTH });
  if (typeof acceptsRetained !== "boolean" || typeof calls !== "boolean") return sentence("entry.switches");
  const memberNames = { stateMember, idMember } as Pick<MachineInputOptions, "stateMember" | "idMember">;
  return { filter: topic, source: source as string | null, acceptsRetained, calls, ...memberNames };
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.length <= MAX_LENGTH;
}

/** `#` must be the last level, `+` a whole level; a shared subscription has a group. @source MQTT 3.1.1 §4.7.1 */
function isFilter(topic: string): boolean {
  const { group, filter } = splitShared(topic);
  if (group !== null && (group === "" || /[#+]/.test(group) || filter === "")) return false;
  const levels = filter.split("/");
  const isLevel = (level: string, at: number): boolean =>
    level === "#" ? at === levels.length - 1 : level === "+" || !/[#+\0]/.test(level);
  return isName(topic) && levels.every(isLevel);
}

/**
 * Group and filter of a shared subscription, of whose group one client gets each message; the group is null for others.
 * @source MQTT 5.0 §4.8.2
 */
function splitShared(topic: string): { group: string | null; filter: string } {
  const [, group, filter] = /^\$share\/([^/]*)(?:\/(.*))?$/s.exec(topic) ?? [];
  return group === undefined ? { group: null, filter: topic } : { group, filter: filter ?? "" };
}

/**
 * The filters to subscribe to: without those of which another one covers all topics, since brokers may deliver a message
 * once per subscription. @source MQTT 3.1.1 §3.3.5
 */
export function withoutCovered(filters: readonly string[]): string[] {
  const all = [...new Set(filters)];
  return all.filter((filter) => !all.some((other) => other !== filter && covers(other, filter)));
}

/** True if one filter matches every topic of another, and gets every message. */
function covers(one: string, other: string): boolean {
  if (splitShared(one).group !== null) return false;
  const [wide, narrow] = [one.split("/"), splitShared(other).filter.split("/")];
  if (narrow[0]?.startsWith("$") && wide[0] !== narrow[0]) return false;
  for (const [at, level] of wide.entries()) {
    if (level === "#") return true;
    const covered = narrow[at];
    if (covered === undefined || covered === "#" || (level !== "+" && level !== covered)) return false;
  }
  return wide.length === narrow.length;
}

/** True if a topic matches a filter; wildcards do not match `$` topics. @source MQTT 3.1.1 §4.7 */
export function matchesTopicFilter(subscription: string, topic: string): boolean {
  const [wanted, levels] = [splitShared(subscription).filter.split("/"), topic.split("/")];
  if (topic.startsWith("$") && wanted[0] !== levels[0]) return false;
  for (const [at, level] of wanted.entries()) {
    if (level === "#") return true;
    if (at >= levels.length || (level !== "+" && level !== levels[at])) return false;
  }
  return wanted.length === levels.length;
}

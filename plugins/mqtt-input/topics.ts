import type { Machine } from "#plugin-api";

/** A topic that is followed; `source` null takes the topic of each message. */
export interface Followed extends Omit<Machine, "source"> {
  filter: string;
  source: string | null;
  retained: boolean;
}

/** What a configuration follows, and what of it can't be used, in words. */
export interface ConfiguredTopics {
  topics: Followed[];
  faults: string[];
}

const LONGEST = 255;

/** Reads `topics`; a bad entry is left out and named, the others stay. */
export function readTopics(given: unknown): ConfiguredTopics {
  if (!Array.isArray(given)) return { topics: [], faults: ["topics is not a list"] };
  const topics: Followed[] = [];
  const faults: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = readTopic(entry);
    if (typeof read === "string") faults.push(`topics[${index}]: ${read}`);
    else topics.push(read);
  });
  return { topics, faults };
}

function readTopic(entry: unknown): Followed | string {
  const { topic, retained = false, calls = false, ...names } = (entry ?? {}) as Record<string, unknown>;
  const { source = null, stateMember, idMember } = names;
  if (typeof topic !== "string" || !isFilter(topic)) return `${String(topic).slice(0, 40)} is no topic`;
  if (![source ?? "a", stateMember ?? "a", idMember ?? "a"].every(isName))
    return `source, stateMember and idMember are texts of 1 to ${LONGEST} characters`;
  if (typeof retained !== "boolean" || typeof calls !== "boolean") return "retained and calls are true or false";
  const said = { stateMember, idMember } as Pick<Machine, "stateMember" | "idMember">;
  return { filter: topic, source: source as string | null, retained, calls, ...said };
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.length <= LONGEST;
}

/** @source MQTT 3.1.1 §4.7.1: `#` is the last level, `+` a whole one */
function isFilter(topic: string): boolean {
  const levels = topic.split("/");
  const isLevel = (level: string, at: number): boolean =>
    level === "#" ? at === levels.length - 1 : level === "+" || !/[#+\0]/.test(level);
  return isName(topic) && levels.every(isLevel);
}

/** True when a message's topic is one that the filter means. @source MQTT 3.1.1 §4.7, `$` topics by name alone */
export function isMeant(filter: string, topic: string): boolean {
  const [wanted, levels] = [filter.split("/"), topic.split("/")];
  if (topic.startsWith("$") && wanted[0] !== levels[0]) return false;
  for (const [at, level] of wanted.entries()) {
    if (level === "#") return true;
    if (at >= levels.length || (level !== "+" && level !== levels[at])) return false;
  }
  return wanted.length === levels.length;
}

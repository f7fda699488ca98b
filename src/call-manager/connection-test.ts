import type { Clock } from "../lib/clock.ts";
import type { AxlClient } from "./axl/axl-client.ts";
import { fetchNodes } from "./axl/phone-list.ts";
import { queryRegistrations } from "./axl/ris-port.ts";
import { type ClusterErrorCode, toClusterError } from "./cluster-error.ts";
import type { SnmpNodes } from "./snmp/snmp-nodes.ts";

/** One thing that was tried. */
export interface ConnectionCheck {
  /** `axl`: the administration interface and its user; `nodes`: its list of nodes; `snmp`: one node; `risport`: the second source. */
  what: "axl" | "nodes" | "snmp" | "risport";
  /** Host that was asked. */
  host: string;
  ok: boolean;
  /** The cluster can't be read without it. */
  needed: boolean;
  /** What is wrong, in one word; null when nothing is. */
  code: ClusterErrorCode | null;
  /** What was found, or what is wrong and what to do, for people. */
  words: string;
  tookMs: number;
}

/** What was tried, in order. */
export interface ConnectionTest {
  /** Everything that is needed works. */
  ok: boolean;
  checks: ConnectionCheck[];
}

/** A name that no phone has: the second source answers without telling of any. */
const NONEXISTENT_PHONE = "SEP000000000000";

/** Tries everything that reading a cluster needs, up to what the next step can't do without; changes nothing. Never throws. */
export async function testConnection(
  { client, nodes }: { client: AxlClient; nodes: SnmpNodes },
  needs: { clock: Clock; signal: AbortSignal },
): Promise<ConnectionTest> {
  const { clock } = needs;
  const checks: ConnectionCheck[] = [];
  async function check<T>(
    what: ConnectionCheck["what"],
    host: string,
    work: () => Promise<T>,
    words: (found: T) => string,
  ): Promise<T | null> {
    const began = clock.monotonicMs();
    const result = { what, host, needed: what !== "risport" };
    const took = (): number => Math.round(clock.monotonicMs() - began);
    try {
      const found = await work();
      checks.push({ ...result, ok: true, code: null, words: words(found), tookMs: took() });
      return found;
    } catch (error) {
      const { code, message } = toClusterError(error, host);
      checks.push({ ...result, ok: false, code, words: message, tookMs: took() });
      return null;
    }
  }

  const { hostAndPort } = client;
  const version = await check("axl", hostAndPort, client.version, (release) => `${hostAndPort} is release ${release}.`);
  const found =
    version === null
      ? null
      : await check(
          "nodes",
          hostAndPort,
          () => fetchNodes(client),
          (names) => `Calls are processed by ${names.join(", ")}.`,
        );
  for (const node of found ?? [])
    await check(
      "snmp",
      node,
      () => nodes.tableStates([node]),
      () => `Node ${node} tells its phones.`,
    );
  if (found)
    await check(
      "risport",
      hostAndPort,
      () => queryRegistrations(client, [NONEXISTENT_PHONE], needs),
      () => `${hostAndPort} tells registrations too.`,
    );
  return { ok: checks.every(({ ok, needed }) => ok || !needed), checks };
}

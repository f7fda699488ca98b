import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AxlClient } from "./axl/axl-client.ts";
import { fetchNodes } from "./axl/phone-list.ts";
import { queryRegistrations } from "./axl/ris-port.ts";
import { type ClusterErrorCode, toClusterError } from "./cluster-error.ts";
import type { SnmpNodes } from "./snmp/snmp-nodes.ts";

/** One check of a connection test. */
export interface ConnectionCheck {
  /** `axl`: AXL and its user; `nodes`: the list of nodes; `snmp`: one node; `risport`: the fallback; `tftp`: phones' files. */
  what: "axl" | "nodes" | "snmp" | "risport" | "tftp";
  host: string;
  ok: boolean;
  /** True if the cluster cannot be read without it. */
  needed: boolean;
  /** Error code; null if the check passed. */
  code: ClusterErrorCode | null;
  /** Result, or error and remedy, for people. */
  words: string;
  tookMs: number;
}

export interface ConnectionTest {
  /** All required checks passed. */
  ok: boolean;
  checks: ConnectionCheck[];
}

/** A name that no phone has, so that RisPort returns an empty result. */
const NONEXISTENT_PHONE = "SEP000000000000";

/** Checks everything that reading a cluster needs, until a required check fails; changes nothing. Never throws. */
export async function testConnection(
  { client, nodes }: { client: AxlClient; nodes: SnmpNodes },
  deps: { clock: Clock; signal: AbortSignal },
): Promise<ConnectionTest> {
  const { clock } = deps;
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
  const version = await check("axl", hostAndPort, client.version, (release) =>
    sentence("cluster.test-release", { host: hostAndPort, release }),
  );
  const found =
    version === null
      ? null
      : await check(
          "nodes",
          hostAndPort,
          () => fetchNodes(client),
          (names) => sentence("cluster.test-nodes", { names: names.join(", ") }),
        );
  for (const node of found ?? [])
    await check(
      "snmp",
      node,
      () => nodes.tableStates([node]),
      () => sentence("cluster.test-node", { node }),
    );
  if (found)
    await check(
      "risport",
      hostAndPort,
      () => queryRegistrations(client, [NONEXISTENT_PHONE], deps),
      () => sentence("cluster.test-risport", { host: hostAndPort }),
    );
  return { ok: checks.every(({ ok, needed }) => ok || !needed), checks };
}

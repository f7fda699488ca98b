import type { ClusterError } from "../cluster-error.ts";
import type { NodeState, PhoneRegistration, SnmpAccess } from "../cluster-types.ts";
import { type NodeSession, openNodeSession, type SnmpDeps } from "./node-session.ts";
import { readPhoneTable, readTableState } from "./phone-table.ts";
import { discoverProtocols, type SnmpProtocols } from "./protocol-discovery.ts";

/** Nodes read concurrently; a cluster has at most eight call-processing nodes. @source docs/decisions/0205-call-manager.md, SNMP */
const CHUNK_SIZE = 4;

export interface SnmpNodesDeps extends SnmpDeps {
  /** DES is tried if no other protocol is accepted. */
  allowDes: boolean;
}

export interface SnmpNodes {
  /** States of the phone tables, in node order. Throws ClusterError of the first node that fails. */
  tableStates(nodes: readonly string[]): Promise<NodeState[]>;
  /** Registrations of all nodes. Throws ClusterError if one of them cannot be read completely. */
  registrations(nodes: readonly string[]): Promise<PhoneRegistration[]>;
}

/** Discovered SNMPv3 protocols are cached per node. */
export function createSnmpNodes(access: SnmpAccess, deps: SnmpNodesDeps): SnmpNodes {
  const protocols = new Map<string, SnmpProtocols>();

  async function withSession<T>(node: string, work: (session: NodeSession) => Promise<T>): Promise<T> {
    const session = await openNodeSession(node, access, await protocolsOf(node), deps);
    try {
      return await work(session);
    } catch (error) {
      if (/^snmp-(credentials|encryption)$/.test((error as ClusterError).code ?? "")) protocols.delete(node);
      throw error;
    } finally {
      session.close();
    }
  }

  async function protocolsOf(node: string): Promise<SnmpProtocols | null> {
    if (access.version === 2) return null;
    const known = protocols.get(node);
    if (known) return known;
    const attempt = async (each: SnmpProtocols, isFirst: boolean): Promise<void> => {
      const session = await openNodeSession(node, access, each, deps, !isFirst);
      await readTableState(session).finally(() => session.close());
    };
    const [likely = null] = protocols.values();
    const found = await discoverProtocols(attempt, { allowDes: deps.allowDes, node, likely });
    protocols.set(node, found);
    return found;
  }

  async function forAllNodes<T>(nodes: readonly string[], work: (session: NodeSession) => Promise<T>): Promise<T[]> {
    const found: T[] = [];
    for (let at = 0; at < nodes.length; at += CHUNK_SIZE) {
      found.push(...(await Promise.all(nodes.slice(at, at + CHUNK_SIZE).map((node) => withSession(node, work)))));
    }
    return found;
  }

  return {
    tableStates: (nodes) => forAllNodes(nodes, readTableState),
    registrations: async (nodes) => (await forAllNodes(nodes, readPhoneTable)).flat(),
  };
}

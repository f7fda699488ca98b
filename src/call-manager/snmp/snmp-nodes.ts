import type { ClusterError } from "../cluster-error.ts";
import type { NodeState, PhoneRegistration, SnmpAccess } from "../cluster-types.ts";
import { type NodeSession, openNodeSession, type SnmpDeps } from "./node-session.ts";
import { readPhoneTable, readTableState } from "./phone-table.ts";
import { discoverProtocols, type SnmpProtocols } from "./protocol-discovery.ts";

/** Nodes that are read at the same time. own choice: a cluster has at most eight that process calls */
const CHUNK_SIZE = 4;

/** What asking the nodes of one cluster needs. */
export interface SnmpNodesDeps extends SnmpDeps {
  /** DES is tried where nothing else is taken. */
  allowDes: boolean;
}

/** The nodes of one cluster. */
export interface SnmpNodes {
  /** States of the tables of phones, in the order of the nodes. Throws ClusterFault of the first node that can't be asked. */
  tableStates(nodes: readonly string[]): Promise<NodeState[]>;
  /** What every node knows of phones. Throws ClusterFault when one of them can't be read to its end. */
  registrations(nodes: readonly string[]): Promise<PhoneRegistration[]>;
}

/** Makes the asking; the protocols that a node's version 3 user takes are remembered. */
export function createSnmpNodes(access: SnmpAccess, needs: SnmpNodesDeps): SnmpNodes {
  const protocols = new Map<string, SnmpProtocols>();

  async function withSession<T>(node: string, work: (session: NodeSession) => Promise<T>): Promise<T> {
    const session = await openNodeSession(node, access, await protocolsOf(node), needs);
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
      const session = await openNodeSession(node, access, each, needs, !isFirst);
      await readTableState(session).finally(() => session.close());
    };
    const [likely = null] = protocols.values();
    const found = await discoverProtocols(attempt, { allowDes: needs.allowDes, node, likely });
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

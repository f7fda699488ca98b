import type { ClusterFault } from "../cluster-fault.ts";
import type { NodeState, Registration, SnmpAccess } from "../reading.ts";
import { type NodeSession, openNode, type SnmpNeeds } from "./node-session.ts";
import { readPhoneTable, readState } from "./phone-table.ts";
import { findProtocols, type Protocols } from "./protocols.ts";

/** Nodes that are read at the same time. own choice: a cluster has at most eight that process calls */
const AT_ONCE = 4;

/** What asking the nodes of one cluster needs. */
export interface NodesNeeds extends SnmpNeeds {
  /** DES is tried where nothing else is taken. */
  allowDes: boolean;
}

/** The nodes of one cluster. */
export interface Nodes {
  /** States of the tables of phones, in the order of the nodes. Throws ClusterFault of the first node that can't be asked. */
  states(nodes: readonly string[]): Promise<NodeState[]>;
  /** What every node knows of phones. Throws ClusterFault when one of them can't be read to its end. */
  phones(nodes: readonly string[]): Promise<Registration[]>;
}

/** Makes the asking; the protocols that a node's version 3 user takes are remembered. */
export function createNodes(access: SnmpAccess, needs: NodesNeeds): Nodes {
  const protocols = new Map<string, Protocols>();

  async function opened<T>(node: string, work: (session: NodeSession) => Promise<T>): Promise<T> {
    const session = await openNode(node, access, await protocolsOf(node), needs);
    try {
      return await work(session);
    } catch (error) {
      if (/^snmp-(credentials|encryption)$/.test((error as ClusterFault).code ?? "")) protocols.delete(node);
      throw error;
    } finally {
      session.close();
    }
  }

  async function protocolsOf(node: string): Promise<Protocols | null> {
    if (access.version === 2) return null;
    const known = protocols.get(node);
    if (known) return known;
    const attempt = async (each: Protocols, isFirst: boolean): Promise<void> => {
      const session = await openNode(node, access, each, needs, !isFirst);
      await readState(session).finally(() => session.close());
    };
    const [likely = null] = protocols.values();
    const found = await findProtocols(attempt, { allowDes: needs.allowDes, node, likely });
    protocols.set(node, found);
    return found;
  }

  async function ofAll<T>(nodes: readonly string[], work: (session: NodeSession) => Promise<T>): Promise<T[]> {
    const found: T[] = [];
    for (let at = 0; at < nodes.length; at += AT_ONCE) {
      found.push(...(await Promise.all(nodes.slice(at, at + AT_ONCE).map((node) => opened(node, work)))));
    }
    return found;
  }

  return {
    states: (nodes) => ofAll(nodes, readState),
    phones: async (nodes) => (await ofAll(nodes, readPhoneTable)).flat(),
  };
}

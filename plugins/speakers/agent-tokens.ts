import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { PluginContext } from "#plugin-api";

/** An agent that has registered. */
export interface RegisteredAgent {
  model: string;
  version: string;
  /** It reports whether it hears itself. */
  selfTest: boolean;
}

/** Agents that have a token, kept for good; of tokens their hash alone. */
export interface AgentTokens {
  /** Null for one that has none. */
  find(mac: string): RegisteredAgent | null;
  /** Gives a new token, the only time that anybody sees it; the one before holds no more. Rejects when it can't be kept. */
  issue(mac: string, agent: RegisteredAgent): Promise<string>;
  /** The agent whose token this is; null for a wrong one. */
  verify(mac: string, token: string): RegisteredAgent | null;
  readonly size: number;
}

interface StoredAgent extends RegisteredAgent {
  hash: string;
}

type Shard = Record<string, StoredAgent>;

const DIGITS = [..."0123456789ABCDEF"];

/** Reads the tokens that were given. Sixteen values hold them, by the last digit of the address: one would grow too large. */
export async function openAgentTokens(state: PluginContext["state"]): Promise<AgentTokens> {
  const shards = new Map<string, Shard>();
  for (const digit of DIGITS) shards.set(digit, ((await state.get(stateKey(digit))) as Shard | undefined) ?? {});
  const shardOf = (mac: string): Shard => shards.get(mac.slice(-1)) ?? {};
  const known = (mac: string): StoredAgent | null => {
    const shard = shardOf(mac);
    return Object.hasOwn(shard, mac) ? (shard[mac] ?? null) : null;
  };
  return {
    find: (mac) => known(mac),
    async issue(mac, agent) {
      const token = randomBytes(24).toString("base64url");
      const shard = { ...shardOf(mac), [mac]: { ...agent, hash: tokenHash(token) } };
      await state.set(stateKey(mac.slice(-1)), shard);
      shards.set(mac.slice(-1), { ...shardOf(mac), [mac]: shard[mac] as StoredAgent });
      return token;
    },
    verify(mac, token) {
      const kept = known(mac);
      // Unknown ones take as long as wrong ones.
      const right = timingSafeEqual(Buffer.from(kept?.hash ?? tokenHash("")), Buffer.from(tokenHash(token)));
      if (!kept || !right) return null;
      const { model, version, selfTest } = kept;
      return { model, version, selfTest };
    },
    get size() {
      return [...shards.values()].reduce((sum, shard) => sum + Object.keys(shard).length, 0);
    },
  };
}

function stateKey(digit: string): string {
  return `agents/${digit}`;
}

function tokenHash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

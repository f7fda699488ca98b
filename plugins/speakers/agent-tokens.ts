import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { PluginContext } from "#plugin-api";

/** A registered agent. */
export interface RegisteredAgent {
  model: string;
  version: string;
  /** It has a microphone and reports whether it hears its own playback. */
  selfTest: boolean;
}

/** Registered agents, stored permanently with hashed tokens. */
export interface AgentTokens {
  /** Null if not registered. */
  find(mac: string): RegisteredAgent | null;
  /** Issues a new token, which is returned only here, and revokes the previous one. Rejects if it cannot be stored. */
  issue(mac: string, agent: RegisteredAgent): Promise<string>;
  /** The agent with this token; null if the token is wrong. */
  verify(mac: string, token: string): RegisteredAgent | null;
  readonly size: number;
}

interface StoredAgent extends RegisteredAgent {
  hash: string;
}

type Shard = Record<string, StoredAgent>;

const DIGITS = [..."0123456789ABCDEF"];

/**
 * Opens the stored tokens. They are sharded into sixteen values by the last digit of the MAC address, because of the
 * size limit of values.
 */
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
      const stored = known(mac);
      // Same timing for unknown agents and wrong tokens.
      const isMatch = timingSafeEqual(Buffer.from(stored?.hash ?? tokenHash("")), Buffer.from(tokenHash(token)));
      if (!stored || !isMatch) return null;
      const { model, version, selfTest } = stored;
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

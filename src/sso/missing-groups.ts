import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { Clock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { HealthSource } from "../ops/health/health.ts";

/** Notes at which providers users logged in whose groups were not sent, and so stayed as they were. */
export interface MissingGroups {
  note(provider: Pick<IdentityProviderRow, "id" | "name">, userId: string): void;
  /** The groups of a user were sent. */
  clear(provider: Pick<IdentityProviderRow, "id">, userId: string): void;
  /** For a day after the last of them. */
  readonly healthReasons: HealthSource;
}

const MAX_USERS = 10_000;

/** Creates it; kept in memory, since the next login of the same user tells it again. */
export function createMissingGroups(clock: Clock): MissingGroups {
  const providers = new Map<string, { name: string; users: Set<string>; lastAt: number }>();
  return {
    note({ id, name }, userId) {
      const known = providers.get(id) ?? { name, users: new Set<string>(), lastAt: 0 };
      if (known.users.size < MAX_USERS) known.users.add(userId);
      providers.set(id, { ...known, name, lastAt: clock.now() });
    },
    clear({ id }, userId) {
      const known = providers.get(id);
      if (known?.users.delete(userId) && known.users.size === 0) providers.delete(id);
    },
    healthReasons: () =>
      [...providers].flatMap(([id, { name, users, lastAt }]) => {
        if (lastAt <= clock.now() - DAY_MS) return [];
        const reason = sentence("health.groups-missing", { count: users.size, name });
        return [{ level: "yellow" as const, code: `groups:${id}`, reason }];
      }),
  };
}

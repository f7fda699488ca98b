import { createSignIn, type SignIn } from "../access/sign-in.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { createDirectorySync } from "../identity/directory-sync.ts";
import { createProviderLogIn } from "../identity/log-in.ts";
import { createProviders } from "../identity/providers.ts";
import { createSamlDesk } from "../identity/saml-desk.ts";
import { cronSchedule } from "../loaders/cron.ts";
import type { Schedule } from "../loaders/load-definitions.ts";
import type { IdentityDesk } from "../rest/needs.ts";
import type { ApplianceData } from "./appliance.ts";

/** What log-in is made of. */
export interface IdentityNeeds {
  data: Pick<ApplianceData, "store" | "access">;
  clock: Clock;
  events: Events;
  log: Log;
  policy: AddressPolicy;
  baseUrl(): string;
  /** The local time's cron unless given. */
  schedule?: Schedule;
}

/** Log-in with the own passwords and by all other providers. */
export interface Identity {
  signIn: SignIn;
  desk: IdentityDesk;
  /** Directories are asked by the clock from now on. */
  start(): void;
  /** Breaks off calls under way. */
  stop(): Promise<void>;
}

/** Builds it. */
export function createIdentity({ data, schedule = cronSchedule, ...needs }: IdentityNeeds): Identity {
  const { store, access } = data;
  const ending = new AbortController();
  const { signal } = ending;
  const by = access.systemBy("identity");
  const saml = createSamlDesk(needs.clock);
  const common = { ...needs, store, signal, by, saml };
  const providers = createProviders(common);
  const signIn = createSignIn({ store, access, clock: needs.clock, askProviders: providers.ask });
  const logIn = createProviderLogIn({ ...common, providers, signIn });
  const sync = createDirectorySync({ ...common, providers, schedule });
  return {
    signIn,
    desk: {
      doors: providers.doors,
      passwords: providers.passwords,
      test: (row) => providers.made(row).test(),
      sync: sync.run,
      logIn,
    },
    start: sync.start,
    async stop() {
      ending.abort();
      await Promise.all([sync.stop(), saml.close()]);
    },
  };
}

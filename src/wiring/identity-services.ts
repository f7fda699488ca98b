import { type AccountMessageSender, createAccountMails } from "../auth/account-mails.ts";
import { createLoginService, type LoginService, type LoginServiceDeps } from "../auth/login.ts";
import type { NewPasswords } from "../auth/new-passwords.ts";
import { createPasswordReset, type PasswordReset } from "../auth/password-reset.ts";
import type { IdentityService } from "../http/dependencies.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import { createDirectorySync } from "../sso/directory-sync.ts";
import type { MissingGroups } from "../sso/missing-groups.ts";
import { createIdentityProviders } from "../sso/providers.ts";
import { createRedirectLoginService } from "../sso/redirect-login.ts";
import { createSamlService } from "../sso/saml-service.ts";
import type { CronScheduler } from "../time-zones/cron-schedule.ts";
import type { ApplianceData } from "./appliance-data.ts";

export interface IdentityServiceDeps {
  data: Pick<ApplianceData, "store" | "access">;
  clock: Clock;
  events: Events;
  log: Log;
  policy: SsrfGuard;
  baseUrl(): string;
  schedule: CronScheduler;
  missingGroups: MissingGroups;
  passwords: NewPasswords;
  mailSender: AccountMessageSender;
  onPasswordLogin: NonNullable<LoginServiceDeps["onPasswordLogin"]>;
}

/** Login with local passwords and through all identity providers. */
export interface IdentityServices {
  signIn: LoginService;
  passwordReset: PasswordReset;
  desk: IdentityService;
  /** Starts the scheduled directory syncs. */
  start(): void;
  /** Cancels calls in progress. */
  stop(): Promise<void>;
}

export function createIdentityServices({ data, schedule, ...deps }: IdentityServiceDeps): IdentityServices {
  const { store, access } = data;
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const by = access.systemContext("identity");
  const saml = createSamlService(deps.clock);
  const common = { ...deps, store, signal, by, saml };
  const providers = createIdentityProviders(common);
  const mails = createAccountMails({ store, log: deps.log, sender: deps.mailSender });
  const loginService = createLoginService({
    mails,
    store,
    access,
    clock: deps.clock,
    passwords: deps.passwords,
    verifyWithProviders: providers.verifyCredentials,
    onPasswordLogin: deps.onPasswordLogin,
    onAuditError: (err) => deps.log.error({ event: "audit.entry_not_stored", err }, "failed to store an audit entry"),
  });
  const passwordReset = createPasswordReset({
    ...{ store, access, mails, clock: deps.clock, log: deps.log, passwords: deps.passwords, signIn: loginService },
    pageUrl: () => `${deps.baseUrl()}/reset-password`,
  });
  const providerLogin = createRedirectLoginService({ ...common, providers, loginService });
  const sync = createDirectorySync({ ...common, providers, schedule });
  return {
    signIn: loginService,
    passwordReset,
    desk: {
      loginOptions: providers.loginOptions,
      passwordLoginOptions: providers.passwordLoginOptions,
      test: providers.test,
      sync: sync.run,
      providerLogin,
    },
    start: sync.start,
    async stop() {
      shutdown.abort();
      await Promise.all([sync.stop(), saml.close(), passwordReset.close(), deps.passwords.close()]);
    },
  };
}
